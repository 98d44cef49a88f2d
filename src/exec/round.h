/*
 * One round of an aggregator: a range of the file, the sub-buffer for it, and which of its bytes
 * are covered, to the byte: written by somebody, or (read) wanted, and loaded.
 *
 * File access is begun, and goes on while the aggregator does other things:
 *
 *   no holes       one transfer
 *   few, or wide   a batch of transfers after the other, one for each run of covered bytes (RUNS)
 *   many, narrow   write: under a lock, part by part, read (READ), filled and written back (WRITE);
 *                  read: one transfer, holes and all
 */
#ifndef CIO_EXEC_ROUND_H
#define CIO_EXEC_ROUND_H

#include <stdint.h>

#include "port/store.h"

struct cio_op;

/* Transfers in one batch. */
#define CIO_ROUND_PIECES 64

/*
 * Long segments that lie on a board are not laid into the buffer: they are written from there, or
 * read to there. So long that a round does not fall into many transfers for it.
 */
#define CIO_ROUND_DIRECT 16
#define CIO_DIRECT_LEAST ((int64_t)256 << 10)

struct cio_round {
    int64_t off, len;
    char *buf;
    uint64_t *cover;  /* a bit for each byte: written by somebody, or wanted */
    uint64_t *loaded; /* a bit for each byte: in the buffer, or about to be (read) */
    int whole;        /* all of them are */
    struct cio_piece direct[CIO_ROUND_DIRECT]; /* covered, but not in the buffer: where they are */
    int ndirect;
    int64_t laid; /* bytes that have been laid into the buffer */
    /* file access */
    enum { CIO_ROUND_IDLE, CIO_ROUND_RUNS, CIO_ROUND_SPARE, CIO_ROUND_READ, CIO_ROUND_WRITE } io;
    int under_way;     /* the batch is */
    int64_t at, last;  /* what comes next, from here to there; */
    int64_t first, to; /* where it began; where the part ends that is read and written back */
    struct cio_batch batch;
    struct cio_piece piece[CIO_ROUND_PIECES];
};

/* For reading before writing: one round at a time has it. */
struct cio_spare {
    char *buf;
    int64_t size;
    struct cio_round *user;
};

/*
 * `buf`, of the operation's unit size, stays the caller's. 0 or -ENOMEM; what was made is destroyed
 * with cio_round_destroy in any case.
 */
int cio_round_create(struct cio_op *op, char *buf, struct cio_round *r);
void cio_round_destroy(struct cio_op *op, struct cio_round *r);

/* Begins anew with [off, off + len). */
void cio_round_begin(struct cio_round *r, int64_t off, int64_t len);

/*
 * Marks the coded segments as covered and, with data, lays it there. `bytes` is what the segments
 * must add up to. -EBADMSG; nothing outside the round is ever touched.
 *
 * Segments of at least `least` bytes, unless that is 0, which nothing has covered, are left where
 * they are: there they must stay until the round has been written.
 */
int cio_round_take(struct cio_round *r, const char *coded, int64_t size, const char *data,
                   int64_t bytes, int64_t least);

/* Collects the bytes of coded segments, which must add up to `bytes`. -EBADMSG. */
int cio_round_give(const struct cio_round *r, const char *coded, int64_t size, char *data,
                   int64_t bytes);

/* Begins to write what is covered; to load what is covered and not loaded, or everything. */
void cio_round_write(struct cio_op *op, struct cio_round *r);
void cio_round_read(struct cio_op *op, struct cio_round *r);
void cio_round_read_all(struct cio_op *op, struct cio_round *r);

/*
 * Or to read segments to where they are wanted, past the buffer. They are added one list after the
 * other: 0, -E2BIG if there are too many or one is shorter than `least`, or -EBADMSG; then they are
 * read.
 */
void cio_round_aim(struct cio_round *r);
int cio_round_aim_at(struct cio_round *r, const char *coded, int64_t size, char *data,
                     int64_t bytes, int64_t least);
void cio_round_read_aimed(struct cio_op *op, struct cio_round *r);

/* Lays what is left elsewhere of the bytes [from, to) of the round into its buffer. */
void cio_round_settle(struct cio_round *r, int64_t from, int64_t to);

/*
 * Goes on with it: 1 when it is over. An error becomes the operation's, and after any error of the
 * operation nothing more is begun.
 */
int cio_round_progress(struct cio_op *op, struct cio_round *r);

#endif
