/*
 * Reads of a file that ends somewhere in what is asked for: every rank learns how many bytes of its
 * request lie before the end, has these, and zeros in the place of the others. A write moves all.
 * Usage: test_eof [CASES [SEED]]
 */
#include <stdio.h>
#include <stdlib.h>

#include "../plan/check.h"
#include "cases.h"

/* Compares a rank's bytes; returns how many of its request lie before the end. */
static int64_t check_rank(const struct test_case *c, int r, int64_t end, int64_t *wrong)
{
    const struct cio_request *req = &c->world.request[r];
    struct cio_cursor f, m;
    int64_t before = 0;

    if (req->bytes == 0)
        return 0;
    cio_cursor_seek(&f, req->file, req->start);
    cio_cursor_seek(&m, req->mem, 0);
    for (int64_t i = 0; i < req->bytes; i++) {
        int64_t off = req->disp + cio_cursor_offset(&f);

        before += off < end;
        *wrong += req->buf[cio_cursor_offset(&m)] != (off < end ? case_before(off) : 0);
        cio_cursor_skip(&f, 1);
        cio_cursor_skip(&m, 1);
    }
    return before;
}

static void check_read(struct test_case *c, uint64_t seed, int64_t end)
{
    int64_t wrong = 0;
    int ok = 1;

    for (int r = 0; r < c->world.size; r++) {
        int64_t before = check_rank(c, r, end, &wrong);

        ok &= CHECK(c->world.error[r] == 0);
        ok &= CHECK(c->world.moved[r] == before);
    }
    ok &= CHECK(wrong == 0);
    if (!ok) {
        printf("the file ends at %lld\n", (long long)end);
        case_print(c, "read", seed);
    }
}

static void check_write(struct test_case *c)
{
    case_prepare(c, 1);
    CHECK(world_run(&c->world) == 0);
    for (int r = 0; r < c->world.size; r++)
        CHECK(c->world.moved[r] == c->world.request[r].bytes);
}

/* Ends everywhere: before the first byte of anybody, inside, exactly behind the last. */
static void run_case(uint64_t seed)
{
    uint64_t rnd = ~seed;
    struct test_case c;
    int64_t end;

    case_create(&c, seed, seed % 4 == 0);
    case_prepare(&c, 0);
    end = seed % 8 == 0 ? c.span : check_between(&rnd, case_first(&c), c.span);
    case_fill_until(&c, end);
    if (!CHECK(world_run(&c.world) == 0)) {
        case_print(&c, "read hangs", seed);
        exit(1);
    }
    check_read(&c, seed, end);
    check_write(&c);
    case_destroy(&c);
}

int main(int argc, char **argv)
{
    int cases = argc > 1 ? atoi(argv[1]) : 200;
    uint64_t seed = argc > 2 ? strtoull(argv[2], NULL, 0) : 1;

    for (int i = 0; i < cases; i++)
        run_case(seed + (uint64_t)i);
    return check_done("eof");
}
