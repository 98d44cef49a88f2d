/* Local and global aggregators: spread evenly over what there is. */
#include "plan/aggr.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int min_int(int a, int b)
{
    return a < b ? a : b;
}

static int clamp(int c, int q)
{
    return c < 1 ? 1 : min_int(c, q);
}

int cio_local_aggr(int q, int c, int i)
{
    c = clamp(c, q);
    return q / c * i + min_int(i, q % c);
}

int cio_local_group(int q, int c, int local_rank)
{
    int small, in_large;

    c = clamp(c, q);
    small = q / c;
    in_large = (small + 1) * (q % c);
    if (local_rank < in_large)
        return local_rank / (small + 1);
    return q % c + (local_rank - in_large) / small;
}

struct named_rank {
    const char *name;
    int rank;
};

static int compare_named(const void *a, const void *b)
{
    const struct named_rank *x = a, *y = b;
    int c = strcmp(x->name, y->name);

    return c ? c : (x->rank > y->rank) - (x->rank < y->rank);
}

int cio_nodes_from_names(const char *const *names, int nranks, int *node_of)
{
    struct named_rank *sorted;
    int leader = 0, nnodes = 0;

    if (nranks < 0)
        return -EINVAL;
    sorted = malloc(((size_t)nranks + 1) * sizeof(*sorted));
    if (!sorted)
        return -ENOMEM;
    for (int r = 0; r < nranks; r++)
        sorted[r] = (struct named_rank){names[r], r};
    qsort(sorted, (size_t)nranks, sizeof(*sorted), compare_named);

    /* first the lowest rank of the same name, then, rising, that rank's number */
    for (int i = 0; i < nranks; i++) {
        if (i == 0 || strcmp(sorted[i].name, sorted[i - 1].name))
            leader = sorted[i].rank;
        node_of[sorted[i].rank] = leader;
    }
    for (int r = 0; r < nranks; r++)
        node_of[r] = node_of[r] == r ? nnodes++ : node_of[node_of[r]];
    free(sorted);
    return 0;
}

/* Number of nodes; -EINVAL if they are not numbered by first appearance. */
static int count_nodes(const int *node_of, int nranks)
{
    int nnodes = 0;

    for (int r = 0; r < nranks; r++) {
        if (node_of[r] < 0 || node_of[r] > nnodes)
            return -EINVAL;
        nnodes += node_of[r] == nnodes;
    }
    return nnodes;
}

int cio_nodes_create(const int *node_of, int nranks, struct cio_nodes **out)
{
    struct cio_nodes *n;
    int nnodes = count_nodes(node_of, nranks);

    if (nranks < 0 || nnodes < 0)
        return -EINVAL;
    n = malloc(sizeof(*n) + (3 * (size_t)nranks + (size_t)nnodes + 1) * sizeof(int));
    if (!n)
        return -ENOMEM;
    n->nranks = nranks;
    n->nnodes = nnodes;
    n->node = (int *)(n + 1);
    n->local = n->node + nranks;
    n->ranks = n->local + nranks;
    n->first = n->ranks + nranks;

    memset(n->first, 0, ((size_t)nnodes + 1) * sizeof(int));
    for (int r = 0; r < nranks; r++) {
        n->node[r] = node_of[r];
        n->local[r] = n->first[node_of[r] + 1]++;
    }
    for (int i = 0; i < nnodes; i++)
        n->first[i + 1] += n->first[i];
    for (int r = 0; r < nranks; r++)
        n->ranks[n->first[n->node[r]] + n->local[r]] = r;
    *out = n;
    return 0;
}

void cio_nodes_destroy(struct cio_nodes *nodes)
{
    free(nodes);
}

/* Items in groups: group g has the items first[g] .. first[g + 1] - 1. */
struct groups {
    int n;
    const int *first;
};

static int group_size(struct groups g, int i)
{
    return g.first[i + 1] - g.first[i];
}

static int64_t taken_at_level(struct groups g, int level)
{
    int64_t sum = 0;

    for (int i = 0; i < g.n; i++)
        sum += min_int(group_size(g, i), level);
    return sum;
}

/* The most that every group can give, as far as its items last, for no more than k in all. */
static int find_level(struct groups g, int k)
{
    int lo = 0, hi = k;

    while (lo < hi) {
        int mid = lo + (hi - lo + 1) / 2;

        if (taken_at_level(g, mid) <= k)
            lo = mid;
        else
            hi = mid - 1;
    }
    return lo;
}

/* Divide k, at most the number of items, over the groups. */
static void divide(struct groups g, int k, int *quota)
{
    int level = find_level(g, k);
    int64_t rest = k - taken_at_level(g, level);
    int64_t open = taken_at_level(g, level + 1) - taken_at_level(g, level);
    int64_t seen = 0, given = 0;

    for (int i = 0; i < g.n; i++) {
        quota[i] = min_int(group_size(g, i), level);
        if (group_size(g, i) > level && given < rest && seen++ == given * open / rest) {
            quota[i]++;
            given++;
        }
    }
}

/*
 * Choose k items, quota[i] of group i, evenly spaced in it, and put them in round-robin order.
 * turn has room for k ints.
 */
static void deal(struct groups g, const int *items, const int *quota, int k, int *turn, int *out)
{
    int start = 0;

    memset(turn, 0, (size_t)k * sizeof(int));
    for (int i = 0; i < g.n; i++)
        for (int j = 0; j < quota[i]; j++)
            turn[j]++;
    for (int j = 0; j < k; j++) {
        int n = turn[j];

        turn[j] = start;
        start += n;
    }
    for (int i = 0; i < g.n; i++)
        for (int j = 0; j < quota[i]; j++)
            out[turn[j]++] = items[g.first[i] + cio_local_aggr(group_size(g, i), quota[i], j)];
}

struct seat {
    int socket;
    int rank;
};

static int compare_seats(const void *a, const void *b)
{
    const struct seat *x = a, *y = b;

    if (x->socket != y->socket)
        return x->socket < y->socket ? -1 : 1;
    return (x->rank > y->rank) - (x->rank < y->rank);
}

/* Memory for one call of cio_global_spread(); every array has nranks + 1 entries. */
struct work {
    struct seat *seats;
    int *quota, *first, *picked; /* nodes: how many, where in picked, which ranks */
    int *socket_quota, *socket_first, *socket_ranks;
    int *turn;
};

static int work_init(struct work *w, int nranks)
{
    size_t n = (size_t)nranks + 1;
    int *p;

    w->seats = malloc(n * (sizeof(struct seat) + 7 * sizeof(int)));
    if (!w->seats)
        return -ENOMEM;
    p = (int *)(w->seats + n);
    w->quota = p;
    w->first = p + n;
    w->picked = p + 2 * n;
    w->socket_quota = p + 3 * n;
    w->socket_first = p + 4 * n;
    w->socket_ranks = p + 5 * n;
    w->turn = p + 6 * n;
    return 0;
}

/* Sort q ranks by socket into socket_ranks, and find where each socket begins. */
static struct groups sort_by_socket(struct work *w, const int *ranks, int q, const int *socket_of)
{
    int nsockets = 0;

    for (int i = 0; i < q; i++)
        w->seats[i] = (struct seat){socket_of ? socket_of[ranks[i]] : 0, ranks[i]};
    qsort(w->seats, (size_t)q, sizeof(struct seat), compare_seats);
    for (int i = 0; i < q; i++) {
        if (i == 0 || w->seats[i].socket != w->seats[i - 1].socket)
            w->socket_first[nsockets++] = i;
        w->socket_ranks[i] = w->seats[i].rank;
    }
    w->socket_first[nsockets] = q;
    return (struct groups){nsockets, w->socket_first};
}

int cio_global_spread(const struct cio_nodes *nodes, int naggr, const int *socket_of, int *ranks)
{
    struct groups by_node = {nodes->nnodes, nodes->first};
    struct work w;
    int rc;

    if (naggr < 1)
        return -EINVAL;
    naggr = min_int(naggr, nodes->nranks);
    rc = work_init(&w, nodes->nranks);
    if (rc)
        return rc;

    divide(by_node, naggr, w.quota);
    w.first[0] = 0;
    for (int i = 0; i < nodes->nnodes; i++) {
        struct groups sockets = sort_by_socket(&w, nodes->ranks + nodes->first[i],
                                               cio_nodes_count(nodes, i), socket_of);

        divide(sockets, w.quota[i], w.socket_quota);
        deal(sockets, w.socket_ranks, w.socket_quota, w.quota[i], w.turn, w.picked + w.first[i]);
        w.first[i + 1] = w.first[i] + w.quota[i];
    }
    deal((struct groups){nodes->nnodes, w.first}, w.picked, w.quota, naggr, w.turn, ranks);
    free(w.seats);
    return naggr;
}

static int run_length(const int *ranks, int n)
{
    int i = 1;

    while (i < n && ranks[i] - 1 == ranks[i - 1])
        i++;
    return i;
}

void cio_ranks_text(const int *ranks, int n, char *out, size_t size)
{
    size_t used = 0;

    out[0] = '\0';
    for (int i = 0; i < n;) {
        int run = run_length(ranks + i, n - i);
        const char *comma = i > 0 ? "," : "";

        if (size - used < 56) {
            snprintf(out + used, size - used, "%s... (%d in all)", comma, n);
            return;
        }
        if (run < 3)
            run = 1;
        used += (size_t)(run == 1 ? snprintf(out + used, size - used, "%s%d", comma, ranks[i])
                                  : snprintf(out + used, size - used, "%s%d-%d", comma, ranks[i],
                                             ranks[i + run - 1]));
        i += run;
    }
}
