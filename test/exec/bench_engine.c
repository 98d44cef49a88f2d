/*
 * What the engine itself costs for each piece, without MPI: 256 ranks in one process write and read
 * 3.2 million irregular pieces of 8 to 32 bytes. Usage: bench_engine [REPEATS [GROUPS_PER_NODE]]
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "../plan/check.h"
#include "world.h"

enum { RANKS = 256, NODES = 4, PIECES = 3200000 };

static double now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

struct lists {
    int64_t *off, *len;
    size_t n;
};

/* Piece after piece, each to a random rank. */
static void deal(struct lists *l)
{
    uint64_t seed = 1;
    int64_t at = 0;

    for (int r = 0; r < RANKS; r++) {
        l[r].off = malloc(PIECES / RANKS * 2 * sizeof(int64_t));
        l[r].len = malloc(PIECES / RANKS * 2 * sizeof(int64_t));
        if (l[r].off == NULL || l[r].len == NULL)
            exit(1);
    }
    for (int i = 0; i < PIECES; i++) {
        struct lists *mine = &l[check_between(&seed, 0, RANKS - 1)];
        int64_t n = 8 * check_between(&seed, 1, 4);

        mine->off[mine->n] = at;
        mine->len[mine->n++] = n;
        at += n;
    }
}

static void make_requests(struct world *w, const struct lists *l)
{
    for (int r = 0; r < RANKS; r++) {
        struct cio_flat *view, *mem;
        int64_t zero = 0;

        if (cio_flat_create(l[r].off, l[r].len, l[r].n, (int64_t)1 << 40, &view) != 0 ||
            cio_flat_create(&zero, &view->size, 1, view->size, &mem) != 0)
            exit(1);
        w->request[r] = (struct cio_request){.file = view, .mem = mem, .bytes = view->size};
        w->request[r].buf = calloc(1, (size_t)view->size);
    }
}

static void report(const struct world *w, const char *what, double seconds)
{
    static const char *const name[CIO_TIMES] = {[CIO_TIME_FLATTEN] = "flatten",
                                                [CIO_TIME_MERGE] = "merge",
                                                [CIO_TIME_COPY] = "copy",
                                                [CIO_TIME_PLACE] = "place",
                                                [CIO_TIME_FILE] = "file"};
    double sum[CIO_TIMES] = {0};

    for (int r = 0; r < RANKS; r++)
        for (int t = 0; t < CIO_TIMES; t++)
            sum[t] += w->stats[r].time[t];
    printf("%-5s %.3f s CPU, %.0f ns a piece:", what, seconds, seconds / PIECES * 1e9);
    for (int t = CIO_TIME_FLATTEN; t < CIO_TIME_TOTAL; t++)
        if (name[t] != NULL)
            printf(" %s %.0f", name[t], sum[t] / PIECES * 1e9);
    printf("\n");
}

int main(int argc, char **argv)
{
    int repeats = argc > 1 ? atoi(argv[1]) : 2, c = argc > 2 ? atoi(argv[2]) : 8;
    static struct lists lists[RANKS];
    int node_of[RANKS];
    struct world w;

    for (int r = 0; r < RANKS; r++)
        node_of[r] = r / (RANKS / NODES);
    world_create(&w, RANKS, node_of, c, NODES, 1);
    w.settings.domain = CIO_DOMAIN_ALIGNED;
    w.settings.unit = 1 << 20;
    w.settings.memory_limit = 256 << 20;
    deal(lists);
    make_requests(&w, lists);
    for (int i = 0; i < 2 * repeats; i++) {
        double t = now();

        for (int r = 0; r < RANKS; r++)
            w.request[r].write = i % 2 == 0;
        if (world_run(&w) != 0 || w.error[0] != 0)
            return 1;
        report(&w, i % 2 == 0 ? "write" : "read", now() - t);
    }
    return 0;
}
