/*
 * File extents: the (offset, length) pairs that every layer speaks.
 *
 * A list is an array sorted by offset. Unless said otherwise it is also disjoint: no byte occurs
 * twice, though neighbours may touch. Errors, here and in all of plan/, are 0 or a negative errno;
 * outputs come last and are set only on success.
 */
#ifndef CIO_PLAN_EXTENT_H
#define CIO_PLAN_EXTENT_H

#include <stddef.h>
#include <stdint.h>

typedef struct cio_extent {
    int64_t off;
    int64_t len;
} cio_extent;

enum cio_extents_flags {
    CIO_EXTENTS_OVERLAP = 1, /* extents may share bytes (reads, erroneous views) */
};

static inline int64_t cio_min64(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static inline int64_t cio_max64(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

static inline int64_t cio_extent_end(cio_extent e)
{
    return e.off + e.len;
}

/* The part of e inside [lo, hi); its length is 0 if there is none. */
static inline cio_extent cio_extent_clip(cio_extent e, int64_t lo, int64_t hi)
{
    int64_t off = cio_max64(e.off, lo);
    int64_t end = cio_min64(cio_extent_end(e), hi);

    return (cio_extent){off, cio_max64(end - off, 0)};
}

/*
 * Split *rest at the boundary `at`: returns the part before it, and leaves in *rest the part from
 * it on. Either may be empty. With cio_domains_locate() this cuts an extent at every round:
 *
 *     while (rest.len > 0) {
 *         cio_domains_locate(d, rest.off, &aggr, &pos, &end);
 *         piece = cio_extent_take(&rest, end);
 *     }
 */
static inline cio_extent cio_extent_take(cio_extent *rest, int64_t at)
{
    int64_t len = cio_max64(0, cio_min64(at - rest->off, rest->len));
    cio_extent head = {rest->off, len};

    rest->off += len;
    rest->len -= len;
    return head;
}

/* Sum of the lengths. */
int64_t cio_extents_bytes(const cio_extent *e, size_t n);

/*
 * 0 if the list is sorted by offset, every length is positive, no offset is negative, nothing ends
 * beyond limit (INT64_MAX: no limit but overflow) and, without CIO_EXTENTS_OVERLAP, no byte occurs
 * twice; -EINVAL otherwise.
 */
int cio_extents_check_flags(const cio_extent *e, size_t n, int64_t limit, unsigned flags);

/* The strict check: no overlaps. */
static inline int cio_extents_check(const cio_extent *e, size_t n, int64_t limit)
{
    return cio_extents_check_flags(e, n, limit, 0);
}

/*
 * Merge, in place, neighbours of a sorted list (overlaps allowed) that touch or overlap, and drop
 * the empty ones. Returns the new number of extents.
 */
size_t cio_extents_coalesce(cio_extent *e, size_t n);

/* Index of the first extent of a disjoint list that ends after off; n if none. O(log n). */
size_t cio_extents_find(const cio_extent *e, size_t n, int64_t off);

/*
 * Clip a sorted list (overlaps allowed) to [lo, hi) into out, which holds up to n extents and may
 * be e itself. Returns how many are left. Stops at the first extent beyond hi; for a disjoint list
 * start at cio_extents_find(e, n, lo) to skip what lies before lo.
 */
size_t cio_extents_clip(const cio_extent *e, size_t n, int64_t lo, int64_t hi, cio_extent *out);

#endif
