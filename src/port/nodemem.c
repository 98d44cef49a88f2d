/*
 * POSIX shared memory, and none at all.
 *
 * The space is reserved when a segment is made, since a page that cannot be had later is a SIGBUS.
 * That goes in steps, because on the tmpfs of older kernels an interrupted posix_fallocate starts
 * over: with a profiler's timer ticking, one call for a large segment might never end. And since
 * steps would first use up the node's memory, what cannot fit is refused before the first of them.
 */
#include "port/nodemem.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <time.h>
#include <unistd.h>

#define RESERVE_STEP ((int64_t)1 << 20)
#define NAME_TRIES 100

/* Up to here all pages are mapped at once: a rank touches most of them, and each fault costs more. */
#define POPULATE_MAX ((int64_t)32 << 20)

/* Process, time, and an address of this process, which is random itself. */
static void choose_name(struct cio_nodemem *m)
{
    struct timespec t;

    clock_gettime(CLOCK_REALTIME, &t);
    snprintf(m->name, sizeof(m->name), "/tamio-%ld-%llx-%lx-%llx", (long)getpid(),
             (unsigned long long)t.tv_sec, (unsigned long)t.tv_nsec,
             (unsigned long long)(uintptr_t)m);
}

static int open_new(struct cio_nodemem *m)
{
    for (int i = 0; i < NAME_TRIES; i++) {
        int fd;

        choose_name(m);
        fd = shm_open(m->name, O_RDWR | O_CREAT | O_EXCL, 0600);
        if (fd >= 0)
            return fd;
        if (errno != EEXIST && errno != EINTR)
            return -errno;
    }
    return -EEXIST;
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

static int reserve(int fd, int64_t size)
{
    int error = -check_room(fd, size);

    for (int64_t off = 0; off < size && error == 0; off += RESERVE_STEP) {
        int64_t len = size - off < RESERVE_STEP ? size - off : RESERVE_STEP;

        do {
            error = posix_fallocate(fd, (off_t)off, (off_t)len);
        } while (error == EINTR);
    }
    return -error;
}

static int map(int fd, int64_t size, struct cio_nodemem *m)
{
    int populate = size <= POPULATE_MAX ? MAP_POPULATE : 0;
    void *base = mmap(NULL, (size_t)size, PROT_READ | PROT_WRITE, MAP_SHARED | populate, fd, 0);

    if (base == MAP_FAILED)
        return -errno;
    m->base = base;
    m->size = size;
    return 0;
}

static int posix_create(void *self, int64_t size, struct cio_nodemem *m)
{
    struct cio_nodemem made = {0};
    int fd, rc;

    (void)self;
    if (size <= 0)
        return -EINVAL;
    fd = open_new(&made);
    if (fd < 0)
        return fd;
    rc = reserve(fd, size);
    if (rc == 0)
        rc = map(fd, size, &made);
    close(fd);
    if (rc < 0)
        shm_unlink(made.name);
    else
        *m = made;
    return rc;
}

/* A segment shorter than promised would be a SIGBUS too. */
static int map_checked(int fd, int64_t size, struct cio_nodemem *m)
{
    struct stat st;

    if (fstat(fd, &st) < 0)
        return -errno;
    if (size <= 0 || st.st_size < size)
        return -EINVAL;
    return map(fd, size, m);
}

static int posix_attach(void *self, const char *name, int64_t size, struct cio_nodemem *m)
{
    struct cio_nodemem mapped = {0};
    int fd, rc;

    (void)self;
    do {
        fd = shm_open(name, O_RDWR, 0);
    } while (fd < 0 && errno == EINTR);
    if (fd < 0)
        return -errno;
    rc = map_checked(fd, size, &mapped);
    close(fd);
    if (rc == 0)
        *m = mapped;
    return rc;
}

static void posix_unlink(void *self, struct cio_nodemem *m)
{
    (void)self;
    if (m->name[0] != '\0')
        shm_unlink(m->name);
    m->name[0] = '\0';
}

static void posix_detach(void *self, struct cio_nodemem *m)
{
    posix_unlink(self, m);
    if (m->base != NULL)
        munmap(m->base, (size_t)m->size);
    m->base = NULL;
    m->size = 0;
}

static const struct cio_nodemem_ops posix_ops = {
    .create = posix_create,
    .attach = posix_attach,
    .unlink = posix_unlink,
    .detach = posix_detach,
};

const struct cio_node_memory cio_nodemem_posix = {.ops = &posix_ops};

static int none_create(void *self, int64_t size, struct cio_nodemem *m)
{
    (void)self, (void)size, (void)m;
    return -ENOTSUP;
}

static int none_attach(void *self, const char *name, int64_t size, struct cio_nodemem *m)
{
    (void)self, (void)name, (void)size, (void)m;
    return -ENOTSUP;
}

static void none_release(void *self, struct cio_nodemem *m)
{
    (void)self, (void)m;
}

static const struct cio_nodemem_ops none_ops = {
    .create = none_create,
    .attach = none_attach,
    .unlink = none_release,
    .detach = none_release,
};

const struct cio_node_memory cio_nodemem_none = {.ops = &none_ops};
