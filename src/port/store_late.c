/*
 * A store whose batches are under way for a while, in front of another: the transfers are made
 * when the batch has been tested so many times, and in another order than they were started. A
 * buffer that is used again too soon shows as wrong bytes.
 */
#include "port/store.h"

#include <errno.h>
#include <stdlib.h>

struct late_store {
    struct cio_store store;
    uint64_t random;
};

static struct late_store *late_of(struct cio_store *s)
{
    return (struct late_store *)s;
}

static void late_start(struct cio_store *s, struct cio_batch *b)
{
    struct late_store *l = late_of(s);

    l->random = l->random * 6364136223846793005u + 1442695040888963407u;
    b->own.left = (int)(l->random >> 60);
}

static int late_test(struct cio_store *s, struct cio_batch *b)
{
    if (b->own.left-- > 0)
        return 0;
    cio_store_start(s->below, b);
    return b->done;
}

static void late_wait(struct cio_store *s, struct cio_batch *b)
{
    while (b->own.left-- > 0)
        ;
    cio_store_start(s->below, b);
    cio_store_wait(s->below, b);
}

static int late_depth(const struct cio_store *s)
{
    (void)s;
    return 16;
}

static const char *late_name(const struct cio_store *s)
{
    (void)s;
    return "late";
}

static void late_destroy(struct cio_store *s)
{
    free(late_of(s));
}

static const struct cio_store_ops late_ops = {
    .destroy = late_destroy,
    .start = late_start,
    .test = late_test,
    .wait = late_wait,
    .depth = late_depth,
    .name = late_name,
};

int cio_store_late_create(struct cio_store *below, uint64_t seed, struct cio_store **out)
{
    struct late_store *l = malloc(sizeof(*l));

    if (l == NULL)
        return -ENOMEM;
    *l = (struct late_store){{&late_ops, below}, seed};
    *out = &l->store;
    return 0;
}
