/* Random disjoint lists of extents, for the tests and benchmarks of the code. */
#ifndef CIO_TEST_LISTS_H
#define CIO_TEST_LISTS_H

#include "check.h"
#include "plan/extent.h"

/* A number whose size in bits is uniform below `bits`. */
static inline int64_t lists_number(uint64_t *rng, int bits)
{
    return (int64_t)(check_random(rng) & (((uint64_t)1 << check_between(rng, 0, bits)) - 1));
}

/*
 * n extents from base on: irregular, of one length, and strided stretches in turn. Gaps and
 * lengths have up to `bits` bits.
 */
static inline void lists_mixed(uint64_t *rng, cio_extent *e, size_t n, int64_t base, int bits)
{
    int64_t at = base, gap = 0, len = 1;
    int kind = 0, left = 0;

    for (size_t i = 0; i < n; i++, left--) {
        if (left == 0) {
            kind = (int)check_between(rng, 0, 2);
            left = (int)check_between(rng, 1, 30);
            gap = lists_number(rng, bits);
            len = 1 + lists_number(rng, bits);
        }
        if (kind < 2)
            gap = lists_number(rng, bits);
        if (kind < 1)
            len = 1 + lists_number(rng, bits);
        e[i] = (cio_extent){at + gap, len};
        at = cio_extent_end(e[i]);
    }
}

#endif
