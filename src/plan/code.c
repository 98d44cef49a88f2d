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
#include <limits.h>

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

/*
 * Index of the first extent, not e[0], at which a regular block begins; n if none. Seen only when
 * as many extents of one length have passed: bit k of `same` says that the k-th extent back is as
 * long as the one before it. A branch on each of these comparisons would often be mispredicted.
 */
static size_t irregular_prefix(const cio_extent *e, size_t n)
{
    const unsigned strided = (1 << (STRIDED_MIN - 1)) - 1;
    unsigned same = 0;

    for (size_t i = 1; i < n; i++) {
        same = same << 1 | (e[i].len == e[i - 1].len);
        if ((same & strided) == strided) {
            size_t first = i - (size_t)__builtin_ctz(~same); /* of this length */

            if (begins_one_length(e + first, n - first))
                return first;
            if (begins_strided(e + i + 1 - STRIDED_MIN, STRIDED_MIN))
                return i + 1 - STRIDED_MIN;
        }
    }
    return n;
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
    return (struct block){BLOCK_IRREGULAR, irregular_prefix(e, n)};
}

/*
 * A gap and a length. Usually these take 1 or 2 bytes and 1: then without a branch on the gap,
 * whose second byte is overwritten if it has none.
 */
static inline uint8_t *put_extent(uint8_t *p, uint64_t gap, uint64_t len)
{
    uint64_t high = gap >> 7, more = (high + 0x7f) & 0x80;

    if ((high | len) > 0x7f)
        return cio_varint_put(cio_varint_put(p, gap), len);
    p[0] = (uint8_t)(gap | more);
    p[1] = (uint8_t)high;
    p += 1 + (more >> 7);
    *p = (uint8_t)len;
    return p + 1;
}

static uint8_t *put_irregular(uint8_t *p, const cio_extent *e, size_t n, int64_t at)
{
    for (size_t i = 0; i < n; i++) {
        p = put_extent(p, (uint64_t)(e[i].off - at), (uint64_t)e[i].len);
        at = cio_extent_end(e[i]);
    }
    return p;
}

static uint8_t *put_body(uint8_t *p, const cio_extent *e, struct block b, int64_t at)
{
    if (b.kind == BLOCK_IRREGULAR)
        return put_irregular(p, e, b.n, at);
    p = cio_varint_put(p, (uint64_t)e[0].len);
    if (b.kind == BLOCK_STRIDED) {
        p = cio_varint_put(p, (uint64_t)(e[0].off - at));
        return cio_varint_put(p, (uint64_t)(e[1].off - cio_extent_end(e[0])));
    }
    for (size_t i = 0; i < b.n; i++) {
        p = cio_varint_put(p, (uint64_t)(e[i].off - at));
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

/* After a block: 1 if another one begins, 0 at the end. */
static int after_block(struct cio_decoder *d)
{
    if (d->p == d->end && d->extents_left == 0 && d->bytes_left == 0)
        return 0;
    return begin_block(d) ? refuse(d) : 1;
}

/* The next extent of a block that has one. */
static int next_of_block(struct cio_decoder *d, cio_extent *e)
{
    if (d->kind == BLOCK_STRIDED)
        *e = next_of_run(d);
    else if (next_with_gap(d, e))
        return refuse(d);
    d->block_left--;
    return 1;
}

int cio_decode_next(struct cio_decoder *d, cio_extent *e)
{
    int rc = d->block_left > 0 ? 1 : after_block(d);

    return rc > 0 ? next_of_block(d, e) : rc;
}

/*
 * What the loops over many extents keep in registers. They do not look at each extent: whatever is
 * out of range or malformed shows in the sums at the end, and then all is done again with care, to
 * find the extents before it. The sums cannot overflow: fewer than 2^31 extents are decoded at
 * once, and gaps and lengths have up to SHORT_BITS bits.
 */
struct sums {
    uint64_t at, bytes;
    uint64_t wrong; /* top bit: a length of 0 or an overlong varint */
};

#define SHORT_BITS (4 * 7)

static inline void add_extent(struct sums *s, cio_extent *e, uint64_t gap, uint64_t len)
{
    *e = (cio_extent){(int64_t)(s->at + gap), (int64_t)len};
    s->at += gap + len;
    s->bytes += len;
    s->wrong |= len - 1;
}

/* Accept n extents, and input up to p; returns n, or 0 if something is wrong. */
static int settle(struct cio_decoder *d, const uint8_t *p, int n, const struct sums *s)
{
    if (s->wrong >> 63 || s->at > (uint64_t)d->hi || s->bytes > (uint64_t)d->bytes_left) {
        d->careful = 1;
        return 0;
    }
    d->p = p;
    d->at = (int64_t)s->at;
    d->bytes_left -= (int64_t)s->bytes;
    d->block_left -= (uint64_t)n;
    return n;
}

/* The gap and length at the low end of a word. Returns their size, 0 if any takes over 4 bytes. */
static inline int get_extent(uint64_t word, uint64_t *gap, uint64_t *len, uint64_t *wrong)
{
    int a, b;

    if ((word & 0x808080) == 0x80) {
        *gap = (word & 0x7f) | (word >> 1 & 0x3f80);
        *len = word >> 16 & 0x7f;
        *wrong |= *gap - 0x80;
        return 3;
    }
    if ((word & 0x8080) == 0) {
        *gap = word & 0x7f;
        *len = word >> 8 & 0x7f;
        return 2;
    }
    a = cio_varint_get4(word, gap, wrong);
    b = a ? cio_varint_get4(word >> 8 * a, len, wrong) : 0;
    return b ? a + b : 0;
}

static inline int get_gap(uint64_t word, uint64_t *gap, uint64_t *wrong)
{
    if ((word & 0x8080) == 0x80) {
        *gap = (word & 0x7f) | (word >> 1 & 0x3f80);
        *wrong |= *gap - 0x80;
        return 2;
    }
    return cio_varint_get4(word, gap, wrong);
}

static int some_irregular(struct cio_decoder *d, cio_extent *e, int n)
{
    struct sums s = {.at = (uint64_t)d->at};
    const uint8_t *p = d->p, *last = d->end - CIO_VARINT_WORD;
    uint64_t gap, len;
    int i, size;

    for (i = 0; i < n && p <= last; i++) {
        size = get_extent(cio_varint_load(p), &gap, &len, &s.wrong);
        if (!size)
            break;
        p += size;
        add_extent(&s, &e[i], gap, len);
    }
    return settle(d, p, i, &s);
}

static int some_one_length(struct cio_decoder *d, cio_extent *e, int n)
{
    struct sums s = {.at = (uint64_t)d->at};
    const uint8_t *p = d->p, *last = d->end - CIO_VARINT_WORD;
    uint64_t gap, len = (uint64_t)d->len;
    int i, size;

    for (i = 0; i < n && p <= last; i++) {
        size = get_gap(cio_varint_load(p), &gap, &s.wrong);
        if (!size)
            break;
        p += size;
        add_extent(&s, &e[i], gap, len);
    }
    return settle(d, p, i, &s);
}

static int some_of_run(struct cio_decoder *d, cio_extent *e, int n)
{
    for (int i = 0; i < n; i++)
        e[i] = (cio_extent){(int64_t)(d->next + (uint64_t)i * d->stride), d->len};
    d->next += (uint64_t)n * d->stride;
    d->at = cio_extent_end(e[n - 1]);
    d->block_left -= (uint64_t)n;
    return n;
}

/*
 * As many extents as the fast loops can take, up to cap; maybe none. The block's first was already
 * decoded, so that nothing here can be below lo.
 */
static int some_of_block(struct cio_decoder *d, cio_extent *e, int cap)
{
    int n = (int)cio_min64(cap, (int64_t)d->block_left);

    if (d->kind == BLOCK_STRIDED)
        return some_of_run(d, e, n);
    if (d->careful || d->len >> SHORT_BITS)
        return 0;
    if (d->end - d->p < CIO_VARINT_WORD)
        return 0;
    return d->kind == BLOCK_IRREGULAR ? some_irregular(d, e, n) : some_one_length(d, e, n);
}

int cio_decode_some(struct cio_decoder *d, cio_extent *e, int cap)
{
    int n = 0, rc = 1;

    while (n < cap && rc > 0) {
        int k = d->block_left > 0 ? some_of_block(d, e + n, cap - n) : 0;

        if (k == 0) {
            rc = cio_decode_next(d, &e[n]);
            k = rc > 0;
        }
        n += k;
    }
    return n > 0 ? n : rc;
}

int cio_decode_all(struct cio_decoder *d, cio_extent *e, size_t cap, size_t *n)
{
    cio_extent none;
    size_t i = 0;
    int rc = 1;

    if (d->extents > cap)
        return -ENOSPC;
    while (rc > 0 && i < d->extents) {
        rc = cio_decode_some(d, e + i, (int)cio_min64((int64_t)(d->extents - i), INT_MAX));
        i += rc > 0 ? (size_t)rc : 0;
    }
    if (rc > 0)
        rc = cio_decode_next(d, &none);
    if (rc == 0)
        *n = i;
    return rc;
}
