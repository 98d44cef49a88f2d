/*
 * A file, as an aggregator sees it: whole transfers at an offset, or an error. They are made one at
 * a time by calls that block, or in batches that are under way while the caller does other things.
 * Results are 0 or a negative errno.
 *
 * Threads: any thread may call any function here, several at once and on one store, but two. Create
 * and destroy are of one thread, while no other is in the store. A batch is of one thread at a
 * time: who starts it, tests it and waits for it may be different ones, one after the other. Which
 * thread starts a batch does not matter to it, nor whether that thread lives on. (Stores that are
 * only for tests and simulation say where they are for less.) Some stores have threads of their
 * own, or the kernel's; these call nobody but the system. Blocking calls may be made while batches
 * are under way, on other ranges of the file.
 *
 * Read-modify-write is the caller's: lock the range, read it in batches, fill in, write it in
 * batches, and unlock once that is done. Others are kept out only if they lock, too: another
 * read-modify-write, or batches that are `locked`.
 */
#ifndef CIO_PORT_STORE_H
#define CIO_PORT_STORE_H

#include <stddef.h>
#include <stdint.h>

struct cio_store {
    const struct cio_store_ops *ops;
    struct cio_store *below; /* what it lies over: gets the calls that ops leaves NULL; or NULL */
};

/* One contiguous transfer of a batch. */
struct cio_piece {
    char *buf;
    int64_t len, off;
};

/*
 * Transfers that are under way together, in any order, none overlapping another or one of another
 * batch. The struct and the array are the caller's, and stay where they are until it is done. Once
 * done, `error` is 0 or the first error (negative errno); after one, other pieces may have been
 * left out, and what was read is undefined.
 *
 * With `locked`, each transfer is made under the lock of its range, taken and given back by whoever
 * makes it, so that no lock is ever held while somebody waits for the program. While somebody holds
 * a part of its ranges, it is not done; so whoever holds one must not wait for it, and what he does
 * in there himself is not `locked`. A store that does not overlap makes such transfers when they
 * are started, waiting for the lock; unless the calling thread holds one (for another operation):
 * then what would have to wait is left to test.
 */
struct cio_batch {
    int write;  /* else read */
    int locked; /* against the read-modify-write of others */
    const struct cio_piece *piece;
    int n;
    int error;
    int done; /* set by cio_store_start/test/wait only, i.e. by the caller's thread */
    struct {
        struct cio_store *by;   /* who has it: the store, or one below */
        struct cio_batch *next; /* in the store's queue */
        int taken;              /* pieces that have been begun */
        int left;               /* pieces that are not done */
        int error;
    } own; /* the store's own; need not be set */
};

/*
 * Whoever has nothing that could be under way leaves start to name NULL: batches are then done by
 * write and read when they are started. A start that has no use for a batch may hand it to
 * cio_store_start of the store below, which has it from then on.
 */
struct cio_store_ops {
    int (*write)(struct cio_store *s, const void *buf, int64_t len, int64_t off);
    int (*read)(struct cio_store *s, void *buf, int64_t len, int64_t off);
    int (*lock)(struct cio_store *s, int64_t off, int64_t len);
    void (*unlock)(struct cio_store *s, int64_t off, int64_t len);
    int64_t (*size)(struct cio_store *s);
    void (*destroy)(struct cio_store *s);
    void (*start)(struct cio_store *s, struct cio_batch *b);
    int (*test)(struct cio_store *s, struct cio_batch *b);
    void (*wait)(struct cio_store *s, struct cio_batch *b);
    const uint32_t *(*word)(struct cio_store *s);
    int (*depth)(const struct cio_store *s);
    const char *(*name)(const struct cio_store *s);
};

/* Writes all of it; short transfers and EINTR are gone on with. */
static inline int cio_store_write(struct cio_store *s, const void *buf, int64_t len, int64_t off)
{
    while (s->ops->write == NULL)
        s = s->below;
    return s->ops->write(s, buf, len, off);
}

/* Reads all of it; what lies beyond the end of the file reads as zeros. */
static inline int cio_store_read(struct cio_store *s, void *buf, int64_t len, int64_t off)
{
    while (s->ops->read == NULL)
        s = s->below;
    return s->ops->read(s, buf, len, off);
}

/* The one or the other. */
static inline int cio_store_transfer(struct cio_store *s, int write, const struct cio_piece *p)
{
    return write ? cio_store_write(s, p->buf, p->len, p->off)
                 : cio_store_read(s, p->buf, p->len, p->off);
}

/*
 * An exclusive lock on a range, for read-modify-write: nobody else has it, be it in another process
 * (also with plain fcntl locks, as ROMIO takes), in another thread, through another store or
 * descriptor of the file. Waits for it, asleep, in the order of asking within the process. It may
 * be held over many calls and is given back by unlock, with the same range of the same store, by
 * any thread.
 *
 * A thread holds one range at a time, as a rule. It may ask for a second, but is never made to wait
 * for it, so that nobody waits in a circle: -EDEADLK. -ENOTSUP where there are no locks. -ENOMEM.
 */
static inline int cio_store_lock(struct cio_store *s, int64_t off, int64_t len)
{
    while (s->ops->lock == NULL)
        s = s->below;
    return s->ops->lock(s, off, len);
}

static inline void cio_store_unlock(struct cio_store *s, int64_t off, int64_t len)
{
    while (s->ops->unlock == NULL)
        s = s->below;
    s->ops->unlock(s, off, len);
}

/*
 * Whether the calling thread holds a lock of any store. Then it must not wait for one that is not
 * a store's (a driver of ROMIO's locks, and waits): it might be waiting for itself.
 */
int cio_store_holding(void);

/* Where the file ends now; INT64_MAX where that cannot be known. */
static inline int64_t cio_store_size(struct cio_store *s)
{
    int64_t size;

    while (s->ops->size == NULL && s->below != NULL)
        s = s->below;
    size = s->ops->size != NULL ? s->ops->size(s) : -1;
    return size >= 0 ? size : INT64_MAX;
}

/*
 * Transfers pieces of a batch, from number *next to before `end`, and counts *next up; under locks,
 * if it is `locked`. Where pieces lie close together, one lock is taken for some of them. Stops at
 * the first error. 1: the next one would have to wait for a lock, and the calling thread holds one.
 */
int cio_store_transfer_some(struct cio_store *s, const struct cio_batch *b, int *next, int end);

/*
 * Starts a batch. Never fails: what goes wrong is the batch's error. A store that cannot overlap
 * does all of it here, and it is done at once. A batch of no pieces is done at once everywhere.
 */
void cio_store_start(struct cio_store *s, struct cio_batch *b);

/* 1 if it is done. Never waits for the file. Also lets the store go on with what it has queued. */
int cio_store_test(struct cio_store *s, struct cio_batch *b);

/*
 * Sleeps until it is done. The error -EDEADLK: it is `locked`, the store does not overlap, and it
 * would have to wait for a lock while the calling thread holds one.
 */
void cio_store_wait(struct cio_store *s, struct cio_batch *b);

/*
 * A counter that changes when a batch may have become done; the same for the life of the store.
 * A waiter may sleep on it as a futex, of the shared kind (FUTEX_WAIT, not FUTEX_WAIT_PRIVATE),
 * since that is how it is woken. NULL: there is none, either because nothing is ever under way
 * (depth 1), or because the store cannot wake anybody (uring): then test now and again.
 */
const uint32_t *cio_store_word(struct cio_store *s);

/* Batches that can usefully be under way at once; 1: it does not overlap. */
int cio_store_depth(const struct cio_store *s);

/* What it is, for reports: "blocking", "thread", "uring". */
const char *cio_store_name(const struct cio_store *s);

/* Nothing may be under way, nor locked. */
static inline void cio_store_destroy(struct cio_store *s)
{
    if (s != NULL)
        s->ops->destroy(s);
}

/*
 * A descriptor that stays the caller's. -ENOMEM.
 *
 * Its locks are those of open files (F_OFD_SETLK), which survive that somebody closes another
 * descriptor of the file; where the system or the file system has none, and in a child after
 * fork(), the classic ones. Each kind excludes the other.
 */
int cio_store_posix_create(int fd, struct cio_store **out);

/*
 * The same loop over transfer functions with pread's and pwrite's signature, so that short
 * transfers and EINTR can be tested. NULL means the system's, on the descriptor (an int) to which
 * `self` points. Such a store has no locks.
 */
struct cio_posix_calls {
    int64_t (*pwrite)(void *self, const void *buf, size_t len, int64_t off);
    int64_t (*pread)(void *self, void *buf, size_t len, int64_t off);
    void *self;
};
int cio_store_calls_create(const struct cio_posix_calls *calls, struct cio_store **out);

/*
 * A pool of threads in front of `below`, which becomes the pool's: destroyed with it, and not on
 * failure. At most `threads` (1 or more) for plain batches, and as many for `locked` ones. They
 * call its write, read and lock, so these must bear being called from several threads at once; all
 * stores here do. None is made before there is a batch for it, and where none can be made, batches
 * are done at once. A child after fork() may use the store, without threads. -EINVAL, -ENOMEM.
 */
int cio_store_thread_create(struct cio_store *below, int threads, struct cio_store **out);

/*
 * The file behind a descriptor (not owned), through the kernel's io_uring. Batches that are
 * `locked` are done by a pool of threads. If the ring fails later on, what it has not taken is done
 * by the calling thread, and what is started from then on by the pool. The error of the kernel
 * where it has none, refuses it, or cannot use it with this file: -ENOSYS, -EPERM, -EINVAL and
 * others; -ENOMEM. A child after fork() may use the store, without the ring.
 */
int cio_store_uring_create(int fd, struct cio_store **out);

/*
 * What the store asks of the kernel, so that its failures can be tested. Results are those of the
 * system calls, or a negative errno. NULL means the system's.
 */
struct cio_uring_calls {
    int (*setup)(void *self, unsigned entries, void *params);
    int (*enter)(void *self, int ring, unsigned submit);
    void *(*map)(void *self, int ring, size_t len, int64_t off); /* NULL, and errno */
    int (*result)(void *self, int result); /* what to make of the result of a request */
    void *self;
};

/* The same with a smaller ring and smaller requests, so that a full ring and a split are tested. */
struct cio_uring_limits {
    int entries;                         /* pieces under way at once; a power of two */
    int64_t bytes;                       /* in one request, less than 2 GiB */
    const struct cio_uring_calls *calls; /* or NULL */
};
int cio_store_uring_create_limited(int fd, const struct cio_uring_limits *limits,
                                   struct cio_store **out);

/*
 * A descriptor (not owned) as a store of the kind asked for, or, where that cannot be had, of the
 * next that can: uring, thread, blocking. cio_store_name tells which. Costs no thread and, but for
 * uring, one system call, which asks nobody but the local machine. -ENOMEM.
 */
enum cio_store_kind {
    CIO_STORE_AUTO, /* thread */
    CIO_STORE_BLOCKING,
    CIO_STORE_THREAD,
    CIO_STORE_URING,
};
int cio_store_open(int fd, enum cio_store_kind kind, struct cio_store **out);

/*
 * A file in memory, of any size: holes cost nothing (pages of 64 KiB, made when written). It has
 * locks, between the threads of the process.
 */
int cio_store_memory_create(struct cio_store **out);
int64_t cio_store_memory_size(struct cio_store *s);

/*
 * Wraps `below` (not owned). The write or read number `at` (from 0, counted apart from each other;
 * -1 means never) fails with `error`, a negative errno; with `sticky`, all later ones too. Counts
 * calls. `fault` stays the caller's, who may change it whenever nothing is under way.
 */
struct cio_fault {
    int64_t write_at, read_at;
    int error, sticky;
    int64_t writes, reads; /* calls so far */
};
int cio_store_faulty_create(struct cio_store *below, struct cio_fault *fault,
                            struct cio_store **out);

/*
 * Wraps `below` (not owned), which must not overlap. Batches are under way until they have been
 * tested up to 16 times, so that some end before others that were started earlier: how a slow file
 * looks to the caller, without threads and the same with every seed. For one thread.
 */
int cio_store_late_create(struct cio_store *below, uint64_t seed, struct cio_store **out);

/*
 * Wraps `below`, which takes as long as the throttle (port/throttle.h) says; neither is owned.
 * `writer` is this store's number among those who share the throttle.
 */
struct cio_throttle;
int cio_store_throttled_create(struct cio_store *below, struct cio_throttle *throttle, int writer,
                               struct cio_store **out);

#endif
