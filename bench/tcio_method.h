/*
 * Ways to transfer a workload. Each transfers all of it, from opening the file to its close, and
 * ends the job if anything fails.
 */
#ifndef TAMIO_BENCH_TCIO_METHOD_H
#define TAMIO_BENCH_TCIO_METHOD_H

#include <mpi.h>

#include "tcio_work.h"

struct transfer {
    const struct work *work;
    const char *file;
    char *memory;
    int write;
    int64_t most; /* calls of a method that has one for each piece; -1: all */
    MPI_Info hints;
    void (*before_close)(void *arg); /* NULL, or called when all pieces were handed over */
    void *arg;
    double opened, moved, closed; /* seconds of opening, of the calls, of closing */
    MPI_Info told; /* what the file's information says at last; free it if not null */
};

struct method {
    const char *name;
    const char *help;
    void (*transfer)(struct transfer *t);
};

/* The paper's numbers (table I) are places in it. Ended by one without a name. */
extern const struct method method_list[];

/* By name or number; NULL if there is none. */
const struct method *method_find(const char *name);

#endif
