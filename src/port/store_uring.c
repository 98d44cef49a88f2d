/*
 * A file through io_uring, by system calls of our own: liburing would have to be linked into MPICH
 * and into a preload library, on machines that may not have it.
 *
 * Every request is marked IOSQE_ASYNC. Without that the kernel may do a buffered transfer while it
 * is submitted, which is copying in the caller's time; with it a worker of the kernel does it.
 *
 * A piece takes a slot, of which there are as many as the ring has entries, so that neither of its
 * queues can overflow. A transfer that was short, interrupted, or larger than one request may be
 * goes on from its slot. What finds no slot waits in a queue of batches, which start, test and wait
 * go on with.
 *
 * The ring is made with the store, since only that tells whether there is one. The caller makes the
 * store at the first collective call, not at open.
 *
 * A ring cannot lock. Batches that are `locked` go to the store below, a pool of threads, which
 * makes none before there is such a batch.
 *
 * Where the kernel is short of something, or a signal comes, what it would not take is offered
 * again, for a moment (PATIENCE). After that, or at once if something else is wrong, the ring is
 * not used any more: the thread that came upon it transfers what the kernel has not taken, what it
 * has is waited for (it ends without calls), and later batches are the pool's. A request that the
 * kernel gives back undone again and again (TRIES) is made by the thread that finds it, too.
 *
 * Several threads may be here at once: one mutex, not held while something is transferred or waited
 * for. When a thread exits, the kernel may cancel what it has submitted; that is begun again.
 *
 * After fork() the child shares the ring's memory with its parent, and leaves it alone: its batches
 * go to the store below, and a batch of the parent's is done with -ECANCELED if the child asks for
 * it.
 */
#include "port/store.h"

#include <errno.h>

#if defined(__linux__) && defined(__has_include)
#if __has_include(<linux/io_uring.h>)
#include <linux/io_uring.h>
#include <sys/syscall.h>
#if defined(SYS_io_uring_setup) && defined(IORING_FEAT_RW_CUR_POS)
#define HAVE_URING 1
#endif
#endif
#endif

#ifndef HAVE_URING

int cio_store_uring_create(int fd, struct cio_store **out)
{
    (void)fd, (void)out;
    return -ENOSYS;
}

int cio_store_uring_create_limited(int fd, const struct cio_uring_limits *limits,
                                   struct cio_store **out)
{
    (void)fd, (void)limits, (void)out;
    return -ENOSYS;
}

#else

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define DEPTH 4 /* workers find the next batch waiting; more only makes the queue longer */
#define MS ((int64_t)1000000)
#define PATIENCE (100 * MS)
#define TRIES 100
#define THREADS 4

static const struct cio_uring_limits usual_limits = {64, (int64_t)1 << 30, NULL};

/* What is mapped of the kernel's: indices and masks, the submissions and the completions. */
struct ring {
    int fd;
    void *rings;
    size_t rings_size, sqes_size;
    unsigned *sq_tail, sq_mask;
    unsigned *cq_head, *cq_tail, cq_mask;
    struct io_uring_sqe *sqe;
    const struct io_uring_cqe *cqe;
};

/* The rest of a piece that is under way; or free. */
struct slot {
    struct cio_batch *batch;
    struct cio_piece rest;
    int tries; /* since it last got on */
    int next;  /* in one of the lists below */
};

struct uring {
    struct cio_store store; /* below: a pool of threads */
    int fd;
    pid_t pid;
    int64_t bytes; /* at most, in one request */
    struct cio_uring_calls calls;
    pthread_mutex_t mutex; /* of what follows */
    struct ring ring;
    struct cio_batch *head, **tail; /* batches with pieces that have no slot yet */
    unsigned prepared;              /* requests that the kernel has not been told of */
    unsigned under_way;             /* and those that it has */
    int64_t refused;                /* since when the kernel has taken none; 0: it takes them */
    int broken;                     /* why the ring is not used any more (negative errno); or 0 */
    int free;                       /* the first free slot, or -1 */
    int by_hand;                    /* the first slot that a calling thread has to do, or -1 */
    struct slot slot[];
};

static struct uring *uring_of(struct cio_store *s)
{
    return (struct uring *)s;
}

/* The system. */

static int system_setup(void *self, unsigned entries, void *params)
{
    int rc = (int)syscall(SYS_io_uring_setup, entries, params);

    (void)self;
    return rc < 0 ? -errno : rc;
}

static int system_enter(void *self, int ring, unsigned submit)
{
    int rc = (int)syscall(SYS_io_uring_enter, ring, submit, 0, 0, NULL, 0);

    (void)self;
    return rc < 0 ? -errno : rc;
}

static void *system_map(void *self, int ring, size_t len, int64_t off)
{
    void *p = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, ring, off);

    (void)self;
    return p == MAP_FAILED ? NULL : p;
}

static int same_result(void *self, int result)
{
    (void)self;
    return result;
}

static struct cio_uring_calls complete_calls(const struct cio_uring_calls *given)
{
    struct cio_uring_calls c = {0};

    if (given != NULL)
        c = *given;
    c.setup = c.setup != NULL ? c.setup : system_setup;
    c.enter = c.enter != NULL ? c.enter : system_enter;
    c.map = c.map != NULL ? c.map : system_map;
    c.result = c.result != NULL ? c.result : same_result;
    return c;
}

static int64_t now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000 * MS + t.tv_nsec;
}

/* The ring. */

static int map_ring(struct ring *r, const struct cio_uring_calls *c,
                    const struct io_uring_params *p)
{
    size_t sq = p->sq_off.array + p->sq_entries * sizeof(unsigned);
    size_t cq = p->cq_off.cqes + p->cq_entries * sizeof(struct io_uring_cqe);
    int rc;

    r->rings_size = sq > cq ? sq : cq;
    r->sqes_size = p->sq_entries * sizeof(struct io_uring_sqe);
    r->rings = c->map(c->self, r->fd, r->rings_size, IORING_OFF_SQ_RING);
    if (r->rings == NULL)
        return -errno;
    r->sqe = c->map(c->self, r->fd, r->sqes_size, IORING_OFF_SQES);
    if (r->sqe != NULL)
        return 0;
    rc = -errno;
    munmap(r->rings, r->rings_size);
    return rc;
}

/* Entry i of the queue is always submission i. */
static void find_queues(struct ring *r, const struct io_uring_params *p)
{
    char *base = r->rings;
    unsigned *array = (unsigned *)(base + p->sq_off.array);

    r->sq_tail = (unsigned *)(base + p->sq_off.tail);
    r->sq_mask = *(unsigned *)(base + p->sq_off.ring_mask);
    r->cq_head = (unsigned *)(base + p->cq_off.head);
    r->cq_tail = (unsigned *)(base + p->cq_off.tail);
    r->cq_mask = *(unsigned *)(base + p->cq_off.ring_mask);
    r->cqe = (const struct io_uring_cqe *)(base + p->cq_off.cqes);
    for (unsigned i = 0; i < p->sq_entries; i++)
        array[i] = i;
}

static int ring_open(struct ring *r, const struct cio_uring_calls *c, int entries)
{
    struct io_uring_params p;
    int rc;

    memset(&p, 0, sizeof(p));
    r->fd = c->setup(c->self, (unsigned)entries, &p);
    if (r->fd < 0)
        return r->fd;
    rc = p.features & IORING_FEAT_SINGLE_MMAP ? map_ring(r, c, &p) : -ENOSYS;
    if (rc < 0)
        close(r->fd);
    else
        find_queues(r, &p);
    return rc;
}

static void ring_close(struct ring *r)
{
    munmap(r->sqe, r->sqes_size);
    munmap(r->rings, r->rings_size);
    close(r->fd);
}

/* Slots. */

static int slot_take(struct uring *u, int *list)
{
    int i = *list;

    *list = u->slot[i].next;
    return i;
}

static void slot_put(struct uring *u, int *list, int i)
{
    u->slot[i].next = *list;
    *list = i;
}

static void enter_queue(struct uring *u, int i)
{
    const struct slot *slot = &u->slot[i];
    struct ring *r = &u->ring;
    unsigned tail = *r->sq_tail;
    int64_t len = slot->rest.len < u->bytes ? slot->rest.len : u->bytes;

    r->sqe[tail & r->sq_mask] = (struct io_uring_sqe){
        .opcode = slot->batch->write ? IORING_OP_WRITE : IORING_OP_READ,
        .flags = IOSQE_ASYNC,
        .fd = u->fd,
        .off = (uint64_t)slot->rest.off,
        .addr = (uint64_t)(uintptr_t)slot->rest.buf,
        .len = (uint32_t)len,
        .user_data = (uint64_t)i,
    };
    __atomic_store_n(r->sq_tail, tail + 1, __ATOMIC_RELEASE);
    u->prepared++;
}

static void prepare(struct uring *u, int i)
{
    if (u->broken == 0 && u->slot[i].tries < TRIES)
        enter_queue(u, i);
    else
        slot_put(u, &u->by_hand, i);
}

/* Once nothing is left, the batch is the caller's again and not to be touched. */
static void piece_done(struct cio_batch *b, int error)
{
    if (b->own.error == 0)
        b->own.error = error;
    b->own.left--;
}

static void slot_done(struct uring *u, int i, int error)
{
    piece_done(u->slot[i].batch, error);
    slot_put(u, &u->free, i);
}

/* What a piece has come to. 1: there is more to transfer. Reading at the end gives zeros. */
static int advance(struct slot *slot, int result)
{
    struct cio_piece *rest = &slot->rest;

    slot->tries++;
    if (result == -EINTR || result == -EAGAIN || result == -ECANCELED)
        return 1;
    if (result < 0)
        return result;
    if (result == 0 && slot->batch->write)
        return -EIO;
    if (result == 0) {
        memset(rest->buf, 0, (size_t)rest->len);
        return 0;
    }
    rest->buf += result;
    rest->off += result;
    rest->len -= result;
    slot->tries = 0;
    return rest->len > 0 && slot->batch->own.error == 0;
}

static void complete(struct uring *u, const struct io_uring_cqe *cqe)
{
    int i = (int)cqe->user_data;
    int rc = advance(&u->slot[i], u->calls.result(u->calls.self, cqe->res));

    u->under_way--;
    if (rc > 0)
        prepare(u, i);
    else
        slot_done(u, i, rc);
}

static void reap(struct uring *u)
{
    struct ring *r = &u->ring;
    unsigned head = *r->cq_head, tail = __atomic_load_n(r->cq_tail, __ATOMIC_ACQUIRE);

    for (; head != tail; head++)
        complete(u, &r->cqe[head & r->cq_mask]);
    __atomic_store_n(r->cq_head, head, __ATOMIC_RELEASE);
}

/* Takes back what the kernel would not have, and offers it nothing any more. */
static void give_up(struct uring *u, int error)
{
    struct ring *r = &u->ring;
    unsigned tail = *r->sq_tail - u->prepared;

    u->broken = error;
    for (unsigned i = 0; i < u->prepared; i++)
        slot_put(u, &u->by_hand, (int)r->sqe[(tail + i) & r->sq_mask].user_data);
    __atomic_store_n(r->sq_tail, tail, __ATOMIC_RELEASE);
    u->prepared = 0;
}

/* An interruption, or a lack of something, and not for long yet. */
static int may_pass(struct uring *u, int rc)
{
    if (rc != 0 && rc != -EINTR && rc != -EAGAIN && rc != -EBUSY && rc != -ENOMEM)
        return 0;
    if (u->refused == 0)
        u->refused = now();
    return now() - u->refused < PATIENCE;
}

/* What the kernel does not take now may be left for another time. */
static void submit(struct uring *u)
{
    while (u->prepared > 0) {
        int rc = u->calls.enter(u->calls.self, u->ring.fd, u->prepared);

        if (rc > 0) {
            u->prepared -= (unsigned)rc;
            u->under_way += (unsigned)rc;
            u->refused = 0;
        } else if (!may_pass(u, rc)) {
            give_up(u, rc < 0 ? rc : -EIO);
        } else if (rc != -EINTR) {
            return;
        }
    }
}

/* Makes one transfer that the kernel did not. 0: there is none. */
static int transfer_by_hand(struct uring *u)
{
    int i, error = 0;

    if (u->by_hand < 0)
        return 0;
    i = slot_take(u, &u->by_hand);
    if (u->slot[i].batch->own.error == 0) {
        pthread_mutex_unlock(&u->mutex);
        error = cio_store_transfer(u->store.below, u->slot[i].batch->write, &u->slot[i].rest);
        pthread_mutex_lock(&u->mutex);
    }
    slot_done(u, i, error);
    return 1;
}

/* Batches. */

/* Offset -1 would be the descriptor's own position, to the kernel. */
static void begin_piece(struct uring *u, struct cio_batch *b)
{
    const struct cio_piece *piece = &b->piece[b->own.taken++];
    int i, error = piece->off < 0 ? -EINVAL : 0;

    if (piece->len == 0 || error != 0 || b->own.error != 0) {
        piece_done(b, error);
        return;
    }
    i = slot_take(u, &u->free);
    u->slot[i] = (struct slot){.batch = b, .rest = *piece};
    prepare(u, i);
}

static void begin_batches(struct uring *u)
{
    while (u->head != NULL && u->free >= 0) {
        struct cio_batch *b = u->head;

        if (b->own.taken == b->n - 1)
            u->head = b->own.next;
        begin_piece(u, b);
    }
    if (u->head == NULL)
        u->tail = &u->head;
}

static void go_on(struct uring *u)
{
    do {
        reap(u);
        begin_batches(u);
        submit(u);
    } while (transfer_by_hand(u));
}

static int forked(const struct uring *u)
{
    return u->pid != getpid();
}

static void enqueue(struct uring *u, struct cio_batch *b)
{
    b->own.next = NULL;
    b->own.left = b->n;
    b->own.error = 0;
    *u->tail = b;
    u->tail = &b->own.next;
}

/* 0: it is not for the ring. */
static int offer(struct uring *u, struct cio_batch *b)
{
    int takes;

    if (b->locked || forked(u))
        return 0;
    pthread_mutex_lock(&u->mutex);
    takes = u->broken == 0;
    if (takes) {
        enqueue(u, b);
        go_on(u);
    }
    pthread_mutex_unlock(&u->mutex);
    return takes;
}

static void uring_start(struct cio_store *s, struct cio_batch *b)
{
    if (!offer(uring_of(s), b))
        cio_store_start(s->below, b);
}

static int batch_end(struct cio_batch *b, int error)
{
    b->error = error;
    b->done = 1;
    return 1;
}

/* Goes on with what there is. 1: the batch is over; else *under_way tells whether anything is. */
static int look(struct uring *u, const struct cio_batch *b, int *under_way)
{
    int over;

    pthread_mutex_lock(&u->mutex);
    go_on(u);
    over = b->own.left == 0;
    *under_way = u->under_way > 0;
    pthread_mutex_unlock(&u->mutex);
    return over;
}

static int uring_test(struct cio_store *s, struct cio_batch *b)
{
    struct uring *u = uring_of(s);
    int under_way;

    if (forked(u))
        return batch_end(b, b->own.left > 0 ? -ECANCELED : b->own.error);
    return look(u, b, &under_way) && batch_end(b, b->own.error);
}

/*
 * Until the kernel says that something is done; but another thread may see it first, or the ring be
 * no descriptor any more, so never for long.
 */
static void sleep_a_while(const struct uring *u, int under_way)
{
    struct pollfd ring = {.fd = u->ring.fd, .events = POLLIN};
    const struct timespec moment = {0, MS};

    if (!under_way || poll(&ring, 1, 10) < 0 || (ring.revents & ~POLLIN) != 0)
        nanosleep(&moment, NULL);
}

static void uring_wait(struct cio_store *s, struct cio_batch *b)
{
    struct uring *u = uring_of(s);
    int under_way;

    while (!forked(u) && !look(u, b, &under_way))
        sleep_a_while(u, under_way);
    uring_test(s, b);
}

static int uring_depth(const struct cio_store *s)
{
    (void)s;
    return DEPTH;
}

static const char *uring_name(const struct cio_store *s)
{
    (void)s;
    return "uring";
}

static void uring_destroy(struct cio_store *s)
{
    struct uring *u = uring_of(s);

    ring_close(&u->ring);
    if (!forked(u))
        pthread_mutex_destroy(&u->mutex);
    cio_store_destroy(u->store.below);
    free(u);
}

static const struct cio_store_ops uring_ops = {
    .destroy = uring_destroy,
    .start = uring_start,
    .test = uring_test,
    .wait = uring_wait,
    .depth = uring_depth,
    .name = uring_name,
};

/*
 * Whether this file can be had in this way. A transfer of nothing goes through the same doors, but
 * takes no lock of the file system's, for which another aggregator would have to wait.
 */
static int probe(struct uring *u, int flags)
{
    struct cio_piece nothing = {(char *)u, 0, 0};
    struct cio_batch b = {.write = (flags & O_ACCMODE) == O_WRONLY, .own.left = 1};
    int i = slot_take(u, &u->free);

    u->slot[i] = (struct slot){.batch = &b, .rest = nothing};
    prepare(u, i);
    uring_wait(&u->store, &b);
    if (u->broken != 0)
        return u->broken;
    return b.write && b.error == -EIO ? 0 : b.error;
}

static struct uring *uring_new(int fd, const struct cio_uring_limits *limits)
{
    size_t slots = (size_t)limits->entries * sizeof(struct slot);
    struct uring *u = calloc(1, sizeof(*u) + slots);

    if (u == NULL)
        return NULL;
    u->store.ops = &uring_ops;
    u->fd = fd;
    u->pid = getpid();
    u->bytes = limits->bytes;
    u->calls = complete_calls(limits->calls);
    u->tail = &u->head;
    u->free = u->by_hand = -1;
    for (int i = limits->entries - 1; i >= 0; i--)
        slot_put(u, &u->free, i);
    pthread_mutex_init(&u->mutex, NULL);
    return u;
}

static int create_below(int fd, struct cio_store **out)
{
    struct cio_store *posix;
    int rc = cio_store_posix_create(fd, &posix);

    if (rc < 0)
        return rc;
    rc = cio_store_thread_create(posix, THREADS, out);
    if (rc < 0)
        cio_store_destroy(posix);
    return rc;
}

int cio_store_uring_create_limited(int fd, const struct cio_uring_limits *limits,
                                   struct cio_store **out)
{
    int flags = fcntl(fd, F_GETFL), rc;
    struct uring *u;

    if (flags < 0)
        return -errno;
    u = uring_new(fd, limits);
    if (u == NULL)
        return -ENOMEM;
    rc = create_below(fd, &u->store.below);
    if (rc < 0)
        goto free_store;
    rc = ring_open(&u->ring, &u->calls, limits->entries);
    if (rc < 0)
        goto destroy_below;
    rc = probe(u, flags);
    if (rc < 0)
        goto close_ring;
    *out = &u->store;
    return 0;

close_ring:
    ring_close(&u->ring);
destroy_below:
    cio_store_destroy(u->store.below);
free_store:
    pthread_mutex_destroy(&u->mutex);
    free(u);
    return rc;
}

int cio_store_uring_create(int fd, struct cio_store **out)
{
    return cio_store_uring_create_limited(fd, &usual_limits, out);
}

#endif
