/*
 * Programs' calls that ask about a file, or take its name away. The file may be open here, or only
 * in other processes.
 */
#include "real.h"

#include <errno.h>

#include "export.h"
#include "table.h"

#define UNKNOWN (-1) /* the system's size is right */

static int64_t size_of(struct file *f)
{
    int64_t size;
    int rc = cio_tcio_size(f->tcio, &size);

    return rc < 0 ? UNKNOWN : size;
}

static int64_t size_by_name(int dir, const char *name, int follow)
{
    int64_t size = UNKNOWN;
    int error = errno;
    struct file *f;

    if (!table_enter_any())
        return size;
    f = file_borrow(dir, name, follow);
    if (f != NULL) {
        size = size_of(f);
        file_return(f);
    }
    table_leave(0);
    errno = error;
    return size;
}

static int64_t size_by_descriptor(int fd)
{
    struct handle *h = table_enter(fd);
    int error = errno;
    int64_t size;

    if (h == NULL)
        return UNKNOWN;
    size = size_of(h->file);
    table_leave(0);
    errno = error;
    return size;
}

/* `flags` are those of fstatat. */
static int64_t size_with_flags(int dir, const char *name, int flags)
{
    if (name != NULL && *name != '\0')
        return size_by_name(dir, name, !(flags & AT_SYMLINK_NOFOLLOW));
    return flags & AT_EMPTY_PATH ? size_by_descriptor(dir) : UNKNOWN;
}

/* stat, also as programs of a C library before 2.33 call it. */

static int ask(int dir, const char *name, struct stat *st, int flags)
{
    int64_t size = size_with_flags(dir, name, flags);
    int rc = real_stat(dir, name, st, flags);

    if (rc == 0 && size != UNKNOWN)
        st->st_size = size;
    return rc;
}

EXPORT int stat(const char *name, struct stat *st)
{
    return ask(AT_FDCWD, name, st, 0);
}

EXPORT int lstat(const char *name, struct stat *st)
{
    return ask(AT_FDCWD, name, st, AT_SYMLINK_NOFOLLOW);
}

EXPORT int fstat(int fd, struct stat *st)
{
    return ask(fd, "", st, AT_EMPTY_PATH);
}

EXPORT int fstatat(int dir, const char *name, struct stat *st, int flags)
{
    return ask(dir, name, st, flags);
}

EXPORT int __xstat(int version, const char *name, struct stat *st)
{
    (void)version;
    return ask(AT_FDCWD, name, st, 0);
}

EXPORT int __lxstat(int version, const char *name, struct stat *st)
{
    (void)version;
    return ask(AT_FDCWD, name, st, AT_SYMLINK_NOFOLLOW);
}

EXPORT int __fxstat(int version, int fd, struct stat *st)
{
    (void)version;
    return ask(fd, "", st, AT_EMPTY_PATH);
}

EXPORT int __fxstatat(int version, int dir, const char *name, struct stat *st, int flags)
{
    (void)version;
    return ask(dir, name, st, flags);
}

/* struct stat64 is struct stat here (real.h). */
#define SAME_FOR_64(name, ...) EXPORT int name##64(__VA_ARGS__) __attribute__((alias(#name)))
SAME_FOR_64(stat, const char *, struct stat64 *);
SAME_FOR_64(lstat, const char *, struct stat64 *);
SAME_FOR_64(fstat, int, struct stat64 *);
SAME_FOR_64(fstatat, int, const char *, struct stat64 *, int);
SAME_FOR_64(__xstat, int, const char *, struct stat64 *);
SAME_FOR_64(__lxstat, int, const char *, struct stat64 *);
SAME_FOR_64(__fxstat, int, int, struct stat64 *);
SAME_FOR_64(__fxstatat, int, int, const char *, struct stat64 *, int);

#ifdef STATX_SIZE
EXPORT int statx(int dir, const char *name, int flags, unsigned mask, struct statx *st)
{
    int64_t size = mask & STATX_SIZE ? size_with_flags(dir, name, flags) : UNKNOWN;
    int rc = real()->statx(dir, name, flags, mask, st);

    if (rc == 0 && size != UNKNOWN)
        st->stx_size = (uint64_t)size;
    return rc;
}
#endif

/* The name goes: what is written later to the file that had it is the system's. */

static void part(int dir, const char *name)
{
    struct file *f;
    int error = errno;

    if (!table_enter_any())
        return;
    f = file_borrow(dir, name, 0);
    if (f != NULL && f->handles > 0) {
        table_pass(f, "it is renamed or removed while it is open");
    } else if (f != NULL) {
        file_settle(f);
        file_return(f);
    }
    table_leave(0);
    errno = error;
}

EXPORT int unlinkat(int dir, const char *name, int flags)
{
    if (!(flags & AT_REMOVEDIR))
        part(dir, name);
    return real()->unlinkat(dir, name, flags);
}

EXPORT int unlink(const char *name)
{
    part(AT_FDCWD, name);
    return real()->unlinkat(AT_FDCWD, name, 0);
}

EXPORT int remove(const char *name)
{
    part(AT_FDCWD, name);
    return real()->remove(name);
}

EXPORT int renameat(int dir, const char *from, int to_dir, const char *to)
{
    part(dir, from);
    part(to_dir, to);
    return real()->renameat(dir, from, to_dir, to);
}

EXPORT int rename(const char *from, const char *to)
{
    return renameat(AT_FDCWD, from, AT_FDCWD, to);
}

EXPORT int renameat2(int dir, const char *from, int to_dir, const char *to, unsigned flags)
{
    part(dir, from);
    part(to_dir, to);
    return real()->renameat2(dir, from, to_dir, to, flags);
}
