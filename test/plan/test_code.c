/* The code of extents: round trips, exact sizes, and refusal of what is malformed. */
#include "check.h"

#include <errno.h>
#include <string.h>

#include "lists.h"
#include "plan/code.h"

enum { MAX = 400, MOST_COMPARED = 3000 };

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

/*
 * cio_decode_some() must say what cio_decode_next() says, whatever the message, and stay within
 * cap. Returns the common verdict; 1 if it is not reached after MOST_COMPARED extents.
 */
static int compare_some(struct cio_decoder one, struct cio_decoder many, int cap)
{
    cio_extent *e = malloc((size_t)cap * sizeof(*e)), x;
    int total = 0, n, rc = 1;

    while ((n = cio_decode_some(&many, e, cap)) > 0 && total < MOST_COMPARED) {
        if (!CHECK(n <= cap))
            break;
        for (int i = 0; i < n; i++)
            CHECK(cio_decode_next(&one, &x) == 1 && x.off == e[i].off && x.len == e[i].len);
        total += n;
    }
    if (n <= 0) {
        rc = cio_decode_next(&one, &x);
        CHECK(rc == n);
        CHECK(cio_decode_some(&many, e, cap) == n);
        CHECK(cio_decode_next(&many, &x) == n);
    }
    free(e);
    return rc;
}

/* With all caps, from a copy of the exact size: the address sanitizer sees what is read beyond. */
static int check_some(const uint8_t *buf, size_t size, int64_t base, int64_t lo, int64_t hi)
{
    static const int caps[] = {1, 2, 7, 256};
    uint8_t *exact = malloc(size + !size);
    struct cio_decoder d;
    int rc, begun;

    memcpy(exact, buf, size);
    rc = begun = cio_decode_begin(&d, exact, size, base, lo, hi);
    for (size_t i = 0; begun == 0 && i < sizeof(caps) / sizeof(*caps); i++)
        rc = compare_some(d, d, caps[i]);
    free(exact);
    return rc;
}

/* Well-formed, then with each kind of damage. */
static void check_some_damaged(uint64_t *rng, const cio_extent *e, size_t n, int64_t base)
{
    uint8_t *buf = malloc(cio_code_bound(n));
    size_t size = cio_code_encode(e, n, base, buf);
    int64_t end = n ? cio_extent_end(e[n - 1]) : base, range = end - base;

    CHECK(check_some(buf, size, base, base, end) == 0);
    CHECK(check_some(buf, size, base, 0, INT64_MAX) == 0);
    CHECK(check_some(buf, size, INT64_MAX - range, 0, INT64_MAX) == 0);
    if (n >= 3) {
        CHECK(check_some(buf, size, base, base, end - 1) == -EBADMSG);
        CHECK(check_some(buf, size, base, e[0].off + 1, end) == -EBADMSG);
        CHECK(check_some(buf, size, INT64_MAX - range + 1, 0, INT64_MAX) == -EBADMSG);
        CHECK(check_some(buf, size, INT64_MAX - range / 2 - 1, 0, INT64_MAX) == -EBADMSG);
    }
    for (int i = 0; i < 8; i++)
        CHECK(check_some(buf, check_random(rng) % size, base, base, end) == -EBADMSG);
    for (int i = 0; i < 16; i++) {
        uint8_t *at = buf + check_random(rng) % size, was = *at;

        *at = (uint8_t)(i % 2 ? check_random(rng) : *at ^ 1u << check_random(rng) % 8);
        check_some(buf, size, base, base, end);
        *at = was;
    }
    free(buf);
}

/* n extents of at least gap and len, which may be up to twice that. */
static void irregular(uint64_t *rng, cio_extent *e, size_t n, int64_t gap, int64_t len)
{
    int64_t at = 0;

    for (size_t i = 0; i < n; i++) {
        at += check_between(rng, gap, 2 * gap);
        e[i] = (cio_extent){at, check_between(rng, len, 2 * len)};
        at += e[i].len;
    }
}

/* Gaps and lengths of 1 to 6 bytes. */
static void test_some(uint64_t *rng)
{
    cio_extent e[MAX];

    for (int gap_bits = 0; gap_bits < 42; gap_bits += 3) {
        for (int len_bits = 0; len_bits < 42; len_bits += 3) {
            irregular(rng, e, 100, (int64_t)1 << gap_bits, (int64_t)1 << len_bits);
            check_some_damaged(rng, e, 100, 0);
            for (int i = 0; i < 100; i++)
                e[i].len = (int64_t)1 << len_bits;
            check_some_damaged(rng, e, 100, 0);
        }
    }
}

/* A block of n gaps of `width` bytes, the last one 1, and lengths 3; or one length if so asked. */
static size_t block_message(uint8_t *buf, int n, int width, int one_length)
{
    uint8_t *p = buf;

    *p++ = (uint8_t)n;
    *p++ = (uint8_t)(3 * n);
    *p++ = (uint8_t)(n * 4 + one_length);
    if (one_length)
        *p++ = 3;
    for (int i = 0; i < n; i++) {
        for (int k = 1; k < width; k++)
            *p++ = 0x80;
        *p++ = 1;
        if (!one_length)
            *p++ = 3;
    }
    return (size_t)(p - buf);
}

/* An overlong gap or a length of 0 is found wherever it stands. */
static void test_some_overlong(void)
{
    enum { N = 31 };
    uint8_t buf[4 + 10 * N];

    for (int i = 0; i < 2 * 9 * N; i++) {
        int one_length = i % 2, width = 1 + i / 2 % 9, k = i / 18, step = width + !one_length;
        size_t size = block_message(buf, N, width, one_length);
        uint8_t *gap = buf + 3 + one_length + k * step, *end = gap + width - 1;

        CHECK(check_some(buf, size, 0, 0, INT64_MAX) == 0);
        *end = 0;
        CHECK(check_some(buf, size, 0, 0, INT64_MAX) == (width > 1 ? -EBADMSG : 0));
        *end = 1;
        *(one_length ? buf + 3 : end + 1) = 0;
        CHECK(check_some(buf, size, 0, 0, INT64_MAX) == -EBADMSG);
    }
}

/* The sum of four lengths of 2^62 is 0 modulo 2^64. */
static void test_some_overflow(void)
{
    static const uint8_t buf[] = "\5\377\377\377\377\377\377\377\377\177\25"
                                 "\200\200\200\200\200\200\200\200\100\0\0\0\0\0\0\0\0\0\0\0\0";

    CHECK(check_some(buf, sizeof(buf), 0, 0, INT64_MAX) == -EBADMSG);
}

/* The longest lots, and the whole at once. */
static void test_some_long(uint64_t *rng)
{
    enum { N = 20000 };
    cio_extent *e = malloc(N * sizeof(*e)), *got = malloc(N * sizeof(*got));
    uint8_t *buf = malloc(cio_code_bound(N));
    struct cio_decoder d;
    size_t size, n = 0;

    for (int64_t gap = 1; gap < 1 << 24; gap <<= 4) {
        irregular(rng, e, N, gap, 20);
        size = cio_code_encode(e, N, 0, buf);
        CHECK(cio_decode_begin(&d, buf, size, 0, 0, INT64_MAX) == 0);
        CHECK(cio_decode_some(&d, got, N) == N && !memcmp(e, got, N * sizeof(*e)));
        CHECK(cio_decode_some(&d, got, N) == 0);
        CHECK(cio_decode_begin(&d, buf, size, 0, 0, INT64_MAX) == 0);
        memset(got, 0, N * sizeof(*got));
        CHECK(cio_decode_all(&d, got, N, &n) == 0 && n == N && !memcmp(e, got, N * sizeof(*e)));
    }
    free(e);
    free(got);
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

/*
 * Where a block ends and the next begins: 5 extents of different lengths, `before` of one length at
 * uneven gaps and then `strided` at even ones, all gaps and lengths of one byte.
 */
static size_t size_of_stretches(int before, int strided)
{
    cio_extent e[60];
    int64_t at = 0;
    int n = 0;

    for (int i = 0; i < 5; i++, at += 50)
        e[n++] = (cio_extent){at, 2 + i};
    for (int i = 0; i < before; i++, at += 20 + i * i % 7)
        e[n++] = (cio_extent){at, 9};
    for (int i = 0; i < strided; i++, at += 40)
        e[n++] = (cio_extent){at, 9};
    return coded_size(e, (size_t)n);
}

static void test_block_choice(void)
{
    const size_t totals = 2 + 1, five = 1 + 2 * 5, run = 1 + 3;

    CHECK(size_of_stretches(0, 0) == totals - 1 + five);
    CHECK(size_of_stretches(7, 0) == totals - 1 + five + 2 * 7);
    CHECK(size_of_stretches(8, 0) == totals - 1 + five + 2 + 8);
    CHECK(size_of_stretches(0, 3) == totals - 1 + five + 2 * 3);
    CHECK(size_of_stretches(0, 4) == totals - 1 + five + run);
    CHECK(size_of_stretches(0, 30) == totals + five + run);
    CHECK(size_of_stretches(3, 4) == totals - 1 + five + 2 * 3 + run);
    CHECK(size_of_stretches(3, 5) == totals - 1 + five + 2 + 3 + run);
    CHECK(size_of_stretches(20, 20) == totals + five + 2 + 20 + run);
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
    test_block_choice();
    test_extremes();
    test_messages();
    test_sticky();
    test_no_surplus();
    test_no_space();
    test_some(&rng);
    test_some_overlong();
    test_some_overflow();
    test_some_long(&rng);
    for (int i = 0; i < 1000; i++) {
        size_t n = (size_t)check_between(&rng, 0, check_between(&rng, 1, MAX));
        int64_t base = lists_number(&rng, 40);

        lists_mixed(&rng, e, n, base, (int)check_between(&rng, 1, 52));
        check_round_trip(e, n, base);
        check_some_damaged(&rng, e, n, base);
    }
    return check_done("test_code");
}
