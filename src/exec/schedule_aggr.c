/*
 * Scheduling where aggregators make their orders by themselves: each gathers who touches its
 * positions. For GW-MDF they learn besides what ranks touch at their busiest aggregator, in one
 * exchange among aggregators, of which the first, the planner, takes the maxima.
 */
#include <errno.h>
#include <stdlib.h>

#include "exec/scheduling.h"
#include "plan/maxima.h"
#include "plan/order.h"

static void take_pattern(struct cio_op *op, int turn)
{
    struct cio_scheduling *s = op->scheduling;
    int rc = s->in.error;

    (void)turn;
    if (rc == 0 && cio_sched_has_part(op, CIO_SCHED_AGGREGATOR))
        rc = cio_pattern_decode(s->in.data, (size_t)s->in.size, s->pattern);
    cio_sched_judge(op, CIO_SCHED_AGGREGATOR, rc);
}

/* With room for its answer: nothing fails after the maxima are known. */
static int make_pattern(struct cio_op *op)
{
    struct cio_scheduling *s = op->scheduling;
    int64_t n = op->rounds.positions;

    s->mine = malloc((size_t)n * sizeof(*s->mine));
    if (s->mine == NULL || cio_pattern_create(op->env.comm->size, n, &s->pattern) != 0)
        return -ENOMEM;
    return cio_sched_make_answer(op);
}

int cio_sched_collect(struct cio_op *op)
{
    const struct cio_team *team = op->env.team;

    if (cio_sched_is_central(op))
        return cio_sched_collect_all(op);
    if (op->aggr == NULL)
        return 1;
    if (cio_sched_enter(op))
        cio_sched_lose(op, CIO_SCHED_AGGREGATOR, make_pattern(op));
    if (!cio_sched_receive(op, team->head, team->nodes->nnodes, CIO_TAG_PATTERN, take_pattern))
        return 0;
    if (cio_sched_has_part(op, CIO_SCHED_AGGREGATOR))
        cio_sched_count_pattern(op, op->scheduling->pattern);
    return 1;
}

/* ---- the exchange for GW-MDF ---- */

/* Whatever a rank touches here. */
static int64_t encode_counts(struct cio_op *op)
{
    struct cio_scheduling *s = op->scheduling;
    int n = op->env.comm->size;
    uint32_t *counts = calloc((size_t)n, sizeof(*counts));
    int64_t used = -ENOMEM;

    if (counts != NULL && cio_sched_get(op, &s->counts, (int64_t)cio_maxima_bound(n)) != NULL) {
        cio_order_busiest(s->pattern, counts);
        used = (int64_t)cio_maxima_encode(counts, n, s->counts.p);
    }
    free(counts);
    return used;
}

int cio_sched_report(struct cio_op *op)
{
    struct cio_scheduling *s = op->scheduling;
    int64_t used = 0;

    if (op->aggr == NULL || !cio_sched_is_counted(op))
        return 1;
    if (cio_sched_has_part(op, CIO_SCHED_AGGREGATOR))
        used = encode_counts(op);
    if (used < 0)
        cio_sched_lose(op, CIO_SCHED_AGGREGATOR, (int)used);
    cio_sched_send(op, CIO_SCHED_AGGREGATOR, op->env.team->aggr[0], CIO_TAG_REPORT, &s->counts,
                   used);
    return 1;
}

static uint32_t *make_busiest(const struct cio_op *op)
{
    return calloc((size_t)op->env.comm->size, sizeof(uint32_t));
}

static void make_maxima(struct cio_op *op)
{
    struct cio_scheduling *s = op->scheduling;

    s->busiest = make_busiest(op);
    if (s->busiest == NULL ||
        cio_sched_get(op, &s->plan, (int64_t)cio_maxima_bound(op->env.comm->size)) == NULL)
        cio_sched_lose(op, CIO_SCHED_PLANNER, -ENOMEM);
}

static void take_report(struct cio_op *op, int turn)
{
    struct cio_scheduling *s = op->scheduling;
    int rc = s->in.error;

    (void)turn;
    if (rc == 0 && cio_sched_has_part(op, CIO_SCHED_PLANNER))
        rc = cio_maxima_decode_combine(s->in.data, (size_t)s->in.size, op->env.comm->size,
                                       s->busiest);
    cio_sched_judge(op, CIO_SCHED_PLANNER, rc);
}

int cio_sched_find_maxima(struct cio_op *op)
{
    struct cio_scheduling *s = op->scheduling;
    const struct cio_team *team = op->env.team;
    int64_t used = 0;

    if (!cio_sched_plans(op) || !cio_sched_is_counted(op))
        return 1;
    if (cio_sched_enter(op))
        make_maxima(op);
    if (!cio_sched_receive(op, team->aggr, team->naggr, CIO_TAG_REPORT, take_report))
        return 0;
    if (cio_sched_has_part(op, CIO_SCHED_PLANNER))
        used = (int64_t)cio_maxima_encode(s->busiest, op->env.comm->size, s->plan.p);
    for (int a = 0; a < team->naggr; a++)
        cio_sched_send(op, CIO_SCHED_PLANNER, team->aggr[a], CIO_TAG_PLAN, &s->plan, used);
    return 1;
}

/* ---- its order ---- */

static int64_t answer(struct cio_op *op)
{
    struct cio_scheduling *s = op->scheduling;
    struct cio_schedule_plan plan = {.kind = op->set.schedule};
    int64_t used = 0;

    if (cio_sched_is_counted(op)) {
        plan.busiest = make_busiest(op);
        used = plan.busiest == NULL ? -ENOMEM
                                    : cio_maxima_decode_combine(s->in.data, (size_t)s->in.size,
                                                                op->env.comm->size, plan.busiest);
    }
    if (used == 0)
        used = cio_schedule_order(&plan, s->pattern, s->mine);
    if (used == 0)
        used = cio_sched_answer(op, &plan, s->mine);
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
    const struct cio_team *team = op->env.team;
    int64_t used = 0;

    if (op->aggr == NULL || cio_sched_is_central(op))
        return 1;
    if (cio_sched_is_counted(op) && !cio_sched_receive(op, team->aggr, 1, CIO_TAG_PLAN, take_plan))
        return 0;
    if (cio_sched_has_part(op, CIO_SCHED_AGGREGATOR))
        used = answer(op);
    if (used < 0)
        cio_sched_judge(op, CIO_SCHED_AGGREGATOR, (int)used);
    cio_sched_send(op, CIO_SCHED_AGGREGATOR, team->aggr[0], CIO_TAG_ANSWER, &op->scheduling->answer,
                   used);
    return 1;
}
