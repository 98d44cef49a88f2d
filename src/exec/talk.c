/*
 * The memory of a group's board, and the notes that leader and members leave on it.
 *
 * Nobody is asked whether a segment can be had: every rank of a group joins it by a name that all
 * of them know, and says in the reduction that all operations begin with whether it has. The last
 * one to join removes the name; where one is missing, the leader does, after the reduction.
 */
#include "exec/internal.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "port/log.h"

static int64_t clamp_budget(int64_t bytes)
{
    return cio_min64(cio_max64(bytes, CIO_BUDGET_MIN), CIO_BUDGET_MAX);
}

/*
 * Bytes of a window for each member. Without shared memory the leader holds those of all, but no
 * more than they need, since memory of its own counts where it is reserved.
 */
int64_t cio_op_budget(const struct cio_op *op)
{
    if (op->shared)
        return clamp_budget(op->set.memory_limit);
    return clamp_budget(
        cio_min64(op->set.memory_limit / op->env.team->group_size, op->charge + CIO_LIST_CHARGE));
}

int64_t cio_op_least_budget(const struct cio_op *op)
{
    const struct cio_team *team = op->env.team;
    int most = 1;

    for (int i = 0; !op->env.segment->shared && i < team->nleaders; i++)
        most = team->followers[i] > most ? team->followers[i] : most;
    return clamp_budget(op->set.memory_limit / most);
}

static void leave(const struct cio_node_memory *port, struct cio_nodemem *mem)
{
    if (mem->base == NULL)
        return;
    port->ops->forget(port->self, mem);
    port->ops->leave(port->self, mem);
    memset(mem, 0, sizeof(*mem));
}

/* Aggregators on my node that are in other groups than the leader's. */
static int near_others(const struct cio_team *team, int leader)
{
    const struct cio_nodes *nodes = team->nodes;
    int node = nodes->node[team->leader[leader]], n = 0;

    for (int i = 0; i < team->naggr; i++)
        n +=
            nodes->node[team->aggr[i]] == node && cio_team_leader_of(team, team->aggr[i]) != leader;
    return n;
}

/* Boards of the groups of one node, of the node where these take most. */
static int64_t boards_of_node(const struct cio_team *team, int64_t budget)
{
    int64_t bytes = 0, most = 0;

    for (int l = 0; l < team->nleaders; l++) {
        if (l > 0 && team->nodes->node[team->leader[l]] != team->nodes->node[team->leader[l - 1]])
            bytes = 0;
        if (team->followers[l] > 1)
            bytes += cio_board_size(team->followers[l], budget, team->naggr);
        most = cio_max64(most, bytes);
    }
    return most;
}

int64_t cio_segment_limit(const struct cio_team *team, int64_t memory_limit, int64_t room)
{
    int64_t budget = clamp_budget(memory_limit);

    if (boards_of_node(team, budget) <= room)
        return memory_limit;
    while (budget > CIO_BUDGET_MIN && boards_of_node(team, budget) > room)
        budget /= 2;
    return budget;
}

/* Maps a leader's segment and, as the first one there, lays it out. The last one removes the name.
 */
static int join(const struct cio_segment *seg, int leader, const struct cio_node_memory *port,
                const struct cio_team *team, int64_t memory_limit, struct cio_nodemem *mem)
{
    int64_t budget = clamp_budget(memory_limit);
    int k = team->followers[leader];
    int64_t size = cio_board_size(k, budget, team->naggr);
    int last = k - 1 + (seg->with_near ? near_others(team, leader) : 0);
    char name[CIO_NODEMEM_NAME_MAX];
    struct cio_board *board;
    int rc;

    snprintf(name, sizeof(name), "/tamio-%s-%d", seg->key, leader);
    rc = port->ops->join(port->self, name, size, mem);
    if (rc != 0)
        return rc;
    rc = port->ops->back(port->self, mem, 0, cio_board_head_size(k));
    if (rc != 0) {
        leave(port, mem);
        return rc;
    }
    board = mem->base;
    rc = (int)__atomic_fetch_add(&board->joined, 1, __ATOMIC_ACQ_REL);
    if (rc == 0)
        cio_board_init(board, k, budget, team->naggr);
    if (rc == last)
        port->ops->forget(port->self, mem);
    return 0;
}

/* An aggregator tells the leader that it reads and writes on its board. */
static void sign(struct cio_board *board, const struct cio_team *team)
{
    uint32_t i = __atomic_fetch_add(&board->nnear, 1, __ATOMIC_ACQ_REL);

    if (i < CIO_NEAR_MAX)
        board->near[i] = team->my_aggr + 1;
}

void cio_segment_join_near(struct cio_segment *seg, struct cio_node_memory nodemem,
                           const struct cio_team *team, int64_t memory_limit)
{
    if (team->my_aggr < 0 || seg->refused)
        return;
    seg->near = calloc((size_t)team->nleaders, sizeof(*seg->near));
    seg->nnear = seg->near == NULL ? 0 : team->nleaders;
    for (int i = 0; i < seg->nnear; i++) {
        if (cio_team_is_remote(team, team->leader[i]) || team->followers[i] == 1)
            continue;
        if (i == team->my_leader)
            sign(seg->mem.base, team);
        else if (join(seg, i, &nodemem, team, memory_limit, &seg->near[i]) == 0)
            sign(seg->near[i].base, team);
    }
}

int cio_segment_join(struct cio_segment *seg, struct cio_node_memory nodemem,
                     const struct cio_team *team, int64_t memory_limit)
{
    int rc;

    if (seg->refused || seg->key[0] == '\0')
        return -ENOTSUP;
    if (seg->mem.base != NULL || team->group_size == 1)
        return 0;
    rc = join(seg, team->my_leader, &nodemem, team, memory_limit, &seg->mem);
    if (rc == 0)
        return 0;
    cio_log(CIO_LOG_NOTICE,
            "rank %d: no shared memory for its group (%s): messages are used instead", team->rank,
            strerror(-rc));
    seg->refused = 1;
    return rc;
}

int cio_board_join(struct cio_op *op)
{
    if (op->set.transport == CIO_TRANSPORT_P2P)
        return -ENOTSUP;
    return cio_segment_join(op->env.segment, op->env.nodemem, op->env.team, op->set.memory_limit);
}

static int64_t share_of(const struct cio_nodemem *mem)
{
    const struct cio_board *board = mem->base;

    return board == NULL ? 0 : cio_board_backed(board) / board->members;
}

int64_t cio_segment_share(const struct cio_segment *seg)
{
    int64_t bytes = share_of(&seg->mem);

    for (int i = 0; i < seg->nnear; i++)
        bytes += share_of(&seg->near[i]);
    return bytes;
}

void cio_segment_leave(struct cio_segment *seg, struct cio_node_memory nodemem)
{
    for (int i = 0; i < seg->nnear; i++)
        leave(&nodemem, &seg->near[i]);
    free(seg->near);
    seg->near = NULL;
    seg->nnear = seg->shared = 0;
    leave(&nodemem, &seg->mem);
}

int cio_board_own(struct cio_op *op, int k, struct cio_board **out)
{
    const struct cio_node_memory *port = &op->env.own;
    int64_t size = cio_board_size(k, cio_op_budget(op), op->env.team->naggr);
    int rc = port->ops->join(port->self, "", size, &op->own);

    if (rc != 0)
        return rc;
    cio_board_init(op->own.base, k, cio_op_budget(op), op->env.team->naggr);
    *out = op->own.base;
    return 0;
}

void cio_board_release(struct cio_op *op)
{
    if (op->own.base != NULL)
        op->env.own.ops->leave(op->env.own.self, &op->own);
    op->own.base = NULL;
}

struct cio_board_memory cio_board_memory_of(struct cio_op *op)
{
    if (op->shared)
        return (struct cio_board_memory){op->env.nodemem, &op->env.segment->mem};
    return (struct cio_board_memory){op->env.own, &op->own};
}

/* ---- notes ---- */

static struct cio_board *shared_board(const struct cio_op *op)
{
    return op->env.segment->mem.base;
}

/* Until MPI has taken it; the receiver is inside MPI and waits for nothing else. */
static void finish_rouse(struct cio_op *op)
{
    struct cio_req *req = &op->rouse;

    while (cio_req_busy(req) && op->env.comm->error == 0)
        cio_comm_wait(op->env.comm, &req, 1);
}

static void rouse(struct cio_op *op, int member)
{
    finish_rouse(op);
    cio_op_send(op, NULL, 0, op->env.team->group[member], CIO_TAG_WAKE, &op->rouse);
    finish_rouse(op);
}

/* Whether it has been asleep inside MPI, and is to be sent a message now: by one rank only. */
static int take_sleeper(struct cio_board *board, int member)
{
    uint32_t *inside = &board->desc[member].inside;

    if (__atomic_load_n(inside, __ATOMIC_RELAXED) == 0 ||
        __atomic_exchange_n(inside, 0, __ATOMIC_ACQ_REL) == 0)
        return 0;
    __atomic_sub_fetch(&board->ninside, 1, __ATOMIC_RELAXED);
    return 1;
}

/* The fence: either the word is seen to have changed there, or the sleeper is seen here. */
void cio_board_wake(struct cio_op *op, uint32_t *word, int first, int end)
{
    struct cio_board *board = shared_board(op);

    op->env.nodemem.ops->wake(op->env.nodemem.self, word);
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
    if (__atomic_load_n(&board->ninside, __ATOMIC_RELAXED) == 0)
        return;
    for (int i = first; i < end; i++)
        if (take_sleeper(board, i))
            rouse(op, i);
}

/* If the word has changed already and nobody has taken notice, it wakes itself. */
int cio_board_sleep(struct cio_op *op, const uint32_t *word, uint32_t seen)
{
    struct cio_board *board = shared_board(op);
    int me = op->env.team->my_member;
    struct cio_req *awake = &op->awake;

    if (board == NULL || op->env.team->group_size == 1)
        return -ENOTSUP;
    cio_op_recv(op, NULL, 0, CIO_ANY_SOURCE, CIO_TAG_WAKE, awake);
    __atomic_store_n(&board->desc[me].inside, 1, __ATOMIC_RELAXED);
    __atomic_add_fetch(&board->ninside, 1, __ATOMIC_RELEASE);
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
    if (__atomic_load_n(word, __ATOMIC_ACQUIRE) != seen && take_sleeper(board, me))
        rouse(op, me);
    while (cio_req_busy(awake) && op->env.comm->error == 0)
        cio_comm_wait(op->env.comm, &awake, 1);
    return 0;
}

void cio_board_tell(struct cio_op *op, const struct cio_ctl *ctl)
{
    struct cio_board *board = shared_board(op);

    board->down = *ctl;
    __atomic_add_fetch(&board->told, 1, __ATOMIC_RELEASE);
    cio_board_wake(op, &board->told, 1, op->env.team->group_size);
}

void cio_board_expect(struct cio_op *op)
{
    op->env.segment->arrived += (uint32_t)op->env.team->group_size - 1;
}

int cio_board_answered(const struct cio_op *op)
{
    return __atomic_load_n(&shared_board(op)->arrived, __ATOMIC_ACQUIRE) ==
           op->env.segment->arrived;
}

int cio_board_hear(struct cio_op *op, struct cio_ctl *ctl)
{
    const struct cio_board *board = shared_board(op);
    struct cio_segment *seg = op->env.segment;

    if (__atomic_load_n(&board->told, __ATOMIC_ACQUIRE) == seg->told)
        return 0;
    seg->told++;
    *ctl = board->down;
    return 1;
}

/* The last answer wakes the leader. */
void cio_board_answer(struct cio_op *op, const struct cio_ctl *ctl)
{
    struct cio_board *board = shared_board(op);

    board->desc[op->env.team->my_member].up = *ctl;
    cio_board_expect(op);
    if (__atomic_add_fetch(&board->arrived, 1, __ATOMIC_ACQ_REL) == op->env.segment->arrived)
        cio_board_wake(op, &board->arrived, 0, 1);
}

void cio_board_answer_for(struct cio_op *op, int members)
{
    __atomic_add_fetch(&shared_board(op)->arrived, (uint32_t)members, __ATOMIC_ACQ_REL);
}

/* Where the others have heard it on the board, it is there. */
void cio_board_tell_through(struct cio_op *op, const char *through, const struct cio_ctl *ctl)
{
    struct cio_board *board = shared_board(op);

    if (!op->shared)
        board->down = *ctl;
    board->settled = op->env.segment->arrived;
    for (int i = 1; i < op->env.team->group_size; i++) {
        if (through[i] != CIO_THROUGH_BOARD)
            continue;
        __atomic_store_n(&board->desc[i].landed, CIO_LANDED_OUTCOME, __ATOMIC_RELEASE);
        cio_board_wake(op, &board->desc[i].landed, i, i + 1);
    }
}

/* Others may have answered in the next operation by now, but this one's leader has said nothing. */
int cio_board_hear_through(struct cio_op *op, struct cio_ctl *ctl)
{
    struct cio_board *board = shared_board(op);
    struct cio_segment *seg = op->env.segment;
    const uint32_t *landed = &board->desc[op->env.team->my_member].landed;

    if (__atomic_load_n(landed, __ATOMIC_ACQUIRE) != CIO_LANDED_OUTCOME)
        return 0;
    seg->told = __atomic_load_n(&board->told, __ATOMIC_ACQUIRE);
    seg->arrived = board->settled;
    *ctl = board->down;
    return 1;
}
