/*
 * More than 2 GiB of data from every rank, at offsets beyond 2^40. Nobody holds that much: a rank's
 * buffer is one small block of memory mapped again and again, and the file is a rule that says
 * which byte belongs where.
 */
#define _GNU_SOURCE /* memfd_create */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "../plan/check.h"
#include "world.h"

enum { RANKS = 2, BLOCK = 1 << 20, PIECE = 1000 * 1000 };

#define PIECES ((int64_t)2200)
#define BASE ((int64_t)3 << 40)

/* The bytes of a block, the same in every rank's buffer but for the rank. */
static char byte_at(int rank, int64_t stream)
{
    uint64_t z = (uint64_t)(stream % BLOCK) * 0x9e3779b97f4a7c15u + (uint64_t)rank;

    return (char)(z >> 33);
}

/* ---- a buffer of PIECES * PIECE bytes in one block of memory ---- */

static char *make_buffer(void)
{
    int64_t size = (PIECES * PIECE / BLOCK + 1) * BLOCK;
    int fd = memfd_create("block", 0);
    char *p =
        mmap(NULL, (size_t)size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

    if (fd < 0 || p == MAP_FAILED || ftruncate(fd, BLOCK) != 0)
        exit(1);
    for (int64_t at = 0; at < size; at += BLOCK)
        if (mmap(p + at, BLOCK, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd, 0) ==
            MAP_FAILED)
            exit(1);
    close(fd);
    return p;
}

/* ---- the file: piece after piece, rank after rank ---- */

struct rule {
    struct cio_store store;
    int64_t bytes, wrong;
    char pattern[RANKS]
                [2 * BLOCK]; /* the bytes of a block, twice, so that a piece may begin anywhere */
};

/* How many of n bytes at `off` belong to one piece; whose, and where in that rank's stream. */
static int64_t find_piece(int64_t off, int64_t n, int *rank, int64_t *stream)
{
    int64_t piece = (off - BASE) / PIECE, within = (off - BASE) % PIECE;

    *rank = (int)(piece % RANKS);
    *stream = piece / RANKS * PIECE + within;
    return n < PIECE - within ? n : PIECE - within;
}

/* A byte of every 61, and the first and last of every part. */
static void compare(struct rule *f, const char *buf, int64_t n, int rank, int64_t stream)
{
    for (int64_t i = 0; i < n; i += 61)
        f->wrong += buf[i] != byte_at(rank, stream + i);
    f->wrong += buf[n - 1] != byte_at(rank, stream + n - 1);
}

static int rule_write(struct cio_store *s, const void *buf, int64_t len, int64_t off)
{
    struct rule *f = (struct rule *)s;

    for (int64_t at = 0, n; at < len; at += n) {
        int64_t stream;
        int rank;

        n = find_piece(off + at, len - at, &rank, &stream);
        compare(f, (const char *)buf + at, n, rank, stream);
        f->bytes += n;
    }
    return 0;
}

static int rule_read(struct cio_store *s, void *buf, int64_t len, int64_t off)
{
    struct rule *f = (struct rule *)s;

    for (int64_t at = 0, n; at < len; at += n) {
        int64_t stream;
        int rank;

        n = find_piece(off + at, len - at, &rank, &stream);
        memcpy((char *)buf + at, f->pattern[rank] + stream % BLOCK, (size_t)n);
        f->bytes += n;
    }
    return 0;
}

static void rule_destroy(struct cio_store *s)
{
    (void)s;
}

static const struct cio_store_ops rule_ops = {
    .write = rule_write, .read = rule_read, .destroy = rule_destroy};

static void make_request(struct world *w, int rank)
{
    int64_t off = (int64_t)rank * PIECE, len = PIECE, zero = 0, size = PIECES * PIECE;
    struct cio_flat *view, *mem;

    if (cio_flat_create(&off, &len, 1, RANKS * (int64_t)PIECE, &view) != 0 ||
        cio_flat_create(&zero, &size, 1, size, &mem) != 0)
        exit(1);
    w->request[rank] = (struct cio_request){
        .file = view, .disp = BASE, .bytes = size, .mem = mem, .buf = make_buffer()};
}

static void fill(struct world *w, int write)
{
    for (int r = 0; r < RANKS; r++) {
        w->request[r].write = write;
        for (int64_t i = 0; i < BLOCK; i++)
            w->request[r].buf[i] = write ? byte_at(r, i) : 0;
    }
}

static int64_t wrong_bytes(const struct world *w)
{
    int64_t wrong = 0;

    for (int r = 0; r < RANKS; r++)
        for (int64_t i = 0; i < BLOCK; i++)
            wrong += w->request[r].buf[i] != byte_at(r, i);
    return wrong;
}

int main(void)
{
    static struct rule rule = {.store = {.ops = &rule_ops}};
    int node_of[RANKS] = {0};
    struct world w;

    world_create(&w, RANKS, node_of, 1, 1, 1);
    cio_store_destroy(w.store);
    w.store = &rule.store;
    w.settings.unit = 4 << 20;
    w.settings.memory_limit = 64 << 20;
    for (int r = 0; r < RANKS; r++) {
        make_request(&w, r);
        for (int64_t i = 0; i < 2 * BLOCK; i++)
            rule.pattern[r][i] = byte_at(r, i);
    }
    for (int write = 1; write >= 0; write--) {
        rule.bytes = 0;
        fill(&w, write);
        CHECK(world_run(&w) == 0);
        for (int r = 0; r < RANKS; r++)
            CHECK(w.error[r] == 0);
        CHECK(rule.bytes == RANKS * PIECES * PIECE);
        CHECK(rule.wrong == 0);
        CHECK(wrong_bytes(&w) == 0);
    }
    for (int r = 0; r < RANKS; r++) {
        cio_flat_destroy((struct cio_flat *)w.request[r].file);
        cio_flat_destroy((struct cio_flat *)w.request[r].mem);
    }
    world_destroy(&w);
    return check_done("large");
}
