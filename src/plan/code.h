/*
 * Compact code of a list of extents, for metadata that crosses the network.
 *
 * A run of extents with one length and one stride costs a few bytes whatever its count; extents of
 * one length cost their gap each, others their gap and length: 1 and 2 bytes where these are below
 * 128. The message says how many extents and bytes it describes, and the decoder holds it to that.
 */
#ifndef CIO_PLAN_CODE_H
#define CIO_PLAN_CODE_H

#include "plan/extent.h"

/* Bytes that n extents need at worst. */
size_t cio_code_bound(size_t n);

/* The same for extents that lie within `range` bytes of the base. */
size_t cio_code_bound_range(size_t n, int64_t range);

/*
 * Encode a disjoint list into buf, which holds cio_code_bound(n) bytes. Offsets are coded relative
 * to base, 0 <= base <= e[0].off. Returns the bytes used. The list is trusted: cio_extents_check()
 * is the place to refuse a bad one.
 */
size_t cio_code_encode(const cio_extent *e, size_t n, int64_t base, void *buf);

/*
 * A decoder reads from the caller's buffer, which must outlive it, and holds nothing to be freed.
 * After cio_decode_begin() the announced totals may be read; a complete decoding confirms them.
 * They are bounded by the range only: a few bytes can announce as many extents as the range has
 * bytes, so weigh them before allocating.
 */
struct cio_decoder {
    uint64_t extents; /* announced number of extents, */
    int64_t bytes;    /* and sum of their lengths */

    /* private */
    const uint8_t *p, *end; /* unread input */
    int64_t at;             /* end of the last extent */
    int64_t lo, hi;
    uint64_t extents_left; /* not yet in a block */
    int64_t bytes_left;
    uint64_t block_left;   /* extents to come in this block */
    int careful;           /* something to come is malformed: look at each extent */
    int kind;              /* of this block, */
    int64_t len;           /* and its one length */
    uint64_t next, stride; /* offsets of a strided block; one too many is computed */
};

/*
 * Begin to decode size bytes whose extents must lie in [lo, hi). -EINVAL unless
 * 0 <= lo <= hi and 0 <= base <= hi; -EBADMSG if the totals cannot be true.
 */
int cio_decode_begin(struct cio_decoder *d, const void *buf, size_t size, int64_t base, int64_t lo,
                     int64_t hi);

/*
 * Next extent: 1 and *e, 0 at the end of a well-formed message, -EBADMSG if it is malformed (and
 * then for ever). Extents that were delivered are always sorted, disjoint, not empty and in
 * [lo, hi).
 */
int cio_decode_next(struct cio_decoder *d, cio_extent *e);

/*
 * The next extents, up to cap > 0 of them: how many were put into e; otherwise as above. This is
 * the fast way through many small pieces. Extents before something malformed are delivered first,
 * as one by one. What e holds beyond those delivered is unspecified.
 */
int cio_decode_some(struct cio_decoder *d, cio_extent *e, int cap);

/*
 * The whole list, from a decoder on which nothing but cio_decode_begin() was called.
 * -ENOSPC if more than cap extents are announced; -EBADMSG. e is unspecified on failure.
 */
int cio_decode_all(struct cio_decoder *d, cio_extent *e, size_t cap, size_t *n);

#endif
