/*
 * One collective write or read: started, made to progress, finished. Never blocks inside.
 *
 *   every rank        a member: describes its pieces, copies its own bytes
 *   leaders           one per group: merge the group's pieces, talk to the aggregators
 *   aggregators       serve their rounds of the file
 *
 * A rank may be all three. All ranks of the communicator take part, also those with no bytes.
 * Errors are 0 or a negative errno; an error on any rank reaches all of them, after every message
 * of the operation has been drained.
 */
#ifndef CIO_EXEC_OP_H
#define CIO_EXEC_OP_H

#include "exec/stats.h"
#include "exec/team.h"
#include "plan/choose.h"
#include "plan/domain.h"
#include "plan/flat.h"
#include "plan/hints.h"
#include "port/alloc.h"
#include "port/comm.h"
#include "port/nodemem.h"
#include "port/store.h"

struct cio_op;

/* What outlives an operation on a file: the group's segment, which the next one uses again. */
struct cio_segment {
    char key[32];           /* the same on all ranks, and no other segment's; "": none is wanted */
    struct cio_nodemem mem; /* base is NULL while there is none */
    int shared;             /* every rank of every group is known to have joined its own */
    int refused;            /* shared memory could not be had: do not ask again */
    uint32_t told, arrived; /* notes on the board so far, and answers */
    int64_t largest;        /* bytes of all ranks in the largest operation so far */
    int with_near;          /* aggregators of the node join the segments of all its groups too, */
    struct cio_nodemem *near; /* by leader: those that I have joined so; NULL: none */
    int nnear;
};

/*
 * Joins the group's segment, for which key has been set: 0, or why it cannot be had. Operations do
 * so themselves where it has not been done; a caller that does it before, and finds by other means
 * that all ranks could, sets `shared`, and saves them a reduction over all ranks.
 */
int cio_segment_join(struct cio_segment *segment, struct cio_node_memory nodemem,
                     const struct cio_team *team, int64_t memory_limit);

/*
 * On an aggregator, before it is found whether all could join: joins those of the other groups on
 * its node, as far as they can be had; what these have to say to each other then needs no messages.
 * All ranks have set with_near.
 */
void cio_segment_join_near(struct cio_segment *segment, struct cio_node_memory nodemem,
                           const struct cio_team *team, int64_t memory_limit);

/*
 * The memory limit, or as much of it as the segments of all groups of any node can be mapped with
 * in so many bytes of address space. The same on all ranks that ask with the same numbers.
 */
int64_t cio_segment_limit(const struct cio_team *team, int64_t memory_limit, int64_t room);

/*
 * Bytes that its boards, and those of other groups that I have joined, take of the node's memory:
 * of each, one member's share.
 */
int64_t cio_segment_share(const struct cio_segment *segment);

/* Gives back what the segment holds. */
void cio_segment_leave(struct cio_segment *segment, struct cio_node_memory nodemem);

/* What outlives an operation on a file for the sake of the next: how long rounds have taken. */
struct cio_pace {
    int64_t ns[2]; /* read, write; an average of operations in which this rank was an aggregator */
    int unused;    /* the last operation needed no buffers: it was small, or left to others */
};

/*
 * The other operations of this process. Whoever waits in one makes them progress too, since other
 * ranks may have to see their end before they come to this one. Returns how many there are still.
 */
struct cio_others {
    int (*progress)(void *self); /* NULL: there are never any */
    void *self;
};

/* What an operation works with; all of it the caller's, and alive until it is finished. */
struct cio_env {
    struct cio_comm *comm;
    struct cio_node_memory nodemem;
    struct cio_node_memory own; /* boards of one rank; none: cio_nodemem_own */
    struct cio_alloc alloc;
    struct cio_store *store; /* needed on aggregators only */
    const struct cio_team *team;
    struct cio_segment *segment;
    struct cio_pace *pace; /* NULL: nothing is kept */
    struct cio_others others;
    struct cio_op **reserve; /* NULL, or where one is kept for when there is no memory */
};

struct cio_settings {
    enum cio_switch tam; /* CIO_ENABLE: run whenever it is possible */
    int node_ranks;      /* ranks on the fullest node */
    enum cio_domain_kind domain;
    int64_t unit;         /* bytes of one round, */
    int64_t stripe;       /* of one stripe; 0: unknown, */
    int64_t stripe_count; /* 0: unknown */
    /* instead of the two, unless NULL; the caller's, and alive until the operation is finished */
    const struct cio_layout *layout;
    int64_t buffer;  /* most bytes of an aggregator for all its buffers; 0: no limit */
    int depth;       /* rounds that it serves at once, if they fit; 0: as many as do */
    int64_t message; /* most data in one message; 0: a good choice */
    int64_t direct;  /* least segment that an aggregator of the same node does not copy; 0: " */
    int64_t memory_limit; /* bytes of each rank for intra-node data */
    enum cio_transport transport;
    enum cio_switch sieve_write; /* read-modify-write for rounds with holes */
    enum cio_switch sieve_read;  /* read what nobody asked for, to read in one piece */
    enum cio_schedule schedule;  /* in which order aggregators serve their rounds */
    int early;             /* ranks return as soon as their own part is over, where they can */
    int explain;           /* find out what the order brings, for the statistics */
    enum cio_switch merge; /* pieces of a group; automatic: where many of them adjoin */
    int crowded;           /* ranks share cores: whoever waits sleeps at once */
    int polled;            /* nonblocking: it may be left alone between two steps, however long */
    int outstanding;       /* other operations of this process on the file are under way */
    /* most bytes of all ranks that one of them serves with the first messages; beyond CIO_SMALL_MAX
     * it makes no difference */
    int64_t small;
    int tag; /* CIO_OP_TAGS tags from here on are this operation's */
};
#define CIO_OP_TAGS 16

/*
 * Writing what nobody asked to write. An operation with holes may read, modify and write back under
 * a lock, which keeps off others that do so too, but not a plain write between its read and its
 * write. So where several operations may be under way on a file (one is `polled`, or some rank has
 * an `outstanding` one), all of them write only what they were asked to, and each write is made
 * under the lock of its range, which is taken and given back by whoever makes it: no lock is held
 * while an operation waits for the program.
 */

/* This rank's part: the stream range [start, start + bytes) of the view, from or to memory. */
struct cio_request {
    int write;
    const struct cio_flat *file; /* may be NULL if bytes is 0 */
    int64_t disp;                /* added to every offset of the view */
    int64_t start;
    int64_t bytes;
    const struct cio_flat *mem; /* may be NULL if bytes is 0 */
    char *buf;
    int error; /* of this rank, found before the call: all ranks fail with it */
};

/*
 * Starts: nothing is sent yet that others must answer before they start too. On an error here
 * (-ENOMEM) the caller's rank must still take part: cio_op_start therefore never fails; what went
 * wrong reaches all ranks through the operation. It returns NULL only if there is no memory for
 * the smallest part, nor one in reserve, and then the job cannot go on.
 *
 * cio_op_reserve makes one to be kept in reserve; cio_op_finish puts back what cio_op_start has
 * taken from there.
 */
struct cio_op *cio_op_reserve(void);
void cio_op_unreserve(struct cio_op *op);
struct cio_op *cio_op_start(const struct cio_env *env, const struct cio_settings *settings,
                            const struct cio_request *request);

/* Goes on as far as it can without waiting. 1: finished. */
int cio_op_progress(struct cio_op *op);

/* Loops on progress and cio_comm_poll until finished. */
void cio_op_wait(struct cio_op *op);

/*
 * Whether this rank may return to its caller: its part is over, and the request, its types and its
 * buffer are not looked at any more. Without settings.early that is when the operation is finished.
 * With it:
 *
 *   write   the rank's last byte has left its buffer
 *   read    its last byte has arrived; but only if it is known, before the operation is finished,
 *           that the file does not end before: it was longer at the start, or this byte is not zero
 *
 * Aggregators, and leaders of others, stay until it is finished. So the rest of the operation needs
 * ranks only that are in the call, or have finished it: whoever has returned may finish it whenever
 * it likes (cio_op_wait), without waiting for anybody who may wait for it. Before the next
 * operation on the segment it must.
 */
int cio_op_is_released(const struct cio_op *op);

/* Takes the request back from a released operation, which is to be finished later. */
void cio_op_let_go(struct cio_op *op);

/* Loops until it is released. 1: it is finished; 0: not yet, and the request has been taken back.
 */
int cio_op_wait_released(struct cio_op *op);

/*
 * Of a finished or released operation: how many bytes of this rank's request have been moved, from
 * its first one on. A read moves those that lie before the end of the file, and puts zeros in the
 * place of the others; after an error there are none.
 */
int64_t cio_op_moved(const struct cio_op *op);

/*
 * Of the same: the range [*lo, *hi) of the file that any rank touches, which all ranks know; lo >=
 * hi: nobody touches any of it, or it never came to that.
 */
void cio_op_range(const struct cio_op *op, int64_t *lo, int64_t *hi);

/*
 * Of a finished operation: it has not run to its end, because messages have been lost, and other
 * ranks may wait for this one for ever: the job is to be ended. 0, or why: a negative errno.
 */
int cio_op_is_broken(const struct cio_op *op);

/*
 * Frees it; the outcome, the same on all ranks (the first error found, in no particular order).
 * -ECANCELED: nothing was done, because it is better done by other means; stats->why says why.
 */
int cio_op_finish(struct cio_op *op, struct cio_stats *stats);

#endif
