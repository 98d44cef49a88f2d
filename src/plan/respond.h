/*
 * When each process can return, in stripe-times: every aggregator serves one position that anybody
 * touches per unit of time, in its order, and a process returns when the last position that it
 * touches anywhere has been served.
 */
#ifndef CIO_PLAN_RESPOND_H
#define CIO_PLAN_RESPOND_H

#include "plan/pattern.h"

/*
 * Raise response[rank], of nranks entries and 0 at first, to when this aggregator has served the
 * rank. order: plan/order.h; NULL: by offset. -ENOMEM. plan/maxima.h joins what several
 * aggregators found.
 */
int cio_respond(const struct cio_pattern *p, const uint32_t *order, uint32_t *response);

struct cio_response {
    double mean; /* over all ranks, */
    uint32_t max;
};

struct cio_response cio_response_of(const uint32_t *response, int nranks);

#endif
