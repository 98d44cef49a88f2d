/*
 * Which store a file gets. Left to choose, it is the pool: measured, it takes as much off the
 * caller as io_uring does and is as fast; unlike that, it is never forbidden or missing, it can
 * wake a caller that sleeps, and what it does is seen by tools that interpose pwrite
 * (doc/stores.md).
 */
#include "port/store.h"

#define THREADS 4

static int open_thread(int fd, struct cio_store **out)
{
    struct cio_store *below;
    int rc = cio_store_posix_create(fd, &below);

    if (rc < 0)
        return rc;
    if (cio_store_thread_create(below, THREADS, out) < 0)
        *out = below;
    return 0;
}

int cio_store_open(int fd, enum cio_store_kind kind, struct cio_store **out)
{
    if (kind == CIO_STORE_BLOCKING)
        return cio_store_posix_create(fd, out);
    if (kind == CIO_STORE_URING && cio_store_uring_create(fd, out) == 0)
        return 0;
    return open_thread(fd, out);
}
