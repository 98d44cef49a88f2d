/*
 * Scheduling in a group: every rank marks what it touches, leaders pass it on to the first one of
 * their node, and that one tells the aggregators.
 */
#include <errno.h>
#include <stdlib.h>
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

/* What a leader tells the aggregators: bytes of the part of each, then the parts. */
static int64_t *part_sizes(const struct cio_block *patterns)
{
    return (int64_t *)patterns->p;
}

static void encode_parts(struct cio_op *op)
{
    struct cio_scheduling *s = op->scheduling;
    const struct cio_rounds *r = &op->rounds;
    int64_t each = (int64_t)(sizeof(struct cio_sched_row) + cio_bits_bound(r->positions));
    int64_t head = r->naggr * (int64_t)sizeof(int64_t);
    int k = op->env.team->group_size;

    if (cio_sched_get(op, &s->patterns, head + each * k * r->naggr) == NULL) {
        cio_sched_lose(op, CIO_SCHED_GROUP, -ENOMEM);
        return;
    }
    s->told = head;
    for (int a = 0; a < r->naggr; a++) {
        int64_t from = s->told;

        for (int i = 0; i < k; i++)
            s->told += encode_row(op, a, i, s->patterns.p + s->told);
        part_sizes(&s->patterns)[a] = s->told - from;
    }
}

static int are_parts_sound(const struct cio_op *op, const struct cio_block *b)
{
    int64_t left = b->size - op->rounds.naggr * (int64_t)sizeof(int64_t);

    for (int a = 0; left >= 0 && a < op->rounds.naggr; a++)
        left = part_sizes(b)[a] < 0 ? -1 : left - part_sizes(b)[a];
    return left == 0;
}

/* Those of another leader of this node. */
static void take_parts(struct cio_op *op, int turn)
{
    struct cio_scheduling *s = op->scheduling;
    struct cio_block *b = &s->theirs[turn];

    cio_sched_judge(op, CIO_SCHED_GROUP, s->in.error);
    if (!cio_sched_has_part(op, CIO_SCHED_GROUP))
        return;
    if (cio_sched_get(op, b, s->in.size) == NULL) {
        cio_sched_lose(op, CIO_SCHED_GROUP, -ENOMEM);
        return;
    }
    memcpy(b->p, s->in.data, (size_t)s->in.size);
    if (!are_parts_sound(op, b))
        cio_sched_judge(op, CIO_SCHED_GROUP, -EBADMSG);
}

int cio_sched_bundle(struct cio_op *op)
{
    struct cio_scheduling *s = op->scheduling;
    const struct cio_team *team = op->env.team;

    if (!cio_sched_leads(op))
        return 1;
    if (cio_sched_enter(op) && cio_sched_has_part(op, CIO_SCHED_GROUP))
        encode_parts(op);
    if (cio_team_heads(team))
        return cio_sched_receive(op, team->leader + team->my_first + 1, team->my_leaders - 1,
                                 CIO_TAG_PATTERN, take_parts);
    cio_sched_send(op, CIO_SCHED_GROUP, team->leader[team->my_first], CIO_TAG_PATTERN, &s->patterns,
                   s->told);
    return 1;
}

/* Room for the parts of all leaders of this node. */
static void make_bundle(struct cio_op *op)
{
    struct cio_scheduling *s = op->scheduling;
    int64_t size = s->told;

    for (int i = 0; i + 1 < op->env.team->my_leaders; i++)
        size += s->theirs[i].size;
    if (cio_sched_has_part(op, CIO_SCHED_GROUP) && cio_sched_get(op, &s->bundle, size) == NULL)
        cio_sched_lose(op, CIO_SCHED_GROUP, -ENOMEM);
}

/* The next part of what a leader tells, of which *at has been taken, behind what is there. */
static void add_part(const struct cio_op *op, const struct cio_block *from, int aggr, int64_t *at,
                     struct cio_block *to)
{
    int64_t head = op->rounds.naggr * (int64_t)sizeof(int64_t), size = part_sizes(from)[aggr];

    memcpy(to->p + to->size, from->p + head + *at, (size_t)size);
    to->size += size;
    *at += size;
}

/* Every aggregator gets a message, also if it is empty. */
int cio_sched_tell_patterns(struct cio_op *op)
{
    struct cio_scheduling *s = op->scheduling;
    const struct cio_team *team = op->env.team;
    struct cio_block part;
    int64_t *at, told = 0;

    if (!cio_team_heads(team))
        return 1;
    make_bundle(op);
    at = calloc((size_t)team->my_leaders, sizeof(*at));
    if (at == NULL)
        cio_sched_lose(op, CIO_SCHED_GROUP, -ENOMEM);
    for (int a = 0; a < op->rounds.naggr; a++) {
        part = (struct cio_block){told > 0 ? s->bundle.p + told : s->bundle.p, 0};
        for (int i = 0; cio_sched_has_part(op, CIO_SCHED_GROUP) && i < team->my_leaders; i++)
            add_part(op, i == 0 ? &s->patterns : &s->theirs[i - 1], a, &at[i], &part);
        cio_sched_send(op, CIO_SCHED_GROUP, team->aggr[a], CIO_TAG_PATTERN, &part, part.size);
        told += part.size;
    }
    free(at);
    return 1;
}
