/*
 * Scheduling on a node: every rank marks what it touches, leaders pass it on to the first one of
 * their node, and that one tells the aggregators, or the planner.
 */
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

/* A leader's rows, for the first one of its node. */
static void encode_rows(struct cio_op *op)
{
    struct cio_scheduling *s = op->scheduling;
    const struct cio_rounds *r = &op->rounds;
    int64_t each = (int64_t)(sizeof(struct cio_sched_row) + cio_bits_bound(r->positions));
    int k = op->env.team->group_size;

    s->told = cio_sched_parts_head(op);
    if (cio_sched_get(op, &s->parts, s->told + each * k * r->naggr) == NULL) {
        cio_sched_lose(op, CIO_SCHED_GROUP, -ENOMEM);
        return;
    }
    for (int a = 0; a < r->naggr; a++) {
        int64_t from = s->told;

        for (int i = 0; i < k; i++)
            s->told += encode_row(op, a, i, s->parts.p + s->told);
        ((int64_t *)s->parts.p)[a] = s->told - from;
    }
}

/* The same at the first leader, which needs no code for its own. */
static int add_own(struct cio_op *op)
{
    struct cio_scheduling *s = op->scheduling;
    const struct cio_rounds *r = &op->rounds;
    const struct cio_team *team = op->env.team;
    int rc = 0;

    s->node = cio_sched_make_patterns(op);
    if (s->node == NULL)
        return -ENOMEM;
    for (int a = 0; a < r->naggr; a++)
        for (int i = 0; rc == 0 && i < team->group_size; i++)
            rc = cio_pattern_add(s->node[a], team->group[i], row_of(op, i) + a * r->slice / 64);
    return rc;
}

static int take_rows(struct cio_pattern *p, const char *data, int64_t size)
{
    struct cio_sched_row row;
    int rc = 0;

    while (rc == 0 && size > 0) {
        if (size < (int64_t)sizeof(row))
            return -EBADMSG;
        memcpy(&row, data, sizeof(row));
        data += sizeof(row);
        size -= (int64_t)sizeof(row);
        if (row.bytes < 0 || row.bytes > size)
            return -EBADMSG;
        rc = cio_pattern_add_code(p, row.rank, data, (size_t)row.bytes);
        data += row.bytes;
        size -= row.bytes;
    }
    return rc == 0 || rc == -ENOMEM ? rc : -EBADMSG;
}

/* Those of another leader of this node. */
static void take_parts(struct cio_op *op, int turn)
{
    struct cio_scheduling *s = op->scheduling;
    int rc = s->in.error;

    (void)turn;
    if (cio_sched_has_part(op, CIO_SCHED_GROUP))
        rc = cio_sched_take_parts(op, s->node, take_rows);
    cio_sched_judge(op, CIO_SCHED_GROUP, rc);
}

int cio_sched_bundle(struct cio_op *op)
{
    const struct cio_team *team = op->env.team;

    if (!cio_sched_leads(op))
        return 1;
    if (!cio_team_heads(team)) {
        if (cio_sched_has_part(op, CIO_SCHED_GROUP))
            encode_rows(op);
        cio_sched_send(op, CIO_SCHED_GROUP, team->leader[team->my_first], CIO_TAG_PATTERN,
                       &op->scheduling->parts, op->scheduling->told);
        return 1;
    }
    if (cio_sched_enter(op) && cio_sched_has_part(op, CIO_SCHED_GROUP))
        cio_sched_lose(op, CIO_SCHED_GROUP, add_own(op));
    return cio_sched_receive(op, team->leader + team->my_first + 1, team->my_leaders - 1,
                             CIO_TAG_PATTERN, take_parts);
}

/* The patterns of this node, in code. */
static int encode_node(struct cio_op *op)
{
    struct cio_scheduling *s = op->scheduling;
    int64_t bound = cio_sched_parts_head(op);

    s->told = bound;
    for (int a = 0; a < op->rounds.naggr; a++)
        bound += (int64_t)cio_pattern_bound(s->node[a]);
    if (cio_sched_get(op, &s->parts, bound) == NULL)
        return -ENOMEM;
    for (int a = 0; a < op->rounds.naggr; a++) {
        int64_t used = cio_pattern_encode(s->node[a], s->parts.p + s->told);

        if (used < 0)
            return (int)used;
        ((int64_t *)s->parts.p)[a] = used;
        s->told += used;
    }
    return 0;
}

/* Each aggregator gets its part, or only a word that there is none. */
static void tell_aggregators(struct cio_op *op)
{
    struct cio_scheduling *s = op->scheduling;
    int64_t at = cio_sched_parts_head(op);
    struct cio_block part = {NULL, 0};

    for (int a = 0; a < op->rounds.naggr; a++) {
        if (cio_sched_has_part(op, CIO_SCHED_GROUP))
            part = (struct cio_block){s->parts.p + at, ((int64_t *)s->parts.p)[a]};
        cio_sched_send(op, CIO_SCHED_GROUP, op->env.team->aggr[a], CIO_TAG_PATTERN, &part,
                       part.size);
        at += part.size;
    }
}

int cio_sched_tell_patterns(struct cio_op *op)
{
    struct cio_scheduling *s = op->scheduling;

    if (!cio_team_heads(op->env.team))
        return 1;
    if (cio_sched_has_part(op, CIO_SCHED_GROUP))
        cio_sched_lose(op, CIO_SCHED_GROUP, encode_node(op));
    if (!cio_sched_is_central(op))
        tell_aggregators(op);
    else
        cio_sched_send(op, CIO_SCHED_GROUP, op->env.team->aggr[0], CIO_TAG_PATTERN, &s->parts,
                       s->told);
    return 1;
}
