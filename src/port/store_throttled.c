/* A store that takes its time, in front of another: see port/throttle.h. */
#include "port/store.h"

#include <errno.h>
#include <stdlib.h>

#include "port/throttle.h"

struct throttled_store {
    struct cio_store store;
    struct cio_throttle *throttle;
    int writer;
};

static struct throttled_store *throttled_of(struct cio_store *s)
{
    return (struct throttled_store *)s;
}

/* The transfer itself is made in the time that the model takes for it. */
static int throttled_write(struct cio_store *s, const void *buf, int64_t len, int64_t off)
{
    struct throttled_store *t = throttled_of(s);
    int64_t end = cio_throttle_enter(t->throttle, t->writer, 1, off, len);
    int rc = cio_store_write(t->store.below, buf, len, off);

    cio_throttle_sleep(end);
    return rc;
}

static int throttled_read(struct cio_store *s, void *buf, int64_t len, int64_t off)
{
    struct throttled_store *t = throttled_of(s);
    int64_t end = cio_throttle_enter(t->throttle, t->writer, 0, off, len);
    int rc = cio_store_read(t->store.below, buf, len, off);

    cio_throttle_sleep(end);
    return rc;
}

static void throttled_destroy(struct cio_store *s)
{
    free(throttled_of(s));
}

static const struct cio_store_ops throttled_ops = {
    .write = throttled_write,
    .read = throttled_read,
    .destroy = throttled_destroy,
};

int cio_store_throttled_create(struct cio_store *below, struct cio_throttle *throttle, int writer,
                               struct cio_store **out)
{
    struct throttled_store *t = malloc(sizeof(*t));

    if (t == NULL)
        return -ENOMEM;
    *t = (struct throttled_store){{&throttled_ops, below}, throttle, writer};
    *out = &t->store;
    return 0;
}
