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

/*
 * The word of a path: how many processes have it open, in the lower bits, and above them the sum of
 * their paths' fingerprints. Two paths may share a word, and are told from each other by that.
 */
#define OPENERS (((int64_t)1 << 20) - 1)

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

static uint64_t one_opener(const struct file *f)
{
    uint64_t h = 14695981039346656037u;

    for (const char *c = f->key; *c != '\0'; c++)
        h = (h ^ (unsigned char)*c) * 1099511628211u;
    return (h & ~(uint64_t)OPENERS) + 1;
}

/* Openers of the word's paths, after this process has come (1), gone (-1), or looked (0). */
static int count(const struct file *f, int by, int64_t *word)
{
    return cio_tcio_count(f->tcio, (int64_t)(one_opener(f) * (uint64_t)by), word);
}

/* Nobody has it open; also if it can be that all of them have another one. */
static int nobody(const struct file *f, int64_t word)
{
    return (uint64_t)word != one_opener(f) * (uint64_t)(word & OPENERS) || (word & OPENERS) == 0;
}

/* What was written goes to level 2, or if nobody has the file open, to the file. */
static int disconnect(struct file *f, const char *why)
{
    int64_t word = 0;
    int rc = cio_tcio_push(f->tcio), counted = count(f, -1, &word), closed;

    if (counted == 0 && nobody(f, word) && rc == 0)
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

static int join(struct file *f, int truncates)
{
    int64_t word;
    int rc = count(f, 1, &word);

    if (rc < 0) {
        close_tcio(f);
        return rc;
    }
    f->handles = 1;
    f->next = files;
    files = f;
    if (truncates && (word & OPENERS) > 1)
        keep_error(f, cio_tcio_discard(f->tcio));
    return 0;
}

static struct file *open_new(const char *path, const struct stat *st, int truncates)
{
    struct file *f = file_new(path, st);
    int rc;

    if (f == NULL || is_passed(f->key)) {
        if (f != NULL)
            file_free(f);
        return NULL;
    }
    rc = connect_file(f);
    if (rc == 0)
        rc = join(f, truncates);
    if (rc == 0)
        return f;
    say_passed(f->key, strerror(-rc));
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
    rc = disconnect(f, NULL);
    file_free(f);
    return rc;
}

/* Borrowing. */

static struct file *borrow_new(const char *path, const struct stat *st)
{
    struct file *f = file_new(path, st);
    int64_t word = 0;

    if (f == NULL)
        return NULL;
    if (is_passed(f->key) || connect_file(f) < 0) {
        file_free(f);
        return NULL;
    }
    if (count(f, 0, &word) == 0 && (word & OPENERS) > 0)
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
    rc = disconnect(f, why);
    if (rc < 0)
        say_error(f, "what was written before is not all in the file", rc);
    file_free(f);
    return rc;
}

static void settle_others(struct file *f, int truncates)
{
    int64_t word;

    if (connect_file(f) < 0)
        return;
    if (count(f, 0, &word) == 0 && (word & OPENERS) > 0)
        truncates ? cio_tcio_discard(f->tcio) : cio_tcio_drain(f->tcio, 0);
    close_tcio(f);
}

void file_refuse(const char *path, const struct stat *st, int truncates, const char *why)
{
    struct file *f = file_new(path, st);

    if (f == NULL)
        return;
    if (!is_passed(f->key))
        settle_others(f, truncates);
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
