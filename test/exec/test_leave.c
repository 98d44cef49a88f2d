/*
 * No more is sent to an aggregator than it has sub-buffers for, however slow its file is: what has
 * come without a receive is bounded by these, and not by what all ranks have to write.
 */
#include <stdio.h>
#include <stdlib.h>

#include "../plan/check.h"
#include "exec/wire.h"
#include "world.h"

enum { RANKS = 16, NODES = 4, AGGRS = 2, UNIT = 4096, POSITIONS = 40, PIECE = UNIT / RANKS };

/* Every rank has a piece of every position. */
static void make_request(struct world *w, int r)
{
    int64_t off = (int64_t)r * PIECE, len = PIECE, zero = 0;
    int64_t bytes = (int64_t)PIECE * POSITIONS * AGGRS;
    struct cio_flat *view, *mem;

    CHECK(cio_flat_create(&off, &len, 1, UNIT, &view) == 0);
    CHECK(cio_flat_create(&zero, &bytes, 1, bytes, &mem) == 0);
    w->request[r] = (struct cio_request){.file = view, .mem = mem, .bytes = bytes, .write = 1};
    w->request[r].buf = calloc(1, (size_t)bytes);
}

static void end_request(struct world *w, int r)
{
    cio_flat_destroy((struct cio_flat *)w->request[r].file);
    cio_flat_destroy((struct cio_flat *)w->request[r].mem);
    free(w->request[r].buf);
}

static void run(int depth, uint64_t seed)
{
    int64_t heads = (int64_t)(sizeof(struct cio_head) + sizeof(struct cio_part) + 64) * RANKS;
    int64_t room = depth * (UNIT + heads) + heads; /* with the sets of positions */
    struct cio_loop_counts counts;
    int node_of[RANKS];
    struct world w;

    for (int r = 0; r < RANKS; r++)
        node_of[r] = r / (RANKS / NODES);
    world_create(&w, RANKS, node_of, RANKS / NODES, AGGRS, seed);
    w.slow = seed;
    w.settings.domain = CIO_DOMAIN_CYCLIC;
    w.settings.stripe = w.settings.unit = UNIT;
    w.settings.stripe_count = AGGRS;
    w.settings.depth = depth;
    w.settings.memory_limit = 1 << 20;
    for (int r = 0; r < RANKS; r++)
        make_request(&w, r);
    CHECK(world_run(&w) == 0 && w.error[0] == 0);
    cio_loop_get_counts(w.loop, &counts);
    if (!CHECK(counts.most_unmet <= room))
        printf("depth %d, seed %llu: %lld bytes without a receive, room for %lld\n", depth,
               (unsigned long long)seed, (long long)counts.most_unmet, (long long)room);
    for (int r = 0; r < RANKS; r++)
        end_request(&w, r);
    world_destroy(&w);
}

int main(void)
{
    for (int depth = 1; depth <= 4; depth++)
        for (uint64_t seed = 1; seed <= 8; seed++)
            run(depth, seed);
    return check_done("leave");
}
