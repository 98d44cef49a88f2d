/* Stores: whole transfers against a model, short and interrupted calls, faults, locks. */
#include "../plan/check.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "port/store.h"

#define ROOM ((int64_t)4 << 30)

enum { MODEL = 300000 };

/* Random writes and reads must agree with an array. */
static void check_against_model(struct cio_store *s, uint64_t *rng, int64_t base)
{
    static char model[MODEL], buf[MODEL];

    memset(model, 0, sizeof(model));
    for (int i = 0; i < 300; i++) {
        int64_t off = check_between(rng, 0, MODEL - 1);
        int64_t len = check_between(rng, 0, MODEL - off);

        if (i % 2 == 0) {
            memset(model + off, (int)check_between(rng, 1, 255), (size_t)len);
            CHECK(cio_store_write(s, model + off, len, base + off) == 0);
        } else {
            memset(buf, 0x5a, sizeof(buf));
            CHECK(cio_store_read(s, buf, len, base + off) == 0);
            CHECK(memcmp(buf, model + off, (size_t)len) == 0);
        }
    }
}

static int temporary_file(void)
{
    char name[] = "/tmp/tamio-test-XXXXXX";
    int fd = mkstemp(name);

    unlink(name);
    return fd;
}

static void test_memory(uint64_t *rng)
{
    struct cio_store *s;
    char c[4] = "abc";
    int64_t far = (int64_t)1 << 62;

    CHECK(cio_store_memory_create(&s) == 0);
    CHECK(cio_store_memory_size(s) == 0);
    check_against_model(s, rng, 0);
    check_against_model(s, rng, far - 12345);
    CHECK(cio_store_memory_size(s) <= far - 12345 + MODEL);
    CHECK(cio_store_memory_size(s) > far - 12345);
    CHECK(cio_store_read(s, c, 3, far / 2) == 0 && c[0] == 0 && c[2] == 0);
    CHECK(cio_store_write(s, c, 3, -1) == -EINVAL);
    CHECK(cio_store_read(s, c, 3, INT64_MAX - 1) == -EINVAL);
    CHECK(cio_store_lock(s, 0, 10) == 0);
    cio_store_unlock(s, 0, 10);
    cio_store_destroy(s);
}

static void test_posix(uint64_t *rng)
{
    struct cio_store *s;
    int fd = temporary_file();
    char c;

    CHECK(cio_store_posix_create(fd, &s) == 0);
    check_against_model(s, rng, (int64_t)5 << 30);
    CHECK(cio_store_read(s, &c, 1, -1) == -EINVAL);
    close(fd);
    CHECK(cio_store_write(s, &c, 1, 0) == -EBADF);
    cio_store_destroy(s);
}

/* A store tells where its file ends, also through another one, unless it has no means to know. */
static void test_size(void)
{
    struct cio_fault fault = {.write_at = -1, .read_at = -1};
    struct cio_store *memory, *faulty, *posix, *calls;
    int fd = temporary_file();
    char c = 'x';

    CHECK(cio_store_memory_create(&memory) == 0);
    CHECK(cio_store_faulty_create(memory, &fault, &faulty) == 0);
    CHECK(cio_store_posix_create(fd, &posix) == 0);
    CHECK(cio_store_calls_create(&(struct cio_posix_calls){.self = &fd}, &calls) == 0);
    CHECK(cio_store_size(faulty) == 0 && cio_store_size(posix) == 0);
    CHECK(cio_store_write(memory, &c, 1, (int64_t)5 << 30) == 0);
    CHECK(cio_store_write(posix, &c, 1, (int64_t)5 << 30) == 0);
    CHECK(cio_store_size(faulty) == ((int64_t)5 << 30) + 1);
    CHECK(cio_store_size(posix) == ((int64_t)5 << 30) + 1);
    CHECK(cio_store_size(calls) == INT64_MAX);
    close(fd);
    CHECK(cio_store_size(posix) == INT64_MAX);
    cio_store_destroy(calls);
    cio_store_destroy(posix);
    cio_store_destroy(faulty);
    cio_store_destroy(memory);
}

/* System calls that do less than they are asked, or are interrupted. */
struct shy {
    int fd; /* first: where the system's calls find it */
    uint64_t rng;
    int calls;
};

static size_t shy_len(struct shy *shy, size_t len)
{
    shy->calls++;
    errno = EINTR;
    return check_between(&shy->rng, 0, 3) == 0 ? 0 : (size_t)check_between(&shy->rng, 1, len);
}

static int64_t shy_pwrite(void *self, const void *buf, size_t len, int64_t off)
{
    struct shy *shy = self;
    size_t some = shy_len(shy, len);

    return some > 0 ? pwrite(shy->fd, buf, some, off) : -1;
}

static int64_t shy_pread(void *self, void *buf, size_t len, int64_t off)
{
    struct shy *shy = self;
    size_t some = shy_len(shy, len);

    return some > 0 ? pread(shy->fd, buf, some, off) : -1;
}

static void test_short_transfers(uint64_t *rng)
{
    struct shy shy = {temporary_file(), check_random(rng), 0};
    struct cio_posix_calls calls[] = {
        {shy_pwrite, shy_pread, &shy}, {NULL, shy_pread, &shy}, {shy_pwrite, NULL, &shy}};

    for (int i = 0; i < 3; i++) {
        struct cio_store *s;

        CHECK(cio_store_calls_create(&calls[i], &s) == 0);
        CHECK(ftruncate(shy.fd, 0) == 0);
        check_against_model(s, rng, 0);
        CHECK(cio_store_lock(s, 0, 1) == -ENOTSUP);
        cio_store_destroy(s);
    }
    CHECK(shy.calls > 900);
    close(shy.fd);
}

/* Returns each of the given results in turn, as pwrite would. */
static int64_t script_pwrite(void *self, const void *buf, size_t len, int64_t off)
{
    int64_t **next = self, result = *(*next)++;

    (void)buf, (void)off;
    CHECK(result < 0 || (int64_t)len >= result);
    CHECK(len <= (size_t)1 << 30);
    if (result >= 0)
        return result;
    errno = (int)-result;
    return -1;
}

static int run_script(int64_t *results, int64_t len, int nresults)
{
    int64_t *next = results;
    struct cio_posix_calls calls = {script_pwrite, NULL, &next};
    void *space = mmap(NULL, ROOM, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    struct cio_store *s;
    int rc;

    CHECK(space != MAP_FAILED && len <= ROOM);
    CHECK(cio_store_calls_create(&calls, &s) == 0);
    rc = cio_store_write(s, space, len, 0);
    CHECK(next == results + nresults);
    munmap(space, ROOM);
    cio_store_destroy(s);
    return rc;
}

static void test_errors(void)
{
    int64_t gib = (int64_t)1 << 30;

    CHECK(run_script((int64_t[]){3, -ENOSPC}, 10, 2) == -ENOSPC);
    CHECK(run_script((int64_t[]){3, 0}, 10, 2) == -EIO);
    CHECK(run_script((int64_t[]){-EINTR, -EINTR, 4, -EINTR, 6}, 10, 5) == 0);
    CHECK(run_script((int64_t[]){-EDQUOT}, 10, 1) == -EDQUOT);
    CHECK(run_script((int64_t[]){gib, gib - 1, gib, 1, 5}, 3 * gib + 5, 5) == 0);
    CHECK(run_script((int64_t[]){0}, 0, 0) == 0);
}

/* Whether another process could lock the range now. */
static int locked_for_others(int fd, int64_t off, int64_t len)
{
    pid_t child = fork();
    int status;

    if (child == 0) {
        struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = off, .l_len = len};

        _exit(fcntl(fd, F_SETLK, &lock) < 0);
    }
    CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status));
    return WEXITSTATUS(status);
}

static void test_locks(void)
{
    struct cio_store *s;
    int fd = temporary_file();

    CHECK(cio_store_posix_create(fd, &s) == 0);
    CHECK(cio_store_lock(s, (int64_t)3 << 32, 100) == 0);
    CHECK(locked_for_others(fd, ((int64_t)3 << 32) + 99, 1));
    CHECK(!locked_for_others(fd, ((int64_t)3 << 32) + 100, 1));
    CHECK(!locked_for_others(fd, 0, 100));
    cio_store_unlock(s, (int64_t)3 << 32, 100);
    CHECK(!locked_for_others(fd, (int64_t)3 << 32, 100));
    CHECK(cio_store_lock(s, 0, 0) == 0);
    CHECK(!locked_for_others(fd, 0, 100));
    cio_store_destroy(s);
    close(fd);
}

static void test_faulty(void)
{
    struct cio_fault fault = {.write_at = 2, .read_at = -1, .error = -ENOSPC};
    struct cio_store *below, *s;
    char c = 'x';

    CHECK(cio_store_memory_create(&below) == 0);
    CHECK(cio_store_faulty_create(below, &fault, &s) == 0);
    for (int i = 0; i < 5; i++) {
        CHECK(cio_store_write(s, &c, 1, i) == (i == 2 ? -ENOSPC : 0));
        CHECK(cio_store_read(s, &c, 1, 0) == 0 && c == 'x');
    }
    CHECK(fault.writes == 5 && fault.reads == 5);
    CHECK(cio_store_read(below, &c, 1, 2) == 0 && c == 0);
    fault.read_at = 7;
    fault.sticky = 1;
    fault.error = -EIO;
    for (int i = 5; i < 10; i++)
        CHECK(cio_store_read(s, &c, 1, 0) == (i >= 7 ? -EIO : 0));
    CHECK(cio_store_lock(s, 0, 1) == 0);
    cio_store_unlock(s, 0, 1);
    cio_store_destroy(s);
    CHECK(cio_store_memory_size(below) == 5);
    cio_store_destroy(below);
    cio_store_destroy(NULL);
}

int main(void)
{
    uint64_t rng = check_seed();

    test_memory(&rng);
    test_posix(&rng);
    test_size();
    test_short_transfers(&rng);
    test_errors();
    test_locks();
    test_faulty();
    return check_done("test_store");
}
