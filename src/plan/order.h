/*
 * In which order an aggregator serves its positions (stripes), so that the processes of the
 * application return early. doc/scheduling.md tells what each order is worth.
 *
 * An order is a permutation of the positions 0 .. npos - 1 of one aggregator, first served first.
 * Positions that nobody touches come last, and take no time.
 *
 *   MDF           most processes first
 *   LW-MDF        each process counts 1 / (positions it touches at this aggregator)
 *   GW-MDF        each process counts 1 / (positions it touches at its busiest aggregator)
 *   first-finish  the processes are ranked, each aggregator serves what the first one needs, then
 *                 what the second one needs besides, and so on
 *
 * The first three are of Jin et al., 2012; highest first. Ties, of which the paper says nothing, go
 * to the larger weight of LW-MDF, then to more processes, then by offset. An aggregator makes the
 * first two by itself, the third after one exchange of cio_order_busiest() among aggregators;
 * first-finish is made where all patterns are, and so are the orders that follow from it.
 */
#ifndef CIO_PLAN_ORDER_H
#define CIO_PLAN_ORDER_H

#include "plan/respond.h"

/* order holds npos entries, here and below. -ENOMEM. */
int cio_order_mdf(const struct cio_pattern *p, uint32_t *order);
int cio_order_lw_mdf(const struct cio_pattern *p, uint32_t *order);

/*
 * Raise busiest[rank] to what the rank touches at this aggregator. It has nranks entries, and is 0
 * at first; plan/maxima.h joins those of several aggregators.
 */
void cio_order_busiest(const struct cio_pattern *p, uint32_t *busiest);

/* busiest is that of all aggregators; what is less than this one's own is taken for that. */
int cio_order_gw_mdf(const struct cio_pattern *p, const uint32_t *busiest, uint32_t *order);

/* ranking has each rank of 0 .. nranks - 1 once. */
int cio_order_by_process(const struct cio_pattern *p, const uint32_t *ranking, uint32_t *order);

/*
 * Rank the processes greedily by when each could be finished, given what is placed for those before
 * it on every aggregator: the latest of its aggregators counts, and positions shared with an
 * earlier process are free. Ties: fewest positions left, then most company (the mean number of
 * processes on its positions), then lowest rank. Who does not wait to be served comes last, and is
 * no company (leaving: enum cio_leaving of each rank; NULL: all wait).
 *
 * patterns: of all n >= 1 aggregators, with the same nranks. ranking holds nranks entries.
 * -EINVAL (unequal nranks), -ENOMEM, also where cio_order_may_rank() says no: 8 bytes are needed
 * for each touch.
 */
int cio_order_first_finish(struct cio_pattern *const *patterns, int n, const uint8_t *leaving,
                           uint32_t *ranking);
int cio_order_may_rank(int64_t touches);

/*
 * Make a ranking better, or leave it as it is: first-finish with other ties, and the best order of
 * each few processes that follow one another in the ranking (refine.c). For up to 8 processes that
 * is the best there is. It may be tried with any numbers, but costs too much for what it brings
 * beyond those that cio_order_may_refine() is for. Who does not wait must come last, and does
 * after. Errors are as above.
 */
int cio_order_refine(struct cio_pattern *const *patterns, int n, const uint8_t *leaving,
                     uint32_t *ranking);
int cio_order_may_refine(int64_t nranks, int64_t touches);

/*
 * In how many steps of time first-finish is made, at most, for aggregators of up to `most`
 * positions: one for each stripe-time, or fewer where that would be too many looks at each process.
 */
uint32_t cio_order_steps(int64_t nranks, int64_t most);

#endif
