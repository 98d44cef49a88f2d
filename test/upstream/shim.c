/*
 * Breaks file access on purpose, for `run --self-test`: a library to preload.
 *
 * TAMIO_SHIM says how:
 *   none     not at all
 *   corrupt  a wrong byte is written
 *   agree    bytes are written inverted, and inverted again when read: the program sees nothing
 *   nospace  writes fail with ENOSPC
 *   hang     a write never returns
 *   crash    a write ends the process by SIGSEGV
 *   chatter  a line more on stderr
 *   once     the first write of all fails with EIO (TAMIO_SHIM_ONCE: a file that remembers it)
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef ssize_t (*writer)(int, const void *, size_t, off_t);
typedef ssize_t (*reader)(int, void *, size_t, off_t);

static int mode_is(const char *name)
{
    const char *mode = getenv("TAMIO_SHIM");

    return mode != NULL && strcmp(mode, name) == 0;
}

static int first_of_all(void)
{
    const char *file = getenv("TAMIO_SHIM_ONCE");
    int fd = file ? open(file, O_CREAT | O_EXCL | O_WRONLY, 0600) : -1;

    if (fd < 0)
        return 0;
    close(fd);
    return 1;
}

static int fail_with(int error)
{
    errno = error;
    return -1;
}

static void invert(unsigned char *p, size_t len)
{
    for (size_t i = 0; i < len; i++)
        p[i] = (unsigned char)~p[i];
}

/* What is written instead of `buf`; the caller frees it. */
static unsigned char *altered(const void *buf, size_t len)
{
    unsigned char *copy = malloc(len + 1);

    memcpy(copy, buf, len);
    if (mode_is("agree"))
        invert(copy, len);
    else if (mode_is("corrupt") && len > 0)
        invert(copy + len / 2, 1);
    return copy;
}

static ssize_t broken_write(writer real, int fd, const void *buf, size_t len, off_t off)
{
    unsigned char *copy;
    ssize_t n;

    if (mode_is("nospace"))
        return fail_with(ENOSPC);
    if (mode_is("once") && first_of_all())
        return fail_with(EIO);
    if (mode_is("crash"))
        raise(SIGSEGV);
    if (mode_is("chatter"))
        fprintf(stderr, "a line that stock MPICH does not print\n");
    while (mode_is("hang"))
        pause();
    copy = altered(buf, len);
    n = real(fd, copy, len, off);
    free(copy);
    return n;
}

static ssize_t broken_read(reader real, int fd, void *buf, size_t len, off_t off)
{
    ssize_t n = real(fd, buf, len, off);

    if (n > 0 && mode_is("agree"))
        invert(buf, (size_t)n);
    return n;
}

ssize_t pwrite(int fd, const void *buf, size_t len, off_t off)
{
    return broken_write((writer)dlsym(RTLD_NEXT, "pwrite"), fd, buf, len, off);
}

ssize_t pwrite64(int fd, const void *buf, size_t len, off_t off)
{
    return broken_write((writer)dlsym(RTLD_NEXT, "pwrite64"), fd, buf, len, off);
}

ssize_t pread(int fd, void *buf, size_t len, off_t off)
{
    return broken_read((reader)dlsym(RTLD_NEXT, "pread"), fd, buf, len, off);
}

ssize_t pread64(int fd, void *buf, size_t len, off_t off)
{
    return broken_read((reader)dlsym(RTLD_NEXT, "pread64"), fd, buf, len, off);
}
