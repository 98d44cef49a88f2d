/*
 * A pool of threads in front of a blocking store.
 *
 * It has two crews, one for batches that are `locked` and one for all others. Transfers under a
 * lock may have to wait until somebody gives that lock back, who may need plain transfers for it:
 * if one crew did both, all of its threads could wait for what none of them would do.
 *
 * Batches wait in a queue, in the order in which they were started. A thread takes a run of pieces
 * from the first of them: enough small ones that the queue's lock is not what it spends its time
 * on, and no more, so that the others find work too. Whoever leaves something in the queue wakes
 * the next thread.
 *
 * Threads are made when there is more work than threads that are free, and never before the first
 * batch. They have all signals blocked, since a handler of the program must not run in a thread
 * that it does not know of.
 *
 * After fork() the child has none of the threads, and cannot know in what state others left the
 * mutex: it touches neither. It does its batches at once, and a batch of the parent's is done with
 * -ECANCELED if the child asks for it.
 */
#include "port/store.h"

#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>
#ifdef __linux__
#include <linux/futex.h>
#include <sys/syscall.h>
#endif

#define RUN_BYTES ((int64_t)1 << 20)
#define STACK_BYTES ((size_t)256 << 10)

/* Threads, and the queue of batches that they serve. */
struct crew {
    struct pool *pool;
    pthread_cond_t work;
    struct cio_batch *head, **tail;
    int64_t queued; /* pieces that nobody has taken */
    int busy, made;
    pthread_t *thread;
};

struct pool {
    struct cio_store store;
    pid_t pid;             /* this and `max` stay as they are */
    int max;               /* threads of a crew */
    pthread_mutex_t mutex; /* of what follows */
    pthread_cond_t done;
    int stop;
    uint32_t word;
    struct crew plain, locked;
    pthread_t thread[];
};

/* Some pieces of a batch, and what went wrong with it so far. */
struct run {
    struct cio_batch *batch;
    int from, to, error;
};

static struct pool *pool_of(struct cio_store *s)
{
    return (struct pool *)s;
}

static void wake_sleepers(uint32_t *word)
{
    __atomic_fetch_add(word, 1, __ATOMIC_RELEASE);
#ifdef __linux__
    syscall(SYS_futex, word, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
#endif
}

/* The threads. */

/* The rest of a batch that has failed is one run, of which nothing will be done. */
static struct run take(struct crew *c)
{
    struct cio_batch *b = c->head;
    struct run r = {b, b->own.taken, b->own.taken, b->own.error};
    int64_t bytes = 0;

    do {
        bytes += b->piece[r.to++].len;
    } while (r.to < b->n && (r.error != 0 || bytes + b->piece[r.to].len <= RUN_BYTES));
    b->own.taken = r.to;
    c->queued -= r.to - r.from;
    if (r.to < b->n)
        return r;
    c->head = b->own.next;
    if (c->head == NULL)
        c->tail = &c->head;
    return r;
}

/* A thread of a crew holds no lock yet, so it waits for any. */
static void transfer_run(struct pool *p, struct run *r)
{
    int next = r->from;

    if (r->error == 0)
        r->error = cio_store_transfer_some(p->store.below, r->batch, &next, r->to);
    if (r->error > 0)
        r->error = -EDEADLK;
}

/* Once nothing is left, the batch is the caller's again and not to be touched. */
static void put_back(struct pool *p, const struct run *r)
{
    struct cio_batch *b = r->batch;
    int left = b->own.left - (r->to - r->from);

    if (b->own.error == 0)
        b->own.error = r->error;
    __atomic_store_n(&b->own.left, left, __ATOMIC_RELEASE);
    if (left > 0)
        return;
    pthread_cond_broadcast(&p->done);
    wake_sleepers(&p->word);
}

static void serve_one(struct crew *c)
{
    struct pool *p = c->pool;
    struct run r = take(c);

    c->busy++;
    if (c->head != NULL)
        pthread_cond_signal(&c->work);
    pthread_mutex_unlock(&p->mutex);
    transfer_run(p, &r);
    pthread_mutex_lock(&p->mutex);
    c->busy--;
    put_back(p, &r);
}

static void *serve(void *arg)
{
    struct crew *c = arg;
    struct pool *p = c->pool;

    pthread_mutex_lock(&p->mutex);
    while (c->head != NULL || !p->stop) {
        if (c->head != NULL)
            serve_one(c);
        else
            pthread_cond_wait(&c->work, &p->mutex);
    }
    pthread_mutex_unlock(&p->mutex);
    return NULL;
}

/* The caller. */

/* Where thread-local data of the program does not fit on the small stack, an ordinary one. */
static int create_thread(struct crew *c, pthread_t *thread)
{
    pthread_attr_t attr;
    int rc = pthread_attr_init(&attr);

    if (rc != 0)
        return -rc;
    pthread_attr_setstacksize(&attr, STACK_BYTES);
    rc = pthread_create(thread, &attr, serve, c);
    pthread_attr_destroy(&attr);
    if (rc == EINVAL)
        rc = pthread_create(thread, NULL, serve, c);
    return -rc;
}

/* Makes threads for `n` more pieces, as far as they can be had. */
static void grow(struct crew *c, int n)
{
    int max = c->pool->max;
    sigset_t all, before;

    if (c->made == max || c->made - c->busy >= c->queued + n)
        return;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    while (c->made < max && c->made - c->busy < c->queued + n) {
        if (create_thread(c, &c->thread[c->made]) < 0)
            break;
        c->made++;
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
}

static void enqueue(struct crew *c, struct cio_batch *b)
{
    b->own.next = NULL;
    b->own.taken = 0;
    b->own.left = b->n;
    b->own.error = 0;
    *c->tail = b;
    c->tail = &b->own.next;
    c->queued += b->n;
    pthread_cond_signal(&c->work);
}

static int forked(const struct pool *p)
{
    return p->pid != getpid();
}

static int offer(struct pool *p, struct cio_batch *b)
{
    struct crew *c = b->locked ? &p->locked : &p->plain;
    int taken;

    if (forked(p))
        return 0;
    pthread_mutex_lock(&p->mutex);
    grow(c, b->n);
    taken = c->made > 0;
    if (taken)
        enqueue(c, b);
    pthread_mutex_unlock(&p->mutex);
    return taken;
}

static void pool_start(struct cio_store *s, struct cio_batch *b)
{
    if (!offer(pool_of(s), b))
        cio_store_start(s->below, b);
}

static int left(const struct cio_batch *b)
{
    return __atomic_load_n(&b->own.left, __ATOMIC_ACQUIRE);
}

static int pool_test(struct cio_store *s, struct cio_batch *b)
{
    int lost = left(b) > 0;

    if (lost && !forked(pool_of(s)))
        return 0;
    b->error = lost ? -ECANCELED : b->own.error;
    b->done = 1;
    return 1;
}

static void pool_wait(struct cio_store *s, struct cio_batch *b)
{
    struct pool *p = pool_of(s);

    if (pool_test(s, b))
        return;
    pthread_mutex_lock(&p->mutex);
    while (left(b) > 0)
        pthread_cond_wait(&p->done, &p->mutex);
    pthread_mutex_unlock(&p->mutex);
    pool_test(s, b);
}

static const uint32_t *pool_word(struct cio_store *s)
{
#ifdef __linux__
    return &pool_of(s)->word;
#else
    (void)s;
    return NULL;
#endif
}

/* One for each thread, and one that waits, so that none of them idles until the caller looks. */
static int pool_depth(const struct cio_store *s)
{
    return ((const struct pool *)s)->max + 1;
}

static const char *pool_name(const struct cio_store *s)
{
    (void)s;
    return "thread";
}

static void crew_init(struct crew *c, struct pool *p, pthread_t *thread)
{
    c->pool = p;
    c->tail = &c->head;
    c->thread = thread;
    pthread_cond_init(&c->work, NULL);
}

/* They have been told to stop. */
static void crew_fini(struct crew *c)
{
    for (int i = 0; i < c->made; i++)
        pthread_join(c->thread[i], NULL);
    pthread_cond_destroy(&c->work);
}

static void tell_to_stop(struct pool *p)
{
    pthread_mutex_lock(&p->mutex);
    p->stop = 1;
    pthread_cond_broadcast(&p->plain.work);
    pthread_cond_broadcast(&p->locked.work);
    pthread_mutex_unlock(&p->mutex);
}

static void pool_destroy(struct cio_store *s)
{
    struct pool *p = pool_of(s);

    if (!forked(p)) {
        tell_to_stop(p);
        crew_fini(&p->plain);
        crew_fini(&p->locked);
        pthread_cond_destroy(&p->done);
        pthread_mutex_destroy(&p->mutex);
    }
    cio_store_destroy(p->store.below);
    free(p);
}

static const struct cio_store_ops pool_ops = {
    .destroy = pool_destroy,
    .start = pool_start,
    .test = pool_test,
    .wait = pool_wait,
    .word = pool_word,
    .depth = pool_depth,
    .name = pool_name,
};

int cio_store_thread_create(struct cio_store *below, int threads, struct cio_store **out)
{
    struct pool *p;

    if (threads < 1)
        return -EINVAL;
    p = calloc(1, sizeof(*p) + 2 * (size_t)threads * sizeof(p->thread[0]));
    if (p == NULL)
        return -ENOMEM;
    p->store.ops = &pool_ops;
    p->store.below = below;
    p->pid = getpid();
    p->max = threads;
    pthread_mutex_init(&p->mutex, NULL);
    pthread_cond_init(&p->done, NULL);
    crew_init(&p->plain, p, p->thread);
    crew_init(&p->locked, p, p->thread + threads);
    *out = &p->store;
    return 0;
}
