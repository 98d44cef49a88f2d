/*
 * Who aggregates: local aggregators within a node, global aggregators over all nodes.
 *
 * Ranks are the ranks of the communicator of the file. A node's local ranks are its ranks in rising
 * order; nothing is assumed about how ranks are placed on nodes.
 */
#ifndef CIO_PLAN_AGGR_H
#define CIO_PLAN_AGGR_H

#include <stddef.h>

/*
 * Local rank of local aggregator i, of c among q >= 1 ranks (the TAM paper, 3.1): groups of
 * ceil(q/c) ranks first, of floor(q/c) then, each led by its lowest. c is clamped to 1..q;
 * 0 <= i < c. q = 8, c = 3 gives 0, 3, 6.
 */
int cio_local_aggr(int q, int c, int i);

/* Which local aggregator serves a local rank: the last one not above it. */
int cio_local_group(int q, int c, int local_rank);

/*
 * Ranks by node; read only. Node i has the ranks ranks[first[i] .. first[i + 1] - 1], rising.
 */
struct cio_nodes {
    int nranks;
    int nnodes;
    int *node;  /* per rank: its node, */
    int *local; /* and its local rank there */
    int *first; /* per node, and one more */
    int *ranks; /* all ranks, by node */
};

/*
 * Number the nodes by first appearance: equal names are one node. node_of has nranks entries.
 * O(n log n). -ENOMEM.
 */
int cio_nodes_from_names(const char *const *names, int nranks, int *node_of);

/*
 * node_of[rank] as cio_nodes_from_names() gives them: rank 0 is on node 0, and a rank is either on
 * a node seen before or on the next one (-EINVAL otherwise). -ENOMEM.
 * The caller owns *out, until cio_nodes_destroy().
 */
int cio_nodes_create(const int *node_of, int nranks, struct cio_nodes **out);
void cio_nodes_destroy(struct cio_nodes *nodes);

static inline int cio_nodes_count(const struct cio_nodes *nodes, int node)
{
    return nodes->first[node + 1] - nodes->first[node];
}

/*
 * Choose naggr distinct ranks, clamped to nranks, as global aggregators.
 *
 * Every node gets as many, as far as its ranks last; what remains goes to nodes evenly spaced among
 * those with ranks left (three aggregators on six nodes: nodes 0, 2, 4). Within a node the same is
 * done over its sockets, and within a socket they are spaced as local aggregators are. socket_of is
 * any number per rank, compared within a node only; NULL: each node is one socket.
 *
 * The order is round robin over nodes: 2 nodes of 64 ranks and 4 aggregators give 0, 64, 32, 96.
 * Returns their number, or -EINVAL (naggr < 1), -ENOMEM. ranks has room for naggr.
 */
int cio_global_spread(const struct cio_nodes *nodes, int naggr, const int *socket_of, int *ranks);

/*
 * Ranks in their order as "0,64,8-11": runs of three and more that rise by one are ranges. Ends
 * with
 * ",... (N in all)" if it does not fit into size bytes, of which there are at least 64.
 */
void cio_ranks_text(const int *ranks, int n, char *out, size_t size);

#endif
