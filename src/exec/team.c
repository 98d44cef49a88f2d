/* Groups, leaders and aggregators, from the node map. */
#include "exec/team.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "plan/respond.h"

static int clamp(int c, int q)
{
    return c < 1 ? 1 : c > q ? q : c;
}

static int count_leaders(const struct cio_nodes *nodes, int c)
{
    int n = 0;

    for (int i = 0; i < nodes->nnodes; i++)
        n += clamp(c, cio_nodes_count(nodes, i));
    return n;
}

static void find_leaders(const struct cio_nodes *nodes, int c, struct cio_team *t)
{
    int mine = nodes->node[t->rank];

    for (int i = 0; i < nodes->nnodes; i++) {
        int q = cio_nodes_count(nodes, i);

        if (i == mine) {
            t->my_first = t->nleaders;
            t->my_leaders = clamp(c, q);
            t->my_leader = t->nleaders + cio_local_group(q, clamp(c, q), nodes->local[t->rank]);
        }
        for (int j = 0; j < clamp(c, q); j++)
            t->leader[t->nleaders + j] =
                nodes->ranks[nodes->first[i] + cio_local_aggr(q, clamp(c, q), j)];
        for (int j = 0; j < q; j++)
            t->followers[t->nleaders + cio_local_group(q, clamp(c, q), j)]++;
        t->head[i] = t->leader[t->nleaders];
        t->nleaders += clamp(c, q);
    }
}

static void find_group(const struct cio_nodes *nodes, int c, struct cio_team *t)
{
    int node = nodes->node[t->rank];
    int q = cio_nodes_count(nodes, node);
    int mine = cio_local_group(q, clamp(c, q), nodes->local[t->rank]);

    for (int i = 0; i < q; i++) {
        if (cio_local_group(q, clamp(c, q), i) != mine)
            continue;
        if (i == nodes->local[t->rank])
            t->my_member = t->group_size;
        t->group[t->group_size++] = nodes->ranks[nodes->first[node] + i];
    }
}

static void find_aggr(const int *aggr, int naggr, struct cio_team *t)
{
    t->naggr = naggr;
    t->my_aggr = -1;
    for (int i = 0; i < naggr; i++) {
        t->aggr[i] = aggr[i];
        if (aggr[i] == t->rank)
            t->my_aggr = i;
    }
}

static int aggregates(const struct cio_team *t, int rank)
{
    int i = 0;

    while (i < t->naggr && t->aggr[i] != rank)
        i++;
    return i < t->naggr;
}

static void find_root(struct cio_team *t)
{
    while (t->root < t->nleaders && !aggregates(t, t->leader[t->root]))
        t->root++;
    if (t->root == t->nleaders)
        t->root = 0;
}

void cio_team_find_leaving(const struct cio_team *t, int soon, uint8_t *leaving)
{
    memset(leaving, soon ? CIO_LEAVES_FIRST : CIO_LEAVES_SERVED, (size_t)t->nodes->nranks);
    for (int l = 0; l < t->nleaders; l++)
        leaving[t->leader[l]] = t->followers[l] > 1 ? CIO_LEAVES_LAST : CIO_LEAVES_SERVED;
    for (int a = 0; a < t->naggr; a++)
        leaving[t->aggr[a]] = CIO_LEAVES_LAST;
}

static int count_waiting(struct cio_team *t)
{
    uint8_t *leaving = malloc((size_t)t->nodes->nranks);

    if (leaving == NULL)
        return -ENOMEM;
    cio_team_find_leaving(t, 1, leaving);
    for (int r = 0; r < t->nodes->nranks; r++) {
        t->nlone += leaving[r] == CIO_LEAVES_SERVED;
        t->nled += leaving[r] == CIO_LEAVES_FIRST;
    }
    free(leaving);
    return 0;
}

int cio_team_create(const struct cio_nodes *nodes, int rank, int c, const int *aggr, int naggr,
                    struct cio_team **out)
{
    struct cio_team *t = calloc(1, sizeof(*t));

    if (t == NULL)
        return -ENOMEM;
    t->rank = rank;
    t->nodes = nodes;
    t->aggr = malloc((size_t)naggr * sizeof(int));
    t->leader = malloc((size_t)count_leaders(nodes, c) * sizeof(int));
    t->followers = calloc((size_t)count_leaders(nodes, c), sizeof(int));
    t->head = malloc((size_t)nodes->nnodes * sizeof(int));
    t->group = malloc((size_t)cio_nodes_count(nodes, nodes->node[rank]) * sizeof(int));
    if (t->aggr == NULL || t->leader == NULL || t->followers == NULL || t->head == NULL ||
        t->group == NULL) {
        cio_team_destroy(t);
        return -ENOMEM;
    }
    find_leaders(nodes, c, t);
    find_group(nodes, c, t);
    find_aggr(aggr, naggr, t);
    find_root(t);
    if (count_waiting(t) != 0) {
        cio_team_destroy(t);
        return -ENOMEM;
    }
    *out = t;
    return 0;
}

int cio_team_waits(const struct cio_team *t, int soon)
{
    return t->nlone > 0 || (t->nled > 0 && !soon);
}

int cio_team_leader_of(const struct cio_team *t, int rank)
{
    int node = t->nodes->node[rank], q = cio_nodes_count(t->nodes, node), first = 0, c = 0;

    while (t->nodes->node[t->leader[first]] != node)
        first++;
    while (first + c < t->nleaders && t->nodes->node[t->leader[first + c]] == node)
        c++;
    return first + cio_local_group(q, c, t->nodes->local[rank]);
}

void cio_team_destroy(struct cio_team *t)
{
    if (t == NULL)
        return;
    free(t->group);
    free(t->head);
    free(t->followers);
    free(t->leader);
    free(t->aggr);
    free(t);
}
