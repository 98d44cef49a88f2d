/*
 * File domains: which aggregator serves which byte, and in which round.
 *
 * The range [lo, hi) is cut into rounds of at most `unit` bytes. Each round belongs to one
 * aggregator and has a position there, from 0, rising with the file offset. cio_domains_locate()
 * and cio_domains_range() are inverses of each other and O(log components); nothing is stored per
 * round.
 *
 * With A aggregators, stripes of S bytes (stripe s is the bytes [s * S, s * S + S) of the file) and
 * C stripes per cycle of storage targets:
 *
 *   EVEN          A contiguous parts, equal but for one byte; rounds counted from a part's start.
 *   ALIGNED       A contiguous parts of whole stripes, equal but for one stripe; rounds end at
 *                 absolute multiples of unit.
 *   CYCLIC        stripe by stripe in turn. A < C: stripe s goes to (s mod C) mod A, so that a
 *                 target has one writer, prime C included. A >= C: to s mod M, where M is the
 *                 largest multiple of C that is <= A; the other aggregators are idle. C unknown:
 *                 to s mod A.
 *   GROUP_CYCLIC  m = max(1, A / C) contiguous parts of whole stripes, equal but for one stripe;
 *                 within part j cyclic over the aggregators j * C .. j * C + C - 1. A < C, or C
 *                 unknown: as CYCLIC.
 *
 * In the cyclic kinds a stripe is ceil(S / unit) rounds, counted from the cycle of stripes in which
 * the part begins. Rounds before the part's first byte or after its last one are empty.
 *
 * With a layout, S and C are those of its components, and C counts targets: stripes that lie on one
 * target (overstriping) have one writer. If the N objects are no multiple of C (8 on 3), s above is
 * s mod N, and in CYCLIC M is C. A component that ends before hi and has none after it goes
 * on. If there are several:
 *
 *   - Each component's part of [lo, hi) is divided by itself. Rounds end where components do.
 *   - What is A / C above is A / (the largest C of all) there, but at least 1: a component of few
 *     targets has as many writers for each as that of most, and the other aggregators are idle.
 *   - In the cyclic kinds the writers of a component are those after the ones of the component
 *     before it, in turn, so that small ones do not all fall to aggregator 0. Who writes a stripe
 *     depends on the layout and A only, unless parts are contiguous, which depend on lo and hi.
 *   - All aggregators pass from one component to the next at the same position; who has fewer
 *     rounds in the first has empty ones. So all rounds of a component come before the next one's.
 */
#ifndef CIO_PLAN_DOMAIN_H
#define CIO_PLAN_DOMAIN_H

#include <stdint.h>

#include "plan/layout.h"

#define CIO_DOMAIN_OFFSET_MAX ((int64_t)1 << 62)

enum cio_domain_kind {
    CIO_DOMAIN_EVEN,
    CIO_DOMAIN_ALIGNED,
    CIO_DOMAIN_CYCLIC,
    CIO_DOMAIN_GROUP_CYCLIC
};

struct cio_domain_spec {
    enum cio_domain_kind kind;
    int64_t lo, hi;       /* [lo, hi): what any rank touches; hi <= CIO_DOMAIN_OFFSET_MAX */
    int naggr;            /* >= 1 */
    int64_t stripe;       /* bytes; 0: unknown, then unit serves */
    int64_t stripe_count; /* 0: unknown */
    int64_t unit;         /* most bytes in one round, >= 1 */

    /* Instead of stripe and stripe_count, unless NULL or empty. Not kept. */
    const struct cio_layout *layout;
};

/* Private: how one component is divided. Grains are stripes, or in EVEN bytes. */
struct cio_division {
    int64_t lo, hi, unit;
    int64_t grain;        /* bytes */
    int64_t first;        /* grain that contains lo */
    int parts;            /* contiguous parts, */
    int64_t part_grains;  /* each of that many grains, */
    int64_t longer_parts; /* the first ones of one more */
    int writers;          /* aggregators per part; 0: one, without cycles */
    int64_t cycle;        /* grains; one of cycle-relative index i goes to i mod writers */
    int64_t rounds_per_grain;
    int aligned;  /* rounds end at absolute multiples of unit */
    int shift;    /* aggregator that is the first one here, */
    int naggr;    /* of that many */
    int64_t base; /* position of the first round, where there are several divisions */
};

/* Private: made by cio_domains_init(), may be copied. */
struct cio_domains {
    int64_t unit;      /* most bytes in one round */
    int n;             /* components that [lo, hi) touches, at least one */
    int64_t positions; /* of each aggregator, if there are several */
    struct cio_division division[CIO_LAYOUT_COMPONENTS];
};

/* -EINVAL if the specification or the layout is out of bounds. */
int cio_domains_init(const struct cio_domain_spec *spec, struct cio_domains *d);

/* Whether stripes go round the aggregators, in one component. */
int cio_domains_is_cyclic(const struct cio_domains *d);

/* Number of positions of an aggregator, 0 <= aggr < naggr; some may be empty, none is missing. */
int64_t cio_domains_positions(const struct cio_domains *d, int aggr);

/* The file range of a position, 0 <= pos < cio_domains_positions(d, aggr). *len may be 0. */
void cio_domains_range(const struct cio_domains *d, int aggr, int64_t pos, int64_t *off,
                       int64_t *len);

/* Who serves the byte at off, lo <= off < hi, at which position, and where that round ends. */
void cio_domains_locate(const struct cio_domains *d, int64_t off, int *aggr, int64_t *pos,
                        int64_t *end);

#endif
