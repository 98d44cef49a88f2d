/* What a store is asked to do is left to the one below; this one only owns the descriptor. */
#include "store.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "real.h"

#define SUFFIX " (inode "

#define DESCRIPTORS 65536

static _Atomic unsigned char owned[DESCRIPTORS];

struct path_store {
    struct cio_store store; /* first */
    int fd;
};

char *path_store_key(const char *path, ino_t inode)
{
    size_t size = strlen(path) + sizeof(SUFFIX) + 24;
    char *key = malloc(size);

    if (key != NULL)
        snprintf(key, size, "%s" SUFFIX "%ju)", path, (uintmax_t)inode);
    return key;
}

/* The last one: a path may have such words in it. */
static const char *suffix_of(const char *key)
{
    const char *found = NULL, *next = key;

    while ((next = strstr(next, SUFFIX)) != NULL)
        found = next++;
    return found;
}

size_t path_store_path_length(const char *key)
{
    return (size_t)(suffix_of(key) - key);
}

static int refused(int error)
{
    return error == EACCES || error == EPERM || error == EROFS || error == ETXTBSY;
}

/* Read-modify-write needs both directions; who may only do one gets that. */
static int open_widest(const char *path, int *write_only)
{
    static const int modes[] = {O_RDWR, O_WRONLY, O_RDONLY};
    int fd = -1;

    for (int i = 0; fd < 0 && i < 3; i++) {
        fd = real()->openat(AT_FDCWD, path, modes[i] | O_CLOEXEC | O_NOFOLLOW);
        if (fd < 0 && !refused(errno))
            break;
        *write_only = modes[i] == O_WRONLY;
    }
    return fd < 0 ? -errno : fd;
}

/*
 * A number that the program does not expect: it may close one twice, or close what it thinks is its
 * own, and would get the next lowest one.
 */
static int move_away(int fd)
{
    struct rlimit limit = {.rlim_cur = 1024};
    int high;

    (void)getrlimit(RLIMIT_NOFILE, &limit);
    if (limit.rlim_cur > DESCRIPTORS)
        limit.rlim_cur = DESCRIPTORS;
    high = real()->fcntl(fd, F_DUPFD_CLOEXEC, (int)(limit.rlim_cur / 2));
    if (high < 0)
        return fd;
    real()->close(fd);
    return high;
}

static void mark(int fd, int ours)
{
    if (fd < DESCRIPTORS)
        atomic_store_explicit(&owned[fd], (unsigned char)ours, memory_order_relaxed);
}

int path_store_owns(int fd)
{
    return fd >= 0 && fd < DESCRIPTORS &&
           atomic_load_explicit(&owned[fd], memory_order_relaxed) != 0;
}

static void close_own(int fd)
{
    mark(fd, 0);
    real()->close(fd);
}

static int open_same(const char *key, int *write_only)
{
    char path[PATH_MAX];
    const char *suffix = suffix_of(key);
    struct stat st;
    int fd;

    if (suffix == NULL || suffix - key >= PATH_MAX)
        return -ENAMETOOLONG;
    memcpy(path, key, (size_t)(suffix - key));
    path[suffix - key] = '\0';
    fd = open_widest(path, write_only);
    if (fd < 0)
        return fd;
    if (real_stat(fd, "", &st, AT_EMPTY_PATH) == 0 && S_ISREG(st.st_mode) &&
        st.st_ino == strtoumax(suffix + strlen(SUFFIX), NULL, 10)) {
        fd = move_away(fd);
        mark(fd, 1);
        return fd;
    }
    real()->close(fd);
    return -ESTALE;
}

static void path_store_destroy(struct cio_store *s)
{
    struct path_store *p = (struct path_store *)s;

    cio_store_destroy(p->store.below);
    close_own(p->fd);
    free(p);
}

static const struct cio_store_ops path_store_ops = {
    .destroy = path_store_destroy,
};

int path_store_open(const char *key, int *write_only, struct cio_store **out)
{
    struct path_store *p = malloc(sizeof(*p));
    int rc = -ENOMEM, only = 0;

    if (p == NULL)
        return rc;
    p->fd = open_same(key, &only);
    if (p->fd < 0) {
        rc = p->fd;
        goto free_store;
    }
    rc = cio_store_open(p->fd, CIO_STORE_BLOCKING, &p->store.below);
    if (rc < 0)
        goto close_file;
    p->store.ops = &path_store_ops;
    *write_only = only;
    *out = &p->store;
    return 0;

close_file:
    close_own(p->fd);
free_store:
    free(p);
    return rc;
}
