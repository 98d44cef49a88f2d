/* The pool: threads only when there is work for them, quiet ones, and none needed; forks. */
#include "../plan/check.h"

#include <dirent.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>

#include "batches.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define SANITIZED 1
#endif
#endif

/* A store whose writes wait until they are let go on, and that looks at the thread they are in. */
struct gate {
    int open, inside, most_inside, loud;
};

static void nap(void)
{
    nanosleep(&(struct timespec){0, 1000000}, NULL);
}

static int64_t gate_pwrite(void *self, const void *buf, size_t len, int64_t off)
{
    struct gate *g = self;
    int inside = __atomic_add_fetch(&g->inside, 1, __ATOMIC_ACQ_REL), most;
    sigset_t blocked;

    (void)buf, (void)off;
    pthread_sigmask(SIG_SETMASK, NULL, &blocked);
    if (!sigismember(&blocked, SIGALRM) || !sigismember(&blocked, SIGUSR1))
        __atomic_store_n(&g->loud, 1, __ATOMIC_RELAXED);
    most = __atomic_load_n(&g->most_inside, __ATOMIC_RELAXED);
    while (inside > most && !__atomic_compare_exchange_n(&g->most_inside, &most, inside, 0,
                                                         __ATOMIC_RELAXED, __ATOMIC_RELAXED))
        ;
    while (!__atomic_load_n(&g->open, __ATOMIC_ACQUIRE))
        nap();
    __atomic_sub_fetch(&g->inside, 1, __ATOMIC_ACQ_REL);
    return (int64_t)len;
}

static struct cio_store *gated(struct gate *g, int threads)
{
    struct cio_posix_calls calls = {gate_pwrite, NULL, g};
    struct cio_store *below, *s;

    CHECK(cio_store_calls_create(&calls, &below) == 0);
    CHECK(cio_store_thread_create(below, threads, &s) == 0);
    return s;
}

static int threads_now(void)
{
    DIR *dir = opendir("/proc/self/task");
    int n = 0;

    for (struct dirent *d; dir != NULL && (d = readdir(dir)) != NULL;)
        n += d->d_name[0] != '.';
    if (dir != NULL)
        closedir(dir);
    return n;
}

/* One that was joined may be listed for a moment yet. */
static int threads_become(int n)
{
    for (int i = 0; i < 10000 && threads_now() > n; i++)
        nap();
    return threads_now() == n;
}

static void *tell_id(void *id)
{
    *(long *)id = syscall(SYS_gettid);
    return NULL;
}

/* The first thread of all makes a sanitizer start its own. */
static void first_thread(void)
{
    pthread_t thread;
    char path[64];
    long id;

    CHECK(pthread_create(&thread, NULL, tell_id, &id) == 0);
    CHECK(pthread_join(thread, NULL) == 0);
    snprintf(path, sizeof(path), "/proc/self/task/%ld", id);
    for (int i = 0; i < 10000 && access(path, F_OK) == 0; i++)
        nap();
}

static int wait_for(const int *value, int want)
{
    for (int i = 0; i < 10000 && __atomic_load_n(value, __ATOMIC_ACQUIRE) != want; i++)
        nap();
    return __atomic_load_n(value, __ATOMIC_ACQUIRE) == want;
}

/* No thread for a store that is not used, one for one batch, and never more than the limit. */
static void test_growth(void)
{
    struct gate g = {0};
    struct cio_store *s = gated(&g, 3), *unused = gated(&g, 3);
    int before = threads_now();
    char c = 0;
    struct cio_piece piece = {&c, 1, 0};
    struct cio_batch b[6];

    for (int i = 0; i < 6; i++) {
        b[i] = (struct cio_batch){.write = 1, .piece = &piece, .n = 1};
        cio_store_start(s, &b[i]);
        CHECK(threads_now() == before + (i < 3 ? i + 1 : 3));
        CHECK(cio_store_test(s, &b[i]) == 0);
    }
    CHECK(wait_for(&g.inside, 3));
    __atomic_store_n(&g.open, 1, __ATOMIC_RELEASE);
    for (int i = 5; i >= 0; i--)
        cio_store_wait(s, &b[i]);
    CHECK(g.most_inside == 3 && !g.loud);
    cio_store_destroy(s);
    cio_store_destroy(unused);
    CHECK(threads_become(before));
}

/* A thread that is free is used again: one after the other they need but one. */
static void test_reuse(void)
{
    struct gate g = {.open = 1};
    struct cio_store *s = gated(&g, 8);
    int before = threads_now();
    char c = 0;
    struct cio_piece piece = {&c, 1, 0};

    for (int i = 0; i < 200; i++)
        CHECK(run_batch(s, 1, &piece, 1) == 0);
    CHECK(threads_now() == before + 1 && g.most_inside == 1);
    cio_store_destroy(s);
}

/* The pieces of one batch are spread over the threads, unless they are small. */
static void test_spread(void)
{
    struct gate g = {0};
    struct cio_store *s = gated(&g, 4);
    static char large[4 << 20];
    struct cio_piece piece[4];
    struct cio_batch b = {.write = 1, .piece = piece, .n = 4};

    for (int i = 0; i < 4; i++)
        piece[i] = (struct cio_piece){large + (i << 20), 1 << 20, (int64_t)i << 20};
    cio_store_start(s, &b);
    CHECK(wait_for(&g.inside, 4));
    __atomic_store_n(&g.open, 1, __ATOMIC_RELEASE);
    cio_store_wait(s, &b);
    CHECK(b.error == 0);
    cio_store_destroy(s);
}

/* The word changes once a batch is done, and not before. */
static void test_word(void)
{
    struct gate g = {0};
    struct cio_store *s = gated(&g, 1);
    const uint32_t *word = cio_store_word(s);
    uint32_t before;
    char c = 0;
    struct cio_piece piece = {&c, 1, 0};
    struct cio_batch b = {.write = 1, .piece = &piece, .n = 1};

    CHECK(word != NULL);
    before = __atomic_load_n(word, __ATOMIC_ACQUIRE);
    cio_store_start(s, &b);
    CHECK(wait_for(&g.inside, 1) && __atomic_load_n(word, __ATOMIC_ACQUIRE) == before);
    __atomic_store_n(&g.open, 1, __ATOMIC_RELEASE);
    for (int i = 0; i < 10000 && __atomic_load_n(word, __ATOMIC_ACQUIRE) == before; i++)
        nap();
    CHECK(__atomic_load_n(word, __ATOMIC_ACQUIRE) != before);
    CHECK(cio_store_test(s, &b) == 1 && cio_store_word(s) == word);
    cio_store_destroy(s);
}

/* A child has no threads: its batches are done at once, and the parent's are not waited for. */
static void test_fork(void)
{
    struct gate g = {0};
    struct cio_store *s = gated(&g, 2);
    char c = 0;
    struct cio_piece piece = {&c, 1, 0};
    struct cio_batch b = {.write = 1, .piece = &piece, .n = 1};
    int status;
    pid_t child;

    cio_store_start(s, &b);
    CHECK(wait_for(&g.inside, 1));
    child = fork();
    if (child == 0) {
        int ok;

        alarm(20);
        g.open = 1;
        cio_store_wait(s, &b);
        ok = b.done && b.error == -ECANCELED && run_batch(s, 1, &piece, 1) == 0;
        cio_store_destroy(s);
        _exit(!ok);
    }
    CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0);
    CHECK(cio_store_test(s, &b) == 0);
    __atomic_store_n(&g.open, 1, __ATOMIC_RELEASE);
    cio_store_wait(s, &b);
    CHECK(b.error == 0 && run_batch(s, 1, &piece, 1) == 0);
    cio_store_destroy(s);
}

#ifndef SANITIZED
/* No room for a stack: batches are done by the caller. Before any thread has left one behind. */
static void test_no_threads(void)
{
    struct gate g = {.open = 1};
    struct cio_store *s = gated(&g, 2);
    struct rlimit limit;
    char c = 0;
    struct cio_piece piece = {&c, 1, 0};
    struct cio_batch b = {.write = 1, .piece = &piece, .n = 1};
    int before = threads_now();

    CHECK(getrlimit(RLIMIT_AS, &limit) == 0);
    CHECK(setrlimit(RLIMIT_AS, &(struct rlimit){4096, limit.rlim_max}) == 0);
    cio_store_start(s, &b);
    CHECK(setrlimit(RLIMIT_AS, &limit) == 0);
    CHECK(b.done && b.error == 0 && g.loud && threads_now() == before);
    CHECK(run_batch(s, 1, &piece, 1) == 0 && threads_now() == before + 1);
    cio_store_destroy(s);
    CHECK(threads_become(before));
}
#else
static void test_no_threads(void)
{
    printf("without threads: not under a sanitizer, which needs the address space itself\n");
}
#endif

int main(void)
{
    struct cio_store *memory, *s;

    test_no_threads();
    first_thread();
    CHECK(cio_store_memory_create(&memory) == 0);
    CHECK(cio_store_thread_create(memory, 0, &s) == -EINVAL);
    cio_store_destroy(memory);
    test_growth();
    test_reuse();
    test_spread();
    test_word();
    test_fork();
    return check_done("test_store_thread");
}
