/* The orders against the figures of the paper (Jin et al., 2012), exactly. */
#include "instances.h"

#include "plan/maxima.h"

typedef int order_fn(const struct instance *in, int aggr, uint32_t *order);

static int by_offset(const struct instance *in, int aggr, uint32_t *order)
{
    for (int i = 0; i < in->npos[aggr]; i++)
        order[i] = (uint32_t)i;
    return 0;
}

static int by_mdf(const struct instance *in, int aggr, uint32_t *order)
{
    return cio_order_mdf(in->patterns[aggr], order);
}

static int by_lw_mdf(const struct instance *in, int aggr, uint32_t *order)
{
    return cio_order_lw_mdf(in->patterns[aggr], order);
}

/* The counts travel as they would between aggregators. */
static int by_gw_mdf(const struct instance *in, int aggr, uint32_t *order)
{
    uint32_t busiest[INSTANCE_RANKS] = {0};
    uint8_t buf[1024];

    for (int a = 0; a < in->aggrs; a++) {
        uint32_t own[INSTANCE_RANKS] = {0};
        size_t size;

        cio_order_busiest(in->patterns[a], own);
        size = cio_maxima_encode(own, in->ranks, buf);
        CHECK(size <= cio_maxima_bound(in->ranks));
        CHECK(cio_maxima_decode_combine(buf, size, in->ranks, busiest) == 0);
    }
    return cio_order_gw_mdf(in->patterns[aggr], busiest, order);
}

static int by_first_finish(const struct instance *in, int aggr, uint32_t *order)
{
    uint32_t ranking[INSTANCE_RANKS];

    CHECK(cio_order_first_finish(in->patterns, in->aggrs, NULL, ranking) == 0);
    return cio_order_by_process(in->patterns[aggr], ranking, order);
}

/* Sum of the responses, in t. */
static int64_t respond(const struct instance *in, order_fn *fn)
{
    uint32_t response[INSTANCE_RANKS] = {0}, order[64];
    int64_t sum = 0;

    for (int a = 0; a < in->aggrs; a++) {
        CHECK(fn(in, a, order) == 0);
        CHECK(cio_respond(in->patterns[a], order, response) == 0);
    }
    for (int r = 0; r < in->ranks; r++)
        sum += response[r];
    CHECK(cio_response_of(response, in->ranks).mean == (double)sum / in->ranks);
    return sum;
}

static int is_order(const struct instance *in, order_fn *fn, const uint32_t *expected)
{
    uint32_t order[64];

    CHECK(fn(in, 0, order) == 0);
    return !memcmp(order, expected, (size_t)in->npos[0] * sizeof(*order));
}

/* Figure 1: three aggregators, four stripes each of P0, P1 and P2, and then one of P3. */
static void test_figure_1(void)
{
    struct instance in = {.ranks = 4, .aggrs = 3, .npos = {5, 5, 5}};

    for (int a = 0; a < 3; a++)
        for (int r = 0; r < 4; r++)
            in.touch[r][a] = r < 3 ? 0x0f : 0x10;
    instance_begin(&in);
    CHECK(respond(&in, by_offset) == 17); /* 4.25 t */
    CHECK(respond(&in, by_mdf) == 17);
    CHECK(respond(&in, by_lw_mdf) == 16); /* 4 t */
    CHECK(respond(&in, by_gw_mdf) == 16);
    CHECK(respond(&in, by_first_finish) == 16);
    CHECK(instance_optimum(&in) == 16);
    instance_end(&in);
}

/* Figure 2: S0 of P0, then four stripes of P1, P2 and P3, on each of three aggregators. */
static void test_figure_2(void)
{
    struct instance in = {.ranks = 4, .aggrs = 3, .npos = {5, 5, 5}};
    static const uint32_t first[] = {0, 1, 2, 3, 4}, last[] = {1, 2, 3, 4, 0};

    for (int a = 0; a < 3; a++)
        for (int r = 0; r < 4; r++)
            in.touch[r][a] = r == 0 ? 0x01 : 0x1e;
    instance_begin(&in);
    CHECK(is_order(&in, by_mdf, last));
    CHECK(respond(&in, by_mdf) == 17); /* 4.25 t */
    CHECK(is_order(&in, by_lw_mdf, first));
    CHECK(respond(&in, by_lw_mdf) == 16); /* 4 t */
    CHECK(is_order(&in, by_first_finish, first));
    instance_end(&in);
}

/* Figure 3: P0 has two stripes on A0 and six on A1, P1 has four on A0. */
static void test_figure_3(void)
{
    struct instance in = {.ranks = 2, .aggrs = 2, .npos = {6, 6}};
    static const uint32_t p0_first[] = {0, 1, 2, 3, 4, 5}, p1_first[] = {2, 3, 4, 5, 0, 1};

    in.touch[0][0] = 0x03;
    in.touch[0][1] = 0x3f;
    in.touch[1][0] = 0x3c;
    instance_begin(&in);
    CHECK(is_order(&in, by_lw_mdf, p0_first));
    CHECK(respond(&in, by_lw_mdf) == 12); /* 6 t */
    CHECK(is_order(&in, by_gw_mdf, p1_first));
    CHECK(respond(&in, by_gw_mdf) == 10); /* 5 t */
    CHECK(is_order(&in, by_first_finish, p1_first));
    CHECK(respond(&in, by_first_finish) == 10);
    CHECK(instance_optimum(&in) == 10);
    instance_end(&in);
}

/*
 * Weights of 1/3 add up to 1, whatever their order: then more processes come first, then the lower
 * offset. Of as many processes those with fewer positions do.
 */
static void test_ties(void)
{
    struct instance in = {.ranks = 5, .aggrs = 1, .npos = {5}};
    static const uint32_t by_degree[] = {1, 2, 3, 0, 4}, by_weight[] = {3, 4, 0, 1, 2};

    in.touch[0][0] = 0x0e;
    in.touch[1][0] = 0x0e;
    in.touch[2][0] = 0x0e;
    in.touch[3][0] = 0x01;
    in.touch[4][0] = 0x10;
    instance_begin(&in);
    CHECK(is_order(&in, by_lw_mdf, by_degree));
    instance_end(&in);

    in = (struct instance){.ranks = 3, .aggrs = 1, .npos = {5}};
    in.touch[0][0] = 0x07;
    in.touch[1][0] = 0x08;
    in.touch[2][0] = 0x10;
    instance_begin(&in);
    CHECK(is_order(&in, by_mdf, by_weight));
    instance_end(&in);
}

/* Positions that nobody touches come last and take no time, in every order. */
static void test_holes(void)
{
    struct instance in = {.ranks = 2, .aggrs = 1, .npos = {6}};
    static const uint32_t mdf[] = {5, 1, 3, 0, 2, 4}, finish[] = {5, 1, 3, 0, 2, 4};

    in.touch[0][0] = 0x2a;
    in.touch[1][0] = 0x20;
    instance_begin(&in);
    CHECK(respond(&in, by_offset) == 3 + 3);
    CHECK(is_order(&in, by_mdf, mdf));
    CHECK(respond(&in, by_mdf) == 3 + 1);
    CHECK(is_order(&in, by_first_finish, finish));
    CHECK(respond(&in, by_first_finish) == 3 + 1);
    instance_end(&in);
}

/*
 * first-finish's ties: two groups of one length on one aggregator, the larger one first; and the
 * process with fewer stripes in all before one that is finished at the same time.
 */
static void test_company(void)
{
    struct instance in = {.ranks = 5, .aggrs = 2, .npos = {4, 4}};
    uint32_t ranking[5];

    for (int r = 0; r < 5; r++)
        in.touch[r][0] = r < 2 ? 0x5 : 0xa;
    instance_begin(&in);
    CHECK(cio_order_first_finish(in.patterns, 2, NULL, ranking) == 0);
    CHECK(ranking[0] == 2 && ranking[1] == 3 && ranking[2] == 4 && ranking[3] == 0);
    CHECK(respond(&in, by_first_finish) == 3 * 2 + 2 * 4);
    instance_end(&in);

    in = (struct instance){.ranks = 2, .aggrs = 2, .npos = {4, 4}};
    in.touch[0][0] = 0x3;
    in.touch[0][1] = 0x3;
    in.touch[1][0] = 0xc;
    instance_begin(&in);
    CHECK(cio_order_first_finish(in.patterns, 2, NULL, ranking) == 0);
    CHECK(ranking[0] == 1 && ranking[1] == 0);
    instance_end(&in);
}

int main(void)
{
    test_figure_1();
    test_figure_2();
    test_figure_3();
    test_ties();
    test_holes();
    test_company();
    return check_done("test_order");
}
