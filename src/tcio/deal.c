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
    cio_walk_begin(f->space, f->entry, &w);
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
    cio_walk_begin(f->space, f->entry, &w);
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

/* Reads mostly come in rising order already. */
static int rises(const struct cio_wish *w, int64_t n)
{
    for (int64_t i = 1; i < n; i++)
        if (w[i - 1].off > w[i].off)
            return 0;
    return 1;
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
    cio_walk_begin(f->space, f->entry, &walk);
    cio_walk_expect(&walk, w[n - 1].off + w[n - 1].len - w[0].off, n, bytes);
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
    int64_t room; /* for their code */
};

#define LEAST_CODE 5 /* bytes of code of an extent, unless they are regular or very small */

static int question_create(struct question *q, int64_t record)
{
    q->room = record - CIO_TCIO_PATH - (int64_t)sizeof(struct cio_record);
    q->most = record / LEAST_CODE;
    q->e = malloc((size_t)q->most * sizeof *q->e);
    q->at = malloc((size_t)q->most * sizeof *q->at);
    return q->e == NULL || q->at == NULL ? -ENOMEM : 0;
}

static void question_destroy(struct question *q)
{
    free(q->e);
    free(q->at);
}

/* Whether a wish that begins at `off`, after an extent that ends at `end`, can be coded, too. */
static int has_room(const struct question *q, int64_t off, int64_t end)
{
    if (off <= end || q->n == 0)
        return 1;
    return q->n < q->most &&
           (int64_t)cio_code_bound_range((size_t)q->n + 1, off - q->e[0].off) <= q->room;
}

/* Takes wishes in; how many. */
static int64_t compose(struct question *q, const struct cio_wish *w, int64_t n, int64_t room)
{
    int64_t i, more, end = -1;

    q->n = q->bytes = 0;
    for (i = 0; i < n; i++) {
        more = w[i].off + w[i].len - cio_max64(end, w[i].off);
        more = cio_max64(more, 0);
        if (q->bytes + more > room || !has_room(q, w[i].off, end))
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

static int ask(struct cio_tcio *f, int node, const struct question *q, uint64_t *id)
{
    struct cio_space *s = f->space;
    struct cio_record *r = (void *)s->staging;
    char *code = cio_record_begin(s, CIO_RECORD_READ, f->path);
    int rc;

    r->base = q->e[0].off;
    r->span = cio_extent_end(q->e[q->n - 1]) - r->base;
    r->code = (int64_t)cio_code_encode(q->e, (size_t)q->n, r->base, code);
    rc = cio_record_send(s, node, id);
    return rc == 0 ? cio_records_flush(s, node) : rc;
}

/* What is still wanted of a node; one question to each is under way at a time. */
struct talk {
    const struct cio_wish *w;
    int64_t left;
    uint64_t id; /* of the question, 0: none */
    struct cio_patience patience;
};

/* The next question is composed of what is left, and so it is again when it has been answered. */
static int ask_next(struct cio_tcio *f, int node, struct talk *t, struct question *q)
{
    if (t->left == 0)
        return 0;
    cio_patience_start(&t->patience);
    (void)compose(q, t->w, t->left, f->space->sizes.answer);
    return ask(f, node, q, &t->id);
}

static int take_answer(struct cio_tcio *f, int node, struct talk *t, struct question *q,
                       int64_t *cut)
{
    struct cio_space *s = f->space;
    struct cio_answer answer = {0};
    int64_t taken = compose(q, t->w, t->left, s->sizes.answer);
    int rc = cio_answer_take(s, node, t->id, &answer, s->answer, q->bytes);

    if (rc == 0 && answer.bytes != q->bytes)
        rc = -EBADMSG;
    if (rc == 0)
        hand_out(q, t->w, taken, s->answer);
    *cut |= answer.cut;
    t->w += taken;
    t->left -= taken;
    t->id = 0;
    return rc;
}

/* The questions to all nodes. */
struct talks {
    struct cio_tcio *f;
    struct talk *t;
    struct question q;
    int64_t *cut;
};

/* One look at each question that is under way. */
static int look_at_all(void *self)
{
    struct talks *all = self;
    int rc = 0, ready;

    for (int n = 0; rc == 0 && n < all->f->space->os->nodes; n++) {
        struct talk *t = &all->t[n];

        if (t->id == 0)
            continue;
        rc = cio_answer_ready(all->f->space, n, t->id, &t->patience, &ready);
        if (rc == 0 && ready)
            rc = take_answer(all->f, n, t, &all->q, all->cut);
    }
    return rc;
}

/* Asks those who have nothing to answer, but should; how many are asked now. */
static int ask_all(struct talks *all, int *open)
{
    int nodes = all->f->space->os->nodes, rc = 0;

    *open = 0;
    for (int n = 0; rc == 0 && n < nodes; n++) {
        if (all->t[n].id == 0)
            rc = ask_next(all->f, n, &all->t[n], &all->q);
        *open += all->t[n].id != 0;
    }
    return rc;
}

static int read_all(struct talks *all, const struct wishes *x)
{
    struct cio_space *s = all->f->space;
    struct cio_patience p;
    int open, here = s->node, rc;

    for (int n = 0; n < s->os->nodes; n++)
        if (n != here)
            all->t[n] =
                (struct talk){.w = x->w + x->start[n], .left = x->start[n + 1] - x->start[n]};
    s->meanwhile = look_at_all;
    s->meanwhile_self = all;
    rc = ask_all(all, &open);
    if (rc == 0)
        rc =
            read_here(all->f, x->w + x->start[here], x->start[here + 1] - x->start[here], all->cut);
    cio_patience_start(&p);
    while (rc == 0 && open > 0) {
        rc = look_at_all(all);
        if (rc == 0)
            rc = ask_all(all, &open);
        if (open > 0)
            cio_patience_nap(s, &p);
    }
    cio_patience_end(s, &p);
    s->meanwhile = NULL;
    return rc;
}

int cio_deal_reads(struct cio_tcio *f, const struct cio_wish *wish, int64_t n, int64_t *cut)
{
    struct cio_space *s = f->space;
    struct talks all = {.f = f, .cut = cut, .t = calloc((size_t)s->os->nodes, sizeof *all.t)};
    struct wishes x;
    int rc = sort_wishes(s, wish, n, &x);

    for (int node = 0; rc == 0 && node < s->os->nodes; node++) {
        int64_t from = x.start[node], many = x.start[node + 1] - from;

        if (!rises(x.w + from, many))
            qsort(x.w + from, (size_t)many, sizeof *x.w, by_offset);
    }
    if (rc == 0 && all.t == NULL)
        rc = -ENOMEM;
    if (rc == 0 && s->os->nodes > 1)
        rc = question_create(&all.q, s->sizes.record);
    if (rc == 0)
        rc = read_all(&all, &x);
    question_destroy(&all.q);
    free(all.t);
    free(x.w);
    free(x.start);
    return rc;
}
