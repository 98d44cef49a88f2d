/* Flattened datatypes and the cursors that walk them. */
#include "plan/flat.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static size_t join_blocks(const int64_t *off, const int64_t *len, size_t n, cio_extent *block)
{
    size_t m = 0;

    for (size_t i = 0; i < n; i++) {
        if (len[i] == 0)
            continue;
        if (m > 0 && cio_extent_end(block[m - 1]) == off[i])
            block[m - 1].len += len[i];
        else
            block[m++] = (cio_extent){off[i], len[i]};
    }
    return m;
}

/* Whether the stream's offsets rise, within an instance and from one to the next. */
static int rises(const struct cio_flat *f)
{
    for (size_t i = 1; i < f->n; i++)
        if (f->block[i].off < cio_extent_end(f->block[i - 1]))
            return 0;
    return f->block[0].off >= 0 &&
           cio_extent_end(f->block[f->n - 1]) - f->block[0].off <= f->extent;
}

static int fill(struct cio_flat *f, const int64_t *off, const int64_t *len, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (len[i] < 0)
            return -EINVAL;
    f->n = join_blocks(off, len, n, f->block);
    if (f->n == 0)
        return -EINVAL;
    for (size_t i = 0; i < f->n; i++) {
        f->start[i] = f->size;
        f->size += f->block[i].len;
    }
    f->start[f->n] = f->size;
    f->sorted = rises(f);
    f->dense = f->n == 1 && f->block[0].len == f->extent;
    return 0;
}

int cio_flat_create(const int64_t *off, const int64_t *len, size_t n, int64_t extent,
                    struct cio_flat **out)
{
    struct cio_flat *f;
    int rc = -ENOMEM;

    if (extent <= 0)
        return -EINVAL;
    f = calloc(1, sizeof(*f));
    if (f == NULL)
        return -ENOMEM;
    f->extent = extent;
    f->block = malloc((n + 1) * sizeof(*f->block));
    f->start = malloc((n + 1) * sizeof(*f->start));
    if (f->block != NULL && f->start != NULL)
        rc = fill(f, off, len, n);
    if (rc != 0) {
        cio_flat_destroy(f);
        return rc;
    }
    *out = f;
    return 0;
}

void cio_flat_destroy(struct cio_flat *f)
{
    if (f == NULL)
        return;
    free(f->start);
    free(f->block);
    free(f);
}

/* The block that holds byte s of an instance, 0 <= s < size. */
static size_t block_at(const struct cio_flat *f, int64_t s)
{
    size_t lo = 0, hi = f->n;

    while (hi - lo > 1) {
        size_t mid = lo + (hi - lo) / 2;

        if (f->start[mid] <= s)
            lo = mid;
        else
            hi = mid;
    }
    return lo;
}

/* The first block of an instance that ends after `off`, relative to the instance; n if none. */
static size_t block_after(const struct cio_flat *f, int64_t off)
{
    return cio_extents_find(f->block, f->n, off);
}

int64_t cio_flat_lower(const struct cio_flat *f, int64_t off)
{
    int64_t instance = off <= f->block[0].off ? 0 : (off - f->block[0].off) / f->extent;
    int64_t within = off - instance * f->extent;
    size_t i = block_after(f, within);

    if (i == f->n)
        return (instance + 1) * f->size;
    return instance * f->size + f->start[i] + cio_max64(within - f->block[i].off, 0);
}

int64_t cio_flat_pieces(const struct cio_flat *f, int64_t from, int64_t bytes)
{
    int64_t last = from + bytes - 1;

    if (bytes <= 0)
        return 0;
    if (f->dense)
        return 1;
    return (last / f->size - from / f->size) * (int64_t)f->n + (int64_t)block_at(f, last % f->size) -
           (int64_t)block_at(f, from % f->size) + 1;
}

void cio_cursor_seek(struct cio_cursor *c, const struct cio_flat *f, int64_t stream)
{
    int64_t within = stream % f->size;

    c->f = f;
    c->shift = stream / f->size * f->extent;
    c->block = block_at(f, within);
    c->within = within - f->start[c->block];
}

void cio_cursor_copy_out(struct cio_cursor *c, const char *base, int64_t n, char *to)
{
    while (n > 0) {
        int64_t run = cio_cursor_run(c, n);

        memcpy(to, base + cio_cursor_offset(c), (size_t)run);
        cio_cursor_skip(c, run);
        to += run;
        n -= run;
    }
}

void cio_cursor_copy_in(struct cio_cursor *c, char *base, int64_t n, const char *from)
{
    while (n > 0) {
        int64_t run = cio_cursor_run(c, n);

        memcpy(base + cio_cursor_offset(c), from, (size_t)run);
        cio_cursor_skip(c, run);
        from += run;
        n -= run;
    }
}
