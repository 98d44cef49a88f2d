/*
 * To be preloaded: the third access of 4096 bytes or more to a regular file fails with ECANCELED,
 * as a file system in user space may let it. TEST_CANCELLED is the kind that does: write or read.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int is_cancelled(const char *kind, int fd, size_t n)
{
    static int calls;
    const char *wanted = getenv("TEST_CANCELLED");
    struct stat st;

    if (wanted == NULL || strcmp(wanted, kind) != 0 || n < 4096 || fstat(fd, &st) != 0 ||
        !S_ISREG(st.st_mode) || __atomic_add_fetch(&calls, 1, __ATOMIC_RELAXED) != 3)
        return 0;
    errno = ECANCELED;
    return 1;
}

ssize_t pwrite(int fd, const void *buf, size_t n, off_t off)
{
    ssize_t (*real)(int, const void *, size_t, off_t) = dlsym(RTLD_NEXT, "pwrite64");

    return is_cancelled("write", fd, n) ? -1 : real(fd, buf, n, off);
}

ssize_t pwrite64(int fd, const void *buf, size_t n, off_t off)
{
    return pwrite(fd, buf, n, off);
}

ssize_t pread(int fd, void *buf, size_t n, off_t off)
{
    ssize_t (*real)(int, void *, size_t, off_t) = dlsym(RTLD_NEXT, "pread64");

    return is_cancelled("read", fd, n) ? -1 : real(fd, buf, n, off);
}

ssize_t pread64(int fd, void *buf, size_t n, off_t off)
{
    return pread(fd, buf, n, off);
}
