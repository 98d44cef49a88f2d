/*
 * A failure at every place: every write and read of the file, whole and in the middle of a short
 * one, also with several rounds under way; every allocation, every segment. The
 * operation must end on all ranks with every message drained; all ranks must see the same kind of
 * outcome; and where the engine can do without what failed, the data must be right.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../plan/check.h"
#include "cases.h"

/* ---- an allocator that fails once, after a number of successes ---- */

struct failing {
    int64_t after, calls;
};

static void *failing_get(void *self, size_t size)
{
    struct failing *f = self;

    return f->calls++ == f->after ? NULL : malloc(size);
}

/* ---- outcomes ---- */

/* How many ranks failed with `error`; -1 if any failed with another one. */
static int failed_with(const struct world *w, int error)
{
    int n = 0;

    for (int r = 0; r < w->size; r++) {
        if (w->error[r] != 0 && w->error[r] != error)
            return -1;
        n += w->error[r] == error;
    }
    return n;
}

static int check_all(const struct test_case *c, int error, const char *what, uint64_t seed)
{
    int n = failed_with(&c->world, error);
    int ok = CHECK(n == c->world.size || (error == 0 && n == c->world.size));

    if (!ok) {
        printf("%d of %d ranks failed with %d\n", n, c->world.size, error);
        case_print(c, what, seed);
    }
    return ok;
}

/* ---- the file ---- */

/* Several rounds at once, each under way for a while, or as the case is. */
static void deepen(struct test_case *c, uint64_t seed, int deep)
{
    if (!deep)
        return;
    c->world.settings.depth = 3;
    c->world.settings.buffer = 0;
    c->world.slow = seed;
}

static int released_and_failed; /* ranks that returned before the error was known */

/* Fails the n-th transfer; returns 0 once there were fewer than n of them. */
static int fail_transfer(uint64_t seed, int deep, int write, int64_t at, int error, int sticky)
{
    struct cio_fault fault = {
        .write_at = write ? at : -1, .read_at = write ? -1 : at, .error = error, .sticky = sticky};
    struct cio_store *real, *faulty;
    struct test_case c;
    int reached;

    case_create(&c, seed, 0);
    deepen(&c, seed, deep);
    case_fill_store(&c);
    case_prepare(&c, write);
    c.world.settings.sieve_write = CIO_DISABLE; /* a failing read for the write's sake is not it */
    real = c.world.store;
    CHECK(cio_store_faulty_create(real, &fault, &faulty) == 0);
    c.world.store = faulty;
    if (!CHECK(world_run(&c.world) == 0)) {
        case_print(&c, "hangs after a failing transfer", seed);
        exit(1);
    }
    c.world.store = real;
    reached = (write ? fault.writes : fault.reads) > at;
    check_all(&c, reached ? error : 0, write ? "failing write" : "failing read", seed);
    CHECK(c.wrong_at_release == 0);
    released_and_failed += reached ? case_released(&c) : 0;
    if (!reached)
        CHECK((write ? case_wrong_file(&c) : case_wrong_buffers(&c)) == 0);
    cio_store_destroy(faulty);
    case_destroy(&c);
    return reached;
}

static void fail_every_transfer(uint64_t seed, int deep)
{
    static const int errors[] = {-ENOSPC, -EIO, -EDQUOT};

    for (int write = 0; write < 2; write++)
        for (int64_t at = 0; at < 40; at++)
            if (!fail_transfer(seed, deep, write, at, errors[(seed + (uint64_t)at) % 3], at % 2))
                break;
}

/* ---- transfers that stop half-way, are interrupted, and may then fail ---- */

struct shorts {
    struct cio_store *below;
    int64_t calls, fail_at;
};

/* How much of it is transferred; -1: nothing, see errno. */
static int64_t some_of(struct shorts *s, size_t len)
{
    int64_t n = s->calls++;

    if (n == s->fail_at)
        errno = EDQUOT;
    else if (n % 5 == 4)
        errno = EINTR;
    else
        return (int64_t)(len + 1) / 2;
    return -1;
}

static int64_t short_write(void *self, const void *buf, size_t len, int64_t off)
{
    struct shorts *s = self;
    int64_t n = some_of(s, len);

    CHECK(n < 0 || cio_store_write(s->below, buf, n, off) == 0);
    return n;
}

static int64_t short_read(void *self, void *buf, size_t len, int64_t off)
{
    struct shorts *s = self;
    int64_t n = some_of(s, len);

    CHECK(n < 0 || cio_store_read(s->below, buf, n, off) == 0);
    return n;
}

/* The call number `at` fails, if there is one; returns whether there was. */
static int shorten_transfers(uint64_t seed, int write, int64_t at)
{
    struct shorts s = {.fail_at = at};
    struct cio_posix_calls calls = {short_write, short_read, &s};
    struct cio_store *store;
    struct test_case c;

    case_create(&c, seed, 0);
    deepen(&c, seed, 1);
    case_fill_store(&c);
    case_prepare(&c, write);
    s.below = c.world.store;
    CHECK(cio_store_calls_create(&calls, &store) == 0);
    c.world.store = store;
    if (!CHECK(world_run(&c.world) == 0)) {
        case_print(&c, "hangs with short transfers", seed);
        exit(1);
    }
    c.world.store = s.below;
    check_all(&c, at >= 0 && s.calls > at ? -EDQUOT : 0, "short transfers", seed);
    if (at < 0 || s.calls <= at)
        CHECK((write ? case_wrong_file(&c) : case_wrong_buffers(&c)) == 0);
    cio_store_destroy(store);
    case_destroy(&c);
    return at >= 0 && s.calls > at;
}

static void shorten_every_transfer(uint64_t seed)
{
    for (int write = 0; write < 2; write++) {
        shorten_transfers(seed, write, -1);
        for (int64_t at = 0; shorten_transfers(seed, write, at); at += 1 + at / 2)
            ;
    }
}

/* ---- memory ---- */

/* The n-th allocation of any rank fails: all ranks fail with -ENOMEM, or it could be done without.
 */
static int fail_allocation(uint64_t seed, int write, int64_t after)
{
    struct failing f = {.after = after};
    struct test_case c;
    int n;

    case_create(&c, seed, 0);
    case_fill_store(&c);
    case_prepare(&c, write);
    c.world.alloc = (struct cio_alloc){failing_get, &f};
    if (!CHECK(world_run(&c.world) == 0)) {
        case_print(&c, "hangs after a failing allocation", seed);
        printf("allocation %lld\n", (long long)after);
        exit(1);
    }
    n = failed_with(&c.world, -ENOMEM);
    if (!CHECK(n == 0 || n == c.world.size)) {
        printf("allocation %lld: %d of %d ranks failed\n", (long long)after, n, c.world.size);
        case_print(&c, write ? "write" : "read", seed);
    }
    if (n == 0)
        CHECK((write ? case_wrong_file(&c) : case_wrong_buffers(&c)) == 0);
    case_destroy(&c);
    return f.calls > after;
}

static void fail_every_allocation(uint64_t seed)
{
    for (int write = 0; write < 2; write++)
        for (int64_t after = 0; fail_allocation(seed, write, after); after += 1 + after / 16)
            ; /* all of the first ones; those that come with every message, now and then */
}

/* ---- segments: messages take their place ---- */

static void fail_segment(uint64_t seed, int after)
{
    struct test_case c;

    case_create(&c, seed, 0);
    c.world.settings.transport = CIO_TRANSPORT_AUTO;
    for (int write = 1; write >= 0; write--) {
        case_fill_store(&c);
        case_prepare(&c, write);
        cio_nodemem_loop_fail(c.world.memory, after, -ENOSPC);
        if (!CHECK(world_run(&c.world) == 0)) {
            case_print(&c, "hangs without a segment", seed);
            exit(1);
        }
        check_all(&c, 0, "without a segment", seed);
        CHECK((write ? case_wrong_file(&c) : case_wrong_buffers(&c)) == 0);
    }
    CHECK(cio_nodemem_loop_linked(c.world.memory) == 0);
    case_destroy(&c);
}

/* ---- a rank that comes with an error ---- */

static void fail_rank(uint64_t seed)
{
    struct test_case c;

    case_create(&c, seed, 0);
    case_fill_store(&c);
    case_prepare(&c, 1);
    c.world.request[seed % (uint64_t)c.world.size].error = -EINVAL;
    if (!CHECK(world_run(&c.world) == 0))
        exit(1);
    check_all(&c, -EINVAL, "a rank's own error", seed);
    case_destroy(&c);
}

int main(int argc, char **argv)
{
    int cases = argc > 1 ? atoi(argv[1]) : 12;
    uint64_t seed = argc > 2 ? strtoull(argv[2], NULL, 0) : 1;

    setenv("TAMIO_LOG", "quiet", 1);
    for (uint64_t i = 0; i < (uint64_t)cases; i++) {
        fail_every_transfer(seed + i, 0);
        if (i % 3 == 0) {
            fail_every_transfer(seed + i, 1);
            shorten_every_transfer(seed + i);
        }
        fail_every_allocation(seed + i);
        for (int after = 0; after < 4; after++)
            fail_segment(seed + i, after);
        fail_rank(seed + i);
    }
    printf("%d ranks returned before an error, and learnt of it later\n", released_and_failed);
    CHECK(cases < 12 || released_and_failed > cases);
    return check_done("faults");
}
