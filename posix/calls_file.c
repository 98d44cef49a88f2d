/*
 * Programs' calls that open, close and copy descriptors, and those on the file behind one. What
 * the system does itself with a file's data (locks, mappings, copies) passes the file through.
 */
#include "real.h"

#include <errno.h>
#include <limits.h>
#include <stdarg.h>

#include "calls.h"
#include "export.h"
#include "hooks.h"
#include "job.h"
#include "store.h"
#include "table.h"

/* Opening and closing. */

static int has_mode(int flags)
{
    return flags & O_CREAT || (flags & O_TMPFILE) == O_TMPFILE;
}

EXPORT int open(const char *name, int flags, ...)
{
    mode_t mode = 0;
    va_list args;

    va_start(args, flags);
    if (has_mode(flags))
        mode = va_arg(args, mode_t);
    va_end(args);
    return table_open(AT_FDCWD, name, flags, mode, CALLER);
}

EXPORT int openat(int dir, const char *name, int flags, ...)
{
    mode_t mode = 0;
    va_list args;

    va_start(args, flags);
    if (has_mode(flags))
        mode = va_arg(args, mode_t);
    va_end(args);
    return table_open(dir, name, flags, mode, CALLER);
}

EXPORT int creat(const char *name, mode_t mode)
{
    return table_open(AT_FDCWD, name, O_WRONLY | O_CREAT | O_TRUNC, mode, CALLER);
}

EXPORT int __open_2(const char *name, int flags)
{
    return table_open(AT_FDCWD, name, flags, 0, CALLER);
}

EXPORT int __openat_2(int dir, const char *name, int flags)
{
    return table_open(dir, name, flags, 0, CALLER);
}

SAME_AS(open) int open64(const char *name, int flags, ...);
SAME_AS(openat) int openat64(int dir, const char *name, int flags, ...);
SAME_AS(creat) int creat64(const char *name, mode_t mode);
SAME_AS(__open_2) int __open64_2(const char *name, int flags);
SAME_AS(__openat_2) int __openat64_2(int dir, const char *name, int flags);

/* The descriptor is closed also if its data could not be written, as close(2) has it. */
EXPORT int close(int fd)
{
    struct handle *h = table_enter(fd);
    int rc, closed;

    if (h == NULL && path_store_owns(fd)) {
        errno = EBADF;
        return -1;
    }
    if (h == NULL)
        return real()->close(fd);
    rc = table_release(fd);
    closed = real()->close(fd);
    return (int)table_leave(closed < 0 ? -errno : rc);
}

static void release_range(unsigned first, unsigned last)
{
    for (unsigned fd = first; fd <= last && fd < TABLE_DESCRIPTORS; fd++)
        if (table_find((int)fd) != NULL)
            close((int)fd);
}

EXPORT int close_range(unsigned first, unsigned last, int flags)
{
    if (!(flags & CLOSE_RANGE_CLOEXEC))
        release_range(first, last);
    return real()->close_range(first, last, flags);
}

EXPORT void closefrom(int first)
{
    release_range(first > 0 ? (unsigned)first : 0, ~0u);
    real()->closefrom(first);
}

/* Copies. */

static int share(int fd, int copy)
{
    if (copy >= 0)
        table_share(fd, copy);
    return copy;
}

EXPORT int dup(int fd)
{
    struct handle *h = table_enter(fd);
    int copy;

    if (h == NULL)
        return real()->dup(fd);
    copy = share(fd, real()->dup(fd));
    return (int)table_leave(copy < 0 ? -errno : copy);
}

static int call_dup(int fd, int copy, int flags)
{
    return flags < 0 ? real()->dup2(fd, copy) : real()->dup3(fd, copy, flags);
}

/* What the copy's number was of before is closed by it. */
static int duplicate(int fd, int copy, int flags)
{
    int rc;

    if (path_store_owns(copy)) {
        errno = EBUSY; /* which dup2 has for a number that is being opened */
        return -1;
    }
    if (fd == copy || (table_find(fd) == NULL && table_find(copy) == NULL) || !table_enter_any())
        return call_dup(fd, copy, flags);
    table_release(copy);
    rc = call_dup(fd, copy, flags);
    if (rc >= 0 && table_find(fd) != NULL)
        table_share(fd, copy);
    return (int)table_leave(rc < 0 ? -errno : rc);
}

EXPORT int dup2(int fd, int copy)
{
    return duplicate(fd, copy, -1);
}

EXPORT int dup3(int fd, int copy, int flags)
{
    return duplicate(fd, copy, flags);
}

/* fcntl */

static const char *why_fcntl(int command, long argument)
{
    switch (command) {
    case F_SETLK:
    case F_SETLKW:
    case F_GETLK:
    case F_OFD_SETLK:
    case F_OFD_SETLKW:
    case F_OFD_GETLK:
        return "it is locked with fcntl";
    case F_SETFL:
        return argument & (O_APPEND | O_DIRECT) ? "F_SETFL with O_APPEND or O_DIRECT" : NULL;
    default:
        return NULL;
    }
}

EXPORT int fcntl(int fd, int command, ...)
{
    struct handle *h = table_enter(fd);
    const char *why;
    long argument;
    va_list args;
    int rc = 0;

    va_start(args, command);
    argument = va_arg(args, long);
    va_end(args);
    if (h == NULL)
        return real()->fcntl(fd, command, argument);
    why = why_fcntl(command, argument);
    if (why != NULL)
        rc = table_pass(h->file, why);
    if (rc == 0 && (rc = real()->fcntl(fd, command, argument)) < 0)
        rc = -errno;
    if (rc >= 0 && (command == F_DUPFD || command == F_DUPFD_CLOEXEC))
        share(fd, rc);
    return (int)table_leave(rc);
}

SAME_AS(fcntl) int fcntl64(int fd, int command, ...);

/* What is left to read; libstdc++ asks. */
static int64_t bytes_left(const struct handle *h)
{
    int64_t size;
    int rc = cio_tcio_size(h->file->tcio, &size);

    if (rc < 0 || size <= h->position)
        return rc;
    return size - h->position < INT_MAX ? size - h->position : INT_MAX;
}

EXPORT int ioctl(int fd, unsigned long request, ...)
{
    struct handle *h = table_enter(fd);
    int64_t left;
    void *argument;
    va_list args;

    va_start(args, request);
    argument = va_arg(args, void *);
    va_end(args);
    if (h == NULL)
        return real()->ioctl(fd, request, argument);
    left = table_leave(request == FIONREAD ? bytes_left(h) : 0);
    if (request != FIONREAD)
        return real()->ioctl(fd, request, argument);
    if (left >= 0)
        *(int *)argument = (int)left;
    return left < 0 ? -1 : 0;
}

/* To the disk. */

EXPORT int fsync(int fd)
{
    struct handle *h = table_enter(fd);

    if (h != NULL && table_leave(file_sync(h->file)) < 0)
        return -1;
    return real()->fsync(fd);
}

EXPORT int fdatasync(int fd)
{
    struct handle *h = table_enter(fd);

    if (h != NULL && table_leave(file_sync(h->file)) < 0)
        return -1;
    return real()->fdatasync(fd);
}

/* As sync(2), these report nothing; fsync and close will. */
static void settle_all(void)
{
    if (!table_enter_any())
        return;
    for (struct file *f = file_first(); f != NULL; f = f->next)
        file_settle(f);
    table_leave(0);
}

EXPORT void sync(void)
{
    settle_all();
    real()->sync();
}

EXPORT int syncfs(int fd)
{
    settle_all();
    return real()->syncfs(fd);
}

/* Its size. */

struct truncation {
    int fd; /* or -1 */
    const char *name;
    int64_t length;
};

static int call_truncate(void *self)
{
    const struct truncation *t = self;
    int rc = t->fd < 0 ? real()->truncate(t->name, t->length) : real()->ftruncate(t->fd, t->length);

    return rc < 0 ? -errno : 0;
}

EXPORT int ftruncate(int fd, off_t length)
{
    struct handle *h = table_enter(fd);
    struct truncation t = {fd, NULL, length};

    if (h == NULL)
        return real()->ftruncate(fd, length);
    return (int)table_leave(file_truncate(h->file, call_truncate, &t, length));
}

EXPORT int truncate(const char *name, off_t length)
{
    struct truncation t = {-1, name, length};
    struct file *f;
    int rc;

    if (!table_enter_any())
        return real()->truncate(name, length);
    f = file_borrow(AT_FDCWD, name, 1);
    rc = f != NULL ? file_truncate(f, call_truncate, &t, length) : call_truncate(&t);
    if (f != NULL)
        file_return(f);
    return (int)table_leave(rc);
}

/* It may also make holes: what level 2 has is not the file any more. */
EXPORT int fallocate(int fd, int mode, off_t off, off_t len)
{
    struct handle *h = table_enter(fd);

    if (h != NULL && mode != 0 && table_leave(table_pass(h->file, "fallocate with a mode")) < 0)
        return -1;
    if (h == NULL || mode != 0)
        return real()->fallocate(fd, mode, off, len);
    if (table_leave(file_settle(h->file)) < 0)
        return -1;
    return real()->fallocate(fd, mode, off, len);
}

/* Its result is an errno. */
EXPORT int posix_fallocate(int fd, off_t off, off_t len)
{
    struct handle *h = table_enter(fd);

    if (h != NULL && table_leave(file_settle(h->file)) < 0)
        return errno;
    return real()->posix_fallocate(fd, off, len);
}

SAME_AS(ftruncate) int ftruncate64(int fd, off64_t length);
SAME_AS(truncate) int truncate64(const char *name, off64_t length);
SAME_AS(fallocate) int fallocate64(int fd, int mode, off64_t off, off64_t len);
SAME_AS(posix_fallocate) int posix_fallocate64(int fd, off64_t off, off64_t len);

/* What the system does with the data itself. */

/* 0, or -1 and errno: the file is not as the program has written it. */
static int pass(int fd, const char *why)
{
    struct handle *h = table_enter(fd);

    return h == NULL ? 0 : (int)table_leave(table_pass(h->file, why));
}

typedef void *map_function(void *, size_t, int, int, int, off_t);
static map_function *behind_mmap; /* who had overwritten ours, or NULL */

EXPORT HOOKS_BEGIN void *mmap(void *at, size_t len, int protection, int flags, int fd, off_t off)
{
    map_function *next = behind_mmap != NULL ? behind_mmap : real()->mmap;

    if (!(flags & MAP_ANONYMOUS) && pass(fd, "it is mapped") < 0)
        return MAP_FAILED;
    return next(at, len, protection, flags, fd, off);
}

void calls_begin(void)
{
    void *hook = hooks_take_out("mmap", (void *)mmap);

    if (hook != NULL)
        behind_mmap = (map_function *)hook;
}

EXPORT int flock(int fd, int operation)
{
    return pass(fd, "it is locked with flock") < 0 ? -1 : real()->flock(fd, operation);
}

EXPORT int lockf(int fd, int command, off_t len)
{
    return pass(fd, "it is locked with lockf") < 0 ? -1 : real()->lockf(fd, command, len);
}

EXPORT ssize_t sendfile(int to, int from, off_t *off, size_t len)
{
    if (pass(from, "sendfile") < 0 || pass(to, "sendfile") < 0)
        return -1;
    return real()->sendfile(to, from, off, len);
}

EXPORT ssize_t copy_file_range(int from, off64_t *from_off, int to, off64_t *to_off, size_t len,
                               unsigned flags)
{
    if (pass(from, "copy_file_range") < 0 || pass(to, "copy_file_range") < 0)
        return -1;
    return real()->copy_file_range(from, from_off, to, to_off, len, flags);
}

EXPORT ssize_t splice(int from, off64_t *from_off, int to, off64_t *to_off, size_t len,
                      unsigned flags)
{
    if (pass(from, "splice") < 0 || pass(to, "splice") < 0)
        return -1;
    return real()->splice(from, from_off, to, to_off, len, flags);
}

EXPORT int aio_read(struct aiocb *request)
{
    return pass(request->aio_fildes, "aio_read") < 0 ? -1 : real()->aio_read(request);
}

EXPORT int aio_write(struct aiocb *request)
{
    return pass(request->aio_fildes, "aio_write") < 0 ? -1 : real()->aio_write(request);
}

static void pass_list(struct aiocb *const *list, int n)
{
    for (int i = 0; i < n; i++)
        if (list[i] != NULL)
            pass(list[i]->aio_fildes, "lio_listio");
}

EXPORT int lio_listio(int mode, struct aiocb *const list[], int n, struct sigevent *event)
{
    pass_list(list, n);
    return real()->lio_listio(mode, list, n, event);
}

SAME_AS(mmap) void *mmap64(void *at, size_t len, int protection, int flags, int fd, off64_t off);
SAME_AS(lockf) int lockf64(int fd, int command, off64_t len);
SAME_AS(sendfile) ssize_t sendfile64(int to, int from, off64_t *off, size_t len);
EXPORT int aio_read64(struct aiocb64 *) __attribute__((alias("aio_read")));
EXPORT int aio_write64(struct aiocb64 *) __attribute__((alias("aio_write")));
EXPORT int lio_listio64(int, struct aiocb64 *const[], int, struct sigevent *)
    __attribute__((alias("lio_listio")));
