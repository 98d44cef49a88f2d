/*
 * Whether two-layer aggregation is worth its cost for one call, from counts that all ranks have
 * after one reduction; every rank comes to the same answer. And how many groups a node gets.
 */
#ifndef CIO_PLAN_CHOOSE_H
#define CIO_PLAN_CHOOSE_H

#include <stdint.h>

#include "plan/hints.h"

struct cio_totals {
    int64_t lo, hi;   /* file range that anybody touches */
    int64_t bytes;    /* of all ranks, */
    int64_t pieces;   /* in that many contiguous pieces, */
    int64_t spans;    /* sum of each rank's own file range */
    int64_t unsorted; /* ranks whose view does not rise */
    int node_ranks;   /* on the fullest node */
};

struct cio_choice {
    int tam;         /* go on; 0: leave the call to the driver below */
    const char *why; /* a few words, always the same ones for the same reason */
};

struct cio_choice cio_choose(const struct cio_totals *t, enum cio_switch tam);

/* Local aggregators on a node of q ranks, where the hint says `auto`. */
int cio_choose_groups(int q);

#endif
