/* Batches, for every store: by its own means, or else by its write and read. */
#include "port/store.h"

#include <errno.h>

#include "port/ranges.h"

#define LOCK_SPAN ((int64_t)1 << 20)

struct span {
    int64_t off, len;
};

static int is_range(const struct cio_piece *p)
{
    return p->off >= 0 && p->len >= 0 && p->off <= INT64_MAX - p->len;
}

/* From the beginning of one to the end of the other, in whichever order. */
static struct span both(struct span s, const struct cio_piece *p)
{
    int64_t off = p->off < s.off ? p->off : s.off;
    int64_t end = p->off + p->len > s.off + s.len ? p->off + p->len : s.off + s.len;

    return (struct span){off, end - off};
}

/* How many pieces one lock is taken for, and of what. What is no range, the lock will say so. */
static int neighbours(const struct cio_piece *piece, int n, struct span *s)
{
    int k = 1;

    *s = (struct span){piece->off, piece->len};
    for (; is_range(piece) && k < n && is_range(&piece[k]); k++) {
        struct span more = both(*s, &piece[k]);

        if (more.len > LOCK_SPAN)
            break;
        *s = more;
    }
    return k;
}

static int transfer(struct cio_store *s, const struct cio_batch *b, int *next, int end)
{
    int rc = 0;

    for (; *next < end && rc == 0; ++*next)
        rc = cio_store_transfer(s, b->write, &b->piece[*next]);
    return rc;
}

/* A store without locks has nobody to keep out of the way of. */
static int transfer_locked(struct cio_store *s, const struct cio_batch *b, int *next, int end)
{
    struct span span;
    int n = neighbours(&b->piece[*next], end - *next, &span);
    int locked = cio_store_lock(s, span.off, span.len), rc;

    if (locked == -EDEADLK)
        return 1;
    if (locked < 0 && locked != -ENOTSUP)
        return locked;
    rc = transfer(s, b, next, *next + n);
    if (locked == 0)
        cio_store_unlock(s, span.off, span.len);
    return rc;
}

int cio_store_transfer_some(struct cio_store *s, const struct cio_batch *b, int *next, int end)
{
    int rc = 0;

    if (!b->locked)
        return transfer(s, b, next, end);
    while (*next < end && rc == 0)
        rc = transfer_locked(s, b, next, end);
    return rc;
}

/* With the store's write and read; as far as it goes. */
static int transfer_rest(struct cio_store *s, struct cio_batch *b)
{
    int rc = cio_store_transfer_some(s, b, &b->own.taken, b->n);

    if (rc > 0)
        return 0;
    b->error = rc;
    b->done = 1;
    return 1;
}

void cio_store_start(struct cio_store *s, struct cio_batch *b)
{
    b->error = 0;
    b->done = b->n == 0;
    if (b->done)
        return;
    b->own.by = s;
    b->own.taken = 0;
    if (s->ops->start != NULL)
        s->ops->start(s, b);
    else
        transfer_rest(s, b);
}

int cio_store_test(struct cio_store *s, struct cio_batch *b)
{
    if (b->done)
        return 1;
    s = b->own.by;
    return s->ops->test != NULL ? s->ops->test(s, b) : transfer_rest(s, b);
}

void cio_store_wait(struct cio_store *s, struct cio_batch *b)
{
    if (b->done)
        return;
    s = b->own.by;
    if (s->ops->wait != NULL) {
        s->ops->wait(s, b);
    } else if (!transfer_rest(s, b)) {
        b->error = -EDEADLK;
        b->done = 1;
    }
}

int cio_store_holding(void)
{
    return cio_range_holding();
}

const uint32_t *cio_store_word(struct cio_store *s)
{
    return s->ops->word != NULL ? s->ops->word(s) : NULL;
}

int cio_store_depth(const struct cio_store *s)
{
    return s->ops->depth != NULL ? s->ops->depth(s) : 1;
}

const char *cio_store_name(const struct cio_store *s)
{
    return s->ops->name != NULL ? s->ops->name(s) : "blocking";
}
