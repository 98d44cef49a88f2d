/*
 * Pieces are cut at the ends of segments, and where a record could not hold them; then sorted by
 * node, those of each in the order of the file.
 */
#include "tcio/deal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "plan/code.h"

/* ---- cutting ---- */

struct cut {
    const struct cio_space *space;
    int64_t most;
};

/* The node that has the byte at off, and how many of `len` bytes from there go with it. */
static int first_piece(const struct cut *c, int64_t off, int64_t len, int64_t *piece)
{
    int64_t segment = c->space->settings.segment_size;
    struct cio_place p = cio_place_of(off, segment, c->space->os->size);

    *piece = cio_min64(cio_min64(len, segment - p.within), c->most);
    return c->space->os->node_of[p.rank];
}

/* start[node] .. start[node + 1]: where each node's pieces will be; from their numbers. */
static void sum_up(int64_t *start, int nodes)
{
    int64_t sum = 0;

    for (int i = 0; i <= nodes; i++) {
        int64_t n = start[i];

        start[i] = sum;
        sum += n;
    }
}

/* ---- writing ---- */

/* The pieces of all nodes: extents, and where their bytes are in the log. */
struct pieces {
    cio_extent *e;
    uint32_t *at;
    int64_t *start; /* of each node's */
};

static void pieces_destroy(struct pieces *p)
{
    free(p->e);
    free(p->at);
    free(p->start);
}

static void count_pieces(const struct cut *c, const struct cio_wlog *log, int64_t *number)
{
    for (int64_t i = 0; i < log->n; i++) {
        int64_t off = log->block[i].off, left = log->block[i].len, n;

        for (; left > 0; off += n, left -= n)
            number[first_piece(c, off, left, &n)]++;
    }
}

static void place_pieces(const struct cut *c, const struct cio_wlog *log, struct pieces *p)
{
    for (int64_t i = 0; i < log->n; i++) {
        struct cio_block b = log->block[i];

        while (b.len > 0) {
            int64_t n, to;

            to = p->start[first_piece(c, b.off, b.len, &n)]++;
            p->e[to] = (cio_extent){b.off, n};
            p->at[to] = b.at;
            b = (struct cio_block){b.off + n, b.at + (uint32_t)n, b.len - (uint32_t)n};
        }
    }
}

static int sort_pieces(const struct cio_space *s, const struct cio_wlog *log, struct pieces *p)
{
    struct cut c = {s, s->sizes.record / 2};
    int nodes = s->os->nodes;

    *p = (struct pieces){.start = calloc((size_t)nodes + 1, sizeof *p->start)};
    if (p->start == NULL)
        return -ENOMEM;
    count_pieces(&c, log, p->start);
    sum_up(p->start, nodes);
    p->e = malloc((size_t)p->start[nodes] * sizeof *p->e);
    p->at = malloc((size_t)p->start[nodes] * sizeof *p->at);
    if (p->e == NULL || p->at == NULL)
        return -ENOMEM;
    place_pieces(&c, log, p);
    memmove(p->start + 1, p->start, (size_t)nodes * sizeof *p->start);
    p->start[0] = 0;
    return 0;
}

static int fill_here(struct cio_tcio *f, const struct pieces *p, int64_t from, int64_t to)
{
    struct cio_walk w;
    int rc = 0;

    if (from == to)
        return 0;
    cio_tally(&f->space->stats.local_transfers, 1);
    cio_walk_begin(f->space, f->entry, 0, 0, 0, &w);
    for (int64_t i = from; rc == 0 && i < to; i++)
        rc = cio_walk_fill(&w, p->e[i].off, f->log.data + p->at[i], p->e[i].len);
    cio_walk_end(&w);
    return rc;
}

/* How many of the pieces from e on fit into a record with so much room. */
static int64_t that_fit(const cio_extent *e, int64_t n, int64_t room)
{
    int64_t bytes = 0, i;

    for (i = 0; i < n; i++) {
        bytes += e[i].len;
        if (bytes + (int64_t)cio_code_bound_range((size_t)i + 1, cio_extent_end(e[i]) - e[0].off) >
            room)
            break;
    }
    return i;
}

/* One record with the first of these pieces; tells how many went. */
static int send_some(struct cio_tcio *f, int node, const struct pieces *p, int64_t from, int64_t to,
                     int64_t *sent)
{
    struct cio_space *s = f->space;
    struct cio_record *r = (void *)s->staging;
    char *code = cio_record_begin(s, CIO_RECORD_WRITE, f->path), *data;
    int64_t n = that_fit(p->e + from, to - from, s->staging + s->sizes.record - code);
    uint64_t id;

    r->base = p->e[from].off;
    r->code = (int64_t)cio_code_encode(p->e + from, (size_t)n, r->base, code);
    data = code + r->code;
    for (int64_t i = from; i < from + n; i++) {
        cio_copy_small(data, f->log.data + p->at[i], p->e[i].len);
        data += p->e[i].len;
    }
    r->data = data - code - r->code;
    *sent = n;
    return cio_record_send(s, node, &id);
}

static int fill_there(struct cio_tcio *f, int node, const struct pieces *p)
{
    int64_t i = p->start[node], to = p->start[node + 1], n;
    int rc = 0;

    for (; rc == 0 && i < to; i += n)
        rc = send_some(f, node, p, i, to, &n);
    return rc;
}

/* On one node nothing is sorted. */
static int fill_from_log(struct cio_tcio *f)
{
    const struct cio_wlog *log = &f->log;
    struct cio_walk w;
    int rc = 0;

    cio_tally(&f->space->stats.local_transfers, 1);
    cio_walk_begin(f->space, f->entry, 0, 0, 0, &w);
    for (int64_t i = 0; rc == 0 && i < log->n; i++)
        rc = cio_walk_fill(&w, log->block[i].off, log->data + log->block[i].at, log->block[i].len);
    cio_walk_end(&w);
    return rc;
}

int cio_deal_writes(struct cio_tcio *f)
{
    struct cio_space *s = f->space;
    struct pieces p;
    int rc;

    if (s->os->nodes == 1)
        return fill_from_log(f);
    rc = sort_pieces(s, &f->log, &p);
    for (int k = 1; rc == 0 && k < s->os->nodes; k++)
        rc = fill_there(f, (s->node + k) % s->os->nodes, &p);
    if (rc == 0)
        rc = fill_here(f, &p, p.start[s->node], p.start[s->node + 1]);
    for (int n = 0; rc == 0 && n < s->os->nodes; n++)
        if (n != s->node && p.start[n] < p.start[n + 1])
            rc = cio_records_flush(s, n);
    pieces_destroy(&p);
    return rc;
}

/* ---- reading ---- */

struct wishes {
    struct cio_wish *w;
    int64_t *start;
};

static int sort_wishes(const struct cio_space *s, const struct cio_wish *wish, int64_t n,
                       struct wishes *out)
{
    struct cut c = {s, s->sizes.answer / 4};
    int nodes = s->os->nodes;
    int64_t piece;

    *out = (struct wishes){.start = calloc((size_t)nodes + 1, sizeof *out->start)};
    if (out->start == NULL)
        return -ENOMEM;
    for (int64_t i = 0; i < n; i++)
        for (int64_t at = 0; at < wish[i].len; at += piece)
            out->start[first_piece(&c, wish[i].off + at, wish[i].len - at, &piece)]++;
    sum_up(out->start, nodes);
    out->w = malloc((size_t)out->start[nodes] * sizeof *out->w);
    if (out->w == NULL)
        return -ENOMEM;
    for (int64_t i = 0; i < n; i++)
        for (int64_t at = 0; at < wish[i].len; at += piece) {
            int node = first_piece(&c, wish[i].off + at, wish[i].len - at, &piece);

            out->w[out->start[node]++] =
                (struct cio_wish){wish[i].off + at, piece, wish[i].buf + at};
        }
    memmove(out->start + 1, out->start, (size_t)nodes * sizeof *out->start);
    out->start[0] = 0;
    return 0;
}

static int by_offset(const void *a, const void *b)
{
    const struct cio_wish *x = a, *y = b;

    return x->off < y->off ? -1 : x->off > y->off;
}

static int read_here(struct cio_tcio *f, const struct cio_wish *w, int64_t n, int64_t *cut)
{
    struct cio_walk walk;
    int64_t bytes = 0;
    int rc = 0;

    if (n == 0)
        return 0;
    for (int64_t i = 0; i < n; i++)
        bytes += w[i].len;
    cio_tally(&f->space->stats.local_transfers, 1);
    if (f->space->settings.immediate || f->look)
        cio_inbox_settle(f->space);
    cio_walk_begin(f->space, f->entry, w[0].off, w[n - 1].off + w[n - 1].len, bytes, &walk);
    for (int64_t i = 0; rc == 0 && i < n; i++)
        rc = cio_walk_read(&walk, w[i].off, w[i].buf, w[i].len, cut);
    cio_walk_end(&walk);
    return rc;
}

/*
 * A question: what is wanted, each byte once, as many wishes as an answer and a record can hold.
 * `at[k]` is where extent k begins in the answer.
 */
struct question {
    cio_extent *e;
    int64_t *at;
    int64_t n, bytes, most;
};

static int question_create(struct question *q, int64_t record)
{
    q->most = (record - CIO_TCIO_PATH) / (int64_t)cio_code_bound(1) - 1;
    q->e = malloc((size_t)q->most * sizeof *q->e);
    q->at = malloc((size_t)q->most * sizeof *q->at);
    return q->e == NULL || q->at == NULL ? -ENOMEM : 0;
}

static void question_destroy(struct question *q)
{
    free(q->e);
    free(q->at);
}

/* Takes wishes in; how many. */
static int64_t compose(struct question *q, const struct cio_wish *w, int64_t n, int64_t room)
{
    int64_t i, more, end = -1;

    q->n = q->bytes = 0;
    for (i = 0; i < n; i++) {
        more = w[i].off + w[i].len - cio_max64(end, w[i].off);
        more = cio_max64(more, 0);
        if (q->bytes + more > room || (w[i].off > end && q->n == q->most))
            break;
        if (w[i].off > end || q->n == 0) {
            q->at[q->n] = q->bytes;
            q->e[q->n++] = (cio_extent){w[i].off, more};
        } else {
            q->e[q->n - 1].len += more;
        }
        q->bytes += more;
        end = cio_max64(end, w[i].off + w[i].len);
    }
    return i;
}

static void hand_out(const struct question *q, const struct cio_wish *w, int64_t n,
                     const char *answer)
{
    int64_t k = 0;

    for (int64_t i = 0; i < n; i++) {
        while (cio_extent_end(q->e[k]) <= w[i].off)
            k++;
        cio_copy_small(w[i].buf, answer + q->at[k] + w[i].off - q->e[k].off, w[i].len);
    }
}

static int ask(struct cio_tcio *f, int node, const struct question *q, int64_t *cut)
{
    struct cio_space *s = f->space;
    struct cio_record *r = (void *)s->staging;
    char *code = cio_record_begin(s, CIO_RECORD_READ, f->path);
    struct cio_answer answer = {0};
    int rc;

    r->base = q->e[0].off;
    r->span = cio_extent_end(q->e[q->n - 1]) - r->base;
    r->code = (int64_t)cio_code_encode(q->e, (size_t)q->n, r->base, code);
    rc = cio_record_ask(s, node, &answer, s->staging, q->bytes);
    if (rc == 0 && answer.bytes != q->bytes)
        rc = -EBADMSG;
    *cut |= answer.cut;
    return rc;
}

static int read_there(struct cio_tcio *f, int node, const struct cio_wish *w, int64_t n,
                      int64_t *cut)
{
    struct cio_space *s = f->space;
    struct question q = {0};
    int rc = n == 0 ? 0 : question_create(&q, s->sizes.record);

    for (int64_t taken; rc == 0 && n > 0; w += taken, n -= taken) {
        taken = compose(&q, w, n, s->sizes.answer);
        rc = ask(f, node, &q, cut);
        if (rc == 0)
            hand_out(&q, w, taken, s->staging);
    }
    question_destroy(&q);
    return rc;
}

int cio_deal_reads(struct cio_tcio *f, const struct cio_wish *wish, int64_t n, int64_t *cut)
{
    struct cio_space *s = f->space;
    struct wishes x;
    int rc = sort_wishes(s, wish, n, &x);

    for (int k = 0; rc == 0 && k < s->os->nodes; k++) {
        int node = (s->node + k) % s->os->nodes;
        int64_t from = x.start[node], many = x.start[node + 1] - from;

        qsort(x.w + from, (size_t)many, sizeof *x.w, by_offset);
        rc = node == s->node ? read_here(f, x.w + from, many, cut)
                             : read_there(f, node, x.w + from, many, cut);
    }
    free(x.w);
    free(x.start);
    return rc;
}
