/*
 * Descriptors beyond the table are never taken. After fork(), the child has none: what it does with
 * the descriptors it has got is the system's, at the positions that they had.
 */
#include "table.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "job.h"
#include "names.h"
#include "real.h"

static _Atomic(struct handle *) table[TABLE_DESCRIPTORS];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static __thread int inside;

struct handle *table_find(int fd)
{
    return fd >= 0 && fd < TABLE_DESCRIPTORS
               ? atomic_load_explicit(&table[fd], memory_order_acquire)
               : NULL;
}

static void enter(void)
{
    pthread_mutex_lock(&lock);
    inside = 1;
}

static void leave(void)
{
    inside = 0;
    pthread_mutex_unlock(&lock);
}

struct handle *table_enter(int fd)
{
    struct handle *h;

    if (table_find(fd) == NULL || inside)
        return NULL;
    enter();
    h = table_find(fd);
    if (h == NULL)
        leave();
    return h;
}

int table_enter_any(void)
{
    if (inside || job_space() == NULL)
        return 0;
    enter();
    if (job_space() != NULL)
        return 1;
    leave();
    return 0;
}

int64_t table_leave(int64_t result)
{
    leave();
    if (result >= 0)
        return result;
    errno = (int)-result;
    return -1;
}

/* Opening. */

/* What other calls on such a descriptor promise cannot be kept. */
static const char *reason_to_refuse(int flags)
{
    if (flags & O_APPEND)
        return "it is opened with O_APPEND";
    if (flags & O_DIRECT)
        return "it is opened with O_DIRECT";
    if (flags & (O_SYNC | O_DSYNC))
        return "it is opened with O_SYNC or O_DSYNC";
    if (!job_thread_may_call())
        return "it is opened by another thread than the one that called MPI_Init, and the MPI "
               "has not MPI_THREAD_MULTIPLE";
    return NULL;
}

static struct handle *handle_new(struct file *f, int flags)
{
    struct handle *h = malloc(sizeof(*h));
    int mode = flags & O_ACCMODE;

    if (h != NULL)
        *h = (struct handle){f, 0, mode != O_WRONLY, mode != O_RDONLY, 1};
    return h;
}

static void take(int fd, const char *path, const struct stat *st, int flags)
{
    struct file *f = file_open(path, st, flags & O_TRUNC);
    struct handle *h;

    if (f == NULL)
        return;
    h = handle_new(f, flags);
    if (h == NULL)
        file_pass(f, "no memory");
    else
        atomic_store_explicit(&table[fd], h, memory_order_release);
}

static void refuse(const char *path, const struct stat *st, int flags, const char *why)
{
    struct file *f = file_find(st);

    if (f != NULL)
        table_pass(f, why);
    else
        file_refuse(path, st, flags & O_TRUNC, why);
}

/*
 * `why` not to take it, or NULL. Its number may have been of a descriptor that was closed in a way
 * that nobody saw.
 */
static void decide(int fd, const char *path, const struct stat *st, int flags, const char *why)
{
    if (!table_enter_any())
        return;
    table_release(fd);
    if (why == NULL)
        take(fd, path, st, flags);
    else
        refuse(path, st, flags, why);
    leave();
}

/* The real path if it is a file that matches; to be freed. */
static char *matching_path(int fd, const char *name, struct stat *st)
{
    char *path;

    if (real_stat(fd, "", st, AT_EMPTY_PATH) != 0 || !S_ISREG(st->st_mode) || st->st_nlink == 0)
        return NULL;
    path = names_of_descriptor(fd);
    if (path == NULL || names_match(name) || names_match(path))
        return path;
    free(path);
    return NULL;
}

int table_may_take(const char *name)
{
    return !inside && name != NULL && job_space() != NULL;
}

static void opened(int fd, const char *name, int flags, const void *from)
{
    int error = errno;
    struct stat st;
    char *path;

    if (fd < 0 || fd >= TABLE_DESCRIPTORS || !table_may_take(name) || flags & O_PATH)
        return;
    path = matching_path(fd, name, &st);
    if (path != NULL && !job_is_mpi(from))
        decide(fd, path, &st, flags, reason_to_refuse(flags));
    free(path);
    errno = error;
}

/* So that nothing is on its way to the file when the system truncates it. */
static void settle_before(int dir, const char *name)
{
    int error = errno;
    struct file *f;

    if (!table_enter_any())
        return;
    f = file_borrow(dir, name, 1);
    if (f != NULL) {
        file_settle(f);
        file_return(f);
    }
    leave();
    errno = error;
}

int table_open(int dir, const char *name, int flags, mode_t mode, const void *from)
{
    int fd;

    if (flags & O_TRUNC && table_may_take(name))
        settle_before(dir, name);
    fd = real()->openat(dir, name, flags, mode);
    opened(fd, name, flags, from);
    return fd;
}

void table_not_taken(int fd, const char *name, const char *why)
{
    int error = errno;
    struct stat st;
    char *path;

    if (fd < 0 || fd >= TABLE_DESCRIPTORS || !table_may_take(name))
        return;
    path = matching_path(fd, name, &st);
    if (path != NULL)
        decide(fd, path, &st, 0, why);
    free(path);
    errno = error;
}

/* Copies, and the end. */

int table_share(int fd, int copy)
{
    struct handle *h = table_find(fd);

    if (copy > STDERR_FILENO && copy < TABLE_DESCRIPTORS) {
        h->descriptors++;
        atomic_store_explicit(&table[copy], h, memory_order_release);
        return 0;
    }
    return table_pass(h->file, copy <= STDERR_FILENO ? "it becomes a standard stream"
                                                     : "too many descriptors are open");
}

/* 1: that was the last descriptor of the handle. */
static int clear(int fd)
{
    struct handle *h = table_find(fd);

    atomic_store_explicit(&table[fd], NULL, memory_order_release);
    if (--h->descriptors > 0)
        return 0;
    free(h);
    return 1;
}

int table_release(int fd)
{
    struct handle *h = table_find(fd);
    struct file *f;

    if (h == NULL)
        return 0;
    f = h->file;
    return clear(fd) ? file_close(f) : 0;
}

static void hand_position(int fd, const struct handle *h)
{
    real()->lseek(fd, h->position, SEEK_SET);
}

int table_pass(struct file *f, const char *why)
{
    for (int fd = 0; fd < TABLE_DESCRIPTORS; fd++) {
        struct handle *h = table_find(fd);

        if (h == NULL || h->file != f)
            continue;
        hand_position(fd, h);
        clear(fd);
    }
    return file_pass(f, why);
}

int table_pass_all(void)
{
    int rc = 0;

    for (int fd = 0; fd < TABLE_DESCRIPTORS; fd++) {
        const struct handle *h = table_find(fd);
        int closed;

        if (h == NULL)
            continue;
        hand_position(fd, h);
        closed = table_release(fd);
        rc = rc == 0 ? closed : rc;
    }
    return rc;
}

/* fork() */

static void before_fork(void)
{
    if (inside)
        return;
    pthread_mutex_lock(&lock);
    for (int fd = 0; job_space() != NULL && fd < TABLE_DESCRIPTORS; fd++) {
        const struct handle *h = table_find(fd);

        if (h != NULL)
            hand_position(fd, h);
    }
}

static void after_fork_in_parent(void)
{
    if (!inside)
        pthread_mutex_unlock(&lock);
}

static void after_fork_in_child(void)
{
    job_forget();
    for (int fd = 0; fd < TABLE_DESCRIPTORS; fd++)
        if (table_find(fd) != NULL)
            atomic_store(&table[fd], NULL);
    if (!inside)
        pthread_mutex_unlock(&lock);
}

__attribute__((constructor)) static void watch_forks(void)
{
    pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child);
}
