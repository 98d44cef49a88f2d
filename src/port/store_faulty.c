/* A store that fails on demand, in front of another. */
#include "port/store.h"

#include <errno.h>
#include <stdlib.h>

struct faulty_store {
    struct cio_store store;
    struct cio_fault *fault;
};

static struct faulty_store *faulty_of(struct cio_store *s)
{
    return (struct faulty_store *)s;
}

/* Counts a call, and tells whether it is one that is to fail. Threads may be about this at once. */
static int fails(const struct cio_fault *fault, int64_t at, int64_t *calls)
{
    int64_t n = __atomic_fetch_add(calls, 1, __ATOMIC_RELAXED);

    return at >= 0 && (n == at || (fault->sticky && n > at));
}

static int faulty_write(struct cio_store *s, const void *buf, int64_t len, int64_t off)
{
    struct faulty_store *f = faulty_of(s);

    if (fails(f->fault, f->fault->write_at, &f->fault->writes))
        return f->fault->error;
    return cio_store_write(f->store.below, buf, len, off);
}

static int faulty_read(struct cio_store *s, void *buf, int64_t len, int64_t off)
{
    struct faulty_store *f = faulty_of(s);

    if (fails(f->fault, f->fault->read_at, &f->fault->reads))
        return f->fault->error;
    return cio_store_read(f->store.below, buf, len, off);
}

static void faulty_destroy(struct cio_store *s)
{
    free(faulty_of(s));
}

static const struct cio_store_ops faulty_ops = {
    .write = faulty_write,
    .read = faulty_read,
    .destroy = faulty_destroy,
};

int cio_store_faulty_create(struct cio_store *below, struct cio_fault *fault,
                            struct cio_store **out)
{
    struct faulty_store *f = malloc(sizeof(*f));

    if (f == NULL)
        return -ENOMEM;
    *f = (struct faulty_store){{&faulty_ops, below}, fault};
    *out = &f->store;
    return 0;
}
