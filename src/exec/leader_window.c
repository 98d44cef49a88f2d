/*
 * A leader's windows: which units they have, whether they are merged, and the copies between them
 * and the members. Members that share no memory send their bytes, or are sent them, as streams.
 */
#include "exec/lead.h"

/* Merging pays if it leaves so many of 1,000 pieces, or fewer. */
#define MERGE_BELOW 500

void cio_leader_merge_alone(struct cio_op *op)
{
    struct cio_leader *l = op->leader;
    double t = cio_now();

    for (int i = 0; i < l->k; i++)
        cio_window_merge(l->board, &op->rounds, i, cio_op_message_data(op), op->env.alloc);
    op->stats.time[CIO_TIME_MERGE] += cio_now() - t;
}

void cio_leader_merge_for_through(struct cio_op *op)
{
    struct cio_leader *l = op->leader;

    for (int i = 1; i < l->k; i++)
        if (l->through[i] != CIO_THROUGH_NOT)
            cio_window_merge(l->board, &op->rounds, i, cio_op_message_data(op), op->env.alloc);
}

int cio_leader_list_window(struct cio_op *op)
{
    struct cio_leader *l = op->leader;
    struct cio_board_memory m = cio_board_memory_of(op);
    int rc;

    l->end = l->in[0].place.t;
    for (int i = 1; i < l->k; i++)
        l->end = cio_min64(l->end, l->in[i].place.t);
    rc = cio_window_list(l->board, &m, l->end);
    for (int64_t i = 0; rc == 0 && i < l->board->nunits; i++)
        cio_board_units(l->board)[i].last = cio_board_units(l->board)[i].t < l->end;
    return rc;
}

int cio_leader_plan_merge(struct cio_op *op)
{
    struct cio_leader *l = op->leader;
    struct cio_board_memory m = cio_board_memory_of(op);

    if (l->merge < 0 && l->board->nunits > 0)
        l->merge = cio_window_sample(l->board, &op->rounds, op->env.alloc) <= MERGE_BELOW;
    if (l->merge <= 0)
        return 0;
    if (cio_window_plan_merge(l->board, &m, &op->rounds, cio_op_message_data(op)) == 0)
        return 1;
    l->merge = 0;
    cio_leader_list_window(op);
    return 0;
}

void cio_leader_note_units(struct cio_op *op)
{
    struct cio_unit *u = cio_board_units(op->leader->board);

    for (int64_t i = 0; i < op->leader->board->nunits; i++) {
        cio_count_add(&op->stats, CIO_COUNT_SEGMENTS, u[i].segments);
        cio_count_add(&op->stats, CIO_COUNT_METADATA_BYTES, u[i].meta_bytes);
    }
}

struct cio_copy cio_leader_copy_for(struct cio_op *op, int member)
{
    struct cio_leader *l = op->leader;
    struct cio_copy c = {.board = l->board,
                         .merged = l->merge > 0,
                         .write = op->req.write,
                         .rounds = &op->rounds,
                         .stream = l->stream};

    cio_area_at(l->board, member, &c.area);
    c.lists = cio_area_lists(&c.area, l->end);
    return c;
}

void cio_leader_copy_code(struct cio_op *op)
{
    for (int i = 0; i < op->leader->k; i++) {
        struct cio_copy c = cio_leader_copy_for(op, i);

        if (!op->req.write || (cio_leader_by_message(op) && i > 0))
            cio_copy_code(&c);
    }
}

struct cio_ctl cio_leader_copy_word(const struct cio_op *op, enum cio_ctl_kind kind, int doubtful)
{
    const struct cio_leader *l = op->leader;

    return (struct cio_ctl){
        .kind = kind, .place = {l->end, 0}, .merged = l->merge > 0, .doubtful = doubtful};
}

void cio_leader_begin_copy(struct cio_op *op)
{
    struct cio_leader *l = op->leader;

    l->step = CIO_LEADER_COPY;
    l->stream_member = 0;
    l->out = cio_leader_copy_word(op, CIO_CTL_COPY, op->doubtful);
    cio_leader_tell_members(op);
}

void cio_leader_send_stream(struct cio_op *op, int member, const struct cio_copy *c)
{
    int64_t bytes = cio_area_bytes(&c->area, c->lists);

    cio_copy_data(c);
    cio_op_send(op, op->leader->stream, bytes, op->env.team->group[member], CIO_TAG_PAYLOAD,
                &op->leader->stream_req);
}

/* Begins with the next member whose bytes must travel as a message, if there is one. */
static void next_stream(struct cio_op *op)
{
    struct cio_leader *l = op->leader;
    struct cio_copy c;
    int64_t bytes = 0;

    while (bytes == 0 && ++l->stream_member < l->k) {
        c = cio_leader_copy_for(op, l->stream_member);
        bytes = cio_area_bytes(&c.area, c.lists);
    }
    if (bytes == 0)
        return;
    if (op->req.write)
        cio_op_recv(op, l->stream, bytes, op->env.team->group[l->stream_member], CIO_TAG_PAYLOAD,
                    &l->stream_req);
    else
        cio_leader_send_stream(op, l->stream_member, &c);
}

static void take_stream(struct cio_op *op)
{
    struct cio_leader *l = op->leader;
    struct cio_copy c = cio_leader_copy_for(op, l->stream_member);
    int rc = cio_req_check(&l->stream_req, cio_area_bytes(&c.area, c.lists));

    if (rc != 0)
        cio_op_fail(op, rc);
    else
        cio_copy_data(&c);
}

int cio_leader_move_streams(struct cio_op *op)
{
    struct cio_leader *l = op->leader;

    if (!cio_leader_by_message(op) || l->stream_member >= l->k || cio_req_busy(&l->stream_req))
        return 0;
    if (l->stream_member > 0 && op->req.write)
        take_stream(op);
    next_stream(op);
    return 1;
}
