/* One round of an aggregator: its file access. */
#include "exec/round.h"

#include <errno.h>
#include <string.h>

#include "exec/serve.h"
#include "plan/bits.h"

/* Holes closer together than this are cheaper to read and write back than to step over. */
#define SIEVE_GAP (64 << 10)

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

/* First bit at or after i that is set; n if none. */
static int64_t next_set(const uint64_t *w, int64_t n, int64_t i)
{
    int64_t at = i < n ? cio_bits_next(w, n, i) : -1;

    return at < 0 ? n : at;
}

/* The next run of set bits at or after *at; 0 if none, else its begin and end. */
static int next_run(const uint64_t *w, int64_t n, int64_t *at, int64_t *end)
{
    *at = next_set(w, n, *at);
    *end = next_clear(w, n, *at);
    return *at < n;
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

static int worth_sieving(enum cio_switch hint, const struct runs *s)
{
    if (hint == CIO_AUTOMATIC)
        return s->count > 2 && (s->last - s->first) / s->count < SIEVE_GAP;
    return hint == CIO_ENABLE;
}

/* The next bytes to be transferred: covered and, in a read, not loaded. 0 if there are none. */
static int next_wanted(const struct cio_round *r, int64_t *at, int64_t *end)
{
    while (next_run(r->cover, r->last, at, end)) {
        if (r->loaded == NULL)
            return 1;
        int64_t from = next_clear(r->loaded, *end, *at);

        if (from < *end) {
            *at = from;
            *end = next_set(r->loaded, *end, from);
            return 1;
        }
        *at = *end;
    }
    return 0;
}

/* ---- transfers ---- */

static void add_piece(struct cio_round *r, char *buf, int64_t from, int64_t to)
{
    r->piece[r->batch.n++] = (struct cio_piece){buf, to - from, r->off + from};
}

/* Plain writes beside other operations are locked one by one; those of a sieve lie under its lock.
 */
static void begin_batch(const struct cio_op *op, struct cio_round *r, int write)
{
    int locked = write && r->io == CIO_ROUND_RUNS && (op->plain || op->set.early);

    r->batch = (struct cio_batch){.write = write, .locked = locked, .piece = r->piece};
}

static void start_batch(struct cio_op *op, struct cio_round *r)
{
    cio_count_add(&op->stats, CIO_COUNT_FILE_CALLS, r->batch.n);
    for (int i = 0; i < r->batch.n; i++)
        cio_count_add(&op->stats, CIO_COUNT_FILE_BYTES, r->piece[i].len);
    r->under_way = 1;
    cio_store_start(op->env.store, &r->batch);
}

/*
 * What lies beyond the end of the file reads as zeros. So only a transfer whose last byte is zero
 * may have come to it, and only then is it asked for, once in an operation.
 */
static void note_end(struct cio_op *op, const struct cio_batch *b)
{
    for (int i = 0; !op->req.write && b->error == 0 && i < b->n; i++)
        if (b->piece[i].buf[b->piece[i].len - 1] == 0 && op->eof == INT64_MAX)
            op->eof = cio_store_size(op->env.store);
}

static void begin_io(struct cio_op *op, struct cio_round *r, int io, int64_t first, int64_t last)
{
    struct cio_aggr *g = op->aggr;

    r->io = io;
    r->first = r->at = first;
    r->last = last;
    r->under_way = 0;
    r->batch.error = 0;
    if (g->transfers++ == 0)
        g->since = cio_now();
}

static void end_io(struct cio_op *op, struct cio_round *r)
{
    struct cio_aggr *g = op->aggr;

    r->io = CIO_ROUND_IDLE;
    if (--g->transfers == 0)
        op->stats.time[CIO_TIME_FILE] += cio_now() - g->since;
}

void cio_round_write(struct cio_op *op, struct cio_round *r)
{
    struct runs s = survey(r);
    int sieve = !op->plain && s.count > 1 && worth_sieving(op->set.sieve_write, &s);

    if (sieve)
        cio_round_settle(r, 0, r->len);
    begin_io(op, r, sieve ? CIO_ROUND_SPARE : CIO_ROUND_RUNS, s.first, s.last);
}

/* One transfer of all between the first and the last byte. */
static void read_span(struct cio_op *op, struct cio_round *r, int64_t from, int64_t to)
{
    begin_io(op, r, CIO_ROUND_RUNS, to, to);
    cio_bits_set_range(r->loaded, from, to);
    begin_batch(op, r, 0);
    add_piece(r, r->buf + from, from, to);
    start_batch(op, r);
}

void cio_round_read(struct cio_op *op, struct cio_round *r)
{
    struct runs s = survey(r);

    if (s.count > 0 && cio_bits_next(r->loaded, r->len, 0) < 0 &&
        worth_sieving(op->set.sieve_read, &s))
        read_span(op, r, s.first, s.last);
    else
        begin_io(op, r, CIO_ROUND_RUNS, s.first, s.last);
}

void cio_round_read_all(struct cio_op *op, struct cio_round *r)
{
    r->whole = 1;
    read_span(op, r, 0, r->len);
}

void cio_round_read_aimed(struct cio_op *op, struct cio_round *r)
{
    begin_io(op, r, CIO_ROUND_RUNS, 0, 0);
    start_batch(op, r);
}

/* ---- run by run ---- */

/* Where the byte `at` lies; *end becomes where what lies there ends, if that is before. */
static char *find_bytes(const struct cio_round *r, int64_t at, int64_t *end)
{
    char *from = r->buf + at;

    for (int i = 0; i < r->ndirect; i++) {
        const struct cio_piece *p = &r->direct[i];
        int64_t first = p->off - r->off, after = first + p->len;

        if (first > at) {
            *end = cio_min64(*end, first);
        } else if (at < after) {
            *end = cio_min64(*end, after);
            from = p->buf + (at - first);
        }
    }
    return from;
}

/* The next batch of runs; 0 if there are none left. */
static int start_runs(struct cio_op *op, struct cio_round *r)
{
    int64_t end;

    begin_batch(op, r, op->req.write);
    while (r->batch.n < CIO_ROUND_PIECES && next_wanted(r, &r->at, &end)) {
        char *from = find_bytes(r, r->at, &end);

        add_piece(r, from, r->at, end);
        if (r->loaded != NULL)
            cio_bits_set_range(r->loaded, r->at, end);
        r->at = end;
    }
    if (r->batch.n == 0)
        return 0;
    start_batch(op, r);
    return 1;
}

/* ---- reading, filling, writing back ---- */

/* Fills the holes of the part from what was read. */
static void fill_holes(struct cio_round *r, const char *spare)
{
    int64_t at = r->at;

    while ((at = next_clear(r->cover, r->to, at)) < r->to) {
        int64_t end = next_set(r->cover, r->to, at);

        memcpy(r->buf + at, spare + (at - r->at), (size_t)(end - at));
        at = end;
    }
}

static void read_part(struct cio_op *op, struct cio_round *r)
{
    struct cio_spare *spare = &op->aggr->spare;

    r->io = CIO_ROUND_READ;
    r->to = cio_min64(r->last, r->at + spare->size);
    begin_batch(op, r, 0);
    add_piece(r, spare->buf, r->at, r->to);
    start_batch(op, r);
}

static void write_part(struct cio_op *op, struct cio_round *r)
{
    fill_holes(r, op->aggr->spare.buf);
    r->io = CIO_ROUND_WRITE;
    begin_batch(op, r, 1);
    add_piece(r, r->buf + r->at, r->at, r->to);
    start_batch(op, r);
}

static void drop_spare(struct cio_op *op, struct cio_round *r)
{
    cio_count_add(&op->stats, CIO_COUNT_FILE_LOCKS, 2);
    cio_store_unlock(op->env.store, r->off + r->first, r->last - r->first);
    op->aggr->spare.user = NULL;
}

/* Without a lock it is done run by run. */
static int take_spare(struct cio_op *op, struct cio_round *r)
{
    if (op->aggr->spare.user != NULL)
        return 0;
    if (cio_store_lock(op->env.store, r->off + r->first, r->last - r->first) != 0) {
        r->io = CIO_ROUND_RUNS;
        return 1;
    }
    op->aggr->spare.user = r;
    read_part(op, r);
    return 1;
}

/* A file that cannot be read is written run by run. */
static void give_up_reading(struct cio_op *op, struct cio_round *r)
{
    r->batch.error = 0;
    drop_spare(op, r);
    r->io = CIO_ROUND_RUNS;
}

static void after_write(struct cio_op *op, struct cio_round *r)
{
    r->at = r->to;
    if (r->at < r->last) {
        read_part(op, r);
    } else {
        drop_spare(op, r);
        end_io(op, r);
    }
}

/* ---- both ---- */

/* What follows the batch that is over. 0: it has to wait for the spare. */
static int go_on(struct cio_op *op, struct cio_round *r)
{
    switch (r->io) {
    case CIO_ROUND_SPARE:
        return take_spare(op, r);
    case CIO_ROUND_READ:
        write_part(op, r);
        break;
    case CIO_ROUND_WRITE:
        after_write(op, r);
        break;
    default:
        if (!start_runs(op, r))
            end_io(op, r);
    }
    return 1;
}

static void abandon(struct cio_op *op, struct cio_round *r)
{
    if (op->aggr->spare.user == r)
        drop_spare(op, r);
    end_io(op, r);
}

int cio_round_progress(struct cio_op *op, struct cio_round *r)
{
    while (r->io != CIO_ROUND_IDLE) {
        if (r->under_way && !cio_store_test(op->env.store, &r->batch))
            return 0;
        if (r->under_way)
            note_end(op, &r->batch);
        r->under_way = 0;
        if (r->io == CIO_ROUND_READ && r->batch.error == -EBADF)
            give_up_reading(op, r);
        if (r->batch.error != 0)
            cio_op_fail(op, r->batch.error);
        if (op->error != 0)
            abandon(op, r);
        else if (!go_on(op, r))
            return 0;
    }
    return 1;
}
