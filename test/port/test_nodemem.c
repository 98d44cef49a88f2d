/* Node memory: segments shared between processes, their names, and the stand-ins for tests. */
#define _GNU_SOURCE /* unshare, fallocate */
#include "../plan/check.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "port/nodemem.h"

enum { SKIPPED = 77, RACERS = 6, RACES = 50, ROUNDS = 200, VISITS = 1000 };

#define MIB ((int64_t)1 << 20)
#define GIB ((int64_t)1 << 30)
#define LIMIT_SECONDS 40 /* no part of the test takes five, unless somebody sleeps for ever */

static const struct cio_node_memory *const posix = &cio_nodemem_posix;

/*
 * These two take the place of the C library's, so that a call of the port can be interrupted, or
 * refused, when the test says so.
 */
static struct {
    int fallocate_interrupts, fallocate_calls;
    int64_t fallocate_longest;
    int ftruncate_interrupts, ftruncate_error;
} faults;

/* Whole pages, up to the end of the file and not beyond. */
static int whole_pages(int fd, int64_t from, int64_t to)
{
    int64_t page = sysconf(_SC_PAGESIZE);
    struct stat st;

    if (fstat(fd, &st) < 0 || from % page != 0)
        return 0;
    return to == st.st_size || (to % page == 0 && to < st.st_size);
}

int posix_fallocate(int fd, off_t offset, off_t len)
{
    CHECK(whole_pages(fd, offset, offset + len));
    faults.fallocate_calls++;
    if (len > faults.fallocate_longest)
        faults.fallocate_longest = len;
    if (faults.fallocate_interrupts > 0) {
        faults.fallocate_interrupts--;
        return EINTR;
    }
    return fallocate(fd, 0, offset, len) < 0 ? errno : 0;
}

int ftruncate(int fd, off_t size)
{
    errno = faults.ftruncate_interrupts > 0 ? EINTR : faults.ftruncate_error;
    if (faults.ftruncate_interrupts > 0)
        faults.ftruncate_interrupts--;
    return errno != 0 ? -1 : (int)syscall(SYS_ftruncate, fd, size);
}

static int join(const struct cio_node_memory *mem, const char *name, int64_t size,
                struct cio_nodemem *m)
{
    return mem->ops->join(mem->self, name, size, m);
}

static int back(const struct cio_node_memory *mem, struct cio_nodemem *m, int64_t from, int64_t to)
{
    return mem->ops->back(mem->self, m, from, to);
}

static void forget(const struct cio_node_memory *mem, struct cio_nodemem *m)
{
    mem->ops->forget(mem->self, m);
}

static void leave(const struct cio_node_memory *mem, struct cio_nodemem *m)
{
    mem->ops->leave(mem->self, m);
}

static void wait_on(const struct cio_node_memory *mem, const uint32_t *word, uint32_t seen,
                    int usec)
{
    mem->ops->wait(mem->self, word, seen, usec);
}

static void wake(const struct cio_node_memory *mem, uint32_t *word)
{
    mem->ops->wake(mem->self, word);
}

static double seconds(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* A name of this process that it has not had before. */
static const char *new_name(char name[CIO_NODEMEM_NAME_MAX])
{
    static int n;

    snprintf(name, CIO_NODEMEM_NAME_MAX, "/tamio-test-%ld-%d", (long)getpid(), n++);
    return name;
}

/* Entries of a folder whose names begin so; -1 if it cannot be read. */
static int entries(const char *path, const char *prefix)
{
    DIR *dir = opendir(path);
    int n = 0;

    if (dir == NULL)
        return -1;
    for (struct dirent *e; (e = readdir(dir)) != NULL;)
        n += strncmp(e->d_name, prefix, strlen(prefix)) == 0;
    closedir(dir);
    return n;
}

static int names_in_shm(void)
{
    char prefix[40];

    snprintf(prefix, sizeof(prefix), "tamio-test-%ld-", (long)getpid());
    return entries("/dev/shm", prefix);
}

static int open_files(void)
{
    return entries("/proc/self/fd", "");
}

/* Bytes of the segment that take memory. */
static int64_t backed(const struct cio_nodemem *m)
{
    struct stat st;

    return fstat(m->fd, &st) < 0 ? -1 : (int64_t)st.st_blocks * 512;
}

/* Whether there is memory at that address, as far as the kernel knows. */
static int present(void *base)
{
    unsigned char resident;

    return mincore(base, 1, &resident) == 0;
}

static int zeroed(const struct cio_nodemem *m, int64_t from, int64_t to)
{
    for (int64_t i = from; i < to; i++)
        if (((char *)m->base)[i] != 0)
            return 0;
    return 1;
}

/* The exit status of a child, which is killed if it does not end in time. */
static int status_of(pid_t child)
{
    double limit = seconds() + LIMIT_SECONDS;
    int status = -1;

    while (waitpid(child, &status, WNOHANG) == 0) {
        if (seconds() > limit)
            kill(child, SIGKILL);
        usleep(1000);
    }
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* Starts a child that runs the test; what it prints must not be printed twice. */
static pid_t start(int (*test)(void *), void *arg)
{
    pid_t child;

    fflush(NULL);
    child = fork();
    if (child == 0) {
        int rc;

        check_failures = 0;
        rc = test(arg);
        _exit(check_failures > 0 ? 1 : rc);
    }
    return child;
}

static void in_child(const char *what, int (*test)(void *))
{
    int status = status_of(start(test, NULL));

    if (status == SKIPPED)
        printf("test_nodemem: %s: skipped, not permitted\n", what);
    else if (!CHECK(status == 0))
        fprintf(stderr, "test_nodemem: %s: failed\n", what);
}

/* What both kinds that can be shared must do. */
static void test_segments(const struct cio_node_memory *mem)
{
    struct cio_nodemem a, b, c;
    char name[CIO_NODEMEM_NAME_MAX], other[CIO_NODEMEM_NAME_MAX];

    CHECK(join(mem, new_name(name), 100000, &a) == 0 && a.size == 100000);
    CHECK(strcmp(a.name, name) == 0);
    CHECK(join(mem, new_name(other), 1, &c) == 0 && c.base != a.base);
    CHECK(back(mem, &a, 0, 100000) == 0 && back(mem, &a, 0, 100000) == 0);
    CHECK(zeroed(&a, 0, 100000));
    CHECK(join(mem, name, 100000, &b) == 0 && b.size == 100000 && strcmp(b.name, name) == 0);
    strcpy((char *)b.base + 99990, "written");
    CHECK(strcmp((char *)a.base + 99990, "written") == 0);
    leave(mem, &b);
    CHECK(b.base == NULL);
    CHECK(join(mem, name, 100000, &b) == 0);
    CHECK(strcmp((char *)b.base + 99990, "written") == 0);
    forget(mem, &a);
    CHECK(a.name[0] == '\0');
    CHECK(strcmp((char *)a.base + 99990, "written") == 0);
    leave(mem, &a);
    leave(mem, &a);
    CHECK(a.base == NULL);
    ((char *)b.base)[0] = 'x';
    forget(mem, &b);
    CHECK(b.name[0] == '\0' && ((char *)b.base)[0] == 'x');
    leave(mem, &b);
    leave(mem, &c);
    forget(mem, &c);
    CHECK(c.name[0] == '\0');
    forget(mem, &c);
}

/* A name that was forgotten is free: the next who joins makes another segment, zeroed. */
static void test_name_again(const struct cio_node_memory *mem)
{
    struct cio_nodemem a, b, c;
    char name[CIO_NODEMEM_NAME_MAX];

    CHECK(join(mem, new_name(name), 8192, &a) == 0);
    CHECK(back(mem, &a, 0, 8192) == 0);
    memset(a.base, 'a', 8192);
    forget(mem, &a);
    CHECK(join(mem, name, 4096, &b) == 0 && b.base != a.base);
    CHECK(back(mem, &b, 0, 4096) == 0 && zeroed(&b, 0, 4096));
    memset(b.base, 'b', 4096);
    CHECK(join(mem, name, 4096, &c) == 0 && ((char *)c.base)[4095] == 'b');
    CHECK(((char *)a.base)[0] == 'a');
    leave(mem, &a);
    leave(mem, &b);
    leave(mem, &c);
    CHECK(join(mem, name, 4096, &c) == 0 && ((char *)c.base)[0] == 'b');
    forget(mem, &c);
    leave(mem, &c);
}

static int same(const struct cio_nodemem *a, const struct cio_nodemem *b)
{
    return a->base == b->base && a->size == b->size && a->fd == b->fd &&
           strcmp(a->name, b->name) == 0;
}

/* What is refused leaves the output as it was, and takes nothing away from those who are in. */
static void test_refused(const struct cio_node_memory *mem)
{
    struct cio_nodemem a, m = {&m, 77, -7, "untouched"}, before = m;
    char name[CIO_NODEMEM_NAME_MAX], other[CIO_NODEMEM_NAME_MAX], long_name[200];

    memset(long_name, 'n', sizeof(long_name));
    long_name[0] = '/';
    long_name[CIO_NODEMEM_NAME_MAX] = '\0';
    CHECK(join(mem, new_name(name), 100000, &a) == 0);
    CHECK(join(mem, name, 99999, &m) == -EINVAL && same(&m, &before));
    CHECK(join(mem, name, 100001, &m) == -EINVAL && same(&m, &before));
    CHECK(join(mem, name, 0, &m) == -EINVAL && same(&m, &before));
    CHECK(join(mem, new_name(other), 0, &m) == -EINVAL && same(&m, &before));
    CHECK(join(mem, other, -1, &m) == -EINVAL && same(&m, &before));
    CHECK(join(mem, "", 1, &m) == -EINVAL && same(&m, &before));
    CHECK(join(mem, long_name, 1, &m) == -ENAMETOOLONG && same(&m, &before));
    CHECK(join(mem, other, (int64_t)1 << 60, &m) == -ENOMEM && same(&m, &before));
    CHECK(join(mem, other, 4096, &m) == 0);
    forget(mem, &m);
    leave(mem, &m);
    CHECK(join(mem, name, 100000, &m) == 0 && strcmp(m.name, name) == 0);
    leave(mem, &m);
    forget(mem, &a);
    leave(mem, &a);
}

/* The longest name there may be. */
static void test_long_name(const struct cio_node_memory *mem)
{
    char name[CIO_NODEMEM_NAME_MAX];
    struct cio_nodemem m;

    new_name(name);
    memset(name + strlen(name), 'n', sizeof(name) - strlen(name));
    name[sizeof(name) - 1] = '\0';
    CHECK(join(mem, name, 1, &m) == 0 && strcmp(m.name, name) == 0);
    forget(mem, &m);
    leave(mem, &m);
}

static void test_nothing_left(void)
{
    struct cio_nodemem never = {0};
    int files = open_files();

    leave(posix, &never);
    forget(posix, &never);
    test_segments(posix);
    test_name_again(posix);
    test_refused(posix);
    test_long_name(posix);
    CHECK(open_files() == files);
    CHECK(names_in_shm() == 0);
}

static void test_mode(void)
{
    struct cio_nodemem m = {0};
    char name[CIO_NODEMEM_NAME_MAX];
    struct stat st;
    void *base;
    int fd;

    CHECK(join(posix, new_name(name), 4096, &m) == 0);
    CHECK(names_in_shm() == 1);
    fd = shm_open(name, O_RDONLY, 0);
    CHECK(fd >= 0 && fstat(fd, &st) == 0 && (st.st_mode & 0777) == 0600);
    CHECK(st.st_size == 4096 && st.st_blocks == 0);
    close(fd);
    base = m.base;
    CHECK(present(base));
    leave(posix, &m);
    CHECK(!present(base) && m.base == NULL && names_in_shm() == 1);
    forget(posix, &m);
    CHECK(names_in_shm() == 0);
}

/* Only what is asked for takes memory, in whole pages, and the file never grows. */
static void test_backing(void)
{
    int64_t page = sysconf(_SC_PAGESIZE), end = 64 * GIB + 5;
    struct cio_nodemem m = {0}, late = {0};
    char name[CIO_NODEMEM_NAME_MAX];

    CHECK(join(posix, new_name(name), end, &m) == 0 && backed(&m) == 0);
    CHECK(back(posix, &m, 7, 7) == 0 && back(posix, &m, 9, 7) == 0 && backed(&m) == 0);
    CHECK(back(posix, &m, page - 1, page + 1) == 0 && backed(&m) == 2 * page);
    CHECK(back(posix, &m, 0, 2 * page) == 0 && backed(&m) == 2 * page);
    CHECK(back(posix, &m, page, 2 * page + 1) == 0 && backed(&m) == 3 * page);
    CHECK(back(posix, &m, end - 1, end) == 0 && backed(&m) == 4 * page);
    CHECK(back(posix, &m, end - 3, end - 1) == 0 && backed(&m) == 4 * page);
    CHECK(back(posix, &m, end - 5 - page, INT64_MAX) == 0 && backed(&m) == 5 * page);
    CHECK(back(posix, &m, -5, 1) == 0 && backed(&m) == 5 * page);
    CHECK(back(posix, &m, end, end + 1) == 0 && backed(&m) == 5 * page);
    CHECK(back(posix, &m, 32 * GIB, 32 * GIB + 3 * MIB + 1) == 0);
    CHECK(backed(&m) == 3 * MIB + 6 * page);
    CHECK(zeroed(&m, end - 1, end) && zeroed(&m, 32 * GIB, 32 * GIB + 3 * MIB + page));
    CHECK(backed(&m) == 3 * MIB + 6 * page);
    CHECK(join(posix, name, end, &late) == 0);
    leave(posix, &late);
    forget(posix, &m);
    leave(posix, &m);
}

/* What another rank has written stays when it is backed again. */
static void test_backed_again(void)
{
    struct cio_nodemem m = {0};
    char name[CIO_NODEMEM_NAME_MAX];

    CHECK(join(posix, new_name(name), 4 * MIB, &m) == 0);
    CHECK(back(posix, &m, 0, MIB) == 0);
    memset(m.base, 0x55, (size_t)MIB);
    CHECK(back(posix, &m, 0, 4 * MIB) == 0 && backed(&m) == 4 * MIB);
    CHECK(((char *)m.base)[0] == 0x55 && ((char *)m.base)[MIB - 1] == 0x55);
    CHECK(zeroed(&m, MIB, 4 * MIB));
    forget(posix, &m);
    leave(posix, &m);
}

static int fill_all(void *arg)
{
    struct cio_nodemem *m = arg, own = {0};

    CHECK(join(posix, m->name, m->size, &own) == 0);
    CHECK(back(posix, &own, 0, own.size) == 0);
    memset(own.base, 0x77, (size_t)own.size);
    leave(posix, &own);
    return 0;
}

static void test_between_processes(void)
{
    struct cio_nodemem m = {0};
    char name[CIO_NODEMEM_NAME_MAX];

    CHECK(join(posix, new_name(name), 8 * MIB, &m) == 0);
    CHECK(status_of(start(fill_all, &m)) == 0);
    CHECK(backed(&m) == m.size);
    CHECK(((char *)m.base)[0] == 0x77 && ((char *)m.base)[m.size - 1] == 0x77);
    forget(posix, &m);
    leave(posix, &m);
}

/* Ranks that come at once: `ready` is shared, so that all start together, round by round. */
struct race {
    const char *prefix;
    uint32_t *ready;
};

static void meet(uint32_t *counter, uint32_t all)
{
    __atomic_add_fetch(counter, 1, __ATOMIC_ACQ_REL);
    while (__atomic_load_n(counter, __ATOMIC_ACQUIRE) < all)
        sched_yield();
}

/* Each adds one to the segment's first word; all must see the sum, and all forget. */
static int join_race(void *arg)
{
    struct race *race = arg;

    for (uint32_t r = 0; r < RACES; r++) {
        struct cio_nodemem m = {0};
        char name[CIO_NODEMEM_NAME_MAX];

        snprintf(name, sizeof(name), "%s-%u", race->prefix, r);
        meet(race->ready, (2 * r + 1) * RACERS);
        if (!CHECK(join(posix, name, 16 * GIB, &m) == 0)) {
            __atomic_add_fetch(race->ready, 1u << 30, __ATOMIC_ACQ_REL); /* nobody waits for us */
            return 1;
        }
        CHECK(back(posix, &m, 0, 4) == 0);
        __atomic_add_fetch((uint32_t *)m.base, 1, __ATOMIC_ACQ_REL);
        meet(race->ready, (2 * r + 2) * RACERS);
        CHECK(__atomic_load_n((uint32_t *)m.base, __ATOMIC_ACQUIRE) == RACERS);
        forget(posix, &m);
        leave(posix, &m);
    }
    return 0;
}

static void test_race(void)
{
    char prefix[CIO_NODEMEM_NAME_MAX];
    struct race race = {new_name(prefix), NULL};
    pid_t child[RACERS];

    race.ready = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    CHECK(race.ready != MAP_FAILED);
    for (int i = 0; i < RACERS; i++)
        child[i] = start(join_race, &race);
    for (int i = 0; i < RACERS; i++)
        CHECK(status_of(child[i]) == 0);
    munmap(race.ready, 4096);
    CHECK(names_in_shm() == 0);
}

static int come_and_go(void *arg)
{
    for (int i = 0; i < VISITS; i++) {
        struct cio_nodemem m = {0};

        CHECK(join(posix, arg, 4096, &m) == 0);
        forget(posix, &m);
        leave(posix, &m);
    }
    return 0;
}

/* A name that is found may be gone before it is opened: that is no reason to fail. */
static void test_name_comes_and_goes(void)
{
    char name[CIO_NODEMEM_NAME_MAX];
    pid_t child[3];

    new_name(name);
    for (int i = 0; i < 3; i++)
        child[i] = start(come_and_go, name);
    for (int i = 0; i < 3; i++)
        CHECK(status_of(child[i]) == 0);
    CHECK(names_in_shm() == 0);
}

/* Sleeps until the word has changed, in few and long sleeps; gives up after some of them. */
static int sleep_until_changed(const uint32_t *word, uint32_t seen)
{
    double begin = seconds();

    while (__atomic_load_n(word, __ATOMIC_ACQUIRE) == seen && seconds() - begin < 15)
        wait_on(posix, word, seen, 10 * 1000000);
    return __atomic_load_n(word, __ATOMIC_ACQUIRE) != seen;
}

/* Two words, in a mapping of its own: told by the parent, answered by the child. */
static int answer(void *arg)
{
    struct cio_nodemem *m = arg, own = {0};
    uint32_t *word;

    if (!CHECK(join(posix, m->name, m->size, &own) == 0))
        return 1;
    word = own.base;
    for (uint32_t i = 0; i < ROUNDS; i++) {
        if (!CHECK(sleep_until_changed(&word[0], i)))
            break;
        __atomic_store_n(&word[1], i + 1, __ATOMIC_RELEASE);
        wake(posix, &word[1]);
    }
    leave(posix, &own);
    return 0;
}

/* Each side sleeps until the other has spoken. Were somebody not woken, that would take seconds. */
static void test_wake(void)
{
    struct cio_nodemem m = {0};
    char name[CIO_NODEMEM_NAME_MAX];
    double begin;
    uint32_t *word;
    pid_t child;

    CHECK(join(posix, new_name(name), 4096, &m) == 0 && back(posix, &m, 0, 8) == 0);
    word = m.base;
    child = start(answer, &m);
    begin = seconds();
    for (uint32_t i = 0; i < ROUNDS; i++) {
        __atomic_store_n(&word[0], i + 1, __ATOMIC_RELEASE);
        wake(posix, &word[0]);
        if (!CHECK(sleep_until_changed(&word[1], i) && seconds() - begin < 9))
            break;
    }
    CHECK(status_of(child) == 0 && seconds() - begin < 9);
    forget(posix, &m);
    leave(posix, &m);
}

/* Says that it goes to sleep, and then does. */
static int sleep_once(void *arg)
{
    struct cio_nodemem *m = arg, own = {0};
    double begin = seconds();
    uint32_t *word;

    if (!CHECK(join(posix, m->name, m->size, &own) == 0))
        return 1;
    word = own.base;
    __atomic_add_fetch(&word[1], 1, __ATOMIC_ACQ_REL);
    wait_on(posix, &word[0], 0, 30 * 1000000);
    CHECK(seconds() - begin < 20);
    leave(posix, &own);
    return 0;
}

/* One call wakes all who sleep. */
static void test_wake_all(void)
{
    struct cio_nodemem m = {0};
    char name[CIO_NODEMEM_NAME_MAX];
    pid_t child[3];
    double begin;
    uint32_t *word;

    CHECK(join(posix, new_name(name), 4096, &m) == 0 && back(posix, &m, 0, 8) == 0);
    word = m.base;
    begin = seconds();
    for (int i = 0; i < 3; i++)
        child[i] = start(sleep_once, &m);
    while (__atomic_load_n(&word[1], __ATOMIC_ACQUIRE) < 3 && seconds() - begin < 15)
        usleep(500);
    usleep(50000); /* by now all three sleep */
    __atomic_store_n(&word[0], 1, __ATOMIC_RELEASE);
    wake(posix, &word[0]);
    for (int i = 0; i < 3; i++)
        CHECK(status_of(child[i]) == 0);
    forget(posix, &m);
    leave(posix, &m);
}

static double time_of_wait(const struct cio_node_memory *mem, uint32_t word, uint32_t seen,
                           int usec)
{
    double begin = seconds();

    wait_on(mem, &word, seen, usec);
    wake(mem, &word);
    return seconds() - begin;
}

/* Somebody who is not woken sleeps as long as he said, and not if there is no reason to. */
static void test_wait_ends(const struct cio_node_memory *mem)
{
    double t = time_of_wait(mem, 5, 5, 30000);

    CHECK(t >= 0.029 && t < 20);
    t = time_of_wait(mem, 5, 5, 1100000);
    CHECK(t >= 1.09 && t < 20);
    CHECK(time_of_wait(mem, 5, 6, 30 * 1000000) < 20);
    CHECK(time_of_wait(mem, 5, 5, 0) < 20 && time_of_wait(mem, 5, 5, -1) < 20);
}

/*
 * In a child with a small /dev/shm of its own, never in the machine's: what does not fit must be
 * refused without using memory up, and what is backed already must not be.
 */
static int small_room(void *arg)
{
    struct cio_nodemem a = {0}, b = {0};
    char name[CIO_NODEMEM_NAME_MAX], other[CIO_NODEMEM_NAME_MAX];

    (void)arg;
    if (unshare(CLONE_NEWNS) < 0 || mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
        mount("tmpfs", "/dev/shm", "tmpfs", 0, "size=4m") < 0)
        return SKIPPED;
    CHECK(join(posix, new_name(name), GIB, &a) == 0);
    CHECK(join(posix, new_name(other), GIB, &b) == 0);
    CHECK(back(posix, &a, 0, GIB) == -ENOSPC && backed(&a) <= MIB);
    CHECK(back(posix, &a, 0, 5 * MIB) == -ENOSPC && backed(&a) <= 2 * MIB);
    CHECK(back(posix, &a, 0, 3 * MIB) == 0 && backed(&a) == 3 * MIB);
    CHECK(back(posix, &a, 0, 3 * MIB) == 0 && backed(&a) == 3 * MIB);
    CHECK(back(posix, &b, 0, 2 * MIB) == -ENOSPC && backed(&b) <= MIB);
    memset(a.base, 1, 3 * (size_t)MIB);
    forget(posix, &a);
    leave(posix, &a);
    CHECK(back(posix, &b, 0, 4 * MIB) == 0 && backed(&b) == 4 * MIB);
    CHECK(back(posix, &b, 0, 4 * MIB) == 0 && back(posix, &b, MIB, 2 * MIB) == 0);
    CHECK(back(posix, &b, 4 * MIB, 4 * MIB + 1) == -ENOSPC);
    CHECK(back(posix, &b, 0, 4 * MIB + 1) == -ENOSPC && backed(&b) == 4 * MIB);
    CHECK(zeroed(&b, 0, 4 * MIB));
    leave(posix, &b);
    forget(posix, &b);
    CHECK(names_in_shm() == 0);
    return 0;
}

/* A join that fails half-way leaves no name behind, and no signal kills who tries. */
static int small_files(void *arg)
{
    struct rlimit limit = {2 << 20, 2 << 20};
    struct cio_nodemem first = {0}, m = {0};
    char name[CIO_NODEMEM_NAME_MAX], other[CIO_NODEMEM_NAME_MAX];
    int files = open_files();

    (void)arg;
    CHECK(join(posix, new_name(name), 8 * MIB, &first) == 0);
    if (setrlimit(RLIMIT_FSIZE, &limit) < 0)
        return SKIPPED;
    CHECK(join(posix, new_name(other), 8 * MIB, &m) == -EFBIG && m.base == NULL);
    CHECK(names_in_shm() == 1);
    CHECK(join(posix, other, 2 * MIB, &m) == 0);
    forget(posix, &m);
    leave(posix, &m);
    CHECK(join(posix, name, 8 * MIB, &m) == 0 && back(posix, &m, 7 * MIB, 8 * MIB) == 0);
    forget(posix, &m);
    leave(posix, &m);
    leave(posix, &first);
    CHECK(names_in_shm() == 0 && open_files() == files);
    return 0;
}

/* Who made the name removes it if he fails; who found it does not. */
static void test_failed_join(void)
{
    struct cio_nodemem m = {0};
    char name[CIO_NODEMEM_NAME_MAX];
    int files = open_files(), fd;

    faults.ftruncate_error = EPERM;
    CHECK(join(posix, new_name(name), 4096, &m) == -EPERM && m.base == NULL);
    CHECK(names_in_shm() == 0 && open_files() == files);
    fd = shm_open(name, O_RDWR | O_CREAT, 0600);
    CHECK(fd >= 0 && close(fd) == 0);
    CHECK(join(posix, name, 4096, &m) == -EPERM && m.base == NULL);
    CHECK(names_in_shm() == 1 && open_files() == files);
    faults.ftruncate_error = 0;
    CHECK(join(posix, name, (int64_t)1 << 60, &m) == -ENOMEM && m.base == NULL);
    CHECK(names_in_shm() == 1 && open_files() == files);
    shm_unlink(name);
}

/* Somebody came first, but has not given it its size yet. */
static void test_found_empty(void)
{
    struct cio_nodemem m = {0};
    char name[CIO_NODEMEM_NAME_MAX];
    int fd = shm_open(new_name(name), O_RDWR | O_CREAT, 0600);

    CHECK(fd >= 0 && join(posix, name, 4096, &m) == 0);
    CHECK(ftruncate(fd, 4096) == 0 && close(fd) == 0);
    CHECK(back(posix, &m, 0, 4096) == 0 && zeroed(&m, 0, 4096));
    forget(posix, &m);
    leave(posix, &m);
}

/* Another user's file, which only root can make for a test. */
static int wrong_owner(void *arg)
{
    struct cio_nodemem m = {0};
    char name[CIO_NODEMEM_NAME_MAX];
    int fd = shm_open(new_name(name), O_RDWR | O_CREAT, 0600), chowned, files;

    (void)arg;
    chowned = fchown(fd, geteuid() + 1, (gid_t)-1) == 0;
    close(fd);
    files = open_files();
    if (chowned) {
        CHECK(join(posix, name, 4096, &m) == -EACCES && m.base == NULL);
        CHECK(names_in_shm() == 1 && open_files() == files);
    }
    shm_unlink(name);
    return chowned ? 0 : SKIPPED;
}

/* Interrupted calls are made again, and none is for so much that it could not be finished. */
static void test_retries(void)
{
    struct cio_nodemem m = {0};
    char name[CIO_NODEMEM_NAME_MAX];

    faults.ftruncate_interrupts = 3;
    CHECK(join(posix, new_name(name), 8 * MIB, &m) == 0);
    CHECK(faults.ftruncate_interrupts == 0);
    faults.fallocate_interrupts = 5;
    faults.fallocate_calls = 0;
    faults.fallocate_longest = 0;
    CHECK(back(posix, &m, MIB / 2, 4 * MIB) == 0 && backed(&m) == 4 * MIB - MIB / 2);
    CHECK(faults.fallocate_interrupts == 0 && faults.fallocate_calls == 4 + 5);
    CHECK(faults.fallocate_longest <= MIB);
    forget(posix, &m);
    leave(posix, &m);
}

static void on_alarm(int sig)
{
    (void)sig;
}

/* A timer that ticks faster than a large segment can be backed. */
static int interrupted(void *arg)
{
    struct sigaction act = {.sa_handler = on_alarm};
    struct itimerval tick = {{0, 1000}, {0, 1000}}, off = {0};
    struct cio_nodemem m = {0};
    char name[CIO_NODEMEM_NAME_MAX];
    int rc;

    (void)arg;
    CHECK(sigaction(SIGALRM, &act, NULL) == 0);
    CHECK(setitimer(ITIMER_REAL, &tick, NULL) == 0);
    CHECK(join(posix, new_name(name), 64 * MIB, &m) == 0);
    rc = back(posix, &m, 0, 64 * MIB);
    CHECK(rc == 0 || rc == -ENOSPC);
    wait_on(posix, m.base, 0, 5000);
    forget(posix, &m);
    leave(posix, &m);
    CHECK(setitimer(ITIMER_REAL, &off, NULL) == 0);
    CHECK(names_in_shm() == 0);
    return 0;
}

/* A core dump must not back what is only reserved, so the mapping asks to be left out ("dd"). */
static void test_not_dumped(void)
{
    FILE *smaps = fopen("/proc/self/smaps", "r");
    char name[CIO_NODEMEM_NAME_MAX], line[512];
    struct cio_nodemem m = {0};
    int here = 0, found = 0;

    CHECK(join(posix, new_name(name), GIB, &m) == 0);
    while (smaps != NULL && fgets(line, sizeof(line), smaps) != NULL) {
        if (strstr(line, name) != NULL)
            here = 1;
        if (here && strncmp(line, "VmFlags:", 8) == 0) {
            found = strstr(line, " dd") != NULL;
            break;
        }
    }
    CHECK(smaps == NULL || found);
    if (smaps != NULL)
        fclose(smaps);
    forget(posix, &m);
    leave(posix, &m);
}

/* Whoever joins has the memory to itself, whatever the name. */
static void test_own(void)
{
    const struct cio_node_memory *mem = &cio_nodemem_own;
    struct cio_nodemem a = {0}, b = {0}, c = {0};
    int files = open_files();
    void *base;

    CHECK(join(mem, "/x", 64 * GIB, &a) == 0 && a.size == 64 * GIB);
    CHECK(join(mem, "/x", 4096, &b) == 0 && b.base != a.base);
    CHECK(join(mem, "/x", 0, &c) == -EINVAL && join(mem, "/x", -1, &c) == -EINVAL);
    CHECK(join(mem, "/x", (int64_t)1 << 60, &c) == -ENOMEM && c.base == NULL);
    CHECK(back(mem, &a, 32 * GIB, 32 * GIB + MIB) == 0 && back(mem, &b, 0, 4096) == 0);
    CHECK(zeroed(&a, 32 * GIB, 32 * GIB + MIB) && zeroed(&b, 0, 4096));
    strcpy((char *)a.base + 32 * GIB, "written");
    CHECK(zeroed(&b, 0, 4096) && strcmp((char *)a.base + 32 * GIB, "written") == 0);
    forget(mem, &a);
    CHECK(a.base != NULL && strcmp((char *)a.base + 32 * GIB, "written") == 0);
    base = a.base;
    leave(mem, &a);
    CHECK(!present(base));
    leave(mem, &a);
    leave(mem, &b);
    leave(mem, &c);
    CHECK(a.base == NULL && b.base == NULL && open_files() == files);
    test_wait_ends(mem);
}

static void test_none(void)
{
    const struct cio_node_memory *mem = &cio_nodemem_none;
    struct cio_nodemem m = {0};
    uint32_t word = 5;

    CHECK(join(mem, "/x", 1, &m) == -ENOTSUP && m.base == NULL);
    CHECK(back(mem, &m, 0, 1) == -ENOTSUP);
    forget(mem, &m);
    leave(mem, &m);
    wake(mem, &word);
    CHECK(time_of_wait(mem, 5, 5, 30 * 1000000) < 20); /* a nap, since nobody would wake it */
    CHECK(time_of_wait(mem, 5, 5, 1000) >= 0.0001);
    CHECK(time_of_wait(mem, 5, 6, 30 * 1000000) < 20);
}

/* Failures on demand: joins and backs count alike. */
static void test_loop_fails(struct cio_nodemem_loop *loop)
{
    struct cio_node_memory mem = cio_nodemem_loop_port(loop);
    struct cio_nodemem a = {0}, b = {0};

    cio_nodemem_loop_fail(loop, 1, -ENOSPC);
    CHECK(join(&mem, "/a", 10, &a) == 0);
    CHECK(join(&mem, "/a", 10, &b) == -ENOSPC && b.base == NULL);
    CHECK(join(&mem, "/a", 10, &b) == 0 && b.base == a.base);
    cio_nodemem_loop_fail(loop, 2, -EIO);
    CHECK(back(&mem, &a, 0, 10) == 0 && back(&mem, &b, 0, 10) == 0);
    CHECK(back(&mem, &a, 0, 10) == -EIO && back(&mem, &a, 0, 10) == 0);
    cio_nodemem_loop_fail(loop, 1, -EIO);
    CHECK(join(&mem, "/a", 11, &a) == -EINVAL); /* not a success, so it does not count */
    CHECK(back(&mem, &a, 0, 10) == 0 && back(&mem, &a, 0, 10) == -EIO);
    CHECK(cio_nodemem_loop_mapped(loop) == 1 && cio_nodemem_loop_linked(loop) == 1);
    forget(&mem, &a);
    CHECK(cio_nodemem_loop_mapped(loop) == 1 && cio_nodemem_loop_linked(loop) == 0);
    leave(&mem, &a);
    CHECK(cio_nodemem_loop_mapped(loop) == 1);
    leave(&mem, &b);
    CHECK(cio_nodemem_loop_mapped(loop) == 0);
    cio_nodemem_loop_fail(loop, 0, -ENOMEM);
    CHECK(join(&mem, "/a", 10, &a) == -ENOMEM && cio_nodemem_loop_linked(loop) == 0);
}

/* A rank that left must not let go of a later segment, though it may lie at the same address. */
static void test_loop_address_again(struct cio_nodemem_loop *loop)
{
    struct cio_node_memory mem = cio_nodemem_loop_port(loop);
    struct cio_nodemem a = {0}, stale, b = {0};

    CHECK(join(&mem, "/a", MIB, &a) == 0);
    stale = a;
    forget(&mem, &a);
    CHECK(present(stale.base));
    leave(&mem, &a);
    CHECK(!present(stale.base));
    CHECK(join(&mem, "/b", MIB, &b) == 0);
    stale.base = b.base;
    leave(&mem, &stale);
    CHECK(cio_nodemem_loop_mapped(loop) == 1);
    leave(&mem, &b);
    CHECK(cio_nodemem_loop_mapped(loop) == 0 && cio_nodemem_loop_linked(loop) == 1);
    forget(&mem, &b);
    CHECK(cio_nodemem_loop_linked(loop) == 0);
}

static void test_loop(void)
{
    struct cio_nodemem_loop *loop;
    struct cio_node_memory mem;
    struct cio_nodemem a;

    CHECK(cio_nodemem_loop_create(&loop) == 0);
    mem = cio_nodemem_loop_port(loop);
    test_segments(&mem);
    test_name_again(&mem);
    test_refused(&mem);
    test_long_name(&mem);
    CHECK(cio_nodemem_loop_mapped(loop) == 0 && cio_nodemem_loop_linked(loop) == 0);
    test_loop_fails(loop);
    test_loop_address_again(loop);
    CHECK(time_of_wait(&mem, 5, 5, 30 * 1000000) < 20);
    CHECK(join(&mem, "/large", 64 * GIB, &a) == 0);
    ((char *)a.base)[64 * GIB - 1] = 'x'; /* and left to the registry */
    cio_nodemem_loop_destroy(loop);
    cio_nodemem_loop_destroy(NULL);
}

static int limited_addresses(void *arg)
{
    struct rlimit limit;
    char text[64] = "";
    FILE *statm = fopen("/proc/self/statm", "r");
    int64_t room;
    void *mapped;

    (void)arg;
    if (statm == NULL || fgets(text, sizeof(text), statm) == NULL)
        return SKIPPED;
    fclose(statm);
    getrlimit(RLIMIT_AS, &limit);
    if (limit.rlim_cur == RLIM_INFINITY)
        CHECK(cio_address_room() == INT64_MAX);
    limit.rlim_cur = (rlim_t)(strtoll(text, NULL, 10) * sysconf(_SC_PAGESIZE) + GIB);
    if (setrlimit(RLIMIT_AS, &limit) < 0)
        return SKIPPED;
    room = cio_address_room();
    CHECK(room > GIB - 64 * MIB && room < GIB + 64 * MIB);
    mapped = mmap(NULL, (size_t)GIB / 2, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(mapped != MAP_FAILED);
    CHECK(room - cio_address_room() >= GIB / 2 && cio_address_room() > 0);
    return 0;
}

int main(void)
{
    test_nothing_left();
    test_mode();
    test_backing();
    test_backed_again();
    test_between_processes();
    test_race();
    test_name_comes_and_goes();
    test_wake();
    test_wake_all();
    test_wait_ends(posix);
    test_failed_join();
    test_found_empty();
    test_retries();
    test_not_dumped();
    in_child("small room", small_room);
    in_child("small files", small_files);
    in_child("wrong owner", wrong_owner);
    in_child("interrupted", interrupted);
    in_child("limited addresses", limited_addresses);
    test_own();
    test_none();
    test_loop();
    CHECK(names_in_shm() == 0);
    return check_done("test_nodemem");
}
