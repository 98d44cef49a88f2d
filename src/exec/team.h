/*
 * Who does what in a collective call: the groups of ranks on each node with their leaders (the TAM
 * paper's local aggregators), and the global aggregators. The same on every rank but for "my"
 * parts.
 *
 *   node 0: ranks 0 1 2 3 4 5      c = 2:  group {0 1 2} led by 0, group {3 4 5} led by 3
 */
#ifndef CIO_EXEC_TEAM_H
#define CIO_EXEC_TEAM_H

#include <stdint.h>

#include "plan/aggr.h"

struct cio_team {
    int rank;
    const struct cio_nodes *nodes; /* the caller's */
    int naggr;
    int *aggr;   /* rank of each global aggregator, */
    int my_aggr; /* and which of them I am, or -1 */
    int nlone;   /* ranks that aggregate nothing: groups of one, */
    int nled;    /* members that others lead */
    int nleaders;
    int *leader;    /* rank of each leader, by node and group, */
    int *followers; /* ranks in its group, itself included, */
    int my_leader;  /* and which of them serves me (is me, if my_member is 0) */
    int root;       /* the first leader that is an aggregator, too; 0 if none is */
    int *head;      /* per node: rank of its first leader, who speaks for all of them; */
    int my_first;   /* on my node that is leader my_first, */
    int my_leaders; /* of so many there */
    int group_size; /* ranks in my group, */
    int *group;     /* group[0] is the leader, */
    int my_member;  /* and where I am among them */
};

/*
 * c groups on each node (clamped to its ranks). `aggr` is copied, `nodes` must outlive the team.
 * The caller owns *out until cio_team_destroy. -ENOMEM.
 */
int cio_team_create(const struct cio_nodes *nodes, int rank, int c, const int *aggr, int naggr,
                    struct cio_team **out);
void cio_team_destroy(struct cio_team *team);

/* Whether a message to that rank leaves my node. */
static inline int cio_team_is_remote(const struct cio_team *team, int rank)
{
    return team->nodes->node[rank] != team->nodes->node[team->rank];
}

static inline int cio_team_leads(const struct cio_team *team)
{
    return team->my_member == 0;
}

static inline int cio_team_heads(const struct cio_team *team)
{
    return team->my_member == 0 && team->my_leader == team->my_first;
}

/*
 * A tree of leaders, in which words travel from all of them to leader 0, or from it to all. For a
 * leader: the rank of the one above it (unless it is leader 0), and of child i, or -1.
 */
#define CIO_TEAM_CHILDREN 4

static inline int cio_team_parent(const struct cio_team *team)
{
    return team->leader[(team->my_leader - 1) / CIO_TEAM_CHILDREN];
}

static inline int cio_team_child(const struct cio_team *team, int i)
{
    int index = team->my_leader * CIO_TEAM_CHILDREN + 1 + i;

    return index < team->nleaders ? team->leader[index] : -1;
}

/*
 * When each rank returns from a call that may be left early (enum cio_leaving): aggregators and
 * leaders of others with the last, the others when they have been served; but with `soon` all
 * members of groups at once, since their leaders take what they have. `leaving` has room for all
 * ranks.
 */
void cio_team_find_leaving(const struct cio_team *team, int soon, uint8_t *leaving);

/* Whether anybody waits to be served, then. */
int cio_team_waits(const struct cio_team *team, int soon);

/* The leader, by index, whose group a rank is in. */
int cio_team_leader_of(const struct cio_team *team, int rank);

#endif
