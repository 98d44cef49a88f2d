/*
 * The reduction over all ranks that an operation begins with.
 *
 * Where every group is known to share memory, members leave their words on the board, leaders join
 * them and pass them up and down a tree of leaders: a few messages instead of two for each rank.
 * Else the port's own reduction is used, which also tells whether every rank has joined its
 * segment.
 *
 *   members -> leader (board) -> parents ... leader 0 ... -> children -> members (board)
 */
#include "exec/internal.h"

#include "port/comm_common.h"

static int child(const struct cio_op *op, int i)
{
    return cio_team_child(op->env.team, i);
}

static int parent(const struct cio_op *op)
{
    return cio_team_parent(op->env.team);
}

static struct cio_board *board_of(const struct cio_op *op)
{
    return op->env.segment->mem.base;
}

static void start_leader(struct cio_op *op)
{
    struct cio_reduce *r = &op->reduce;

    r->step = CIO_REDUCE_GATHER;
    if (op->env.team->group_size > 1)
        cio_board_expect(op);
    for (int i = 0; i < CIO_TEAM_CHILDREN && child(op, i) >= 0; i++)
        cio_op_recv(op, &r->words[i], sizeof(r->words[i]), child(op, i), CIO_TAG_REDUCE,
                    &r->req[i]);
}

static void start_member(struct cio_op *op)
{
    struct cio_ctl ctl = {.kind = CIO_CTL_READY};

    op->reduce.step = CIO_REDUCE_WORD;
    board_of(op)->desc[op->env.team->my_member].words = op->mine;
    cio_board_answer(op, &ctl);
}

int cio_reduce_start(struct cio_op *op)
{
    if (!op->env.segment->shared) {
        op->reduce.step = CIO_REDUCE_PORT;
        return cio_comm_reduce(op->env.comm, &op->mine, &op->all, &op->reduce.req[0]);
    }
    if (cio_team_leads(op->env.team))
        start_leader(op);
    else
        start_member(op);
    return 0;
}

static int members_answered(const struct cio_op *op)
{
    return op->env.team->group_size == 1 || cio_board_answered(op);
}

/* Joins what members and children say; the root has the result then, others pass it on. */
static void gather(struct cio_op *op)
{
    struct cio_reduce *r = &op->reduce;

    op->all = op->mine;
    for (int i = 1; i < op->env.team->group_size; i++)
        cio_reduction_join(&op->all, &board_of(op)->desc[i].words);
    for (int i = 0; i < CIO_TEAM_CHILDREN && child(op, i) >= 0; i++)
        cio_reduction_join(&op->all, &r->words[i]);
    r->step = CIO_REDUCE_PARENT;
    if (op->env.team->my_leader == 0)
        return;
    r->words[0] = op->all;
    cio_op_send(op, &r->words[0], sizeof(r->words[0]), parent(op), CIO_TAG_REDUCE, &r->req[0]);
    cio_op_recv(op, &op->all, sizeof(op->all), parent(op), CIO_TAG_REDUCED, &r->req[1]);
}

static void spread(struct cio_op *op)
{
    struct cio_reduce *r = &op->reduce;
    struct cio_ctl ctl = {.kind = CIO_CTL_REDUCED};

    r->step = CIO_REDUCE_SPREAD;
    for (int i = 0; i < CIO_TEAM_CHILDREN && child(op, i) >= 0; i++)
        cio_op_send(op, &op->all, sizeof(op->all), child(op, i), CIO_TAG_REDUCED, &r->req[i]);
    if (op->env.team->group_size == 1)
        return;
    board_of(op)->words = op->all;
    cio_board_tell(op, &ctl);
}

/* A message of the tree that failed: this rank goes on with what it has, and fails. */
static void note_errors(struct cio_op *op)
{
    for (int i = 0; i < CIO_TEAM_CHILDREN; i++)
        if (op->reduce.req[i].state == CIO_REQ_DONE && op->reduce.req[i].error != 0)
            cio_op_fail(op, op->reduce.req[i].error);
}

static int hear(struct cio_op *op)
{
    struct cio_ctl ctl;

    if (!cio_board_hear(op, &ctl))
        return 0;
    op->all = board_of(op)->words;
    return 1;
}

int cio_reduce_progress(struct cio_op *op)
{
    struct cio_reduce *r = &op->reduce;
    int busy = cio_reqs_busy(r->req, CIO_TEAM_CHILDREN);

    switch (r->step) {
    case CIO_REDUCE_PORT:
        return r->req[0].state == CIO_REQ_DONE;
    case CIO_REDUCE_WORD:
        return hear(op);
    case CIO_REDUCE_GATHER:
        if (busy || !members_answered(op))
            return 0;
        note_errors(op);
        gather(op);
        return cio_reduce_progress(op);
    case CIO_REDUCE_PARENT:
        if (busy)
            return 0;
        note_errors(op);
        spread(op);
        return cio_reduce_progress(op);
    default:
        return !busy;
    }
}

void cio_reduce_needs(struct cio_op *op, struct cio_needs *needs)
{
    struct cio_reduce *r = &op->reduce;
    const struct cio_board *board = op->env.segment->mem.base;

    if (r->step == CIO_REDUCE_WORD) {
        needs->word = &board->told;
        needs->seen = op->env.segment->told;
    } else if (r->step == CIO_REDUCE_GATHER && !members_answered(op)) {
        needs->word = &board->arrived;
        needs->seen = __atomic_load_n(needs->word, __ATOMIC_ACQUIRE);
        if (needs->seen == op->env.segment->arrived)
            needs->word = NULL;
    } else {
        cio_needs_add(needs, r->req, CIO_TEAM_CHILDREN);
    }
}
