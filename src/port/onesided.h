/*
 * One-sided communication between the ranks of a communicator, with passive targets: each rank
 * exposes a region of memory that others write, read and add to while it does something else. Two
 * implementations: MPI windows (onesided_mpi.h), and an in-process loop in which every rank is a
 * thread (onesided_loop.h).
 *
 * Ranks of a node also map each other's regions: local() gives the address, and what is written
 * there needs nobody's help. What others do to a region through put and add is seen by its node's
 * loads once it is complete. A word is either added to by add, or stored by the node; never both.
 *
 * Whether a put, get or add makes progress while its target computes is a matter of the MPI: many
 * need the target inside some MPI call (doc/tcio.md). Errors are 0 or a negative errno.
 */
#ifndef CIO_PORT_ONESIDED_H
#define CIO_PORT_ONESIDED_H

#include <stddef.h>
#include <stdint.h>

#define CIO_ONESIDED_WORDS (128 << 10)

struct cio_onesided {
    int rank, size;
    int nodes;          /* sets of ranks that map each other's regions */
    const int *node_of; /* of each rank: 0 .. nodes - 1 */
    const struct cio_onesided_ops *ops;
};

struct cio_onesided_ops {
    int (*put)(struct cio_onesided *os, const void *from, int64_t len, int target, int64_t at);
    int (*store)(struct cio_onesided *os, uint64_t word, int target, int64_t at);
    int (*get)(struct cio_onesided *os, void *to, int64_t len, int target, int64_t at);
    int (*add)(struct cio_onesided *os, uint64_t by, int target, int64_t at, uint64_t *old);
    int (*flush)(struct cio_onesided *os, int target);
    int (*agree)(struct cio_onesided *os, int64_t *word, int n);
    void (*progress)(struct cio_onesided *os);
    int (*responds)(struct cio_onesided *os, int target);
    int (*back)(struct cio_onesided *os, int rank, int64_t from, int64_t to);
    void *(*local)(struct cio_onesided *os, int rank);
    void (*destroy)(struct cio_onesided *os);
};

/*
 * Starts to write `len` bytes at `at` of the target's region. Buffers stay untouched, and results
 * are not looked at, until the next flush of that target.
 */
static inline int cio_onesided_put(struct cio_onesided *os, const void *from, int64_t len,
                                   int target, int64_t at)
{
    return os->ops->put(os, from, len, target, at);
}

/* The same for one word, which is kept by the port; never seen in parts. `at` is aligned. */
static inline int cio_onesided_store(struct cio_onesided *os, uint64_t word, int target, int64_t at)
{
    return os->ops->store(os, word, target, at);
}

static inline int cio_onesided_get(struct cio_onesided *os, void *to, int64_t len, int target,
                                   int64_t at)
{
    return os->ops->get(os, to, len, target, at);
}

/* Adds to a word, atomically among adds, and gets what it was. */
static inline int cio_onesided_add(struct cio_onesided *os, uint64_t by, int target, int64_t at,
                                   uint64_t *old)
{
    return os->ops->add(os, by, target, at, old);
}

/* All that this rank has started at the target is complete, there and here. */
static inline int cio_onesided_flush(struct cio_onesided *os, int target)
{
    return os->ops->flush(os, target);
}

/* Collective: every word becomes the largest that any rank gave. Also a barrier. */
static inline int cio_onesided_agree(struct cio_onesided *os, int64_t *word, int n)
{
    return os->ops->agree(os, word, n);
}

/* Lets what others do to this rank's region go on. Never waits. */
static inline void cio_onesided_progress(struct cio_onesided *os)
{
    os->ops->progress(os);
}

/*
 * Whether the target lets one-sided calls go on. Never waits: the first call asks, and it or later
 * ones tell 1 when the answer has come, once; 0 until then. Many targets that compute do not
 * answer.
 */
static inline int cio_onesided_responds(struct cio_onesided *os, int target)
{
    return os->ops->responds(os, target);
}

/*
 * Backs bytes of a region on this node by memory: -ENOSPC now rather than a SIGBUS later. What is
 * exposed is backed from the start; if there is no other node, CIO_ONESIDED_WORDS of it.
 */
static inline int cio_onesided_back(struct cio_onesided *os, int rank, int64_t from, int64_t to)
{
    return os->ops->back(os, rank, from, to);
}

/* The region of a rank of this node, zeroed at first; NULL for one of another node. */
static inline void *cio_onesided_local(struct cio_onesided *os, int rank)
{
    return os->ops->local(os, rank);
}

/* Collective. */
static inline void cio_onesided_destroy(struct cio_onesided *os)
{
    if (os != NULL)
        os->ops->destroy(os);
}

#endif
