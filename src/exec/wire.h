/*
 * Messages of one operation. All ranks run the same build, so structs travel as they are.
 *
 *   member -> leader   CIO_TAG_UP       ctl            \ only without shared memory: with it, both
 *   leader -> member   CIO_TAG_DOWN     ctl            / are notes on the group's board
 *   both ways          CIO_TAG_PAYLOAD  lists or data    only without shared memory
 *   leader -> aggr.    CIO_TAG_BITS     head, coded set of the positions that the group touches
 *   leader -> aggr.    CIO_TAG_DATA     head, parts, coded lists, data (write)
 *   aggr. -> leader    CIO_TAG_GRANT    head: DATA may be sent for positions up to this one (write)
 *   aggr. -> leader    CIO_TAG_REPLY    data (read), or 8 bytes where it has been put on the board;
 *                                       nothing at all: something failed
 *   aggr. -> leader    CIO_TAG_DONE     head
 *   either way         CIO_TAG_WAKE     nothing: a note on the board has changed, and the receiver
 *                                       sleeps inside MPI
 *   leader -> leader   CIO_TAG_REDUCE   words of the reduction, up the tree; CIO_TAG_REDUCED: down.
 *                                       Without shared memory also between member and leader.
 *                                       A small call is all attached to them (small.h)
 *
 * Only where stripes are not served by offset (schedule.c), as streams (stream.h):
 *
 *   leader -> aggr. 0  CIO_TAG_PATTERN  who of the node touches what, from its first leader (also:
 *                                       member to leader, and leader to that first one); where
 *                                       aggregators make their orders by themselves, to each
 *   aggr. -> aggr. 0   CIO_TAG_REPORT   GW-MDF: how much each rank touches; CIO_TAG_PLAN: the most
 *   aggr. -> aggr. 0   CIO_TAG_ANSWER   decision, coded order
 *   aggr. 0 -> leader  CIO_TAG_ORDER    all answers, down the tree of leaders, and to members
 */
#ifndef CIO_EXEC_WIRE_H
#define CIO_EXEC_WIRE_H

#include <stdint.h>

enum cio_tag {
    CIO_TAG_UP,
    CIO_TAG_DOWN,
    CIO_TAG_PAYLOAD,
    CIO_TAG_BITS,
    CIO_TAG_DATA,
    CIO_TAG_GRANT,
    CIO_TAG_REPLY,
    CIO_TAG_DONE,
    CIO_TAG_REDUCE,
    CIO_TAG_REDUCED,
    CIO_TAG_PATTERN,
    CIO_TAG_REPORT,
    CIO_TAG_PLAN,
    CIO_TAG_ANSWER,
    CIO_TAG_ORDER,
    CIO_TAG_WAKE
};

/* Words of a reduction: the least of each `min` that any rank has, the sum of each `sum`. */
#define CIO_REDUCE_WORDS 16
struct cio_reduction {
    int64_t min[CIO_REDUCE_WORDS];
    int64_t sum[CIO_REDUCE_WORDS];
};

/* How far a member has described its pieces: all of the units before t, and t up to a file offset.
 */
struct cio_place {
    int64_t t;
    int64_t off;
};

enum cio_ctl_kind {
    CIO_CTL_READY,  /* up: pieces up to `place` are described, or an error, or no shared memory */
    CIO_CTL_SEND,   /* down: send your lists, the first time; no answer but these */
    CIO_CTL_MERGE,  /* down: merge your part of the window; left out where the leader does it all */
    CIO_CTL_MERGED, /* up */
    CIO_CTL_COPY,   /* down: the window ends with unit place.t: copy in (write) or out (read); */
                    /* the answer is READY for the next one */
    CIO_CTL_FOLLOW, /* down: COPY of a read, to be done when your part of the window has landed */
    CIO_CTL_ALONE,  /* down: do it again from where the window began, by messages */
    CIO_CTL_REDUCED, /* down: what the reduction has yielded; no answer */
    CIO_CTL_ORDER,   /* down: the orders of aggregators are on the board; no answer */
    CIO_CTL_FINAL    /* down: the outcome; no answer */
};

struct cio_ctl {
    int32_t kind;
    int32_t error;
    int32_t refused;  /* READY: no shared memory, for this reason */
    int32_t merged;   /* COPY: the window has been merged; */
    int32_t doubtful; /* something of a read has not arrived */
    struct cio_place place;
    int64_t lists, coded; /* READY: how many, and bytes of their code */
    int64_t eof;          /* FINAL of a read: the file may end here */
};

#define CIO_HEAD_MAGIC 0x74616d32u /* "tam2" */

struct cio_head {
    uint32_t magic;
    int32_t error;
    int32_t leader;   /* index; in GRANT that of the aggregator */
    int32_t messages; /* of this leader for this position, in the last of them; else 0 */
    int64_t serial;   /* of the leader's messages to this aggregator, from 1 on */
    int64_t pos;
    int64_t lists; /* that many parts follow, */
    int64_t meta;  /* so many bytes of coded lists, */
    int64_t data;  /* and their data; in a read's request, the bytes wanted */
    int64_t near;  /* none of this follows: it lies on the leader's board, at */
    int64_t at_parts, at_meta, at_data;
    int64_t eof; /* DONE of a read: see cio_op */
};

/* One list of a message. */
struct cio_part {
    int32_t coded; /* bytes of its code */
    int32_t data;  /* bytes of its pieces */
};

#endif
