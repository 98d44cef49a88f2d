/*
 * The order in which aggregators serve their positions, where it is not by offset: agreed on before
 * anything is described, so that all that follows works in that order.
 *
 * Every rank goes through the same stages, and does in each what falls to it. What one stage waits
 * for was sent in an earlier one, so nobody waits in a circle:
 *
 *   MARK     every rank        the positions that it touches, to its leader
 *   GATHER   leader            those of its members
 *   PATTERN  leader            to each aggregator: who of the group touches what of it
 *   COLLECT  aggregator        these, of all leaders
 *   REPORT   aggregator        to the planner (aggregator 0): its pattern, or, for GW-MDF, how much
 *                              each rank touches. Left out for MDF and LW-MDF, which need no more
 *   PLAN     planner           chooses, and tells the aggregators
 *   HEAR     aggregator        the plan; its order, to the planner
 *   JOIN     planner           all orders, to the first leader
 *   ORDERS   leader            these, to the leaders below it in their tree, and to its members
 *   DRAIN    every rank        until what it sent has left
 *   FOLLOW   member            the orders
 *
 * An order is worth something, but nothing depends on it. Who lacks memory for its part says so
 * instead of doing it, and then all stay with the order by offset; only a message that makes no
 * sense is an error. So that it is known in time, memory for the orders is had before patterns are
 * sent.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "exec/schedule.h"
#include "exec/stream.h"
#include "plan/bits.h"
#include "plan/maxima.h"
#include "plan/order.h"
#include "plan/permutation.h"
#include "plan/schedule.h"

enum stage {
    STAGE_MARK,
    STAGE_GATHER,
    STAGE_PATTERN,
    STAGE_COLLECT,
    STAGE_REPORT,
    STAGE_PLAN,
    STAGE_HEAR,
    STAGE_JOIN,
    STAGE_ORDERS,
    STAGE_DRAIN,
    STAGE_FOLLOW,
    STAGES
};

/* One rank's row of a pattern, on its way from its leader to an aggregator; its code follows. */
struct row {
    int32_t rank;
    int32_t bytes;
};

/* Group: a member, or a leader for all of its own. */
enum role { GROUP, AGGREGATOR, PLANNER, ROLES };

/* Memory with its size, for cio_op_free. */
struct block {
    char *p;
    int64_t size;
};

struct cio_scheduling {
    enum stage stage;
    int entered;     /* the stage is, */
    int begun;       /* a stream is received in it, */
    int turn;        /* and whose */
    int lost[ROLES]; /* why this rank, or what it speaks for, can have no part in it; 0: it can */
    double stripe;   /* seconds */
    double since;
    struct cio_inbox in;
    struct cio_outbox *out; /* all streams that this rank may send, */
    int nout, boxes;        /* and how many of them there are, at most */

    struct block rows;     /* sets of positions: of the group, or my own */
    struct block patterns; /* leader: for the aggregators */
    struct block orders;   /* leader, or member without shared memory: order, then index, of all */
    uint32_t *order, *index;

    struct cio_pattern *pattern; /* aggregator */
    struct block report, answer; /* to the planner */
    uint32_t *mine;              /* its own order */

    struct cio_pattern **all; /* planner: NULL, if it needs the counts only */
    uint32_t *busiest;
    struct block plan;
    struct block joint; /* the answers of all aggregators, */
    int64_t joined;     /* so many bytes of it */

    struct cio_decision decision;
};

static const char *const reasons[] = {
    [CIO_WHY_ASKED] = "it was asked for",
    [CIO_WHY_BEST] = "processes wait least, and it is worth its cost",
    [CIO_WHY_FEW] = "no aggregator has two stripes",
    [CIO_WHY_MANY] = "there are too many stripes",
    [CIO_WHY_LATE] = "no rank may return before the others",
    [CIO_WHY_SOON] = "ranks return before the file is accessed, whatever the order",
    [CIO_WHY_COST] = "choosing an order would cost more than it could bring",
    [CIO_WHY_NO_GAIN] = "no other order is worth its cost",
    [CIO_WHY_MEMORY] = "memory for another order could not be had",
};

/* ---- whether to do it at all ---- */

/* Seconds for one message more at a rank that must take in many. */
#define MESSAGE_COST 20e-6

/* Bytes per second of an aggregator, on the high side, as long as nothing is known of it. */
#define ASSUMED_SPEED 2e9

int64_t cio_schedule_touches(const struct cio_op *op, int64_t span)
{
    int64_t unit = op->set.unit;
    int64_t least = op->stats.count[CIO_COUNT_PIECES] + op->req.bytes / unit + 1;

    return cio_min64(least, span / unit + 2);
}

static double stripe_seconds(const struct cio_op *op, int64_t measured_ns)
{
    return measured_ns > 0 ? 1e-9 * (double)measured_ns : (double)op->set.unit / ASSUMED_SPEED;
}

/* Whether an order that saved all waiting of the busiest aggregator would pay for being chosen. */
static int may_pay(const struct cio_op *op, const struct cio_prospect *p)
{
    const struct cio_team *team = op->env.team;
    struct cio_schedule_size size = {
        .ranks = op->env.comm->size,
        .positions = cio_min64(op->rounds.units, p->touches),
        .most = op->rounds.positions,
        .rows = cio_min64(p->touches, (int64_t)op->env.comm->size * team->naggr),
        .touches = p->touches};
    double cost = cio_schedule_cost(CIO_SCHEDULE_OFFSET, &size) +
                  cio_schedule_cost(CIO_SCHEDULE_MDF, &size) +
                  MESSAGE_COST * (team->nleaders + 2 * team->naggr);

    return cio_schedule_is_worth((double)size.most, stripe_seconds(op, p->stripe_ns), cost);
}

/*
 * In a write, members return when their bytes are with their leader. If that is at once, and nobody
 * else may return before the end, no order makes anybody wait less.
 */
static int all_return_soon(const struct cio_op *op, const struct cio_prospect *p)
{
    const struct cio_team *team = op->env.team;

    if (!op->req.write || p->charge > cio_op_least_budget(op))
        return 0;
    for (int i = 0; i < team->nleaders; i++)
        if (team->followers[i] == 1)
            return 0;
    return 1;
}

static void note_decision(struct cio_op *op, const struct cio_decision *d)
{
    op->stats.schedule = (enum cio_schedule)d->kind;
    op->stats.schedule_why = reasons[d->why];
    op->stats.predicted_offset = d->known ? d->offset : -1;
    op->stats.predicted = d->known ? d->chosen : -1;
}

/* By offset, for a reason that all ranks see. */
static int refuse(struct cio_op *op, enum cio_why why)
{
    struct cio_decision d = {.kind = CIO_SCHEDULE_OFFSET, .why = why};

    note_decision(op, &d);
    return 0;
}

int cio_schedule_begin(struct cio_op *op, const struct cio_prospect *p)
{
    struct cio_scheduling *s = op->scheduling;

    if (s == NULL)
        return refuse(op, CIO_WHY_ASKED);
    if (op->rounds.positions < 2)
        return refuse(op, CIO_WHY_FEW);
    if (op->rounds.units > CIO_MAX_ORDERED)
        return refuse(op, CIO_WHY_MANY);
    if (op->set.schedule == CIO_SCHEDULE_AUTOMATIC && !op->set.early)
        return refuse(op, CIO_WHY_LATE);
    if (op->set.schedule == CIO_SCHEDULE_AUTOMATIC && all_return_soon(op, p))
        return refuse(op, CIO_WHY_SOON);
    if (op->set.schedule == CIO_SCHEDULE_AUTOMATIC && !may_pay(op, p))
        return refuse(op, CIO_WHY_COST);
    s->stripe = stripe_seconds(op, p->stripe_ns);
    s->since = cio_now();
    return 1;
}

/* ---- memory ---- */

static int is_leader(const struct cio_op *op)
{
    return op->leader != NULL;
}

static int is_planner(const struct cio_op *op)
{
    return op->env.team->my_aggr == 0;
}

/* Whether the aggregators cannot make their orders by themselves; or the response is wanted. */
static int is_planned(const struct cio_op *op)
{
    return op->set.explain ||
           (op->set.schedule != CIO_SCHEDULE_MDF && op->set.schedule != CIO_SCHEDULE_LW_MDF);
}

/* The planner needs no patterns for GW-MDF. */
static int is_counted(const struct cio_op *op)
{
    return op->set.schedule == CIO_SCHEDULE_GW_MDF && !op->set.explain;
}

/* In a group without shared memory. */
static int by_message(const struct cio_op *op)
{
    return !op->shared && op->env.team->group_size > 1;
}

/* NULL, or room for so many bytes. */
static void *get(struct cio_op *op, struct block *b, int64_t size)
{
    *b = (struct block){cio_op_alloc(op, size), size};
    return b->p;
}

static void drop(struct cio_op *op, struct block *b)
{
    cio_op_free(op, b->p, b->size);
    b->p = NULL;
}

static void lose(struct cio_op *op, enum role role, int error)
{
    if (op->scheduling->lost[role] == 0)
        op->scheduling->lost[role] = error;
}

static int has_part(const struct cio_op *op, enum role role)
{
    return op->scheduling->lost[role] == 0;
}

/* What was lost otherwise than for want of memory is an error of the operation. */
static void judge(struct cio_op *op, enum role role, int error)
{
    if (error != 0 && error != -ENOMEM && error != -ENOSPC)
        cio_op_fail(op, error);
    lose(op, role, error);
}

int cio_schedule_create(struct cio_op *op)
{
    const struct cio_team *team = op->env.team;
    struct cio_scheduling *s;

    if (op->set.schedule == CIO_SCHEDULE_OFFSET)
        return 0;
    s = calloc(1, sizeof(*s));
    if (s == NULL)
        return -ENOMEM;
    op->scheduling = s;
    s->boxes = 4 + CIO_TEAM_CHILDREN + team->group_size + 2 * team->naggr;
    s->out = calloc((size_t)s->boxes, sizeof(*s->out));
    return s->out == NULL ? -ENOMEM : cio_inbox_create(op, &s->in);
}

static void drop_patterns(struct cio_op *op)
{
    struct cio_scheduling *s = op->scheduling;

    cio_pattern_destroy(s->pattern);
    for (int a = 0; s->all != NULL && a < op->env.team->naggr; a++)
        cio_pattern_destroy(s->all[a]);
    free(s->all);
    free(s->busiest);
    free(s->mine);
}

void cio_schedule_finish(struct cio_op *op)
{
    struct cio_scheduling *s = op->scheduling;

    if (s == NULL)
        return;
    drop_patterns(op);
    drop(op, &s->joint);
    drop(op, &s->plan);
    drop(op, &s->answer);
    drop(op, &s->report);
    drop(op, &s->orders);
    drop(op, &s->patterns);
    drop(op, &s->rows);
    cio_inbox_destroy(op, &s->in);
    free(s->out);
    free(s);
    op->scheduling = NULL;
}

/* ---- streams ---- */

static void send(struct cio_op *op, enum role as, int dest, enum cio_tag tag,
                 const struct block *data, int64_t size)
{
    struct cio_scheduling *s = op->scheduling;

    cio_outbox_start(op, &s->out[s->nout++], dest, tag, data->p, size, s->lost[as]);
}

/* Whether a stage has just begun. */
static int enter(struct cio_op *op)
{
    return !op->scheduling->entered++;
}

static int pump(struct cio_op *op)
{
    struct cio_scheduling *s = op->scheduling;
    int advanced = 0;

    for (int i = 0; i < s->nout; i++)
        advanced |= cio_outbox_progress(op, &s->out[i]);
    return advanced;
}

static int all_sent(const struct cio_scheduling *s)
{
    for (int i = 0; i < s->nout; i++)
        if (!cio_outbox_is_sent(&s->out[i]))
            return 0;
    return 1;
}

/* Has a stream from each of `n` ranks, one after the other: 1 when there are no more. */
static int receive(struct cio_op *op, const int *ranks, int n, enum cio_tag tag,
                   void (*take)(struct cio_op *op, int turn))
{
    struct cio_scheduling *s = op->scheduling;

    for (; s->turn < n; s->turn++) {
        if (!s->begun)
            cio_inbox_start(op, &s->in, ranks[s->turn], tag);
        s->begun = 1;
        if (!cio_inbox_progress(op, &s->in))
            return 0;
        take(op, s->turn);
        s->begun = 0;
    }
    return 1;
}

/* ---- a group: who touches what ---- */

static int64_t row_bytes(const struct cio_op *op)
{
    return (int64_t)(cio_rounds_words(&op->rounds) * sizeof(uint64_t));
}

static struct cio_board *shared_board(const struct cio_op *op)
{
    return op->env.segment->mem.base;
}

/* A member's set of positions: on the board, or with the leader. */
static uint64_t *row_of(const struct cio_op *op, int member)
{
    struct cio_area area;

    if (!op->shared)
        return (uint64_t *)(op->scheduling->rows.p + member * row_bytes(op));
    cio_area_at(shared_board(op), member, &area);
    return area.bits;
}

/* Rows that this rank keeps itself; on the board each member has its own. */
static int make_rows(struct cio_op *op)
{
    struct cio_board_memory m = cio_board_memory_of(op);
    int n = is_leader(op) ? op->env.team->group_size : 1;

    if (op->shared)
        return cio_region_back(&m, &shared_board(op)->desc[op->env.team->my_member].bits,
                               row_bytes(op));
    return get(op, &op->scheduling->rows, n * row_bytes(op)) == NULL ? -ENOMEM : 0;
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
        s->order = get(op, &s->orders, order_bytes(op));
    else if (is_leader(op))
        rc = cio_region_back(&m, &shared_board(op)->order, order_bytes(op));
    if (op->shared)
        s->order = (uint32_t *)((char *)shared_board(op) + shared_board(op)->order.at);
    if (s->order == NULL)
        return -ENOMEM;
    s->index = s->order + op->rounds.units;
    return rc;
}

static int64_t answer_bytes(const struct cio_op *op)
{
    return (int64_t)(sizeof(struct cio_decision) +
                     cio_permutation_bound((uint32_t)op->rounds.positions));
}

/* All of them, as they travel: each behind its size, or behind why there is none. */
static int64_t joint_bytes(const struct cio_op *op)
{
    return (answer_bytes(op) + (int64_t)sizeof(int32_t)) * op->rounds.naggr;
}

/* Room for what comes: an order that cannot be taken in would be followed by others. */
static int make_room(struct cio_op *op)
{
    if (!is_leader(op) && op->shared)
        return 0;
    return cio_inbox_reserve(op, &op->scheduling->in, joint_bytes(op));
}

/* Leaders wait for it in the next stage. */
static int mark(struct cio_op *op)
{
    struct cio_scheduling *s = op->scheduling;
    int me = is_leader(op) || !op->shared ? 0 : op->env.team->my_member;
    int rc = make_rows(op);

    if (rc == 0)
        rc = make_orders(op);
    if (rc == 0)
        rc = make_room(op);
    lose(op, GROUP, rc);
    if (rc == 0) {
        memset(row_of(op, me), 0, (size_t)row_bytes(op));
        cio_describe_positions(&op->req, &op->rounds, row_of(op, me));
    }
    if (is_leader(op))
        return 1;
    if (op->shared) {
        struct cio_ctl ctl = {.kind = CIO_CTL_READY, .error = rc};

        cio_board_answer(op, &ctl);
    } else {
        send(op, GROUP, op->env.team->group[0], CIO_TAG_PATTERN, &s->rows, row_bytes(op));
    }
    return 1;
}

/* A member's row, by message. */
static void take_row(struct cio_op *op, int turn)
{
    struct cio_scheduling *s = op->scheduling;

    if (s->in.error == 0 && s->in.size != row_bytes(op))
        s->in.error = -EBADMSG;
    judge(op, GROUP, s->in.error);
    if (has_part(op, GROUP))
        memcpy(row_of(op, turn + 1), s->in.data, (size_t)s->in.size);
}

static int gather(struct cio_op *op)
{
    int k = op->env.team->group_size;

    if (!is_leader(op))
        return 1;
    if (!op->shared)
        return receive(op, op->env.team->group + 1, k - 1, CIO_TAG_PATTERN, take_row);
    if (enter(op))
        cio_board_expect(op);
    if (!cio_board_answered(op))
        return 0;
    for (int i = 1; i < k; i++)
        lose(op, GROUP, shared_board(op)->desc[i].up.error);
    return 1;
}

/* Code of a member's part of one aggregator; nothing if it has none there. */
static int64_t encode_row(const struct cio_op *op, int aggr, int member, char *to)
{
    const struct cio_rounds *r = &op->rounds;
    const uint64_t *bits = row_of(op, member) + aggr * r->slice / 64;
    struct row row = {.rank = op->env.team->group[member]};

    if (cio_bits_next(bits, r->positions, 0) < 0)
        return 0;
    row.bytes = (int32_t)cio_bits_encode(bits, r->positions, to + sizeof(row));
    memcpy(to, &row, sizeof(row));
    return (int64_t)sizeof(row) + row.bytes;
}

/* Every aggregator gets a message, also if it is empty. */
static int tell_patterns(struct cio_op *op)
{
    struct cio_scheduling *s = op->scheduling;
    const struct cio_rounds *r = &op->rounds;
    int64_t each = (int64_t)(sizeof(struct row) + cio_bits_bound(r->positions));
    int k = op->env.team->group_size;
    int64_t at = 0;

    if (!is_leader(op))
        return 1;
    if (has_part(op, GROUP) && get(op, &s->patterns, each * k * r->naggr) == NULL)
        lose(op, GROUP, -ENOMEM);
    for (int a = 0; a < r->naggr; a++) {
        struct block part = {NULL, 0};

        if (has_part(op, GROUP))
            part.p = s->patterns.p + at;
        for (int i = 0; has_part(op, GROUP) && i < k; i++)
            part.size += encode_row(op, a, i, part.p + part.size);
        at += part.size;
        send(op, GROUP, op->env.team->aggr[a], CIO_TAG_PATTERN, &part, part.size);
    }
    return 1;
}

/* ---- an aggregator ---- */

static int take_rows(struct cio_pattern *p, const char *data, int64_t size)
{
    struct row row;
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

static void take_pattern(struct cio_op *op, int turn)
{
    struct cio_scheduling *s = op->scheduling;
    int rc = s->in.error;

    (void)turn;
    if (rc == 0 && has_part(op, AGGREGATOR))
        rc = take_rows(s->pattern, s->in.data, s->in.size);
    judge(op, AGGREGATOR, rc);
}

/* With room for its answer: nothing fails after the plan is made. */
static void make_pattern(struct cio_op *op)
{
    struct cio_scheduling *s = op->scheduling;
    size_t n = (size_t)op->rounds.positions;

    lose(op, AGGREGATOR, cio_pattern_create(op->env.comm->size, op->rounds.positions, &s->pattern));
    s->mine = malloc(n * sizeof(*s->mine));
    if (s->mine == NULL || get(op, &s->answer, answer_bytes(op)) == NULL)
        lose(op, AGGREGATOR, -ENOMEM);
}

static int collect(struct cio_op *op)
{
    if (op->aggr == NULL)
        return 1;
    if (enter(op))
        make_pattern(op);
    return receive(op, op->env.team->leader, op->env.team->nleaders, CIO_TAG_PATTERN, take_pattern);
}

/* Whatever a rank touches here. */
static int64_t encode_counts(struct cio_op *op)
{
    struct cio_scheduling *s = op->scheduling;
    int n = op->env.comm->size;
    uint32_t *counts = calloc((size_t)n, sizeof(*counts));
    int64_t used = -ENOMEM;

    if (counts != NULL && get(op, &s->report, (int64_t)cio_maxima_bound(n)) != NULL) {
        cio_order_busiest(s->pattern, counts);
        used = (int64_t)cio_maxima_encode(counts, n, s->report.p);
    }
    free(counts);
    return used;
}

static int64_t encode_pattern(struct cio_op *op)
{
    struct cio_scheduling *s = op->scheduling;

    if (get(op, &s->report, (int64_t)cio_pattern_bound(s->pattern)) == NULL)
        return -ENOMEM;
    return cio_pattern_encode(s->pattern, s->report.p);
}

/* How many ranks touch one position, at most. */
static void count_degrees(struct cio_op *op)
{
    struct cio_scheduling *s = op->scheduling;
    const struct cio_pattern *p = s->pattern;
    uint32_t *degree = calloc(2 * (size_t)p->npos, sizeof(*degree));

    for (int i = 0; degree != NULL && i < p->rows; i++) {
        const uint32_t *pos = cio_pattern_positions(p, &p->row[i], degree + p->npos);

        for (uint32_t j = 0; j < p->row[i].count; j++)
            degree[pos[j]]++;
    }
    for (uint32_t i = 0; degree != NULL && i < p->npos; i++)
        cio_count_most(&op->stats, CIO_COUNT_DEGREE, degree[i]);
    free(degree);
}

static int report(struct cio_op *op)
{
    struct cio_scheduling *s = op->scheduling;
    int64_t used = 0;

    if (op->aggr == NULL)
        return 1;
    if (has_part(op, AGGREGATOR)) {
        cio_count_add(&op->stats, CIO_COUNT_TOUCHES, s->pattern->touches);
        if (op->set.explain)
            count_degrees(op);
    }
    if (!is_planned(op))
        return 1;
    if (has_part(op, AGGREGATOR))
        used = is_counted(op) ? encode_counts(op) : encode_pattern(op);
    if (used < 0)
        lose(op, AGGREGATOR, (int)used);
    send(op, AGGREGATOR, op->env.team->aggr[0], CIO_TAG_REPORT, &s->report, used);
    return 1;
}

/* ---- the planner ---- */

static void make_planner(struct cio_op *op)
{
    struct cio_scheduling *s = op->scheduling;
    int n = op->env.comm->size;

    s->busiest = calloc((size_t)n, sizeof(*s->busiest));
    s->all = calloc((size_t)op->env.team->naggr, sizeof(struct cio_pattern *));
    if (s->busiest == NULL || s->all == NULL ||
        get(op, &s->plan, (int64_t)cio_schedule_bound(n)) == NULL)
        lose(op, PLANNER, -ENOMEM);
}

static void take_report(struct cio_op *op, int turn)
{
    struct cio_scheduling *s = op->scheduling;
    const void *data = s->in.data;
    size_t size = (size_t)s->in.size;
    int rc = s->in.error;

    if (rc == 0 && has_part(op, PLANNER))
        rc = is_counted(op) ? cio_maxima_decode_combine(data, size, op->env.comm->size, s->busiest)
                            : cio_pattern_decode(data, size, op->env.comm->size,
                                                 op->rounds.positions, &s->all[turn]);
    if (rc == 0 && has_part(op, PLANNER) && !is_counted(op) &&
        s->all[turn]->npos != op->rounds.positions)
        rc = -EBADMSG;
    judge(op, PLANNER, rc);
}

static int choose(struct cio_op *op, struct cio_schedule_plan *plan)
{
    struct cio_scheduling *s = op->scheduling;

    if (!is_counted(op))
        return cio_schedule_choose(s->all, op->env.team->naggr, op->set.schedule, s->stripe, plan);
    *plan = (struct cio_schedule_plan){.kind = CIO_SCHEDULE_GW_MDF, .busiest = s->busiest};
    s->busiest = NULL;
    return 0;
}

static int64_t make_plan(struct cio_op *op)
{
    struct cio_scheduling *s = op->scheduling;
    struct cio_schedule_plan plan;
    int rc = choose(op, &plan);
    int64_t used;

    if (rc != 0)
        return rc;
    used = (int64_t)cio_schedule_encode(&plan, op->env.comm->size, s->plan.p);
    cio_schedule_release(&plan);
    return used;
}

static int plan(struct cio_op *op)
{
    struct cio_scheduling *s = op->scheduling;
    const struct cio_team *team = op->env.team;
    int64_t used = 0;

    if (!is_planner(op) || !is_planned(op))
        return 1;
    if (enter(op))
        make_planner(op);
    if (!receive(op, team->aggr, team->naggr, CIO_TAG_REPORT, take_report))
        return 0;
    if (has_part(op, PLANNER))
        used = make_plan(op);
    if (used < 0)
        judge(op, PLANNER, (int)used);
    for (int a = 0; a < team->naggr; a++)
        send(op, PLANNER, team->aggr[a], CIO_TAG_PLAN, &s->plan, used);
    return 1;
}

/* ---- the orders ---- */

static enum cio_why why_of(const struct cio_op *op, enum cio_schedule kind)
{
    if (op->set.schedule != CIO_SCHEDULE_AUTOMATIC)
        return CIO_WHY_ASKED;
    return kind == CIO_SCHEDULE_OFFSET ? CIO_WHY_NO_GAIN : CIO_WHY_BEST;
}

/* The order of this aggregator under a plan, behind what was decided. */
static int64_t encode_answer(struct cio_op *op, const struct cio_schedule_plan *plan)
{
    struct cio_scheduling *s = op->scheduling;
    struct cio_decision d = {.kind = plan->kind,
                             .why = why_of(op, plan->kind),
                             .permuted = plan->kind != CIO_SCHEDULE_OFFSET,
                             .known = is_planned(op) && !is_counted(op),
                             .offset = plan->offset.mean,
                             .chosen = plan->chosen.mean};
    int rc = cio_schedule_order(plan, s->pattern, s->mine);

    if (rc != 0)
        return rc;
    memcpy(s->answer.p, &d, sizeof(d));
    return (int64_t)(sizeof(d) + cio_permutation_encode(s->mine, (uint32_t)op->rounds.positions,
                                                        s->answer.p + sizeof(d)));
}

static int64_t answer(struct cio_op *op)
{
    struct cio_scheduling *s = op->scheduling;
    struct cio_schedule_plan plan = {.kind = op->set.schedule};
    int64_t used;
    int rc = 0;

    if (is_planned(op))
        rc = cio_schedule_decode(s->in.data, (size_t)s->in.size, op->env.comm->size, &plan);
    if (rc != 0)
        return rc;
    used = encode_answer(op, &plan);
    cio_schedule_release(&plan);
    return used;
}

static void take_plan(struct cio_op *op, int turn)
{
    (void)turn;
    judge(op, AGGREGATOR, op->scheduling->in.error);
}

static int hear_plan(struct cio_op *op)
{
    struct cio_scheduling *s = op->scheduling;
    const struct cio_team *team = op->env.team;
    int64_t used = 0;

    if (op->aggr == NULL)
        return 1;
    if (is_planned(op) && !receive(op, team->aggr, 1, CIO_TAG_PLAN, take_plan))
        return 0;
    if (has_part(op, AGGREGATOR))
        used = answer(op);
    if (used < 0)
        judge(op, AGGREGATOR, (int)used);
    send(op, AGGREGATOR, team->aggr[0], CIO_TAG_ANSWER, &s->answer, used);
    return 1;
}

static void make_joint(struct cio_op *op)
{
    if (get(op, &op->scheduling->joint, joint_bytes(op)) == NULL)
        lose(op, PLANNER, -ENOMEM);
}

/* One that cannot be an answer is passed on as an error, too: it is one for everybody then. */
static void join_answer(struct cio_op *op, int aggr)
{
    struct cio_scheduling *s = op->scheduling;
    int32_t size = s->in.error != 0 ? s->in.error : (int32_t)s->in.size;

    (void)aggr;
    if (!has_part(op, PLANNER))
        return;
    if (size > answer_bytes(op))
        size = -EBADMSG;
    memcpy(s->joint.p + s->joined, &size, sizeof(size));
    s->joined += (int64_t)sizeof(size);
    if (size <= 0)
        return;
    memcpy(s->joint.p + s->joined, s->in.data, (size_t)size);
    s->joined += size;
}

static int join(struct cio_op *op)
{
    struct cio_scheduling *s = op->scheduling;
    const struct cio_team *team = op->env.team;

    if (!is_planner(op))
        return 1;
    if (enter(op))
        make_joint(op);
    if (!receive(op, team->aggr, team->naggr, CIO_TAG_ANSWER, join_answer))
        return 0;
    send(op, PLANNER, team->leader[0], CIO_TAG_ORDER, &s->joint, s->joined);
    return 1;
}

static void keep_offset(const struct cio_op *op, int aggr)
{
    const struct cio_scheduling *s = op->scheduling;
    int64_t n = op->rounds.positions;

    for (int64_t i = 0; i < n; i++)
        s->order[aggr * n + i] = s->index[aggr * n + i] = (uint32_t)i;
}

/* Decodes one aggregator's order. -EBADMSG. */
static int decode_order(const struct cio_op *op, int aggr, const char *code, int64_t size)
{
    const struct cio_scheduling *s = op->scheduling;
    int64_t n = op->rounds.positions;

    return cio_permutation_decode(code, (size_t)size, (uint32_t)n, s->order + aggr * n,
                                  s->index + aggr * n);
}

static int is_sound(const struct cio_decision *d)
{
    return d->kind >= 0 && d->kind <= CIO_SCHEDULE_FIRST_FINISH && d->why >= 0 && d->why < CIO_WHYS;
}

/* What was decided is what aggregator 0 says, though one without memory may do otherwise. */
static int take_answer(struct cio_op *op, int aggr, const char *data, int64_t size)
{
    struct cio_scheduling *s = op->scheduling;
    struct cio_decision d;

    if (size < (int64_t)sizeof(d))
        return -EBADMSG;
    memcpy(&d, data, sizeof(d));
    if (!is_sound(&d) || !has_part(op, GROUP))
        return -EBADMSG;
    d.permuted |= s->decision.permuted;
    if (aggr == 0)
        s->decision = d;
    s->decision.permuted = d.permuted;
    return decode_order(op, aggr, data + sizeof(d), size - (int64_t)sizeof(d));
}

/* One after the other, up to the first that makes no sense. An aggregator without one stays with
 * the order by offset. */
static int take_answers(struct cio_op *op)
{
    const char *at = op->scheduling->in.data, *end = at + op->scheduling->in.size;
    int32_t size;
    int rc = 0;

    for (int a = 0; rc == 0 && a < op->rounds.naggr; a++) {
        if (end - at < (int64_t)sizeof(size))
            return -EBADMSG;
        memcpy(&size, at, sizeof(size));
        at += sizeof(size);
        if (size > end - at)
            return -EBADMSG;
        if (size >= 0)
            rc = take_answer(op, a, at, size);
        else if (size != -ENOMEM && size != -ENOSPC)
            return size;
        else if (has_part(op, GROUP))
            keep_offset(op, a);
        at += size > 0 ? size : 0;
    }
    return rc == 0 && at != end ? -EBADMSG : rc;
}

/* From now on units are in the new order. */
static void follow_orders(struct cio_op *op)
{
    struct cio_scheduling *s = op->scheduling;

    note_decision(op, &s->decision);
    if (!s->decision.permuted || op->error != 0)
        return;
    op->rounds.order = s->order;
    op->rounds.index = s->index;
}

/* What has come, to the leaders below this one, and to members that share no memory. */
static void pass_on(struct cio_op *op, int dest)
{
    struct cio_scheduling *s = op->scheduling;

    cio_outbox_start(op, &s->out[s->nout++], dest, CIO_TAG_ORDER, s->in.data, s->in.size,
                     s->in.error);
}

static void pass_on_all(struct cio_op *op)
{
    const struct cio_team *team = op->env.team;

    for (int i = 0; i < CIO_TEAM_CHILDREN && cio_team_child(team, i) >= 0; i++)
        pass_on(op, cio_team_child(team, i));
    for (int i = 1; by_message(op) && i < team->group_size; i++)
        pass_on(op, team->group[i]);
}

static void tell_orders(struct cio_op *op)
{
    struct cio_scheduling *s = op->scheduling;
    struct cio_ctl ctl = {.kind = CIO_CTL_ORDER};

    if (!op->shared)
        return;
    shared_board(op)->decision = s->decision;
    shared_board(op)->decision.permuted = op->rounds.order != NULL;
    cio_board_tell(op, &ctl);
}

/* Without memory somewhere there is no order. */
static void take_orders(struct cio_op *op, int turn)
{
    struct cio_scheduling *s = op->scheduling;
    int rc = s->in.error;

    (void)turn;
    s->decision.why = CIO_WHY_MEMORY; /* unless there is an answer */
    if (rc == 0)
        rc = take_answers(op);
    if (rc != 0)
        s->decision.permuted = 0;
    if (rc != 0 && rc != -ENOMEM && rc != -ENOSPC)
        cio_op_fail(op, rc);
    follow_orders(op);
}

static void spread_orders(struct cio_op *op, int turn)
{
    pass_on_all(op);
    take_orders(op, turn);
}

static int hear_orders(struct cio_op *op)
{
    const struct cio_team *team = op->env.team;
    int from = team->my_leader == 0 ? team->aggr[0] : cio_team_parent(team);

    if (!is_leader(op))
        return 1;
    if (!receive(op, &from, 1, CIO_TAG_ORDER, spread_orders))
        return 0;
    tell_orders(op);
    return 1;
}

static int drain(struct cio_op *op)
{
    return all_sent(op->scheduling);
}

/* ---- a member ---- */

static int follow(struct cio_op *op)
{
    struct cio_ctl ctl;

    if (is_leader(op))
        return 1;
    if (!op->shared)
        return receive(op, op->env.team->group, 1, CIO_TAG_ORDER, take_orders);
    if (!cio_board_hear(op, &ctl))
        return 0;
    op->scheduling->decision = shared_board(op)->decision;
    follow_orders(op);
    return 1;
}

/* ---- stages ---- */

static int (*const stages[STAGES])(struct cio_op *op) = {
    [STAGE_MARK] = mark,       [STAGE_GATHER] = gather, [STAGE_PATTERN] = tell_patterns,
    [STAGE_COLLECT] = collect, [STAGE_REPORT] = report, [STAGE_PLAN] = plan,
    [STAGE_HEAR] = hear_plan,  [STAGE_JOIN] = join,     [STAGE_ORDERS] = hear_orders,
    [STAGE_DRAIN] = drain,     [STAGE_FOLLOW] = follow,
};

int cio_schedule_progress(struct cio_op *op)
{
    struct cio_scheduling *s = op->scheduling;

    while (s->stage < STAGES) {
        pump(op);
        if (!stages[s->stage](op))
            return 0;
        s->stage++;
        s->turn = s->begun = s->entered = 0;
    }
    op->stats.time[CIO_TIME_SCHEDULE] = cio_now() - s->since;
    return 1;
}

/* A stream of which more is to be sent must not wait for anything else. */
static int must_pump(const struct cio_scheduling *s)
{
    for (int i = 0; i < s->nout; i++)
        if (s->out[i].left > 0)
            return 1;
    return 0;
}

void cio_schedule_needs(struct cio_op *op, struct cio_needs *needs)
{
    struct cio_scheduling *s = op->scheduling;

    if (must_pump(s))
        return;
    if (op->shared && s->stage == STAGE_GATHER) {
        needs->word = &shared_board(op)->arrived;
        needs->seen = __atomic_load_n(needs->word, __ATOMIC_ACQUIRE);
        if (needs->seen == op->env.segment->arrived)
            needs->word = NULL;
    } else if (op->shared && s->stage == STAGE_FOLLOW) {
        needs->word = &shared_board(op)->told;
        needs->seen = op->env.segment->told;
    } else if (s->stage == STAGE_DRAIN) {
        for (int i = 0; i < s->nout; i++)
            cio_needs_add(needs, &s->out[i].req, 1);
    } else {
        cio_needs_add(needs, &s->in.req, 1);
    }
}
