/*
 * POSIX shared memory, memory of one rank only, and none at all.
 *
 * Bytes are backed before they are used, since a page that cannot be had later is a SIGBUS. That
 * goes in steps, because on the tmpfs of older kernels an interrupted posix_fallocate starts over:
 * with a profiler's timer ticking, one call for a large range might never end. And since steps
 * would first use up the node's memory, what cannot fit is refused before the first of them, or,
 * as some of it may be backed already, after the first that takes memory.
 */
#include "port/nodemem.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <time.h>
#include <unistd.h>
#ifdef __linux__
#include <linux/futex.h>
#include <sys/syscall.h>
#endif

#define BACK_STEP ((int64_t)1 << 20)
#define OPEN_TRIES 100
#define SHM_FOLDER "/dev/shm" /* where shm_open puts them */

/* How long a nap may be where nobody can wake us. */
#define NAP_USEC 100

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* Waiting. */

static struct timespec microseconds(int usec)
{
    return (struct timespec){usec / 1000000, usec % 1000000 * 1000L};
}

static int changed(const uint32_t *word, uint32_t seen)
{
    return __atomic_load_n(word, __ATOMIC_ACQUIRE) != seen;
}

static void nap(void *self, const uint32_t *word, uint32_t seen, int usec)
{
    struct timespec t = microseconds(usec < NAP_USEC ? usec : NAP_USEC);

    (void)self;
    if (usec == 0)
        sched_yield();
    else if (usec > 0 && !changed(word, seen))
        nanosleep(&t, NULL);
}

static void wake_nobody(void *self, uint32_t *word)
{
    (void)self, (void)word;
}

#ifdef __linux__

/* Not the private kind of futex: those who sleep and wake are processes. */
static void sleep_on(void *self, const uint32_t *word, uint32_t seen, int usec)
{
    struct timespec t = microseconds(usec);

    (void)self;
    if (usec == 0)
        sched_yield();
    else if (usec > 0 && !changed(word, seen))
        syscall(SYS_futex, word, FUTEX_WAIT, seen, &t, NULL, 0);
}

static void wake_all(void *self, uint32_t *word)
{
    (void)self;
    syscall(SYS_futex, word, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}

#else
#define sleep_on nap
#define wake_all wake_nobody
#endif

/* POSIX shared memory. */

/* Opens the name, and tells whether this call made it. It may come and go meanwhile. */
static int open_name(const char *name, int *made)
{
    for (int i = 0; i < OPEN_TRIES; i++) {
        int fd = shm_open(name, O_RDWR | O_CREAT | O_EXCL, 0600);

        *made = fd >= 0;
        if (fd < 0 && errno == EEXIST)
            fd = shm_open(name, O_RDWR, 0);
        if (fd >= 0)
            return fd;
        if (errno != ENOENT && errno != EINTR)
            break;
    }
    return -errno;
}

/* Several ranks may do this at once, with the same size. Too large a file would be a SIGXFSZ. */
static int set_size(int fd, int64_t size)
{
    struct rlimit limit;
    int rc;

    if (getrlimit(RLIMIT_FSIZE, &limit) == 0 && (uint64_t)size > limit.rlim_cur)
        return -EFBIG;
    do {
        rc = ftruncate(fd, (off_t)size);
    } while (rc < 0 && errno == EINTR);
    return rc < 0 ? -errno : 0;
}

/* Another user's file is not to be trusted, and a shorter one would be a SIGBUS. */
static int check_file(int fd, int64_t size)
{
    struct stat st;

    if (fstat(fd, &st) < 0)
        return -errno;
    if (st.st_uid != geteuid())
        return -EACCES;
    if (st.st_size == 0)
        return set_size(fd, size);
    return st.st_size == size ? 0 : -EINVAL;
}

static int map(int fd, int64_t size, int flags, void **out)
{
    void *base = mmap(NULL, (size_t)size, PROT_READ | PROT_WRITE, flags | MAP_NORESERVE, fd, 0);

    if (base == MAP_FAILED)
        return -errno;
    *out = base;
    return 0;
}

/* A core dump would touch, and so back, every page of a segment that has no name any more. */
static int map_shared(int fd, int64_t size, void **out)
{
    int rc = map(fd, size, MAP_SHARED, out);

#ifdef MADV_DONTDUMP
    if (rc == 0)
        madvise(*out, (size_t)size, MADV_DONTDUMP);
#endif
    return rc;
}

static int posix_join(void *self, const char *name, int64_t size, struct cio_nodemem *m)
{
    struct cio_nodemem joined = {.size = size};
    int made, rc;

    (void)self;
    if (size <= 0)
        return -EINVAL;
    if (strlen(name) >= sizeof(joined.name))
        return -ENAMETOOLONG;
    strcpy(joined.name, name);
    joined.fd = open_name(name, &made);
    if (joined.fd < 0)
        return joined.fd;
    rc = check_file(joined.fd, size);
    if (rc < 0)
        goto undo_open;
    rc = map_shared(joined.fd, size, &joined.base);
    if (rc < 0)
        goto undo_open;
    *m = joined;
    return 0;

undo_open:
    close(joined.fd);
    if (made)
        shm_unlink(name);
    return rc;
}

/* Whether the file system has the room now. One without a limit says that it has no blocks. */
static int check_room(int fd, int64_t size)
{
    struct statvfs fs;

    if (fstatvfs(fd, &fs) < 0)
        return -errno;
    if (fs.f_blocks > 0 && ((uint64_t)size - 1) / fs.f_frsize >= fs.f_bavail)
        return -ENOSPC;
    return 0;
}

static int64_t blocks_of(int fd)
{
    struct stat st;

    return fstat(fd, &st) < 0 ? -1 : (int64_t)st.st_blocks;
}

/* One step. Where there is no room for all of `left`, it may only find what is backed already. */
static int back_step(int fd, int64_t off, int64_t left)
{
    int no_room = check_room(fd, left);
    int64_t blocks = no_room < 0 ? blocks_of(fd) : 0;
    int error;

    do {
        error = posix_fallocate(fd, (off_t)off, (off_t)least(left, BACK_STEP));
    } while (error == EINTR);
    if (error == 0 && no_room < 0 && blocks_of(fd) != blocks)
        return no_room;
    return -error;
}

/*
 * Maps the pages of a step for the caller, which will write there: all at once costs half of what a
 * fault for each of them does. It need not succeed.
 */
static void map_step(const struct cio_nodemem *m, int64_t off, int64_t end)
{
#ifdef MADV_POPULATE_WRITE
    int64_t len = least(end - off, BACK_STEP);

    madvise((char *)m->base + off, (size_t)len, MADV_POPULATE_WRITE);
#else
    (void)m;
    (void)off;
    (void)end;
#endif
}

/* The end is clipped, as a file that grew would be too long for those who join later. */
static int posix_back(void *self, struct cio_nodemem *m, int64_t from, int64_t to)
{
    int64_t page = sysconf(_SC_PAGESIZE);
    int64_t off = from > 0 ? from / page * page : 0, end = m->size;
    int rc = 0;

    (void)self;
    if (from >= to)
        return 0;
    if (to < end)
        end = least((to + page - 1) / page * page, end);
    for (; off < end && rc == 0; off += BACK_STEP) {
        rc = back_step(m->fd, off, end - off);
        if (rc == 0)
            map_step(m, off, end);
    }
    return rc;
}

static void posix_forget(void *self, struct cio_nodemem *m)
{
    (void)self;
    if (m->name[0] != '\0')
        shm_unlink(m->name);
    m->name[0] = '\0';
}

static void posix_leave(void *self, struct cio_nodemem *m)
{
    (void)self;
    if (m->base == NULL)
        return;
    munmap(m->base, (size_t)m->size);
    close(m->fd);
    m->base = NULL;
    m->size = 0;
    m->fd = -1;
}

static const struct cio_nodemem_ops posix_ops = {
    .join = posix_join,
    .back = posix_back,
    .forget = posix_forget,
    .leave = posix_leave,
    .wait = sleep_on,
    .wake = wake_all,
};

void cio_nodemem_posix_room(int64_t *size, int64_t *left)
{
    struct statvfs fs;

    *size = *left = INT64_MAX;
    if (statvfs(SHM_FOLDER, &fs) < 0 || fs.f_blocks == 0)
        return;
    *size = (int64_t)(fs.f_blocks * fs.f_frsize);
    *left = (int64_t)(fs.f_bavail * fs.f_frsize);
}

/* Pages that it has mapped: the first number there. */
static int64_t mapped_pages(void)
{
    char text[64] = "";
    int fd = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);

    if (fd < 0)
        return 0;
    if (read(fd, text, sizeof(text) - 1) < 0)
        text[0] = '\0';
    close(fd);
    return strtoll(text, NULL, 10);
}

int64_t cio_address_room(void)
{
    struct rlimit limit;
    int64_t mapped;

    if (getrlimit(RLIMIT_AS, &limit) < 0 || limit.rlim_cur > INT64_MAX)
        return INT64_MAX;
    mapped = mapped_pages() * sysconf(_SC_PAGESIZE);
    return (int64_t)limit.rlim_cur > mapped ? (int64_t)limit.rlim_cur - mapped : 0;
}

const struct cio_node_memory cio_nodemem_posix = {.ops = &posix_ops};

/* What needs nothing done. */

static int back_nothing(void *self, struct cio_nodemem *m, int64_t from, int64_t to)
{
    (void)self, (void)m, (void)from, (void)to;
    return 0;
}

static void release_nothing(void *self, struct cio_nodemem *m)
{
    (void)self, (void)m;
}

/* Memory of one rank only. */

static int own_join(void *self, const char *name, int64_t size, struct cio_nodemem *m)
{
    struct cio_nodemem joined = {.size = size, .fd = -1};
    int rc;

    (void)self, (void)name;
    if (size <= 0)
        return -EINVAL;
    rc = map(-1, size, MAP_PRIVATE | MAP_ANONYMOUS, &joined.base);
    if (rc == 0)
        *m = joined;
    return rc;
}

static void own_leave(void *self, struct cio_nodemem *m)
{
    (void)self;
    if (m->base != NULL)
        munmap(m->base, (size_t)m->size);
    m->base = NULL;
    m->size = 0;
}

static const struct cio_nodemem_ops own_ops = {
    .join = own_join,
    .back = back_nothing,
    .forget = release_nothing,
    .leave = own_leave,
    .wait = sleep_on,
    .wake = wake_all,
};

const struct cio_node_memory cio_nodemem_own = {.ops = &own_ops};

/* None at all. */

static int none_join(void *self, const char *name, int64_t size, struct cio_nodemem *m)
{
    (void)self, (void)name, (void)size, (void)m;
    return -ENOTSUP;
}

static int none_back(void *self, struct cio_nodemem *m, int64_t from, int64_t to)
{
    (void)self, (void)m, (void)from, (void)to;
    return -ENOTSUP;
}

static const struct cio_nodemem_ops none_ops = {
    .join = none_join,
    .back = none_back,
    .forget = release_nothing,
    .leave = release_nothing,
    .wait = nap,
    .wake = wake_nobody,
};

const struct cio_node_memory cio_nodemem_none = {.ops = &none_ops};
