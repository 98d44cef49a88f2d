/* The throttle: its text, times by the model, exact counts, and OSTs shared by processes. */
#include "../plan/check.h"

#include <errno.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "port/store.h"
#include "port/throttle.h"

#define MS ((int64_t)1000000)
#define MIB ((int64_t)1 << 20)

static int64_t now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000 * MS + t.tv_nsec;
}

/* In /dev/shm, so that nothing but the model takes time. */
static struct cio_throttle *throttle(const char *text, char *path)
{
    struct cio_throttle_spec spec;
    struct cio_throttle *t = NULL;
    char error[100];

    strcpy(path, "/dev/shm/tamio-test-XXXXXX");
    close(mkstemp(path));
    CHECK(cio_throttle_parse(text, &spec, error, sizeof(error)) == 0);
    CHECK(cio_throttle_attach(path, &spec, &t) == 0);
    return t;
}

static int refused(const char *text, const char *because)
{
    struct cio_throttle_spec spec = {.osts = -7};
    char error[100] = "";

    return cio_throttle_parse(text, &spec, error, sizeof(error)) == -EINVAL && spec.osts == -7 &&
           strstr(error, because) != NULL;
}

static void test_text(void)
{
    struct cio_throttle_spec s;
    char error[100];

    CHECK(cio_throttle_parse("osts=8,stripe=1M,bandwidth=200M,latency=200us,switch=2ms,"
                             "state=/dev/shm/x",
                             &s, error, sizeof(error)) == 0);
    CHECK(s.osts == 8 && s.stripe == MIB && s.bandwidth == 200 * MIB);
    CHECK(s.latency == MS / 5 && s.switching == 2 * MS && strcmp(s.state, "/dev/shm/x") == 0);
    CHECK(cio_throttle_parse("latency=1s,stripe=64K", &s, error, sizeof(error)) == 0);
    CHECK(s.osts == 1 && s.bandwidth == 0 && s.latency == 1000 * MS && s.stripe == 65536);
    CHECK(refused("osts=0", "osts=0") && refused("osts=65537", "osts"));
    CHECK(refused("osts=1,stripes=2M", "stripes=2M") && refused("latency=20", "latency=20"));
    CHECK(refused("stripe=", "stripe") && refused("stripe", "stripe") && refused("", ":"));
    CHECK(refused("bandwidth=-1", "bandwidth") && refused("bandwidth=8589934592G", "bandwidth"));
}

/* Whoever enters several transfers is told when each will be done, to the nanosecond. */
static void test_model(void)
{
    char path[32];
    struct cio_throttle *t = throttle("osts=4,stripe=1M,bandwidth=100M,latency=3s,switch=7s", path);
    struct cio_throttle_counters c;
    int64_t before = now(), first = cio_throttle_enter(t, 0, 1, 0, MIB);

    CHECK(first >= before + 3010 * MS && first <= now() + 3010 * MS);
    CHECK(cio_throttle_enter(t, 0, 1, MIB / 2, MIB / 2) == first + 3005 * MS);
    CHECK(cio_throttle_enter(t, 1, 0, 4 * MIB, MIB) == first + 6015 * MS);
    CHECK(cio_throttle_enter(t, 1, 1, 0, MIB) == first + 16025 * MS);
    CHECK(cio_throttle_enter(t, 1, 1, 8 * MIB, MIB) == first + 19035 * MS);
    CHECK(cio_throttle_enter(t, 1, 1, 0, 0) <= now());
    CHECK(cio_throttle_enter(t, 0, 1, 5 * MIB, 4 * MIB) == first + 29045 * MS);
    cio_throttle_counters(t, &c);
    CHECK(c.transfers == 9 && c.bytes == 8 * MIB + MIB / 2 && c.switches == 2);
    cio_throttle_detach(t);
    unlink(path);
}

/* Four stripes on four OSTs take the time of one, five that of two. */
static void test_times(void)
{
    char path[32];
    struct cio_throttle *t = throttle("osts=4,stripe=1M,latency=100ms", path);
    int64_t start = now(), took;

    cio_throttle_transfer(t, 0, 1, MIB / 2, 7 * MIB / 2);
    took = now() - start;
    CHECK(took >= 100 * MS && took < 390 * MS);
    start = now();
    cio_throttle_transfer(t, 0, 0, 0, 5 * MIB);
    took = now() - start;
    CHECK(took >= 200 * MS && took < 490 * MS);
    cio_throttle_detach(t);
    unlink(path);
}

/* Two writers in turn switch at every write but each stripe's first; one writer never does. */
static void test_switches(void)
{
    char path[32];
    struct cio_throttle *t = throttle("osts=3,stripe=1000", path);
    struct cio_throttle_counters c;

    for (int i = 0; i < 64; i++)
        cio_throttle_enter(t, i % 2, 1, i * 100 % 3000, 100);
    cio_throttle_counters(t, &c);
    CHECK(c.transfers == 64 && c.bytes == 6400 && c.switches == 64 - 3);
    for (int i = 0; i < 64; i++)
        cio_throttle_enter(t, 2, 1, 5000 + i * 100, 100);
    cio_throttle_enter(t, 3, 0, 0, 100000);
    cio_throttle_counters(t, &c);
    CHECK(c.transfers == 228 && c.bytes == 112800 && c.switches == 64 - 3);
    cio_throttle_enter(t, 7, 1, 999, 2);
    cio_throttle_counters(t, &c);
    CHECK(c.transfers == 230 && c.switches == 64 - 3 + 2);
    cio_throttle_detach(t);
    unlink(path);
}

/* Two processes on one OST wait for each other; on two they do not. */
static void test_processes(int osts, int64_t least, int64_t most)
{
    char path[32], text[64];
    struct cio_throttle *t, *same;
    struct cio_throttle_counters c;
    struct cio_throttle_spec spec = {.osts = osts, .stripe = MIB, .latency = 300 * MS};
    int64_t start, took;
    pid_t child;

    snprintf(text, sizeof(text), "osts=%d,stripe=1M,latency=300ms", osts);
    t = throttle(text, path);
    start = now();
    child = fork();
    if (child == 0) {
        struct cio_throttle *mine;

        if (cio_throttle_attach(path, &spec, &mine) != 0)
            _exit(1);
        cio_throttle_transfer(mine, 1, 1, 0, 1);
        _exit(0);
    }
    cio_throttle_transfer(t, 0, 1, MIB, 1);
    CHECK(waitpid(child, NULL, 0) == child);
    took = now() - start;
    CHECK(took >= least * MS && took < most * MS);
    cio_throttle_counters(t, &c);
    CHECK(c.transfers == 2 && c.switches == 0);
    CHECK(cio_throttle_attach(path, NULL, &same) == 0);
    cio_throttle_detach(same);
    spec.latency++;
    CHECK(cio_throttle_attach(path, &spec, &same) == -EINVAL);
    cio_throttle_detach(t);
    CHECK(truncate(path, 100) == 0 && cio_throttle_attach(path, NULL, &same) == -EINVAL);
    unlink(path);
    CHECK(cio_throttle_attach(path, NULL, &same) == -ENOENT);
}

static void test_store(void)
{
    char path[32], got[8];
    struct cio_throttle *t = throttle("osts=1,latency=50ms", path);
    struct cio_fault fault = {.write_at = 1, .read_at = -1, .error = -EIO};
    struct cio_store *memory, *faulty, *s;
    int64_t start = now();

    CHECK(cio_store_memory_create(&memory) == 0);
    CHECK(cio_store_faulty_create(memory, &fault, &faulty) == 0);
    CHECK(cio_store_throttled_create(faulty, t, 0, &s) == 0);
    CHECK(cio_store_write(s, "abc", 4, 9) == 0 && now() - start >= 50 * MS);
    CHECK(cio_store_read(s, got, 4, 9) == 0 && memcmp(got, "abc", 4) == 0);
    CHECK(now() - start >= 100 * MS);
    CHECK(cio_store_write(s, "abc", 4, 9) == -EIO);
    CHECK(cio_store_lock(s, 0, 1) == 0);
    cio_store_unlock(s, 0, 1);
    cio_store_destroy(s);
    cio_store_destroy(faulty);
    cio_store_destroy(memory);
    cio_throttle_detach(t);
    unlink(path);
}

int main(void)
{
    test_text();
    test_model();
    test_times();
    test_switches();
    test_processes(1, 600, 6000);
    test_processes(2, 300, 590);
    test_store();
    return check_done("test_throttle");
}
