/* Sets of positions: against an array of bytes, and their code: round trips, sizes, refusals. */
#include "check.h"

#include <errno.h>
#include <string.h>

#include "plan/bits.h"
#include "plan/extent.h"

enum { MAX_BITS = 2000, MAX_WORDS = (MAX_BITS + 63) / 64 };

static void check_same(const uint64_t *w, const char *map, int64_t nbits)
{
    int64_t next = -1, last = -1, count = 0;

    for (int64_t i = nbits - 1; i >= 0; i--) {
        next = map[i] ? i : next;
        last = last < 0 ? next : last;
        count += map[i];
        CHECK(cio_bits_test(w, i) == map[i]);
        CHECK(cio_bits_next(w, nbits, i) == next);
    }
    CHECK(cio_bits_count(w, nbits) == count);
    CHECK(cio_bits_last(w, nbits) == last);
    CHECK(cio_bits_next(w, nbits, nbits) == -1);
}

static void test_against_map(uint64_t *rng)
{
    uint64_t w[MAX_WORDS] = {0}, other[MAX_WORDS] = {0};
    char map[MAX_BITS] = {0};
    int64_t nbits = check_between(rng, 1, 300);

    for (int64_t i = check_between(rng, 0, 20); i > 0; i--) {
        int64_t lo = check_between(rng, 0, nbits), hi = check_between(rng, lo, nbits);

        if (check_random(rng) % 2)
            hi = lo + (lo < nbits);
        cio_bits_set_range(check_random(rng) % 2 ? w : other, lo, hi);
        memset(map + lo, 1, (size_t)(hi - lo));
    }
    if (nbits > 5) {
        cio_bits_set(w, 5);
        map[5] = 1;
    }
    cio_bits_or(w, other, nbits);
    check_same(w, map, nbits);
}

static int all_same(const uint64_t *w, const uint64_t *before, int64_t lo, int64_t hi,
                    int64_t nbits)
{
    int same = 1;

    for (int64_t i = 0; i < nbits; i++)
        same &= cio_bits_test(w, i) == (cio_bits_test(before, i) || (lo <= i && i < hi));
    return same;
}

/* Every range of a few words, which are all there is: a sanitizer sees what is touched beyond. */
static void test_every_range(uint64_t *rng)
{
    enum { BITS = 4 * 64 };
    uint64_t before[4];

    for (int64_t hi = 0; hi <= BITS; hi++) {
        size_t bytes = cio_bits_words(hi) * sizeof(uint64_t);
        uint64_t *w = malloc(bytes + !bytes);

        for (int64_t lo = 0; lo <= hi; lo++) {
            for (int k = 0; k < 4; k++)
                before[k] = lo % 2 ? check_random(rng) & check_random(rng) & check_random(rng) : 0;
            memcpy(w, before, bytes);
            cio_bits_set_range(w, lo, hi);
            CHECK(all_same(w, before, lo, hi, (int64_t)bytes * 8));
        }
        free(w);
    }
}

/* Words before and after are left alone. */
static void test_range_guards(uint64_t *rng)
{
    for (int i = 0; i < 100000; i++) {
        uint64_t w[8] = {0}, before[8] = {0};
        int64_t lo = check_between(rng, 0, 256), hi = check_between(rng, lo, 256);

        hi = i % 4 ? cio_min64(hi, lo + check_between(rng, 0, 64)) : hi;
        cio_bits_set_range(w + 2, lo, hi);
        CHECK(all_same(w, before, 2 * 64 + lo, 2 * 64 + hi, 8 * 64));
    }
}

/* Stretches of noise of any density, runs, periods and silence. */
static void random_set(uint64_t *rng, uint64_t *w, int64_t nbits)
{
    for (int64_t at = 0; at < nbits;) {
        int64_t end = at + check_between(rng, 1, check_between(rng, 1, 700));
        int64_t period = check_between(rng, 1, 80), ones = check_between(rng, 1, period);
        uint64_t density = check_random(rng) % 256;
        int kind = (int)check_between(rng, 0, 3);

        end = end < nbits ? end : nbits;
        for (int64_t i = at; i < end; i++)
            if ((kind == 0 && check_random(rng) % 256 < density) || kind == 1 ||
                (kind == 2 && (i - at) % period < ones))
                cio_bits_set(w, i);
        at = end;
    }
}

static size_t check_round_trip(const uint64_t *w, int64_t nbits)
{
    size_t bound = cio_bits_bound(nbits), words = cio_bits_words(nbits), size;
    uint8_t *buf = malloc(bound);
    uint64_t *got = calloc(words + 1, sizeof(*got));

    size = cio_bits_encode(w, nbits, buf);
    CHECK(size <= bound);
    CHECK(cio_bits_decode_or(buf, size, nbits, got) == 0);
    CHECK(words == 0 || !memcmp(w, got, words * sizeof(*w)));
    CHECK(cio_bits_decode_or(buf, size, nbits + 1, got) == -EBADMSG);
    CHECK(cio_bits_decode_or(buf, 0, nbits, got) == -EBADMSG);
    free(buf);
    free(got);
    return size;
}

static void test_random_code(uint64_t *rng)
{
    uint64_t w[MAX_WORDS] = {0};
    int64_t nbits = check_between(rng, 0, check_between(rng, 1, MAX_BITS));

    random_set(rng, w, nbits);
    check_round_trip(w, nbits);
}

/* Sets of every period, the worst densities, and the cost of each. */
static void test_sizes(uint64_t *rng)
{
    const int64_t nbits = 1000000;
    struct cio_bits *b;
    int64_t n = 0;

    CHECK(cio_bits_create(-1, &b) == -EINVAL);
    CHECK(cio_bits_create(nbits, &b) == 0 && b->nbits == nbits);
    CHECK(check_round_trip(b->w, nbits) == 3);
    cio_bits_set_range(b->w, 0, nbits);
    CHECK(check_round_trip(b->w, nbits) <= 8);
    cio_bits_destroy(b);
    for (int64_t period = 2; period < 200; period += 7) {
        CHECK(cio_bits_create(nbits, &b) == 0);
        for (int64_t i = 3; i < nbits; i += period)
            cio_bits_set(b->w, i);
        CHECK(check_round_trip(b->w, nbits) <= 16);
        cio_bits_destroy(b);
    }
    for (int64_t gap = 1; gap < 100; gap += 3) {
        CHECK(cio_bits_create(nbits, &b) == 0);
        for (int64_t i = 0; i < nbits; i += check_between(rng, 1, 2 * gap))
            cio_bits_set(b->w, i);
        n = cio_bits_count(b->w, nbits);
        CHECK(check_round_trip(b->w, nbits) < (size_t)(gap > 32 ? 2 * n : nbits / 8 * 5 / 4));
        cio_bits_destroy(b);
    }
}

struct message {
    const char *what;
    size_t size;
    const char *bytes;
};

/* All are decoded as sets of 100 bits. */
static const struct message malformed[] = {
    {"nothing", 0, ""},
    {"another size", 1, "\143"},
    {"bit beyond the end", 3, "\144\220\3"},
    {"run beyond the end", 3, "\144\1\145"},
    {"run of length 0", 3, "\144\5\0"},
    {"run cut short", 2, "\144\5"},
    {"period beyond the end", 4, "\144\6\4\25"},
    {"period of count 0", 4, "\144\6\4\0"},
    {"period of huge count", 12, "\144\6\4\377\377\377\377\377\377\377\377\177"},
    {"period of huge length", 12, "\144\6\377\377\377\377\377\377\377\377\177\1"},
    {"overlong varint", 3, "\144\204\0"},
    {"no raw words", 3, "\144\3\0"},
    {"raw words cut short", 10, "\144\3\1abcdefg"},
    {"raw words beyond the end", 27, "\144\3\3abcdefghabcdefghabcdefgh"},
    {"raw words skipping beyond", 11, "\144\13\1abcdefgh"},
    {"raw bits beyond the end", 11, "\144\7\1\0\0\0\0\20\0\0\0"},
};

static void test_messages(void)
{
    static const char good[] = "\144\7\1\0\0\0\0\10\0\0\0", late[] = "\144\0\220\3";
    uint64_t w[2] = {1, 2};

    for (size_t i = 0; i < sizeof(malformed) / sizeof(*malformed); i++)
        if (!CHECK(cio_bits_decode_or(malformed[i].bytes, malformed[i].size, 100, w) == -EBADMSG))
            fprintf(stderr, "accepted: %s\n", malformed[i].what);
    CHECK(cio_bits_decode_or(late, 4, 100, w) == -EBADMSG);
    CHECK(w[0] == 1 && w[1] == 2);
    CHECK(cio_bits_decode_or(good, 11, 100, w) == 0);
    CHECK(w[0] == 1 && w[1] == (2 | (uint64_t)1 << 35));
}

int main(void)
{
    uint64_t rng = check_seed();

    test_messages();
    test_sizes(&rng);
    test_every_range(&rng);
    test_range_guards(&rng);
    for (int i = 0; i < 2000; i++) {
        test_against_map(&rng);
        test_random_code(&rng);
    }
    return check_done("test_bits");
}
