/*
 * One inbox for many: ranks that push more than a ring at once, and ask in between, so that
 * questions stand before records that wait for room. It must end, with the right bytes.
 */
#include <string.h>

#include "ranks.h"

#define RANKS 8
#define TURNS 40
#define PIECES 120
#define PIECE 96

static const int two_nodes[RANKS] = {0, 0, 0, 0, 0, 0, 0, 1};

static int64_t place(int rank, int i)
{
    return ((int64_t)i * RANKS + rank) * 200;
}

static void fill(char *buf, int rank, int turn, int i)
{
    memset(buf, 1 + (rank * 7 + turn * 3 + i) % 250, PIECE);
}

static void run(struct ranks *all, int rank, struct cio_space *space, struct cio_tcio *f)
{
    char buf[PIECE], expected[PIECE];

    (void)all, (void)space;
    for (int turn = 0; rank < RANKS - 1 && turn < TURNS; turn++) {
        for (int i = 0; i < PIECES; i++) {
            fill(buf, rank, turn, i);
            MUST(cio_tcio_write(f, place(rank, i), buf, PIECE) == 0);
        }
        MUST(cio_tcio_push(f) == 0);
        if ((turn + rank) % 3 == 0)
            MUST(cio_tcio_drain(f, 0) == 0);
        for (int i = 0; i < PIECES; i += 50) {
            fill(expected, rank, turn, i);
            MUST(cio_tcio_read(f, place(rank, i), buf, PIECE, NULL) == 0);
            MUST(memcmp(buf, expected, PIECE) == 0);
        }
    }
}

static void check_file(struct cio_store *store)
{
    char buf[PIECE], expected[PIECE];

    for (int r = 0; r < RANKS - 1; r++)
        for (int i = 0; i < PIECES; i++) {
            fill(expected, r, TURNS - 1, i);
            MUST(cio_store_read(store, buf, PIECE, place(r, i)) == 0);
            MUST(memcmp(buf, expected, PIECE) == 0);
        }
}

int main(void)
{
    for (int immediate = 0; immediate < 2; immediate++) {
        struct ranks all = {.size = RANKS, .node_of = two_nodes, .run = run};

        MUST(cio_store_memory_create(&all.store) == 0);
        all.settings.segment_size = 4096;
        all.settings.segments = 24;
        all.settings.immediate = immediate;
        ranks_run(&all);
        MUST(all.outcome == 0);
        check_file(all.store);
        cio_store_destroy(all.store);
    }
    puts("test_inbox: ok");
    return 0;
}
