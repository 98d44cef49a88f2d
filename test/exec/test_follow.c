/*
 * Members of a group return from a read one by one: each as soon as the stripes that it touches
 * have been read, and not when all of the group's have; with its bytes, and with one wake-up for
 * each. Without early return nobody does.
 *
 *   stripe         0 1 2 3 4 5 6 7 ... STRIPES - 1
 *   ranks 0, 4     x x x x x x x x ... x            (leaders; rank 0 is the only aggregator)
 *   ranks 1, 5     x
 *   ranks 2, 6     x x x x x x x x ... up to half
 *   ranks 3, 7     nothing
 */
#include <stdlib.h>
#include <string.h>

#include "../plan/check.h"
#include "world.h"

enum { RANKS = 8, GROUP = 4, STRIPES = 60, STRIPE = 512, PIECE = STRIPE / RANKS };

/* Stripes that a rank touches: the first ones. */
static int stripes_of(int rank)
{
    static const int stripes[GROUP] = {STRIPES, 1, STRIPES / 2, 0};

    return stripes[rank % GROUP];
}

static char value(int rank, int stripe)
{
    return (char)(1 + (rank * 37 + stripe) % 100);
}

/* ---- a store that counts stripes, and needs several turns for each ---- */

struct scene {
    struct world world; /* first */
    struct cio_store store;
    struct cio_store *below;
    int stripes_read;
    int read_at_release[RANKS]; /* -1: it was not released */
    int wrong_at_release;
};

static int count_read(struct cio_store *s, void *buf, int64_t len, int64_t off)
{
    struct scene *scene = (struct scene *)((char *)s - offsetof(struct scene, store));

    scene->stripes_read = (int)((off + len + STRIPE - 1) / STRIPE);
    return cio_store_read(scene->below, buf, len, off);
}

static const struct cio_store_ops counting_ops = {.read = count_read};

static void fill_store(struct scene *s)
{
    char piece[PIECE];

    for (int i = 0; i < STRIPES; i++)
        for (int r = 0; r < RANKS; r++) {
            memset(piece, value(r, i), PIECE);
            CHECK(cio_store_write(s->below, piece, PIECE, (int64_t)i * STRIPE + r * PIECE) == 0);
        }
}

/* ---- requests ---- */

static void make_request(struct world *w, int r)
{
    int64_t off = (int64_t)r * PIECE, len = PIECE, zero = 0;
    int64_t size = (int64_t)stripes_of(r) * PIECE;
    struct cio_flat *view, *mem;

    w->request[r] = (struct cio_request){.write = 0};
    if (size == 0)
        return;
    if (cio_flat_create(&off, &len, 1, STRIPE, &view) != 0 ||
        cio_flat_create(&zero, &size, 1, size, &mem) != 0)
        exit(1);
    w->request[r] = (struct cio_request){
        .file = view, .mem = mem, .bytes = size, .buf = calloc(1, (size_t)size)};
}

static void free_request(struct cio_request *req, const struct cio_flat *file,
                         const struct cio_flat *mem, char *buf)
{
    cio_flat_destroy((struct cio_flat *)file);
    cio_flat_destroy((struct cio_flat *)mem);
    free(buf);
    memset(req, 0, sizeof(*req));
}

static int wrong_bytes(const struct world *w, int r)
{
    int wrong = 0;

    for (int i = 0; i < stripes_of(r) * PIECE; i++)
        wrong += w->request[r].buf[i] != value(r, i / PIECE);
    return wrong;
}

static void note_release(struct world *w, int r)
{
    struct scene *s = (struct scene *)w;

    s->read_at_release[r] = s->stripes_read;
    s->wrong_at_release += wrong_bytes(w, r);
}

/* ---- one read ---- */

static void run(struct scene *s, enum cio_transport transport, enum cio_switch merge, int early)
{
    int node_of[RANKS] = {0, 0, 0, 0, 1, 1, 1, 1};
    struct cio_request kept[RANKS];

    memset(s, 0, sizeof(*s));
    world_create(&s->world, RANKS, node_of, 1, 1, 1);
    s->below = s->world.store;
    s->store.ops = &counting_ops;
    fill_store(s);
    s->world.store = &s->store;
    s->world.slow = 7;
    s->world.on_release = note_release;
    s->world.settings.unit = s->world.settings.stripe = STRIPE;
    s->world.settings.depth = 1;
    s->world.settings.early = early;
    s->world.settings.transport = transport;
    s->world.settings.merge = merge;
    for (int r = 0; r < RANKS; r++) {
        s->read_at_release[r] = -1;
        make_request(&s->world, r);
        kept[r] = s->world.request[r];
    }
    if (!CHECK(world_run(&s->world) == 0))
        exit(1);
    for (int r = 0; r < RANKS; r++) {
        CHECK(s->world.error[r] == 0 && wrong_bytes(&s->world, r) == 0);
        free_request(&s->world.request[r], kept[r].file, kept[r].mem, kept[r].buf);
    }
    s->world.store = s->below;
    world_destroy(&s->world);
}

/* An aggregator reads a few stripes more before word of the last one has gone all the way. */
enum { AHEAD = 8 };

static void check_following(enum cio_transport transport, enum cio_switch merge)
{
    struct scene s;

    run(&s, transport, merge, 1);
    CHECK(s.wrong_at_release == 0);
    for (int r = 0; r < RANKS; r++) {
        int at = s.read_at_release[r];

        if (r % GROUP == 0)
            CHECK(at == -1);
        else
            CHECK(at >= stripes_of(r) && at <= stripes_of(r) + AHEAD);
    }
}

static void check_closed(enum cio_transport transport)
{
    struct scene s;

    run(&s, transport, CIO_AUTOMATIC, 0);
    for (int r = 0; r < RANKS; r++)
        CHECK(s.read_at_release[r] == -1);
}

int main(void)
{
    static const enum cio_transport transports[] = {CIO_TRANSPORT_AUTO, CIO_TRANSPORT_P2P};

    for (int i = 0; i < 2; i++) {
        check_following(transports[i], CIO_ENABLE);
        check_following(transports[i], CIO_DISABLE);
        check_closed(transports[i]);
    }
    return check_done("follow");
}
