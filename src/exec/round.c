/* One round of an aggregator: its buffer, and what is covered of it. */
#include "exec/round.h"

#include <errno.h>
#include <string.h>

#include "exec/internal.h"
#include "plan/bits.h"
#include "plan/code.h"
#include "plan/copy.h"

/* Segments decoded at a time. */
#define BATCH 256

static int64_t cover_bytes(const struct cio_op *op)
{
    return (int64_t)(cio_bits_words(op->set.unit) * sizeof(uint64_t));
}

int cio_round_create(struct cio_op *op, char *buf, struct cio_round *r)
{
    r->buf = buf;
    r->cover = cio_op_alloc(op, cover_bytes(op));
    r->loaded = op->req.write ? NULL : cio_op_alloc(op, cover_bytes(op));
    if (r->cover == NULL || (!op->req.write && r->loaded == NULL))
        return -ENOMEM;
    return 0;
}

void cio_round_destroy(struct cio_op *op, struct cio_round *r)
{
    cio_op_free(op, r->loaded, cover_bytes(op));
    cio_op_free(op, r->cover, cover_bytes(op));
}

void cio_round_begin(struct cio_round *r, int64_t off, int64_t len)
{
    size_t bytes = cio_bits_words(len) * sizeof(uint64_t);

    r->off = off;
    r->len = len;
    r->whole = 0;
    r->ndirect = 0;
    r->laid = 0;
    memset(r->cover, 0, bytes);
    if (r->loaded != NULL)
        memset(r->loaded, 0, bytes);
}

/* Begins to decode segments that must add up to `bytes`. */
static int begin(const struct cio_round *r, const char *coded, int64_t size, int64_t bytes,
                 struct cio_decoder *d)
{
    int rc = cio_decode_begin(d, coded, (size_t)size, r->off, r->off, r->off + r->len);

    return rc == 0 && d->bytes != bytes ? -EBADMSG : rc;
}

/*
 * Pieces of one list lie far apart in the round, and those of the next one between them: hardly one
 * of them is where the processor has been lately, so it is told some pieces before.
 */
#define AHEAD 12

static inline void foresee(const struct cio_round *r, const cio_extent *e, int i, int n, int write)
{
    const char *at = r->buf + (e[i + AHEAD < n ? i + AHEAD : n - 1].off - r->off);

    if (write)
        __builtin_prefetch(at, 1);
    else
        __builtin_prefetch(at, 0);
}

static void lay(struct cio_round *r, const cio_extent *e, int n, const char **data)
{
    const char *from = *data;

    for (int i = 0; i < n; i++) {
        int64_t at = e[i].off - r->off;

        foresee(r, e, i, n, 1);
        if (r->ndirect > 0)
            cio_round_settle(r, at, at + e[i].len);
        cio_bits_set_range(r->cover, at, at + e[i].len);
        cio_copy_small(r->buf + at, from, e[i].len);
        from += e[i].len;
    }
    r->laid += from - *data;
    *data = from;
}

/* ---- segments that stay where they are ---- */

static int is_covered(const struct cio_round *r, int64_t from, int64_t to)
{
    return cio_bits_next(r->cover, to, from) >= 0;
}

/* Adds a segment to the last of n pieces, if it follows it in both places, or behind them. How many
 * there are then; 0: there is no room. */
static int append(struct cio_piece *piece, int n, int room, const cio_extent *e, char *data)
{
    struct cio_piece *last = &piece[n - 1];

    if (n > 0 && last->off + last->len == e->off && last->buf + last->len == data) {
        last->len += e->len;
        return n;
    }
    if (n == room)
        return 0;
    piece[n] = (struct cio_piece){data, e->len, e->off};
    return n + 1;
}

static void refer(struct cio_round *r, const cio_extent *e, int n, const char **data, int64_t least)
{
    for (int i = 0; i < n; i++) {
        int64_t at = e[i].off - r->off, end = at + e[i].len;
        int pieces = 0;

        if (e[i].len >= least && !is_covered(r, at, end))
            pieces = append(r->direct, r->ndirect, CIO_ROUND_DIRECT, &e[i], (char *)*data);
        if (pieces == 0) {
            lay(r, &e[i], 1, data);
            continue;
        }
        r->ndirect = pieces;
        cio_bits_set_range(r->cover, at, end);
        *data += e[i].len;
    }
}

void cio_round_settle(struct cio_round *r, int64_t from, int64_t to)
{
    for (int i = 0; i < r->ndirect; i++) {
        struct cio_piece *p = &r->direct[i];
        int64_t at = p->off - r->off;

        if (at >= to || at + p->len <= from)
            continue;
        memcpy(r->buf + at, p->buf, (size_t)p->len);
        r->laid += p->len;
        *p = r->direct[--r->ndirect];
        i--;
    }
}

static void mark(struct cio_round *r, const cio_extent *e, int n)
{
    for (int i = 0; i < n; i++)
        cio_bits_set_range(r->cover, e[i].off - r->off, cio_extent_end(e[i]) - r->off);
}

int cio_round_take(struct cio_round *r, const char *coded, int64_t size, const char *data,
                   int64_t bytes, int64_t least)
{
    cio_extent e[BATCH];
    struct cio_decoder d;
    int n, rc = begin(r, coded, size, bytes, &d);

    if (rc != 0)
        return rc;
    while ((n = cio_decode_some(&d, e, BATCH)) > 0) {
        if (data == NULL)
            mark(r, e, n);
        else if (least == 0)
            lay(r, e, n, &data);
        else
            refer(r, e, n, &data, least);
    }
    return n;
}

void cio_round_aim(struct cio_round *r)
{
    r->batch = (struct cio_batch){.write = 0, .piece = r->piece};
}

/* Adds segments to the batch. */
static int aim(struct cio_round *r, const cio_extent *e, int n, char **data, int64_t least)
{
    for (int i = 0; i < n; i++) {
        int pieces = append(r->piece, r->batch.n, CIO_ROUND_DIRECT, &e[i], *data);

        if (e[i].len < least || pieces == 0)
            return -E2BIG;
        r->batch.n = pieces;
        *data += e[i].len;
    }
    return 0;
}

int cio_round_aim_at(struct cio_round *r, const char *coded, int64_t size, char *data,
                     int64_t bytes, int64_t least)
{
    cio_extent e[BATCH];
    struct cio_decoder d;
    int n, rc = begin(r, coded, size, bytes, &d);

    while (rc == 0 && (n = cio_decode_some(&d, e, BATCH)) != 0)
        rc = n < 0 ? n : aim(r, e, n, &data, least);
    return rc;
}

int cio_round_give(const struct cio_round *r, const char *coded, int64_t size, char *data,
                   int64_t bytes)
{
    cio_extent e[BATCH];
    struct cio_decoder d;
    int n, rc = begin(r, coded, size, bytes, &d);

    if (rc != 0)
        return rc;
    while ((n = cio_decode_some(&d, e, BATCH)) > 0)
        for (int i = 0; i < n; i++) {
            foresee(r, e, i, n, 0);
            cio_copy_small(data, r->buf + (e[i].off - r->off), e[i].len);
            data += e[i].len;
        }
    return n;
}
