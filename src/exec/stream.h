/*
 * Bytes of any length from one rank to another, as messages of bounded size, so that a receiver
 * whose memory does not suffice can still take them in, and go on without.
 *
 *   | chunk: error, whether it is the last one | up to CIO_CHUNK bytes |
 */
#ifndef CIO_EXEC_STREAM_H
#define CIO_EXEC_STREAM_H

#include "exec/internal.h"

#define CIO_CHUNK ((int64_t)64 << 10)

struct cio_chunk {
    uint32_t magic;
    int32_t error; /* of the sender: there are no bytes */
    int32_t last;
    int32_t unused;
};

/* One stream that is sent; zeroed: none. The bytes must stay until it is sent. */
struct cio_outbox {
    struct cio_req req;
    struct cio_chunk head;
    const char *data;
    int64_t left;
    int dest;
    enum cio_tag tag;
};

/* With an error no bytes are sent. */
void cio_outbox_start(struct cio_op *op, struct cio_outbox *out, int dest, enum cio_tag tag,
                      const void *data, int64_t size, int error);
/* Goes on: 1 if another chunk was sent. */
int cio_outbox_progress(struct cio_op *op, struct cio_outbox *out);

static inline int cio_outbox_is_sent(const struct cio_outbox *out)
{
    return out->left == 0 && !cio_req_busy(&out->req);
}

/* One stream that is received, after the other. */
struct cio_inbox {
    struct cio_req req;
    char *chunk; /* room for one message */
    int source;
    enum cio_tag tag;
    int error;    /* the sender's, or our own: then there are no bytes */
    char *data;   /* what has come, */
    int64_t size; /* so much, */
    int64_t room; /* in so much memory */
};

/* 0 or -ENOMEM. */
int cio_inbox_create(struct cio_op *op, struct cio_inbox *in);
void cio_inbox_destroy(struct cio_op *op, struct cio_inbox *in);

/* Room for a stream of so many bytes, to be had in time. 0 or -ENOMEM. */
int cio_inbox_reserve(struct cio_op *op, struct cio_inbox *in, int64_t size);

/* Begins with the stream of a rank, whose bytes take the place of the last one's. */
void cio_inbox_start(struct cio_op *op, struct cio_inbox *in, int source, enum cio_tag tag);
/* 1 when all of it is there. */
int cio_inbox_progress(struct cio_op *op, struct cio_inbox *in);

#endif
