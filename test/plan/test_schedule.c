/* The automatic choice: the best order, where it is worth ten times what computing it costs. */
#include "instances.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "plan/bits.h"
#include "plan/schedule.h"

/* Mean response under a plan, as the aggregators would have it. */
static double mean_under(const struct instance *in, const struct cio_schedule_plan *plan)
{
    uint32_t response[INSTANCE_RANKS] = {0}, order[64];

    for (int a = 0; a < in->aggrs; a++) {
        CHECK(cio_schedule_order(plan, in->patterns[a], order) == 0);
        CHECK(cio_respond(in->patterns[a], order, response) == 0);
    }
    return cio_response_of(response, in->ranks).mean;
}

/* The orders that come with a plan are those that the aggregators would make. */
static void check_orders(const struct instance *in, const struct cio_schedule_plan *plan)
{
    const uint32_t *given = plan->orders;
    uint32_t order[64];

    for (int a = 0; a < in->aggrs; a++) {
        uint32_t n = in->patterns[a]->npos;

        CHECK(cio_schedule_order(plan, in->patterns[a], order) == 0);
        CHECK(n == 0 || memcmp(given, order, n * sizeof(*order)) == 0);
        given += n;
    }
}

static struct cio_schedule_plan choose(const struct instance *in, enum cio_schedule hint,
                                       double stripe)
{
    struct cio_schedule_plan plan = {.kind = CIO_SCHEDULE_AUTOMATIC};
    struct cio_schedule_case known = {.hint = hint, .stripe = stripe};

    CHECK(cio_schedule_choose(in->patterns, in->aggrs, &known, &plan) == 0);
    CHECK(plan.kind != CIO_SCHEDULE_AUTOMATIC);
    CHECK(mean_under(in, &plan) == plan.chosen.mean);
    check_orders(in, &plan);
    CHECK(plan.chosen.max == plan.offset.max);
    CHECK(!plan.ranking == (plan.kind != CIO_SCHEDULE_FIRST_FINISH));
    CHECK(!plan.busiest == (plan.kind != CIO_SCHEDULE_GW_MDF));
    return plan;
}

/* With slow stripes nothing costs too much: automatic is the best of all, and every hint obeyed. */
static void test_best(const struct instance *in)
{
    struct cio_schedule_plan automatic = choose(in, CIO_SCHEDULE_AUTOMATIC, 1);
    static const enum cio_schedule kinds[] = {CIO_SCHEDULE_OFFSET, CIO_SCHEDULE_MDF,
                                              CIO_SCHEDULE_LW_MDF, CIO_SCHEDULE_GW_MDF,
                                              CIO_SCHEDULE_FIRST_FINISH};

    for (int i = 0; i < 5; i++) {
        struct cio_schedule_plan plan = choose(in, kinds[i], 1);

        CHECK(plan.kind == kinds[i]);
        CHECK(automatic.chosen.mean <= plan.chosen.mean);
        CHECK(plan.offset.mean == automatic.offset.mean);
        CHECK(kinds[i] != automatic.kind || plan.chosen.mean == automatic.chosen.mean);
        cio_schedule_release(&plan);
    }
    CHECK(automatic.kind == CIO_SCHEDULE_OFFSET || automatic.chosen.mean < automatic.offset.mean);
    cio_schedule_release(&automatic);
}

/* At any speed of the store, what is chosen saves ten times all that was computed. */
static void test_worth(const struct instance *in)
{
    struct cio_schedule_plan plan;

    for (double stripe = 1e-9; stripe < 1; stripe *= 3) {
        plan = choose(in, CIO_SCHEDULE_AUTOMATIC, stripe);
        if (plan.kind != CIO_SCHEDULE_OFFSET)
            CHECK((plan.offset.mean - plan.chosen.mean) * stripe >= 10 * plan.cost);
        cio_schedule_release(&plan);
    }
    plan = choose(in, CIO_SCHEDULE_AUTOMATIC, 1e-9);
    CHECK(plan.kind == CIO_SCHEDULE_OFFSET);
    cio_schedule_release(&plan);
}

/* The ranking of first-finish is refined if asked for; by automatic, if what is won pays for it. */
static void test_refined(const struct instance *in)
{
    struct cio_schedule_plan plain = {.kind = CIO_SCHEDULE_FIRST_FINISH}, asked, plan;
    uint32_t ranking[INSTANCE_RANKS];
    struct cio_schedule_size size;
    double base, cost;

    plain.ranking = ranking;
    CHECK(cio_order_first_finish(in->patterns, in->aggrs, NULL, ranking) == 0);
    base = mean_under(in, &plain);
    cio_schedule_size_of(in->patterns, in->aggrs, &size);
    cost = cio_schedule_cost(CIO_SCHEDULE_OFFSET, &size) +
           cio_schedule_cost(CIO_SCHEDULE_FIRST_FINISH, &size) + cio_schedule_refine_cost(&size);
    asked = choose(in, CIO_SCHEDULE_FIRST_FINISH, 1e-9);
    CHECK(asked.chosen.mean <= base && asked.cost == cost);
    for (double stripe = 1e-9; stripe < 1; stripe *= 3) {
        plan = choose(in, CIO_SCHEDULE_AUTOMATIC, stripe);
        if (plan.kind == CIO_SCHEDULE_FIRST_FINISH && plan.chosen.mean < base)
            CHECK(plan.chosen.mean == asked.chosen.mean && plan.cost >= cost);
        else if (plan.kind == CIO_SCHEDULE_FIRST_FINISH)
            CHECK(plan.chosen.mean == base);
        cio_schedule_release(&plan);
    }
    cio_schedule_release(&asked);
}

/* The same without what some ranks touch: those that do not wait. */
static void begin_without(const struct instance *in, const uint8_t *leaving, struct instance *out)
{
    *out = *in;
    for (int r = 0; r < in->ranks; r++)
        if (leaving[r])
            memset(out->touch[r], 0, sizeof(out->touch[r]));
    instance_begin(out);
}

/* Who does not wait comes last, and nobody waits for it: for others it is as if it had nothing. */
static void test_others_last(const struct instance *in, const uint8_t *leaving, int others)
{
    uint32_t with[INSTANCE_RANKS], without[INSTANCE_RANKS], n = 0;
    struct instance gone;

    begin_without(in, leaving, &gone);
    CHECK(cio_order_first_finish(in->patterns, in->aggrs, leaving, with) == 0);
    CHECK(cio_order_first_finish(gone.patterns, gone.aggrs, NULL, without) == 0);
    for (int i = 0; i < in->ranks; i++)
        if (!leaving[without[i]])
            CHECK(with[n++] == without[i]);
    for (int i = in->ranks - others; i < in->ranks; i++)
        CHECK(leaving[with[i]]);
    CHECK(cio_order_refine(in->patterns, in->aggrs, leaving, with) == 0);
    for (int i = in->ranks - others; i < in->ranks; i++)
        CHECK(leaving[with[i]]);
    instance_end(&gone);
}

/* Who leaves with the last has waited as long, who leaves first has not, in the prediction too. */
static void test_leaving(const struct instance *in, uint64_t *rng)
{
    uint8_t leaving[INSTANCE_RANKS] = {CIO_LEAVES_SERVED};
    struct cio_schedule_case known = {CIO_SCHEDULE_FIRST_FINISH, 1, leaving};
    uint32_t ranking[INSTANCE_RANKS];
    struct cio_schedule_plan plain = {.kind = CIO_SCHEDULE_FIRST_FINISH, .ranking = ranking}, plan;
    struct instance gone;
    int others = (int)check_between(rng, 1, in->ranks), last = 0;
    double waited;

    for (int i = 0; i < others; i++) {
        int stays = check_between(rng, 0, 1) == 0;

        leaving[in->ranks - 1 - i] = stays ? CIO_LEAVES_LAST : CIO_LEAVES_FIRST;
        last += stays;
    }
    test_others_last(in, leaving, others);
    begin_without(in, leaving, &gone);
    CHECK(cio_order_first_finish(in->patterns, in->aggrs, leaving, ranking) == 0);
    waited = mean_under(&gone, &plain) * in->ranks; /* of those who wait, not refined */
    CHECK(cio_schedule_choose(in->patterns, in->aggrs, &known, &plan) == 0);
    CHECK(plan.chosen.max == plan.offset.max);
    CHECK(plan.chosen.mean * in->ranks <= waited + (double)last * plan.chosen.max + 1e-9);
    waited = mean_under(&gone, &plan) * in->ranks;
    CHECK(fabs(plan.chosen.mean * in->ranks - waited - (double)last * plan.chosen.max) < 1e-6);
    cio_schedule_release(&plan);
    instance_end(&gone);
}

/* If nobody waits, nothing is to be won, and nothing is computed to find that out. */
static void test_nobody_waits(const struct instance *in, enum cio_leaving how)
{
    uint8_t leaving[INSTANCE_RANKS];
    struct cio_schedule_case known = {CIO_SCHEDULE_AUTOMATIC, 1, leaving};
    struct cio_schedule_plan plan;
    struct cio_schedule_size size;

    memset(leaving, how, sizeof(leaving));
    cio_schedule_size_of(in->patterns, in->aggrs, &size);
    CHECK(cio_schedule_choose(in->patterns, in->aggrs, &known, &plan) == 0);
    CHECK(plan.kind == CIO_SCHEDULE_OFFSET);
    CHECK(plan.chosen.mean == (how == CIO_LEAVES_LAST ? plan.chosen.max : 0));
    CHECK(plan.cost == cio_schedule_cost(CIO_SCHEDULE_OFFSET, &size));
    cio_schedule_release(&plan);
}

/* Where it would cost too much for what it brings, nothing is refined, and that costs nothing. */
static void test_too_many(void)
{
    struct cio_schedule_size few = {.ranks = 640, .positions = 7000, .most = 175, .touches = 14000};
    struct cio_schedule_size many = few;

    many.touches = 1 << 20;
    CHECK(cio_schedule_refine_cost(&few) > 0 && cio_schedule_refine_cost(&many) <= 0);
}

/* One aggregator with many positions; rank r touches all of them, or its block. */
static struct cio_pattern *make_long(int ranks, int64_t npos, int blocks)
{
    uint64_t *bits = calloc(cio_bits_words(npos), sizeof(*bits));
    struct cio_pattern *p;

    CHECK(cio_pattern_create(ranks, npos, &p) == 0);
    for (int r = 0; r < ranks; r++) {
        memset(bits, 0, cio_bits_words(npos) * sizeof(*bits));
        for (int64_t i = blocks ? npos * r / ranks : 0;
             i < (blocks ? npos * (r + 1) / ranks : npos); i++)
            cio_bits_set(bits, i);
        CHECK(cio_pattern_add(p, r, bits) == 0);
    }
    free(bits);
    return p;
}

/* A ranking that would take too much memory is none; automatic does without. */
static void test_many_touches(void)
{
    struct cio_schedule_case known = {CIO_SCHEDULE_FIRST_FINISH, 1, NULL};
    struct cio_pattern *p = make_long(129, 1 << 18, 0);
    struct cio_schedule_plan plan;

    CHECK(!cio_order_may_rank(p->touches) && cio_order_may_rank(p->touches * 128 / 129));
    CHECK(cio_schedule_choose(&p, 1, &known, &plan) == -ENOMEM);
    known.hint = CIO_SCHEDULE_AUTOMATIC;
    if (CHECK(cio_schedule_choose(&p, 1, &known, &plan) == 0)) {
        CHECK(plan.kind == CIO_SCHEDULE_OFFSET);
        cio_schedule_release(&plan);
    }
    cio_pattern_destroy(p);
}

static double cpu_seconds(void)
{
    struct timespec t;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/*
 * Few ranks with many stripes each: times at which nobody can be finished are not gone through one
 * by one. (It was more than 1000 times what the response takes.)
 */
static void test_few_ranks(void)
{
    struct cio_pattern *p = make_long(4, 1 << 17, 1);
    uint32_t ranking[4], response[4] = {0};
    double begin = cpu_seconds(), one, both;

    CHECK(cio_respond(p, NULL, response) == 0);
    one = cpu_seconds() - begin;
    CHECK(cio_order_first_finish(&p, 1, NULL, ranking) == 0);
    both = cpu_seconds() - begin;
    printf("few ranks: response %.1f ms, ranking %.1f ms\n", 1e3 * one, 1e3 * (both - one));
    CHECK(both - one < 100 * one);
    for (uint32_t i = 0; i < 4; i++)
        CHECK(ranking[i] == i);
    cio_pattern_destroy(p);
}

/* Everybody needs everything: by offset, and no order is even computed. */
static void test_nothing_to_win(void)
{
    struct instance in = {.ranks = 6, .aggrs = 2, .npos = {9, 7}};
    struct cio_schedule_plan plan;
    struct cio_schedule_size size;

    for (int r = 0; r < 6; r++) {
        in.touch[r][0] = 0x1ff;
        in.touch[r][1] = 0x7f;
    }
    instance_begin(&in);
    plan = choose(&in, CIO_SCHEDULE_AUTOMATIC, 1);
    CHECK(plan.kind == CIO_SCHEDULE_OFFSET && plan.chosen.mean == 9 && plan.offset.mean == 9);
    cio_schedule_size_of(in.patterns, 2, &size);
    CHECK(size.ranks == 6 && size.positions == 16 && size.most == 9 && size.rows == 12);
    CHECK(size.touches == 6 * 16);
    CHECK(plan.cost == cio_schedule_cost(CIO_SCHEDULE_OFFSET, &size));
    cio_schedule_release(&plan);
    instance_end(&in);
}

/*
 * Where first-finish costs more than could be saved, a cheaper order that is as good takes its
 * place: three processes that need the same twelve stripes, at the end, and one that needs the
 * rest.
 */
static void test_cheaper(void)
{
    struct instance in = {.ranks = 4, .aggrs = 1, .npos = {60}};
    struct cio_schedule_size size;
    struct cio_schedule_plan plan;
    double offset, gw, saved = (3 * 60 + 48 - 3 * 12 - 60) / 4.0;

    for (int r = 0; r < 3; r++)
        in.touch[r][0] = (uint64_t)0xfff << 48;
    in.touch[3][0] = ((uint64_t)1 << 48) - 1;
    instance_begin(&in);
    cio_schedule_size_of(in.patterns, 1, &size);
    offset = cio_schedule_cost(CIO_SCHEDULE_OFFSET, &size);
    gw = cio_schedule_cost(CIO_SCHEDULE_GW_MDF, &size);
    CHECK(cio_schedule_cost(CIO_SCHEDULE_FIRST_FINISH, &size) > 1.2 * gw + 0.2 * offset);

    plan = choose(&in, CIO_SCHEDULE_AUTOMATIC, 1);
    CHECK(plan.kind == CIO_SCHEDULE_FIRST_FINISH);
    CHECK(plan.offset.mean - plan.chosen.mean == saved);
    cio_schedule_release(&plan);
    plan = choose(&in, CIO_SCHEDULE_AUTOMATIC, 10.001 * (offset + gw) / saved);
    CHECK(plan.kind == CIO_SCHEDULE_GW_MDF);
    CHECK(plan.offset.mean - plan.chosen.mean == saved);
    cio_schedule_release(&plan);
    plan = choose(&in, CIO_SCHEDULE_AUTOMATIC, 9.999 * (offset + gw) / saved);
    CHECK(plan.kind != CIO_SCHEDULE_GW_MDF && plan.kind != CIO_SCHEDULE_FIRST_FINISH);
    cio_schedule_release(&plan);
    instance_end(&in);
}

static void test_arguments(void)
{
    struct cio_schedule_case known = {.hint = CIO_SCHEDULE_AUTOMATIC, .stripe = 1};
    struct cio_pattern *p[2];
    struct cio_schedule_plan plan;
    uint32_t ranking[3];

    CHECK(cio_pattern_create(2, 5, &p[0]) == 0 && cio_pattern_create(3, 5, &p[1]) == 0);
    CHECK(cio_schedule_choose(p, 2, &known, &plan) == -EINVAL);
    CHECK(cio_order_first_finish(p, 2, NULL, ranking) == -EINVAL);
    CHECK(cio_schedule_choose(p, 1, &known, &plan) == 0);
    CHECK(plan.kind == CIO_SCHEDULE_OFFSET && plan.chosen.mean == 0 && plan.chosen.max == 0);
    cio_schedule_release(&plan);
    cio_pattern_destroy(p[0]);
    cio_pattern_destroy(p[1]);
}

int main(void)
{
    uint64_t rng = check_seed();

    for (int i = 0; i < 200; i++) {
        struct instance in;
        int ranks = (int)check_between(&rng, 1, INSTANCE_RANKS);

        (i % 2 ? instance_random : instance_parts)(&in, &rng, ranks, 1 + i % 4, 1 + i % 60);
        test_best(&in);
        test_worth(&in);
        test_refined(&in);
        test_leaving(&in, &rng);
        test_nobody_waits(&in, CIO_LEAVES_LAST);
        test_nobody_waits(&in, CIO_LEAVES_FIRST);
        instance_end(&in);
    }
    test_nothing_to_win();
    test_cheaper();
    test_too_many();
    test_many_touches();
    test_few_ranks();
    test_arguments();
    return check_done("test_schedule");
}
