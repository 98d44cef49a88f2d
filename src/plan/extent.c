/* Lists of file extents: checking, coalescing, searching, clipping. */
#include "plan/extent.h"

#include <errno.h>

int64_t cio_extents_bytes(const cio_extent *e, size_t n)
{
    int64_t sum = 0;

    for (size_t i = 0; i < n; i++)
        sum += e[i].len;
    return sum;
}

int cio_extents_check_flags(const cio_extent *e, size_t n, int64_t limit, unsigned flags)
{
    int64_t least = 0;

    for (size_t i = 0; i < n; i++) {
        if (e[i].off < least || e[i].len <= 0)
            return -EINVAL;
        if (e[i].off > limit || e[i].len > limit - e[i].off)
            return -EINVAL;
        least = flags & CIO_EXTENTS_OVERLAP ? e[i].off : cio_extent_end(e[i]);
    }
    return 0;
}

size_t cio_extents_coalesce(cio_extent *e, size_t n)
{
    size_t out = 0;

    for (size_t i = 0; i < n; i++) {
        if (e[i].len == 0)
            continue;
        if (out > 0 && e[i].off <= cio_extent_end(e[out - 1])) {
            int64_t end = cio_max64(cio_extent_end(e[out - 1]), cio_extent_end(e[i]));
            e[out - 1].len = end - e[out - 1].off;
        } else {
            e[out++] = e[i];
        }
    }
    return out;
}

size_t cio_extents_find(const cio_extent *e, size_t n, int64_t off)
{
    size_t lo = 0, hi = n;

    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;

        if (cio_extent_end(e[mid]) > off)
            hi = mid;
        else
            lo = mid + 1;
    }
    return lo;
}

size_t cio_extents_clip(const cio_extent *e, size_t n, int64_t lo, int64_t hi, cio_extent *out)
{
    size_t m = 0;

    for (size_t i = 0; i < n && e[i].off < hi; i++) {
        cio_extent x = cio_extent_clip(e[i], lo, hi);

        if (x.len > 0)
            out[m++] = x;
    }
    return m;
}
