/*
 * The rounds of a file range, as all ranks compute them: aggregator a serves its positions one
 * after the other, and unit t = s * naggr + a is what it serves as number s of them.
 *
 * By offset, s is the position itself. With another order (schedule.c), every rank has that of all
 * aggregators, and all that goes from unit to unit follows it: lists, windows, sets of "positions"
 * on the wire, and the aggregator itself.
 *
 * Staggered is by offset too, but every aggregator begins at another place, and goes round. Where
 * stripes go round the aggregators, and each node has a part of the file, they would otherwise all
 * talk to one node at a time, and then to the next: the links of the others would lie idle.
 *
 *   aggregator 0   0 1 2 3 4 5 6 7
 *   aggregator 1   2 3 4 5 6 7 0 1
 *   aggregator 2   4 5 6 7 0 1 2 3
 *   aggregator 3   6 7 0 1 2 3 4 5
 *
 * What its own node has needs no link. A write begins there: the file has work at once, and what
 * comes from others fills the buffers meanwhile. A read ends there, since it can be read ahead:
 * `skip` aggregators further on is the next node.
 */
#ifndef CIO_EXEC_ROUNDS_H
#define CIO_EXEC_ROUNDS_H

#include <stddef.h>

#include "plan/bits.h"
#include "plan/domain.h"
#include "plan/extent.h"

struct cio_rounds {
    struct cio_domains domains;
    int naggr;
    int64_t positions; /* the most that any aggregator has, */
    int64_t slice;     /* rounded up to whole words of bits: aggregator a has bits a * slice ... */
    int64_t units;     /* positions * naggr */
    /* Another order than by offset: which position is number s, at a * positions + s, and which
     * number a position has, at a * positions + position; else NULL. */
    const uint32_t *order, *index;
    int staggered;
    int skip;
};

static inline void cio_rounds_init(const struct cio_domains *d, int naggr, struct cio_rounds *r)
{
    r->domains = *d;
    r->naggr = naggr;
    r->positions = 0;
    for (int a = 0; a < naggr; a++)
        r->positions = cio_max64(r->positions, cio_domains_positions(d, a));
    r->slice = (r->positions + 63) / 64 * 64;
    r->units = r->positions * naggr;
    r->order = r->index = NULL;
    r->staggered = r->skip = 0;
}

/* The position that an aggregator with n of them begins with. */
static inline int64_t cio_rounds_first(const struct cio_rounds *r, int aggr, int64_t n)
{
    return r->staggered ? (aggr + r->skip) % r->naggr * n / r->naggr : 0;
}

/* File range of unit t. */
static inline void cio_rounds_range(const struct cio_rounds *r, int64_t t, int64_t *off,
                                    int64_t *len)
{
    int aggr = (int)(t % r->naggr);
    int64_t pos = t / r->naggr, n = cio_domains_positions(&r->domains, aggr);

    *off = *len = 0;
    if (r->order != NULL)
        pos = r->order[aggr * r->positions + pos];
    if (pos >= n)
        return;
    pos += cio_rounds_first(r, aggr, n);
    cio_domains_range(&r->domains, aggr, pos < n ? pos : pos - n, off, len);
}

/* The unit that serves the byte at off, and where it begins and ends. */
static inline int64_t cio_rounds_locate(const struct cio_rounds *r, int64_t off, int64_t *begin,
                                        int64_t *end)
{
    int64_t pos, len;
    int aggr;

    cio_domains_locate(&r->domains, off, &aggr, &pos, end);
    cio_domains_range(&r->domains, aggr, pos, begin, &len);
    if (r->index != NULL)
        pos = r->index[aggr * r->positions + pos];
    if (r->staggered) {
        int64_t n = cio_domains_positions(&r->domains, aggr);

        pos -= cio_rounds_first(r, aggr, n);
        pos += pos < 0 ? n : 0;
    }
    return pos * r->naggr + aggr;
}

/* Index of unit t's bit in a set of positions. */
static inline int64_t cio_rounds_bit(const struct cio_rounds *r, int64_t t)
{
    return t % r->naggr * r->slice + t / r->naggr;
}

/* Whether none of the bits of 64 numbers is set, from a multiple of 64 on. */
static inline int cio_rounds_none(const struct cio_rounds *r, const uint64_t *bits, int64_t number)
{
    for (int a = 0; a < r->naggr; a++)
        if (bits[(a * r->slice + number) / 64] != 0)
            return 0;
    return 1;
}

/* The first unit from t on whose bit is set; `units` if there is none. */
static inline int64_t cio_rounds_next(const struct cio_rounds *r, const uint64_t *bits, int64_t t)
{
    int64_t aggr = t % r->naggr, number = t / r->naggr;

    while (number * r->naggr + aggr < r->units) {
        if (aggr == 0 && number % 64 == 0 && cio_rounds_none(r, bits, number)) {
            number += 64;
            continue;
        }
        if (cio_bits_test(bits, aggr * r->slice + number))
            return number * r->naggr + aggr;
        aggr = aggr + 1 == r->naggr ? 0 : aggr + 1;
        number += aggr == 0;
    }
    return r->units;
}

/* Words of such a set. */
static inline size_t cio_rounds_words(const struct cio_rounds *r)
{
    return (size_t)(r->slice / 64) * (size_t)r->naggr;
}

#endif
