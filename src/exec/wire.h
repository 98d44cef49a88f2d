/*
 * Messages of one operation. All ranks run the same build, so structs travel as they are.
 *
 *   member -> leader   CIO_TAG_UP       ctl             hello, ready, merged, copied
 *   leader -> member   CIO_TAG_DOWN     ctl             attach, merge, copy, final
 *   both ways          CIO_TAG_PAYLOAD  pieces or data  only without shared memory
 *   leader -> aggr.    CIO_TAG_BITS     head, coded set of the positions that the group touches
 *   leader -> aggr.    CIO_TAG_DATA     head, coded segments, data (write)
 *   aggr. -> leader    CIO_TAG_REPLY    head, data (read)
 *   aggr. -> leader    CIO_TAG_DONE     head
 */
#ifndef CIO_EXEC_WIRE_H
#define CIO_EXEC_WIRE_H

#include <stdint.h>

#include "port/nodemem.h"

enum cio_tag {
    CIO_TAG_UP,
    CIO_TAG_DOWN,
    CIO_TAG_PAYLOAD,
    CIO_TAG_BITS,
    CIO_TAG_DATA,
    CIO_TAG_REPLY,
    CIO_TAG_DONE
};

/*
 * A place in the order in which rounds are served: unit t = position * aggregators + aggregator,
 * and a file offset in it. Everything before the place is meant.
 */
struct cio_place {
    int64_t t;
    int64_t off;
};

static inline int cio_place_before(struct cio_place a, struct cio_place b)
{
    return a.t != b.t ? a.t < b.t : a.off < b.off;
}

enum cio_ctl_kind {
    CIO_CTL_HELLO,  /* up: room that the whole request would need (ext, dir, data) */
    CIO_CTL_ATTACH, /* down: the segment (name, size; none: messages) and what fits (ext, dir, data) */
    CIO_CTL_READY,  /* up: pieces up to `place` are described (ext, dir entries), or an error */
    CIO_CTL_MERGE,  /* down: merge your part of the window; left out where the leader does it all */
    CIO_CTL_MERGED, /* up */
    CIO_CTL_COPY,   /* down: the window ends at `place`: copy in (write) or out (read) */
    CIO_CTL_COPIED, /* up: done; pieces of the next window up to `place` are described */
    CIO_CTL_FINAL   /* down: the outcome */
};

struct cio_ctl {
    int32_t kind;
    int32_t error;
    struct cio_place place;
    int64_t ext, dir, data;
    int64_t size;
    char name[CIO_NODEMEM_NAME_MAX];
};

#define CIO_HEAD_MAGIC 0x74616d31u /* "tam1" */

struct cio_head {
    uint32_t magic;
    int32_t error;
    int32_t leader; /* index */
    int32_t parts;  /* messages of this leader for this position, in the last of them; else 0 */
    int64_t pos;
    int64_t meta;   /* bytes that follow: coded segments, */
    int64_t data;   /* and their data; in a read's request, the bytes wanted */
};

#endif
