/*
 * So many pieces that all members of a group merge them, each its part, in several windows; one
 * member has pieces in the first window only, and returns before the others merge the next one: the
 * leader does its part.
 */
#include <stdlib.h>
#include <string.h>

#include "../plan/check.h"
#include "world.h"

enum { RANKS = 3, PIECES = 800000, FEW = 1000, LIMIT = 10 << 20 };

static int pieces_of(int rank)
{
    return rank == RANKS - 1 ? FEW : PIECES;
}

static char value(int rank, int piece)
{
    return (char)(1 + (rank * 31 + piece) % 100);
}

/* Pieces of one byte, ranks in turn. */
static void make_request(struct world *w, int r, int write)
{
    int64_t off = r, one = 1, zero = 0, bytes = pieces_of(r);
    struct cio_flat *view, *mem;
    char *buf = calloc(1, (size_t)bytes);

    if (buf == NULL || cio_flat_create(&off, &one, 1, RANKS, &view) != 0 ||
        cio_flat_create(&zero, &bytes, 1, bytes, &mem) != 0)
        exit(1);
    for (int i = 0; write && i < pieces_of(r); i++)
        buf[i] = value(r, i);
    w->request[r] =
        (struct cio_request){.write = write, .file = view, .mem = mem, .bytes = bytes, .buf = buf};
}

static void free_request(const struct cio_request *req)
{
    cio_flat_destroy((struct cio_flat *)req->file);
    cio_flat_destroy((struct cio_flat *)req->mem);
    free(req->buf);
}

static int wrong_in_file(const struct world *w)
{
    static char file[RANKS * PIECES];
    int wrong = 0;

    CHECK(cio_store_read(w->store, file, sizeof(file), 0) == 0);
    for (int r = 0; r < RANKS; r++)
        for (int i = 0; i < pieces_of(r); i++)
            wrong += file[(int64_t)i * RANKS + r] != value(r, i);
    return wrong;
}

static int wrong_in_buffer(const struct cio_request *req, int r)
{
    int wrong = 0;

    for (int i = 0; i < pieces_of(r); i++)
        wrong += req->buf[i] != value(r, i);
    return wrong;
}

static void run(struct world *w, int write)
{
    struct cio_request kept[RANKS];

    for (int r = 0; r < RANKS; r++) {
        make_request(w, r, write);
        kept[r] = w->request[r];
    }
    if (!CHECK(world_run(w) == 0))
        exit(1);
    CHECK(w->stats[0].count[CIO_COUNT_WINDOWS] > 2);
    CHECK(w->released[RANKS - 1]);
    for (int r = 0; r < RANKS; r++) {
        CHECK(w->error[r] == 0 && wrong_in_buffer(&kept[r], r) == 0);
        free_request(&kept[r]);
    }
    CHECK(wrong_in_file(w) == 0);
}

int main(void)
{
    int node_of[RANKS] = {0, 0, 0};
    struct world w;

    world_create(&w, RANKS, node_of, 1, 1, 1);
    w.settings.unit = 64 << 10;
    w.settings.memory_limit = LIMIT;
    w.settings.merge = CIO_ENABLE;
    w.settings.early = 1;
    run(&w, 1);
    run(&w, 0);
    world_destroy(&w);
    return check_done("merge_through");
}
