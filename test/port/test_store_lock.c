/* Locks: between threads, stores, descriptors and processes. */
#include "../plan/check.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>

#include "batches.h"

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

int main(void)
{
    test_in_process(1);
    test_in_process(2);
    test_order();
    test_keeps();
    test_never_waits_twice();
    test_fork();
    test_classic();
    return check_done("test_store_lock");
}
