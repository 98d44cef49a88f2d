/*
 * Scheduling at the planner, one of the aggregators: who touches what of all of them comes here,
 * and the orders of all are made here, so that an aggregator need not hear of either.
 */
#include <errno.h>
#include <stdlib.h>

#include "exec/scheduling.h"

static int take_code(struct cio_pattern *p, const char *data, int64_t size)
{
    return cio_pattern_decode(data, (size_t)size, p);
}

static void take_node(struct cio_op *op, int turn)
{
    struct cio_scheduling *s = op->scheduling;
    int rc = s->in.error;

    (void)turn;
    if (cio_sched_has_part(op, CIO_SCHED_PLANNER))
        rc = cio_sched_take_parts(op, s->all, take_code);
    cio_sched_judge(op, CIO_SCHED_PLANNER, rc);
}

static int make_planner(struct cio_op *op)
{
    op->scheduling->all = cio_sched_make_patterns(op);
    return op->scheduling->all == NULL ? -ENOMEM : cio_sched_make_answer(op);
}

int cio_sched_collect_all(struct cio_op *op)
{
    const struct cio_team *team = op->env.team;

    if (!cio_sched_plans(op))
        return 1;
    if (cio_sched_enter(op))
        cio_sched_lose(op, CIO_SCHED_PLANNER, make_planner(op));
    return cio_sched_receive(op, team->head, team->nodes->nnodes, CIO_TAG_PATTERN, take_node);
}

/* Where nobody may return early all wait for the last, whatever the order. */
static int choose(struct cio_op *op, struct cio_schedule_plan *plan)
{
    struct cio_scheduling *s = op->scheduling;
    uint8_t *leaving = malloc((size_t)op->env.comm->size);
    struct cio_schedule_case known = {
        .hint = op->set.schedule, .stripe = s->stripe, .leaving = leaving};
    int rc = -ENOMEM;

    if (leaving != NULL) {
        cio_team_find_leaving(op->env.team, s->soon, leaving);
        rc = cio_schedule_choose(s->all, op->env.team->naggr, &known, plan);
    }
    free(leaving);
    if (rc == 0 && !op->set.early) {
        plan->offset.mean = plan->offset.max;
        plan->chosen.mean = plan->chosen.max;
    }
    return rc;
}

static void join_orders(struct cio_op *op, const struct cio_schedule_plan *plan)
{
    struct cio_scheduling *s = op->scheduling;

    for (int a = 0; a < op->env.team->naggr; a++) {
        const uint32_t *order = plan->orders + a * op->rounds.positions;

        cio_sched_count_pattern(op, s->all[a]);
        cio_sched_join_answer(op, s->answer.p, cio_sched_answer(op, plan, order));
    }
}

int cio_sched_plan(struct cio_op *op)
{
    struct cio_schedule_plan plan;
    int rc;

    if (!cio_sched_is_central(op))
        return cio_sched_find_maxima(op);
    if (!cio_sched_plans(op))
        return 1;
    cio_sched_lose(op, CIO_SCHED_PLANNER, cio_sched_make_joint(op));
    if (!cio_sched_has_part(op, CIO_SCHED_PLANNER))
        return 1;
    rc = choose(op, &plan);
    cio_sched_judge(op, CIO_SCHED_PLANNER, rc);
    if (rc == 0) {
        join_orders(op, &plan);
        cio_schedule_release(&plan);
    }
    return 1;
}
