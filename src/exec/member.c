/*
 * A member of a group. With shared memory its area lies on the group's board, and words and answers
 * are notes there; without, its lists and bytes travel as payload beside control messages.
 */
#include "exec/internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "exec/window.h"

/* Describes the window that begins at place. */
static void describe(struct cio_op *op, struct cio_ctl *out)
{
    struct cio_member *m = &op->member;
    const struct cio_desc *desc = m->describer.area.desc;
    double t = cio_now();
    int rc;

    m->reached = m->place;
    rc = cio_describe(&m->describer, &m->reached);
    *out = (struct cio_ctl){.kind = CIO_CTL_READY,
                            .refused = op->shared ? rc : 0,
                            .error = op->shared ? 0 : rc,
                            .place = m->reached,
                            .lists = desc->nlists,
                            .coded = desc->coded};
    op->stats.time[CIO_TIME_FLATTEN] += cio_now() - t;
}

void cio_member_begin(struct cio_op *op, struct cio_board *board, int area, struct cio_ctl *out)
{
    struct cio_member *m = &op->member;
    struct cio_describer *d = &m->describer;

    m->board = board;
    d->req = &op->req;
    d->rounds = &op->rounds;
    d->memory = cio_board_memory_of(op);
    d->budget = cio_op_budget(op);
    d->list_bytes = cio_op_message_data(op);
    d->marked = 0;
    cio_area_at(board, area, &d->area);
    op->stats.count[CIO_COUNT_SHARED] = op->shared;
    describe(op, out);
}

static void merge(struct cio_op *op)
{
    double t = cio_now();

    cio_window_merge(op->member.board, &op->rounds, op->env.team->my_member,
                     cio_op_message_data(op), op->env.alloc);
    op->stats.time[CIO_TIME_MERGE] += cio_now() - t;
}

/* Lists of the window that ends with unit t. */
static int64_t window_lists(const struct cio_op *op, int64_t t)
{
    return cio_area_lists(&op->member.describer.area, t);
}

static void count_copied(struct cio_op *op, int64_t lists)
{
    cio_count_add(&op->stats, CIO_COUNT_COPIED_BYTES,
                  cio_area_bytes(&op->member.describer.area, lists));
}

/* Copies on the board that I share with my leader. */
static void copy(struct cio_op *op, const struct cio_ctl *in)
{
    struct cio_copy c = {.board = op->member.board,
                         .area = op->member.describer.area,
                         .lists = window_lists(op, in->place.t),
                         .merged = in->merged,
                         .write = op->req.write,
                         .rounds = &op->rounds,
                         .req = &op->req};
    double t = cio_now();

    cio_board_touch(c.board, c.board->out.at, c.lists > 0 && op->shared ? c.board->out_used : 0);
    if (op->req.write)
        cio_copy_code(&c);
    if (!cio_op_is_direct(op)) {
        cio_copy_data(&c);
        count_copied(op, c.lists);
    }
    op->stats.time[CIO_TIME_COPY] += cio_now() - t;
}

/* The window that ended with unit t is over: the next one begins behind it. */
static void advance(struct cio_op *op, int64_t t)
{
    struct cio_member *m = &op->member;

    m->place = m->reached.t > t ? (struct cio_place){t + 1, 0} : m->reached;
    m->finished = t >= op->rounds.units;
}

/* The next window has been described, with nothing in it. */
static void note_through(struct cio_op *op, const struct cio_ctl *out)
{
    struct cio_member *m = &op->member;

    if (m->finished || op->leader != NULL || !cio_op_is_through(op, out))
        return;
    m->finished = 1;
    if (m->alone)
        return;
    m->step = CIO_MEMBER_THROUGH;
    __atomic_store_n(&m->describer.area.desc->landed, CIO_LANDED_NOT, __ATOMIC_RELAXED);
}

void cio_member_handle(struct cio_op *op, const struct cio_ctl *in, struct cio_ctl *out)
{
    memset(out, 0, sizeof(*out));
    switch (in->kind) {
    case CIO_CTL_MERGE:
        out->kind = CIO_CTL_MERGED;
        merge(op);
        break;
    case CIO_CTL_COPY:
        op->doubtful |= in->doubtful;
        copy(op, in);
        advance(op, in->place.t);
        describe(op, out);
        note_through(op, out);
        break;
    case CIO_CTL_FINAL:
        if (in->error != 0)
            op->error = in->error;
        op->eof = in->eof;
        op->member.step = CIO_MEMBER_DONE;
        break;
    default:
        cio_op_fail(op, -EBADMSG);
    }
}

/* ---- members that share memory with their leader ---- */

static void begin_alone(struct cio_op *op);

/* Takes its part of a read from the board, if all of it is there: it is then through. */
static int take_landed(struct cio_op *op)
{
    struct cio_member *m = &op->member;
    uint32_t landed = __atomic_load_n(&m->describer.area.desc->landed, __ATOMIC_ACQUIRE);

    if (landed == CIO_LANDED_NOT)
        return 0;
    m->step = CIO_MEMBER_WAIT;
    m->in.kind = CIO_CTL_COPY;
    m->in.doubtful = landed == CIO_LANDED_SOME;
    cio_member_handle(op, &m->in, &m->out);
    cio_board_answer(op, &m->out);
    return 1;
}

static int take_outcome(struct cio_op *op)
{
    struct cio_member *m = &op->member;

    if (!cio_board_hear_through(op, &m->in))
        return 0;
    cio_member_handle(op, &m->in, &m->out);
    return 1;
}

static int obey_note(struct cio_op *op)
{
    struct cio_member *m = &op->member;

    if (!cio_board_hear(op, &m->in))
        return 0;
    if (m->in.kind == CIO_CTL_FOLLOW) {
        m->step = CIO_MEMBER_FOLLOW;
        return 1;
    }
    if (m->in.kind == CIO_CTL_ALONE) {
        begin_alone(op);
        return 1;
    }
    cio_member_handle(op, &m->in, &m->out);
    if (m->step != CIO_MEMBER_DONE)
        cio_board_answer(op, &m->out);
    return 1;
}

/* ---- members that do not ---- */

static int leader_rank(const struct cio_op *op)
{
    return op->env.team->group[0];
}

static void await_leader(struct cio_op *op)
{
    struct cio_member *m = &op->member;

    m->step = CIO_MEMBER_WAIT;
    cio_op_recv(op, &m->in, sizeof(m->in), leader_rank(op), CIO_TAG_DOWN, &m->in_req);
}

static void send_payload(struct cio_op *op, const void *buf, int64_t len, struct cio_req *req)
{
    if (len > 0)
        cio_op_send(op, buf, len, leader_rank(op), CIO_TAG_PAYLOAD, req);
}

static void send_answer(struct cio_op *op)
{
    struct cio_member *m = &op->member;

    cio_op_send(op, &m->out, sizeof(m->out), leader_rank(op), CIO_TAG_UP, &m->out_req[0]);
    m->step = CIO_MEMBER_SEND;
}

/* What the leader cannot see. */
static void send_lists(struct cio_op *op)
{
    struct cio_member *m = &op->member;
    const struct cio_area *area = &m->describer.area;

    send_payload(op, area->list, m->out.lists * (int64_t)sizeof(*area->list), &m->out_req[1]);
    send_payload(op, area->meta, m->out.coded, &m->out_req[2]);
    m->step = CIO_MEMBER_SEND;
}

static void send_bits(struct cio_op *op)
{
    send_payload(op, op->member.describer.area.bits,
                 (int64_t)(cio_rounds_words(&op->rounds) * sizeof(uint64_t)),
                 &op->member.out_req[3]);
}

/* A board of its own, and room for the bytes of one window, which go by message. */
static int make_own(struct cio_op *op, struct cio_board **board)
{
    struct cio_member *m = &op->member;
    int rc = cio_board_own(op, 1, board);

    if (rc != 0)
        return rc;
    m->stream_size = cio_min64(cio_op_budget(op), op->req.bytes);
    m->stream = cio_op_alloc(op, m->stream_size);
    return m->stream == NULL ? -ENOMEM : 0;
}

/* Describes there, from where the window began. */
static void begin_alone(struct cio_op *op)
{
    struct cio_member *m = &op->member;
    struct cio_board *board;
    int rc;

    m->alone = 1;
    op->shared = 0;
    op->env.segment->refused = 1;
    rc = make_own(op, &board);
    if (rc == 0)
        cio_member_begin(op, board, 0, &m->out);
    else
        m->out = (struct cio_ctl){.kind = CIO_CTL_READY, .error = rc};
    if (m->out.error == 0)
        m->out.error = op->error; /* of the time before */
    send_answer(op);
}

static void copy_stream(struct cio_op *op, int64_t lists)
{
    double t = cio_now();

    cio_copy_stream(&op->member.describer.area, lists, &op->req, op->member.stream, op->req.write);
    count_copied(op, lists);
    op->stats.time[CIO_TIME_COPY] += cio_now() - t;
}

/* The window's bytes, by message: before (read) or after they are copied. */
static void begin_payload(struct cio_op *op, int64_t lists, int64_t bytes)
{
    struct cio_member *m = &op->member;

    m->step = CIO_MEMBER_PAYLOAD;
    if (op->req.write) {
        copy_stream(op, lists);
        send_payload(op, m->stream, bytes, &m->out_req[4]);
    } else {
        cio_op_recv(op, m->stream, bytes, leader_rank(op), CIO_TAG_PAYLOAD, &m->out_req[4]);
    }
}

static void end_payload(struct cio_op *op)
{
    struct cio_member *m = &op->member;
    int64_t lists = window_lists(op, m->in.place.t);
    int rc;

    if (op->req.write)
        return;
    rc = cio_req_check(&m->out_req[4], cio_area_bytes(&m->describer.area, lists));
    if (rc == 0)
        copy_stream(op, lists);
    else
        cio_op_fail(op, rc);
}

/* The message has been dealt with; the next window is described. */
static void end_window(struct cio_op *op)
{
    struct cio_member *m = &op->member;

    advance(op, m->in.place.t);
    describe(op, &m->out);
    m->out.error = op->error;
    note_through(op, &m->out);
    send_answer(op);
    send_lists(op);
}

static void obey_message(struct cio_op *op)
{
    struct cio_member *m = &op->member;
    int64_t lists, bytes;
    int rc = cio_req_check(&m->in_req, sizeof(m->in));

    if (rc != 0)
        m->in = (struct cio_ctl){.kind = CIO_CTL_FINAL, .error = rc};
    if (m->in.kind == CIO_CTL_SEND) {
        send_lists(op);
        send_bits(op);
        return;
    }
    if (m->in.kind != CIO_CTL_COPY) {
        cio_member_handle(op, &m->in, &m->out);
        return;
    }
    op->doubtful |= m->in.doubtful;
    lists = window_lists(op, m->in.place.t);
    bytes = cio_area_bytes(&m->describer.area, lists);
    if (bytes > 0)
        begin_payload(op, lists, bytes);
    else
        end_window(op);
}

static int progress_alone(struct cio_op *op)
{
    struct cio_member *m = &op->member;

    if (cio_reqs_busy(m->out_req, 5) || (m->step == CIO_MEMBER_WAIT && cio_req_busy(&m->in_req)))
        return 0;
    switch (m->step) {
    case CIO_MEMBER_WAIT:
        obey_message(op);
        return 1;
    case CIO_MEMBER_PAYLOAD:
        end_payload(op);
        end_window(op);
        return 1;
    case CIO_MEMBER_SEND:
        await_leader(op);
        return 1;
    default:
        return 0;
    }
}

/* ---- both ---- */

void cio_member_start(struct cio_op *op)
{
    struct cio_member *m = &op->member;

    if (!op->shared) {
        begin_alone(op);
        return;
    }
    cio_member_begin(op, op->env.segment->mem.base, op->env.team->my_member, &m->out);
    cio_board_answer(op, &m->out);
}

int cio_member_progress(struct cio_op *op)
{
    if (op->member.step == CIO_MEMBER_DONE)
        return 0;
    if (op->member.alone)
        return progress_alone(op);
    if (op->member.step == CIO_MEMBER_THROUGH)
        return take_outcome(op);
    return op->member.step == CIO_MEMBER_FOLLOW ? take_landed(op) : obey_note(op);
}

void cio_member_needs(struct cio_op *op, struct cio_needs *needs)
{
    struct cio_member *m = &op->member;

    if (m->step == CIO_MEMBER_FOLLOW || m->step == CIO_MEMBER_THROUGH) {
        needs->word = &m->describer.area.desc->landed;
        needs->seen = CIO_LANDED_NOT;
        return;
    }
    if (!m->alone) {
        needs->word = &m->board->told;
        needs->seen = op->env.segment->told;
        return;
    }
    cio_needs_add(needs, m->out_req, 5);
    if (m->step == CIO_MEMBER_WAIT)
        cio_needs_add(needs, &m->in_req, 1);
}

void cio_member_finish(struct cio_op *op)
{
    struct cio_member *m = &op->member;

    cio_op_free(op, m->stream, m->stream_size);
}
