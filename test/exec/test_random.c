/* Seeded random cases, written and read, against the oracle. Usage: test_random [CASES [SEED]] */
#include <stdio.h>
#include <stdlib.h>

#include "../plan/check.h"
#include "cases.h"

static int all_succeeded(const struct world *w)
{
    for (int r = 0; r < w->size; r++)
        if (w->error[r] != 0)
            return 0;
    return 1;
}

static int released[2]; /* ranks that returned early: read, write */

/* 0: went well. */
static int run_case(uint64_t seed)
{
    struct test_case c;
    int64_t wrong;
    int rc;

    case_create(&c, seed, seed % 4 == 0);
    case_fill_store(&c);
    case_prepare(&c, 1);
    rc = world_run(&c.world);
    wrong = rc == 0 ? case_wrong_file(&c) : 0;
    if (rc != 0 || wrong != 0 || !all_succeeded(&c.world)) {
        case_print(&c, rc != 0 ? "write hangs" : wrong != 0 ? "write wrong" : "write fails", seed);
        return 1;
    }
    released[1] += case_released(&c);
    case_fill_store(&c);
    case_prepare(&c, 0);
    rc = world_run(&c.world);
    wrong = rc == 0 ? case_wrong_buffers(&c) : 0;
    if (rc != 0 || wrong != 0 || !all_succeeded(&c.world)) {
        case_print(&c, rc != 0 ? "read hangs" : wrong != 0 ? "read wrong" : "read fails", seed);
        return 1;
    }
    released[0] += case_released(&c);
    if (cio_nodemem_loop_linked(c.world.memory) != 0) {
        case_print(&c, "names left behind", seed);
        return 1;
    }
    case_destroy(&c);
    return 0;
}

int main(int argc, char **argv)
{
    int cases = argc > 1 ? atoi(argv[1]) : 2000;
    uint64_t seed = argc > 2 ? strtoull(argv[2], NULL, 0) : 1;

    for (int i = 0; i < cases; i++)
        CHECK(run_case(seed + (uint64_t)i) == 0);
    printf("%d ranks returned early from reads, %d from writes\n", released[0], released[1]);
    CHECK(cases < 100 || (released[0] > cases / 10 && released[1] > cases / 10));
    return check_done("random");
}
