/*
 * The reduction over all ranks that an operation begins with, by messages and notes of its own, so
 * that it can wait like everything else: ranks in blocking and in nonblocking calls may take part
 * in one, and others may progress meanwhile.
 *
 *   members -> leader -> parents ... leader 0 ... -> children -> leader -> members
 *
 * Members leave their words on the group's board where every group is known to share memory; else
 * they send them to their leader. Leaders join them and pass them up and down a tree.
 *
 * What comes by message is received all at once. Without memory for that it is received one after
 * the other, in room that every operation has: nobody may have to stay away for lack of memory.
 */
#include "exec/internal.h"

#include <errno.h>

/*
 * Children of a leader in the tree. A hop is a wake-up of somebody, which takes longer than taking
 * in a few messages: with 64 leaders there are 2 hops to the root and with 512 there are 3, as with
 * 16 children; with 4 it would be 3 and 5.
 */
#define CHILDREN 8

static struct cio_board *board_of(const struct cio_op *op)
{
    return op->env.segment->mem.base;
}

static int has_board(const struct cio_op *op)
{
    return op->env.segment->shared && op->env.team->group_size > 1;
}

/* Members whose words come by message. */
static int senders(const struct cio_op *op)
{
    return has_board(op) ? 0 : op->env.team->group_size - 1;
}

static int first_child(const struct cio_team *team)
{
    return team->my_leader * CHILDREN + 1;
}

static int count_children(const struct cio_team *team)
{
    int64_t left = team->nleaders - ((int64_t)team->my_leader * CHILDREN + 1);

    return (int)cio_max64(cio_min64(left, CHILDREN), 0);
}

/* Whoever sends to this leader: its members, then its children. */
static int source_rank(const struct cio_op *op, int i)
{
    const struct cio_team *team = op->env.team;
    int members = senders(op);

    return i < members ? team->group[i + 1] : team->leader[first_child(team) + i - members];
}

/* Whom this rank sends to; -1: it is the root. */
static int above(const struct cio_op *op)
{
    const struct cio_team *team = op->env.team;

    if (!cio_team_leads(team))
        return team->group[0];
    return team->my_leader == 0 ? -1 : team->leader[(team->my_leader - 1) / CHILDREN];
}

static int at_once(const struct cio_reduce *r)
{
    return r->parcels != NULL;
}

static struct cio_parcel *parcel(struct cio_reduce *r, int i)
{
    return at_once(r) ? &r->parcels[i] : &r->own;
}

static void expect(struct cio_op *op, int i)
{
    struct cio_parcel *p = parcel(&op->reduce, i);

    cio_op_recv(op, &p->words, sizeof(p->words), source_rank(op, i), CIO_TAG_REDUCE, &p->req);
}

static void start_gather(struct cio_op *op)
{
    struct cio_reduce *r = &op->reduce;

    r->step = CIO_REDUCE_GATHER;
    r->turn = 0;
    if (has_board(op))
        cio_board_expect(op);
    for (int i = 0; i < (at_once(r) ? r->sources : cio_min64(r->sources, 1)); i++)
        expect(op, i);
}

static void start_note(struct cio_op *op)
{
    struct cio_ctl ctl = {.kind = CIO_CTL_READY};

    op->reduce.step = CIO_REDUCE_WORD;
    board_of(op)->desc[op->env.team->my_member].words = op->mine;
    cio_board_answer(op, &ctl);
}

/* Its own words, on their way up; those of all come back. */
static void start_ascent(struct cio_op *op)
{
    struct cio_reduce *r = &op->reduce;

    r->step = CIO_REDUCE_PARENT;
    cio_op_recv(op, &r->own.words, sizeof(r->own.words), above(op), CIO_TAG_REDUCED, &r->own.req);
    cio_op_send(op, &op->all, sizeof(op->all), above(op), CIO_TAG_REDUCE, &r->up);
}

/* Room to receive from all sources at once; or else one after the other. */
static void make_room(struct cio_op *op)
{
    struct cio_reduce *r = &op->reduce;
    int64_t size;

    if (!cio_team_leads(op->env.team))
        return;
    r->sources = senders(op) + count_children(op->env.team);
    size = r->sources * (int64_t)sizeof(*r->parcels);
    if (r->sources < 2 || at_once(r))
        return;
    r->parcels = cio_op_alloc(op, size);
    for (int i = 0; at_once(r) && i < r->sources; i++)
        r->parcels[i].req = (struct cio_req){.state = CIO_REQ_IDLE};
}

void cio_reduce_start(struct cio_op *op)
{
    make_room(op);
    op->all = op->mine;
    if (cio_team_leads(op->env.team))
        start_gather(op);
    else if (has_board(op))
        start_note(op);
    else
        start_ascent(op);
}

static void join(struct cio_reduction *into, const struct cio_reduction *from)
{
    for (int i = 0; i < CIO_REDUCE_WORDS; i++) {
        into->min[i] = cio_min64(into->min[i], from->min[i]);
        into->sum[i] += from->sum[i];
    }
}

/* What has gone wrong here is what all ranks hear. */
static void join_error(struct cio_op *op, int error)
{
    if (error == 0)
        return;
    cio_op_fail(op, error);
    op->all.min[CIO_MIN_ERROR] = cio_min64(op->all.min[CIO_MIN_ERROR], error);
}

/* The error of a message that should have brought words. */
static int error_of(const struct cio_parcel *p)
{
    if (p->req.state != CIO_REQ_DONE)
        return -EIO; /* it could not even be started */
    if (p->req.error != 0)
        return p->req.error;
    return p->req.bytes == (int64_t)sizeof(p->words) ? 0 : -EBADMSG;
}

/* Takes in what has come by message. 1: from all. */
static int gather(struct cio_op *op)
{
    struct cio_reduce *r = &op->reduce;

    for (; r->turn < r->sources; r->turn++) {
        struct cio_parcel *p = parcel(r, r->turn);
        int error;

        if (cio_req_busy(&p->req))
            return 0;
        error = error_of(p);
        if (error == 0)
            join(&op->all, &p->words);
        join_error(op, error);
        if (!at_once(r) && r->turn + 1 < r->sources)
            expect(op, r->turn + 1);
    }
    return 1;
}

static int members_answered(const struct cio_op *op)
{
    return !has_board(op) || cio_board_answered(op);
}

static void join_notes(struct cio_op *op)
{
    for (int i = 1; has_board(op) && i < op->env.team->group_size; i++)
        join(&op->all, &board_of(op)->desc[i].words);
}

static void pass_on(struct cio_op *op, int i)
{
    struct cio_req *req = &parcel(&op->reduce, i)->req;

    cio_op_send(op, &op->all, sizeof(op->all), source_rank(op, i), CIO_TAG_REDUCED, req);
}

static void start_spread(struct cio_op *op)
{
    struct cio_reduce *r = &op->reduce;
    struct cio_ctl ctl = {.kind = CIO_CTL_REDUCED};

    r->step = CIO_REDUCE_SPREAD;
    r->turn = 0;
    for (int i = 0; i < (at_once(r) ? r->sources : cio_min64(r->sources, 1)); i++)
        pass_on(op, i);
    if (!has_board(op))
        return;
    board_of(op)->words = op->all;
    cio_board_tell(op, &ctl);
}

/* 1: all that went down has left. */
static int spread(struct cio_op *op)
{
    struct cio_reduce *r = &op->reduce;

    for (; r->turn < r->sources; r->turn++) {
        struct cio_parcel *p = parcel(r, r->turn);

        if (cio_req_busy(&p->req))
            return 0;
        if (p->req.state != CIO_REQ_DONE || p->req.error != 0)
            cio_op_fail(op, p->req.error != 0 ? p->req.error : -EIO);
        if (!at_once(r) && r->turn + 1 < r->sources)
            pass_on(op, r->turn + 1);
    }
    return 1;
}

/* What came from above, or why nothing did. */
static void take_result(struct cio_op *op)
{
    struct cio_reduce *r = &op->reduce;
    int error = error_of(&r->own);

    if (error == 0)
        op->all = r->own.words;
    join_error(op, r->up.state == CIO_REQ_DONE ? r->up.error : -EIO);
    join_error(op, error);
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

    if (r->step == CIO_REDUCE_WORD)
        return hear(op);
    if (r->step == CIO_REDUCE_GATHER) {
        if (!members_answered(op) || !gather(op))
            return 0;
        join_notes(op);
        if (above(op) < 0)
            start_spread(op);
        else
            start_ascent(op);
    }
    if (r->step == CIO_REDUCE_PARENT) {
        if (cio_req_busy(&r->own.req) || cio_req_busy(&r->up))
            return 0;
        take_result(op);
        start_spread(op);
    }
    return spread(op);
}

void cio_reduce_needs(struct cio_op *op, struct cio_needs *needs)
{
    struct cio_reduce *r = &op->reduce;
    const struct cio_board *board = board_of(op);

    if (r->step == CIO_REDUCE_WORD) {
        needs->word = &board->told;
        needs->seen = op->env.segment->told;
    } else if (r->step == CIO_REDUCE_GATHER && !members_answered(op)) {
        needs->word = &board->arrived;
        needs->seen = __atomic_load_n(needs->word, __ATOMIC_ACQUIRE);
        if (needs->seen == op->env.segment->arrived)
            needs->word = NULL;
    } else {
        cio_needs_add(needs, &r->up, 1);
        cio_needs_add(needs, &r->own.req, 1);
        for (int i = 0; at_once(r) && i < r->sources; i++)
            cio_needs_add(needs, &r->parcels[i].req, 1);
    }
}

void cio_reduce_finish(struct cio_op *op)
{
    struct cio_reduce *r = &op->reduce;

    cio_op_free(op, r->parcels, r->sources * (int64_t)sizeof(*r->parcels));
    r->parcels = NULL;
}
