/*
 * A copy for pieces that are often 1 to 64 bytes: no call for those, and few branches on the
 * length, which in irregular lists the processor cannot predict.
 */
#ifndef CIO_PLAN_COPY_H
#define CIO_PLAN_COPY_H

#include <stdint.h>
#include <string.h>

#include "plan/extent.h"

/*
 * Copy n bytes, size <= n <= 4 * size, as two moves from either end, which overlap rather than
 * touch anything outside. Inline, so that size is a constant and each memcpy a plain move.
 */
__attribute__((always_inline)) static inline void cio_copy_four(char *to, const char *from,
                                                                int64_t n, int64_t size)
{
    int64_t second = cio_min64(size, n - size), third = cio_max64(n - 2 * size, 0);

    memcpy(to, from, (size_t)size);
    memcpy(to + second, from + second, (size_t)size);
    memcpy(to + third, from + third, (size_t)size);
    memcpy(to + n - size, from + n - size, (size_t)size);
}

/* Copy n >= 0 bytes between regions that do not overlap. */
static inline void cio_copy_small(char *to, const char *from, int64_t n)
{
    if (n >= 8 && n <= 32)
        cio_copy_four(to, from, n, 8);
    else if (n > 64)
        memcpy(to, from, (size_t)n);
    else if (n > 32)
        cio_copy_four(to, from, n, 16);
    else if (n > 1)
        cio_copy_four(to, from, n, 2);
    else if (n == 1)
        *to = *from;
}

#endif
