/*
 * Variable-length integers of the metadata codes: 7 bits per byte, least significant first, the
 * high bit set on all bytes but the last. Values are below 2^63, so at most 9 bytes.
 */
#ifndef CIO_PLAN_VARINT_H
#define CIO_PLAN_VARINT_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define CIO_VARINT_MAX 9

static inline uint8_t *cio_varint_put(uint8_t *p, uint64_t v)
{
    while (v >= 0x80) {
        *p++ = (uint8_t)(v | 0x80);
        v >>= 7;
    }
    *p++ = (uint8_t)v;
    return p;
}

/* Returns what follows the integer; NULL if it is cut short, too large, or longer than needed. */
static inline const uint8_t *cio_varint_get(const uint8_t *p, const uint8_t *end, uint64_t *v)
{
    uint64_t x = 0;

    for (int shift = 0; shift < 7 * CIO_VARINT_MAX && p < end; shift += 7) {
        uint8_t b = *p++;

        x |= (uint64_t)(b & 0x7f) << shift;
        if (b < 0x80) {
            if (b == 0 && shift > 0)
                return NULL;
            *v = x;
            return p;
        }
    }
    return NULL;
}

/* Eight bytes as a number, the first one least significant: several varints in one register. */
#define CIO_VARINT_WORD 8

static inline uint64_t cio_varint_load(const uint8_t *p)
{
    uint64_t word;

    memcpy(&word, p, sizeof(word));
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    word = __builtin_bswap64(word);
#endif
    return word;
}

/*
 * The integer of up to 4 bytes at the low end of a word. Returns its size in bytes, 0 if it is
 * longer. Sets the top bit of *wrong if it is longer than needed, so that the caller may look at
 * that once for many.
 */
static inline int cio_varint_get4(uint64_t word, uint64_t *v, uint64_t *wrong)
{
    uint32_t x = (uint32_t)word, last = ~x & 0x80808080;
    int size;

    if (!last)
        return 0;
    size = (__builtin_ctz(last) + 1) / 8;
    x &= (last ^ (last - 1)) & 0x7f7f7f7f;
    x = (x & 0x007f007f) | (x >> 1 & 0x3f803f80);
    x = (x & 0x3fff) | (x >> 2 & 0xfffc000);
    *v = x;
    *wrong |= *v - ((uint64_t)(size > 1) << 7 * (size - 1));
    return size;
}

#endif
