/*
 * Shared memory runs out after the aggregators have been told what will come, and then there is no
 * memory for a board of one's own either: every rank gets -ENOMEM, and every message is drained.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "../plan/check.h"
#include "cases.h"

static int no_join(void *self, const char *name, int64_t size, struct cio_nodemem *m)
{
    (void)self, (void)name, (void)size, (void)m;
    return -ENOMEM;
}

/* A world that shares memory, which fails when it is backed for the n-th time. Whether it did. */
static int fail_backing(uint64_t seed, int write, int after, int *late)
{
    struct cio_nodemem_ops ops = *cio_nodemem_own.ops;
    struct test_case c;
    int failed = 0;

    ops.join = no_join;
    case_create(&c, seed, 0);
    c.world.own.ops = &ops;
    c.world.settings.transport = CIO_TRANSPORT_AUTO;
    c.world.settings.memory_limit = 1;
    case_fill_store(&c);
    case_prepare(&c, write);
    cio_nodemem_loop_fail(c.world.memory, after, -ENOSPC);
    if (!CHECK(world_run(&c.world) == 0)) {
        printf("after %d\n", after);
        case_print(&c, "hangs without a board", seed);
        exit(1);
    }
    for (int r = 0; r < c.world.size; r++)
        failed += c.world.error[r] == -ENOMEM;
    if (!CHECK(failed == 0 || failed == c.world.size))
        case_print(&c, "some ranks fail", seed);
    for (int r = 0; failed > 0 && r < c.world.size; r++)
        *late += c.world.stats[r].count[CIO_COUNT_WINDOWS] > 0;
    if (failed == 0)
        CHECK((write ? case_wrong_file(&c) : case_wrong_buffers(&c)) == 0);
    case_destroy(&c);
    return failed > 0;
}

int main(int argc, char **argv)
{
    int cases = argc > 1 ? atoi(argv[1]) : 60, failed = 0, late = 0;
    uint64_t seed = argc > 2 ? strtoull(argv[2], NULL, 0) : 1;

    setenv("TAMIO_LOG", "quiet", 1);
    for (uint64_t i = 0; i < (uint64_t)cases; i++)
        for (int write = 0; write < 2; write++)
            for (int after = 0; after < 40; after += 1 + after / 4)
                failed += fail_backing(seed + i, write, after, &late);
    printf("%d operations failed, %d leaders in the middle of one\n", failed, late);
    CHECK(failed > cases && late > cases / 2);
    return check_done("excuse");
}
