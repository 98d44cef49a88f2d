/* Who shares cores: unbound ranks in a cpuset, ranks with a core each, ranks on one core, mixtures.
 */
#include "plan/crowd.h"

#include "check.h"

#define MOST 64

static struct cio_bound ranks[MOST];
static char crowded[MOST];
static int n;

static void add(int node, uint64_t set, int64_t cores)
{
    ranks[n] = (struct cio_bound){.set = set, .cores = cores, .node = node, .rank = n};
    n++;
}

/* Ranks from `first` up to `end` are as expected. */
static void expect(int first, int end, int value)
{
    for (int r = first; r < end; r++)
        CHECK(crowded[r] == value);
}

static void find(void)
{
    cio_find_crowded(ranks, n, crowded);
    n = 0;
}

/* Two nodes; the set of both has the same number, since it is that of the same cores. */
static void test_unbound(void)
{
    for (int r = 0; r < 12; r++)
        add(r % 2, 7, 6);
    find();
    expect(0, 12, 0);
    for (int r = 0; r < 14; r++)
        add(r % 2, 7, 6);
    find();
    expect(0, 14, 1);
}

static void test_core_each(void)
{
    for (int r = 0; r < 32; r++)
        add(0, 100 + (uint64_t)r, 1);
    find();
    expect(0, 32, 0);
}

static void test_one_core(void)
{
    for (int r = 0; r < 4; r++)
        add(0, 100, 1);
    add(1, 100, 1);
    find();
    expect(0, 4, 1);
    expect(4, 5, 0);
}

/* Four ranks on a socket of two cores, two on another, one where a quota leaves a core. */
static void test_mixture(void)
{
    for (int r = 0; r < 4; r++)
        add(0, 1, 2);
    for (int r = 0; r < 2; r++)
        add(0, 2, 2);
    add(1, 3, 1);
    add(1, 4, 8);
    add(1, 3, 4);
    find();
    expect(0, 4, 1);
    expect(4, 6, 0);
    expect(6, 7, 1);
    expect(7, 8, 0);
    expect(8, 9, 1);
}

int main(void)
{
    test_unbound();
    test_core_each();
    test_one_core();
    test_mixture();
    return check_done("crowd");
}
