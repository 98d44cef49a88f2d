/*
 * File domains: every byte belongs to one round, the functions are inverses of each other, and
 * each kind gives a byte to whom its definition says, small cases exhaustively.
 */
#include "check.h"

#include <errno.h>
#include <string.h>

#include "plan/domain.h"
#include "plan/extent.h"

enum { SPAN = 512, MAX_AGGR = 16 };

static const enum cio_domain_kind kinds[] = {CIO_DOMAIN_EVEN, CIO_DOMAIN_ALIGNED, CIO_DOMAIN_CYCLIC,
                                             CIO_DOMAIN_GROUP_CYCLIC};

static int is_cyclic(const struct cio_domain_spec *s)
{
    return s->kind == CIO_DOMAIN_CYCLIC || s->kind == CIO_DOMAIN_GROUP_CYCLIC;
}

/* Part of item i when n items are dealt to m parts in order, the first ones getting one more. */
static int part_by_counting(int64_t n, int m, int64_t i)
{
    int j = 0;

    while (i >= n / m + (j < n % m)) {
        i -= n / m + (j < n % m);
        j++;
    }
    return j;
}

/* The definition of who serves the byte at off, word for word. */
static int owner(const struct cio_domain_spec *s, int64_t off)
{
    int64_t size = s->kind == CIO_DOMAIN_EVEN ? 1 : s->stripe ? s->stripe : s->unit;
    int64_t a = s->naggr, c = s->stripe_count ? s->stripe_count : a;
    int64_t stripe = off / size, first = s->lo / size, n = (s->hi - 1) / size - first + 1;

    if (!is_cyclic(s))
        return part_by_counting(n, s->naggr, stripe - first);
    if (a < c)
        return (int)(stripe % c % a);
    if (s->kind == CIO_DOMAIN_CYCLIC)
        return (int)(stripe % (a / c * c));
    return (int)(part_by_counting(n, (int)(a / c), stripe - first) * c + stripe % c);
}

/* A round ends where its aggregator's bytes do, or where the kind says that rounds end. */
static int ends_well(const struct cio_domain_spec *s, int aggr, int64_t off, int64_t len)
{
    int64_t end = off + len, stripe = s->stripe ? s->stripe : s->unit;

    if (end == s->hi || owner(s, end) != aggr)
        return 1;
    if (s->kind == CIO_DOMAIN_EVEN)
        return len == s->unit;
    if (s->kind == CIO_DOMAIN_ALIGNED)
        return end % s->unit == 0;
    return end % stripe % s->unit == 0;
}

/* Walk all positions of one aggregator; mark its bytes, relative to lo, in seen. */
static void check_positions(const struct cio_domain_spec *s, const struct cio_domains *d, int aggr,
                            int *seen)
{
    int64_t n = cio_domains_positions(d, aggr), least = s->lo;

    CHECK(n >= 0);
    for (int64_t pos = 0; pos < n; pos++) {
        int64_t off, len;

        cio_domains_range(d, aggr, pos, &off, &len);
        CHECK(len >= 0 && len <= s->unit);
        if (len == 0)
            continue;
        CHECK(off >= least && off + len <= s->hi);
        CHECK(ends_well(s, aggr, off, len));
        least = off + len;
        for (int64_t b = off; b < off + len; b++) {
            int64_t back_pos, end;
            int back_aggr;

            seen[b - s->lo]++;
            cio_domains_locate(d, b, &back_aggr, &back_pos, &end);
            CHECK(back_aggr == aggr && back_pos == pos && end == off + len);
            CHECK(owner(s, b) == aggr);
        }
    }
}

static void check_spec(const struct cio_domain_spec *s)
{
    int seen[SPAN] = {0};
    struct cio_domains d;
    long before = check_failures;

    CHECK(cio_domains_init(s, &d) == 0);
    for (int a = 0; a < s->naggr; a++)
        check_positions(s, &d, a, seen);
    for (int64_t b = 0; b < s->hi - s->lo; b++)
        CHECK(seen[b] == 1);
    if (check_failures > before)
        fprintf(stderr,
                "kind %d [%" PRId64 ",%" PRId64 ") A=%d S=%" PRId64 " C=%" PRId64 " unit=%" PRId64
                "\n",
                s->kind, s->lo, s->hi, s->naggr, s->stripe, s->stripe_count, s->unit);
}

static void check_kinds(struct cio_domain_spec s)
{
    for (int k = 0; k < 4; k++) {
        s.kind = kinds[k];
        check_spec(&s);
    }
}

static void test_small_cases(void)
{
    static const int64_t ranges[][2] = {{0, 0},  {5, 5},   {0, 1},   {0, 24},
                                        {3, 40}, {17, 18}, {11, 64}, {37, 91}};

    for (int r = 0; r < 8; r++)
        for (int a = 1; a <= 8; a++)
            for (int64_t stripe = 0; stripe <= 6; stripe++)
                for (int64_t count = 0; count <= 7; count++)
                    for (int64_t unit = 1; unit <= 8; unit++)
                        check_kinds((struct cio_domain_spec){.lo = ranges[r][0],
                                                             .hi = ranges[r][1],
                                                             .naggr = a,
                                                             .stripe = stripe,
                                                             .stripe_count = count,
                                                             .unit = unit});
}

/* The same far out: offsets beyond 2^40, up to the limit. */
static void test_random(uint64_t *rng)
{
    static const int64_t bases[] = {0, (int64_t)1 << 40, CIO_DOMAIN_OFFSET_MAX - SPAN};
    int64_t base = bases[check_between(rng, 0, 2)];
    int64_t lo = base + check_between(rng, 0, SPAN);
    struct cio_domain_spec s = {
        .lo = lo,
        .hi = check_between(rng, lo, base + SPAN),
        .naggr = (int)check_between(rng, 1, MAX_AGGR),
        .stripe = check_between(rng, 0, 70),
        .stripe_count = check_between(rng, 0, 23),
        .unit = check_between(rng, 1, 90),
    };

    check_kinds(s);
}

/* Ranges too large to walk: locate and range must agree at random bytes and at both ends. */
static void check_byte(const struct cio_domain_spec *s, const struct cio_domains *d, int64_t b)
{
    int64_t pos, end, off, len;
    int aggr;

    cio_domains_locate(d, b, &aggr, &pos, &end);
    CHECK(aggr >= 0 && aggr < s->naggr);
    CHECK(pos >= 0 && pos < cio_domains_positions(d, aggr));
    cio_domains_range(d, aggr, pos, &off, &len);
    CHECK(off <= b && b < off + len && end == off + len && len <= s->unit);
    CHECK(off >= s->lo && off + len <= s->hi);
    if (is_cyclic(s) && (s->stripe_count > s->naggr || s->kind == CIO_DOMAIN_CYCLIC))
        CHECK(aggr == owner(s, b));
}

static int64_t random_size(uint64_t *rng, int64_t least)
{
    int64_t x = (int64_t)(check_random(rng) >> check_between(rng, 2, 62));

    return x < least ? least : x;
}

static void test_huge(uint64_t *rng)
{
    int64_t lo = random_size(rng, 0);
    struct cio_domain_spec s = {
        .lo = lo,
        .hi = check_between(rng, lo + 1, CIO_DOMAIN_OFFSET_MAX),
        .naggr = (int)random_size(rng, 1) & INT32_MAX,
        .stripe = random_size(rng, 0),
        .stripe_count = random_size(rng, 0),
        .unit = random_size(rng, 1),
    };
    struct cio_domains d;

    s.naggr += !s.naggr;
    for (int k = 0; k < 4; k++) {
        s.kind = kinds[k];
        CHECK(cio_domains_init(&s, &d) == 0);
        check_byte(&s, &d, s.lo);
        check_byte(&s, &d, s.hi - 1);
        for (int i = 0; i < 8; i++)
            check_byte(&s, &d, check_between(rng, s.lo, s.hi - 1));
    }
}

/* The greatest values of everything at once. */
static void test_limits(void)
{
    const int64_t max = CIO_DOMAIN_OFFSET_MAX;
    struct cio_domain_spec s = {.hi = max};
    struct cio_domains d;

    for (int i = 0; i < 64; i++) {
        s.kind = kinds[i % 4];
        s.naggr = i & 4 ? INT32_MAX : 1;
        s.stripe = i & 8 ? max : 1;
        s.stripe_count = i & 16 ? INT64_MAX : 1;
        s.unit = i & 32 ? INT64_MAX : 1;
        CHECK(cio_domains_init(&s, &d) == 0);
        check_byte(&s, &d, 0);
        check_byte(&s, &d, max - 1);
    }
}

/* 7 targets and 3 aggregators: each target has one writer, and each aggregator work. */
static void test_prime(void)
{
    struct cio_domain_spec s = {
        .kind = CIO_DOMAIN_CYCLIC, .hi = 70, .naggr = 3, .stripe = 1, .stripe_count = 7, .unit = 1};
    struct cio_domains d;
    int64_t pos, end;
    int aggr;

    CHECK(cio_domains_init(&s, &d) == 0);
    for (int64_t b = 0; b < 70; b++) {
        cio_domains_locate(&d, b, &aggr, &pos, &end);
        CHECK(aggr == b % 7 % 3);
    }
    CHECK(cio_domains_positions(&d, 0) == 30);
    CHECK(cio_domains_positions(&d, 1) == 20);
    CHECK(cio_domains_positions(&d, 2) == 20);
}

/* Positions are counted from the cycle that contains lo, so leading ones may be empty. */
static void test_first_cycle(void)
{
    struct cio_domain_spec s = {.kind = CIO_DOMAIN_CYCLIC,
                                .lo = 450,
                                .hi = 1000,
                                .naggr = 2,
                                .stripe = 100,
                                .stripe_count = 4,
                                .unit = 40};
    struct cio_domains d;
    int64_t off, len;

    CHECK(cio_domains_init(&s, &d) == 0);
    cio_domains_range(&d, 0, 0, &off, &len);
    CHECK(len == 0);
    cio_domains_range(&d, 0, 1, &off, &len);
    CHECK(off == 450 && len == 30);
    cio_domains_range(&d, 0, 2, &off, &len);
    CHECK(off == 480 && len == 20);
    cio_domains_range(&d, 0, 3, &off, &len);
    CHECK(off == 600 && len == 40);
    CHECK(cio_domains_positions(&d, 0) == 9 && cio_domains_positions(&d, 1) == 9);
}

static void test_refusals(void)
{
    const struct cio_domain_spec good = {.hi = 10, .naggr = 1, .unit = 1};
    struct cio_domain_spec bad[8];
    struct cio_domains d;

    for (int i = 0; i < 8; i++)
        bad[i] = good;
    bad[0].naggr = 0;
    bad[1].unit = 0;
    bad[2].lo = 11;
    bad[3].lo = -1;
    bad[4].hi = CIO_DOMAIN_OFFSET_MAX + 1;
    bad[5].stripe = -1;
    bad[6].stripe_count = -1;
    bad[7].kind = (enum cio_domain_kind)4;
    CHECK(cio_domains_init(&good, &d) == 0);
    for (int i = 0; i < 8; i++)
        CHECK(cio_domains_init(&bad[i], &d) == -EINVAL);
}

int main(void)
{
    uint64_t rng = check_seed();

    test_refusals();
    test_prime();
    test_first_cycle();
    test_limits();
    test_small_cases();
    for (int i = 0; i < 1000; i++)
        test_random(&rng);
    for (int i = 0; i < 20000; i++)
        test_huge(&rng);
    return check_done("test_domain");
}
