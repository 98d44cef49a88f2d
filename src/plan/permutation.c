/*
 * Coded orders. Every field is a varint (varint.h).
 *
 *     code   | positions that are listed | run | run | ...    the others follow them, rising
 *     run    | step, zigzag | how often |                     from the position before, at first -1
 */
#include "plan/permutation.h"

#include <errno.h>

#include "plan/varint.h"

#define NOWHERE UINT32_MAX

size_t cio_permutation_bound(uint32_t n)
{
    return CIO_VARINT_MAX + 10 * (size_t)n;
}

static uint64_t zigzag(int64_t v)
{
    return v < 0 ? 2 * (uint64_t)-v - 1 : 2 * (uint64_t)v;
}

static int64_t unzigzag(uint64_t v)
{
    return v % 2 != 0 ? -(int64_t)(v / 2) - 1 : (int64_t)(v / 2);
}

/* What is left out: the last rising run. */
static uint32_t count_listed(const uint32_t *order, uint32_t n)
{
    while (n > 1 && order[n - 2] < order[n - 1])
        n--;
    return n > 0 ? n - 1 : 0;
}

size_t cio_permutation_encode(const uint32_t *order, uint32_t n, void *buf)
{
    uint32_t listed = count_listed(order, n), i = 0;
    uint8_t *p = cio_varint_put(buf, listed);
    int64_t before = -1;

    while (i < listed) {
        int64_t step = (int64_t)order[i] - before;
        uint32_t times = 0;

        for (; i < listed && (int64_t)order[i] - before == step; i++, times++)
            before = order[i];
        p = cio_varint_put(p, zigzag(step));
        p = cio_varint_put(p, times);
    }
    return (size_t)(p - (uint8_t *)buf);
}

/* What an order is decoded into. */
struct decoder {
    uint32_t n, filled;
    uint32_t *order, *index;
};

static int place(struct decoder *d, int64_t pos)
{
    if (pos < 0 || pos >= d->n || d->index[pos] != NOWHERE)
        return -EBADMSG;
    d->order[d->filled] = (uint32_t)pos;
    d->index[pos] = d->filled++;
    return 0;
}

static int place_run(struct decoder *d, uint32_t listed, int64_t *at, int64_t step, uint64_t times)
{
    int rc = times == 0 || times > listed - d->filled ? -EBADMSG : 0;

    for (; rc == 0 && times > 0; times--) {
        *at += step;
        rc = place(d, *at);
    }
    return rc;
}

static void place_rest(struct decoder *d)
{
    for (uint32_t pos = 0; pos < d->n; pos++)
        if (d->index[pos] == NOWHERE)
            place(d, pos);
}

int cio_permutation_decode(const void *buf, size_t size, uint32_t n, uint32_t *order,
                           uint32_t *index)
{
    const uint8_t *p = buf, *end = p + size;
    struct decoder d = {.n = n, .order = order, .index = index};
    uint64_t listed = 0, step = 0, times = 0;
    int64_t at = -1;

    for (uint32_t i = 0; i < n; i++)
        index[i] = NOWHERE;
    p = cio_varint_get(p, end, &listed);
    if (!p || listed > n)
        return -EBADMSG;
    while (d.filled < listed) {
        p = cio_varint_get(p, end, &step);
        p = p ? cio_varint_get(p, end, &times) : NULL;
        if (!p || step > 2 * (uint64_t)UINT32_MAX ||
            place_run(&d, (uint32_t)listed, &at, unzigzag(step), times) != 0)
            return -EBADMSG;
    }
    place_rest(&d);
    return p == end ? 0 : -EBADMSG;
}
