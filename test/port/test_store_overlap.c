/* Batches under way together take the time of one, and the caller has that time for itself. */
#include "../plan/check.h"

#include <string.h>
#include <time.h>

#include "batches.h"
#include "port/throttle.h"

#define MS ((int64_t)1000000)

enum { OSTS = 8, STRIPE = 4096, LATENCY = 50 };

static int64_t now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000 * MS + t.tv_nsec;
}

static void nap(int64_t ns)
{
    nanosleep(&(struct timespec){0, (long)ns}, NULL);
}

/* One batch for each OST, all started before any is waited for. Returns the time of it all. */
static int64_t write_all(struct cio_store *s, int64_t *starting)
{
    static char bytes[OSTS][STRIPE];
    struct cio_piece piece[OSTS];
    struct cio_batch batch[OSTS];
    int64_t start = now();

    for (int i = 0; i < OSTS; i++) {
        memset(bytes[i], i + 1, STRIPE);
        piece[i] = (struct cio_piece){bytes[i], STRIPE, i * STRIPE};
        batch[i] = (struct cio_batch){.write = 1, .piece = &piece[i], .n = 1};
        cio_store_start(s, &batch[i]);
    }
    *starting = now() - start;
    for (int i = 0; i < OSTS; i++) {
        cio_store_wait(s, &batch[i]);
        CHECK(batch[i].error == 0);
    }
    return now() - start;
}

/* While the only thread sleeps in a transfer, the caller does something as long. */
static void test_own_work(struct cio_store *s)
{
    char c = 'x';
    struct cio_piece piece = {&c, 1, 0};
    struct cio_batch b = {.write = 1, .piece = &piece, .n = 1};
    int64_t start = now();

    for (int i = 0; i < 4; i++) {
        cio_store_start(s, &b);
        nap(LATENCY * MS);
        cio_store_wait(s, &b);
    }
    CHECK(now() - start >= 4 * LATENCY * MS);
    CHECK(now() - start < 7 * LATENCY * MS);
}

int main(void)
{
    struct cio_throttle_spec spec = {.osts = OSTS, .stripe = STRIPE, .latency = LATENCY * MS};
    char path[] = "/dev/shm/tamio-test-XXXXXX";
    struct cio_throttle *t;
    struct cio_store *memory, *below, *s;
    int64_t starting, took;

    close(mkstemp(path));
    CHECK(cio_throttle_attach(path, &spec, &t) == 0);
    unlink(path);
    CHECK(cio_store_memory_create(&memory) == 0);
    CHECK(cio_store_throttled_create(memory, t, 0, &below) == 0);
    write_all(below, &starting);
    CHECK(starting >= OSTS * LATENCY * MS);
    CHECK(cio_store_thread_create(below, OSTS, &s) == 0);
    took = write_all(s, &starting);
    CHECK(took >= LATENCY * MS && took < (OSTS - 1) * LATENCY * MS);
    CHECK(starting < (OSTS - 1) * LATENCY * MS);
    test_own_work(s);
    cio_store_destroy(s);
    cio_store_destroy(memory);
    cio_throttle_detach(t);
    return check_done("test_store_overlap");
}
