/* All ranks of a collective operation in one process. */
#include "world.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static void *must(void *p)
{
    if (p == NULL) {
        fprintf(stderr, "world: out of memory\n");
        exit(1);
    }
    return p;
}

static void ok(int rc, const char *what)
{
    if (rc < 0) {
        fprintf(stderr, "world: %s: %d\n", what, rc);
        exit(1);
    }
}

void world_create(struct world *w, int size, const int *node_of, int c, int naggr, uint64_t seed)
{
    *w = (struct world){.size = size, .alloc = cio_alloc_system, .naggr = naggr};
    ok(cio_nodes_create(node_of, size, &w->nodes), "nodes");
    ok(cio_loop_create(size, seed, &w->loop), "loop");
    cio_loop_set_nodes(w->loop, node_of);
    ok(cio_nodemem_loop_create(&w->memory), "memory");
    ok(cio_store_memory_create(&w->store), "store");
    w->aggr = must(calloc((size_t)naggr, sizeof(int)));
    w->naggr = cio_global_spread(w->nodes, naggr, NULL, w->aggr);
    ok(w->naggr, "spread");
    w->team = must(calloc((size_t)size, sizeof(*w->team)));
    w->segment = must(calloc((size_t)size, sizeof(*w->segment)));
    w->pace = must(calloc((size_t)size, sizeof(*w->pace)));
    w->comm = must(calloc((size_t)size, sizeof(*w->comm)));
    w->request = must(calloc((size_t)size, sizeof(*w->request)));
    w->stats = must(calloc((size_t)size, sizeof(*w->stats)));
    w->moved = must(calloc((size_t)size, sizeof(*w->moved)));
    w->released = must(calloc((size_t)size, 1));
    w->error = must(calloc((size_t)size, sizeof(*w->error)));
    for (int r = 0; r < size; r++) {
        ok(cio_team_create(w->nodes, r, c, w->aggr, w->naggr, &w->team[r]), "team");
        ok(cio_loop_comm(w->loop, r, &w->comm[r]), "comm");
        snprintf(w->segment[r].key, sizeof(w->segment[r].key), "world");
    }
    w->settings = (struct cio_settings){.tam = CIO_ENABLE,
                                        .domain = CIO_DOMAIN_EVEN,
                                        .unit = 4096,
                                        .memory_limit = 1 << 20,
                                        .sieve_write = CIO_AUTOMATIC,
                                        .sieve_read = CIO_AUTOMATIC};
}

/* What the driver does before the first operation. Ranks come in any order, as there. */
void world_share(struct world *w)
{
    struct cio_node_memory port = cio_nodemem_loop_port(w->memory);
    int refused = 0;

    for (int r = 0; r < w->size; r++) {
        struct cio_segment *seg = &w->segment[(r + 1) % w->size];
        const struct cio_team *team = w->team[(r + 1) % w->size];
        int64_t limit = w->settings.memory_limit;

        seg->with_near = 1;
        if (cio_segment_join(seg, port, team, limit) != 0)
            refused = 1;
        else
            cio_segment_join_near(seg, port, team, limit);
    }
    for (int r = 0; r < w->size; r++)
        w->segment[r].shared = !refused;
}

void world_destroy(struct world *w)
{
    struct cio_node_memory port = cio_nodemem_loop_port(w->memory);

    for (int r = 0; r < w->size; r++) {
        cio_segment_leave(&w->segment[r], port);
        cio_comm_destroy(w->comm[r]);
        cio_team_destroy(w->team[r]);
    }
    free(w->released);
    free(w->error);
    free(w->moved);
    free(w->stats);
    free(w->request);
    free(w->comm);
    free(w->pace);
    free(w->segment);
    free(w->team);
    free(w->aggr);
    cio_store_destroy(w->store);
    cio_nodemem_loop_destroy(w->memory);
    cio_loop_destroy(w->loop);
    cio_nodes_destroy(w->nodes);
}

static struct cio_op *start(struct world *w, int r, struct cio_store *store)
{
    struct cio_env env = {.comm = w->comm[r],
                          .nodemem = cio_nodemem_loop_port(w->memory),
                          .own = w->own,
                          .alloc = w->alloc,
                          .store = store,
                          .team = w->team[r],
                          .segment = &w->segment[r],
                          .pace = &w->pace[r]};

    return must(cio_op_start(&env, &w->settings, &w->request[r]));
}

static int is_done(struct world *w, int r, struct cio_op *op, int *moved)
{
    int polled = cio_comm_poll(w->comm[r]), done;

    *moved += polled > 0 ? polled : 0;
    done = cio_op_progress(op);
    if (done || !cio_op_is_released(op))
        return done;
    cio_op_let_go(op);
    w->released[r] = 1;
    if (w->on_release != NULL)
        w->on_release(w, r);
    return 1;
}

/* One turn for every rank that is in the call: how many are not; `moved` counts completions. */
static int turn(struct world *w, struct cio_op **op, int *moved)
{
    int done = 0;

    for (int r = 0; r < w->size; r++)
        done += w->released[r] || is_done(w, r, op[r], moved);
    return done;
}

static int any_broken(const struct world *w, struct cio_op **op)
{
    for (int r = 0; r < w->size; r++)
        if (cio_op_is_broken(op[r]) || w->comm[r]->error != 0)
            return 1;
    return 0;
}

/* Those that have returned finish, in another order: nobody else does anything. -1: they hang. */
static int finish_released(struct world *w, struct cio_op **op)
{
    for (int r = w->size - 1; r >= 0; r--) {
        int idle = 0;

        while (w->released[r] && !cio_op_progress(op[r]))
            if (cio_comm_poll(w->comm[r]) <= 0 && ++idle > 100)
                return -1;
    }
    return 0;
}

int world_run(struct world *w)
{
    struct cio_op **op = must(calloc((size_t)w->size, sizeof(*op)));
    struct cio_store *store = w->store, *slow = NULL;
    int idle = 0, done = 0, patience = 100;

    if (w->threads)
        patience = 200000; /* 20 seconds at least */
    if (w->slow != 0) {
        patience = 100000; /* all rounds one after the other, without a message */
        ok(cio_store_late_create(w->store, w->slow, &slow), "slow store");
        store = slow;
    }
    for (int r = 0; r < w->size; r++) {
        w->released[r] = 0;
        op[r] = start(w, r, store);
    }
    while (done < w->size && idle < patience && !any_broken(w, op)) {
        int moved = 0;

        done = turn(w, op, &moved);
        idle = moved > 0 ? 0 : idle + 1;
        if (w->threads && idle > 1)
            usleep(100);
    }
    if (any_broken(w, op) || done < w->size || finish_released(w, op) != 0) {
        int broken = any_broken(w, op);

        free(op);
        return broken ? -2 : -1; /* what still runs cannot be freed: the caller gives up */
    }
    for (int r = 0; r < w->size; r++) {
        w->moved[r] = cio_op_moved(op[r]);
        w->error[r] = cio_op_finish(op[r], &w->stats[r]);
    }
    cio_store_destroy(slow);
    free(op);
    return cio_loop_pending(w->loop) == 0 ? 0 : -1;
}
