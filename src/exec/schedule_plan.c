/*
 * Scheduling at the aggregators, which gather who touches their positions, and at the planner, one
 * of them, which decides for all.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "exec/scheduling.h"
#include "plan/maxima.h"
#include "plan/order.h"
#include "plan/permutation.h"
#include "plan/schedule.h"

/* ---- an aggregator ---- */

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

static void take_pattern(struct cio_op *op, int turn)
{
    struct cio_scheduling *s = op->scheduling;
    int rc = s->in.error;

    (void)turn;
    if (rc == 0 && cio_sched_has_part(op, CIO_SCHED_AGGREGATOR))
        rc = take_rows(s->pattern, s->in.data, s->in.size);
    cio_sched_judge(op, CIO_SCHED_AGGREGATOR, rc);
}

/* With room for its answer: nothing fails after the plan is made. */
static void make_pattern(struct cio_op *op)
{
    struct cio_scheduling *s = op->scheduling;
    size_t n = (size_t)op->rounds.positions;

    cio_sched_lose(op, CIO_SCHED_AGGREGATOR,
                   cio_pattern_create(op->env.comm->size, op->rounds.positions, &s->pattern));
    s->mine = malloc(n * sizeof(*s->mine));
    if (s->mine == NULL || cio_sched_get(op, &s->answer, cio_sched_answer_bytes(op)) == NULL)
        cio_sched_lose(op, CIO_SCHED_AGGREGATOR, -ENOMEM);
}

int cio_sched_collect(struct cio_op *op)
{
    if (op->aggr == NULL)
        return 1;
    if (cio_sched_enter(op))
        make_pattern(op);
    return cio_sched_receive(op, op->env.team->head, op->env.team->nodes->nnodes, CIO_TAG_PATTERN,
                             take_pattern);
}

/* Whatever a rank touches here. */
static int64_t encode_counts(struct cio_op *op)
{
    struct cio_scheduling *s = op->scheduling;
    int n = op->env.comm->size;
    uint32_t *counts = calloc((size_t)n, sizeof(*counts));
    int64_t used = -ENOMEM;

    if (counts != NULL && cio_sched_get(op, &s->report, (int64_t)cio_maxima_bound(n)) != NULL) {
        cio_order_busiest(s->pattern, counts);
        used = (int64_t)cio_maxima_encode(counts, n, s->report.p);
    }
    free(counts);
    return used;
}

static int64_t encode_pattern(struct cio_op *op)
{
    struct cio_scheduling *s = op->scheduling;

    if (cio_sched_get(op, &s->report, (int64_t)cio_pattern_bound(s->pattern)) == NULL)
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

int cio_sched_report(struct cio_op *op)
{
    struct cio_scheduling *s = op->scheduling;
    int64_t used = 0;

    if (op->aggr == NULL)
        return 1;
    if (cio_sched_has_part(op, CIO_SCHED_AGGREGATOR)) {
        cio_count_add(&op->stats, CIO_COUNT_TOUCHES, s->pattern->touches);
        if (op->set.explain)
            count_degrees(op);
    }
    if (!cio_sched_is_planned(op))
        return 1;
    if (cio_sched_has_part(op, CIO_SCHED_AGGREGATOR))
        used = cio_sched_is_counted(op) ? encode_counts(op) : encode_pattern(op);
    if (used < 0)
        cio_sched_lose(op, CIO_SCHED_AGGREGATOR, (int)used);
    cio_sched_send(op, CIO_SCHED_AGGREGATOR, op->env.team->aggr[0], CIO_TAG_REPORT, &s->report,
                   used);
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
        cio_sched_get(op, &s->plan, (int64_t)cio_schedule_bound(n)) == NULL)
        cio_sched_lose(op, CIO_SCHED_PLANNER, -ENOMEM);
}

static void take_report(struct cio_op *op, int turn)
{
    struct cio_scheduling *s = op->scheduling;
    const void *data = s->in.data;
    size_t size = (size_t)s->in.size;
    int rc = s->in.error;

    if (rc == 0 && cio_sched_has_part(op, CIO_SCHED_PLANNER))
        rc = cio_sched_is_counted(op)
                 ? cio_maxima_decode_combine(data, size, op->env.comm->size, s->busiest)
                 : cio_pattern_decode(data, size, op->env.comm->size, op->rounds.positions,
                                      &s->all[turn]);
    if (rc == 0 && cio_sched_has_part(op, CIO_SCHED_PLANNER) && !cio_sched_is_counted(op) &&
        s->all[turn]->npos != op->rounds.positions)
        rc = -EBADMSG;
    cio_sched_judge(op, CIO_SCHED_PLANNER, rc);
}

static int choose_order(struct cio_op *op, struct cio_schedule_plan *plan)
{
    struct cio_scheduling *s = op->scheduling;
    uint8_t *stays = malloc((size_t)op->env.comm->size);
    struct cio_schedule_case known = {
        .hint = op->set.schedule, .stripe = s->stripe, .stays = stays};
    int rc = -ENOMEM;

    if (stays != NULL) {
        cio_team_find_stays(op->env.team, stays);
        rc = cio_schedule_choose(s->all, op->env.team->naggr, &known, plan);
    }
    free(stays);
    return rc;
}

static int choose(struct cio_op *op, struct cio_schedule_plan *plan)
{
    struct cio_scheduling *s = op->scheduling;

    if (!cio_sched_is_counted(op))
        return choose_order(op, plan);
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

int cio_sched_plan(struct cio_op *op)
{
    struct cio_scheduling *s = op->scheduling;
    const struct cio_team *team = op->env.team;
    int64_t used = 0;

    if (!cio_sched_plans(op) || !cio_sched_is_planned(op))
        return 1;
    if (cio_sched_enter(op))
        make_planner(op);
    if (!cio_sched_receive(op, team->aggr, team->naggr, CIO_TAG_REPORT, take_report))
        return 0;
    if (cio_sched_has_part(op, CIO_SCHED_PLANNER))
        used = make_plan(op);
    if (used < 0)
        cio_sched_judge(op, CIO_SCHED_PLANNER, (int)used);
    for (int a = 0; a < team->naggr; a++)
        cio_sched_send(op, CIO_SCHED_PLANNER, team->aggr[a], CIO_TAG_PLAN, &s->plan, used);
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
                             .known = cio_sched_is_planned(op) && !cio_sched_is_counted(op),
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

    if (cio_sched_is_planned(op))
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
    cio_sched_judge(op, CIO_SCHED_AGGREGATOR, op->scheduling->in.error);
}

int cio_sched_hear_plan(struct cio_op *op)
{
    struct cio_scheduling *s = op->scheduling;
    const struct cio_team *team = op->env.team;
    int64_t used = 0;

    if (op->aggr == NULL)
        return 1;
    if (cio_sched_is_planned(op) && !cio_sched_receive(op, team->aggr, 1, CIO_TAG_PLAN, take_plan))
        return 0;
    if (cio_sched_has_part(op, CIO_SCHED_AGGREGATOR))
        used = answer(op);
    if (used < 0)
        cio_sched_judge(op, CIO_SCHED_AGGREGATOR, (int)used);
    cio_sched_send(op, CIO_SCHED_AGGREGATOR, team->aggr[0], CIO_TAG_ANSWER, &s->answer, used);
    return 1;
}
