/* One round of an aggregator. */
#include "exec/round.h"

#include <errno.h>
#include <string.h>

#include "exec/internal.h"
#include "plan/bits.h"
#include "plan/code.h"
#include "plan/copy.h"

/* Holes closer together than this are cheaper to read and write back than to step over. */
#define SIEVE_GAP (64 << 10)

/* Segments decoded at a time. */
#define BATCH 256

static int64_t cover_bytes(const struct cio_op *op)
{
    return (int64_t)(cio_bits_words(op->set.unit) * sizeof(uint64_t));
}

int cio_round_create(struct cio_op *op, struct cio_round *r)
{
    r->buf = cio_op_alloc(op, op->set.unit);
    r->cover = cio_op_alloc(op, cover_bytes(op));
    r->loaded = op->req.write ? NULL : cio_op_alloc(op, cover_bytes(op));
    if (r->buf == NULL || r->cover == NULL || (!op->req.write && r->loaded == NULL))
        return -ENOMEM;
    return 0;
}

void cio_round_destroy(struct cio_op *op, struct cio_round *r)
{
    cio_op_free(op, r->spare, op->set.unit);
    cio_op_free(op, r->loaded, cover_bytes(op));
    cio_op_free(op, r->cover, cover_bytes(op));
    cio_op_free(op, r->buf, op->set.unit);
}

void cio_round_begin(struct cio_round *r, int64_t off, int64_t len)
{
    size_t bytes = cio_bits_words(len) * sizeof(uint64_t);

    r->off = off;
    r->len = len;
    r->whole = 0;
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

static void lay(struct cio_round *r, const cio_extent *e, int n, const char **data)
{
    const char *from = *data;

    for (int i = 0; i < n; i++) {
        int64_t at = e[i].off - r->off;

        cio_bits_set_range(r->cover, at, at + e[i].len);
        cio_copy_small(r->buf + at, from, e[i].len);
        from += e[i].len;
    }
    *data = from;
}

static void mark(struct cio_round *r, const cio_extent *e, int n)
{
    for (int i = 0; i < n; i++)
        cio_bits_set_range(r->cover, e[i].off - r->off, cio_extent_end(e[i]) - r->off);
}

int cio_round_take(struct cio_round *r, const char *coded, int64_t size, const char *data,
                   int64_t bytes)
{
    cio_extent e[BATCH];
    struct cio_decoder d;
    int n, rc = begin(r, coded, size, bytes, &d);

    if (rc != 0)
        return rc;
    while ((n = cio_decode_some(&d, e, BATCH)) > 0) {
        if (data != NULL)
            lay(r, e, n, &data);
        else
            mark(r, e, n);
    }
    return n;
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
            cio_copy_small(data, r->buf + (e[i].off - r->off), e[i].len);
            data += e[i].len;
        }
    return n;
}

/* ---- runs of covered bytes ---- */

/* First bit at or after i that is not set; n if none. */
static int64_t next_clear(const uint64_t *w, int64_t n, int64_t i)
{
    while (i < n) {
        uint64_t clear = ~w[i / 64] >> (i % 64);

        if (clear != 0)
            return cio_min64(i + __builtin_ctzll(clear), n);
        i = (i / 64 + 1) * 64;
    }
    return n;
}

/* The next run of set bits at or after *at; 0 if none, else its begin and end. */
static int next_run(const uint64_t *w, int64_t n, int64_t *at, int64_t *end)
{
    int64_t begin = *at < n ? cio_bits_next(w, n, *at) : -1;

    if (begin < 0)
        return 0;
    *at = begin;
    *end = next_clear(w, n, begin);
    return 1;
}

struct runs {
    int64_t count, first, last; /* from the first covered byte to after the last one */
};

static struct runs survey(const struct cio_round *r)
{
    struct runs s = {0, 0, 0};
    int64_t at = 0, end;

    while (next_run(r->cover, r->len, &at, &end)) {
        if (s.count++ == 0)
            s.first = at;
        s.last = at = end;
    }
    return s;
}

/* ---- transfers ---- */

/*
 * What lies beyond the end of the file reads as zeros. So only a transfer whose last byte is zero
 * may have come to it, and only then is it asked for, once in an operation.
 */
static void note_end(struct cio_op *op, char last)
{
    if (last == 0 && op->eof == INT64_MAX)
        op->eof = cio_store_size(op->env.store);
}

static int transfer(struct cio_op *op, struct cio_round *r, char *buf, int64_t from, int64_t to,
                    int write)
{
    double t = cio_now();
    int rc = write ? cio_store_write(op->env.store, buf + from, to - from, r->off + from)
                   : cio_store_read(op->env.store, buf + from, to - from, r->off + from);

    if (!op->req.write && rc == 0)
        note_end(op, buf[to - 1]);
    op->stats.time[CIO_TIME_FILE] += cio_now() - t;
    cio_count_add(&op->stats, CIO_COUNT_FILE_CALLS, 1);
    cio_count_add(&op->stats, CIO_COUNT_FILE_BYTES, to - from);
    return rc;
}

static int transfer_runs(struct cio_op *op, struct cio_round *r, const uint64_t *bits, int write)
{
    int64_t at = 0, end;
    int rc = 0;

    for (; rc == 0 && next_run(bits, r->len, &at, &end); at = end)
        rc = transfer(op, r, r->buf, at, end, write);
    return rc;
}

/* Fills the holes between the runs from the file's bytes. */
static void fill_holes(struct cio_round *r, const struct runs *s)
{
    int64_t at = s->first;

    while ((at = next_clear(r->cover, s->last, at)) < s->last) {
        int64_t end = cio_bits_next(r->cover, s->last, at);

        memcpy(r->buf + at, r->spare + at, (size_t)(end - at));
        at = end;
    }
}

/* -ENOTSUP if it cannot be done that way: no lock, no memory, or a file that cannot be read. */
static int modify(struct cio_op *op, struct cio_round *r, const struct runs *s)
{
    int64_t span = s->last - s->first;
    int rc;

    if (r->spare == NULL)
        r->spare = cio_op_alloc(op, op->set.unit);
    if (r->spare == NULL)
        return -ENOTSUP;
    rc = cio_store_lock(op->env.store, r->off + s->first, span);
    if (rc != 0)
        return -ENOTSUP;
    rc = transfer(op, r, r->spare, s->first, s->last, 0);
    if (rc == 0) {
        fill_holes(r, s);
        rc = transfer(op, r, r->buf, s->first, s->last, 1);
    } else if (rc == -EBADF) {
        rc = -ENOTSUP;
    }
    cio_store_unlock(op->env.store, r->off + s->first, span);
    cio_count_add(&op->stats, CIO_COUNT_FILE_LOCKS, 2);
    return rc;
}

static int worth_sieving(enum cio_switch hint, const struct runs *s)
{
    if (hint == CIO_AUTOMATIC)
        return s->count > 2 && (s->last - s->first) / s->count < SIEVE_GAP;
    return hint == CIO_ENABLE;
}

int cio_round_write(struct cio_op *op, struct cio_round *r)
{
    struct runs s = survey(r);
    int rc = -ENOTSUP;

    if (s.count > 1 && worth_sieving(op->set.sieve_write, &s))
        rc = modify(op, r, &s);
    return rc == -ENOTSUP ? transfer_runs(op, r, r->cover, 1) : rc;
}

/* What is covered but not loaded, as covered bits in r->loaded's place for one moment. */
static int load_missing(struct cio_op *op, struct cio_round *r)
{
    int64_t at = 0, end;
    int rc = 0;

    for (; rc == 0 && next_run(r->cover, r->len, &at, &end); at = end) {
        int64_t from = next_clear(r->loaded, end, at);

        while (rc == 0 && from < end) {
            int64_t to = cio_bits_next(r->loaded, end, from);

            if (to < 0)
                to = end;
            rc = transfer(op, r, r->buf, from, to, 0);
            cio_bits_set_range(r->loaded, from, to);
            from = next_clear(r->loaded, end, to);
        }
    }
    return rc;
}

int cio_round_read(struct cio_op *op, struct cio_round *r)
{
    struct runs s = survey(r);
    int rc;

    if (s.count == 0 || next_clear(r->loaded, s.last, s.first) == s.last)
        return 0;
    if (cio_bits_next(r->loaded, r->len, 0) >= 0 || !worth_sieving(op->set.sieve_read, &s))
        return load_missing(op, r);
    rc = transfer(op, r, r->buf, s.first, s.last, 0);
    cio_bits_set_range(r->loaded, s.first, s.last);
    return rc;
}

int cio_round_read_all(struct cio_op *op, struct cio_round *r)
{
    int rc = transfer(op, r, r->buf, 0, r->len, 0);

    r->whole = rc == 0;
    return rc;
}
