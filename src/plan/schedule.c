/* The choice of an order: a model of what each costs, and the comparison of what each brings. */
#include "plan/schedule.h"

#include <errno.h>
#include <stdlib.h>

#include "plan/order.h"

/*
 * Nanoseconds on one core, from bench/schedule --costs (doc/scheduling.md, "Costs"), with the
 * response included, on the slower of two kinds of machines: in doubt an order is left out. By
 * offset includes what all begin with: the patterns decoded, and the response that the others are
 * compared with.
 */
struct cost {
    double rank, position, row, touch;
    double look; /* per rank and step of first-finish, */
    double pair; /* and per rank and aggregator */
};

static const struct cost costs[] = {
    [CIO_SCHEDULE_OFFSET] = {.rank = 2, .position = 2, .row = 60, .touch = 13},
    [CIO_SCHEDULE_MDF] = {.rank = 2, .position = 45, .row = 35, .touch = 8},
    [CIO_SCHEDULE_LW_MDF] = {.rank = 2, .position = 45, .row = 65, .touch = 8},
    [CIO_SCHEDULE_GW_MDF] = {.rank = 4, .position = 45, .row = 75, .touch = 8},
    [CIO_SCHEDULE_FIRST_FINISH] =
        {.rank = 150, .position = 10, .row = 130, .touch = 80, .look = 10, .pair = 3},
};

/* What cio_order_refine() costs besides, and which part of the mean response it may be hoped to
 * save: 0.2 to 0.5 % on the workloads of bench/schedule, up to 1.7 % where some stay to the end. */
static const struct cost refining = {
    .rank = 1700, .position = 10, .row = 45, .touch = 150, .look = 8, .pair = 3};
#define REFINING_SAVES 0.005

void cio_schedule_size_of(struct cio_pattern *const *patterns, int n,
                          struct cio_schedule_size *size)
{
    *size = (struct cio_schedule_size){.ranks = patterns[0]->nranks, .aggrs = n};
    for (int a = 0; a < n; a++) {
        size->positions += patterns[a]->npos;
        size->most = patterns[a]->npos > size->most ? patterns[a]->npos : size->most;
        size->rows += patterns[a]->rows;
        size->touches += patterns[a]->touches;
    }
}

static double add_up(const struct cost *c, const struct cio_schedule_size *size)
{
    double looks = (double)size->ranks * cio_order_steps(size->ranks, size->most);
    double pairs = (double)size->ranks * (double)size->aggrs;

    return 1e-9 * (c->rank * (double)size->ranks + c->position * (double)size->positions +
                   c->row * (double)size->rows + c->touch * (double)size->touches +
                   c->look * looks + c->pair * pairs);
}

double cio_schedule_cost(enum cio_schedule kind, const struct cio_schedule_size *size)
{
    return add_up(&costs[kind], size);
}

double cio_schedule_refine_cost(const struct cio_schedule_size *size)
{
    return cio_order_may_refine(size->ranks, size->touches) ? add_up(&refining, size) : 0;
}

int cio_schedule_order(const struct cio_schedule_plan *plan, const struct cio_pattern *p,
                       uint32_t *order)
{
    switch (plan->kind) {
    case CIO_SCHEDULE_MDF:
        return cio_order_mdf(p, order);
    case CIO_SCHEDULE_LW_MDF:
        return cio_order_lw_mdf(p, order);
    case CIO_SCHEDULE_GW_MDF:
        return cio_order_gw_mdf(p, plan->busiest, order);
    case CIO_SCHEDULE_FIRST_FINISH:
        return cio_order_by_process(p, plan->ranking, order);
    default:
        for (uint32_t i = 0; i < p->npos; i++)
            order[i] = i;
        return 0;
    }
}

void cio_schedule_release(struct cio_schedule_plan *plan)
{
    free(plan->ranking);
    free(plan->busiest);
    free(plan->orders);
    plan->ranking = plan->busiest = plan->orders = NULL;
}

/* All that a choice is made from. */
struct planner {
    struct cio_pattern *const *patterns;
    int n, nranks;
    double stripe;
    const uint8_t *leaving;
    struct cio_schedule_size size;
    double least;       /* mean response that no order can beat */
    uint32_t *response; /* room for all ranks' */
};

/* Of all ranks, from when each has been served; `max` is when all have. */
static struct cio_response add_up_responses(struct planner *pl, uint32_t max)
{
    struct cio_response out;

    for (int r = 0; pl->leaving && r < pl->nranks; r++)
        if (pl->leaving[r] != CIO_LEAVES_SERVED)
            pl->response[r] = pl->leaving[r] == CIO_LEAVES_LAST ? max : 0;
    out = cio_response_of(pl->response, pl->nranks);
    out.max = max;
    return out;
}

/* The orders of a plan, and the response under them. */
static int order_all(struct planner *pl, struct cio_schedule_plan *plan)
{
    uint32_t *order = plan->orders;
    int rc = 0;

    for (int r = 0; r < pl->nranks; r++)
        pl->response[r] = 0;
    for (int a = 0; a < pl->n && !rc; a++) {
        rc = cio_schedule_order(plan, pl->patterns[a], order);
        if (!rc)
            rc = cio_respond(pl->patterns[a], order, pl->response);
        order += pl->patterns[a]->npos;
    }
    if (!rc)
        plan->chosen = add_up_responses(pl, cio_response_of(pl->response, pl->nranks).max);
    return rc;
}

static void count_busiest(const struct planner *pl, uint32_t *busiest)
{
    for (int a = 0; a < pl->n; a++)
        cio_order_busiest(pl->patterns[a], busiest);
}

/* What an order of this kind needs. */
static int prepare(const struct planner *pl, struct cio_schedule_plan *plan)
{
    uint32_t *v;

    plan->orders = malloc(((size_t)pl->size.positions + 1) * sizeof(*plan->orders));
    if (!plan->orders)
        return -ENOMEM;
    if (plan->kind != CIO_SCHEDULE_GW_MDF && plan->kind != CIO_SCHEDULE_FIRST_FINISH)
        return 0;
    v = calloc((size_t)pl->nranks, sizeof(*v));
    if (!v)
        return -ENOMEM;
    if (plan->kind == CIO_SCHEDULE_FIRST_FINISH) {
        plan->ranking = v;
        return cio_order_first_finish(pl->patterns, pl->n, pl->leaving, v);
    }
    plan->busiest = v;
    count_busiest(pl, v);
    return 0;
}

/* Compute an order, and its response. The plan is released on failure. */
static int try_kind(struct planner *pl, enum cio_schedule kind, struct cio_schedule_plan *plan)
{
    int rc;

    *plan = (struct cio_schedule_plan){.kind = kind};
    rc = prepare(pl, plan);
    if (!rc)
        rc = order_all(pl, plan);
    if (rc)
        cio_schedule_release(plan);
    return rc;
}

/* Let `best` be what `other` is, if that is better and worth it; the other one is released. */
static void keep_better(const struct planner *pl, struct cio_schedule_plan *best,
                        struct cio_schedule_plan *other)
{
    double saved = best->offset.mean - other->chosen.mean;

    if (other->chosen.mean >= best->chosen.mean ||
        !cio_schedule_is_worth(saved, pl->stripe, best->cost)) {
        cio_schedule_release(other);
        return;
    }
    other->offset = best->offset;
    other->cost = best->cost;
    cio_schedule_release(best);
    *best = *other;
}

/*
 * Whether to compute one more order: what is still to be won must pay for it, and what is won
 * already (or, as long as nothing is, what is to be won) for all that will have been computed.
 */
static int may_try(const struct planner *pl, enum cio_schedule kind,
                   const struct cio_schedule_plan *best)
{
    double to_win = best->chosen.mean - pl->least;
    double won = best->offset.mean - best->chosen.mean;
    double cost = cio_schedule_cost(kind, &pl->size);

    if (kind == CIO_SCHEDULE_FIRST_FINISH && !cio_order_may_rank(pl->size.touches))
        return 0;
    return cio_schedule_is_worth(to_win, pl->stripe, cost) &&
           cio_schedule_is_worth(won > 0 ? won : to_win, pl->stripe, best->cost + cost);
}

static int may_refine(const struct planner *pl, const struct cio_schedule_plan *plan)
{
    return plan->ranking && cio_order_may_refine(pl->size.ranks, pl->size.touches);
}

/* Make the ranking of a plan better. The plan is released on failure. */
static int refine(struct planner *pl, struct cio_schedule_plan *plan)
{
    int rc = cio_order_refine(pl->patterns, pl->n, pl->leaving, plan->ranking);

    if (!rc)
        rc = order_all(pl, plan);
    if (rc)
        cio_schedule_release(plan);
    return rc;
}

/* Compute one more order, and let `best` be that, if it is. */
static int try_one(struct planner *pl, enum cio_schedule kind, struct cio_schedule_plan *best)
{
    double more = cio_schedule_refine_cost(&pl->size);
    struct cio_schedule_plan other;
    int rc = try_kind(pl, kind, &other);

    if (rc)
        return rc;
    best->cost += cio_schedule_cost(kind, &pl->size);
    if (may_refine(pl, &other) &&
        cio_schedule_is_worth(REFINING_SAVES * other.chosen.mean, pl->stripe, more)) {
        rc = refine(pl, &other);
        if (rc)
            return rc;
        best->cost += more;
    }
    keep_better(pl, best, &other);
    return 0;
}

/* Best prospects first: what is found early leaves less to be won by the others. */
static int choose_best(struct planner *pl, struct cio_schedule_plan *best)
{
    static const enum cio_schedule kinds[] = {CIO_SCHEDULE_FIRST_FINISH, CIO_SCHEDULE_GW_MDF,
                                              CIO_SCHEDULE_LW_MDF, CIO_SCHEDULE_MDF};
    int rc = 0;

    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]) && !rc; i++)
        if (may_try(pl, kinds[i], best))
            rc = try_one(pl, kinds[i], best);
    return rc;
}

/* No process can be served before its busiest aggregator has served so many stripes. */
static void find_least(struct planner *pl, uint32_t max)
{
    for (int r = 0; r < pl->nranks; r++)
        pl->response[r] = 0;
    count_busiest(pl, pl->response);
    pl->least = add_up_responses(pl, max).mean;
}

static int follow(struct planner *pl, enum cio_schedule hint, struct cio_schedule_plan *plan)
{
    struct cio_schedule_plan asked;
    int rc;

    if (hint == CIO_SCHEDULE_OFFSET)
        return 0;
    rc = try_kind(pl, hint, &asked);
    if (rc)
        return rc;
    asked.offset = plan->offset;
    asked.cost = plan->cost + cio_schedule_cost(hint, &pl->size);
    if (may_refine(pl, &asked)) {
        asked.cost += cio_schedule_refine_cost(&pl->size);
        rc = refine(pl, &asked);
    }
    if (rc)
        return rc;
    cio_schedule_release(plan);
    *plan = asked;
    return 0;
}

static int make_plan(struct planner *pl, enum cio_schedule hint, struct cio_schedule_plan *out)
{
    struct cio_schedule_plan plan;
    int rc = try_kind(pl, CIO_SCHEDULE_OFFSET, &plan);

    if (rc)
        return rc;
    plan.offset = plan.chosen;
    plan.cost = cio_schedule_cost(CIO_SCHEDULE_OFFSET, &pl->size);
    find_least(pl, plan.offset.max);
    rc = hint == CIO_SCHEDULE_AUTOMATIC ? choose_best(pl, &plan) : follow(pl, hint, &plan);
    if (rc)
        cio_schedule_release(&plan);
    else
        *out = plan;
    return rc;
}

int cio_schedule_choose(struct cio_pattern *const *patterns, int n,
                        const struct cio_schedule_case *known, struct cio_schedule_plan *plan)
{
    struct planner pl = {
        .patterns = patterns, .n = n, .stripe = known->stripe, .leaving = known->leaving};
    int rc = -ENOMEM;

    for (int a = 1; a < n; a++)
        if (patterns[a]->nranks != patterns[0]->nranks)
            return -EINVAL;
    cio_schedule_size_of(patterns, n, &pl.size);
    pl.nranks = patterns[0]->nranks;
    pl.response = malloc((size_t)pl.nranks * sizeof(*pl.response));
    if (pl.response)
        rc = make_plan(&pl, known->hint, plan);
    free(pl.response);
    return rc;
}
