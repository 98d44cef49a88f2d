/*
 * One round of an aggregator: a range of the file, the buffer for it, and which of its bytes are
 * covered, to the byte: written by somebody, or (read) wanted, and loaded.
 */
#ifndef CIO_EXEC_ROUND_H
#define CIO_EXEC_ROUND_H

#include <stdint.h>

struct cio_op;

struct cio_round {
    int64_t off, len;
    char *buf;        /* of the operation's unit size */
    char *spare;      /* read-modify-write: the file's bytes; made when first needed */
    uint64_t *cover;  /* a bit for each byte: written by somebody, or wanted */
    uint64_t *loaded; /* a bit for each byte: in the buffer (read) */
    int whole;        /* all of them are */
};

/* 0 or -ENOMEM; what was made is destroyed with cio_round_destroy in any case. */
int cio_round_create(struct cio_op *op, struct cio_round *r);
void cio_round_destroy(struct cio_op *op, struct cio_round *r);

/* Begins anew with [off, off + len). */
void cio_round_begin(struct cio_round *r, int64_t off, int64_t len);

/*
 * Marks the coded segments as covered and, with data, lays it there. `bytes` is what the segments
 * must add up to. -EBADMSG; nothing outside the round is ever touched.
 */
int cio_round_take(struct cio_round *r, const char *coded, int64_t size, const char *data,
                   int64_t bytes);

/* Collects the bytes of coded segments, which must add up to `bytes`. -EBADMSG. */
int cio_round_give(const struct cio_round *r, const char *coded, int64_t size, char *data,
                   int64_t bytes);

/*
 * Writes what is covered: in one piece if there are no holes; else piece by piece, or, where that
 * takes fewer and larger transfers, by reading, filling and writing back under a lock.
 */
int cio_round_write(struct cio_op *op, struct cio_round *r);

/* Loads what is covered and not loaded yet; or everything, covered or not. */
int cio_round_read(struct cio_op *op, struct cio_round *r);
int cio_round_read_all(struct cio_op *op, struct cio_round *r);

#endif
