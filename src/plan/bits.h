/*
 * Sets of positions, as bitmaps in words of the caller: they may live in shared memory. Bits from
 * nbits on in the last word are always 0. Setting is not atomic: writers that share a set need
 * one each, joined by cio_bits_or(), or words apart.
 *
 * For transport a set is coded in runs: a few bytes for what is empty, full or periodic, one or two
 * per lonely bit, and never much more than the bitmap itself.
 */
#ifndef CIO_PLAN_BITS_H
#define CIO_PLAN_BITS_H

#include <stddef.h>
#include <stdint.h>

#define CIO_BITS_PER_WORD 64

/* Number of words for nbits >= 0 bits. */
static inline size_t cio_bits_words(int64_t nbits)
{
    return (size_t)(nbits / CIO_BITS_PER_WORD + (nbits % CIO_BITS_PER_WORD != 0));
}

static inline void cio_bits_set(uint64_t *w, int64_t i)
{
    w[i / CIO_BITS_PER_WORD] |= (uint64_t)1 << i % CIO_BITS_PER_WORD;
}

static inline int cio_bits_test(const uint64_t *w, int64_t i)
{
    return w[i / CIO_BITS_PER_WORD] >> i % CIO_BITS_PER_WORD & 1;
}

/* What cio_bits_set_range() leaves to a call: ranges over more than two words, and empty ones. */
void cio_bits_set_long(uint64_t *w, int64_t lo, int64_t hi);

/*
 * Set the bits of [lo, hi). Short ranges lie in one word or two, and asking which would be
 * mispredicted too often: both are written, `apart` being 0 if they are one and all ones otherwise.
 */
static inline void cio_bits_set_range(uint64_t *w, int64_t lo, int64_t hi)
{
    uint64_t a = (uint64_t)lo / CIO_BITS_PER_WORD, b = (uint64_t)(hi - 1) / CIO_BITS_PER_WORD;
    uint64_t from = ~(uint64_t)0 << (uint64_t)lo % CIO_BITS_PER_WORD;
    uint64_t below = ~(uint64_t)0 >> -(uint64_t)hi % CIO_BITS_PER_WORD;
    uint64_t apart = a - b, first, last;

    if (b - a > 1) {
        cio_bits_set_long(w, lo, hi);
        return;
    }
    first = w[a] | (from & (below | apart));
    last = w[b] | (below & (from | apart));
    w[a] = first;
    w[b] = last;
}

/* Add the bits of src to dst. */
void cio_bits_or(uint64_t *dst, const uint64_t *src, int64_t nbits);

/* Number of bits set. */
int64_t cio_bits_count(const uint64_t *w, int64_t nbits);

/* First bit set that is >= i >= 0; -1 if none. */
int64_t cio_bits_next(const uint64_t *w, int64_t nbits, int64_t i);

/* Last bit set; -1 if none. */
int64_t cio_bits_last(const uint64_t *w, int64_t nbits);

/* Bytes that the code of nbits bits needs at worst. */
size_t cio_bits_bound(int64_t nbits);

/* Encode into buf, which holds cio_bits_bound(nbits) bytes. Returns the bytes used. */
size_t cio_bits_encode(const uint64_t *w, int64_t nbits, void *buf);

/*
 * Add the bits of a coded set to w. -EBADMSG if the code is malformed or is not that of nbits bits;
 * w is then as it was. Safe on any bytes.
 */
int cio_bits_decode_or(const void *buf, size_t size, int64_t nbits, uint64_t *w);

/* A set that owns its words; pass its w to the functions above. */
struct cio_bits {
    int64_t nbits;
    uint64_t w[];
};

/* An empty set, the caller's until cio_bits_destroy(). -EINVAL (nbits < 0), -ENOMEM. */
int cio_bits_create(int64_t nbits, struct cio_bits **out);
void cio_bits_destroy(struct cio_bits *b);

#endif
