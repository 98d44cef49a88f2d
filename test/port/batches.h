/* What the tests of batches share. */
#ifndef CIO_TEST_BATCHES_H
#define CIO_TEST_BATCHES_H

#include <stdlib.h>
#include <unistd.h>

#include "port/store.h"

/* A file without a name. */
static inline int temporary_file(void)
{
    char name[] = "/tmp/tamio-test-XXXXXX";
    int fd = mkstemp(name);

    unlink(name);
    return fd;
}

/* Does all of a batch, and returns its error. */
static inline int run_batch(struct cio_store *s, int write, const struct cio_piece *piece, int n)
{
    struct cio_batch b = {.write = write, .piece = piece, .n = n};

    cio_store_start(s, &b);
    cio_store_wait(s, &b);
    return b.done ? b.error : 1;
}

#endif
