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

/* ---- layouts ---- */

static int64_t targets_of(const struct cio_domain_spec *s, int i)
{
    int32_t targets = s->layout->component[i].targets;

    return targets ? targets : s->naggr;
}

static int64_t end_of(const struct cio_layout *l, int i)
{
    return i == l->n - 1 ? CIO_DOMAIN_OFFSET_MAX : l->component[i].end;
}

static int component_of(const struct cio_layout *l, int64_t off)
{
    int i = 0;

    while (off >= end_of(l, i))
        i++;
    return i;
}

/* Writers for each target: what the component of most targets allows. */
static int64_t writers_per_target(const struct cio_domain_spec *s)
{
    int64_t most = 1;

    for (int i = 0; i < s->layout->n; i++)
        most = targets_of(s, i) > most ? targets_of(s, i) : most;
    return s->naggr / most > 1 ? s->naggr / most : 1;
}

/* The definition, word for word, with a layout. */
static int layout_owner(const struct cio_domain_spec *s, int64_t off)
{
    int i = component_of(s->layout, off);
    int64_t size = s->kind == CIO_DOMAIN_EVEN ? 1 : s->layout->component[i].stripe;
    int64_t lo = cio_max64(s->lo, s->layout->component[i].start);
    int64_t hi = cio_min64(s->hi, end_of(s->layout, i));
    int64_t a = s->naggr, c = targets_of(s, i), m = writers_per_target(s), before = 0, w;
    int64_t stripe = off / size, first = lo / size, n = (hi - 1) / size - first + 1;
    int64_t objects = s->layout->component[i].count, uneven = objects % c != 0;

    if (!is_cyclic(s))
        return part_by_counting(n, s->naggr, stripe - first);
    for (int j = 0; j < i; j++)
        before += a < targets_of(s, j) ? a : m * targets_of(s, j);
    if (a < c)
        w = stripe % (uneven ? objects : c) % a;
    else if (s->kind == CIO_DOMAIN_CYCLIC)
        w = uneven ? stripe % objects % c : stripe % (m * c);
    else
        w = part_by_counting(n, (int)m, stripe - first) * c + stripe % (uneven ? objects : c) % c;
    return (int)((w + before) % a);
}

/* Where a round that ends must: at its component's end, and in the cyclic kinds at a stripe's. */
static int stays_inside(const struct cio_domain_spec *s, int64_t off, int64_t len)
{
    int i = component_of(s->layout, off);
    int64_t stripe = s->layout->component[i].stripe;

    return off + len <= end_of(s->layout, i) &&
           (!is_cyclic(s) || off / stripe == (off + len - 1) / stripe);
}

static void check_layout_positions(const struct cio_domain_spec *s, const struct cio_domains *d,
                                   int aggr, int *seen)
{
    int64_t n = cio_domains_positions(d, aggr), least = s->lo;

    for (int64_t pos = 0; pos < n; pos++) {
        int64_t off, len, back_pos, end;
        int back;

        cio_domains_range(d, aggr, pos, &off, &len);
        CHECK(len >= 0 && len <= s->unit);
        if (len == 0)
            continue;
        CHECK(off >= least && off + len <= s->hi && stays_inside(s, off, len));
        least = off + len;
        for (int64_t b = off; b < off + len; b++) {
            seen[b - s->lo]++;
            cio_domains_locate(d, b, &back, &back_pos, &end);
            CHECK(back == aggr && back_pos == pos && end == off + len);
            CHECK(layout_owner(s, b) == aggr);
        }
    }
}

/* No component begins, for any aggregator, before all are through with the one before it. */
static void check_order(const struct cio_domain_spec *s, const struct cio_domains *d)
{
    int64_t pos, end, most = -1, first = 0;
    int aggr, component = -1;

    for (int64_t b = s->lo; b < s->hi; b++) {
        int i = component_of(s->layout, b);

        cio_domains_locate(d, b, &aggr, &pos, &end);
        if (i != component)
            first = most;
        component = i;
        CHECK(pos > first);
        most = cio_max64(most, pos);
    }
}

static void print_layout_spec(const struct cio_domain_spec *s)
{
    char text[CIO_LAYOUT_TEXT_MAX];

    cio_layout_text(s->layout, text, sizeof(text));
    fprintf(stderr, "kind %d [%" PRId64 ",%" PRId64 ") A=%d unit=%" PRId64 " %s\n", s->kind, s->lo,
            s->hi, s->naggr, s->unit, text);
}

static void check_layout_kinds(struct cio_domain_spec s)
{
    struct cio_domains d, copy;

    for (int k = 0; k < 4; k++) {
        int seen[SPAN] = {0};
        long before = check_failures;

        s.kind = kinds[k];
        CHECK(cio_domains_init(&s, &d) == 0);
        copy = d;
        memset(&d, 0xff, sizeof(d));
        for (int a = 0; a < s.naggr; a++)
            check_layout_positions(&s, &copy, a, seen);
        for (int64_t b = 0; b < s.hi - s.lo; b++)
            CHECK(seen[b] == 1);
        check_order(&s, &copy);
        if (check_failures > before)
            print_layout_spec(&s);
    }
}

static void add(struct cio_layout *l, int64_t end, int64_t stripe, int count, int targets)
{
    struct cio_component c = {.start = l->n ? l->component[l->n - 1].end : 0,
                              .end = end,
                              .stripe = stripe,
                              .count = count,
                              .targets = targets};

    CHECK(cio_layout_add(l, &c) == NULL);
}

/* Five components, of 1, 3, 4, 7 (prime) and 6 targets with two stripes on each. */
static struct cio_layout five_components(void)
{
    struct cio_layout l;

    cio_layout_init(&l);
    add(&l, 16, 8, 1, 1);
    add(&l, 64, 8, 3, 3);
    add(&l, 160, 16, 4, 4);
    add(&l, 300, 10, 7, 7);
    add(&l, CIO_LAYOUT_EOF, 20, 12, 6);
    return l;
}

static void test_five_components(void)
{
    static const int64_t bounds[] = {0, 5, 16, 17, 63, 64, 100, 160, 215, 299, 300, 333, 500};
    struct cio_layout l = five_components();

    for (int i = 0; i < 13; i++)
        for (int j = i; j < 13; j++)
            for (int a = 1; a <= 15; a++)
                for (int64_t unit = 1; unit <= 32; unit = unit * 3 + 1)
                    check_layout_kinds((struct cio_domain_spec){
                        .lo = bounds[i], .hi = bounds[j], .naggr = a, .unit = unit, .layout = &l});
}

/* 8 objects on 3 targets, and 5 on 4: a target has one writer if there are so many aggregators. */
static void test_uneven(void)
{
    struct cio_layout l;
    struct cio_domain_spec s = {.kind = CIO_DOMAIN_CYCLIC, .hi = 500, .unit = 10, .layout = &l};
    struct cio_domains d;

    cio_layout_init(&l);
    add(&l, 200, 10, 8, 3);
    add(&l, CIO_LAYOUT_EOF, 10, 5, 4);
    for (s.naggr = 1; s.naggr <= 10; s.naggr++) {
        int writer[2][4] = {{-1, -1, -1, -1}, {-1, -1, -1, -1}};

        check_layout_kinds(s);
        s.kind = CIO_DOMAIN_CYCLIC;
        CHECK(cio_domains_init(&s, &d) == 0);
        for (int64_t off = 0; s.naggr >= 4 && off < 500; off += 10) {
            int i = off >= 200, target = i ? off / 10 % 5 % 4 : off / 10 % 8 % 3, aggr;
            int64_t pos, end;

            cio_domains_locate(&d, off, &aggr, &pos, &end);
            CHECK(writer[i][target] < 0 || writer[i][target] == aggr);
            writer[i][target] = aggr;
        }
    }
}

/* Numbers by hand: 7 aggregators, of which components take 1, 3, 4, 7 and 6, in turn. */
static void test_five_exactly(void)
{
    static const struct {
        int64_t off;
        int aggr;
        int64_t pos, end;
    } expected[] = {
        {0, 0, 0, 8},      {8, 0, 1, 16},     {16, 3, 2, 24},    {24, 1, 3, 32},
        {56, 2, 4, 64},    {64, 4, 5, 80},    {80, 5, 5, 96},    {96, 6, 5, 112},
        {112, 0, 5, 128},  {144, 5, 6, 160},  {160, 3, 7, 170},  {170, 4, 7, 180},
        {200, 0, 7, 210},  {210, 1, 8, 220},  {299, 2, 9, 300},  {300, 4, 10, 320},
        {320, 5, 10, 340}, {340, 6, 10, 360}, {360, 1, 11, 380}, {380, 2, 11, 400},
    };
    struct cio_layout l = five_components();
    struct cio_domain_spec s = {
        .kind = CIO_DOMAIN_CYCLIC, .hi = 500, .naggr = 7, .unit = 20, .layout = &l};
    struct cio_domains d;
    int64_t pos, end;
    int aggr;

    CHECK(cio_domains_init(&s, &d) == 0);
    for (size_t i = 0; i < sizeof(expected) / sizeof(expected[0]); i++) {
        cio_domains_locate(&d, expected[i].off, &aggr, &pos, &end);
        if (!CHECK(aggr == expected[i].aggr && pos == expected[i].pos && end == expected[i].end))
            fprintf(stderr, "%" PRId64 ": %d %" PRId64 " %" PRId64 "\n", expected[i].off, aggr, pos,
                    end);
    }
}

/*
 * One writer for each target of each component, as long as aggregators are not a multiple of the
 * largest number of targets; and the same one whatever the range.
 */
static void test_one_writer(void)
{
    struct cio_layout l = five_components();

    for (int a = 1; a < 14; a++) {
        int writer[5][8];

        memset(writer, 0xff, sizeof(writer));
        for (int64_t lo = 0; lo < 400; lo += 37) {
            struct cio_domain_spec s = {.kind = CIO_DOMAIN_CYCLIC,
                                        .lo = lo,
                                        .hi = 500,
                                        .naggr = a,
                                        .unit = 7,
                                        .layout = &l};
            struct cio_domains d;
            int64_t pos, end;
            int aggr;

            CHECK(cio_domains_init(&s, &d) == 0);
            for (int64_t b = lo; b < 500; b++) {
                int i = component_of(&l, b);
                const struct cio_component *c = &l.component[i];
                int64_t target = b / c->stripe % c->count % c->targets;

                cio_domains_locate(&d, b, &aggr, &pos, &end);
                if (writer[i][target] < 0)
                    writer[i][target] = aggr;
                CHECK(writer[i][target] == aggr);
            }
        }
    }
}

/* One component that is not overstriped: what stripe and stripe_count gave, position by position.
 */
static void test_single_component(uint64_t *rng)
{
    struct cio_layout l;
    struct cio_domain_spec plain = {.lo = check_between(rng, 0, 1000),
                                    .naggr = (int)check_between(rng, 1, 20),
                                    .stripe = check_between(rng, 1, 100),
                                    .stripe_count = check_between(rng, 0, 20),
                                    .unit = check_between(rng, 1, 120)},
                           with;

    plain.hi = plain.lo + check_between(rng, 0, 1000);
    plain.kind = kinds[check_between(rng, 0, 3)];
    cio_layout_init(&l);
    add(&l, CIO_LAYOUT_EOF, plain.stripe, (int)plain.stripe_count, (int)plain.stripe_count);
    with = plain;
    with.layout = &l;
    with.stripe = with.stripe_count = 0;

    struct cio_domains d, e;
    CHECK(cio_domains_init(&plain, &d) == 0 && cio_domains_init(&with, &e) == 0);
    for (int a = 0; a < plain.naggr; a++) {
        int64_t n = cio_domains_positions(&d, a), off[2], len[2];

        CHECK(cio_domains_positions(&e, a) == n);
        for (int64_t pos = 0; pos < n; pos++) {
            cio_domains_range(&d, a, pos, &off[0], &len[0]);
            cio_domains_range(&e, a, pos, &off[1], &len[1]);
            CHECK(off[0] == off[1] && len[0] == len[1]);
        }
    }
    for (int64_t b = plain.lo; b < plain.hi; b += 3) {
        int64_t pos[2], end[2];
        int aggr[2];

        cio_domains_locate(&d, b, &aggr[0], &pos[0], &end[0]);
        cio_domains_locate(&e, b, &aggr[1], &pos[1], &end[1]);
        CHECK(aggr[0] == aggr[1] && pos[0] == pos[1] && end[0] == end[1]);
    }
}

static struct cio_layout random_layout(uint64_t *rng, int64_t base)
{
    int n = (int)check_between(rng, 1, 6);
    struct cio_layout l;

    cio_layout_init(&l);
    for (int i = 0; i < n; i++) {
        int over = (int)check_between(rng, 1, 3), targets = (int)check_between(rng, 0, 13);
        int64_t start = i ? l.component[i - 1].end : base;

        add(&l, check_between(rng, start + 1, start + SPAN / 3), check_between(rng, 1, 40),
            over * targets, targets);
    }
    return l;
}

static void test_random_layout(uint64_t *rng)
{
    static const int64_t bases[] = {0, (int64_t)1 << 40, CIO_DOMAIN_OFFSET_MAX - 10 * SPAN};
    int64_t base = bases[check_between(rng, 0, 2)];
    struct cio_layout l = random_layout(rng, base);
    int64_t lo = base + check_between(rng, 0, SPAN);

    check_layout_kinds((struct cio_domain_spec){.lo = lo,
                                                .hi = lo + check_between(rng, 0, SPAN),
                                                .naggr = (int)check_between(rng, 1, MAX_AGGR),
                                                .unit = check_between(rng, 1, 50),
                                                .layout = &l});
}

/* Real sizes: bytes here and there, and the greatest values of everything. */
static void test_huge_layout(uint64_t *rng)
{
    struct cio_domain_spec s = {.lo = random_size(rng, 0)};
    struct cio_layout l;
    struct cio_domains d;

    cio_layout_init(&l);
    for (int i = 0; i < CIO_LAYOUT_COMPONENTS; i++) {
        int64_t start = i ? l.component[i - 1].end : 0, room = CIO_DOMAIN_OFFSET_MAX - start;
        int count = (int)(random_size(rng, 1) % CIO_LAYOUT_COUNT_MAX) + 1;

        add(&l, start + 1 + (int64_t)(check_random(rng) % (uint64_t)room) / 4,
            random_size(rng, 1) % CIO_LAYOUT_STRIPE_MAX + 1, count, count);
    }
    s.hi = check_between(rng, s.lo + 1, CIO_DOMAIN_OFFSET_MAX);
    s.naggr = ((int)random_size(rng, 1) & INT32_MAX) | 1;
    s.unit = random_size(rng, 1);
    s.layout = &l;
    for (int k = 0; k < 4; k++) {
        s.kind = kinds[k];
        CHECK(cio_domains_init(&s, &d) == 0);
        for (int i = 0; i < 10; i++) {
            int64_t b = i == 0 ? s.lo : i == 1 ? s.hi - 1 : check_between(rng, s.lo, s.hi - 1);
            int64_t pos, end, off, len;
            int aggr;

            cio_domains_locate(&d, b, &aggr, &pos, &end);
            CHECK(aggr >= 0 && aggr < s.naggr && pos >= 0 && pos < cio_domains_positions(&d, aggr));
            cio_domains_range(&d, aggr, pos, &off, &len);
            CHECK(off <= b && b < off + len && end == off + len && stays_inside(&s, off, len));
            CHECK(off >= s.lo && end <= s.hi && len <= s.unit);
        }
    }
}

static void test_bad_layout(void)
{
    struct cio_layout l = five_components();
    struct cio_domain_spec s = {.hi = 10, .naggr = 1, .unit = 1, .layout = &l};
    struct cio_domains d;

    l.component[2].start++;
    CHECK(cio_domains_init(&s, &d) == -EINVAL);
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
    test_bad_layout();
    test_uneven();
    test_five_exactly();
    test_one_writer();
    test_five_components();
    for (int i = 0; i < 1000; i++) {
        test_random(&rng);
        test_single_component(&rng);
        test_random_layout(&rng);
        test_huge_layout(&rng);
    }
    for (int i = 0; i < 20000; i++)
        test_huge(&rng);
    return check_done("test_domain");
}
