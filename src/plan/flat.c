/* Flattened datatypes and the cursors that walk them. */
#include "plan/flat.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Copies the pairs, without empty ones, touching ones joined. */
static int copy_blocks(struct cio_flat *f, const int64_t *off, const int64_t *len, size_t n)
{
    int64_t *to_off = f->own = malloc(2 * (n + 1) * sizeof(*f->own)), *to_len = to_off + n + 1;
    size_t m = 0;

    if (f->own == NULL)
        return -ENOMEM;
    for (size_t i = 0; i < n; i++) {
        if (len[i] == 0)
            continue;
        if (m > 0 && to_off[m - 1] + to_len[m - 1] == off[i]) {
            to_len[m - 1] += len[i];
        } else {
            to_off[m] = off[i];
            to_len[m++] = len[i];
        }
    }
    f->off = to_off;
    f->len = to_len;
    f->n = m;
    return m > 0 ? 0 : -EINVAL;
}

/*
 * Sums up, and finds whether the stream's offsets rise, within an instance and to the next. 1 if
 * the blocks are as they should be, 0 if some are empty or touch, -EINVAL if a length is negative.
 */
static int survey(struct cio_flat *f)
{
    int64_t size = 0, end = f->off[0] - 1, shortest = 1;
    int rising = 1, touching = 0;

    for (size_t i = 0; i < f->n; i++) {
        if (i % CIO_FLAT_STEP == 0)
            f->start[i / CIO_FLAT_STEP] = size;
        rising &= f->off[i] >= end;
        touching |= f->off[i] == end;
        shortest = cio_min64(shortest, f->len[i]);
        end = f->off[i] + f->len[i];
        size += f->len[i];
    }
    f->size = size;
    f->sorted = rising && f->off[0] >= 0 && end - f->off[0] <= f->extent;
    f->dense = f->n == 1 && f->len[0] == f->extent;
    return shortest < 0 ? -EINVAL : shortest > 0 && !touching;
}

static int fill(struct cio_flat *f, int borrow)
{
    const int64_t *off = f->off, *len = f->len;
    int rc;

    f->start = malloc((f->n / CIO_FLAT_STEP + 1) * sizeof(*f->start));
    if (f->start == NULL)
        return -ENOMEM;
    rc = survey(f);
    if (rc < 0 || (rc == 1 && borrow))
        return rc < 0 ? rc : 0;
    rc = copy_blocks(f, off, len, f->n);
    if (rc == 0)
        survey(f);
    return rc;
}

static int make(const int64_t *off, const int64_t *len, size_t n, int64_t extent, int borrow,
                struct cio_flat **out)
{
    struct cio_flat *f;
    int rc;

    for (; n > 0 && len[n - 1] == 0; n--)
        ;
    for (; n > 0 && len[0] == 0; n--, off++, len++)
        ;
    if (n == 0)
        return -EINVAL;
    f = calloc(1, sizeof(*f));
    if (f == NULL)
        return -ENOMEM;
    *f = (struct cio_flat){.extent = extent, .n = n, .off = off, .len = len, .owners = 1};
    rc = fill(f, borrow);
    if (rc != 0) {
        cio_flat_destroy(f);
        return rc;
    }
    *out = f;
    return 0;
}

int cio_flat_create(const int64_t *off, const int64_t *len, size_t n, int64_t extent,
                    struct cio_flat **out)
{
    return make(off, len, n, extent, 0, out);
}

int cio_flat_borrow(const int64_t *off, const int64_t *len, size_t n, int64_t extent,
                    struct cio_flat **out)
{
    return make(off, len, n, extent, 1, out);
}

struct cio_flat *cio_flat_share(struct cio_flat *f)
{
    __atomic_add_fetch(&f->owners, 1, __ATOMIC_RELAXED);
    return f;
}

/* Copies it and keeps the copy with it, or takes that of another thread that was faster. */
static int make_lasting(struct cio_flat *f, struct cio_flat **out)
{
    struct cio_flat *made, *none = NULL;
    int rc = cio_flat_create(f->off, f->len, f->n, f->extent, &made);

    if (rc != 0)
        return rc;
    if (!__atomic_compare_exchange_n(&f->lasting, &none, made, 0, __ATOMIC_ACQ_REL,
                                     __ATOMIC_ACQUIRE)) {
        cio_flat_destroy(made);
        made = none;
    }
    *out = made;
    return 0;
}

int cio_flat_lasting(struct cio_flat *f, struct cio_flat **out)
{
    struct cio_flat *made = f->own != NULL ? f : __atomic_load_n(&f->lasting, __ATOMIC_ACQUIRE);
    int rc = made != NULL ? 0 : make_lasting(f, &made);

    if (rc == 0)
        *out = cio_flat_share(made);
    return rc;
}

void cio_flat_destroy(struct cio_flat *f)
{
    if (f == NULL || __atomic_sub_fetch(&f->owners, 1, __ATOMIC_ACQ_REL) > 0)
        return;
    cio_flat_destroy(f->lasting);
    free(f->start);
    free(f->own);
    free(f);
}

/* The block that holds byte s of an instance, 0 <= s < size, and where it begins. */
static size_t block_at(const struct cio_flat *f, int64_t s, int64_t *begin)
{
    size_t lo = 0, hi = (f->n - 1) / CIO_FLAT_STEP + 1;

    while (hi - lo > 1) {
        size_t mid = lo + (hi - lo) / 2;

        if (f->start[mid] <= s)
            lo = mid;
        else
            hi = mid;
    }
    *begin = f->start[lo];
    for (lo *= CIO_FLAT_STEP; *begin + f->len[lo] <= s; lo++)
        *begin += f->len[lo];
    return lo;
}

/* Stream position of block i of an instance. */
static int64_t block_start(const struct cio_flat *f, size_t i)
{
    int64_t start = f->start[i / CIO_FLAT_STEP];

    for (size_t j = i / CIO_FLAT_STEP * CIO_FLAT_STEP; j < i; j++)
        start += f->len[j];
    return start;
}

/* The first block of an instance that ends after `off`, relative to the instance; n if none. */
static size_t block_after(const struct cio_flat *f, int64_t off)
{
    size_t lo = 0, hi = f->n;

    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;

        if (f->off[mid] + f->len[mid] <= off)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo;
}

int64_t cio_flat_lower(const struct cio_flat *f, int64_t off)
{
    int64_t instance = off <= f->off[0] ? 0 : (off - f->off[0]) / f->extent;
    int64_t within = off - instance * f->extent;
    size_t i = block_after(f, within);

    if (i == f->n)
        return (instance + 1) * f->size;
    return instance * f->size + block_start(f, i) + cio_max64(within - f->off[i], 0);
}

int64_t cio_flat_pieces(const struct cio_flat *f, int64_t from, int64_t bytes)
{
    int64_t last = from + bytes - 1, unused;

    if (bytes <= 0)
        return 0;
    if (f->dense)
        return 1;
    return (last / f->size - from / f->size) * (int64_t)f->n +
           (int64_t)block_at(f, last % f->size, &unused) -
           (int64_t)block_at(f, from % f->size, &unused) + 1;
}

void cio_cursor_seek(struct cio_cursor *c, const struct cio_flat *f, int64_t stream)
{
    int64_t within = stream % f->size, begin;

    c->f = f;
    c->shift = stream / f->size * f->extent;
    c->block = block_at(f, within, &begin);
    c->within = within - begin;
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
