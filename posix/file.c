/* Files by device and inode; those that are passed through, by key. */
#include "file.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "job.h"
#include "names.h"
#include "port/log.h"
#include "real.h"
#include "stats.h"
#include "store.h"

#define OPENERS ((int64_t)0xffffffff)
#define PASSED ((int64_t)1 << 32)

/* So that one line is said of each, and its later opens are not counted. */
struct passed {
    struct passed *next;
    char key[];
};

static struct file *files;
static struct passed *passed;

struct file *file_first(void)
{
    return files;
}

struct file *file_find(const struct stat *st)
{
    struct file *f = files;

    while (f != NULL && (f->device != st->st_dev || f->inode != st->st_ino))
        f = f->next;
    return f;
}

static void unlink_file(const struct file *f)
{
    struct file **at = &files;

    while (*at != NULL && *at != f)
        at = &(*at)->next;
    if (*at != NULL)
        *at = f->next;
}

static int is_passed(const char *key)
{
    const struct passed *p = passed;

    while (p != NULL && strcmp(p->key, key) != 0)
        p = p->next;
    return p != NULL;
}

/* Without memory the line is said again at the next open: no harm. */
static void say_passed(const char *key, const char *why)
{
    size_t size = strlen(key) + 1;
    struct passed *p;

    if (is_passed(key))
        return;
    cio_log(CIO_LOG_NOTICE, "posix: %.*s is passed through to the system: %s",
            (int)path_store_path_length(key), key, why);
    p = malloc(sizeof(*p) + size);
    if (p == NULL)
        return;
    memcpy(p->key, key, size);
    p->next = passed;
    passed = p;
}

static int keep_error(struct file *f, int rc)
{
    if (rc < 0 && f->error == 0)
        f->error = rc;
    return rc;
}

static int take_error(struct file *f)
{
    int rc = f->error;

    f->error = 0;
    return rc;
}

/* Opening. */

static void file_free(struct file *f)
{
    unlink_file(f);
    free(f->key);
    free(f);
}

static struct file *file_new(const char *path, const struct stat *st)
{
    struct file *f = calloc(1, sizeof(*f));

    if (f == NULL)
        return NULL;
    f->device = st->st_dev;
    f->inode = st->st_ino;
    f->key = path_store_key(path, st->st_ino);
    if (f->key == NULL) {
        free(f);
        return NULL;
    }
    return f;
}

static int connect_file(struct file *f)
{
    int write_only, rc = path_store_open(f->key, &write_only, &f->store);

    if (rc < 0)
        return rc;
    rc = cio_tcio_open(job_space(), f->key, f->store, write_only ? CIO_TCIO_WRITE_ONLY : 0,
                       &f->tcio);
    if (rc < 0)
        cio_store_destroy(f->store);
    return rc;
}

static int close_tcio(struct file *f)
{
    int rc = cio_tcio_close(f->tcio);

    cio_store_destroy(f->store);
    return rc;
}

/* `by`: what the count changes by. Nobody has it open then: nothing of it stays in level 2. */
static int disconnect(struct file *f, int64_t by, const char *why)
{
    int64_t now = 1;
    int rc = cio_tcio_push(f->tcio), counted, closed, last;

    counted = by != 0 ? cio_tcio_count(f->tcio, by, &now) : 0;
    last = counted == 0 && (now & OPENERS) == 0;
    if (last && rc == 0)
        rc = cio_tcio_drain(f->tcio, 1);
    stats_file(f->key, f->tcio, why);
    closed = close_tcio(f);
    if (rc == 0)
        rc = counted != 0 ? counted : closed;
    return f->error != 0 ? f->error : rc;
}

static void say_error(const struct file *f, const char *what, int rc)
{
    cio_log(CIO_LOG_NOTICE, "posix: %.*s: %s: %s", (int)path_store_path_length(f->key), f->key,
            what, strerror(-rc));
}

/* Counted. `why` is set if the file is to be passed through. */
static int join(struct file *f, int truncates, const char **why)
{
    int64_t now;
    int rc = cio_tcio_count(f->tcio, 1, &now);

    if (rc < 0) {
        *why = strerror(-rc);
        disconnect(f, 0, *why);
        return rc;
    }
    if (now >= PASSED) {
        *why = "another process passes it through";
        disconnect(f, -1, *why);
        return -EPERM;
    }
    f->handles = 1;
    f->next = files;
    files = f;
    if (truncates && (now & OPENERS) > 1)
        keep_error(f, cio_tcio_discard(f->tcio));
    return 0;
}

static struct file *open_new(const char *path, const struct stat *st, int truncates)
{
    struct file *f = file_new(path, st);
    const char *why;
    int rc;

    if (f == NULL || is_passed(f->key)) {
        if (f != NULL)
            file_free(f);
        return NULL;
    }
    rc = connect_file(f);
    if (rc < 0)
        why = strerror(-rc);
    else
        rc = join(f, truncates, &why);
    if (rc == 0)
        return f;
    say_passed(f->key, why);
    file_free(f);
    return NULL;
}

struct file *file_open(const char *path, const struct stat *st, int truncates)
{
    struct file *f = file_find(st);

    if (f == NULL)
        return open_new(path, st, truncates);
    f->handles++;
    keep_error(f, truncates ? cio_tcio_discard(f->tcio) : cio_tcio_refresh(f->tcio));
    return f;
}

int file_close(struct file *f)
{
    int rc;

    if (--f->handles > 0) {
        rc = cio_tcio_push(f->tcio);
        return f->error != 0 ? take_error(f) : rc;
    }
    rc = disconnect(f, -1, NULL);
    file_free(f);
    return rc;
}

/* Borrowing. */

static struct file *borrow_new(const char *path, const struct stat *st)
{
    struct file *f = file_new(path, st);
    int64_t now = 0;

    if (f == NULL)
        return NULL;
    if (is_passed(f->key) || connect_file(f) < 0) {
        file_free(f);
        return NULL;
    }
    if (cio_tcio_count(f->tcio, 0, &now) == 0 && (now & OPENERS) > 0)
        return f;
    file_return(f);
    return NULL;
}

struct file *file_borrow(int dir, const char *name, int follow)
{
    struct file *f;
    struct stat st;
    char *path;

    if (real_stat(dir, name, &st, follow ? 0 : AT_SYMLINK_NOFOLLOW) != 0 || !S_ISREG(st.st_mode))
        return NULL;
    f = file_find(&st);
    if (f != NULL || !names_match(name))
        return f;
    path = names_of_path(dir, name, follow);
    if (path != NULL)
        f = borrow_new(path, &st);
    free(path);
    return f;
}

void file_return(struct file *f)
{
    if (f->handles > 0)
        return;
    close_tcio(f);
    file_free(f);
}

/* What is done with one. */

int file_settle(struct file *f)
{
    return keep_error(f, cio_tcio_drain(f->tcio, 0));
}

int file_sync(struct file *f)
{
    if (file_settle(f) == 0)
        keep_error(f, cio_tcio_refresh(f->tcio));
    return take_error(f);
}

/* What others have pushed must not come back, nor what was to stay be lost. */
static int shorten(struct file *f, int (*truncate)(void *self), void *self)
{
    int rc = cio_tcio_drain(f->tcio, 0);

    if (rc == 0)
        rc = truncate(self);
    return rc == 0 ? cio_tcio_discard(f->tcio) : rc;
}

int file_truncate(struct file *f, int (*truncate)(void *self), void *self, int64_t length)
{
    int64_t size;
    int rc = cio_tcio_refresh(f->tcio);

    if (rc == 0)
        rc = cio_tcio_size(f->tcio, &size);
    if (rc < 0)
        return rc;
    return length < size ? shorten(f, truncate, self) : truncate(self);
}

int file_pass(struct file *f, const char *why)
{
    int rc;

    say_passed(f->key, why);
    file_settle(f);
    rc = disconnect(f, PASSED - 1, why);
    if (rc < 0)
        say_error(f, "what was written before is not all in the file", rc);
    file_free(f);
    return rc;
}

static void tell_job(struct file *f, int truncates)
{
    int64_t now;

    if (connect_file(f) < 0)
        return;
    if (cio_tcio_count(f->tcio, PASSED, &now) == 0 && (now & OPENERS) > 0)
        truncates ? cio_tcio_discard(f->tcio) : cio_tcio_drain(f->tcio, 0);
    close_tcio(f);
}

void file_refuse(const char *path, const struct stat *st, int truncates, const char *why)
{
    struct file *f = file_new(path, st);

    if (f == NULL)
        return;
    if (!is_passed(f->key))
        tell_job(f, truncates);
    say_passed(f->key, why);
    file_free(f);
}

void file_forget_all(void)
{
    while (passed != NULL) {
        struct passed *p = passed;

        passed = p->next;
        free(p);
    }
}
