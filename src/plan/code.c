/*
 * Code of a list of extents. Every field is a varint (varint.h); a gap is the distance from the
 * end of the extent before, or from base for the first one.
 *
 *     message   | extents | bytes | block | block | ...          blocks up to the end of the buffer
 *
 *     block     | count * 4 + kind | body
 *       kind 0    irregular          | gap | len |  gap | len | ...       count times gap, len
 *       kind 1    one length         | len | gap | gap | gap | ...        count times gap
 *       kind 2    length and stride  | len | first gap | gap of all others
 *
 * Gaps are unsigned, so a list that does not rise cannot be written down.
 */
#include "plan/code.h"

#include <errno.h>

#include "plan/varint.h"

enum block_kind { BLOCK_IRREGULAR, BLOCK_ONE_LENGTH, BLOCK_STRIDED };

/* The fewest extents for which the regular kinds are begun. */
#define ONE_LENGTH_MIN 8
#define STRIDED_MIN 4

struct block {
    enum block_kind kind;
    size_t n;
};

size_t cio_code_bound(size_t n)
{
    /* gap, length and a byte of block header each; the totals */
    return n * (2 * CIO_VARINT_MAX + 1) + 2 * CIO_VARINT_MAX;
}

size_t cio_code_bound_range(size_t n, int64_t range)
{
    size_t width = 1;

    while (width < CIO_VARINT_MAX && range >> (7 * width) > 0)
        width++;
    return n * (2 * width + 1) + 2 * CIO_VARINT_MAX;
}

/* How many of the first n extents have the first one's length and, if asked, stride. */
static size_t regular_prefix(const cio_extent *e, size_t n, int strided)
{
    size_t i = 1;

    while (i < n && e[i].len == e[0].len &&
           (!strided || e[i].off - e[i - 1].off == e[1].off - e[0].off))
        i++;
    return i;
}

static int begins_strided(const cio_extent *e, size_t n)
{
    return n >= STRIDED_MIN && regular_prefix(e, STRIDED_MIN, 1) == STRIDED_MIN;
}

static int begins_one_length(const cio_extent *e, size_t n)
{
    return n >= ONE_LENGTH_MIN && regular_prefix(e, ONE_LENGTH_MIN, 0) == ONE_LENGTH_MIN;
}

static struct block next_block(const cio_extent *e, size_t n)
{
    size_t i = 1;

    if (begins_strided(e, n))
        return (struct block){BLOCK_STRIDED, regular_prefix(e, n, 1)};
    if (begins_one_length(e, n)) {
        while (i < n && e[i].len == e[0].len && !begins_strided(e + i, n - i))
            i++;
        return (struct block){BLOCK_ONE_LENGTH, i};
    }
    while (i < n && !begins_strided(e + i, n - i) && !begins_one_length(e + i, n - i))
        i++;
    return (struct block){BLOCK_IRREGULAR, i};
}

static uint8_t *put_body(uint8_t *p, const cio_extent *e, struct block b, int64_t at)
{
    if (b.kind != BLOCK_IRREGULAR)
        p = cio_varint_put(p, (uint64_t)e[0].len);
    if (b.kind == BLOCK_STRIDED) {
        p = cio_varint_put(p, (uint64_t)(e[0].off - at));
        return cio_varint_put(p, (uint64_t)(e[1].off - cio_extent_end(e[0])));
    }
    for (size_t i = 0; i < b.n; i++) {
        p = cio_varint_put(p, (uint64_t)(e[i].off - at));
        if (b.kind == BLOCK_IRREGULAR)
            p = cio_varint_put(p, (uint64_t)e[i].len);
        at = cio_extent_end(e[i]);
    }
    return p;
}

size_t cio_code_encode(const cio_extent *e, size_t n, int64_t base, void *buf)
{
    uint8_t *p = buf;

    p = cio_varint_put(p, n);
    p = cio_varint_put(p, (uint64_t)cio_extents_bytes(e, n));
    for (size_t i = 0; i < n;) {
        struct block b = next_block(e + i, n - i);

        p = cio_varint_put(p, (uint64_t)b.n << 2 | b.kind);
        p = put_body(p, e + i, b, i > 0 ? cio_extent_end(e[i - 1]) : base);
        i += b.n;
    }
    return (size_t)(p - (uint8_t *)buf);
}

int cio_decode_begin(struct cio_decoder *d, const void *buf, size_t size, int64_t base, int64_t lo,
                     int64_t hi)
{
    const uint8_t *p = buf, *end = p + size;
    uint64_t extents, bytes;

    if (lo < 0 || hi < lo || base < 0 || hi < base)
        return -EINVAL;
    p = cio_varint_get(p, end, &extents);
    if (p)
        p = cio_varint_get(p, end, &bytes);
    if (!p || bytes > (uint64_t)(hi - lo) || extents > bytes)
        return -EBADMSG;
    *d = (struct cio_decoder){
        .extents = extents,
        .bytes = (int64_t)bytes,
        .p = p,
        .end = end,
        .at = base,
        .lo = lo,
        .hi = hi,
        .extents_left = extents,
        .bytes_left = (int64_t)bytes,
    };
    return 0;
}

static int get(struct cio_decoder *d, uint64_t *v)
{
    const uint8_t *p = cio_varint_get(d->p, d->end, v);

    if (!p)
        return -EBADMSG;
    d->p = p;
    return 0;
}

/* Whether a gap and n extents of one length and stride fit where the reader is. */
static int run_fits(const struct cio_decoder *d, uint64_t n, uint64_t gap, uint64_t stride)
{
    uint64_t room = (uint64_t)(d->hi - d->at), len = (uint64_t)d->len;

    if (len == 0 || gap > room || len > room - gap)
        return 0;
    if (d->at + (int64_t)gap < d->lo)
        return 0;
    return n - 1 <= (room - gap - len) / stride && n <= (uint64_t)d->bytes_left / len;
}

static int begin_run(struct cio_decoder *d, uint64_t n)
{
    uint64_t gap, step;

    if (n < 2 || get(d, &gap) || get(d, &step))
        return -EBADMSG;
    if (!run_fits(d, n, gap, step + (uint64_t)d->len))
        return -EBADMSG;
    d->next = (uint64_t)d->at + gap;
    d->stride = step + (uint64_t)d->len;
    d->bytes_left -= (int64_t)n * d->len;
    return 0;
}

static int begin_block(struct cio_decoder *d)
{
    uint64_t head, n, len = 0;

    if (get(d, &head))
        return -EBADMSG;
    n = head >> 2;
    d->kind = head & 3;
    if (n == 0 || n > d->extents_left || d->kind > BLOCK_STRIDED)
        return -EBADMSG;
    if (d->kind != BLOCK_IRREGULAR && get(d, &len))
        return -EBADMSG;
    d->len = (int64_t)len;
    if (d->kind == BLOCK_STRIDED && begin_run(d, n))
        return -EBADMSG;
    d->block_left = n;
    d->extents_left -= n;
    return 0;
}

static cio_extent next_of_run(struct cio_decoder *d)
{
    cio_extent e = {(int64_t)d->next, d->len};

    d->next += d->stride;
    d->at = cio_extent_end(e);
    return e;
}

static int next_with_gap(struct cio_decoder *d, cio_extent *e)
{
    uint64_t room = (uint64_t)(d->hi - d->at), gap, len = (uint64_t)d->len;
    const uint8_t *p = cio_varint_get(d->p, d->end, &gap);

    if (p && d->kind == BLOCK_IRREGULAR)
        p = cio_varint_get(p, d->end, &len);
    if (!p || len == 0 || gap > room || len > room - gap)
        return -EBADMSG;
    if (d->at + (int64_t)gap < d->lo || len > (uint64_t)d->bytes_left)
        return -EBADMSG;
    *e = (cio_extent){d->at + (int64_t)gap, (int64_t)len};
    d->p = p;
    d->at = cio_extent_end(*e);
    d->bytes_left -= e->len;
    return 0;
}

/* Make every later call fail too. */
static int refuse(struct cio_decoder *d)
{
    d->p = d->end;
    d->block_left = 0;
    d->extents_left = 1;
    return -EBADMSG;
}

int cio_decode_next(struct cio_decoder *d, cio_extent *e)
{
    if (d->block_left == 0) {
        if (d->p == d->end && d->extents_left == 0 && d->bytes_left == 0)
            return 0;
        if (begin_block(d))
            return refuse(d);
    }
    if (d->kind == BLOCK_STRIDED)
        *e = next_of_run(d);
    else if (next_with_gap(d, e))
        return refuse(d);
    d->block_left--;
    return 1;
}

int cio_decode_all(struct cio_decoder *d, cio_extent *e, size_t cap, size_t *n)
{
    cio_extent x;
    size_t i = 0;
    int rc;

    if (d->extents > cap)
        return -ENOSPC;
    while ((rc = cio_decode_next(d, &x)) > 0)
        e[i++] = x;
    if (rc == 0)
        *n = i;
    return rc;
}
