/* The automatic choices, at the numbers where they change. */
#include "plan/choose.h"

#include <stddef.h>
#include <string.h>

#include "check.h"

/* A choice always has a reason. */
static int is_served(const struct cio_totals *t, enum cio_switch tam)
{
    struct cio_choice choice = cio_choose(t, tam);

    CHECK(choice.why != NULL && choice.why[0] != '\0');
    return choice.tam;
}

static int aggregators(int targets, int usual, int limit)
{
    struct cio_hinted_stripes hints = {.stripe = 1 << 20, .targets = targets, .over = 1};
    struct cio_layout layout;

    cio_layout_from_hints(&hints, &layout);
    return cio_choose_aggregators(&layout, usual, limit);
}

static int is_prime(int n)
{
    for (int i = 2; i * i <= n; i++)
        if (n % i == 0)
            return 0;
    return n > 1;
}

/* What is promised of every small case. */
static void test_all_aggregators(void)
{
    for (int targets = 1; targets <= 64; targets++)
        for (int limit = 1; limit <= 80; limit++)
            for (int usual = 1; usual <= limit; usual++) {
                int a = aggregators(targets, usual, limit);

                CHECK(a >= 1 && a <= limit);
                if (targets <= limit) /* a multiple, and no further one fits */
                    CHECK(a % targets == 0 && (a == targets || a + targets > usual));
                if (targets > limit && !(targets % a == 0)) /* as busy as with all ranks */
                    CHECK((targets + a - 1) / a == (targets + limit - 1) / limit);
                if (targets > limit && limit > 1 && is_prime(targets))
                    CHECK(a > limit / 2);
            }
}

static void test_aggregators(void)
{
    struct cio_layout pfl;

    CHECK(aggregators(0, 5, 40) == 5); /* unknown */
    CHECK(aggregators(8, 2, 64) == 8);
    CHECK(aggregators(8, 8, 64) == 8);
    CHECK(aggregators(8, 20, 64) == 16);
    CHECK(aggregators(1, 20, 64) == 20);
    CHECK(aggregators(7, 1, 7) == 7);
    CHECK(aggregators(12, 1, 8) == 6);
    CHECK(aggregators(9, 1, 8) == 3);
    CHECK(aggregators(7, 1, 3) == 3);   /* prime: not 1, but 3, 2 and 2 */
    CHECK(aggregators(13, 1, 12) == 7); /* nobody has more than 2 with 12 either */
    CHECK(aggregators(26, 1, 12) == 9); /* and not 2 */
    CHECK(aggregators(1999, 4, 64) == 63);
    cio_layout_init(&pfl);
    CHECK(cio_layout_add(&pfl, &(struct cio_component){0, 10, 5, 1, 1}) == NULL);
    CHECK(cio_layout_add(&pfl, &(struct cio_component){10, 20, 5, 24, 6}) == NULL);
    CHECK(cio_layout_add(&pfl, &(struct cio_component){20, 30, 5, 4, 4}) == NULL);
    CHECK(cio_choose_aggregators(&pfl, 2, 64) == 6); /* targets, not stripes */
}

static int groups(int node_ranks, int nodes, int64_t megabytes)
{
    struct cio_group_spec s = {node_ranks, nodes, megabytes << 20};

    return cio_choose_groups(&s);
}

static void test_groups(void)
{
    CHECK(groups(1, 4, 0) == 1);
    CHECK(groups(32, 4, 0) == 1);
    CHECK(groups(33, 4, 0) == 2);
    CHECK(groups(64, 4, 64) == 2);
    CHECK(groups(64, 4, 4 * 5 * 64) == 5); /* 64 MiB each */
    CHECK(groups(64, 4, 1 << 20) == 8);    /* but not fewer than 8 ranks */
    CHECK(groups(8, 4, 1 << 20) == 1);
    CHECK(groups(64, 256, 0) == 2);
    CHECK(groups(64, 256, 1 << 24) == 2); /* 512 leaders are enough */
    CHECK(groups(64, 512, 1 << 24) == 1);
    CHECK(groups(64, 5000, 1 << 24) == 1);
}

int main(void)
{
    /* 4 ranks that interleave pieces of 64 bytes over the same megabyte */
    struct cio_totals t = {
        .lo = 0, .hi = 1 << 20, .bytes = 1 << 20, .pieces = 1 << 14, .node_ranks = 4};

    t.spans = 4 << 20;
    CHECK(!is_served(&t, CIO_AUTOMATIC));
    CHECK(is_served(&t, CIO_ENABLE));
    t.node_ranks = 8;
    CHECK(is_served(&t, CIO_AUTOMATIC));
    t.node_ranks = 4;
    CHECK(strstr(cio_choose(&t, CIO_AUTOMATIC).why, "few") != NULL);
    t.pieces = 1 << 15; /* of 32 bytes */
    CHECK(is_served(&t, CIO_AUTOMATIC));
    CHECK(strstr(cio_choose(&t, CIO_AUTOMATIC).why, "tiny") != NULL);
    CHECK(strstr(cio_choose(&t, CIO_ENABLE).why, "asked") != NULL);
    t.node_ranks = 1;
    CHECK(!is_served(&t, CIO_AUTOMATIC));
    CHECK(strstr(cio_choose(&t, CIO_AUTOMATIC).why, "one rank") != NULL);
    CHECK(is_served(&t, CIO_ENABLE));
    t.node_ranks = 8;
    t.pieces = 1 << 14;
    t.spans = 1 << 20; /* side by side */
    CHECK(!is_served(&t, CIO_AUTOMATIC) && !cio_choose(&t, CIO_AUTOMATIC).alone);
    t.pieces = 16;
    CHECK(!is_served(&t, CIO_AUTOMATIC) && cio_choose(&t, CIO_AUTOMATIC).alone);
    t.pieces = 1 << 14;
    CHECK(is_served(&t, CIO_ENABLE));
    t.spans = 4 << 20;
    t.pieces = 8; /* of 128 KiB */
    CHECK(!is_served(&t, CIO_AUTOMATIC));
    CHECK(is_served(&t, CIO_ENABLE));
    t.unsorted = 1;
    CHECK(!is_served(&t, CIO_ENABLE));
    t = (struct cio_totals){.lo = INT64_MAX, .hi = INT64_MIN};
    CHECK(is_served(&t, CIO_AUTOMATIC)); /* nothing to do ends by itself */
    test_groups();
    test_aggregators();
    test_all_aggregators();
    return check_done("choose");
}
