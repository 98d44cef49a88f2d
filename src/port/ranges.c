/* The table of ranges: a list in the order of asking, held ones and those that are waited for. */
#include "port/ranges.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

static struct {
    pthread_mutex_t mutex; /* never held while anything is waited for */
    pthread_cond_t given;
    pthread_once_t once;
    struct cio_range *first;
} table = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, PTHREAD_ONCE_INIT, NULL};

/* fork() */

static void before_fork(void)
{
    pthread_mutex_lock(&table.mutex);
}

static void after_fork(void)
{
    pthread_mutex_unlock(&table.mutex);
}

/* What was held, or waited for, is the parent's. */
static void in_child(void)
{
    pthread_cond_init(&table.given, NULL);
    table.first = NULL;
    pthread_mutex_unlock(&table.mutex);
}

static void prepare(void)
{
    pthread_atfork(before_fork, after_fork, in_child);
}

/* The list. */

static int same_file(struct cio_file_id a, struct cio_file_id b)
{
    return a.dev == b.dev && a.ino == b.ino;
}

/* Whether one that was asked for earlier overlaps it. */
static int must_wait(const struct cio_range *r)
{
    for (const struct cio_range *e = table.first; e != r; e = e->next)
        if (same_file(e->file, r->file) && e->off < r->end && r->off < e->end)
            return 1;
    return 0;
}

/* Numbers, since a thread's pthread_t may become another's once it is gone. */
static uint64_t thread_number(void)
{
    static _Thread_local uint64_t number;
    static uint64_t numbers;

    if (number == 0)
        number = __atomic_add_fetch(&numbers, 1, __ATOMIC_RELAXED);
    return number;
}

static int holds_any(uint64_t thread)
{
    for (const struct cio_range *e = table.first; e != NULL; e = e->next)
        if (e->held && e->owner == thread)
            return 1;
    return 0;
}

static struct cio_range **link_of(const struct cio_range *r)
{
    struct cio_range **link = &table.first;

    while (*link != r)
        link = &(*link)->next;
    return link;
}

static void drop(struct cio_range *r)
{
    *link_of(r) = r->next;
    pthread_cond_broadcast(&table.given);
}

/* Appends it and waits until it is held. */
static int await(struct cio_range *r, int *alone)
{
    int others = holds_any(r->owner);

    *link_of(NULL) = r;
    if (others && must_wait(r)) {
        drop(r);
        return -EDEADLK;
    }
    while (must_wait(r))
        pthread_cond_wait(&table.given, &table.mutex);
    r->held = 1;
    *alone = !others;
    return 0;
}

int cio_range_take(struct cio_file_id file, int64_t off, int64_t len, int *alone,
                   struct cio_range **out)
{
    struct cio_range *r;
    int64_t end;
    int rc;

    if (off < 0 || len <= 0 || __builtin_add_overflow(off, len, &end))
        return -EINVAL;
    r = malloc(sizeof(*r));
    if (r == NULL)
        return -ENOMEM;
    *r = (struct cio_range){.file = file, .off = off, .end = end, .owner = thread_number()};
    pthread_once(&table.once, prepare);
    pthread_mutex_lock(&table.mutex);
    rc = await(r, alone);
    pthread_mutex_unlock(&table.mutex);
    if (rc < 0)
        free(r);
    else
        *out = r;
    return rc;
}

struct cio_range *cio_range_find(struct cio_file_id file, int64_t off, int64_t len)
{
    struct cio_range *e;

    pthread_mutex_lock(&table.mutex);
    for (e = table.first; e != NULL; e = e->next)
        if (e->held && same_file(e->file, file) && e->off == off && e->end - off == len)
            break;
    pthread_mutex_unlock(&table.mutex);
    return e;
}

void cio_range_give(struct cio_range *r)
{
    pthread_mutex_lock(&table.mutex);
    drop(r);
    pthread_mutex_unlock(&table.mutex);
    free(r);
}

int cio_range_holding(void)
{
    int holding;

    pthread_mutex_lock(&table.mutex);
    holding = holds_any(thread_number());
    pthread_mutex_unlock(&table.mutex);
    return holding;
}
