/*
 * What a store needs and does not get: memory, threads. The calls are caught by the linker
 * (--wrap), those of the tested sources and of this file.
 */
#include "../plan/check.h"

#include <dirent.h>
#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <time.h>

#include "batches.h"

void *__real_malloc(size_t size);
void *__real_calloc(size_t n, size_t size);
int __real_pthread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*body)(void *),
                          void *arg);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t n, size_t size);
int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*body)(void *),
                          void *arg);

/* So many succeed before one does not, and then so many do not. */
static int memory_left = -1, threads_left = -1, threads_fail, thread_error;

static int out_of_memory(void)
{
    return memory_left >= 0 && memory_left-- == 0;
}

void *__wrap_malloc(size_t size)
{
    return out_of_memory() ? NULL : __real_malloc(size);
}

void *__wrap_calloc(size_t n, size_t size)
{
    return out_of_memory() ? NULL : __real_calloc(n, size);
}

int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*body)(void *),
                          void *arg)
{
    if (threads_left >= 0 && threads_left-- <= 0 && threads_fail-- > 0) {
        threads_left = 0;
        return thread_error;
    }
    return __real_pthread_create(thread, attr, body, arg);
}

static int descriptors(void)
{
    DIR *dir = opendir("/proc/self/fd");
    int n = 0;

    for (struct dirent *d; dir != NULL && (d = readdir(dir)) != NULL;)
        n += d->d_name[0] != '.';
    if (dir != NULL)
        closedir(dir);
    return n;
}

/* ---- memory ---- */

typedef int create_fn(int fd, struct cio_store **out);

static int create_memory(int fd, struct cio_store **out)
{
    (void)fd;
    return cio_store_memory_create(out);
}

static int create_calls(int fd, struct cio_store **out)
{
    return cio_store_calls_create(&(struct cio_posix_calls){.self = &fd}, out);
}

/* Over a store that is not to be destroyed when there is none above it. */
static int create_pool(int fd, struct cio_store **out)
{
    struct cio_store *below;
    int rc = cio_store_posix_create(fd, &below);

    if (rc < 0)
        return rc;
    rc = cio_store_thread_create(below, 3, out);
    if (rc < 0)
        cio_store_destroy(below);
    return rc;
}

static int create_auto(int fd, struct cio_store **out)
{
    return cio_store_open(fd, CIO_STORE_AUTO, out);
}

static int create_uring_or_other(int fd, struct cio_store **out)
{
    return cio_store_open(fd, CIO_STORE_URING, out);
}

static int has_uring(void)
{
    int fd = temporary_file(), rc;
    struct cio_store *s;

    rc = cio_store_uring_create(fd, &s);
    if (rc == 0)
        cio_store_destroy(s);
    close(fd);
    return rc == 0;
}

/* Whichever allocation fails: a store of some kind, or -ENOMEM; nothing is left (see also LSan). */
static void test_memory(create_fn *create, int at_least)
{
    int fd = temporary_file(), before = descriptors(), failures = 0;

    for (int left = 0; left < 8; left++) {
        struct cio_store *s = NULL;
        int rc;

        memory_left = left;
        rc = create(fd, &s);
        memory_left = -1;
        failures += rc == -ENOMEM;
        CHECK(rc == 0 ? s != NULL : rc == -ENOMEM && s == NULL);
        cio_store_destroy(s);
        CHECK(descriptors() == before);
    }
    CHECK(failures >= at_least);
    close(fd);
}

/* No memory for a lock: the caller is told, and a batch fails, in whose place nothing is written.
 */
static void test_no_lock(void)
{
    int fd = temporary_file();
    char c = 'x';
    struct cio_piece piece = {&c, 1, 0};
    struct cio_batch b = {.write = 1, .locked = 1, .piece = &piece, .n = 1};
    struct cio_store *s;

    CHECK(cio_store_posix_create(fd, &s) == 0);
    memory_left = 0;
    CHECK(cio_store_lock(s, 0, 10) == -ENOMEM);
    memory_left = 0;
    cio_store_start(s, &b);
    memory_left = -1;
    CHECK(b.done && b.error == -ENOMEM && cio_store_size(s) == 0);
    cio_store_start(s, &b);
    CHECK(b.done && b.error == 0 && cio_store_size(s) == 1);
    CHECK(cio_store_lock(s, 0, 10) == 0);
    cio_store_unlock(s, 0, 10);
    cio_store_destroy(s);
    close(fd);
}

/* ---- threads ---- */

enum { BATCHES = 6, LEN = 2 << 20 };

/* Batches that want several threads, of which some cannot be made; plain ones and locked ones. */
static void run_short_of_threads(int left, int fail, int error, int fd, struct cio_store *s)
{
    static char bytes[BATCHES][LEN], got[LEN];
    struct cio_piece piece[BATCHES][4];
    struct cio_batch b[BATCHES];

    threads_left = left;
    threads_fail = fail;
    thread_error = error;
    for (int i = 0; i < BATCHES; i++) {
        memset(bytes[i], i + 1, LEN);
        for (int k = 0; k < 4; k++)
            piece[i][k] = (struct cio_piece){bytes[i] + k * (LEN / 4), LEN / 4,
                                             (int64_t)i * LEN + k * (LEN / 4)};
        b[i] = (struct cio_batch){.write = 1, .locked = i % 2, .piece = piece[i], .n = 4};
        cio_store_start(s, &b[i]);
    }
    for (int i = 0; i < BATCHES; i++) {
        cio_store_wait(s, &b[i]);
        CHECK(b[i].done && b[i].error == 0);
        CHECK(pread(fd, got, LEN, (int64_t)i * LEN) == LEN && memcmp(got, bytes[i], LEN) == 0);
    }
    threads_left = -1;
}

static void test_threads(void)
{
    static const int errors[] = {EAGAIN, ENOMEM, EPERM, EINVAL};

    for (int left = 0; left < 5; left++) {
        for (int fail = 1; fail < 100; fail += 49) {
            for (int i = 0; i < 4; i++) {
                int fd = temporary_file();
                struct cio_store *s;

                CHECK(create_pool(fd, &s) == 0);
                run_short_of_threads(left, fail, errors[i], fd, s);
                cio_store_destroy(s);
                close(fd);
            }
        }
    }
}

/* One crew has threads, the other cannot get any: done by the caller, who may hold a lock. */
static void test_one_crew(void)
{
    int fd = temporary_file();
    char c = 'x';
    struct cio_piece piece = {&c, 1, 5};
    struct cio_batch b = {.write = 1, .locked = 1, .piece = &piece, .n = 1};
    struct cio_store *s;

    CHECK(create_pool(fd, &s) == 0);
    CHECK(run_batch(s, 1, &piece, 1) == 0);
    threads_left = 0;
    threads_fail = 1000;
    thread_error = EAGAIN;
    CHECK(cio_store_lock(s, 0, 10) == 0);
    cio_store_start(s, &b);
    CHECK(!b.done && cio_store_test(s, &b) == 0);
    cio_store_unlock(s, 0, 10);
    CHECK(cio_store_test(s, &b) == 1 && b.error == 0);
    threads_left = -1;
    cio_store_destroy(s);
    close(fd);
}

/* Transfers of both crews that fail, with several at once: the error is that of its batch. */
static void test_failing_transfers(void)
{
    struct cio_fault fault = {.write_at = -1, .read_at = -1, .error = -ENOSPC};
    char c = 'x';
    struct cio_piece piece[100];
    struct cio_store *memory, *faulty, *s;

    for (int i = 0; i < 100; i++)
        piece[i] = (struct cio_piece){&c, 1, i << 18};
    CHECK(cio_store_memory_create(&memory) == 0);
    CHECK(cio_store_faulty_create(memory, &fault, &faulty) == 0);
    CHECK(cio_store_thread_create(faulty, 3, &s) == 0);
    for (int at = 0; at < 100; at += 9) {
        for (int locked = 0; locked < 2; locked++) {
            struct cio_batch b = {.write = 1, .locked = locked, .piece = piece, .n = 100};

            fault.writes = 0;
            fault.write_at = at;
            cio_store_start(s, &b);
            cio_store_wait(s, &b);
            CHECK(b.error == -ENOSPC);
            fault.write_at = -1;
            cio_store_start(s, &b);
            cio_store_wait(s, &b);
            CHECK(b.error == 0);
            CHECK(cio_store_lock(s, 0, 1 << 30) == 0); /* nobody has kept a lock */
            cio_store_unlock(s, 0, 1 << 30);
        }
    }
    cio_store_destroy(s);
    cio_store_destroy(memory);
}

int main(void)
{
    alarm(240);
    test_memory(cio_store_posix_create, 1);
    test_memory(create_calls, 1);
    test_memory(create_memory, 2);
    test_memory(create_pool, 2);
    if (has_uring())
        test_memory(cio_store_uring_create, 2);
    test_memory(create_auto, 1);
    test_memory(create_uring_or_other, 0);
    test_no_lock();
    test_threads();
    test_one_crew();
    test_failing_transfers();
    return check_done("test_store_faults");
}
