/* The code of extents: round trips, exact sizes, and refusal of what is malformed. */
#include "check.h"

#include <errno.h>
#include <string.h>

#include "lists.h"
#include "plan/code.h"

enum { MAX = 400 };

static int decode(const void *buf, size_t size, int64_t base, int64_t lo, int64_t hi, cio_extent *e,
                  size_t *n)
{
    struct cio_decoder d;
    int rc = cio_decode_begin(&d, buf, size, base, lo, hi);

    return rc ? rc : cio_decode_all(&d, e, MAX, n);
}

static void check_round_trip(const cio_extent *e, size_t n, int64_t base)
{
    uint8_t *buf = malloc(cio_code_bound(n)), *exact;
    int64_t end = n ? cio_extent_end(e[n - 1]) : base;
    cio_extent got[MAX];
    size_t m = 0, size = cio_code_encode(e, n, base, buf);

    CHECK(size <= cio_code_bound(n));
    CHECK(size <= cio_code_bound_range(n, end - base));
    exact = malloc(size);
    memcpy(exact, buf, size);
    CHECK(decode(exact, size, base, n ? e[0].off : base, end, got, &m) == 0);
    CHECK(m == n && (n == 0 || !memcmp(e, got, n * sizeof(*e))));
    if (n > 0) {
        CHECK(decode(exact, size, base, e[0].off + 1, end, got, &m) == -EBADMSG);
        CHECK(decode(exact, size, base, base, end - 1, got, &m) != 0);
    }
    free(exact);
    for (size_t cut = 0; cut < size; cut++)
        CHECK(decode(buf, cut, base, base, end, got, &m) == -EBADMSG);
    free(buf);
}

static size_t coded_size(const cio_extent *e, size_t n)
{
    uint8_t *buf = malloc(cio_code_bound(n));
    size_t size = cio_code_encode(e, n, 0, buf);

    free(buf);
    return size;
}

static void test_sizes(void)
{
    enum { N = 100000 };
    cio_extent *e = malloc(N * sizeof(*e));
    uint64_t rng = 1;
    int64_t at = 0;

    CHECK(coded_size(e, 0) == 2);
    for (size_t i = 0; i < N; i++)
        e[i] = (cio_extent){(int64_t)i * 100 + 7, 8};
    CHECK(coded_size(e, N) == 3 + 3 + 3 + 1 + 1 + 1);
    for (size_t i = 0; i < N; i++) {
        e[i] = (cio_extent){at + check_between(&rng, 0, 127), check_between(&rng, 1, 127)};
        at = cio_extent_end(e[i]);
    }
    CHECK(coded_size(e, N) < 2 * N + N / 1000);
    for (size_t i = 0; i < N; i++) {
        at += check_between(&rng, 0, 127);
        e[i] = (cio_extent){at, 16};
        at += 16;
    }
    CHECK(coded_size(e, N) < N + N / 1000);
    free(e);
}

static void test_extremes(void)
{
    cio_extent one[] = {{INT64_MAX - 1, 1}}, all[] = {{0, INT64_MAX}};
    cio_extent far[] = {{0, 1}, {INT64_MAX / 2, INT64_MAX / 2}};
    const int64_t quarter = INT64_MAX / 4;
    cio_extent run[] = {{9, 1}, {9 + quarter, 1}, {9 + 2 * quarter, 1}, {9 + 3 * quarter, 1}};
    struct cio_decoder d;

    check_round_trip(one, 1, 0);
    check_round_trip(one, 1, INT64_MAX - 1);
    check_round_trip(all, 1, 0);
    check_round_trip(far, 2, 0);
    check_round_trip(run, 4, 0);
    check_round_trip(NULL, 0, 0);
    CHECK(cio_decode_begin(&d, "\0\0", 2, 0, 5, 4) == -EINVAL);
    CHECK(cio_decode_begin(&d, "\0\0", 2, 6, 0, 5) == -EINVAL);
    CHECK(cio_decode_begin(&d, "\0\0", 2, -1, 0, 5) == -EINVAL);
}

struct message {
    const char *what;
    size_t size;
    const char *bytes;
};

/* All are decoded with base 0 in [0, 100). */
static const struct message well_formed[] = {
    {"one piece", 5, "\1\5\4\2\5"},
    {"two blocks", 8, "\2\6\4\2\5\4\0\1"},
    {"one length", 6, "\2\12\11\5\3\4"},
    {"strided", 6, "\3\6\16\2\1\5"},
    {"strided to the end", 6, "\5\12\26\2\12\24"},
};

static const struct message malformed[] = {
    {"nothing", 0, ""},
    {"totals cut", 1, "\0"},
    {"bytes announced without extents", 2, "\0\1"},
    {"more extents than bytes", 5, "\2\1\4\2\5"},
    {"more bytes than the range", 3, "\1\145\4"},
    {"wrong byte total", 5, "\1\6\4\2\5"},
    {"too few bytes announced", 5, "\1\4\4\2\5"},
    {"extent missing", 5, "\2\5\4\2\5"},
    {"trailing byte", 6, "\1\5\4\2\5\0"},
    {"trailing block", 8, "\1\5\4\2\5\4\0\1"},
    {"empty block", 6, "\1\5\0\4\2\5"},
    {"block too large", 7, "\1\5\10\2\5\0\1"},
    {"unknown kind", 5, "\1\5\7\2\5"},
    {"length 0", 8, "\2\5\4\2\5\4\2\0"},
    {"gap beyond the range", 5, "\1\5\4\144\5"},
    {"length beyond the range", 5, "\1\5\4\140\5"},
    {"gap near 2^63", 13, "\1\5\4\377\377\377\377\377\377\377\377\177\5"},
    {"overlong varint", 6, "\1\5\4\202\0\5"},
    {"varint of ten bytes", 14, "\1\5\4\202\200\200\200\200\200\200\200\200\1\5"},
    {"run of one", 6, "\1\2\6\2\1\5"},
    {"run of length 0", 6, "\3\6\16\0\1\5"},
    {"run beyond the range", 6, "\5\12\26\2\13\24"},
    {"run of huge stride", 14, "\3\6\16\2\1\377\377\377\377\377\377\377\377\177"},
};

static void test_messages(void)
{
    cio_extent e[MAX];
    size_t n;

    for (size_t i = 0; i < sizeof(well_formed) / sizeof(*well_formed); i++)
        if (!CHECK(decode(well_formed[i].bytes, well_formed[i].size, 0, 0, 100, e, &n) == 0))
            fprintf(stderr, "refused: %s\n", well_formed[i].what);
    for (size_t i = 0; i < sizeof(malformed) / sizeof(*malformed); i++)
        if (!CHECK(decode(malformed[i].bytes, malformed[i].size, 0, 0, 100, e, &n) == -EBADMSG))
            fprintf(stderr, "accepted: %s\n", malformed[i].what);
}

/* An error is for ever, and leaves *e alone. */
static void test_sticky(void)
{
    struct cio_decoder d;
    cio_extent e = {-1, -1};

    CHECK(cio_decode_begin(&d, "\2\5\4\2\4\4\2\0", 8, 0, 0, 100) == 0);
    CHECK(d.extents == 2 && d.bytes == 5);
    CHECK(cio_decode_next(&d, &e) == 1 && e.off == 2 && e.len == 4);
    for (int i = 0; i < 3; i++)
        CHECK(cio_decode_next(&d, &e) == -EBADMSG && e.off == 2 && e.len == 4);
}

/* Never more extents than announced: who allocated for those must be safe. */
static void test_no_surplus(void)
{
    struct cio_decoder d;
    cio_extent e;

    CHECK(cio_decode_begin(&d, "\1\2\10\0\1\0\1", 7, 0, 0, 100) == 0);
    CHECK(d.extents == 1 && cio_decode_next(&d, &e) == -EBADMSG);
}

static void test_no_space(void)
{
    struct cio_decoder d;
    cio_extent e[3];
    size_t n = 99;

    CHECK(cio_decode_begin(&d, well_formed[3].bytes, 6, 0, 0, 100) == 0);
    CHECK(cio_decode_all(&d, e, 2, &n) == -ENOSPC && n == 99);
    CHECK(cio_decode_all(&d, e, 3, &n) == 0 && n == 3);
    CHECK(cio_decode_next(&d, e) == 0);
}

int main(void)
{
    uint64_t rng = check_seed();
    cio_extent e[MAX];

    test_sizes();
    test_extremes();
    test_messages();
    test_sticky();
    test_no_surplus();
    test_no_space();
    for (int i = 0; i < 1000; i++) {
        size_t n = (size_t)check_between(&rng, 0, check_between(&rng, 1, MAX));
        int64_t base = lists_number(&rng, 40);

        lists_mixed(&rng, e, n, base, (int)check_between(&rng, 1, 52));
        check_round_trip(e, n, base);
    }
    return check_done("test_code");
}
