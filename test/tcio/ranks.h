/* The ranks of a space as threads of one process, over the loop; the file is in memory. */
#ifndef TEST_TCIO_RANKS_H
#define TEST_TCIO_RANKS_H

#include <stdio.h>
#include <stdlib.h>

#include "port/onesided_loop.h"
#include "port/store.h"
#include "tcio/space.h"

/* In a thread there is nobody to return to. */
#define MUST(cond)                                                                                 \
    ((cond) ? (void)0                                                                              \
            : (fprintf(stderr, "%s:%d: not true: %s\n", __FILE__, __LINE__, #cond), abort()))

struct ranks {
    int size;
    const int *node_of;
    struct cio_space_settings settings;
    struct cio_store *store; /* of all ranks */
    unsigned flags;
    /* what each of them does; and what it is told */
    struct cio_onesided *port[16]; /* of each rank */
    void (*run)(struct ranks *all, int rank, struct cio_space *space, struct cio_tcio *f);
    void *self;
    int64_t memory; /* that can be had in all, 0: without limit */
    int outcome;    /* of the destruction of the space, on rank 0 */
};

/* Opens, runs, closes, and destroys. */
void ranks_run(struct ranks *all);

/* The same pseudo-random numbers everywhere. */
static inline uint64_t draw(uint64_t *seed)
{
    *seed ^= *seed << 13;
    *seed ^= *seed >> 7;
    *seed ^= *seed << 17;
    return *seed;
}

#endif
