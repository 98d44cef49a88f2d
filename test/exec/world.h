/*
 * All ranks of a collective operation in one process: the loop communicator, one memory store, node
 * memory of the loop. Tests make a world, give each rank a request, and run.
 */
#ifndef CIO_TEST_EXEC_WORLD_H
#define CIO_TEST_EXEC_WORLD_H

#include "exec/op.h"
#include "port/comm_loop.h"

struct world {
    int size;
    struct cio_nodes *nodes;
    struct cio_loop *loop;
    struct cio_nodemem_loop *memory;
    struct cio_store *store; /* memory; tests may put another one in its place */
    uint64_t slow;           /* not 0: its batches are under way for a while, with this seed */
    int threads;             /* the store has threads: while nothing moves, they are waited for */
    struct cio_alloc alloc;
    struct cio_node_memory own; /* boards of one rank; none: what is usual */
    struct cio_settings settings;
    int naggr;
    int *aggr;
    struct cio_team **team;      /* per rank */
    struct cio_segment *segment; /* per rank */
    struct cio_pace *pace;       /* per rank */
    struct cio_comm **comm;      /* per rank */
    struct cio_request *request; /* per rank */
    struct cio_stats *stats;     /* per rank, of the last run */
    int64_t *moved;              /* per rank, of the last run */
    int *error;                  /* per rank, of the last run */
    char *released;              /* per rank, of the last run: it could return before the end, */
    void (*on_release)(struct world *w, int rank); /* when this was called, unless it is NULL */
};

/* node_of: per rank, numbered by first appearance. c groups a node, naggr aggregators spread. */
void world_create(struct world *w, int size, const int *node_of, int c, int naggr, uint64_t seed);
/* Joins the groups' segments before the first operation, which is otherwise left to that. */
void world_share(struct world *w);

void world_destroy(struct world *w);

/*
 * Runs one operation with every rank's request, ranks taking turns. One that is released gets no
 * turn, and does not even look after its messages, before all are that are not. 0 if all finished
 * and every message was drained; -1 if nothing moved any more (a hang); -2 if an operation broke
 * off, because of lost messages. After either nothing can be freed.
 */
int world_run(struct world *w);

#endif
