/*
 * The greedy ranking of first-finish (plan/order.h) over a graph, for who has one already. Ties of
 * those who can be finished at the same time go to the one with least left of what it touches, then
 * to the one in most company (the mean number of processes on its stripes), then to the lowest
 * rank. What is left may be counted in two ways. Who does not wait to be served comes last.
 */
#ifndef CIO_PLAN_FINISH_H
#define CIO_PLAN_FINISH_H

#include "plan/graph.h"

enum cio_finish_ties {
    CIO_FINISH_STRIPES, /* every stripe counts the same, */
    CIO_FINISH_SHARES,  /* or as the share that one of the processes on it has in it */
};

/* ranking holds nranks entries. What is left of cells is used up. -ENOMEM. */
int cio_finish_rank(struct cio_graph *g, enum cio_finish_ties ties, uint32_t *ranking);

#endif
