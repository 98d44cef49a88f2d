/*
 * A file behind a descriptor: the one pread/pwrite loop.
 *
 * Locks are those of ROMIO (fcntl F_SETLKW), so that they keep off its data sieving and that of any
 * other process. They belong to the process: closing another descriptor of the same file drops
 * them, which is no worse than what ROMIO lives with.
 */
#include "port/store.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define TRANSFER_MAX ((int64_t)1 << 30) /* Linux moves no more than 0x7ffff000 bytes at once */

_Static_assert(sizeof(off_t) == sizeof(int64_t), "build with _FILE_OFFSET_BITS=64");

struct posix_store {
    struct cio_store store;
    int fd; /* -1: transfer functions only */
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

/* An empty range is left alone: to fcntl, length 0 means up to the end of the file. */
static int set_lock(struct cio_store *s, short type, int64_t off, int64_t len)
{
    struct flock lock = {.l_type = type, .l_whence = SEEK_SET, .l_start = off, .l_len = len};
    int rc;

    if (len <= 0)
        return 0;
    do {
        rc = fcntl(posix_of(s)->fd, F_SETLKW, &lock);
    } while (rc < 0 && errno == EINTR);
    return rc < 0 ? -errno : 0;
}

static int posix_lock(struct cio_store *s, int64_t off, int64_t len)
{
    int rc = posix_of(s)->fd < 0 ? -ENOTSUP : set_lock(s, F_WRLCK, off, len);

    return rc == -ENOLCK || rc == -EOPNOTSUPP || rc == -ENOSYS ? -ENOTSUP : rc;
}

static void posix_unlock(struct cio_store *s, int64_t off, int64_t len)
{
    set_lock(s, F_UNLCK, off, len);
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

static struct posix_store *store_new(int fd, struct cio_posix_calls calls)
{
    struct posix_store *p = malloc(sizeof(*p));

    if (p == NULL)
        return NULL;
    *p = (struct posix_store){{&posix_ops, NULL}, fd, calls};
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
