/* Batches: every store against an array, with many of them under way at once. */
#include "../plan/check.h"

#include <errno.h>
#include <string.h>

#include "batches.h"

enum { MODEL = 1 << 20, FLIGHT = 12, PIECES = 9, ROUNDS = 30 };

/* What the file should hold, where a read goes, and what is under way. */
struct model {
    char bytes[MODEL], got[MODEL];
    struct cio_piece piece[FLIGHT][PIECES];
    struct cio_batch batch[FLIGHT];
};

/* Cuts [from, to) into pieces with gaps between them, in any order, and fills them if written. */
static void make_batch(struct model *m, int i, int64_t from, int64_t to, uint64_t *rng)
{
    struct cio_batch *b = &m->batch[i];
    struct cio_piece *piece = m->piece[i];

    *b = (struct cio_batch){.write = (int)check_between(rng, 0, 1), .piece = piece, .own.left = 7};
    for (b->n = 0; b->n < PIECES && from < to; b->n++) {
        int64_t off = check_between(rng, from, to), len = check_between(rng, 0, (to - off) / 2);
        int at = (int)check_between(rng, 0, b->n);

        piece[b->n] = piece[at];
        piece[at] = (struct cio_piece){b->write ? m->bytes + off : m->got + off, len, off};
        if (b->write)
            memset(m->bytes + off, (int)check_between(rng, 1, 255), (size_t)len);
        else
            memset(m->got + off, 0x5a, (size_t)len);
        from = off + len;
    }
}

static void check_batch(const struct model *m, int i)
{
    const struct cio_batch *b = &m->batch[i];

    CHECK(b->done && b->error == 0);
    for (int k = 0; k < b->n; k++) {
        const struct cio_piece *p = &b->piece[k];

        CHECK(memcmp(m->bytes + p->off, p->buf, (size_t)p->len) == 0);
    }
}

/* Starts FLIGHT batches on ranges of their own, and ends them in any order. */
static void one_round(struct cio_store *s, struct model *m, uint64_t *rng)
{
    int64_t part = MODEL / FLIGHT;
    int first = (int)check_between(rng, 0, FLIGHT - 1);

    for (int i = 0; i < FLIGHT; i++) {
        make_batch(m, i, i * part, (i + 1) * part, rng);
        cio_store_start(s, &m->batch[i]);
        if (cio_store_depth(s) == 1)
            CHECK(m->batch[i].done);
    }
    for (int k = 0; k < FLIGHT; k++) {
        int i = (first + 5 * k) % FLIGHT, poll = (int)check_between(rng, 0, 2);

        while (poll == 0 && !cio_store_test(s, &m->batch[i]))
            ;
        cio_store_wait(s, &m->batch[i]);
        CHECK(cio_store_test(s, &m->batch[i]) == 1);
        check_batch(m, i);
    }
}

/* Takes the store. */
static void check_store(struct cio_store *s, uint64_t *rng)
{
    struct model *m = calloc(1, sizeof(*m));

    for (int i = 0; i < ROUNDS; i++)
        one_round(s, m, rng);
    CHECK(cio_store_read(s, m->got, MODEL, 0) == 0);
    CHECK(memcmp(m->got, m->bytes, MODEL) == 0);
    free(m);
    cio_store_destroy(s);
}

static void test_blocking(uint64_t *rng)
{
    int fd = temporary_file();
    struct cio_store *s;

    CHECK(cio_store_memory_create(&s) == 0);
    CHECK(cio_store_depth(s) == 1 && cio_store_word(s) == NULL);
    CHECK(strcmp(cio_store_name(s), "blocking") == 0);
    check_store(s, rng);
    CHECK(cio_store_posix_create(fd, &s) == 0);
    check_store(s, rng);
    close(fd);
}

static void test_threads(uint64_t *rng)
{
    int fd = temporary_file();
    struct cio_store *below, *s;

    for (int threads = 1; threads <= 4; threads += 3) {
        CHECK(cio_store_memory_create(&below) == 0);
        CHECK(cio_store_thread_create(below, threads, &s) == 0);
        CHECK(cio_store_depth(s) > 1 && strcmp(cio_store_name(s), "thread") == 0);
        check_store(s, rng);
        CHECK(ftruncate(fd, 0) == 0);
        CHECK(cio_store_posix_create(fd, &below) == 0);
        CHECK(cio_store_thread_create(below, threads, &s) == 0);
        check_store(s, rng);
    }
    close(fd);
}

/* Also with a ring that is always full, and with requests that take many turns. */
static void test_uring(uint64_t *rng)
{
    const struct cio_uring_limits limits[] = {
        {64, 1 << 30, NULL}, {2, 1000, NULL}, {1, 1 << 30, NULL}, {8, 4097, NULL}};
    int fd = temporary_file();
    struct cio_store *s;

    for (int i = 0; i < 4; i++) {
        int rc = cio_store_uring_create_limited(fd, &limits[i], &s);

        if (rc == -ENOSYS || rc == -EPERM) {
            printf("no io_uring here: error %d\n", rc);
            break;
        }
        CHECK(rc == 0 && ftruncate(fd, 0) == 0);
        CHECK(cio_store_depth(s) > 1 && strcmp(cio_store_name(s), "uring") == 0);
        check_store(s, rng);
    }
    close(fd);
}

/* What was asked for, or the next best. */
static void test_kinds(uint64_t *rng)
{
    static const char *const want[] = {"thread", "blocking", "thread", "uring"};
    int fd = temporary_file();
    struct cio_store *s;

    for (int kind = CIO_STORE_AUTO; kind <= CIO_STORE_URING; kind++) {
        int have = kind != CIO_STORE_URING || cio_store_uring_create(fd, &s) == 0;

        if (have && kind == CIO_STORE_URING)
            cio_store_destroy(s);
        CHECK(ftruncate(fd, 0) == 0 && cio_store_open(fd, (enum cio_store_kind)kind, &s) == 0);
        CHECK(strcmp(cio_store_name(s), have ? want[kind] : "thread") == 0);
        check_store(s, rng);
    }
    close(fd);
    CHECK(cio_store_uring_create(fd, &s) < 0);
    CHECK(cio_store_open(fd, CIO_STORE_URING, &s) == 0);
    CHECK(strcmp(cio_store_name(s), "thread") == 0);
    cio_store_destroy(s);
}

int main(void)
{
    uint64_t rng = check_seed();

    test_blocking(&rng);
    test_threads(&rng);
    test_uring(&rng);
    test_kinds(&rng);
    return check_done("test_store_async");
}
