/*
 * Which order to serve stripes in (hint cb_schedule): the mean response of each is known exactly
 * before anything is served, and so is, about, what computing it costs. `automatic` takes the best
 * order if it saves at least CIO_SCHEDULE_WORTH times what was computed to find it, and leaves out
 * what could not; by offset if there is none.
 *
 * All patterns are at one place here, and the orders of all aggregators can be made there.
 */
#ifndef CIO_PLAN_SCHEDULE_H
#define CIO_PLAN_SCHEDULE_H

#include "plan/hints.h"
#include "plan/pattern.h"
#include "plan/respond.h"

/* Waiting saved, in the mean over all processes, over the time in which they wait for the plan. */
#define CIO_SCHEDULE_WORTH 10

/* What the cost depends on. */
struct cio_schedule_size {
    int64_t ranks;     /* of the application */
    int64_t aggrs;     /* that serve it */
    int64_t positions; /* of all aggregators, */
    int64_t most;      /* of the one with most */
    int64_t rows;      /* pairs of a rank and an aggregator it touches */
    int64_t touches;   /* pairs of a rank and a position it touches */
};

void cio_schedule_size_of(struct cio_pattern *const *patterns, int n,
                          struct cio_schedule_size *size);

/*
 * Seconds of one processor for computing the orders of all aggregators and their response; for
 * CIO_SCHEDULE_OFFSET also for decoding the patterns, which comes first whatever is chosen. The
 * constants are measured (doc/scheduling.md). It serves before patterns are gathered, too: where
 * even all of size->most stripe-times could not pay for it, they need not be.
 */
double cio_schedule_cost(enum cio_schedule kind, const struct cio_schedule_size *size);

/*
 * What making a ranking of first-finish better costs besides (cio_order_refine()), the response
 * included; 0 where that is not done.
 */
double cio_schedule_refine_cost(const struct cio_schedule_size *size);

/* Whether saving so many stripe-times of `stripe` seconds per process pays for a cost in seconds.
 */
static inline int cio_schedule_is_worth(double saved, double stripe, double cost)
{
    return saved > 0 && saved * stripe >= CIO_SCHEDULE_WORTH * cost;
}

/* What is known besides the patterns. */
struct cio_schedule_case {
    enum cio_schedule hint;
    double stripe;          /* seconds that an aggregator needs for one position */
    const uint8_t *leaving; /* enum cio_leaving of each rank; NULL: all wait to be served */
};

struct cio_schedule_plan {
    enum cio_schedule kind;
    struct cio_response offset; /* predicted by offset, */
    struct cio_response chosen; /* and by the chosen order; equal if that is by offset */
    double cost;                /* seconds, modelled, for all that was computed to choose */

    uint32_t *ranking; /* first-finish: all ranks in order; otherwise NULL */
    uint32_t *busiest; /* GW-MDF: cio_order_busiest() of all aggregators; otherwise NULL */
    uint32_t *orders;  /* of all aggregators, one after the other */
};

/*
 * Make the plan for n >= 1 aggregators with patterns of the same ranks. A hint other than automatic
 * is followed whatever it costs. The plan holds memory until cio_schedule_release(). -EINVAL,
 * -ENOMEM, also for first-finish with more touches than cio_order_may_rank() allows.
 */
int cio_schedule_choose(struct cio_pattern *const *patterns, int n,
                        const struct cio_schedule_case *known, struct cio_schedule_plan *plan);
void cio_schedule_release(struct cio_schedule_plan *plan);

/*
 * The order of one aggregator by a kind that is not automatic, with the ranking or the counts that
 * it needs; order holds npos entries. -ENOMEM.
 */
int cio_schedule_order(const struct cio_schedule_plan *plan, const struct cio_pattern *p,
                       uint32_t *order);

#endif
