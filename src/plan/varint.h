/*
 * Variable-length integers of the metadata codes: 7 bits per byte, least significant first, the
 * high bit set on all bytes but the last. Values are below 2^63, so at most 9 bytes.
 */
#ifndef CIO_PLAN_VARINT_H
#define CIO_PLAN_VARINT_H

#include <stddef.h>
#include <stdint.h>

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

#endif
