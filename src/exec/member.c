/*
 * A member of a group. With shared memory its area lies on the group's board and the leader sees it
 * there; without, its pieces and bytes travel as payload beside the control messages.
 */
#include "exec/internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static int alone(const struct cio_op *op)
{
    return op->member.board == NULL;
}

void cio_member_hello(struct cio_op *op, struct cio_ctl *out)
{
    struct cio_room room;

    cio_room_needed(&op->req, &op->rounds, &room);
    cio_room_limit(&room, op->rounds.domains.unit, op->set.memory_limit);
    *out = (struct cio_ctl){
        .kind = CIO_CTL_HELLO, .ext = room.ext, .dir = room.dir, .data = room.data};
}

/* Takes the group's segment: a new one by its name, or the one of the last operation, or my own. */
static int take_segment(struct cio_op *op, const struct cio_ctl *in)
{
    struct cio_segment *seg = op->env.segment;
    const struct cio_node_memory *port = &op->env.nodemem;

    if (in->name[0] != '\0' && !cio_team_leads(op->env.team)) {
        if (seg->mem.base != NULL)
            port->ops->detach(port->self, &seg->mem);
        memset(&seg->mem, 0, sizeof(seg->mem));
        int rc = port->ops->attach(port->self, in->name, in->size, &seg->mem);
        if (rc != 0)
            return rc;
    }
    op->member.board = seg->mem.base;
    cio_area_at(op->member.board, op->env.team->my_member, &op->member.area);
    return 0;
}

/* An area of my own, and a buffer for one window's bytes. */
static int make_area(struct cio_op *op)
{
    struct cio_member *m = &op->member;
    int64_t words = (int64_t)cio_rounds_words(&op->rounds);
    struct cio_ctl room;

    m->board = NULL;
    cio_member_hello(op, &room);
    m->desc.cap = (struct cio_room){room.ext, room.dir, room.data};
    m->memory = cio_op_alloc(op, cio_area_size(&m->desc.cap, words));
    m->stream = cio_op_alloc(op, m->desc.cap.data);
    if (m->memory == NULL || m->stream == NULL)
        return -ENOMEM;
    cio_area_alone(&m->desc, m->memory, &m->area);
    return 0;
}

static void describe(struct cio_op *op, struct cio_ctl *out)
{
    struct cio_member *m = &op->member;
    double t = cio_now();

    if (!m->marked)
        cio_area_mark(&m->area, &op->req, &op->rounds);
    m->marked = 1;
    out->place = cio_area_describe(&m->area, &op->req, &op->rounds, m->place);
    out->ext = m->area.desc->next;
    out->dir = m->area.desc->ndir;
    op->stats.time[CIO_TIME_FLATTEN] += cio_now() - t;
}

/* `size` of the answer says whether the segment could be had: the leader then does without. */
static void attach(struct cio_op *op, const struct cio_ctl *in, struct cio_ctl *out)
{
    struct cio_member *m = &op->member;

    out->kind = CIO_CTL_READY;
    m->marked = 0;
    op->stats.count[CIO_COUNT_SHARED] = in->size > 0;
    if (in->size > 0) {
        out->size = take_segment(op, in);
        if (out->size != 0)
            return;
    } else if (cio_team_leads(op->env.team)) {
        cio_area_at(m->board, 0, &m->area); /* which the leader has made */
    } else {
        out->error = make_area(op);
    }
    if (out->error == 0)
        describe(op, out);
}

static void merge(struct cio_op *op)
{
    double t = cio_now();

    cio_board_merge(op->member.board, &op->rounds, op->env.team->my_member, op->env.alloc);
    op->stats.time[CIO_TIME_MERGE] += cio_now() - t;
}

static void copy(struct cio_op *op)
{
    struct cio_member *m = &op->member;
    double t = cio_now();

    if (alone(op))
        cio_area_stream(&m->area, &op->req, m->stream, op->req.write);
    else if (!cio_op_is_direct(op))
        cio_board_copy(m->board, &m->area, &op->req, NULL, op->req.write);
    if (!cio_op_is_direct(op))
        cio_count_add(&op->stats, CIO_COUNT_COPIED_BYTES, cio_area_bytes(&m->area));
    op->stats.time[CIO_TIME_COPY] += cio_now() - t;
}

void cio_member_handle(struct cio_op *op, const struct cio_ctl *in, struct cio_ctl *out)
{
    memset(out, 0, sizeof(*out));
    switch (in->kind) {
    case CIO_CTL_ATTACH:
        attach(op, in, out);
        break;
    case CIO_CTL_MERGE:
        out->kind = CIO_CTL_MERGED;
        merge(op);
        break;
    case CIO_CTL_COPY:
        out->kind = CIO_CTL_COPIED;
        op->member.place = in->place;
        copy(op);
        describe(op, out);
        break;
    case CIO_CTL_FINAL:
        if (in->error != 0)
            op->error = in->error;
        op->member.step = CIO_MEMBER_DONE;
        break;
    default:
        cio_op_fail(op, -EBADMSG);
    }
}

/* ---- members that are not the leader ---- */

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

void cio_member_start(struct cio_op *op)
{
    struct cio_member *m = &op->member;

    cio_member_hello(op, &m->out);
    cio_op_send(op, &m->out, sizeof(m->out), leader_rank(op), CIO_TAG_UP, &m->out_req[0]);
    await_leader(op);
}

static void send_payload(struct cio_op *op, const void *buf, int64_t len, struct cio_req *req)
{
    if (len > 0)
        cio_op_send(op, buf, len, leader_rank(op), CIO_TAG_PAYLOAD, req);
}

/* The answer, and behind it what the leader cannot see: pieces and, the first time, positions. */
static void answer(struct cio_op *op)
{
    struct cio_member *m = &op->member;
    int first = m->in.kind == CIO_CTL_ATTACH;

    cio_op_send(op, &m->out, sizeof(m->out), leader_rank(op), CIO_TAG_UP, &m->out_req[0]);
    m->step = CIO_MEMBER_SEND;
    if (!alone(op) || m->memory == NULL || m->out.error != 0)
        return;
    if (m->out.dir > 0)
        send_payload(op, m->area.dir, (m->out.dir + 1) * (int64_t)sizeof(*m->area.dir),
                     &m->out_req[1]);
    send_payload(op, m->area.ext, m->out.ext * (int64_t)sizeof(*m->area.ext), &m->out_req[2]);
    if (first)
        send_payload(op, m->area.bits, (int64_t)(cio_rounds_words(&op->rounds) * sizeof(uint64_t)),
                     &m->out_req[3]);
}

/* Without shared memory the window's bytes go by message, before (read) or after the copy. */
static int needs_payload(struct cio_op *op)
{
    struct cio_member *m = &op->member;

    if (m->in.kind != CIO_CTL_COPY || !alone(op))
        return 0;
    m->place = m->in.place;
    cio_area_truncate(&m->area, m->place);
    return cio_area_bytes(&m->area) > 0;
}

static void begin_payload(struct cio_op *op)
{
    struct cio_member *m = &op->member;
    int64_t bytes = cio_area_bytes(&m->area);

    m->step = CIO_MEMBER_PAYLOAD;
    if (op->req.write) {
        copy(op);
        send_payload(op, m->stream, bytes, &m->out_req[4]);
    } else {
        cio_op_recv(op, m->stream, bytes, leader_rank(op), CIO_TAG_PAYLOAD, &m->out_req[4]);
    }
}

/* Obeys the message that has come in; the copy of a lone member has then happened or comes now. */
static void obey(struct cio_op *op)
{
    struct cio_member *m = &op->member;

    if (m->in.kind == CIO_CTL_COPY && alone(op)) {
        if (!op->req.write && m->step == CIO_MEMBER_PAYLOAD)
            copy(op);
        memset(&m->out, 0, sizeof(m->out));
        m->out.kind = CIO_CTL_COPIED;
        describe(op, &m->out);
    } else {
        cio_member_handle(op, &m->in, &m->out);
    }
    if (m->step != CIO_MEMBER_DONE)
        answer(op);
}

int cio_member_progress(struct cio_op *op)
{
    struct cio_member *m = &op->member;

    switch (m->step) {
    case CIO_MEMBER_WAIT:
        if (cio_req_busy(&m->in_req) || cio_reqs_busy(m->out_req, 5))
            return 0;
        if (needs_payload(op))
            begin_payload(op);
        else
            obey(op);
        return 1;
    case CIO_MEMBER_PAYLOAD:
        if (cio_req_busy(&m->out_req[4]))
            return 0;
        obey(op);
        return 1;
    case CIO_MEMBER_SEND:
        if (cio_reqs_busy(m->out_req, 5))
            return 0;
        await_leader(op);
        return 1;
    default:
        return 0;
    }
}

void cio_member_needs(struct cio_op *op, struct cio_needs *needs)
{
    struct cio_member *m = &op->member;

    cio_needs_add(needs, m->out_req, 5);
    if (m->step == CIO_MEMBER_WAIT)
        cio_needs_add(needs, &m->in_req, 1);
}

void cio_member_finish(struct cio_op *op)
{
    struct cio_member *m = &op->member;
    int64_t words = (int64_t)cio_rounds_words(&op->rounds);

    if (m->memory != NULL)
        cio_op_free(op, m->memory, cio_area_size(&m->desc.cap, words));
    if (m->stream != NULL)
        cio_op_free(op, m->stream, m->desc.cap.data);
}
