/*
 * The rounds of a file range, as all ranks compute them: aggregator a serves its positions one
 * after the other, and unit t = s * naggr + a is what it serves as number s of them.
 *
 * By offset, s is the position itself. With another order (schedule.c), every rank has that of all
 * aggregators, and all that goes from unit to unit follows it: lists, windows, sets of "positions"
 * on the wire, and the aggregator itself.
 */
#ifndef CIO_EXEC_ROUNDS_H
#define CIO_EXEC_ROUNDS_H

#include <stddef.h>

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
}

/* File range of unit t. */
static inline void cio_rounds_range(const struct cio_rounds *r, int64_t t, int64_t *off,
                                    int64_t *len)
{
    int aggr = (int)(t % r->naggr);
    int64_t pos = t / r->naggr;

    if (r->order != NULL)
        pos = r->order[aggr * r->positions + pos];
    *off = *len = 0;
    if (pos < cio_domains_positions(&r->domains, aggr))
        cio_domains_range(&r->domains, aggr, pos, off, len);
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
    return pos * r->naggr + aggr;
}

/* Index of unit t's bit in a set of positions. */
static inline int64_t cio_rounds_bit(const struct cio_rounds *r, int64_t t)
{
    return t % r->naggr * r->slice + t / r->naggr;
}

/* Words of such a set. */
static inline size_t cio_rounds_words(const struct cio_rounds *r)
{
    return (size_t)(r->slice / 64) * (size_t)r->naggr;
}

#endif
