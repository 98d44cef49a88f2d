/*
 * When each process can return, in stripe-times: every aggregator serves one position that anybody
 * touches per unit of time, in its order, and a process returns when the last position that it
 * touches anywhere has been served.
 */
#ifndef CIO_PLAN_RESPOND_H
#define CIO_PLAN_RESPOND_H

#include "plan/pattern.h"

/* When a process of a call returns; where that is given for each rank, as uint8_t. */
enum cio_leaving {
    CIO_LEAVES_SERVED, /* when what it touches has been served, */
    CIO_LEAVES_LAST,   /* with the last of all, in any order, */
    CIO_LEAVES_FIRST   /* or before anything is served */
};

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
