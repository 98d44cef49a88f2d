/*
 * Random cases over a pool of threads: what aggregators lay into sub-buffers while others of them
 * are written and read, by threads that are real. Right data, and an error wherever a transfer
 * fails; under ThreadSanitizer, no two at once. Usage: test_threads [CASES [SEED]]
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "../plan/check.h"
#include "cases.h"

#define THREADS 3

/* A pool over the case's store, with a failure in between. */
struct pool {
    struct cio_fault fault;
    struct cio_store *real, *pool;
};

static void pool_open(struct pool *p, struct test_case *c, const struct cio_fault *fault)
{
    struct cio_store *faulty;

    p->fault = *fault;
    p->real = c->world.store;
    if (cio_store_faulty_create(p->real, &p->fault, &faulty) != 0 ||
        cio_store_thread_create(faulty, THREADS, &p->pool) != 0)
        abort();
    c->world.store = p->pool;
    c->world.slow = 0;
    c->world.threads = 1;
}

static void pool_close(struct pool *p, struct test_case *c)
{
    c->world.store = p->real;
    cio_store_destroy(p->pool);
}

static int failed(const struct world *w, int error)
{
    int n = 0;

    for (int r = 0; r < w->size; r++)
        n += w->error[r] == error;
    return n;
}

/* Writes or reads with transfer number `at` failing, if there is one; returns whether there was. */
static int run(uint64_t seed, int write, int64_t at)
{
    struct cio_fault fault = {
        .write_at = write ? at : -1, .read_at = write ? -1 : at, .error = -ENOSPC};
    struct test_case c;
    struct pool p;
    int reached;

    case_create(&c, seed, 0);
    if (c.world.settings.depth == 1)
        c.world.settings.depth = 4;
    c.world.settings.sieve_write = at < 0 ? c.world.settings.sieve_write : CIO_DISABLE;
    case_fill_store(&c);
    case_prepare(&c, write);
    pool_open(&p, &c, &fault);
    if (!CHECK(world_run(&c.world) == 0)) {
        case_print(&c, "hangs", seed);
        exit(1);
    }
    pool_close(&p, &c);
    reached = at >= 0 && (write ? p.fault.writes : p.fault.reads) > at;
    if (!CHECK(failed(&c.world, reached ? -ENOSPC : 0) == c.world.size) ||
        (!reached && !CHECK((write ? case_wrong_file(&c) : case_wrong_buffers(&c)) == 0)))
        case_print(&c, write ? "write" : "read", seed);
    case_destroy(&c);
    return reached;
}

int main(int argc, char **argv)
{
    int cases = argc > 1 ? atoi(argv[1]) : 60;
    uint64_t seed = argc > 2 ? strtoull(argv[2], NULL, 0) : 1;

    setenv("TAMIO_LOG", "quiet", 1);
    for (uint64_t i = 0; i < (uint64_t)cases; i++)
        for (int write = 0; write < 2; write++) {
            run(seed + i, write, -1);
            for (int64_t at = 0; at < 30 && i % 6 == 0; at += 1 + at / 4)
                if (!run(seed + i, write, at))
                    break;
        }
    return check_done("threads");
}
