/*
 * Who touches what at all aggregators, as a graph of processes and stripes: what rankings of
 * processes are made from (plan/order.h). Stripes are numbered through, aggregator by aggregator; a
 * cell is what one process touches at one aggregator. Processes that return at the same time in any
 * order (enum cio_leaving) have none: nothing is to be served early for them.
 *
 *     process   cells[first_cell[p] .. first_cell[p + 1])
 *     cell      stripe_of[cells[c].first .. cells[c + 1].first), rising
 *     stripe    cell_of[first_touch[s] .. first_touch[s + 1])
 */
#ifndef CIO_PLAN_GRAPH_H
#define CIO_PLAN_GRAPH_H

#include "plan/respond.h"

/* At 8 bytes each, as much as romio_tam_memory_limit by default. */
#define CIO_GRAPH_TOUCHES (1 << 25)

struct cio_cell {
    uint32_t first; /* of its stripes, in stripe_of */
    uint32_t left;  /* of them, for who goes through the graph; all at first */
    uint32_t aggr, rank;
};

struct cio_graph {
    uint32_t nranks, naggr, nstripes, ncells, ntouches;
    uint32_t most;          /* positions of one aggregator */
    const uint8_t *leaving; /* per process, or NULL: all wait to be served; the caller's, */
    uint32_t nwait;         /* and how many do */
    uint32_t *first_cell;
    struct cio_cell *cells;
    uint32_t *stripe_of;
    uint32_t *first_touch;
    uint32_t *cell_of;
};

/*
 * Of the patterns of n >= 1 aggregators; the caller's until cio_graph_destroy(), and `leaving` must
 * last as long. -EINVAL (unequal nranks), -ENOMEM, also for more touches than CIO_GRAPH_TOUCHES.
 */
int cio_graph_create(struct cio_pattern *const *patterns, int n, const uint8_t *leaving,
                     struct cio_graph **out);
void cio_graph_destroy(struct cio_graph *g);

/* Whether a process waits to be served. */
static inline int cio_graph_waits(const struct cio_graph *g, uint32_t rank)
{
    return !g->leaving || g->leaving[rank] == CIO_LEAVES_SERVED;
}

/* How many processes touch a stripe, of those who wait. */
static inline uint32_t cio_graph_company(const struct cio_graph *g, uint32_t stripe)
{
    return g->first_touch[stripe + 1] - g->first_touch[stripe];
}

#endif
