/*
 * To be preloaded: on rank TEST_FULL no write of 4096 bytes or more to a regular file finds room,
 * as where one storage target of several is full.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int is_full(int fd, size_t n)
{
    const char *full = getenv("TEST_FULL"), *rank = getenv("PMI_RANK");
    struct stat st;

    if (full == NULL || rank == NULL || strcmp(full, rank) != 0 || n < 4096 ||
        fstat(fd, &st) != 0 || !S_ISREG(st.st_mode))
        return 0;
    errno = ENOSPC;
    return 1;
}

ssize_t pwrite(int fd, const void *buf, size_t n, off_t off)
{
    ssize_t (*real)(int, const void *, size_t, off_t) = dlsym(RTLD_NEXT, "pwrite64");

    return is_full(fd, n) ? -1 : real(fd, buf, n, off);
}

ssize_t pwrite64(int fd, const void *buf, size_t n, off_t off)
{
    return pwrite(fd, buf, n, off);
}
