/*
 * Mutated messages against the decoders of extents and of bit sets. Whatever the bytes, they must
 * stay in bounds, end, and deliver only what they promise; what they accept must survive another
 * round trip.
 *
 *     fuzz_code [iterations]                                  deterministic, see CIO_TEST_SEED
 *     clang -DCIO_LIBFUZZER -fsanitize=fuzzer,address ...     libFuzzer, unbounded
 */
#include "lists.h"

#include <errno.h>
#include <string.h>

#include "plan/bits.h"
#include "plan/code.h"

enum { MAX = 64, RANGE = 1 << 20, NBITS = 1000, MOST_DELIVERED = 4096 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* What comes in lots of up to cap is what comes one by one: n extents, then rc if it is <= 0. */
static void fuzz_some(struct cio_decoder d, int cap, const cio_extent *e, size_t n, int rc)
{
    cio_extent some[256];
    size_t i = 0;
    int k;

    while ((k = cio_decode_some(&d, some, cap)) > 0 && i < n) {
        size_t same = cio_min64(k, (int64_t)(n - i));

        if (!CHECK(k <= cap && !memcmp(some, e + i, same * sizeof(*e))) ||
            !CHECK(same == (size_t)k || rc > 0))
            abort();
        i += same;
    }
    if (rc <= 0 && (!CHECK(i == n) || !CHECK(k == rc)))
        abort();
}

/* Sorted, disjoint, not empty and in the range; and as many as announced. */
static void fuzz_extents(const uint8_t *data, size_t size, int64_t lo, int64_t hi)
{
    static cio_extent e[MOST_DELIVERED], again[MOST_DELIVERED];
    static uint8_t buf[MOST_DELIVERED * 20 + 20];
    struct cio_decoder d, begun;
    size_t n = 0, m = 0;
    int rc = 1;

    if (cio_decode_begin(&d, data, size, 0, lo, hi))
        return;
    begun = d;
    while (n < MOST_DELIVERED && (rc = cio_decode_next(&d, &e[n])) > 0)
        n++;
    if (!CHECK(cio_extents_check(e, n, hi) == 0) || !CHECK(n == 0 || e[0].off >= lo))
        abort();
    if (!CHECK(n <= d.extents))
        abort();
    fuzz_some(begun, 1 + (int)(size % 9), e, n, rc);
    fuzz_some(begun, 256, e, n, rc);
    if (n == MOST_DELIVERED || rc < 0)
        return;
    if (!CHECK(d.extents == n) || !CHECK(d.bytes == cio_extents_bytes(e, n)))
        abort();
    size = cio_code_encode(e, n, 0, buf);
    CHECK(size <= cio_code_bound(n));
    CHECK(cio_decode_begin(&d, buf, size, 0, lo, hi) == 0);
    CHECK(cio_decode_all(&d, again, n, &m) == 0);
    if (!CHECK(m == n) || !CHECK(!memcmp(e, again, n * sizeof(*e))))
        abort();
}

static void fuzz_bits(const uint8_t *data, size_t size)
{
    uint64_t w[(NBITS + 63) / 64] = {0}, again[(NBITS + 63) / 64] = {0};
    static uint8_t buf[NBITS];
    int rc = cio_bits_decode_or(data, size, NBITS, w);

    if (!CHECK(cio_bits_next(w, NBITS, 0) < 0 || rc == 0) ||
        !CHECK(w[NBITS / 64] >> NBITS % 64 == 0))
        abort();
    if (rc)
        return;
    size = cio_bits_encode(w, NBITS, buf);
    if (!CHECK(size <= cio_bits_bound(NBITS)) || !CHECK(size <= sizeof(buf)))
        abort();
    if (!CHECK(!cio_bits_decode_or(buf, size, NBITS, again)) ||
        !CHECK(!memcmp(w, again, sizeof(w))))
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    fuzz_extents(data, size, 0, RANGE);
    fuzz_extents(data, size, 100, INT64_MAX);
    fuzz_bits(data, size);
    return 0;
}

#ifndef CIO_LIBFUZZER

static size_t random_message(uint64_t *rng, uint8_t *buf)
{
    cio_extent e[MAX];
    uint64_t w[(NBITS + 63) / 64] = {0};
    size_t n = (size_t)check_between(rng, 0, MAX);
    int64_t step = check_between(rng, 1, 60);

    if (check_random(rng) % 2) {
        lists_mixed(rng, e, n, 0, (int)check_between(rng, 1, check_random(rng) % 2 ? 20 : 55));
        return cio_code_encode(e, n, 0, buf);
    }
    for (int64_t i = check_between(rng, 0, 300); i < NBITS; i += step) {
        cio_bits_set(w, i);
        step = check_random(rng) % 4 ? step : check_between(rng, 1, 60);
    }
    return cio_bits_encode(w, NBITS, buf);
}

static size_t mutate(uint64_t *rng, uint8_t *buf, size_t size)
{
    size_t at = size ? check_random(rng) % size : 0;

    switch (size ? check_random(rng) % 6 : 0) {
    case 0:
        buf[size] = (uint8_t)check_random(rng);
        return size + 1;
    case 1:
        return at;
    case 2:
        memmove(buf + at, buf + at + 1, size - at - 1);
        return size - 1;
    case 3:
        buf[at] = check_random(rng) % 2 ? 0xff : 0;
        return size;
    case 4:
        buf[at] = (uint8_t)check_random(rng);
        return size;
    default:
        buf[at] ^= (uint8_t)(1 << check_random(rng) % 8);
        return size;
    }
}

/* A copy of the exact size, so that the address sanitizer sees the first byte read beyond. */
static void run_one(const uint8_t *data, size_t size)
{
    uint8_t *exact = malloc(size + !size);

    memcpy(exact, data, size);
    LLVMFuzzerTestOneInput(exact, size);
    free(exact);
}

int main(int argc, char **argv)
{
    long iterations = argc > 1 ? atol(argv[1]) : 100000;
    uint64_t rng = check_seed();
    static uint8_t buf[MAX * 20 + NBITS];

    for (long i = 0; i < iterations; i++) {
        size_t size = random_message(&rng, buf);

        for (int64_t m = check_between(&rng, 0, 6); m > 0; m--)
            size = mutate(&rng, buf, size);
        run_one(buf, size);
    }
    return check_done("fuzz_code");
}

#endif
