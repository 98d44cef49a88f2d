/*
 * Who sees what, when: in an immediate space others see a write as soon as it has returned; where
 * files are opened by themselves, whoever opens after a close does. Nobody needs the calls of a
 * rank that does something else. The file's end, counters, and bytes that are dropped.
 */
#include <pthread.h>
#include <string.h>

#include "ranks.h"
#include "tcio/state.h"

#define PIECE 100
#define PIECES 400
#define STRIDE 5000

static const int two_nodes[] = {0, 1, 0, 1};

struct turn {
    int at; /* what the ranks tell each other outside of TCIO */
    struct cio_store *store;
};

static void say(struct turn *t, int at)
{
    __atomic_store_n(&t->at, at, __ATOMIC_RELEASE);
}

static void hear(struct turn *t, int at)
{
    while (__atomic_load_n(&t->at, __ATOMIC_ACQUIRE) < at)
        ;
}

static void fill(char *buf, int i)
{
    memset(buf, 1 + i % 251, PIECE);
}

static void write_pieces(struct cio_tcio *f)
{
    char buf[PIECE];

    for (int i = 0; i < PIECES; i++) {
        fill(buf, i);
        MUST(cio_tcio_write(f, (int64_t)i * STRIDE, buf, PIECE) == 0);
    }
}

static void read_pieces(struct cio_tcio *f)
{
    char buf[PIECE], expected[PIECE];
    int64_t got;

    for (int i = 0; i < PIECES; i++) {
        fill(expected, i);
        MUST(cio_tcio_read(f, (int64_t)i * STRIDE, buf, PIECE, &got) == 0);
        MUST(got == PIECE && memcmp(buf, expected, PIECE) == 0);
    }
}

/* Rank 0 writes, and tells the others; these read. */
static void tell_and_read(struct ranks *all, int rank, struct cio_space *space, struct cio_tcio *f)
{
    struct turn *t = all->self;
    int64_t size;
    char buf[PIECE];

    (void)space;
    if (rank == 0) {
        write_pieces(f);
        say(t, 1);
        return;
    }
    hear(t, 1);
    read_pieces(f);
    MUST(cio_tcio_size(f, &size) == 0 && size == (PIECES - 1) * STRIDE + PIECE);
    MUST(cio_tcio_read(f, size - 10, buf, PIECE, &size) == 0 && size == 10);
}

/* Only rank 0 calls; the others do not even look before it is through. */
static void only_one(struct ranks *all, int rank, struct cio_space *space, struct cio_tcio *f)
{
    struct turn *t = all->self;

    (void)space;
    if (rank == 0) {
        for (int i = 0; i < 3; i++)
            write_pieces(f);
        read_pieces(f);
        MUST(cio_tcio_drain(f, 0) == 0);
        say(t, 1);
    }
    hear(t, 1);
}

/* A node that does not respond: level 1 takes more, up to four segments, and nothing is sent. */
static void busy_node(struct ranks *all, int rank, struct cio_space *space, struct cio_tcio *f)
{
    struct turn *t = all->self;
    struct cio_tcio_stats stats;
    int64_t room = cio_tcio_level1(f), n = 0;

    if (rank == 0) {
        cio_onesided_loop_busy(all->port[0], 1, 1);
        for (; n < 3 * room + room / 2; n += 16)
            MUST(cio_tcio_write(f, 2 * n, "sixteen bytes...", 16) == 0);
        cio_tcio_stats(f, &stats);
        MUST(stats.pushes == 0 && cio_tcio_level1(f) == 4 * room);
        for (; n < 5 * room; n += 16)
            MUST(cio_tcio_write(f, 2 * n, "sixteen bytes...", 16) == 0);
        cio_tcio_stats(f, &stats);
        MUST(stats.pushes > 0 && cio_tcio_level1(f) <= 4 * room);
        cio_onesided_loop_busy(all->port[0], 1, 0);
        say(t, 1);
    }
    hear(t, 1);
    MUST(cio_space_flush(space) == 0);
    if (rank == 3) {
        char buf[16];

        for (n = 0; n < 5 * room; n += 16) {
            MUST(cio_tcio_read(f, 2 * n, buf, 16, NULL) == 0);
            MUST(memcmp(buf, "sixteen bytes...", 16) == 0);
        }
    }
}

static int same_store(void *self, const char *path, struct cio_store **out)
{
    struct turn *t = self;

    MUST(strcmp(path, "the file") == 0);
    /* wrapped, since the space destroys what it has opened */
    return cio_store_late_create(t->store, 1, out);
}

/* Rank 0 writes and closes; the others open after that. The last one to close drains. */
static void close_to_open(struct ranks *all, int rank, struct cio_space *space, struct cio_tcio *f)
{
    struct turn *t = all->self;
    struct cio_tcio *mine;
    int64_t now;

    (void)f;
    if (rank != 0)
        hear(t, 1);
    MUST(cio_tcio_open(space, "the other", t->store, 0, &mine) == 0);
    MUST(cio_tcio_count(mine, 1, &now) == 0 && now >= 1 && now <= all->size);
    if (rank == 0)
        write_pieces(mine);
    else
        read_pieces(mine);
    if (rank == 0) {
        MUST(cio_tcio_push(mine) == 0);
        say(t, 1);
    }
    MUST(cio_tcio_count(mine, -1, &now) == 0);
    if (now == 0)
        MUST(cio_tcio_drain(mine, 1) == 0);
    MUST(cio_tcio_close(mine) == 0);
}

static int other_store(void *self, const char *path, struct cio_store **out)
{
    struct turn *t = self;

    (void)path;
    return cio_store_late_create(t->store, 1, out);
}

static struct ranks ranks_for(struct turn *t, int immediate)
{
    struct ranks all = {.size = 4, .node_of = two_nodes, .self = t};

    MUST(cio_store_memory_create(&t->store) == 0);
    all.store = t->store;
    all.settings.segment_size = 8192;
    all.settings.segments = 12;
    all.settings.immediate = immediate;
    return all;
}

/*
 * Two nodes together have more files open than one can know: what does not find a place there is
 * written, and read, without level 2. All files are parts of one store.
 */
#define EACH 100

static void many_files(struct ranks *all, int rank, struct cio_space *space, struct cio_tcio *f)
{
    struct turn *t = all->self;
    struct cio_tcio *mine[EACH];
    char buf[PIECE], name[40];

    (void)f;
    for (int i = 0; rank < 2 && i < EACH; i++) {
        snprintf(name, sizeof name, "rank %d, file %d", rank, i);
        MUST(cio_tcio_open(space, name, t->store, 0, &mine[i]) == 0);
    }
    MUST(cio_space_agree(space, 0) == 0); /* all are open */
    for (int i = 0; rank < 2 && i < EACH; i++) {
        fill(buf, i * 2 + rank);
        MUST(cio_tcio_write(mine[i], (int64_t)(i * 2 + rank) * STRIDE, buf, PIECE) == 0);
        MUST(cio_tcio_push(mine[i]) == 0);
    }
    for (int i = 0; rank < 2 && i < EACH; i++) {
        char expected[PIECE];

        fill(expected, i * 2 + rank);
        MUST(cio_tcio_read(mine[i], (int64_t)(i * 2 + rank) * STRIDE, buf, PIECE, NULL) == 0);
        MUST(memcmp(buf, expected, PIECE) == 0);
        MUST(cio_tcio_close(mine[i]) == 0);
    }
}

static void test_many_files(void)
{
    struct turn t = {0};
    struct ranks all = ranks_for(&t, 0);
    char buf[PIECE], expected[PIECE];

    all.run = many_files;
    all.settings.open = other_store;
    all.settings.self = &t;
    ranks_run(&all);
    MUST(all.outcome == 0);
    for (int i = 0; i < 2 * EACH; i++) {
        fill(expected, i);
        MUST(cio_store_read(t.store, buf, PIECE, (int64_t)i * STRIDE) == 0);
        MUST(memcmp(buf, expected, PIECE) == 0);
    }
    cio_store_destroy(t.store);
}

/* What was discarded is not in the file, nor read any more. */
static void discard(struct ranks *all, int rank, struct cio_space *space, struct cio_tcio *f)
{
    char buf[PIECE], zeros[PIECE] = "";
    int64_t got;

    (void)all;
    if (rank == 0) {
        MUST(cio_tcio_write(f, STRIDE, "x", 1) == 0);
        MUST(cio_tcio_discard(f) == 0);
        MUST(cio_tcio_read(f, STRIDE, buf, PIECE, &got) == 0);
        MUST(got == 0 && memcmp(buf, zeros, PIECE) == 0);
    }
    MUST(cio_space_flush(space) == 0);
}

static void test_busy(void)
{
    struct turn t = {0};
    struct ranks all = ranks_for(&t, 0);

    all.run = busy_node;
    ranks_run(&all);
    MUST(all.outcome == 0);
    cio_store_destroy(t.store);
}

static void check_pieces(struct cio_store *store)
{
    char buf[PIECE], expected[PIECE];

    for (int i = 0; i < PIECES; i++) {
        fill(expected, i);
        MUST(cio_store_read(store, buf, PIECE, (int64_t)i * STRIDE) == 0);
        MUST(memcmp(buf, expected, PIECE) == 0);
    }
}

typedef void (*program)(struct ranks *, int, struct cio_space *, struct cio_tcio *);

static void one_test(program run, int immediate,
                     int (*open)(void *, const char *, struct cio_store **), int written)
{
    struct turn t = {0};
    struct ranks all = ranks_for(&t, immediate);

    all.run = run;
    all.settings.open = open;
    all.settings.self = &t;
    ranks_run(&all);
    MUST(all.outcome == 0);
    if (written)
        check_pieces(t.store);
    else
        MUST(cio_store_size(t.store) == 0);
    cio_store_destroy(t.store);
}

int main(void)
{
    for (int i = 0; i < 10; i++) {
        one_test(tell_and_read, 1, NULL, 1);
        one_test(only_one, 0, NULL, 1);
        one_test(only_one, 1, NULL, 1);
        one_test(close_to_open, 0, other_store, 1);
        one_test(only_one, 0, same_store, 1);
        one_test(discard, 0, NULL, 0);
        one_test(discard, 1, NULL, 0);
    }
    test_busy();
    test_many_files();
    puts("test_visible: ok");
    return 0;
}
