/*
 * k-way merge of sorted lists of extents, with coalescing: O(n log k) for n pieces in k lists.
 *
 * The result is the union of all pieces, as segments: pieces that touch or overlap become one. The
 * merged data stream is the bytes of the segments, one after the other in file order, and each
 * piece learns where in it its own bytes begin:
 *
 *     list 0      [aaaa]          [bb]             (file offsets ->)
 *     list 1            [cccc]           [dddd]
 *     segments    [aaaa cccc]     [bb]   [dddd]
 *     stream      aaaacccc|bb|dddd         pos: a 0, c 4, b 8, d 10
 *
 * Overlapping pieces share positions; which of them lands last is the caller's business.
 */
#ifndef CIO_PLAN_MERGE_H
#define CIO_PLAN_MERGE_H

#include "plan/extent.h"

struct cio_source {
    const cio_extent *ext; /* sorted by offset; may overlap other lists, and itself */
    size_t n;
    int64_t *pos; /* output, may be NULL: stream position of each piece */
};

struct cio_segs {
    cio_extent *e;
    size_t n, cap;
};

/* Bytes of scratch memory that cio_merge() needs for k lists; never 0. */
size_t cio_merge_scratch(int k);

/*
 * Merge k lists. scratch is aligned as malloc() does. segs has room for segs_cap segments; as many
 * as there are pieces is always enough. Empty pieces are ignored, and their pos is unspecified. On
 * success *nsegs is the number of segments and *bytes the length of the stream. On failure segs and
 * pos are unspecified.
 *
 * -ENOSPC  segs_cap is too small
 * -EINVAL  k or a piece is negative, a piece ends beyond INT64_MAX, or a list is not sorted in a
 *          way that would have made a wrong stream
 */
int cio_merge(const struct cio_source *src, int k, void *scratch, cio_extent *segs, size_t segs_cap,
              size_t *nsegs, int64_t *bytes);

#endif
