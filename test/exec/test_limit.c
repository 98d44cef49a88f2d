/*
 * A memory limit for little address space: the boards of all groups of every node fit there, it is
 * the same on all ranks, and no smaller than need be.
 */
#include <stdlib.h>

#include "../plan/check.h"
#include "exec/board.h"
#include "exec/team.h"
#include "world.h"

#define MIB ((int64_t)1 << 20)

enum { RANKS = 40, AGGRS = 3 };

/* 32 ranks on a node, 7 on the next, one on the last. */
static int node_of(int rank)
{
    return rank < 32 ? 0 : rank < 39 ? 1 : 2;
}

/* Of the fullest node, whose ranks are in c groups. */
static int64_t boards(int c, int64_t limit)
{
    int64_t budget = limit < CIO_BUDGET_MIN   ? CIO_BUDGET_MIN
                     : limit > CIO_BUDGET_MAX ? CIO_BUDGET_MAX
                                              : limit;

    return c * cio_board_size(32 / c, budget, AGGRS);
}

static void run(int c)
{
    const int64_t hints[] = {1, MIB, 5 * MIB, 64 * MIB, 256 * MIB};
    const int64_t enough = boards(c, CIO_BUDGET_MAX);
    int nodes[RANKS];
    struct world w;

    for (int r = 0; r < RANKS; r++)
        nodes[r] = node_of(r);
    world_create(&w, RANKS, nodes, c, AGGRS, 1);
    for (size_t i = 0; i < sizeof(hints) / sizeof(hints[0]); i++) {
        CHECK(cio_segment_limit(w.team[0], hints[i], INT64_MAX) == hints[i]);
        CHECK(cio_segment_limit(w.team[0], hints[i], enough) == hints[i]);
        CHECK(cio_segment_limit(w.team[0], hints[i], 0) <= CIO_BUDGET_MIN);
        for (int64_t room = enough; room > boards(c, 1); room = room / 3 * 2) {
            int64_t limit = cio_segment_limit(w.team[0], hints[i], room);

            CHECK(boards(c, limit) <= room && limit <= hints[i]);
            CHECK(limit == hints[i] || boards(c, 2 * limit) > room);
            for (int r = 1; r < RANKS; r++)
                CHECK(cio_segment_limit(w.team[r], hints[i], room) == limit);
        }
    }
    world_destroy(&w);
}

int main(void)
{
    run(1);
    run(4);
    run(16);
    return check_done("limit");
}
