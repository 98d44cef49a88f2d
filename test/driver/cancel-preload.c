/*
 * To be preloaded: the third write of 4096 bytes or more to a regular file fails with ECANCELED, as
 * a file system in user space may let it.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

static ssize_t write_or_fail(int fd, const void *buf, size_t n, off_t off)
{
    static int writes;
    ssize_t (*real)(int, const void *, size_t, off_t) = dlsym(RTLD_NEXT, "pwrite64");
    struct stat st;

    if (n >= 4096 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode) &&
        __atomic_add_fetch(&writes, 1, __ATOMIC_RELAXED) == 3) {
        errno = ECANCELED;
        return -1;
    }
    return real(fd, buf, n, off);
}

ssize_t pwrite(int fd, const void *buf, size_t n, off_t off)
{
    return write_or_fail(fd, buf, n, off);
}

ssize_t pwrite64(int fd, const void *buf, size_t n, off_t off)
{
    return write_or_fail(fd, buf, n, off);
}
