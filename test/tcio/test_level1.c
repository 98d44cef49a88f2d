/*
 * Level 1: what a log resolves to is what a file would be after the same writes, in order; blocks
 * that go on become one; and it says when it is full.
 */
#include <string.h>

#include "../plan/check.h"
#include "tcio/level1.h"

#define SIZE 500
#define ROOM 4096

static void apply(const struct cio_wlog *log, char *to)
{
    int64_t end = -1;

    for (int64_t i = 0; i < log->n; i++) {
        const struct cio_block *b = &log->block[i];

        CHECK(b->off >= end && b->len > 0);
        end = b->off + b->len;
        memcpy(to + b->off, log->data + b->at, b->len);
    }
}

static void random_writes(uint64_t *seed)
{
    char oracle[SIZE] = "", got[SIZE] = "";
    struct cio_wlog log;
    int n = (int)check_between(seed, 1, 60), longest = (int)check_between(seed, 1, 60);

    CHECK(cio_wlog_create(ROOM, &log) == 0);
    for (int i = 0; i < n; i++) {
        char buf[64];
        int64_t off = check_between(seed, 0, SIZE - longest), len = check_between(seed, 1, longest);

        memset(buf, (int)check_between(seed, 1, 255), sizeof buf);
        if (cio_wlog_add(&log, off, buf, len) < len)
            break;
        CHECK(cio_wlog_touches(&log, off, len));
        memcpy(oracle + off, buf, (size_t)len);
    }
    CHECK(cio_wlog_resolve(&log) == 0);
    apply(&log, got);
    CHECK(memcmp(got, oracle, SIZE) == 0);
    cio_wlog_destroy(&log);
}

static void in_a_row(void)
{
    struct cio_wlog log;
    char buf[8] = "abcdefg";

    CHECK(cio_wlog_create(ROOM, &log) == 0);
    for (int64_t off = 0; off < ROOM; off += 8)
        CHECK(cio_wlog_add(&log, off, buf, 8) == 8);
    CHECK(log.n == 1 && log.rising && log.block[0].len == ROOM);
    CHECK(cio_wlog_add(&log, ROOM, buf, 8) == 0);
    cio_wlog_clear(&log);
    CHECK(!cio_wlog_touches(&log, 0, ROOM));
    CHECK(cio_wlog_add(&log, 100, buf, 8) == 8 && log.lo == 100 && log.hi == 108);
    cio_wlog_destroy(&log);
}

/* The last bytes that find no room are left to the caller. */
static void in_part(void)
{
    struct cio_wlog log;
    static char buf[ROOM];

    CHECK(cio_wlog_create(ROOM, &log) == 0);
    CHECK(cio_wlog_add(&log, 0, buf, ROOM - 3) == ROOM - 3);
    CHECK(cio_wlog_add(&log, 7000, buf, 10) == 3);
    cio_wlog_destroy(&log);
}

/* More blocks than may be: full before the bytes are. */
static void many_blocks(void)
{
    struct cio_wlog log;
    int64_t n = 0;

    CHECK(cio_wlog_create(ROOM, &log) == 0);
    while (cio_wlog_add(&log, 2 * n, "x", 1) == 1)
        n++;
    CHECK(n == ROOM / 2 && log.used == n);
    cio_wlog_destroy(&log);
}

int main(void)
{
    uint64_t seed = check_seed();

    in_a_row();
    in_part();
    many_blocks();
    for (int i = 0; i < 20000; i++)
        random_writes(&seed);
    return check_done("test_level1");
}
