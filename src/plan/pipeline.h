/*
 * How an aggregator divides cb_buffer_size: sub-buffers for the rounds it serves at once, slots for
 * the messages it waits for, and what else it needs.
 *
 *   | round | round | ... | slot | slot | ... | reply (read) | spare (write) |
 *     each with a bit per byte              = cb_buffer_size at most
 *
 * In a write the slots are for data; in a read, for what leaders ask with, and so are smaller. All
 * ranks compute the same, since leaders must know how large a message may be.
 */
#ifndef CIO_PLAN_PIPELINE_H
#define CIO_PLAN_PIPELINE_H

#include <stdint.h>

/* The most rounds that are served at once. */
#define CIO_DEPTH_MAX 64

/* The most messages that are waited for at once. */
#define CIO_SLOTS_MAX 24
#define CIO_REPLIES_MAX 4

struct cio_pipeline_spec {
    int64_t buffer;   /* bytes for all of it; 0: as many as it takes */
    int64_t unit;     /* bytes of a round */
    int depth;        /* rounds at once; 0: as many as fit */
    int64_t message;  /* most data in one message; 0: a good choice */
    int64_t overhead; /* bytes of a message besides its data, at most */
    int64_t request;  /* bytes of a message without data (read), if there is room; else overhead */
    int leaders;      /* that send messages */
    int write;
};

struct cio_pipeline {
    int depth;
    int slots;
    int replies;     /* read */
    int64_t message; /* most data in one message, */
    int64_t slot;    /* and its whole size; that of an answer (read), too */
    int64_t receive; /* bytes of a message to an aggregator */
    int64_t spare;   /* write: for reading before writing */
    int64_t bytes;   /* all of this together */
};

/*
 * At least one round and one slot, however small the buffer; with a buffer of at least four units
 * and 128 messages' overheads, never more than the buffer.
 */
void cio_pipeline_plan(const struct cio_pipeline_spec *spec, struct cio_pipeline *p);

/* Bytes of one round's bits: covered and, in a read, loaded. */
int64_t cio_pipeline_bits(int64_t unit, int write);

#endif
