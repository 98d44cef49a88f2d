/*
 * The order in which aggregators serve their positions, where it is not by offset: agreed on before
 * anything is described, so that all that follows works in that order.
 *
 * Every rank goes through the same stages, and does in each what falls to it. What one stage waits
 * for was sent in an earlier one, so nobody waits in a circle:
 *
 *   MARK     every rank        the positions that it touches, to its leader
 *   GATHER   leader            those of its members
 *   BUNDLE   leader            to the first leader of its node: who of the group touches what
 *   PATTERN  first leader      to the planner (aggregator 0): who of the node touches what
 *   COLLECT  planner           these, of all nodes
 *   PLAN     planner           chooses, and makes the orders of all aggregators
 *   JOIN     planner           all orders, to the first leader
 *   ORDERS   leader            these, to the leaders below it in their tree, and to its members
 *   DRAIN    every rank        until what it sent has left
 *   FOLLOW   member            the orders
 *
 * MDF, LW-MDF and GW-MDF need no planner to choose and to make them, unless statistics are to say
 * what they bring. Then each aggregator makes its own, and between BUNDLE and JOIN it is:
 *
 *   PATTERN  first leader      to each aggregator: who of the node touches what of it
 *   COLLECT  aggregator        these, of all nodes
 *   REPORT   aggregator        to the planner: how much each rank touches here \
 *   PLAN     planner           to each aggregator: the most, over aggregators  / only for GW-MDF
 *   HEAR     aggregator        that; its order, to the planner
 *
 * An order is worth something, but nothing depends on it. Who lacks memory for its part says so
 * instead of doing it, and then all stay with the order by offset; only a message that makes no
 * sense is an error. So that it is known in time, memory for the orders is had before patterns are
 * sent.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "exec/scheduling.h"

enum stage {
    STAGE_MARK,
    STAGE_GATHER,
    STAGE_BUNDLE,
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

/* Bytes of the patterns of all aggregators, at the planner. */
#define MOST_PATTERN_BYTES ((int64_t)256 << 20)

int64_t cio_schedule_touches(const struct cio_op *op, int64_t span)
{
    int64_t unit = op->set.unit;
    int64_t likely = op->stats.count[CIO_COUNT_PIECES] + op->req.bytes / unit + 1;

    return cio_min64(likely, span / unit + 2);
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
        .aggrs = team->naggr,
        .positions = cio_min64(op->rounds.units, p->touches),
        .most = op->rounds.positions,
        .rows = cio_min64(p->touches, (int64_t)op->env.comm->size * team->naggr),
        .touches = p->touches};
    int nodes = team->nodes->nnodes;
    int messages = nodes + team->nleaders / nodes;
    double cost = cio_schedule_cost(CIO_SCHEDULE_OFFSET, &size) +
                  cio_schedule_cost(CIO_SCHEDULE_MDF, &size) + MESSAGE_COST * messages;

    return cio_schedule_is_worth((double)size.most, stripe_seconds(op, p->stripe_ns), cost);
}

/* In a write, members return when their bytes are with their leader: whether that is at once. */
static int members_return_soon(const struct cio_op *op, const struct cio_prospect *p)
{
    return op->req.write && p->charge <= cio_op_least_budget(op);
}

/* What ranks touch is kept as lists or bitmaps, whichever is smaller. */
static int fits_planner(const struct cio_op *op, const struct cio_prospect *p)
{
    double bitmaps = (double)op->env.comm->size * (double)op->rounds.units / 8;
    double lists = (double)p->touches * sizeof(uint32_t);

    return (bitmaps < lists ? bitmaps : lists) <= MOST_PATTERN_BYTES;
}

void cio_sched_note(struct cio_op *op, const struct cio_decision *d)
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

    cio_sched_note(op, &d);
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
    if (!fits_planner(op, p))
        return refuse(op, CIO_WHY_MEMORY);
    s->soon = members_return_soon(op, p);
    if (op->set.schedule == CIO_SCHEDULE_AUTOMATIC) {
        if (!op->set.early || !cio_team_waits(op->env.team, 0))
            return refuse(op, CIO_WHY_LATE);
        if (!cio_team_waits(op->env.team, s->soon))
            return refuse(op, CIO_WHY_SOON);
        if (!may_pay(op, p))
            return refuse(op, CIO_WHY_COST);
    }
    s->stripe = stripe_seconds(op, p->stripe_ns);
    s->since = cio_now();
    return 1;
}

/* ---- memory ---- */

void *cio_sched_get(struct cio_op *op, struct cio_block *b, int64_t size)
{
    *b = (struct cio_block){cio_op_alloc(op, size), size};
    return b->p;
}

void cio_sched_drop(struct cio_op *op, struct cio_block *b)
{
    cio_op_free(op, b->p, b->size);
    b->p = NULL;
}

void cio_sched_judge(struct cio_op *op, enum cio_sched_role role, int error)
{
    if (error != 0 && error != -ENOMEM && error != -ENOSPC)
        cio_op_fail(op, error);
    cio_sched_lose(op, role, error);
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

/* What is not needed any more once there are orders. */
static void drop_work(struct cio_op *op)
{
    struct cio_scheduling *s = op->scheduling;

    cio_sched_drop(op, &s->joint);
    cio_sched_drop(op, &s->plan);
    free(s->busiest);
    s->busiest = NULL;
    cio_sched_drop_patterns(op, s->all);
    s->all = NULL;
    free(s->mine);
    s->mine = NULL;
    cio_sched_drop(op, &s->answer);
    cio_sched_drop(op, &s->counts);
    cio_pattern_destroy(s->pattern);
    s->pattern = NULL;
    cio_sched_drop(op, &s->parts);
    cio_sched_drop_patterns(op, s->node);
    s->node = NULL;
    cio_sched_drop(op, &s->rows);
    cio_inbox_destroy(op, &s->in);
}

void cio_schedule_finish(struct cio_op *op)
{
    struct cio_scheduling *s = op->scheduling;

    if (s == NULL)
        return;
    drop_work(op);
    cio_sched_drop(op, &s->orders);
    free(s->out);
    free(s);
    op->scheduling = NULL;
}

/* ---- patterns ---- */

struct cio_pattern **cio_sched_make_patterns(const struct cio_op *op)
{
    int n = op->rounds.naggr, rc = 0;
    struct cio_pattern **p = calloc((size_t)n, sizeof(struct cio_pattern *));

    for (int a = 0; p != NULL && rc == 0 && a < n; a++)
        rc = cio_pattern_create(op->env.comm->size, op->rounds.positions, &p[a]);
    if (rc == 0)
        return p;
    cio_sched_drop_patterns(op, p);
    return NULL;
}

void cio_sched_drop_patterns(const struct cio_op *op, struct cio_pattern **patterns)
{
    for (int a = 0; patterns != NULL && a < op->rounds.naggr; a++)
        cio_pattern_destroy(patterns[a]);
    free(patterns);
}

static int are_parts_sound(const struct cio_op *op, const struct cio_inbox *in)
{
    const int64_t *size = (const int64_t *)in->data;
    int64_t left = in->size - cio_sched_parts_head(op);

    for (int a = 0; left >= 0 && a < op->rounds.naggr; a++)
        left = size[a] < 0 ? -1 : left - size[a];
    return left == 0;
}

int cio_sched_take_parts(const struct cio_op *op, struct cio_pattern **patterns,
                         int (*take)(struct cio_pattern *p, const char *data, int64_t size))
{
    const struct cio_inbox *in = &op->scheduling->in;
    const int64_t *size = (const int64_t *)in->data;
    const char *at;
    int rc = in->error;

    if (rc != 0)
        return rc;
    if (!are_parts_sound(op, in))
        return -EBADMSG;
    at = in->data + cio_sched_parts_head(op);
    for (int a = 0; rc == 0 && a < op->rounds.naggr; a++) {
        rc = take(patterns[a], at, size[a]);
        at += size[a];
    }
    return rc;
}

/* How many ranks touch one position, at most. */
static void count_degrees(struct cio_op *op, const struct cio_pattern *p)
{
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

void cio_sched_count_pattern(struct cio_op *op, const struct cio_pattern *p)
{
    cio_count_add(&op->stats, CIO_COUNT_TOUCHES, p->touches);
    if (op->set.explain)
        count_degrees(op, p);
}

/* ---- streams ---- */

void cio_sched_send(struct cio_op *op, enum cio_sched_role as, int dest, enum cio_tag tag,
                    const struct cio_block *data, int64_t size)
{
    struct cio_scheduling *s = op->scheduling;

    cio_outbox_start(op, &s->out[s->nout++], dest, tag, data->p, size, s->lost[as]);
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

int cio_sched_receive(struct cio_op *op, const int *ranks, int n, enum cio_tag tag,
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

/* ---- stages ---- */

static int drain(struct cio_op *op)
{
    return all_sent(op->scheduling);
}

static int (*const stages[STAGES])(struct cio_op *op) = {
    [STAGE_MARK] = cio_sched_mark,
    [STAGE_GATHER] = cio_sched_gather,
    [STAGE_BUNDLE] = cio_sched_bundle,
    [STAGE_PATTERN] = cio_sched_tell_patterns,
    [STAGE_COLLECT] = cio_sched_collect,
    [STAGE_REPORT] = cio_sched_report,
    [STAGE_PLAN] = cio_sched_plan,
    [STAGE_HEAR] = cio_sched_hear_plan,
    [STAGE_JOIN] = cio_sched_join,
    [STAGE_ORDERS] = cio_sched_hear_orders,
    [STAGE_DRAIN] = drain,
    [STAGE_FOLLOW] = cio_sched_follow,
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
    drop_work(op);
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
        needs->word = &cio_sched_board(op)->arrived;
        needs->seen = __atomic_load_n(needs->word, __ATOMIC_ACQUIRE);
        if (needs->seen == op->env.segment->arrived)
            needs->word = NULL;
    } else if (op->shared && s->stage == STAGE_FOLLOW) {
        needs->word = &cio_sched_board(op)->told;
        needs->seen = op->env.segment->told;
    } else if (s->stage == STAGE_DRAIN) {
        for (int i = 0; i < s->nout; i++)
            cio_needs_add(needs, &s->out[i].req, 1);
    } else {
        cio_needs_add(needs, &s->in.req, 1);
    }
}
