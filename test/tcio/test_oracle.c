/*
 * Random writes and reads of all ranks, in phases that end with a flush, against an oracle. In a
 * phase every byte belongs to one rank, which may write it several times; pieces have any size and
 * order, and may reach over several segments. What a rank has written it reads at once; what others
 * have written, after the flush. Bytes that nobody writes stay what the file had there.
 *
 * Usage: test_oracle [SEED [CASES]]
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ranks.h"
#include "tcio/state.h"

#define MOST_RANKS 8
#define MOST_PIECE 40000

struct world {
    uint64_t seed;
    int64_t size;  /* of the range that is written */
    int64_t old;   /* bytes that the file had before */
    int64_t grain; /* ownership changes at its multiples */
    int phases, calls;
    int immediate;
    unsigned char *oracle;
    int64_t end[MOST_RANKS]; /* where the furthest write of each rank ended */
};

static int owner_of(const struct world *w, int phase, int64_t off, int ranks)
{
    uint64_t x = (uint64_t)(off / w->grain) * 0x9e3779b97f4a7c15u + (uint64_t)phase * 77 + w->seed;

    x ^= x >> 29;
    return (int)(x * 0xbf58476d1ce4e5b9u >> 33) % (ranks + 1) - 1; /* -1: nobody */
}

/* A piece that belongs to the rank, or an empty one. */
static int64_t piece(const struct world *w, struct ranks *all, int rank, int phase, uint64_t *seed,
                     int64_t *off)
{
    int64_t most = draw(seed) % 8 == 0 ? MOST_PIECE : 1 + (int64_t)(draw(seed) % 100), len = 0;

    *off = (int64_t)(draw(seed) % (uint64_t)w->size);
    while (len < most && *off + len < w->size && owner_of(w, phase, *off + len, all->size) == rank)
        len++;
    return len;
}

static void write_one(struct world *w, struct cio_tcio *f, int rank, int64_t off, int64_t len,
                      uint64_t *seed)
{
    unsigned char buf[MOST_PIECE] = {0};

    for (int64_t i = 0; i < len; i++)
        buf[i] = (unsigned char)(draw(seed) >> 20);
    MUST(cio_tcio_write(f, off, buf, len) == 0);
    memcpy(w->oracle + off, buf, (size_t)len);
    if (len > 0 && off + len > w->end[rank])
        w->end[rank] = off + len;
}

static void read_own(struct world *w, struct cio_tcio *f, int64_t off, int64_t len, int later)
{
    unsigned char buf[MOST_PIECE];
    int64_t got = -1;

    memset(buf, 0x55, sizeof buf);
    if (later)
        MUST(cio_tcio_read_later(f, off, buf, len) == 0 && cio_tcio_fetch(f) == 0);
    else
        MUST(cio_tcio_read(f, off, buf, len, &got) == 0);
    MUST(memcmp(buf, w->oracle + off, (size_t)len) == 0);
}

static int64_t end_of_file(const struct world *w, int ranks)
{
    int64_t end = w->old;

    for (int r = 0; r < ranks; r++)
        end = w->end[r] > end ? w->end[r] : end;
    return end;
}

static void read_any(struct world *w, struct cio_tcio *f, int64_t end, uint64_t *seed)
{
    unsigned char buf[MOST_PIECE];
    int64_t off = (int64_t)(draw(seed) % (uint64_t)(w->size + 500));
    int64_t len = 1 + (int64_t)(draw(seed) % (draw(seed) % 8 == 0 ? MOST_PIECE : 100)), got = -1;
    int64_t known = end < off ? 0 : end - off < len ? end - off : len;

    MUST(cio_tcio_read(f, off, buf, len, &got) == 0);
    MUST(got == known);
    for (int64_t i = 0; i < len; i++)
        MUST(buf[i] == (i < known ? w->oracle[off + i] : 0));
}

#define LAZY 60

static void read_lazily(struct world *w, struct cio_tcio *f, int64_t end, uint64_t *seed)
{
    static _Thread_local unsigned char buf[LAZY][400];
    int64_t off[LAZY], len[LAZY];

    for (int i = 0; i < LAZY; i++) {
        off[i] = (int64_t)(draw(seed) % (uint64_t)w->size);
        len[i] = (int64_t)(draw(seed) % sizeof buf[i]);
        MUST(cio_tcio_read_later(f, off[i], buf[i], len[i]) == 0);
    }
    MUST(cio_tcio_fetch(f) == 0);
    for (int i = 0; i < LAZY; i++)
        for (int64_t k = 0; k < len[i]; k++)
            MUST(buf[i][k] == (off[i] + k < end ? w->oracle[off[i] + k] : 0));
}

static void run(struct ranks *all, int rank, struct cio_space *space, struct cio_tcio *f)
{
    struct world *w = all->self;
    uint64_t seed = w->seed * 1000003 + (uint64_t)rank * 7919 + 1;

    for (int phase = 0; phase < w->phases; phase++) {
        int64_t end;

        for (int i = 0; i < w->calls; i++) {
            int64_t off, len = piece(w, all, rank, phase, &seed, &off);

            write_one(w, f, rank, off, len, &seed);
            if (draw(&seed) % 4 == 0)
                read_own(w, f, off, len, (int)(draw(&seed) % 2));
            if (draw(&seed) % 16 == 0 && draw(&seed) % 16 == 0)
                MUST(cio_tcio_drain(f, 0) == 0);
        }
        MUST(cio_space_flush(space) == 0);
        end = end_of_file(w, all->size);
        for (int i = 0; i < w->calls / 4; i++)
            read_any(w, f, end, &seed);
        read_lazily(w, f, end, &seed);
        MUST(cio_space_flush(space) == 0);
    }
}

static void check_file(struct world *w, struct cio_store *store, int ranks)
{
    unsigned char *got = malloc((size_t)w->size);
    int64_t end = end_of_file(w, ranks);

    MUST(got != NULL && cio_store_read(store, got, w->size, 0) == 0);
    MUST(memcmp(got, w->oracle, (size_t)w->size) == 0);
    MUST(cio_store_size(store) == end);
    free(got);
}

static void one_case(uint64_t seed)
{
    uint64_t s = seed * 0x9e3779b97f4a7c15u + 1;
    int node_of[MOST_RANKS], nodes = 1 + (int)(draw(&s) % 4), size, n = 0;
    struct world w = {.seed = seed};
    struct ranks all = {.run = run, .self = &w, .node_of = node_of};

    size = nodes + (int)(draw(&s) % (MOST_RANKS - 3));
    for (int i = 0; i < size; i++)
        node_of[i] = i < nodes ? i : (int)(draw(&s) % (uint64_t)nodes);
    (void)n;
    all.size = size;
    all.settings.segment_size = 4096 << draw(&s) % 4;
    all.settings.segments = 1 + (int64_t)(draw(&s) % 24);
    all.settings.immediate = (int)(draw(&s) % 3 == 0);
    if (draw(&s) % 6 == 0) /* enough for the beginning, and a few segments or none */
        all.memory = nodes * (int64_t)(sizeof(struct cio_node) + 4096) + size * 8192 +
                     (int64_t)(draw(&s) % 100000);
    w.size = 1 + (int64_t)(draw(&s) % (draw(&s) % 2 ? 30000 : 1500000));
    w.old = draw(&s) % 2 ? (int64_t)(draw(&s) % (uint64_t)w.size) : 0;
    w.grain = 1 + (int64_t)(draw(&s) % (draw(&s) % 2 ? 16 : 5000));
    w.phases = 1 + (int)(draw(&s) % 3);
    w.calls = (int)(draw(&s) % 400);
    w.oracle = calloc(1, (size_t)w.size);
    MUST(w.oracle != NULL && cio_store_memory_create(&all.store) == 0);
    for (int64_t i = 0; i < w.old; i++)
        w.oracle[i] = (unsigned char)(draw(&s) >> 11);
    if (w.old > 0)
        MUST(cio_store_write(all.store, w.oracle, w.old, 0) == 0);
    ranks_run(&all);
    MUST(all.outcome == 0);
    check_file(&w, all.store, size);
    cio_store_destroy(all.store);
    free(w.oracle);
}

int main(int argc, char **argv)
{
    uint64_t seed = argc > 1 ? strtoull(argv[1], NULL, 0) : 1;
    int cases = argc > 2 ? atoi(argv[2]) : 300;

    printf("seed %llu, %d cases\n", (unsigned long long)seed, cases);
    for (int i = 0; i < cases; i++) {
        if (argc > 3)
            printf("case %llu\n", (unsigned long long)seed + (unsigned)i), fflush(stdout);
        one_case(seed + (uint64_t)i);
    }
    return 0;
}
