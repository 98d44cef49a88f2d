/*
 * The reduction that an operation begins with: how many messages it takes, and that it comes to an
 * end with the same outcome on all ranks, also where there is no memory to receive from all
 * children at once.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "../plan/check.h"
#include "world.h"

enum { MOST = 700 };

static void *no_memory(void *self, size_t size)
{
    (void)self;
    (void)size;
    return NULL;
}

static int64_t messages(const struct world *w)
{
    struct cio_loop_counts counts;

    cio_loop_get_counts(w->loop, &counts);
    return counts.messages;
}

/* Nobody has anything to do: one message up and one down for each rank whose words need them. */
static void run(int size, int nodes, int groups, int shared)
{
    int node_of[MOST];
    struct world w;
    int senders;

    for (int r = 0; r < size; r++)
        node_of[r] = (int)((int64_t)r * nodes / size);
    world_create(&w, size, node_of, groups, 1, (uint64_t)size);
    w.settings.transport = shared ? CIO_TRANSPORT_AUTO : CIO_TRANSPORT_P2P;
    if (shared)
        world_share(&w);
    senders = shared ? w.team[0]->nleaders - 1 : size - 1;
    CHECK(world_run(&w) == 0);
    if (!CHECK(messages(&w) == 2 * (int64_t)senders))
        printf("%d ranks, %d leaders, shared %d: %lld messages\n", size, w.team[0]->nleaders,
               shared, (long long)messages(&w));
    w.request[size / 2].error = -EINVAL;
    CHECK(world_run(&w) == 0);
    for (int r = 0; r < size; r++)
        CHECK(w.error[r] == -EINVAL);
    w.request[size / 2].error = 0;
    w.alloc = (struct cio_alloc){no_memory, NULL};
    CHECK(world_run(&w) == 0);
    for (int r = 0; r < size; r++)
        CHECK(w.error[r] == -ENOMEM);
    CHECK(messages(&w) == 6 * (int64_t)senders);
    world_destroy(&w);
}

int main(void)
{
    for (int shared = 0; shared < 2; shared++) {
        run(1, 1, 1, shared);
        run(2, 1, 1, shared);
        run(9, 3, 2, shared);
        run(40, 2, 1, shared);
        run(80, 80, 1, shared);
        run(MOST, 7, 100, shared);
    }
    return check_done("reduce");
}
