/* Locks: between threads, stores, descriptors and processes; and batches that are made under them.
 */
#include "../plan/check.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>

#include "batches.h"

enum { BYTES = 512, TURNS = 60 };

static void nap(int us)
{
    nanosleep(&(struct timespec){0, us * 1000L}, NULL);
}

static int other_descriptor(int fd)
{
    char name[64];

    snprintf(name, sizeof(name), "/proc/self/fd/%d", fd);
    return open(name, O_RDWR);
}

static struct cio_store *posix_on(int fd)
{
    struct cio_store *s = NULL;

    CHECK(cio_store_posix_create(fd, &s) == 0);
    return s;
}

/* As ROMIO locks. */
static int classic(int fd, int type, int cmd, int64_t off, int64_t len)
{
    struct flock lock = {.l_type = (short)type, .l_whence = SEEK_SET, .l_start = off, .l_len = len};
    int rc;

    do {
        rc = fcntl(fd, cmd, &lock);
    } while (rc < 0 && errno == EINTR);
    return rc < 0 ? -errno : 0;
}

/* Whether another process could not lock the range now. */
static int locked_for_others(int fd, int64_t off, int64_t len)
{
    pid_t child = fork();
    int status;

    if (child == 0)
        _exit(classic(fd, F_WRLCK, F_SETLK, off, len) < 0);
    CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status));
    return WEXITSTATUS(status);
}

/* ---- a thread that locks ---- */

struct locker {
    struct cio_store *store;
    int64_t off, len;
    int rc, has, place, held_before;
    int *places; /* how many have had it so far */
    double cpu;  /* seconds of it that waiting took */
    pthread_t thread;
};

static double cpu_time(void)
{
    struct timespec t;

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void *lock_once(void *arg)
{
    struct locker *l = arg;
    double before = cpu_time();

    l->held_before = cio_store_holding();
    l->rc = cio_store_lock(l->store, l->off, l->len);
    l->cpu = cpu_time() - before;
    if (l->places != NULL)
        l->place = (*l->places)++;
    __atomic_store_n(&l->has, 1, __ATOMIC_RELEASE);
    if (l->rc == 0)
        cio_store_unlock(l->store, l->off, l->len);
    return NULL;
}

static void locker_start(struct locker *l)
{
    CHECK(pthread_create(&l->thread, NULL, lock_once, l) == 0);
}

static int locker_has(struct locker *l)
{
    nap(50000);
    return __atomic_load_n(&l->has, __ATOMIC_ACQUIRE);
}

static void locker_end(struct locker *l)
{
    pthread_join(l->thread, NULL);
    CHECK(l->rc == 0 && !l->held_before);
}

/* Two stores on one descriptor, or on two: a range is one thread's, and waiting for it is sleep. */
static void test_in_process(int descriptors)
{
    int fd = temporary_file(), other = descriptors == 2 ? other_descriptor(fd) : fd;
    struct cio_store *a = posix_on(fd), *b = posix_on(other);
    struct locker overlaps = {.store = b, .off = 50, .len = 100};
    struct locker beside = {.store = b, .off = 100, .len = 50};

    CHECK(cio_store_lock(a, 0, 100) == 0);
    locker_start(&overlaps);
    CHECK(!locker_has(&overlaps) && cio_store_holding());
    CHECK(locked_for_others(fd, 0, 100));
    cio_store_unlock(b, 50, 100);
    CHECK(!locker_has(&overlaps));
    cio_store_unlock(a, 0, 100);
    locker_end(&overlaps);
    CHECK(overlaps.cpu < 0.02);
    CHECK(cio_store_lock(a, 0, 100) == 0);
    locker_start(&beside);
    locker_end(&beside);
    CHECK(locked_for_others(fd, 99, 1) && !locked_for_others(fd, 100, 50));
    cio_store_unlock(a, 0, 100);
    CHECK(!locked_for_others(fd, 0, 1000) && !cio_store_holding());
    cio_store_destroy(a);
    cio_store_destroy(b);
    if (other != fd)
        close(other);
    close(fd);
}

/* First come, first served. */
static void test_order(void)
{
    int fd = temporary_file(), places = 0;
    struct cio_store *s = posix_on(fd);
    struct locker l[4];

    CHECK(cio_store_lock(s, 0, 100) == 0);
    for (int i = 0; i < 4; i++) {
        l[i] = (struct locker){.store = s, .off = 10, .len = 10, .places = &places};
        locker_start(&l[i]);
        nap(20000);
    }
    cio_store_unlock(s, 0, 100);
    for (int i = 0; i < 4; i++) {
        locker_end(&l[i]);
        CHECK(l[i].place == i);
    }
    cio_store_destroy(s);
    close(fd);
}

/* An unlock gives back its own range, and another descriptor's close none. */
static void test_keeps(void)
{
    int fd = temporary_file(), other;
    struct cio_store *s = posix_on(fd), *t = posix_on(fd);

    CHECK(cio_store_lock(s, 0, 100) == 0);
    CHECK(cio_store_lock(t, 100, 100) == 0);
    CHECK(cio_store_lock(s, 200, 0) == 0);
    CHECK(cio_store_lock(s, -1, 10) == -EINVAL && cio_store_lock(s, INT64_MAX, 10) == -EINVAL);
    cio_store_unlock(t, 50, 100);
    cio_store_unlock(t, 100, 100);
    CHECK(locked_for_others(fd, 0, 1) && locked_for_others(fd, 99, 1));
    CHECK(!locked_for_others(fd, 100, 1000));
    other = other_descriptor(fd);
    CHECK(classic(fd, F_WRLCK, F_SETLK, 0, 10) == -EAGAIN); /* ROMIO's, in the same process */
    close(other);
    CHECK(locked_for_others(fd, 0, 100));
    cio_store_unlock(s, 0, 100);
    CHECK(!locked_for_others(fd, 0, 1000));
    cio_store_destroy(s);
    cio_store_destroy(t);
    close(fd);
}

/* A process that locks as ROMIO does, and gives back when it is told to. */
static pid_t start_holder(int fd, const int *ends)
{
    pid_t child = fork();
    char c = 'x';

    if (child == 0) {
        alarm(60);
        if (classic(fd, F_WRLCK, F_SETLKW, 0, 100) < 0 || write(ends[1], &c, 1) != 1)
            _exit(1);
        nap(100000);
        _exit(classic(fd, F_UNLCK, F_SETLK, 0, 100) < 0);
    }
    CHECK(read(ends[0], &c, 1) == 1);
    return child;
}

/* Who holds a range is never made to wait: for a thread, for another process, for himself. */
static void test_never_waits_twice(void)
{
    int fd = temporary_file(), ends[2], status;
    struct cio_store *s = posix_on(fd), *memory;
    pid_t child;

    CHECK(cio_store_memory_create(&memory) == 0 && pipe(ends) == 0);
    child = start_holder(fd, ends);
    CHECK(cio_store_lock(s, 500, 100) == 0);
    CHECK(cio_store_lock(s, 0, 10) == -EDEADLK);
    CHECK(cio_store_lock(s, 550, 10) == -EDEADLK);
    CHECK(cio_store_lock(memory, 550, 10) == 0);
    CHECK(cio_store_lock(memory, 555, 10) == -EDEADLK);
    cio_store_unlock(memory, 550, 10);
    cio_store_unlock(s, 500, 100);
    CHECK(cio_store_lock(s, 0, 10) == 0); /* waits for the child */
    cio_store_unlock(s, 0, 10);
    CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0);
    close(ends[0]);
    close(ends[1]);
    cio_store_destroy(memory);
    cio_store_destroy(s);
    close(fd);
}

/* A child has none of its parent's ranges, is kept out of them, and cannot give them back. */
static void test_fork(void)
{
    int fd = temporary_file(), status;
    struct cio_store *s = posix_on(fd);
    struct locker waits = {.store = s, .off = 0, .len = 100};
    pid_t child;

    CHECK(cio_store_lock(s, 0, 100) == 0);
    locker_start(&waits);
    CHECK(!locker_has(&waits));
    child = fork();
    if (child == 0) {
        int ok;

        alarm(60);
        cio_store_unlock(s, 0, 100);
        ok = cio_store_lock(s, 100, 100) == 0 && cio_store_lock(s, 0, 10) == -EDEADLK;
        cio_store_unlock(s, 100, 100);
        ok = ok && cio_store_lock(s, 0, 100) == 0;
        cio_store_unlock(s, 0, 100);
        cio_store_destroy(s);
        _exit(!ok);
    }
    nap(50000);
    CHECK(waitpid(child, &status, WNOHANG) == 0);
    CHECK(locked_for_others(fd, 0, 100));
    cio_store_unlock(s, 0, 100);
    locker_end(&waits);
    CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0);
    CHECK(!locked_for_others(fd, 0, 1000));
    cio_store_destroy(s);
    close(fd);
}

/* A system that does not know locks of open files: 0 if it could be made to be one. */
static int forget_open_file_locks(void)
{
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_fcntl, 0, 4),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[1])),
        BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, 36, 0, 2), /* F_OFD_GETLK to F_OFD_SETLKW */
        BPF_JUMP(BPF_JMP | BPF_JGT | BPF_K, 38, 1, 0),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EINVAL),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {sizeof(code) / sizeof(code[0]), code};

    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ||
           prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0) < 0;
}

/* There, classic ones, and the table all the same. */
static int try_classic(int fd)
{
    struct cio_store *s = posix_on(fd), *t = posix_on(fd);
    struct locker waits = {.store = t, .off = 0, .len = 10};

    CHECK(cio_store_lock(s, 0, 100) == 0 && locked_for_others(fd, 99, 1));
    CHECK(classic(fd, F_WRLCK, F_SETLK, 200, 10) == 0);
    locker_start(&waits);
    CHECK(!locker_has(&waits));
    cio_store_unlock(s, 0, 100);
    locker_end(&waits);
    CHECK(!locked_for_others(fd, 0, 100));
    cio_store_destroy(s);
    cio_store_destroy(t);
    return check_done("classic locks");
}

static void test_classic(void)
{
    int fd = temporary_file(), status;
    pid_t child = fork();

    if (child == 0)
        _exit(forget_open_file_locks() ? 77 : try_classic(fd));
    CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status));
    if (WEXITSTATUS(status) == 77)
        printf("classic locks: no seccomp here, not tried\n");
    else
        CHECK(WEXITSTATUS(status) == 0);
    close(fd);
}

/* ---- batches under locks, against somebody who reads, modifies and writes back ---- */

enum style { STORE, CLASSIC_THREAD, CLASSIC_PROCESS };

/* Goes over all of the file, and has the odd bytes for its own. */
struct rewriter {
    int fd, stop, errors;
    enum style style;
    struct cio_store *store;
    pthread_t thread;
    pid_t child;
};

static int take(const struct rewriter *w)
{
    return w->style == STORE ? cio_store_lock(w->store, 0, BYTES)
                             : classic(w->fd, F_WRLCK, F_SETLKW, 0, BYTES);
}

static void give(const struct rewriter *w)
{
    if (w->style == STORE)
        cio_store_unlock(w->store, 0, BYTES);
    else
        classic(w->fd, F_UNLCK, F_SETLK, 0, BYTES);
}

static void rewrite_once(struct rewriter *w, int turn)
{
    char bytes[BYTES] = {0};

    w->errors += take(w) != 0;
    w->errors += pread(w->fd, bytes, BYTES, 0) < 0;
    nap(500);
    for (int i = 1; i < BYTES; i += 2)
        bytes[i] = (char)turn;
    w->errors += pwrite(w->fd, bytes, BYTES, 0) != BYTES;
    give(w);
    nap(500);
}

static void *rewrite(void *arg)
{
    struct rewriter *w = arg;

    for (int turn = 0; !__atomic_load_n(&w->stop, __ATOMIC_ACQUIRE); turn++)
        rewrite_once(w, turn);
    return NULL;
}

static void rewriter_start(struct rewriter *w, int fd, enum style style)
{
    *w = (struct rewriter){.fd = other_descriptor(fd), .style = style};
    if (style == STORE)
        w->store = posix_on(w->fd);
    if (style == CLASSIC_PROCESS) {
        w->child = fork();
        if (w->child == 0) {
            alarm(120);
            close(w->fd);
            w->fd = other_descriptor(fd);
            rewrite(w);
        }
    } else {
        CHECK(pthread_create(&w->thread, NULL, rewrite, w) == 0);
    }
}

static void rewriter_end(struct rewriter *w)
{
    if (w->style == CLASSIC_PROCESS) {
        CHECK(kill(w->child, SIGKILL) == 0 && waitpid(w->child, NULL, 0) == w->child);
    } else {
        __atomic_store_n(&w->stop, 1, __ATOMIC_RELEASE);
        pthread_join(w->thread, NULL);
    }
    CHECK(w->errors == 0);
    cio_store_destroy(w->store);
    close(w->fd);
}

/* Even bytes that are not what was written last, seen when nobody is at them. */
static int count_lost(struct cio_store *s, char value)
{
    char bytes[BYTES];
    int lost = 0;

    CHECK(cio_store_lock(s, 0, BYTES) == 0);
    CHECK(cio_store_read(s, bytes, BYTES, 0) == 0);
    cio_store_unlock(s, 0, BYTES);
    for (int i = 0; i < BYTES; i += 2)
        lost += bytes[i] != value;
    return lost;
}

/* Writes all even bytes again and again. Returns how many were lost. */
static int write_turns(struct cio_store *s, int locked)
{
    char bytes[BYTES / 2];
    struct cio_piece piece[BYTES / 2];
    struct cio_batch b = {.write = 1, .locked = locked, .piece = piece, .n = BYTES / 2};
    int lost = 0;

    for (int i = 0; i < b.n; i++)
        piece[i] = (struct cio_piece){bytes + i, 1, 2 * i};
    for (int turn = 1; turn <= TURNS; turn++) {
        memset(bytes, turn, sizeof(bytes));
        cio_store_start(s, &b);
        cio_store_wait(s, &b);
        CHECK(b.error == 0);
        lost += count_lost(s, (char)turn);
    }
    return lost;
}

static int is_there(int fd, enum cio_store_kind kind)
{
    struct cio_store *s;

    if (kind != CIO_STORE_URING)
        return 1;
    if (cio_store_uring_create(fd, &s) < 0)
        return 0;
    cio_store_destroy(s);
    return 1;
}

static void test_locked(enum cio_store_kind kind, enum style style)
{
    int fd = temporary_file(), lost[2];
    struct rewriter w;
    struct cio_store *s;

    if (is_there(fd, kind)) {
        rewriter_start(&w, fd, style);
        CHECK(cio_store_open(fd, kind, &s) == 0);
        for (int locked = 0; locked < 2; locked++)
            lost[locked] = write_turns(s, locked);
        CHECK(lost[0] > 0 && lost[1] == 0);
        printf("%s store, rewriter %d: %d bytes lost without locks, %d with\n", cio_store_name(s),
               style, lost[0], lost[1]);
        cio_store_destroy(s);
        rewriter_end(&w);
    }
    close(fd);
}

/* ---- a batch under a lock, and somebody of the same process who holds that lock for long ---- */

/* What holds a range needs of the store is done, though the store's threads wait for the range. */
static void check_holder(struct cio_store *s, int overlaps)
{
    char ones[10], twos[10], got[10];
    struct cio_piece one[4], two = {twos, 10, 5}, read = {got, 10, 5};
    struct cio_batch b = {.write = 1, .locked = 1, .piece = one, .n = 4};

    memset(ones, 1, 10);
    memset(twos, 2, 10);
    for (int i = 0; i < 4; i++)
        one[i] = (struct cio_piece){ones, 10, i << 21};
    CHECK(cio_store_lock(s, 0, 1 << 20) == 0);
    cio_store_start(s, &b);
    nap(20000);
    CHECK(run_batch(s, 0, &read, 1) == 0 && got[0] == 0);
    CHECK(run_batch(s, 1, &two, 1) == 0);
    CHECK(run_batch(s, 0, &read, 1) == 0 && got[0] == 2);
    CHECK(cio_store_test(s, &b) == 0);
    cio_store_unlock(s, 0, 1 << 20);
    cio_store_wait(s, &b);
    CHECK(b.done && b.error == 0);
    CHECK(run_batch(s, 0, &read, 1) == 0 && got[4] == 1 && got[5] == 2);
    CHECK(cio_store_lock(s, 0, 1 << 20) == 0);
    cio_store_start(s, &b);
    if (!overlaps) {
        cio_store_wait(s, &b);
        CHECK(b.done && b.error == -EDEADLK);
    }
    cio_store_unlock(s, 0, 1 << 20);
    cio_store_wait(s, &b);
    cio_store_destroy(s);
}

static void test_holder(void)
{
    int fd = temporary_file();
    struct cio_store *s, *memory;

    check_holder(posix_on(fd), 0);
    for (int threads = 1; threads < 3; threads++) {
        CHECK(ftruncate(fd, 0) == 0);
        CHECK(cio_store_thread_create(posix_on(fd), threads, &s) == 0);
        check_holder(s, 1);
    }
    if (is_there(fd, CIO_STORE_URING)) {
        CHECK(ftruncate(fd, 0) == 0 && cio_store_uring_create(fd, &s) == 0);
        check_holder(s, 1);
    }
    CHECK(cio_store_memory_create(&memory) == 0);
    check_holder(memory, 0);
    close(fd);
}

/* As a late store shows it to its only thread: done some time after the lock has been given back.
 */
static void test_late(void)
{
    struct cio_store *memory = NULL, *s = NULL;
    char c = 1;
    struct cio_piece piece = {&c, 1, 10};
    struct cio_batch b = {.write = 1, .locked = 1, .piece = &piece, .n = 1};

    CHECK(cio_store_memory_create(&memory) == 0 && cio_store_late_create(memory, 7, &s) == 0);
    CHECK(cio_store_lock(s, 0, 100) == 0);
    cio_store_start(s, &b);
    for (int i = 0; i < 100; i++)
        CHECK(cio_store_test(s, &b) == 0);
    cio_store_unlock(s, 0, 100);
    CHECK(cio_store_test(s, &b) == 1 && b.error == 0);
    c = 0;
    CHECK(cio_store_read(s, &c, 1, 10) == 0 && c == 1);
    cio_store_destroy(s);
    cio_store_destroy(memory);
}

/* ---- which locks are taken ---- */

/* A store that checks that what is written lies in what is locked. */
struct watcher {
    struct cio_store store;
    int64_t off, len; /* locked now */
    int locks, writes, lock_error;
};

static int watch_lock(struct cio_store *s, int64_t off, int64_t len)
{
    struct watcher *w = (struct watcher *)s;

    CHECK(w->len == 0);
    if (w->lock_error != 0)
        return w->lock_error;
    w->locks++;
    w->off = off;
    w->len = len;
    return 0;
}

static void watch_unlock(struct cio_store *s, int64_t off, int64_t len)
{
    struct watcher *w = (struct watcher *)s;

    CHECK(w->off == off && w->len == len);
    w->len = 0;
}

static int watch_write(struct cio_store *s, const void *buf, int64_t len, int64_t off)
{
    struct watcher *w = (struct watcher *)s;

    (void)buf;
    w->writes++;
    CHECK(w->lock_error != 0 || (off >= w->off && off + len <= w->off + w->len));
    return 0;
}

static const struct cio_store_ops watcher_ops = {
    .write = watch_write, .lock = watch_lock, .unlock = watch_unlock};

static struct watcher watch(const struct cio_piece *piece, int n, int lock_error, int want)
{
    struct watcher w = {.store = {&watcher_ops, NULL}, .lock_error = lock_error};
    struct cio_batch b = {.write = 1, .locked = 1, .piece = piece, .n = n};

    cio_store_start(&w.store, &b);
    CHECK(b.done && b.error == want && w.len == 0);
    return w;
}

/* One lock for neighbours, in any order; one each for those far apart, or large. */
static void test_spans(void)
{
    enum { N = 64, FAR = 2 << 20 };
    struct cio_piece near[N], far[N], large[2] = {{NULL, FAR, FAR}, {NULL, FAR, 2 * FAR}};
    struct watcher w;

    for (int i = 0; i < N; i++) {
        near[i] = (struct cio_piece){NULL, 8, 1000 + 100 * ((i * 37) % N)};
        far[i] = (struct cio_piece){NULL, 8, (int64_t)FAR * (N - i)};
    }
    w = watch(near, N, 0, 0);
    CHECK(w.locks == 1 && w.writes == N);
    w = watch(far, N, 0, 0);
    CHECK(w.locks == N && w.writes == N);
    w = watch(large, 2, 0, 0);
    CHECK(w.locks == 2 && w.writes == 2);
    w = watch(near, N, -ENOTSUP, 0);
    CHECK(w.writes == N);
    w = watch(near, N, -EIO, -EIO);
    CHECK(w.writes == 0);
}

int main(void)
{
    alarm(240);
    test_in_process(1);
    test_in_process(2);
    test_order();
    test_keeps();
    test_never_waits_twice();
    test_fork();
    test_classic();
    for (int kind = CIO_STORE_BLOCKING; kind <= CIO_STORE_URING; kind++)
        for (int style = STORE; style <= CLASSIC_PROCESS; style++)
            test_locked((enum cio_store_kind)kind, (enum style)style);
    test_holder();
    test_late();
    test_spans();
    return check_done("test_store_lock");
}
