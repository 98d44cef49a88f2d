/*
 * Which ranks share cores. Two ranks of a node meet on cores if they may run on the same ones; sets
 * of cores that differ are taken to have none in common, as those that a launcher binds ranks to.
 */
#ifndef CIO_PLAN_CROWD_H
#define CIO_PLAN_CROWD_H

#include <stdint.h>

/* What a rank may run on. */
struct cio_bound {
    uint64_t set; /* a number that only equal sets have in common */
    int64_t cores;
    int node, rank;
};

/*
 * crowded[rank] for each of n: more ranks of its node have its set than that has cores. The ranks
 * are sorted by this; where they differ on the cores of one set, its least number counts. n log n.
 */
void cio_find_crowded(struct cio_bound *ranks, int n, char *crowded);

#endif
