/*
 * A throttled file system under any program, with stock MPICH and with tamio alike: an LD_PRELOAD
 * library that makes transfers to some files take as long as src/port/throttle.h says.
 *
 *   cc -O2 -shared -fPIC -Isrc bench/throttle-preload.c src/port/throttle.c -o throttle.so -ldl
 *   TAMIO_THROTTLE=osts=8,stripe=1M,bandwidth=200M,latency=200us,state=/dev/shm/x \
 *   TAMIO_THROTTLE_PREFIX=/tmp/data LD_PRELOAD=$PWD/throttle.so program
 *
 * TAMIO_THROTTLE is the spec, with the state that all processes share; bench/throttle-show.c prints
 * what it has counted. Throttled are pwrite, pread, write and read on regular files whose path
 * begins with TAMIO_THROTTLE_PREFIX. The writer is the process, or with TAMIO_THROTTLE_WRITER=node
 * the host that it runs on, as in Lustre. A spec that cannot be used ends the program, since it
 * would be measured on the wrong file system.
 *
 * It does not see transfers by other calls: vectors, mmap, stdio, and io_uring. So use it with
 * cb_pipeline_io=thread or blocking, not uring.
 *
 * Which descriptors are meant is asked of /proc/self/fd once for each file and descriptor.
 */
#define _GNU_SOURCE 1 /* RTLD_NEXT, off64_t */
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "port/throttle.h"

#define FDS 1024

typedef ssize_t (*write_at)(int fd, const void *buf, size_t len, off64_t off);
typedef ssize_t (*read_at)(int fd, void *buf, size_t len, off64_t off);
typedef ssize_t (*write_here)(int fd, const void *buf, size_t len);
typedef ssize_t (*read_here)(int fd, void *buf, size_t len);

/* What a descriptor was when it was last looked at. */
struct known {
    dev_t dev;
    ino_t ino;
    int throttled;
};

static struct {
    pthread_once_t once;
    pthread_mutex_t mutex; /* of known */
    struct known known[FDS];
    struct cio_throttle *throttle; /* NULL: none */
    const char *prefix;
    int node; /* the writer that all processes of this host are, or -1 */
    write_at pwrite;
    read_at pread;
    write_here write;
    read_here read;
} all = {.once = PTHREAD_ONCE_INIT, .mutex = PTHREAD_MUTEX_INITIALIZER};

static void give_up(const char *why)
{
    fprintf(stderr, "TAMIO_THROTTLE: %s\n", why);
    _exit(1);
}

static void attach(const char *text)
{
    struct cio_throttle_spec spec;
    char error[200] = "no memory";
    int rc;

    all.prefix = getenv("TAMIO_THROTTLE_PREFIX");
    if (all.prefix == NULL || all.prefix[0] != '/')
        give_up("TAMIO_THROTTLE_PREFIX must be an absolute path");
    if (cio_throttle_parse(text, &spec, error, sizeof(error)) < 0)
        give_up(error);
    rc = cio_throttle_attach(spec.state, &spec, &all.throttle);
    if (rc < 0) {
        snprintf(error, sizeof(error), "state=%.100s: %s", spec.state, strerror(-rc));
        give_up(error);
    }
}

/* A number of 0 or more for the host's name. */
static int number_of_node(void)
{
    char name[256] = "";
    unsigned number = 5381;

    gethostname(name, sizeof(name) - 1);
    for (const char *c = name; *c != '\0'; c++)
        number = number * 33 + (unsigned char)*c;
    return (int)(number >> 1);
}

static void set_up(void)
{
    const char *text = getenv("TAMIO_THROTTLE"), *writer = getenv("TAMIO_THROTTLE_WRITER");

    all.node = writer != NULL && strcmp(writer, "node") == 0 ? number_of_node() : -1;

    all.pwrite = (write_at)dlsym(RTLD_NEXT, "pwrite64");
    all.pread = (read_at)dlsym(RTLD_NEXT, "pread64");
    all.write = (write_here)dlsym(RTLD_NEXT, "write");
    all.read = (read_here)dlsym(RTLD_NEXT, "read");
    if (text != NULL)
        attach(text);
}

static int has_prefix(int fd)
{
    char link[64], path[4096] = "";

    snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
    return readlink(link, path, sizeof(path) - 1) > 0 &&
           strncmp(path, all.prefix, strlen(all.prefix)) == 0;
}

static int look_up(int fd, const struct stat *st)
{
    struct known *k = &all.known[fd];
    int throttled;

    pthread_mutex_lock(&all.mutex);
    if (k->dev != st->st_dev || k->ino != st->st_ino)
        *k = (struct known){st->st_dev, st->st_ino, has_prefix(fd)};
    throttled = k->throttled;
    pthread_mutex_unlock(&all.mutex);
    return throttled;
}

/* Leaves errno alone, as everything does that is called around a transfer. */
static int is_throttled(int fd)
{
    int before = errno, result;
    struct stat st;

    pthread_once(&all.once, set_up);
    result = all.throttle != NULL && fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode) &&
             (fd < FDS ? look_up(fd, &st) : has_prefix(fd));
    errno = before;
    return result;
}

static ssize_t sleep_until(int64_t until, ssize_t result)
{
    int before = errno;

    cio_throttle_sleep(until);
    errno = before;
    return result;
}

static int64_t enter(int write, off64_t off, size_t len)
{
    return cio_throttle_enter(all.throttle, all.node < 0 ? getpid() : all.node, write, off,
                              (int64_t)len);
}

/* By no name that another library in LD_PRELOAD may have, too. */
static ssize_t write_part(int fd, const void *buf, size_t len, off64_t off)
{
    int64_t until;

    if (!is_throttled(fd))
        return all.pwrite(fd, buf, len, off);
    until = enter(1, off, len);
    return sleep_until(until, all.pwrite(fd, buf, len, off));
}

static ssize_t read_part(int fd, void *buf, size_t len, off64_t off)
{
    int64_t until;

    if (!is_throttled(fd))
        return all.pread(fd, buf, len, off);
    until = enter(0, off, len);
    return sleep_until(until, all.pread(fd, buf, len, off));
}

ssize_t pwrite64(int fd, const void *buf, size_t len, off64_t off)
{
    return write_part(fd, buf, len, off);
}

ssize_t pread64(int fd, void *buf, size_t len, off64_t off)
{
    return read_part(fd, buf, len, off);
}

ssize_t pwrite(int fd, const void *buf, size_t len, off_t off)
{
    return write_part(fd, buf, len, off);
}

ssize_t pread(int fd, void *buf, size_t len, off_t off)
{
    return read_part(fd, buf, len, off);
}

ssize_t write(int fd, const void *buf, size_t len)
{
    int64_t until;

    if (!is_throttled(fd))
        return all.write(fd, buf, len);
    until = enter(1, lseek64(fd, 0, SEEK_CUR), len);
    return sleep_until(until, all.write(fd, buf, len));
}

ssize_t read(int fd, void *buf, size_t len)
{
    int64_t until;

    if (!is_throttled(fd))
        return all.read(fd, buf, len);
    until = enter(0, lseek64(fd, 0, SEEK_CUR), len);
    return sleep_until(until, all.read(fd, buf, len));
}
