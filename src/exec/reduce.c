/*
 * The reduction over all ranks that an operation begins with, by messages and notes of its own, so
 * that it can wait like everything else: ranks in blocking and in nonblocking calls may take part
 * in one, and others may progress meanwhile.
 *
 *   members -> leader -> parents ... root ... -> children -> leader -> members
 *
 * Members leave their words on the group's board where every group is known to share memory; else
 * they send them to their leader. Leaders join them and pass them up and down a tree, whose root is
 * an aggregator where any leader is one.
 *
 * What there is to do in a call of a few KB travels along, and is done by the root (small.h).
 *
 * What comes by message is received all at once. Without memory for that it is received one after
 * the other, in room that every operation has: nobody may have to stay away for lack of memory.
 */
#include "exec/small.h"

#include <errno.h>
#include <string.h>

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

/* Leaders by their place in the tree, which begins with the root. */
static int my_place(const struct cio_team *team)
{
    return (team->my_leader - team->root + team->nleaders) % team->nleaders;
}

static int leader_at(const struct cio_team *team, int place)
{
    return team->leader[(place + team->root) % team->nleaders];
}

static int count_children(const struct cio_team *team)
{
    int64_t left = team->nleaders - ((int64_t)my_place(team) * CHILDREN + 1);

    return (int)cio_max64(cio_min64(left, CHILDREN), 0);
}

/* Room for whatever follows the words, in one piece with them. */
#define PARCEL_MAX ((int64_t)sizeof(struct cio_reduction) + CIO_SMALL_MAX)
_Static_assert(offsetof(struct cio_parcel, attached) ==
                   offsetof(struct cio_parcel, words) + sizeof(struct cio_reduction),
               "what is attached must follow the words");

/* Whoever sends to this leader: its members, then its children. */
static int source_rank(const struct cio_op *op, int i)
{
    const struct cio_team *team = op->env.team;
    int members = senders(op);

    return i < members ? team->group[i + 1]
                       : leader_at(team, my_place(team) * CHILDREN + 1 + i - members);
}

/* Whom this rank sends to; -1: it is the root. */
static int above(const struct cio_op *op)
{
    const struct cio_team *team = op->env.team;

    if (!cio_team_leads(team))
        return team->group[0];
    return my_place(team) == 0 ? -1 : leader_at(team, (my_place(team) - 1) / CHILDREN);
}

static int at_once(const struct cio_reduce *r)
{
    return r->parcels != NULL;
}

static struct cio_parcel *parcel(struct cio_reduce *r, int i)
{
    return at_once(r) ? &r->parcels[i] : &r->own;
}

/* What carries more than words is a message of the call's data, and counted as such. */
static void send(struct cio_op *op, struct cio_parcel *p, int64_t attached, int dest,
                 enum cio_tag tag)
{
    struct cio_iov iov = {&p->words, (int64_t)sizeof(p->words) + attached};

    if (attached > 0)
        cio_op_send_data(op, &iov, 1, dest, tag, CIO_SEND_PLAIN, &p->req);
    else
        cio_op_send(op, iov.base, iov.len, dest, tag, &p->req);
}

static void expect(struct cio_op *op, int i)
{
    struct cio_parcel *p = parcel(&op->reduce, i);

    cio_op_recv(op, &p->words, PARCEL_MAX, source_rank(op, i), CIO_TAG_REDUCE, &p->req);
}

/* How many of what goes to or comes from all sources is under way at a time. */
static int batch(const struct cio_reduce *r)
{
    return at_once(r) || r->sources == 0 ? r->sources : 1;
}

static void start_gather(struct cio_op *op)
{
    struct cio_reduce *r = &op->reduce;

    r->step = CIO_REDUCE_GATHER;
    r->turn = 0;
    r->noted = !has_board(op);
    if (has_board(op))
        cio_board_expect(op);
    for (int i = 0; i < batch(r); i++)
        expect(op, i);
}

/* What is attached to a member's words, and in a read its bytes, lie where its lists' code would.
 */
static char *note_of(const struct cio_op *op, int member)
{
    struct cio_area area;

    cio_area_at(board_of(op), member, &area);
    return (char *)area.meta;
}

/* Attaches it to the words on the board; where there is no room, the words say so. */
static void attach_note(struct cio_op *op)
{
    int64_t size = cio_small_up(op, &op->mine), bytes = op->mine.sum[CIO_SUM_BYTES];
    struct cio_board_memory m = {op->env.nodemem, &op->env.segment->mem};
    struct cio_desc *desc = &board_of(op)->desc[op->env.team->my_member];

    if (size == 0)
        return;
    if (cio_region_back(&m, &desc->meta, cio_max64(size, bytes)) == 0)
        memcpy(note_of(op, op->env.team->my_member), op->reduce.out.attached, (size_t)size);
    else
        op->mine.sum[CIO_SUM_LARGE] = 1;
}

static void start_note(struct cio_op *op)
{
    struct cio_ctl ctl = {.kind = CIO_CTL_READY};

    op->reduce.step = CIO_REDUCE_WORD;
    attach_note(op);
    board_of(op)->desc[op->env.team->my_member].words = op->mine;
    cio_board_answer(op, &ctl);
}

/* Its own words, on their way up; those of all come back. */
static void start_ascent(struct cio_op *op)
{
    struct cio_reduce *r = &op->reduce;

    r->step = CIO_REDUCE_PARENT;
    r->bytes = op->all.sum[CIO_SUM_BYTES];
    r->out.words = op->all;
    cio_op_recv(op, &r->own.words, PARCEL_MAX, above(op), CIO_TAG_REDUCED, &r->own.req);
    send(op, &r->out, cio_small_up(op, &op->all), above(op), CIO_TAG_REDUCE);
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
    if (r->sources == 0 || at_once(r))
        return;
    r->parcels = cio_op_alloc(op, size);
    for (int i = 0; at_once(r) && i < r->sources; i++)
        r->parcels[i].req = (struct cio_req){.state = CIO_REQ_IDLE};
    if (!at_once(r))
        op->mine.sum[CIO_SUM_LARGE] = 1;
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

/* The error of a message that should have brought words; `attached` tells what else, from these. */
static int error_of(const struct cio_op *op, const struct cio_parcel *p, int up)
{
    int64_t rest = p->req.bytes - (int64_t)sizeof(p->words);

    if (p->req.state != CIO_REQ_DONE)
        return -EIO; /* it could not even be started */
    if (p->req.error != 0)
        return p->req.error;
    if (rest < 0)
        return -EBADMSG;
    return rest == (up ? cio_small_up(op, &p->words)
                       : cio_small_down(op, &p->words, op->reduce.bytes))
               ? 0
               : -EBADMSG;
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
        error = error_of(op, p, 1);
        if (error == 0) {
            join(&op->all, &p->words);
            cio_small_add(op, p->attached, cio_small_up(op, &p->words));
        }
        join_error(op, error);
        if (!at_once(r) && r->turn + 1 < r->sources)
            expect(op, r->turn + 1);
    }
    return 1;
}

static int members_answered(const struct cio_op *op)
{
    return op->reduce.noted || cio_board_answered(op);
}

static void join_notes(struct cio_op *op)
{
    for (int i = 1; !op->reduce.noted && i < op->env.team->group_size; i++) {
        const struct cio_reduction *words = &board_of(op)->desc[i].words;

        join(&op->all, words);
        cio_small_add(op, note_of(op, i), cio_small_up(op, words));
    }
    op->reduce.noted = 1;
}

/* The same down: what it is, and the slice of a read that belongs to those below. */
static void pass_on(struct cio_op *op, int i, const char **slice)
{
    struct cio_parcel *p = parcel(&op->reduce, i);
    int64_t bytes =
        at_once(&op->reduce) ? cio_small_down(op, &op->all, p->words.sum[CIO_SUM_BYTES]) : 0;

    memcpy(p->attached, *slice, (size_t)bytes);
    *slice += bytes;
    p->words = op->all;
    send(op, p, bytes, source_rank(op, i), CIO_TAG_REDUCED);
}

/* Members get their slices, and then hear of it. */
static void tell_members(struct cio_op *op, const char **slice)
{
    struct cio_ctl ctl = {.kind = CIO_CTL_REDUCED};

    if (!has_board(op))
        return;
    for (int i = 1; i < op->env.team->group_size; i++) {
        int64_t bytes =
            cio_small_down(op, &op->all, board_of(op)->desc[i].words.sum[CIO_SUM_BYTES]);

        memcpy(note_of(op, i), *slice, (size_t)bytes);
        *slice += bytes;
    }
    board_of(op)->words = op->all;
    cio_board_tell(op, &ctl);
}

/* The words of all are known: on to those below. What they get lies in one piece behind one's own.
 */
static void start_spread(struct cio_op *op)
{
    struct cio_reduce *r = &op->reduce;
    const char *slice = r->own.attached;

    r->step = CIO_REDUCE_SPREAD;
    r->turn = 0;
    if (cio_small_is_served(op))
        cio_small_take(op, slice);
    slice += cio_small_down(op, &op->all, op->req.bytes);
    tell_members(op, &slice);
    for (int i = 0; i < batch(r); i++)
        pass_on(op, i, &slice);
}

/* 1: all that went down has left. */
static int spread(struct cio_op *op)
{
    struct cio_reduce *r = &op->reduce;
    const char *none = r->own.attached;

    for (; r->turn < r->sources; r->turn++) {
        struct cio_parcel *p = parcel(r, r->turn);

        if (cio_req_busy(&p->req))
            return 0;
        if (p->req.state != CIO_REQ_DONE || p->req.error != 0)
            cio_op_fail(op, p->req.error != 0 ? p->req.error : -EIO);
        if (!at_once(r) && r->turn + 1 < r->sources)
            pass_on(op, r->turn + 1, &none);
    }
    return 1;
}

/* What came from above, or why nothing did. */
static void take_result(struct cio_op *op)
{
    struct cio_reduce *r = &op->reduce;
    int error = error_of(op, &r->own, 0);

    if (error == 0)
        op->all = r->own.words;
    join_error(op, r->out.req.state == CIO_REQ_DONE ? r->out.req.error : -EIO);
    join_error(op, error);
}

static int hear(struct cio_op *op)
{
    struct cio_ctl ctl;

    if (!cio_board_hear(op, &ctl))
        return 0;
    op->all = board_of(op)->words;
    if (cio_small_is_served(op))
        cio_small_take(op, note_of(op, op->env.team->my_member));
    return 1;
}

int cio_reduce_progress(struct cio_op *op)
{
    struct cio_reduce *r = &op->reduce;

    if (r->step == CIO_REDUCE_WORD)
        return hear(op);
    if (r->step == CIO_REDUCE_GATHER) {
        if (!members_answered(op))
            return 0;
        join_notes(op);
        if (!gather(op))
            return 0;
        if (above(op) >= 0) {
            start_ascent(op);
        } else {
            cio_small_serve(op);
            start_spread(op);
        }
    }
    if (r->step == CIO_REDUCE_PARENT) {
        if (cio_req_busy(&r->own.req) || cio_req_busy(&r->out.req))
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
        cio_needs_add(needs, &r->out.req, 1);
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
