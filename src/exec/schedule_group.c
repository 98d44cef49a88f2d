/* Scheduling in a group: every rank marks what it touches, and leaders tell the aggregators. */
#include <errno.h>
#include <string.h>

#include "exec/scheduling.h"
#include "plan/bits.h"

/* A member's set of positions: on the board, or with the leader. */
static uint64_t *row_of(const struct cio_op *op, int member)
{
    struct cio_area area;

    if (!op->shared)
        return (uint64_t *)(op->scheduling->rows.p + member * cio_sched_row_bytes(op));
    cio_area_at(cio_sched_board(op), member, &area);
    return area.bits;
}

/* Rows that this rank keeps itself; on the board each member has its own. */
static int make_rows(struct cio_op *op)
{
    struct cio_board_memory m = cio_board_memory_of(op);
    int n = cio_sched_leads(op) ? op->env.team->group_size : 1;

    if (op->shared)
        return cio_region_back(&m, &cio_sched_board(op)->desc[op->env.team->my_member].bits,
                               cio_sched_row_bytes(op));
    return cio_sched_get(op, &op->scheduling->rows, n * cio_sched_row_bytes(op)) == NULL ? -ENOMEM
                                                                                         : 0;
}

static int64_t order_bytes(const struct cio_op *op)
{
    return 2 * op->rounds.units * (int64_t)sizeof(uint32_t);
}

/* Where the orders of all aggregators will be. */
static int make_orders(struct cio_op *op)
{
    struct cio_scheduling *s = op->scheduling;
    struct cio_board_memory m = cio_board_memory_of(op);
    int rc = 0;

    if (!op->shared)
        s->order = cio_sched_get(op, &s->orders, order_bytes(op));
    else if (cio_sched_leads(op))
        rc = cio_region_back(&m, &cio_sched_board(op)->order, order_bytes(op));
    if (op->shared)
        s->order = (uint32_t *)((char *)cio_sched_board(op) + cio_sched_board(op)->order.at);
    if (s->order == NULL)
        return -ENOMEM;
    s->index = s->order + op->rounds.units;
    return rc;
}

/* Room for what comes: an order that cannot be taken in would be followed by others. */
static int make_room(struct cio_op *op)
{
    if (!cio_sched_leads(op) && op->shared)
        return 0;
    return cio_inbox_reserve(op, &op->scheduling->in, cio_sched_joint_bytes(op));
}

/* Leaders wait for it in the next stage. */
int cio_sched_mark(struct cio_op *op)
{
    struct cio_scheduling *s = op->scheduling;
    int me = cio_sched_leads(op) || !op->shared ? 0 : op->env.team->my_member;
    int rc = make_rows(op);

    if (rc == 0)
        rc = make_orders(op);
    if (rc == 0)
        rc = make_room(op);
    cio_sched_lose(op, CIO_SCHED_GROUP, rc);
    if (rc == 0) {
        memset(row_of(op, me), 0, (size_t)cio_sched_row_bytes(op));
        cio_describe_positions(&op->req, &op->rounds, row_of(op, me));
    }
    if (cio_sched_leads(op))
        return 1;
    if (op->shared) {
        struct cio_ctl ctl = {.kind = CIO_CTL_READY, .error = rc};

        cio_board_answer(op, &ctl);
    } else {
        cio_sched_send(op, CIO_SCHED_GROUP, op->env.team->group[0], CIO_TAG_PATTERN, &s->rows,
                       cio_sched_row_bytes(op));
    }
    return 1;
}

/* A member's row, by message. */
static void take_row(struct cio_op *op, int turn)
{
    struct cio_scheduling *s = op->scheduling;

    if (s->in.error == 0 && s->in.size != cio_sched_row_bytes(op))
        s->in.error = -EBADMSG;
    cio_sched_judge(op, CIO_SCHED_GROUP, s->in.error);
    if (cio_sched_has_part(op, CIO_SCHED_GROUP))
        memcpy(row_of(op, turn + 1), s->in.data, (size_t)s->in.size);
}

int cio_sched_gather(struct cio_op *op)
{
    int k = op->env.team->group_size;

    if (!cio_sched_leads(op))
        return 1;
    if (!op->shared)
        return cio_sched_receive(op, op->env.team->group + 1, k - 1, CIO_TAG_PATTERN, take_row);
    if (cio_sched_enter(op))
        cio_board_expect(op);
    if (!cio_board_answered(op))
        return 0;
    for (int i = 1; i < k; i++)
        cio_sched_lose(op, CIO_SCHED_GROUP, cio_sched_board(op)->desc[i].up.error);
    return 1;
}

/* Code of a member's part of one aggregator; nothing if it has none there. */
static int64_t encode_row(const struct cio_op *op, int aggr, int member, char *to)
{
    const struct cio_rounds *r = &op->rounds;
    const uint64_t *bits = row_of(op, member) + aggr * r->slice / 64;
    struct cio_sched_row row = {.rank = op->env.team->group[member]};

    if (cio_bits_next(bits, r->positions, 0) < 0)
        return 0;
    row.bytes = (int32_t)cio_bits_encode(bits, r->positions, to + sizeof(row));
    memcpy(to, &row, sizeof(row));
    return (int64_t)sizeof(row) + row.bytes;
}

/* Every aggregator gets a message, also if it is empty. */
int cio_sched_tell_patterns(struct cio_op *op)
{
    struct cio_scheduling *s = op->scheduling;
    const struct cio_rounds *r = &op->rounds;
    int64_t each = (int64_t)(sizeof(struct cio_sched_row) + cio_bits_bound(r->positions));
    int k = op->env.team->group_size;
    int64_t at = 0;

    if (!cio_sched_leads(op))
        return 1;
    if (cio_sched_has_part(op, CIO_SCHED_GROUP) &&
        cio_sched_get(op, &s->patterns, each * k * r->naggr) == NULL)
        cio_sched_lose(op, CIO_SCHED_GROUP, -ENOMEM);
    for (int a = 0; a < r->naggr; a++) {
        struct cio_block part = {NULL, 0};

        if (cio_sched_has_part(op, CIO_SCHED_GROUP))
            part.p = s->patterns.p + at;
        for (int i = 0; cio_sched_has_part(op, CIO_SCHED_GROUP) && i < k; i++)
            part.size += encode_row(op, a, i, part.p + part.size);
        at += part.size;
        cio_sched_send(op, CIO_SCHED_GROUP, op->env.team->aggr[a], CIO_TAG_PATTERN, &part,
                       part.size);
    }
    return 1;
}
