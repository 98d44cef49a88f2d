/*
 * Members of a group return one by one, with their bytes. From a
 * read, as soon as the stripes that they touch have been read, and not when all of the group's
 * have; from either, where the group's bytes go in several windows, with the last window that has
 * any of theirs. Without early return nobody does, nor where it is not known that a read has not
 * come to the end of the file.
 *
 *   stripe         0 1 2 3 4 5 6 7 ... STRIPES - 1
 *   ranks 0, 4     x x x x x x x x ... x            (leaders; rank 0 is the only aggregator)
 *   ranks 1, 5     x
 *   ranks 2, 6     x x x x x x x x ... up to half
 *   ranks 3, 7     nothing
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../plan/check.h"
#include "world.h"

enum { RANKS = 8, GROUP = 4, STRIPES = 60, STRIPE = 32768, PIECE = STRIPE / RANKS };

/* An aggregator serves a few stripes more before word of the last one has gone all the way. */
enum { AHEAD = 8 };

/* With a memory limit of LITTLE a window has some stripes, but fewer than MOST; with PLENTY, all.
 */
enum { LITTLE = 28 << 10, PLENTY = 8 << 20, MOST = 8, WINDOWS = STRIPES / MOST };

/* What is done, and how. */
struct plan {
    int write, early;
    enum cio_transport transport;
    enum cio_switch merge;
    int64_t limit; /* of memory */
    int zeros;     /* are what the file has */
    int sizeless;  /* its size is not known */
    int uneven;    /* ranks have little of the first stripes: later windows need more memory */
    int fails;     /* there is no shared memory any more after so many pieces of it; 0: never */
};

/* Stripes that a rank touches: the first ones. */
static int stripes_of(int rank)
{
    static const int stripes[GROUP] = {STRIPES, 1, STRIPES / 2, 0};

    return stripes[rank % GROUP];
}

/* Bytes of each rank in a stripe that it touches. */
static int piece_of(const struct plan *p, int stripe)
{
    return p->uneven && stripe < STRIPES / 4 ? 1 : PIECE;
}

static char value(const struct plan *p, int rank, int stripe)
{
    return p->zeros ? 0 : (char)(1 + (rank * 37 + stripe) % 100);
}

/* ---- a store that counts stripes, and needs several turns for each ---- */

struct scene {
    struct world world; /* first */
    const struct plan *plan;
    struct cio_store store;
    int stripes;                  /* read or written so far */
    int served_at_release[RANKS]; /* -1: it was not released */
    int wrong_at_release;
};

static struct cio_store *count(struct cio_store *s, int64_t end)
{
    struct scene *scene = (struct scene *)((char *)s - offsetof(struct scene, store));

    scene->stripes = (int)((end + STRIPE - 1) / STRIPE);
    return s->below;
}

static int count_read(struct cio_store *s, void *buf, int64_t len, int64_t off)
{
    return cio_store_read(count(s, off + len), buf, len, off);
}

static int count_write(struct cio_store *s, const void *buf, int64_t len, int64_t off)
{
    return cio_store_write(count(s, off + len), buf, len, off);
}

static int64_t size(struct cio_store *s)
{
    struct scene *scene = (struct scene *)((char *)s - offsetof(struct scene, store));

    return scene->plan->sizeless ? -1 : cio_store_size(s->below);
}

static const struct cio_store_ops counting_ops = {
    .read = count_read, .write = count_write, .size = size};

/* All that ranks read; of a write, nothing. */
static void fill_store(struct scene *s)
{
    char piece[PIECE];

    for (int i = 0; !s->plan->write && i < STRIPES; i++)
        for (int r = 0; r < RANKS; r++) {
            memset(piece, value(s->plan, r, i), PIECE);
            CHECK(cio_store_write(s->store.below, piece, PIECE, (int64_t)i * STRIPE + r * PIECE) ==
                  0);
        }
}

/* Bytes that are not what their rank has written. */
static int wrong_in_store(const struct scene *s)
{
    char piece[PIECE];
    int wrong = 0;

    for (int r = 0; r < RANKS; r++)
        for (int i = 0; i < stripes_of(r); i++) {
            CHECK(cio_store_read(s->store.below, piece, PIECE, (int64_t)i * STRIPE + r * PIECE) ==
                  0);
            for (int j = 0; j < piece_of(s->plan, i); j++)
                wrong += piece[j] != value(s->plan, r, i);
        }
    return wrong;
}

/* ---- requests ---- */

/* A buffer that is to be read has something else in it at first. */
static char *make_buffer(const struct plan *p, int r, int64_t bytes)
{
    char *buf = malloc((size_t)bytes), *at = buf;

    if (buf == NULL)
        exit(1);
    for (int i = 0; i < stripes_of(r); at += piece_of(p, i++))
        memset(at, p->write ? value(p, r, i) : -1, (size_t)piece_of(p, i));
    return buf;
}

static void make_request(struct scene *s, int r)
{
    int64_t off[STRIPES], len[STRIPES], bytes = 0, zero = 0;
    struct cio_flat *view, *mem;

    s->world.request[r] = (struct cio_request){.write = s->plan->write};
    if (stripes_of(r) == 0)
        return;
    for (int i = 0; i < stripes_of(r); i++) {
        off[i] = (int64_t)i * STRIPE + r * PIECE;
        len[i] = piece_of(s->plan, i);
        bytes += len[i];
    }
    if (cio_flat_create(off, len, stripes_of(r), (int64_t)STRIPES * STRIPE, &view) != 0 ||
        cio_flat_create(&zero, &bytes, 1, bytes, &mem) != 0)
        exit(1);
    s->world.request[r] = (struct cio_request){.write = s->plan->write,
                                               .file = view,
                                               .mem = mem,
                                               .bytes = bytes,
                                               .buf = make_buffer(s->plan, r, bytes)};
}

static void free_request(struct cio_request *req, const struct cio_request *kept)
{
    cio_flat_destroy((struct cio_flat *)kept->file);
    cio_flat_destroy((struct cio_flat *)kept->mem);
    free(kept->buf);
    memset(req, 0, sizeof(*req));
}

static int wrong_bytes(const struct scene *s, int r)
{
    const char *at = s->world.request[r].buf;
    int wrong = 0;

    for (int i = 0; !s->plan->write && i < stripes_of(r); i++)
        for (int j = 0; j < piece_of(s->plan, i); j++)
            wrong += *at++ != value(s->plan, r, i);
    return wrong;
}

/* Who has returned from a write may do with its buffer what it likes. */
static void note_release(struct world *w, int r)
{
    struct scene *s = (struct scene *)w;

    s->served_at_release[r] = s->stripes;
    s->wrong_at_release += wrong_bytes(s, r);
    if (s->plan->write && stripes_of(r) > 0)
        memset(w->request[r].buf, -1, (size_t)w->request[r].bytes);
}

/* ---- one call ---- */

static void settle(struct scene *s)
{
    struct cio_settings *set = &s->world.settings;

    set->unit = set->stripe = STRIPE;
    set->depth = 1;
    set->early = s->plan->early;
    set->transport = s->plan->transport;
    set->merge = s->plan->merge;
    set->memory_limit = s->plan->limit;
    if (s->plan->fails > 0)
        cio_nodemem_loop_fail(s->world.memory, s->plan->fails, -ENOSPC);
}

/* All of a group have counted the same words and answers. */
static void check_counters(const struct world *w)
{
    for (int r = 0; r < RANKS; r++) {
        const struct cio_segment *leader = &w->segment[r / GROUP * GROUP], *mine = &w->segment[r];

        if (r % GROUP != 0 && mine->shared)
            CHECK(mine->arrived == leader->arrived &&
                  mine->told == w->segment[r / GROUP * GROUP + 1].told);
    }
}

/* Twice, so that who has missed something of the first is noticed. */
static void run(struct scene *s, const struct plan *p)
{
    int node_of[RANKS] = {0, 0, 0, 0, 1, 1, 1, 1};
    struct cio_request kept[RANKS];

    memset(s, 0, sizeof(*s));
    s->plan = p;
    world_create(&s->world, RANKS, node_of, 1, 1, 1);
    s->store.below = s->world.store;
    s->store.ops = &counting_ops;
    fill_store(s);
    s->world.store = &s->store;
    s->world.slow = 7;
    s->world.on_release = note_release;
    settle(s);
    for (int turn = 0; turn < 2; turn++) {
        s->stripes = 0;
        for (int r = 0; r < RANKS; r++) {
            s->served_at_release[r] = -1;
            make_request(s, r);
            kept[r] = s->world.request[r];
        }
        if (!CHECK(world_run(&s->world) == 0))
            exit(1);
        for (int r = 0; r < RANKS; r++) {
            CHECK(s->world.error[r] == 0 && wrong_bytes(s, r) == 0);
            free_request(&s->world.request[r], &kept[r]);
        }
        CHECK(wrong_in_store(s) == 0);
        check_counters(&s->world);
    }
    CHECK((s->world.stats[0].count[CIO_COUNT_WINDOWS] > WINDOWS) == (p->limit == LITTLE));
    s->world.store = s->store.below;
    world_destroy(&s->world);
}

/* From when to when a rank should be released, in stripes that have been served. */
static void check_releases(const struct plan *p)
{
    int window = p->limit == LITTLE ? MOST : 0;
    struct scene s;

    run(&s, p);
    CHECK(s.wrong_at_release == 0);
    for (int r = 0; r < RANKS; r++) {
        int at = s.served_at_release[r], least = p->write ? 0 : stripes_of(r);

        if (r % GROUP == 0)
            CHECK(at == -1);
        else
            CHECK(at >= least && at <= stripes_of(r) + window + AHEAD);
    }
}

static void check_closed(const struct plan *p)
{
    struct scene s;

    run(&s, p);
    for (int r = 0; r < RANKS; r++)
        CHECK(s.served_at_release[r] == -1 || (p->early && stripes_of(r) == 0));
}

static void check_transport(enum cio_transport transport, int64_t limit)
{
    struct plan p = {.transport = transport, .limit = limit};

    check_closed(&p);
    p.early = 1;
    for (p.write = 0; p.write < 2; p.write++) {
        p.merge = CIO_ENABLE;
        check_releases(&p);
        p.merge = CIO_DISABLE;
        check_releases(&p);
    }
    p.write = 0;
    p.zeros = 1;
    check_releases(&p);
    p.sizeless = 1;
    check_closed(&p);
}

/* Members that are through hear of the outcome on the board, others then by message. */
static void check_losing_memory(void)
{
    struct plan p = {.early = 1, .limit = LITTLE, .merge = CIO_ENABLE, .uneven = 1};

    for (p.write = 0; p.write < 2; p.write++)
        for (p.fails = 1; p.fails < 200; p.fails++) {
            struct scene s;

            run(&s, &p);
            CHECK(s.wrong_at_release == 0);
        }
}

int main(void)
{
    check_transport(CIO_TRANSPORT_AUTO, PLENTY);
    check_transport(CIO_TRANSPORT_AUTO, LITTLE);
    check_transport(CIO_TRANSPORT_P2P, PLENTY);
    check_transport(CIO_TRANSPORT_P2P, LITTLE);
    check_losing_memory();
    return check_done("follow");
}
