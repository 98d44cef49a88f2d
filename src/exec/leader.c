/* The leader of a group: its life, its members and the board, and what follows what. */
#include "exec/lead.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "plan/bits.h"
#include "port/log.h"

/* Windows of this many pieces are merged by all members, each its part. */
#define SHARED_MERGE 500000

int cio_leader_create(struct cio_op *op)
{
    const struct cio_team *team = op->env.team;
    struct cio_leader *l = calloc(1, sizeof(*l));
    size_t k = (size_t)team->group_size, g = (size_t)team->naggr;

    if (l == NULL)
        return -ENOMEM;
    op->leader = l;
    l->k = team->group_size;
    l->partial = -1;
    l->merge = l->k == 1 || op->set.merge == CIO_DISABLE ? 0 : op->set.merge == CIO_ENABLE ? 1 : -1;
    l->in = calloc(k, sizeof(*l->in));
    l->in_req = calloc(k, sizeof(*l->in_req));
    l->payload = calloc(3 * k, sizeof(*l->payload));
    l->out_req = calloc(k, sizeof(*l->out_req));
    l->dones = calloc(g, sizeof(*l->dones));
    l->aggr_req = calloc(g, sizeof(*l->aggr_req));
    l->nflights = cio_leader_most_in_flight(op);
    l->flight = calloc((size_t)l->nflights, sizeof(*l->flight));
    l->sent = calloc(g, sizeof(*l->sent));
    l->leave = calloc(g, sizeof(*l->leave));
    l->near = calloc(g, 1);
    l->follower = calloc(k, sizeof(*l->follower));
    l->through = calloc(k, 1);
    if (l->follower == NULL || l->through == NULL || l->in == NULL || l->in_req == NULL ||
        l->payload == NULL || l->out_req == NULL || l->dones == NULL || l->aggr_req == NULL ||
        l->flight == NULL || l->sent == NULL || l->leave == NULL || l->near == NULL)
        return -ENOMEM;
    return cio_leader_reserve(op, CIO_SMALL_SLICE);
}

int cio_leader_reserve(struct cio_op *op, int64_t slice)
{
    struct cio_leader *l = op->leader;

    cio_op_free(op, l->coded, l->coded_size * op->env.team->naggr);
    l->coded_size = (int64_t)(sizeof(struct cio_head) + cio_bits_bound(slice) + 7) / 8 * 8;
    l->coded = cio_op_alloc(op, l->coded_size * op->env.team->naggr);
    return l->coded == NULL ? -ENOMEM : 0;
}

/* ---- members ---- */

void cio_leader_expect_members(struct cio_op *op)
{
    struct cio_leader *l = op->leader;

    if (op->shared) {
        cio_board_expect(op);
        if (l->nthrough > 0)
            cio_board_answer_for(op, l->nthrough);
        return;
    }
    for (int i = 1; i < l->k; i++)
        if (l->through[i] == CIO_THROUGH_NOT)
            cio_op_recv(op, &l->in[i], sizeof(l->in[i]), op->env.team->group[i], CIO_TAG_UP,
                        &l->in_req[i]);
}

static int hears_by_message(const struct cio_leader *l, int member)
{
    return l->through[member] == CIO_THROUGH_NOT ||
           (l->through[member] == CIO_THROUGH_MESSAGE && l->out.kind == CIO_CTL_FINAL);
}

void cio_leader_send_word(struct cio_op *op)
{
    struct cio_leader *l = op->leader;

    if (op->shared)
        cio_board_tell(op, &l->out);
    for (int i = 1; cio_leader_by_message(op) && i < l->k; i++)
        if (hears_by_message(l, i))
            cio_op_send(op, &l->out, sizeof(l->out), op->env.team->group[i], CIO_TAG_DOWN,
                        &l->out_req[i]);
    if (l->nthrough > 0 && l->out.kind == CIO_CTL_FINAL)
        cio_board_tell_through(op, l->through, &l->out);
}

void cio_leader_tell_members(struct cio_op *op)
{
    struct cio_leader *l = op->leader;

    cio_leader_send_word(op);
    if (l->out.kind != CIO_CTL_FINAL)
        cio_leader_expect_members(op);
    cio_member_handle(op, &l->out, &l->in[0]);
}

static int members_busy(const struct cio_op *op)
{
    const struct cio_leader *l = op->leader;

    if (op->shared && l->step != CIO_LEADER_FINAL)
        return !cio_board_answered(op);
    return cio_reqs_busy(l->in_req, l->k) || cio_reqs_busy(l->out_req, l->k);
}

/* One that has not come as it was sent stands for a member that fails, and has nothing. */
static void check_answer(struct cio_op *op, int member)
{
    struct cio_leader *l = op->leader;
    int rc = cio_req_check(&l->in_req[member], sizeof(l->in[member]));

    if (rc == 0 && l->in[member].kind != CIO_CTL_READY && l->in[member].kind != CIO_CTL_MERGED)
        rc = -EBADMSG;
    if (rc != 0)
        l->in[member] =
            (struct cio_ctl){.kind = CIO_CTL_READY, .error = rc, .place = {op->rounds.units, 0}};
}

/* Their answers, from where they left them. The first reason to refuse sharing, or 0. */
static int read_answers(struct cio_op *op)
{
    struct cio_leader *l = op->leader;
    int refused = 0;

    for (int i = 0; i < l->k; i++) {
        if (op->shared && i > 0)
            l->in[i] = l->board->desc[i].up;
        else if (i > 0 && l->through[i] == CIO_THROUGH_NOT)
            check_answer(op, i);
        if (l->in[i].error != 0)
            cio_op_fail(op, l->in[i].error);
        if (refused == 0)
            refused = l->in[i].refused;
    }
    return refused;
}

/* Members that have just answered, at the end of a window, and have nothing in those to come. */
static void find_through(struct cio_op *op)
{
    struct cio_leader *l = op->leader;

    for (int i = 1; i < l->k; i++) {
        if (l->through[i] != CIO_THROUGH_NOT || !cio_op_is_through(op, &l->in[i]))
            continue;
        l->through[i] = op->shared ? CIO_THROUGH_BOARD : CIO_THROUGH_MESSAGE;
        l->nthrough += op->shared;
    }
}

/* ---- aggregators ---- */

static void unite_bits(struct cio_op *op, uint64_t *bits)
{
    struct cio_area area;

    for (int i = 0; op->error == 0 && i < op->leader->k; i++) {
        cio_area_at(op->leader->board, i, &area);
        cio_bits_or(bits, area.bits, (int64_t)cio_rounds_words(&op->rounds) * 64);
    }
}

static void send_bits_to(struct cio_op *op, int aggr, const uint64_t *bits)
{
    struct cio_leader *l = op->leader;
    const struct cio_rounds *r = &op->rounds;
    struct cio_head *head = (struct cio_head *)(l->coded + aggr * l->coded_size);

    *head = (struct cio_head){.magic = CIO_HEAD_MAGIC, .leader = op->env.team->my_leader};
    head->error = op->error;
    if (op->error == 0)
        head->meta = (int64_t)cio_bits_encode(bits + aggr * r->slice / 64, r->slice, head + 1);
    if (op->error == 0)
        cio_leader_begin_leave(op, aggr, bits + aggr * r->slice / 64);
    struct cio_iov iov = {head, (int64_t)sizeof(*head) + head->meta};
    cio_op_send_data(op, &iov, 1, op->env.team->aggr[aggr], CIO_TAG_BITS, CIO_SEND_PLAIN,
                     &l->aggr_req[aggr]);
}

/* Which positions the group touches: to each aggregator its part. None, if something failed. */
static void send_bits(struct cio_op *op)
{
    struct cio_leader *l = op->leader;
    const struct cio_rounds *r = &op->rounds;
    l->bits_sent = 1;
    l->bits = calloc(cio_rounds_words(r), sizeof(uint64_t));
    if (l->bits == NULL)
        cio_op_fail(op, -ENOMEM);
    else
        unite_bits(op, l->bits);
    for (int a = 0; a < r->naggr; a++)
        send_bits_to(op, a, l->bits);
}

static void await_dones(struct cio_op *op)
{
    struct cio_leader *l = op->leader;

    l->step = CIO_LEADER_DONES;
    for (int a = 0; a < op->env.team->naggr; a++)
        cio_op_recv(op, &l->dones[a], sizeof(l->dones[a]), op->env.team->aggr[a], CIO_TAG_DONE,
                    &l->aggr_req[a]);
}

static void take_done(struct cio_op *op, const struct cio_head *done, const struct cio_req *req)
{
    int rc = cio_req_check(req, sizeof(*done));

    if (rc == 0)
        rc = done->magic == CIO_HEAD_MAGIC ? done->error : -EBADMSG;
    if (rc != 0)
        cio_op_fail(op, rc);
    else
        op->eof = cio_min64(op->eof, done->eof);
}

static void finish_members(struct cio_op *op)
{
    struct cio_leader *l = op->leader;

    for (int a = 0; a < op->env.team->naggr; a++)
        take_done(op, &l->dones[a], &l->aggr_req[a]);
    l->step = CIO_LEADER_FINAL;
    l->out = (struct cio_ctl){.kind = CIO_CTL_FINAL, .error = op->error, .eof = op->eof};
    if (l->board != NULL)
        cio_count_most(&op->stats, op->shared ? CIO_COUNT_SEGMENT_BYTES : CIO_COUNT_PEAK_BYTES,
                       cio_board_backed(l->board) + (op->shared ? 0 : op->held));
    cio_leader_tell_members(op);
}

/* ---- the board ---- */

/* Room for the bytes of any one member, which come as messages. */
static int make_stream(struct cio_op *op)
{
    struct cio_leader *l = op->leader;

    l->stream_size = cio_op_budget(op);
    l->stream = cio_op_alloc(op, l->stream_size);
    return l->stream == NULL ? -ENOMEM : 0;
}

/* A board of my own; members, if there are others, send what they describe. */
static void begin_own(struct cio_op *op)
{
    struct cio_leader *l = op->leader;
    int rc = cio_board_own(op, l->k, &l->board);

    if (rc == 0 && l->k > 1)
        rc = make_stream(op);
    if (rc == 0)
        l->board->elsewhere = cio_op_is_direct(op);
    if (rc == 0)
        cio_member_begin(op, l->board, 0, &l->in[0]);
    else
        l->in[0] = (struct cio_ctl){.kind = CIO_CTL_READY, .error = rc};
    l->boardless = rc != 0;
}

/* Aggregators of this node, as they have signed on the board. */
static void find_near(struct cio_op *op)
{
    const struct cio_board *board = op->leader->board;
    uint32_t n = board->nnear < CIO_NEAR_MAX ? board->nnear : CIO_NEAR_MAX;

    for (uint32_t i = 0; i < n; i++)
        if (board->near[i] > 0 && board->near[i] <= op->env.team->naggr)
            op->leader->near[board->near[i] - 1] = 1;
}

void cio_leader_start(struct cio_op *op)
{
    struct cio_leader *l = op->leader;

    cio_leader_expect_members(op);
    if (!op->shared) {
        begin_own(op);
        return;
    }
    op->env.nodemem.ops->forget(op->env.nodemem.self, &op->env.segment->mem);
    l->board = op->env.segment->mem.base;
    find_near(op);
    cio_member_begin(op, l->board, 0, &l->in[0]);
}

/* There is no shared memory for what the window needs: it begins again, by messages. */
static void go_alone(struct cio_op *op, int why)
{
    struct cio_leader *l = op->leader;

    cio_log(CIO_LOG_NOTICE,
            "rank %d: no shared memory for its group (%s): messages are used instead",
            op->env.team->rank, strerror(-why));
    l->out = (struct cio_ctl){.kind = CIO_CTL_ALONE};
    cio_leader_send_word(op);
    op->shared = 0;
    op->env.segment->refused = 1;
    l->step = CIO_LEADER_READY;
    cio_leader_expect_members(op);
    begin_own(op);
}

static void expect_payload(struct cio_op *op, int member, int which, void *to, int64_t size)
{
    if (size > 0)
        cio_op_recv(op, to, size, op->env.team->group[member], CIO_TAG_PAYLOAD,
                    &op->leader->payload[3 * member + which]);
}

/* Room for what a member says that it has described; a wrong claim is an error. */
static int back_area(struct cio_op *op, const struct cio_ctl *up, struct cio_desc *desc)
{
    struct cio_board_memory m = cio_board_memory_of(op);
    int64_t bits = (int64_t)(cio_rounds_words(&op->rounds) * sizeof(uint64_t));
    int rc = cio_region_back(&m, &desc->lists, up->lists * (int64_t)sizeof(struct cio_list));

    if (rc == 0)
        rc = cio_region_back(&m, &desc->meta, up->coded);
    return rc == 0 ? cio_region_back(&m, &desc->bits, bits) : rc;
}

/* Without shared memory: what the members have described comes as payload, the first time asked
 * for. */
static void expect_lists(struct cio_op *op, int first)
{
    struct cio_leader *l = op->leader;
    struct cio_area area;

    for (int i = 1; i < l->k; i++) {
        const struct cio_ctl *up = &l->in[i];
        int rc;

        cio_area_at(l->board, i, &area);
        rc = back_area(op, up, area.desc);
        if (rc != 0)
            cio_op_fail(op, rc); /* what follows fails too, and is told to all */
        area.desc->nlists = up->lists;
        area.desc->coded = up->coded;
        expect_payload(op, i, 0, area.list, up->lists * (int64_t)sizeof(*area.list));
        expect_payload(op, i, 1, area.meta, up->coded);
        if (first && l->through[i] == CIO_THROUGH_NOT)
            expect_payload(op, i, 2, area.bits,
                           (int64_t)(cio_rounds_words(&op->rounds) * sizeof(uint64_t)));
    }
    if (!first)
        return;
    l->out = (struct cio_ctl){.kind = CIO_CTL_SEND};
    cio_leader_send_word(op);
}

/* A member whose lists have not come as they were sent has none. */
static void check_payload(struct cio_op *op)
{
    struct cio_leader *l = op->leader;
    struct cio_area area;

    for (int i = 1; cio_leader_by_message(op) && i < l->k; i++) {
        const int64_t bits = (int64_t)(cio_rounds_words(&op->rounds) * sizeof(uint64_t));
        const struct cio_ctl *up = &l->in[i];
        const int64_t size[3] = {up->lists * (int64_t)sizeof(*area.list), up->coded, bits};
        int rc = 0;

        for (int j = 0; j < 3; j++) {
            struct cio_req *req = &l->payload[3 * i + j];

            if (rc == 0 && req->state == CIO_REQ_DONE)
                rc = cio_req_check(req, size[j]);
            req->state = CIO_REQ_IDLE;
        }
        if (rc == 0)
            continue;
        cio_op_fail(op, rc);
        cio_area_at(l->board, i, &area);
        area.desc->nlists = area.desc->coded = 0;
    }
}

static void count_pieces(struct cio_op *op)
{
    struct cio_leader *l = op->leader;
    struct cio_area area;

    for (int i = 1; cio_leader_by_message(op) && i < l->k; i++) {
        cio_area_at(l->board, i, &area);
        area.desc->pieces = 0;
        for (int64_t j = 0; j < area.desc->nlists; j++)
            area.desc->pieces =
                cio_max64(area.desc->pieces, area.list[j].first + area.list[j].pieces);
    }
}

/* ---- what follows what ---- */

static void end_window(struct cio_op *op)
{
    int refused = read_answers(op);

    if (op->leader->end >= op->rounds.units) {
        op->leader->step = CIO_LEADER_BITS;
        return;
    }
    find_through(op);
    if (refused != 0) {
        go_alone(op, refused);
        return;
    }
    op->leader->step = CIO_LEADER_LISTS;
    if (cio_leader_by_message(op))
        expect_lists(op, 0);
}

/* Those who follow have been told, or are served as they come: only my own part is left. */
static void copy_own(struct cio_op *op)
{
    struct cio_leader *l = op->leader;

    l->step = CIO_LEADER_COPY;
    l->out = cio_leader_copy_word(op, CIO_CTL_COPY, op->doubtful);
    cio_member_handle(op, &l->out, &l->in[0]);
}

static void after_flights(struct cio_op *op)
{
    op->stats.time[CIO_TIME_EXCHANGE] += cio_now() - op->leader->since;
    op->leader->from = op->leader->end;
    if (op->req.write)
        end_window(op);
    else if (op->leader->followed)
        copy_own(op);
    else
        cio_leader_begin_copy(op);
}

static void after_copy(struct cio_op *op)
{
    if (op->req.write)
        cio_leader_begin_flights(op);
    else
        end_window(op);
}

static void after_ready(struct cio_op *op)
{
    int refused = read_answers(op);

    if (refused != 0) {
        go_alone(op, refused);
        return;
    }
    op->leader->step = CIO_LEADER_LISTS;
    if (op->leader->boardless && op->leader->bits_sent)
        op->leader->step = CIO_LEADER_EXCUSE;
    else if (cio_leader_by_message(op) && op->error == 0)
        expect_lists(op, 1);
}

static void after_merge(struct cio_op *op)
{
    cio_leader_note_units(op);
    cio_leader_copy_code(op);
    if (op->req.write)
        cio_leader_begin_copy(op);
    else
        cio_leader_begin_flights(op);
}

static int64_t window_pieces(struct cio_leader *l)
{
    struct cio_unit *u = cio_board_units(l->board);
    int64_t pieces = 0;

    for (int64_t i = 0; i < l->board->nunits; i++)
        pieces += u[i].pieces;
    return pieces;
}

static void begin_window(struct cio_op *op)
{
    struct cio_leader *l = op->leader;
    int rc = cio_leader_list_window(op);

    if (rc != 0 && op->shared) {
        go_alone(op, rc);
        return;
    }
    cio_count_add(&op->stats, CIO_COUNT_WINDOWS, 1);
    if (!cio_leader_plan_merge(op)) {
        after_merge(op);
    } else if (cio_leader_by_message(op) || window_pieces(l) < SHARED_MERGE) {
        cio_leader_merge_alone(op);
        after_merge(op);
    } else {
        l->step = CIO_LEADER_MERGE;
        l->out = (struct cio_ctl){.kind = CIO_CTL_MERGE};
        cio_leader_tell_members(op);
        cio_leader_merge_for_through(op);
    }
}

/* Before the first window the aggregators are told what to expect: nothing, after an error. */
static void after_lists(struct cio_op *op)
{
    struct cio_leader *l = op->leader;

    check_payload(op);
    if (!l->bits_sent) {
        send_bits(op);
        if (op->error != 0) {
            l->step = CIO_LEADER_BITS;
            return;
        }
    }
    count_pieces(op);
    begin_window(op);
}

/* What a step waits for has not come yet. */
static int is_waiting(const struct cio_op *op)
{
    const struct cio_leader *l = op->leader;

    switch (l->step) {
    case CIO_LEADER_LISTS:
        return cio_reqs_busy(l->payload, 3 * l->k) || cio_reqs_busy(l->out_req, l->k);
    case CIO_LEADER_FLY:
        return cio_leader_flying(l);
    case CIO_LEADER_EXCUSE:
        return cio_leader_excusing(op);
    case CIO_LEADER_BITS:
        return cio_reqs_busy(l->aggr_req, op->env.team->naggr);
    case CIO_LEADER_DONES:
        return cio_reqs_busy(l->aggr_req, op->env.team->naggr) || l->restrained > 0;
    case CIO_LEADER_DONE:
        return 1;
    default:
        return members_busy(op) || cio_req_busy(&l->stream_req);
    }
}

/*
 * The window is the last one, and all of it is on its way: nobody waits for anything more of mine,
 * unless members follow. In an earlier one others might wait for what I have yet to send, and I,
 * through them, for myself.
 */
int cio_leader_is_patient(const struct cio_op *op)
{
    const struct cio_leader *l = op->leader;

    switch (l->step) {
    case CIO_LEADER_FLY:
        return l->end >= op->rounds.units && cio_leader_all_launched(l) && !l->followed;
    case CIO_LEADER_BITS:
    case CIO_LEADER_DONES:
    case CIO_LEADER_FINAL:
    case CIO_LEADER_DONE:
        return 1;
    default:
        return 0;
    }
}

static void needs_members(struct cio_op *op, struct cio_needs *needs)
{
    struct cio_leader *l = op->leader;

    if (op->shared) {
        needs->word = &l->board->arrived;
        needs->seen = __atomic_load_n(needs->word, __ATOMIC_ACQUIRE);
        if (needs->seen == op->env.segment->arrived)
            needs->word = NULL;
    } else if (cio_req_busy(&l->stream_req)) {
        cio_needs_add(needs, &l->stream_req, 1);
    } else {
        cio_needs_add(needs, l->in_req, l->k);
        cio_needs_add(needs, l->out_req, l->k);
    }
}

void cio_leader_needs(struct cio_op *op, struct cio_needs *needs)
{
    struct cio_leader *l = op->leader;

    switch (l->step) {
    case CIO_LEADER_LISTS:
        cio_needs_add(needs, l->payload, 3 * l->k);
        cio_needs_add(needs, l->out_req, l->k);
        break;
    case CIO_LEADER_FLY:
        cio_leader_needs_flight(op, needs);
        break;
    case CIO_LEADER_EXCUSE:
        cio_leader_needs_excuse(op, needs);
        break;
    case CIO_LEADER_BITS:
    case CIO_LEADER_DONES:
        cio_needs_add(needs, l->aggr_req, op->env.team->naggr);
        break;
    default:
        needs_members(op, needs);
    }
}

static void next_step(struct cio_op *op)
{
    switch (op->leader->step) {
    case CIO_LEADER_READY:
        after_ready(op);
        break;
    case CIO_LEADER_LISTS:
        after_lists(op);
        break;
    case CIO_LEADER_MERGE:
        after_merge(op);
        break;
    case CIO_LEADER_COPY:
        after_copy(op);
        break;
    case CIO_LEADER_FLY:
        after_flights(op);
        break;
    case CIO_LEADER_EXCUSE:
        op->leader->step = CIO_LEADER_BITS;
        break;
    case CIO_LEADER_BITS:
        await_dones(op);
        break;
    case CIO_LEADER_DONES:
        finish_members(op);
        break;
    default:
        op->leader->step = CIO_LEADER_DONE;
    }
}

int cio_leader_progress(struct cio_op *op)
{
    struct cio_leader *l = op->leader;

    if (cio_leader_take_grants(op))
        return 1;
    if (l->step == CIO_LEADER_FLY && (cio_leader_fly(op) || cio_leader_serve_followers(op)))
        return 1;
    if (l->step == CIO_LEADER_COPY &&
        (l->followed ? cio_leader_serve_followers(op) : cio_leader_move_streams(op)))
        return 1;
    if (l->step == CIO_LEADER_EXCUSE && cio_leader_excuse(op))
        return 1;
    if (is_waiting(op))
        return 0;
    next_step(op);
    return 1;
}

int cio_leader_is_done(const struct cio_op *op)
{
    return op->leader == NULL || op->leader->step == CIO_LEADER_DONE;
}

int cio_leader_is_over(const struct cio_op *op)
{
    return op->leader->k == 1 && op->leader->step >= CIO_LEADER_DONES;
}

void cio_leader_finish(struct cio_op *op)
{
    struct cio_leader *l = op->leader;

    if (l == NULL)
        return;
    cio_op_free(op, l->stream, l->stream_size);
    cio_op_free(op, l->coded, l->coded_size * op->env.team->naggr);
    free(l->bits);
    free(l->through);
    free(l->follower);
    free(l->near);
    free(l->leave);
    free(l->sent);
    free(l->flight);
    free(l->aggr_req);
    free(l->dones);
    free(l->out_req);
    free(l->payload);
    free(l->in_req);
    free(l->in);
    free(l);
    op->leader = NULL;
}
