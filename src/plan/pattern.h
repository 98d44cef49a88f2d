/*
 * Which ranks of the application touch which positions of one aggregator: what the orders of
 * plan/order.h are made from.
 *
 * One row for each rank, its set of positions. A row is kept as a list of positions or as a bitmap,
 * whichever is smaller, and a row equal to the one added before it is kept once: 16,384 ranks and
 * 1,800 positions take 4 MB at most, however dense.
 */
#ifndef CIO_PLAN_PATTERN_H
#define CIO_PLAN_PATTERN_H

#include <stddef.h>
#include <stdint.h>

struct cio_pattern_row {
    int rank;
    uint32_t count; /* positions that it touches, more than 0, */
    size_t at;      /* kept from this word of the store on */
};

/* Read only; the fields below `row` are private. */
struct cio_pattern {
    int nranks;
    uint32_t npos;
    int64_t touches;             /* sum of the counts */
    int rows;                    /* ranks that touch anything here, */
    struct cio_pattern_row *row; /* in the order in which they were added */

    int row_room;
    int *row_of; /* per rank, from 1 on; 0: none */
    uint64_t *store;
    size_t used, room; /* words of the store */
};

/*
 * A pattern in which nobody touches anything; the caller's until cio_pattern_destroy().
 * 1 <= nranks, 0 <= npos <= INT32_MAX, or -EINVAL. -ENOMEM.
 */
int cio_pattern_create(int nranks, int64_t npos, struct cio_pattern **out);
void cio_pattern_destroy(struct cio_pattern *p);

/*
 * The positions of one rank, as a bitmap of npos bits (plan/bits.h). A rank may come once, in any
 * order; coming with nothing does not count. -EINVAL (no such rank), -EEXIST, -ENOMEM.
 */
int cio_pattern_add(struct cio_pattern *p, int rank, const uint64_t *bits);

/* The same from cio_bits_encode(), as leaders send it. -EBADMSG if that is malformed. */
int cio_pattern_add_code(struct cio_pattern *p, int rank, const void *code, size_t size);

/* The row of a rank; NULL if it touches nothing here. */
static inline const struct cio_pattern_row *cio_pattern_row_of(const struct cio_pattern *p,
                                                               int rank)
{
    return p->row_of[rank] ? &p->row[p->row_of[rank] - 1] : NULL;
}

/*
 * The positions of a row, rising. Where they are found depends on how the row is kept: either
 * inside the pattern, or written to `room`, which holds npos entries.
 */
const uint32_t *cio_pattern_positions(const struct cio_pattern *p,
                                      const struct cio_pattern_row *row, uint32_t *room);

/* Bytes that cio_pattern_encode() needs at worst. */
size_t cio_pattern_bound(const struct cio_pattern *p);

/* The pattern for the wire. Returns the bytes used, or -ENOMEM. */
int64_t cio_pattern_encode(const struct cio_pattern *p, void *buf);

/*
 * Add what a message says of other ranks. -EBADMSG if it is malformed, not of as many ranks and
 * positions, or of a rank that is there already; -ENOMEM. After a failure some of them may have
 * been added. Safe on any bytes.
 */
int cio_pattern_decode(const void *buf, size_t size, struct cio_pattern *p);

#endif
