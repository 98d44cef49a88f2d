/*
 * Vectors of maxima and their code. Every field is a varint (varint.h).
 *
 *     message   | n | run | run | ...                  runs up to the end of the buffer
 *
 *     run       | value * 2 |                          one number
 *               | value * 2 + 1 | more |               the same `more` + 2 times
 */
#include "plan/maxima.h"

#include <errno.h>

#include "plan/varint.h"

#define RUN_BYTES                                                                                  \
    5 /* of one number: 33 bits; a run of two or more is not longer than its numbers */

void cio_maxima_combine(uint32_t *dst, const uint32_t *src, int n)
{
    for (int i = 0; i < n; i++)
        dst[i] = src[i] > dst[i] ? src[i] : dst[i];
}

size_t cio_maxima_bound(int n)
{
    return CIO_VARINT_MAX + RUN_BYTES * (size_t)n;
}

static int run_length(const uint32_t *v, int i, int n)
{
    int end = i + 1;

    while (end < n && v[end] == v[i])
        end++;
    return end - i;
}

size_t cio_maxima_encode(const uint32_t *v, int n, void *buf)
{
    uint8_t *p = cio_varint_put(buf, (uint64_t)n);
    int len;

    for (int i = 0; i < n; i += len) {
        len = run_length(v, i, n);
        p = cio_varint_put(p, (uint64_t)v[i] << 1 | (len > 1));
        if (len > 1)
            p = cio_varint_put(p, (uint64_t)len - 2);
    }
    return (size_t)(p - (uint8_t *)buf);
}

/* The run at p, at most `room` numbers long. Returns what follows it, NULL if it is malformed. */
static const uint8_t *get_run(const uint8_t *p, const uint8_t *end, int room, uint32_t *value,
                              int *len)
{
    uint64_t head, more = 0;

    p = cio_varint_get(p, end, &head);
    if (!p || head >> 33)
        return NULL;
    if (head & 1) {
        p = cio_varint_get(p, end, &more);
        if (!p || more > (uint64_t)room)
            return NULL;
        more++;
    }
    if (more >= (uint64_t)room)
        return NULL;
    *value = (uint32_t)(head >> 1);
    *len = (int)more + 1;
    return p;
}

/* Combine all runs; only check them if dst is NULL. */
static int decode_runs(const uint8_t *p, const uint8_t *end, int n, uint32_t *dst)
{
    uint32_t value;
    int at = 0, len;

    while (p < end) {
        p = get_run(p, end, n - at, &value, &len);
        if (!p)
            return -EBADMSG;
        for (int i = at; dst && i < at + len; i++)
            dst[i] = value > dst[i] ? value : dst[i];
        at += len;
    }
    return at == n ? 0 : -EBADMSG;
}

int cio_maxima_decode_combine(const void *buf, size_t size, int n, uint32_t *dst)
{
    const uint8_t *p = buf, *end = p + size;
    uint64_t count;
    int rc;

    p = cio_varint_get(p, end, &count);
    if (!p || count != (uint64_t)n)
        return -EBADMSG;
    rc = decode_runs(p, end, n, NULL);
    return rc ? rc : decode_runs(p, end, n, dst);
}
