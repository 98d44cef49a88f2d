/*
 * Orders of random patterns: permutations, first-finish against a plain one, and how far each is
 * from the best schedule there is. Prints that as a table, which is in doc/scheduling.md.
 *
 *     test_order_random [instances [processes stripes]]     of each kind, default 300, of 10 and 12
 */
#include "instances.h"

enum { KINDS = 6 };

static const char *const kind_names[KINDS] = {"offset", "MDF",          "LW-MDF",
                                              "GW-MDF", "first-finish", "refined"};

static void find_busiest(const struct instance *in, uint32_t *busiest)
{
    memset(busiest, 0, (size_t)in->ranks * sizeof(*busiest));
    for (int a = 0; a < in->aggrs; a++)
        cio_order_busiest(in->patterns[a], busiest);
}

static void make_order(const struct instance *in, int kind, int a, uint32_t *order)
{
    uint32_t v[INSTANCE_RANKS];

    switch (kind) {
    case 1:
        CHECK(cio_order_mdf(in->patterns[a], order) == 0);
        break;
    case 2:
        CHECK(cio_order_lw_mdf(in->patterns[a], order) == 0);
        break;
    case 3:
        find_busiest(in, v);
        CHECK(cio_order_gw_mdf(in->patterns[a], v, order) == 0);
        break;
    case 4:
        CHECK(cio_order_first_finish(in->patterns, in->aggrs, NULL, v) == 0);
        CHECK(cio_order_by_process(in->patterns[a], v, order) == 0);
        break;
    case 5:
        CHECK(cio_order_first_finish(in->patterns, in->aggrs, NULL, v) == 0);
        CHECK(cio_order_refine(in->patterns, in->aggrs, NULL, v) == 0);
        CHECK(cio_order_by_process(in->patterns[a], v, order) == 0);
        break;
    default:
        for (int i = 0; i < in->npos[a]; i++)
            order[i] = (uint32_t)i;
    }
}

static int is_permutation(const uint32_t *order, int n)
{
    uint64_t seen = 0;

    for (int i = 0; i < n; i++)
        seen |= order[i] < 64 ? (uint64_t)1 << order[i] : 0;
    return seen == (n == 64 ? ~(uint64_t)0 : ((uint64_t)1 << n) - 1);
}

/* When each process returns, plainly. */
static int64_t plain_response(const struct instance *in, int r, const uint32_t (*orders)[64])
{
    int64_t latest = 0;

    for (int a = 0; a < in->aggrs; a++) {
        uint64_t all = 0;
        int64_t now = 0;

        for (int q = 0; q < in->ranks; q++)
            all |= in->touch[q][a];
        for (int i = 0; i < in->npos[a]; i++) {
            now += all >> orders[a][i] & 1;
            if (in->touch[r][a] >> orders[a][i] & 1 && now > latest)
                latest = now;
        }
    }
    return latest;
}

/* Sum of the responses. */
static int64_t evaluate(const struct instance *in, int kind)
{
    uint32_t response[INSTANCE_RANKS] = {0}, orders[INSTANCE_AGGRS][64];
    int64_t sum = 0;

    for (int a = 0; a < in->aggrs; a++) {
        make_order(in, kind, a, orders[a]);
        CHECK(is_permutation(orders[a], in->npos[a]));
        CHECK(cio_respond(in->patterns[a], kind ? orders[a] : NULL, response) == 0);
    }
    for (int r = 0; r < in->ranks; r++) {
        CHECK(response[r] == plain_response(in, r, (const uint32_t(*)[64])orders));
        sum += response[r];
    }
    return sum;
}

/* ---- first-finish, plainly: all is counted anew for each process that is looked at ---- */

struct plain {
    const struct instance *in;
    uint64_t placed[INSTANCE_AGGRS];
    int done[INSTANCE_RANKS];
    uint32_t *ranking;
    int n;
};

static int plain_left(const struct plain *p, int r)
{
    int sum = 0;

    for (int a = 0; a < p->in->aggrs; a++)
        sum += __builtin_popcountll(p->in->touch[r][a] & ~p->placed[a]);
    return sum;
}

static int plain_finish(const struct plain *p, int r)
{
    int latest = 0;

    for (int a = 0; a < p->in->aggrs; a++) {
        uint64_t mine = p->in->touch[r][a];
        int t = __builtin_popcountll(p->placed[a] | mine);

        if (mine & ~p->placed[a] && t > latest)
            latest = t;
    }
    return latest;
}

static double plain_company(const struct instance *in, int r)
{
    int sum = 0, count = 0;

    for (int a = 0; a < in->aggrs; a++) {
        count += __builtin_popcountll(in->touch[r][a]);
        for (int q = 0; q < in->ranks; q++)
            sum += __builtin_popcountll(in->touch[r][a] & in->touch[q][a]);
    }
    return count ? (float)sum / (float)count : 0;
}

/* Whether a comes before b, given what was left of each. */
static int plain_before(const struct instance *in, const int *left, int a, int b)
{
    double x = plain_company(in, a), y = plain_company(in, b);

    if (left[a] != left[b])
        return left[a] < left[b];
    return x > y || (x >= y && a < b);
}

static void plain_step(struct plain *p, int now)
{
    int left[INSTANCE_RANKS], tried[INSTANCE_RANKS] = {0};

    for (int r = 0; r < p->in->ranks; r++)
        left[r] = plain_left(p, r);
    for (int i = 0; i < p->in->ranks; i++) {
        int best = -1;

        for (int r = 0; r < p->in->ranks; r++)
            if (!p->done[r] && !tried[r] && (best < 0 || plain_before(p->in, left, r, best)))
                best = r;
        if (best < 0)
            return;
        tried[best] = 1;
        if (plain_finish(p, best) > now)
            continue;
        p->done[best] = 1;
        p->ranking[p->n++] = (uint32_t)best;
        for (int a = 0; a < p->in->aggrs; a++)
            p->placed[a] |= p->in->touch[best][a];
    }
}

static void test_first_finish(const struct instance *in)
{
    uint32_t ranking[INSTANCE_RANKS], expected[INSTANCE_RANKS];
    struct plain p = {.in = in, .ranking = expected};

    for (int now = 0; p.n < in->ranks; now++)
        plain_step(&p, now);
    CHECK(cio_order_first_finish(in->patterns, in->aggrs, NULL, ranking) == 0);
    CHECK(!memcmp(ranking, expected, (size_t)in->ranks * sizeof(*ranking)));
}

/* ---- the optimum ---- */

static void swap(uint32_t *a, uint32_t *b)
{
    uint32_t t = *a;

    *a = *b;
    *b = t;
}

static int next_permutation(uint32_t *v, int n)
{
    int i = n - 2, j = n - 1;

    while (i >= 0 && v[i] > v[i + 1])
        i--;
    if (i < 0)
        return 0;
    while (v[j] < v[i])
        j--;
    swap(&v[i], &v[j]);
    for (int a = i + 1, b = n - 1; a < b; a++, b--)
        swap(&v[a], &v[b]);
    return 1;
}

static int64_t sum_of(const struct instance *in, const uint32_t (*orders)[64])
{
    int64_t sum = 0;

    for (int r = 0; r < in->ranks; r++)
        sum += plain_response(in, r, orders);
    return sum;
}

static int64_t sum_of_ranking(const struct instance *in, const uint32_t *ranking)
{
    uint32_t orders[INSTANCE_AGGRS][64];

    for (int a = 0; a < in->aggrs; a++) {
        CHECK(cio_order_by_process(in->patterns[a], ranking, orders[a]) == 0);
        CHECK(is_permutation(orders[a], in->npos[a]));
    }
    return sum_of(in, (const uint32_t(*)[64])orders);
}

/* What the optimum is found by holds: all orders of all stripes of two aggregators. */
static void test_optimum(uint64_t *rng)
{
    uint32_t orders[INSTANCE_AGGRS][64];
    struct instance in;
    int64_t best = INT64_MAX, sum;

    instance_random(&in, rng, (int)check_between(rng, 1, 5), 2, 4);
    for (int i = 0; i < 4; i++)
        orders[0][i] = (uint32_t)i;
    do {
        for (int i = 0; i < 4; i++)
            orders[1][i] = (uint32_t)i;
        do {
            sum = sum_of(&in, (const uint32_t(*)[64])orders);
            best = sum < best ? sum : best;
        } while (next_permutation(orders[1], 4));
    } while (next_permutation(orders[0], 4));
    CHECK(instance_optimum(&in) == best);
    instance_end(&in);
}

/* Refining makes no ranking worse, whatever it was, and that of few processes the best. */
static void test_refine(uint64_t rng, const struct instance *in)
{
    uint32_t ranking[INSTANCE_RANKS];
    int64_t before, after;

    for (int i = 0; i < in->ranks; i++)
        ranking[i] = (uint32_t)i;
    for (int i = in->ranks - 1; i > 0; i--)
        swap(&ranking[i], &ranking[check_between(&rng, 0, i)]);
    before = sum_of_ranking(in, ranking);
    CHECK(cio_order_refine(in->patterns, in->aggrs, NULL, ranking) == 0);
    after = sum_of_ranking(in, ranking);
    CHECK(after <= before);
    if (in->ranks <= 8)
        CHECK(after == instance_optimum(in));
}

struct gap {
    double sum, worst;
    int optimal;
};

static void add_gap(struct gap *g, int64_t sum, int64_t optimum)
{
    double over = optimum ? (double)sum / (double)optimum - 1 : 0;

    g->sum += over;
    g->worst = over > g->worst ? over : g->worst;
    g->optimal += sum == optimum;
}

static void print_gaps(const char *name, const struct gap *g, int n)
{
    printf("%s, %d instances: over the optimum in the mean, at worst; share optimal\n", name, n);
    for (int k = 0; k < KINDS; k++)
        printf("    %-13s %6.2f %% %6.1f %% %6.1f %%\n", kind_names[k], 100 * g[k].sum / n,
               100 * g[k].worst, 100.0 * g[k].optimal / n);
}

typedef void instance_fn(struct instance *, uint64_t *, int, int, int);

/* Instances, and the ranks and stripes of an aggregator in each. */
struct gap_size {
    int instances, ranks, stripes;
};

/* No order beats the optimum; first-finish comes nearer to it than others, refined still nearer. */
static void test_gaps(uint64_t *rng, const char *name, instance_fn *make,
                      const struct gap_size *size)
{
    int n = size->instances;
    struct gap gaps[KINDS] = {{0, 0, 0}};

    for (int i = 0; i < n; i++) {
        struct instance in;
        int64_t optimum;

        make(&in, rng, size->ranks, 3, size->stripes);
        optimum = instance_optimum(&in);
        for (int k = 0; k < KINDS; k++) {
            int64_t sum = evaluate(&in, k);

            CHECK(sum >= optimum);
            add_gap(&gaps[k], sum, optimum);
        }
        instance_end(&in);
    }
    print_gaps(name, gaps, n);
    for (int k = 0; k < KINDS - 1; k++)
        CHECK(gaps[KINDS - 1].sum < gaps[k].sum && gaps[KINDS - 2].sum <= gaps[k].sum);
    CHECK(gaps[KINDS - 2].sum < 0.06 * n && gaps[KINDS - 2].worst < 0.4);
    CHECK(gaps[KINDS - 1].sum < 0.005 * n && gaps[KINDS - 1].worst < 0.2);
}

/* ---- steps of more than one stripe-time ---- */

static void test_long_steps(uint64_t *rng)
{
    enum { RANKS = 64, NPOS = 50000 };
    struct cio_pattern *p;
    uint64_t *bits = calloc(NPOS / 64 + 1, sizeof(*bits));
    uint32_t ranking[RANKS], *order = malloc(NPOS * sizeof(*order));
    uint32_t by_offset[RANKS] = {0}, by_ranking[RANKS] = {0};
    uint64_t seen = 0;

    CHECK(cio_pattern_create(RANKS, NPOS, &p) == 0);
    for (int r = 0; r < RANKS; r++) {
        memset(bits, 0, (NPOS / 64 + 1) * sizeof(*bits));
        for (int64_t i = check_between(rng, 1, 2000); i > 0; i--) {
            int64_t at = check_between(rng, 0, NPOS - 1);

            bits[at / 64] |= (uint64_t)1 << at % 64;
        }
        CHECK(cio_pattern_add(p, r, bits) == 0);
    }
    CHECK(cio_order_first_finish(&p, 1, NULL, ranking) == 0);
    for (int r = 0; r < RANKS; r++)
        seen |= (uint64_t)1 << ranking[r];
    CHECK(seen == ~(uint64_t)0);
    CHECK(cio_order_by_process(p, ranking, order) == 0);
    CHECK(cio_respond(p, NULL, by_offset) == 0 && cio_respond(p, order, by_ranking) == 0);
    CHECK(cio_response_of(by_ranking, RANKS).max == cio_response_of(by_offset, RANKS).max);
    CHECK(cio_response_of(by_ranking, RANKS).mean < 0.6 * cio_response_of(by_offset, RANKS).mean);
    cio_pattern_destroy(p);
    free(order);
    free(bits);
}

/* Where everybody needs everything, every order has the same responses. */
static void test_nothing_to_win(void)
{
    struct instance in = {.ranks = 6, .aggrs = 2, .npos = {9, 7}};

    for (int r = 0; r < 6; r++) {
        in.touch[r][0] = 0x1ff;
        in.touch[r][1] = 0x7f;
    }
    instance_begin(&in);
    for (int k = 0; k < KINDS; k++)
        CHECK(evaluate(&in, k) == 6 * 9);
    instance_end(&in);
}

int main(int argc, char **argv)
{
    struct gap_size size = {.instances = argc > 1 ? atoi(argv[1]) : 300,
                            .ranks = argc > 2 ? atoi(argv[2]) : 10,
                            .stripes = argc > 3 ? atoi(argv[3]) : 12};
    uint64_t rng = check_seed();

    for (int i = 0; i < 500; i++) {
        struct instance in;
        instance_fn *make = i % 2 ? instance_random : instance_parts;

        make(&in, &rng, (int)check_between(&rng, 1, INSTANCE_RANKS),
             (int)check_between(&rng, 1, INSTANCE_AGGRS), (int)check_between(&rng, 1, 64));
        test_first_finish(&in);
        test_refine(rng, &in);
        for (int k = 0; k < KINDS; k++)
            evaluate(&in, k);
        instance_end(&in);
    }
    for (int i = 0; i < 100; i++)
        test_optimum(&rng);
    test_gaps(&rng, "random sets", instance_random, &size);
    test_gaps(&rng, "runs of stripes", instance_parts, &size);
    test_long_steps(&rng);
    test_nothing_to_win();
    return check_done("test_order_random");
}
