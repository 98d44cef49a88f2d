/*
 * A file that cannot be written: every rank hears of it at the flush, once; what was accepted stays
 * in level 2, and is in the file after a flush that finds room again. Settings that differ or make
 * no sense are refused on all ranks.
 */
#include <errno.h>
#include <pthread.h>
#include <string.h>

#include "ranks.h"

#define RANKS 4
#define PIECE 24
#define PIECES 300

static const int two_nodes[] = {0, 0, 1, 1};

struct disk {
    struct cio_store *memory;
    struct cio_fault fault;
};

static int64_t place(int rank, int i)
{
    return ((int64_t)i * RANKS + rank) * PIECE;
}

static void write_mine(struct cio_tcio *f, int rank)
{
    char buf[PIECE];

    for (int i = 0; i < PIECES; i++) {
        memset(buf, 1 + (rank + i) % 200, PIECE);
        MUST(cio_tcio_write(f, place(rank, i), buf, PIECE) == 0);
    }
}

static void full(struct ranks *all, int rank, struct cio_space *space, struct cio_tcio *f)
{
    struct disk *d = all->self;

    write_mine(f, rank);
    MUST(cio_space_flush(space) == -ENOSPC);
    MUST(cio_space_flush(space) == -ENOSPC); /* still */
    if (rank == 0)
        d->fault.write_at = -1; /* nobody writes before rank 0 comes to the flush */
    MUST(cio_space_flush(space) == 0);
    MUST(cio_space_flush(space) == 0);
}

static void check_file(struct cio_store *store)
{
    char buf[PIECE], expected[PIECE];

    for (int r = 0; r < RANKS; r++)
        for (int i = 0; i < PIECES; i++) {
            memset(expected, 1 + (r + i) % 200, PIECE);
            MUST(cio_store_read(store, buf, PIECE, place(r, i)) == 0);
            MUST(memcmp(buf, expected, PIECE) == 0);
        }
}

static void a_full_disk(int at)
{
    struct disk d = {.fault = {.write_at = at, .read_at = -1, .error = -ENOSPC, .sticky = 1}};
    struct ranks all = {.size = RANKS, .node_of = two_nodes, .run = full, .self = &d};

    MUST(cio_store_memory_create(&d.memory) == 0);
    MUST(cio_store_faulty_create(d.memory, &d.fault, &all.store) == 0);
    all.settings.segment_size = 4096;
    all.settings.segments = 40;
    ranks_run(&all);
    MUST(all.outcome == 0);
    check_file(d.memory);
    cio_store_destroy(all.store);
    cio_store_destroy(d.memory);
}

/* Segments that must make room while nothing can be written: the writer is told. */
static void no_room(struct ranks *all, int rank, struct cio_space *space, struct cio_tcio *f)
{
    char buf[4000] = "x";
    int rc = 0;

    (void)all;
    for (int i = 0; rc == 0 && i < 5000; i++)
        rc = cio_tcio_write(f, (int64_t)(i * RANKS + rank) * 4096, buf, sizeof buf);
    MUST(rc == 0 || rc == -EIO);
    MUST(cio_space_flush(space) == -EIO);
}

static void nothing_can_be_written(void)
{
    struct disk d = {.fault = {.write_at = 0, .read_at = -1, .error = -EIO, .sticky = 1}};
    struct ranks all = {.size = RANKS, .node_of = two_nodes, .run = no_room, .self = &d};

    MUST(cio_store_memory_create(&d.memory) == 0);
    MUST(cio_store_faulty_create(d.memory, &d.fault, &all.store) == 0);
    all.settings.segment_size = 4096;
    all.settings.segments = 30;
    ranks_run(&all);
    MUST(all.outcome == -EIO);
    cio_store_destroy(all.store);
    cio_store_destroy(d.memory);
}

struct refused {
    struct cio_onesided_loop *loop;
    struct cio_space_settings settings;
    int rank, differs;
};

static void *refuse(void *arg)
{
    struct refused *r = arg;
    struct cio_onesided *os;
    struct cio_space *space;

    if (r->differs && r->rank == 1)
        r->settings.segments++;
    MUST(cio_onesided_loop_port(r->loop, r->rank, &os) == 0);
    MUST(cio_space_create(os, &r->settings, &space) == -EINVAL);
    return NULL;
}

static void settings_that_are_refused(struct cio_space_settings settings, int differs)
{
    struct cio_onesided_loop *loop;
    struct refused r[RANKS];
    pthread_t thread[RANKS];

    MUST(cio_onesided_loop_create(RANKS, two_nodes, 1 << 20, &loop) == 0);
    for (int i = 0; i < RANKS; i++) {
        r[i] = (struct refused){loop, settings, i, differs};
        MUST(pthread_create(&thread[i], NULL, refuse, &r[i]) == 0);
    }
    for (int i = 0; i < RANKS; i++)
        pthread_join(thread[i], NULL);
    cio_onesided_loop_destroy(loop);
}

int main(void)
{
    for (int at = 0; at < 3; at++)
        a_full_disk(at);
    nothing_can_be_written();
    settings_that_are_refused((struct cio_space_settings){.segment_size = 4096, .segments = 4}, 1);
    settings_that_are_refused((struct cio_space_settings){.segment_size = 5000, .segments = 4}, 0);
    settings_that_are_refused((struct cio_space_settings){.segment_size = 2048, .segments = 4}, 0);
    settings_that_are_refused((struct cio_space_settings){.segment_size = 4096, .segments = 0}, 0);
    puts("test_failures: ok");
    return 0;
}
