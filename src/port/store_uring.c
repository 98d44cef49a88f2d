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
 * After fork() the child shares the ring's memory with its parent, and leaves it alone: it does its
 * batches at once, and a batch of the parent's is done with -ECANCELED if the child asks for it.
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
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define THREADS 4
#define DEPTH 4 /* workers find the next batch waiting; more only makes the queue longer */

static const struct cio_uring_limits usual_limits = {.entries = 64, .bytes = (int64_t)1 << 30};

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

/* The rest of a piece that is under way; or the number of the next free slot. */
struct slot {
    struct cio_batch *batch;
    struct cio_piece rest;
    int next;
};

struct uring {
    struct cio_store store;
    int fd;
    pid_t pid;
    struct ring ring;
    struct cio_batch *head, **tail; /* batches with pieces that have no slot yet */
    unsigned prepared;              /* requests that the kernel has not been told of */
    unsigned under_way;             /* and those that it has */
    int64_t bytes;                  /* at most, in one request */
    int free;                       /* the first free slot, or -1 */
    struct slot slot[];
};

static struct uring *uring_of(struct cio_store *s)
{
    return (struct uring *)s;
}

/* The ring. */

static int map_ring(struct ring *r, const struct io_uring_params *p)
{
    int flags = MAP_SHARED | MAP_POPULATE, rc;
    size_t sq = p->sq_off.array + p->sq_entries * sizeof(unsigned);
    size_t cq = p->cq_off.cqes + p->cq_entries * sizeof(struct io_uring_cqe);

    r->rings_size = sq > cq ? sq : cq;
    r->sqes_size = p->sq_entries * sizeof(struct io_uring_sqe);
    r->rings = mmap(NULL, r->rings_size, PROT_READ | PROT_WRITE, flags, r->fd, IORING_OFF_SQ_RING);
    if (r->rings == MAP_FAILED)
        return -errno;
    r->sqe = mmap(NULL, r->sqes_size, PROT_READ | PROT_WRITE, flags, r->fd, IORING_OFF_SQES);
    if (r->sqe != MAP_FAILED)
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

static int ring_open(struct ring *r, int entries)
{
    struct io_uring_params p;
    int rc;

    memset(&p, 0, sizeof(p));
    r->fd = (int)syscall(SYS_io_uring_setup, entries, &p);
    if (r->fd < 0)
        return -errno;
    rc = p.features & IORING_FEAT_SINGLE_MMAP ? map_ring(r, &p) : -ENOSYS;
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

static int ring_enter(struct ring *r, unsigned submit, unsigned wait)
{
    int rc = (int)syscall(SYS_io_uring_enter, r->fd, submit, wait,
                          wait ? IORING_ENTER_GETEVENTS : 0, NULL, 0);

    return rc < 0 ? -errno : rc;
}

/* Slots. */

static void slot_free(struct uring *u, int i)
{
    u->slot[i].next = u->free;
    u->free = i;
}

static void prepare(struct uring *u, int i)
{
    struct slot *slot = &u->slot[i];
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

static void piece_done(struct cio_batch *b, int error)
{
    if (b->own.error == 0)
        b->own.error = error;
    b->own.left--;
}

static void slot_done(struct uring *u, int i, int error)
{
    piece_done(u->slot[i].batch, error);
    slot_free(u, i);
}

/* What a piece has come to. 1: there is more to transfer. Reading at the end gives zeros. */
static int advance(struct slot *slot, int result)
{
    struct cio_piece *rest = &slot->rest;

    if (result == -EINTR || result == -EAGAIN)
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
    return rest->len > 0 && slot->batch->own.error == 0;
}

static void complete(struct uring *u, const struct io_uring_cqe *cqe)
{
    int i = (int)cqe->user_data, rc = advance(&u->slot[i], cqe->res);

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

/* Takes back what the kernel would not have. */
static void withdraw(struct uring *u, int error)
{
    struct ring *r = &u->ring;
    unsigned tail = *r->sq_tail - u->prepared;

    for (unsigned i = 0; i < u->prepared; i++)
        slot_done(u, (int)r->sqe[(tail + i) & r->sq_mask].user_data, error);
    __atomic_store_n(r->sq_tail, tail, __ATOMIC_RELEASE);
    u->prepared = 0;
}

/* Where the kernel is short of something, the rest is submitted another time. */
static void submit(struct uring *u)
{
    while (u->prepared > 0) {
        int rc = ring_enter(&u->ring, u->prepared, 0);

        if (rc == -EAGAIN || rc == -EBUSY || rc == 0)
            return;
        if (rc > 0) {
            u->prepared -= (unsigned)rc;
            u->under_way += (unsigned)rc;
        } else if (rc != -EINTR) {
            withdraw(u, rc);
        }
    }
}

/* Batches. */

/* Offset -1 would be the descriptor's own position, to the kernel. */
static void begin_piece(struct uring *u, struct cio_batch *b)
{
    const struct cio_piece *piece = &b->piece[b->own.taken++];
    int i = u->free, error = piece->off < 0 ? -EINVAL : 0;

    if (piece->len == 0 || error != 0 || b->own.error != 0) {
        piece_done(b, error);
        return;
    }
    u->free = u->slot[i].next;
    u->slot[i].batch = b;
    u->slot[i].rest = *piece;
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
    reap(u);
    begin_batches(u);
    submit(u);
}

static int forked(const struct uring *u)
{
    return u->pid != getpid();
}

static void uring_start(struct cio_store *s, struct cio_batch *b)
{
    struct uring *u = uring_of(s);

    if (b->locked || forked(u)) {
        cio_store_start(u->store.below, b);
        return;
    }
    b->own.next = NULL;
    b->own.taken = 0;
    b->own.left = b->n;
    b->own.error = 0;
    *u->tail = b;
    u->tail = &b->own.next;
    go_on(u);
}

static int batch_end(struct cio_batch *b, int error)
{
    b->error = error;
    b->done = 1;
    return 1;
}

static int uring_test(struct cio_store *s, struct cio_batch *b)
{
    struct uring *u = uring_of(s);

    if (forked(u))
        return batch_end(b, b->own.left > 0 ? -ECANCELED : b->own.error);
    go_on(u);
    return b->own.left > 0 ? 0 : batch_end(b, b->own.error);
}

/* Until something is done, or, where nothing could be submitted, for a moment. */
static void sleep_a_while(struct uring *u)
{
    struct timespec moment = {0, 1000000};

    if (u->under_way > 0)
        ring_enter(&u->ring, 0, 1);
    else
        nanosleep(&moment, NULL);
}

static void uring_wait(struct cio_store *s, struct cio_batch *b)
{
    while (!uring_test(s, b))
        sleep_a_while(uring_of(s));
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
    int i = u->free;

    u->free = u->slot[i].next;
    u->slot[i] = (struct slot){&b, nothing, -1};
    prepare(u, i);
    uring_wait(&u->store, &b);
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
    u->tail = &u->head;
    u->bytes = limits->bytes;
    u->free = -1;
    for (int i = limits->entries - 1; i >= 0; i--)
        slot_free(u, i);
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
    rc = ring_open(&u->ring, limits->entries);
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
    free(u);
    return rc;
}

int cio_store_uring_create(int fd, struct cio_store **out)
{
    return cio_store_uring_create_limited(fd, &usual_limits, out);
}

#endif
