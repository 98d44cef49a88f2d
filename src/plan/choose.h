/*
 * Whether two-layer aggregation is worth its cost for one call, from counts that all ranks have
 * after one reduction; every rank comes to the same answer. And how many groups a node gets, and a
 * file aggregators.
 */
#ifndef CIO_PLAN_CHOOSE_H
#define CIO_PLAN_CHOOSE_H

#include <stdint.h>

#include "plan/hints.h"
#include "plan/layout.h"

struct cio_totals {
    int64_t lo, hi;   /* file range that anybody touches */
    int64_t bytes;    /* of all ranks, */
    int64_t pieces;   /* in that many contiguous pieces, */
    int64_t spans;    /* sum of each rank's own file range */
    int64_t unsorted; /* ranks whose view does not rise */
    int node_ranks;   /* on the fullest node */
};

struct cio_choice {
    int tam;         /* go on; 0: leave the call to the driver below, */
    int alone;       /* where each rank had best access the file by itself */
    const char *why; /* a few words, always the same ones for the same reason */
};

struct cio_choice cio_choose(const struct cio_totals *t, enum cio_switch tam);

/* Local aggregators on a node, where the hint says `auto`. */
struct cio_group_spec {
    int node_ranks; /* on the fullest node, */
    int nodes;      /* of so many */
    int64_t bytes;  /* of all ranks, in the largest call so far; 0: there was none */
};
int cio_choose_groups(const struct cio_group_spec *s);

/*
 * Global aggregators of a file, where the user names no number. `usual`: what it would be without a
 * layout (one for each node); `limit`: ranks; 1 <= usual <= limit.
 *
 * C is the layout's largest number of targets. The result is C if there are as many ranks, or the
 * largest multiple of C that is not above `usual`. With fewer ranks it is the largest divisor of C
 * among them, so that all have the same work, and each target one writer; unless that divisor is at
 * most half of the least number that has as much to do for the busiest as `limit` ranks would
 * (C prime): then that number. C unknown: `usual`.
 */
int cio_choose_aggregators(const struct cio_layout *layout, int usual, int limit);

#endif
