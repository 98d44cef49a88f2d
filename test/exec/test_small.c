/*
 * Calls of a few KB, which the root of the reduction serves: seeded random cases against the
 * oracle, written and read; the end of the file; failures. Usage: test_small [CASES [SEED]]
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../plan/check.h"
#include "cases.h"
#include "exec/internal.h"

static int served[2], left[2]; /* calls: read, write */

static int is_served(const struct world *w)
{
    return w->stats[0].why != NULL &&
           strcmp(w->stats[0].why, "few bytes: one rank serves them") == 0;
}

/* All ranks have the same outcome, and come to the same conclusion. */
static int agree(const struct world *w, int error)
{
    for (int r = 0; r < w->size; r++)
        if (w->error[r] != error || w->stats[r].why != w->stats[0].why)
            return 0;
    return 1;
}

static void must_run(struct test_case *c, int write, uint64_t seed)
{
    if (CHECK(world_run(&c->world) == 0))
        return;
    case_print(c, write ? "write hangs" : "read hangs", seed);
    exit(1);
}

static void make(struct test_case *c, uint64_t seed)
{
    case_create(c, seed, seed % 4 == 0);
    c->world.settings.small = CIO_SMALL_MAX;
    for (int r = 0; r < c->world.size; r++)
        c->world.pace[r].unused = (int)(seed >> r % 8 & 1);
}

/* One call of each kind; both must be right, whoever served them. */
static void run_case(uint64_t seed)
{
    struct test_case c;

    make(&c, seed);
    for (int write = 1; write >= 0; write--) {
        int64_t wrong, bytes = 0;
        int ok;

        case_fill_store(&c);
        case_prepare(&c, write);
        must_run(&c, write, seed);
        wrong = write ? case_wrong_file(&c) : case_wrong_buffers(&c);
        for (int r = 0; r < c.world.size; r++)
            bytes += c.world.request[r].bytes;
        ok = CHECK(wrong == 0) & CHECK(agree(&c.world, 0));
        for (int r = 0; r < c.world.size; r++)
            ok &= CHECK(c.world.moved[r] == c.world.request[r].bytes);
        if (is_served(&c.world))
            ok &= CHECK(bytes <= CIO_SMALL_MAX);
        if (!ok)
            case_print(&c, write ? "write" : "read", seed);
        *(is_served(&c.world) ? &served[write] : &left[write]) += 1;
    }
    CHECK(cio_nodemem_loop_linked(c.world.memory) == 0);
    case_destroy(&c);
}

/* ---- the end of the file ---- */

static int64_t bytes_before(const struct test_case *c, int r, int64_t end, int64_t *wrong)
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

static void read_to_end(uint64_t seed)
{
    uint64_t rnd = ~seed;
    struct test_case c;
    int64_t end, wrong = 0;
    int ok = 1;

    make(&c, seed);
    end = check_between(&rnd, case_first(&c), c.span);
    case_prepare(&c, 0);
    case_fill_until(&c, end);
    must_run(&c, 0, seed);
    for (int r = 0; r < c.world.size; r++)
        ok &= CHECK(c.world.moved[r] == bytes_before(&c, r, end, &wrong));
    ok &= CHECK(wrong == 0);
    if (!ok) {
        printf("the file ends at %lld\n", (long long)end);
        case_print(&c, "read", seed);
    }
    case_destroy(&c);
}

/* ---- failures ---- */

/* Every transfer of the root's: its error comes to all ranks. Returns whether there was one. */
static int fail_transfer(uint64_t seed, int write, int64_t at)
{
    struct cio_fault fault = {
        .write_at = write ? at : -1, .read_at = write ? -1 : at, .error = -ENOSPC};
    struct cio_store *real, *faulty;
    struct test_case c;
    int reached;

    make(&c, seed);
    case_fill_store(&c);
    case_prepare(&c, write);
    c.world.settings.sieve_write = CIO_DISABLE;
    real = c.world.store;
    CHECK(cio_store_faulty_create(real, &fault, &faulty) == 0);
    c.world.store = faulty;
    must_run(&c, write, seed);
    c.world.store = real;
    reached = (write ? fault.writes : fault.reads) > at;
    if (!CHECK(agree(&c.world, reached ? -ENOSPC : 0)))
        case_print(&c, "failing transfer", seed);
    for (int r = 0; reached && r < c.world.size; r++)
        CHECK(c.world.moved[r] == 0);
    cio_store_destroy(faulty);
    case_destroy(&c);
    return reached;
}

struct failing {
    int64_t after, calls;
};

static void *failing_get(void *self, size_t size)
{
    struct failing *f = self;

    return f->calls++ == f->after ? NULL : malloc(size);
}

/* Every allocation: it can be done without, or all ranks fail. */
static int fail_allocation(uint64_t seed, int write, int64_t after)
{
    struct failing f = {.after = after};
    struct test_case c;

    make(&c, seed);
    case_fill_store(&c);
    case_prepare(&c, write);
    c.world.alloc = (struct cio_alloc){failing_get, &f};
    must_run(&c, write, seed);
    if (!CHECK(agree(&c.world, 0) || agree(&c.world, -ENOMEM)))
        case_print(&c, "failing allocation", seed);
    if (c.world.error[0] == 0)
        CHECK((write ? case_wrong_file(&c) : case_wrong_buffers(&c)) == 0);
    case_destroy(&c);
    return f.calls > after;
}

static void fail_rank(uint64_t seed)
{
    struct test_case c;

    make(&c, seed);
    case_fill_store(&c);
    case_prepare(&c, 1);
    c.world.request[seed % (uint64_t)c.world.size].error = -EINVAL;
    must_run(&c, 1, seed);
    CHECK(agree(&c.world, -EINVAL));
    case_destroy(&c);
}

static void fail_all(uint64_t seed)
{
    for (int write = 0; write < 2; write++) {
        for (int64_t at = 0; at < 70 && fail_transfer(seed, write, at); at += 1 + at / 4)
            ;
        for (int64_t after = 0; fail_allocation(seed, write, after); after += 1 + after / 4)
            ;
    }
    fail_rank(seed);
}

/* ---- how little it takes ---- */

/* Ranks of one group with shared memory: no message at all, one transfer of what adjoins. */
static void count_costs(void)
{
    enum { RANKS = 4, BYTES = 8 };
    int node_of[RANKS] = {0};
    char data[RANKS][BYTES];
    struct cio_flat *flat;
    struct world w;
    struct cio_loop_counts counts;
    int64_t off = 0, len = BYTES;

    CHECK(cio_flat_create(&off, &len, 1, BYTES, &flat) == 0);
    world_create(&w, RANKS, node_of, 1, 1, 1);
    world_share(&w);
    w.settings.tam = CIO_AUTOMATIC;
    w.settings.small = CIO_SMALL_MAX;
    w.settings.node_ranks = RANKS;
    for (int r = 0; r < RANKS; r++) {
        memset(data[r], 'a' + r, BYTES);
        w.request[r] = (struct cio_request){.file = flat, .mem = flat, .bytes = BYTES, .write = 1};
        w.request[r].disp = (int64_t)r * BYTES;
        w.request[r].buf = data[r];
    }
    CHECK(world_run(&w) == 0 && is_served(&w) && agree(&w, 0));
    cio_loop_get_counts(w.loop, &counts);
    CHECK(counts.messages == 0);
    CHECK(w.stats[0].count[CIO_COUNT_FILE_CALLS] == 1);
    w.settings.small = 0;
    CHECK(world_run(&w) == 0 && !is_served(&w) && w.stats[0].declined);
    world_destroy(&w);
    cio_flat_destroy(flat);
}

int main(int argc, char **argv)
{
    int cases = argc > 1 ? atoi(argv[1]) : 1000;
    uint64_t seed = argc > 2 ? strtoull(argv[2], NULL, 0) : 1;

    count_costs();
    for (uint64_t i = 0; i < (uint64_t)cases; i++) {
        run_case(seed + i);
        if (i % 4 == 0)
            read_to_end(seed + i);
        if (i % 100 == 0)
            fail_all(seed + i);
    }
    printf("served: %d reads, %d writes; left to the ordinary way: %d and %d\n", served[0],
           served[1], left[0], left[1]);
    CHECK(cases < 100 || (served[0] > cases / 5 && served[1] > cases / 5));
    CHECK(cases < 100 || (left[0] > cases / 20 && left[1] > cases / 20));
    return check_done("small");
}
