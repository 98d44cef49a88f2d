/*
 * A file, as an aggregator sees it: whole transfers at an offset, or an error. Implementations:
 * POSIX (the one pwrite/pread loop), memory, and a faulty one that wraps another.
 * Results are 0 or a negative errno.
 */
#ifndef CIO_PORT_STORE_H
#define CIO_PORT_STORE_H

#include <stddef.h>
#include <stdint.h>

struct cio_store {
    const struct cio_store_ops *ops;
};

struct cio_store_ops {
    int (*write)(struct cio_store *s, const void *buf, int64_t len, int64_t off);
    int (*read)(struct cio_store *s, void *buf, int64_t len, int64_t off);
    int (*lock)(struct cio_store *s, int64_t off, int64_t len);
    void (*unlock)(struct cio_store *s, int64_t off, int64_t len);
    int64_t (*size)(struct cio_store *s);
    void (*destroy)(struct cio_store *s);
};

/* Writes all of it; short transfers and EINTR are gone on with. */
static inline int cio_store_write(struct cio_store *s, const void *buf, int64_t len, int64_t off)
{
    return s->ops->write(s, buf, len, off);
}

/* Reads all of it; what lies beyond the end of the file reads as zeros. */
static inline int cio_store_read(struct cio_store *s, void *buf, int64_t len, int64_t off)
{
    return s->ops->read(s, buf, len, off);
}

/* An exclusive lock on a range, for read-modify-write. -ENOTSUP where there are no locks. */
static inline int cio_store_lock(struct cio_store *s, int64_t off, int64_t len)
{
    return s->ops->lock(s, off, len);
}

static inline void cio_store_unlock(struct cio_store *s, int64_t off, int64_t len)
{
    s->ops->unlock(s, off, len);
}

/* Where the file ends now; INT64_MAX where that cannot be known. */
static inline int64_t cio_store_size(struct cio_store *s)
{
    int64_t size = s->ops->size != NULL ? s->ops->size(s) : -1;

    return size >= 0 ? size : INT64_MAX;
}

static inline void cio_store_destroy(struct cio_store *s)
{
    if (s != NULL)
        s->ops->destroy(s);
}

/* A descriptor that stays the caller's. -ENOMEM. */
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

/* A file in memory, of any size: holes cost nothing (pages of 64 KiB, made when written). */
int cio_store_memory_create(struct cio_store **out);
int64_t cio_store_memory_size(const struct cio_store *s);

/*
 * Wraps `below` (not owned). The write or read number `at` (from 0, counted apart from each other;
 * -1 means never) fails with `error`, a negative errno; with `sticky`, all later ones too. Counts
 * calls. `fault` stays the caller's, who may change it at any time.
 */
struct cio_fault {
    int64_t write_at, read_at;
    int error, sticky;
    int64_t writes, reads; /* calls so far */
};
int cio_store_faulty_create(struct cio_store *below, struct cio_fault *fault,
                            struct cio_store **out);

#endif
