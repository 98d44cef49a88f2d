/*
 * Workloads of many ranks for the orders of cb_schedule: lists of pieces of a file, each of one
 * rank. bench/schedule.c looks at them in stripe-times, bench/pattern.c transfers them.
 *
 * They are made for stripes of 1 MiB. Random ones are the same on every machine.
 */
#ifndef TAMIO_BENCH_WORKLOADS_H
#define TAMIO_BENCH_WORKLOADS_H

#include <stddef.h>
#include <stdint.h>

#define WORKLOAD_KIB ((int64_t)1 << 10)
#define WORKLOAD_MIB ((int64_t)1 << 20)

struct workload_piece {
    int rank;
    int64_t off, len;
};

/* What a workload does not use is 0. */
struct workload {
    const char *name, *help;
    void (*fill)(struct workload *w);
    int ranks, aggrs;
    int64_t pieces;    /* of each rank */
    int64_t bytes;     /* of all ranks */
    int64_t most;      /* longest piece */
    double sigma;      /* of the owner, in ranks / ranks */
    int64_t part;      /* bytes of a rank in one variable */
    int variables;     /* in all, of which two are small: */
    int small[2];      /* their places among the others, */
    int64_t small_all; /* bytes of each, of all ranks, */
    int small_ranks;   /* and how many ranks have them; 0: all */
    int aligned_parts; /* parts are not of equal bytes, but of exactly 6/5 MiB in the mean */

    uint64_t seed;
    struct workload_piece *p; /* by rising offset; free() */
    size_t n, room;
};

/* Ended by one without a name. */
extern const struct workload workload_list[];

/* The one of that name, to be filled; 0, or -1 if there is none. */
int workload_find(const char *name, struct workload *w);

/* Makes the pieces, in the place of those that there were. */
void workload_fill(struct workload *w, uint64_t seed);

/* The three shapes, the second one drawn in two ways. */
void workload_fixed(struct workload *w);
void workload_random(struct workload *w);
void workload_python(struct workload *w);
void workload_climate(struct workload *w);

#endif
