/*
 * A file behind a descriptor: the one pread/pwrite loop, and locks.
 *
 * Locks are of two kinds at once. Within the process they are ranges of a table (port/ranges.h).
 * Against other processes they are the system's, of the kind that ROMIO's (fcntl F_SETLKW) excludes
 * and is excluded by. Those of open files (F_OFD_SETLKW) also exclude ROMIO's in the same process,
 * and are not dropped when somebody closes another descriptor of the file. A child after fork()
 * shares the open file with its parent, and with it such locks: it takes classic ones.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1 /* statx, F_OFD_* */
#endif
#include "port/store.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "port/ranges.h"

#define TRANSFER_MAX ((int64_t)1 << 30) /* Linux moves no more than 0x7ffff000 bytes at once */

_Static_assert(sizeof(off_t) == sizeof(int64_t), "build with _FILE_OFFSET_BITS=64");

struct posix_store {
    struct cio_store store;
    int fd; /* -1: transfer functions only */
    pid_t pid;
    struct cio_file_id file;
    struct cio_posix_calls calls;
};

static struct posix_store *posix_of(struct cio_store *s)
{
    return (struct posix_store *)s;
}

static int64_t system_pwrite(void *self, const void *buf, size_t len, int64_t off)
{
    return pwrite(*(const int *)self, buf, len, off);
}

static int64_t system_pread(void *self, void *buf, size_t len, int64_t off)
{
    return pread(*(const int *)self, buf, len, off);
}

static size_t at_once(int64_t len)
{
    return (size_t)(len < TRANSFER_MAX ? len : TRANSFER_MAX);
}

static int posix_write(struct cio_store *s, const void *buf, int64_t len, int64_t off)
{
    const struct cio_posix_calls *calls = &posix_of(s)->calls;
    const char *from = buf;

    while (len > 0) {
        int64_t n = calls->pwrite(calls->self, from, at_once(len), off);

        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return n < 0 ? -errno : -EIO;
        from += n;
        off += n;
        len -= n;
    }
    return 0;
}

static int posix_read(struct cio_store *s, void *buf, int64_t len, int64_t off)
{
    const struct cio_posix_calls *calls = &posix_of(s)->calls;
    char *to = buf;

    while (len > 0) {
        int64_t n = calls->pread(calls->self, to, at_once(len), off);

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return -errno;
        if (n == 0)
            break;
        to += n;
        off += n;
        len -= n;
    }
    if (len > 0)
        memset(to, 0, (size_t)len);
    return 0;
}

/* Locks. */

enum { CLASSIC, OPEN_FILE };

#ifdef F_OFD_SETLKW
static const int commands[2][2] = {{F_SETLK, F_SETLKW}, {F_OFD_SETLK, F_OFD_SETLKW}};
#else
static const int commands[2][2] = {{F_SETLK, F_SETLKW}, {F_SETLK, F_SETLKW}};
#endif

static int usual_mode(const struct posix_store *p)
{
#ifdef F_OFD_SETLKW
    return p->pid == getpid() ? OPEN_FILE : CLASSIC;
#else
    (void)p;
    return CLASSIC;
#endif
}

static int set_lock(const struct posix_store *p, short type, const struct cio_range *r, int wait)
{
    struct flock lock = {
        .l_type = type, .l_whence = SEEK_SET, .l_start = r->off, .l_len = r->end - r->off};
    int rc;

    do {
        rc = fcntl(p->fd, commands[r->mode][wait], &lock);
    } while (rc < 0 && errno == EINTR);
    return rc < 0 ? -errno : 0;
}

static int unsupported(int rc)
{
    return rc == -EINVAL || rc == -ENOSYS || rc == -EOPNOTSUPP || rc == -ENOTSUP;
}

/*
 * The system looks for circles by process. It sees some where different threads of a process hold
 * and wait; but here who waits holds nothing, so it will be over in a moment.
 */
static int lock_outside(const struct posix_store *p, struct cio_range *r, int wait)
{
    const struct timespec moment = {0, 1000000};
    int rc;

    r->mode = usual_mode(p);
    rc = set_lock(p, F_WRLCK, r, wait);
    if (r->mode == OPEN_FILE && unsupported(rc)) {
        r->mode = CLASSIC;
        rc = set_lock(p, F_WRLCK, r, wait);
    }
    while (wait && rc == -EDEADLK) {
        nanosleep(&moment, NULL);
        rc = set_lock(p, F_WRLCK, r, wait);
    }
    return !wait && (rc == -EAGAIN || rc == -EACCES) ? -EDEADLK : rc;
}

/* An empty range is left alone: to fcntl, length 0 means up to the end of the file. */
static int posix_lock(struct cio_store *s, int64_t off, int64_t len)
{
    const struct posix_store *p = posix_of(s);
    struct cio_range *r;
    int rc, alone;

    if (p->fd < 0)
        return -ENOTSUP;
    if (len == 0)
        return 0;
    rc = cio_range_take(p->file, off, len, &alone, &r);
    if (rc < 0)
        return rc;
    rc = lock_outside(p, r, alone);
    if (rc < 0)
        cio_range_give(r);
    return rc == -ENOLCK || rc == -EOPNOTSUPP || rc == -ENOSYS ? -ENOTSUP : rc;
}

static void posix_unlock(struct cio_store *s, int64_t off, int64_t len)
{
    const struct posix_store *p = posix_of(s);
    struct cio_range *r = cio_range_find(p->file, off, len);

    if (r == NULL)
        return;
    set_lock(p, F_UNLCK, r, 0);
    cio_range_give(r);
}

static int64_t posix_size(struct cio_store *s)
{
    struct stat st;

    return posix_of(s)->fd >= 0 && fstat(posix_of(s)->fd, &st) == 0 ? st.st_size : -1;
}

static void posix_destroy(struct cio_store *s)
{
    free(posix_of(s));
}

static const struct cio_store_ops posix_ops = {
    .write = posix_write,
    .read = posix_read,
    .lock = posix_lock,
    .unlock = posix_unlock,
    .size = posix_size,
    .destroy = posix_destroy,
};

/* What file it is, as far as that is known here: a file system in the network is not asked. */
static int identify(int fd, struct cio_file_id *file)
{
#ifdef STATX_INO
    struct statx x;

    if (statx(fd, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX_INO, &x) == 0) {
        *file = (struct cio_file_id){(uint64_t)x.stx_dev_major << 32 | x.stx_dev_minor, x.stx_ino};
        return 0;
    }
#endif
    struct stat st;

    if (fstat(fd, &st) < 0)
        return -errno;
    *file = (struct cio_file_id){(uint64_t)st.st_dev, st.st_ino};
    return 0;
}

static struct posix_store *store_new(int fd, struct cio_posix_calls calls)
{
    struct posix_store *p = malloc(sizeof(*p));

    if (p == NULL)
        return NULL;
    *p = (struct posix_store){
        {&posix_ops, NULL}, fd, getpid(), {CIO_FILE_NONE, (uintptr_t)p}, calls};
    if (calls.pwrite == NULL)
        p->calls.pwrite = system_pwrite;
    if (calls.pread == NULL)
        p->calls.pread = system_pread;
    return p;
}

int cio_store_posix_create(int fd, struct cio_store **out)
{
    struct posix_store *p = store_new(fd, (struct cio_posix_calls){0});

    if (p == NULL)
        return -ENOMEM;
    p->calls.self = &p->fd;
    identify(fd, &p->file);
    *out = &p->store;
    return 0;
}

int cio_store_calls_create(const struct cio_posix_calls *calls, struct cio_store **out)
{
    struct posix_store *p = store_new(-1, *calls);

    if (p == NULL)
        return -ENOMEM;
    *out = &p->store;
    return 0;
}
