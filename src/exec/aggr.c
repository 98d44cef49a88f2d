/*
 * A global aggregator: serves its positions of the file, several at once.
 *
 * Every leader first says which positions its group touches. From then on the aggregator knows what
 * will come: it keeps a bounded number of receives posted, for one leader's next message each, in
 * the order of positions. A message for a position whose turn has not come waits in its slot.
 *
 *   write   messages are laid into the position's buffer; when all have come, it is written, and
 *           messages of the next positions are taken meanwhile
 *   read    when every leader has asked, what they want is read, and each gets its part; a leader
 *           that asks in several messages gets an answer to each; the next positions are read
 *           meanwhile, as far as leaders have asked for them
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "exec/serve.h"
#include "plan/bits.h"

/* ---- memory: all of it before anything is promised to anybody ---- */

static int make_serving(struct cio_op *op, char *buf, struct cio_serving *s)
{
    size_t n = (size_t)op->aggr->nleaders;

    s->got = calloc(n, sizeof(*s->got));
    s->ask = op->req.write ? NULL : calloc(n, sizeof(*s->ask));
    if (s->got == NULL || (!op->req.write && s->ask == NULL))
        return -ENOMEM;
    return cio_round_create(op, buf, &s->round);
}

static int64_t rounds_size(const struct cio_op *op)
{
    return op->pipe.depth * op->set.unit;
}

static int64_t messages_size(const struct cio_op *op)
{
    return op->pipe.slots * op->pipe.receive + op->pipe.replies * op->pipe.slot;
}

static int make_servings(struct cio_op *op, struct cio_aggr *g)
{
    int rc = 0;

    g->serving = calloc((size_t)g->pipe.depth, sizeof(*g->serving));
    g->rounds = cio_op_alloc(op, rounds_size(op));
    if (g->serving == NULL || g->rounds == NULL)
        return -ENOMEM;
    for (int i = 0; rc == 0 && i < g->pipe.depth; i++)
        rc = make_serving(op, g->rounds + i * op->set.unit, &g->serving[i]);
    return rc;
}

static int make_buffers(struct cio_op *op, struct cio_aggr *g)
{
    g->spare.size = g->pipe.spare;
    g->spare.buf = cio_op_alloc(op, g->spare.size);
    g->messages = cio_op_alloc(op, messages_size(op));
    if (g->spare.buf == NULL || g->messages == NULL)
        return -ENOMEM;
    for (int i = 0; i < g->pipe.slots; i++) {
        g->slot[i].leader = -1;
        g->slot[i].buf = g->messages + i * g->pipe.receive;
    }
    for (int i = 0; i < g->pipe.replies; i++)
        g->reply[i].buf = g->messages + g->pipe.slots * g->pipe.receive + i * g->pipe.slot;
    return make_servings(op, g);
}

int cio_aggr_create(struct cio_op *op)
{
    struct cio_aggr *g = calloc(1, sizeof(*g));

    if (g == NULL)
        return -ENOMEM;
    op->aggr = g;
    g->nleaders = op->env.team->nleaders;
    g->pipe = op->pipe;
    g->begin_pos = -1;
    g->bits_expected = g->nleaders;
    g->done_req = calloc((size_t)g->nleaders, sizeof(*g->done_req));
    g->taken = calloc((size_t)g->nleaders, sizeof(*g->taken));
    g->grant = calloc((size_t)g->nleaders, sizeof(*g->grant));
    if (g->done_req == NULL || g->taken == NULL || g->grant == NULL)
        return -ENOMEM;
    int rc = make_buffers(op, g);
    return rc == 0 ? cio_aggr_reserve(op, CIO_SMALL_SLICE) : rc;
}

int cio_aggr_reserve(struct cio_op *op, int64_t slice)
{
    struct cio_aggr *g = op->aggr;

    cio_op_free(op, g->touched, g->touched_size);
    cio_op_free(op, g->bits_buf, g->bits_size * g->pipe.slots);
    g->touched_size = (g->nleaders + 1) * slice / 8;
    g->touched = cio_op_alloc(op, g->touched_size);
    g->bits_size = (int64_t)(sizeof(struct cio_head) + cio_bits_bound(slice) + 7) / 8 * 8;
    g->bits_buf = cio_op_alloc(op, g->bits_size * g->pipe.slots);
    if (g->touched == NULL || g->bits_buf == NULL)
        return -ENOMEM;
    memset(g->touched, 0, (size_t)g->touched_size);
    return 0;
}

/* ---- which positions will come ---- */

static void note_bits(struct cio_op *op, const struct cio_head *h, const struct cio_req *req)
{
    int rc = cio_aggr_check(op, h, req);

    if (rc == 0)
        rc = h->error;
    if (rc == 0)
        rc = cio_bits_decode_or(h + 1, (size_t)h->meta, op->rounds.slice,
                                cio_touched_by(op, h->leader));
    if (rc != 0)
        cio_op_fail(op, rc);
    else
        cio_bits_or(cio_touched_by_any(op), cio_touched_by(op, h->leader), op->rounds.slice);
}

static int collect_bits(struct cio_op *op)
{
    struct cio_aggr *g = op->aggr;
    int advanced = 0;

    for (int i = 0; i < g->pipe.slots; i++) {
        struct cio_slot *s = &g->slot[i];
        char *buf = g->bits_buf + i * g->bits_size;

        if (s->leader >= 0 && s->req.state == CIO_REQ_DONE) {
            note_bits(op, (struct cio_head *)buf, &s->req);
            s->leader = -1;
            g->bits_expected--;
            advanced = 1;
        }
        if (s->leader < 0 && g->bits_posted < g->nleaders) {
            s->leader = 0;
            g->bits_posted++;
            cio_op_recv(op, buf, g->bits_size, CIO_ANY_SOURCE, CIO_TAG_BITS, &s->req);
            advanced = 1;
        }
    }
    return advanced;
}

/* ---- positions ---- */

static int64_t next_touched(const struct cio_op *op, int64_t from)
{
    return cio_bits_next(cio_touched_by_any(op), op->rounds.slice, from);
}

static void begin_position(struct cio_op *op, struct cio_serving *s, int64_t pos)
{
    struct cio_aggr *g = op->aggr;
    struct cio_serving **at = &g->first;
    int64_t off, len;

    while (*at != NULL)
        at = &(*at)->after;
    *at = s;
    s->after = NULL;
    s->state = CIO_SERVE_FILL;
    s->pos = pos;
    s->pending = 0;
    s->received = 0;
    for (int l = 0; l < g->nleaders; l++) {
        if (!cio_bits_test(cio_touched_by(op, l), pos))
            continue;
        s->pending++;
        if (op->req.write && pos >= g->pipe.depth)
            cio_aggr_note_begun(op, l, pos);
    }
    s->firsts = s->pending;
    s->held = 0;
    memset(s->got, 0, (size_t)g->nleaders * sizeof(*s->got));
    cio_rounds_range(&op->rounds, pos * op->rounds.naggr + op->env.team->my_aggr, &off, &len);
    cio_round_begin(&s->round, off, len);
    cio_count_add(&op->stats, CIO_COUNT_ROUNDS, 1);
}

static int replies_busy(const struct cio_aggr *g)
{
    for (int i = 0; i < g->pipe.replies; i++)
        if (cio_req_busy(&g->reply[i].req))
            return 1;
    return 0;
}

/*
 * The next position begins wherever a sub-buffer is free. With one of them nothing is done ahead:
 * what was read has been sent by then.
 */
static int begin_positions(struct cio_op *op)
{
    struct cio_aggr *g = op->aggr;
    int advanced = 0;

    if (g->pipe.depth == 1 && replies_busy(g))
        return 0;
    for (int i = 0; i < g->pipe.depth && g->begin_pos >= 0; i++) {
        if (g->serving[i].state != CIO_SERVE_FREE)
            continue;
        begin_position(op, &g->serving[i], g->begin_pos);
        g->begin_pos = next_touched(op, g->begin_pos + 1);
        advanced = 1;
    }
    return advanced;
}

static void begin_serving(struct cio_op *op)
{
    struct cio_aggr *g = op->aggr;

    g->step = CIO_AGGR_SERVE;
    op->serving = cio_now();
    op->stats.time[CIO_TIME_POSITIONS] = op->serving - op->started -
                                         op->stats.time[CIO_TIME_SETUP] -
                                         op->stats.time[CIO_TIME_SCHEDULE];
    g->post_pos = g->begin_pos = next_touched(op, 0);
}

/* All have come for it: what was written goes to the file; what was read is given away. */
static void end_filling(struct cio_op *op, struct cio_serving *s)
{
    s->state = CIO_SERVE_FREE;
    if (!op->req.write || op->error != 0)
        return;
    s->state = CIO_SERVE_STORE;
    cio_round_write(op, &s->round);
    cio_count_add(&op->stats, CIO_COUNT_PLACED_BYTES, s->round.laid);
}

static int go_on_serving(struct cio_op *op, struct cio_serving *s)
{
    int advanced = 0;

    switch (s->state) {
    case CIO_SERVE_FILL:
        if (!op->req.write)
            advanced = cio_aggr_answer(op, s) | cio_aggr_load(op, s);
        if (s->state == CIO_SERVE_FILL && s->pending == 0 && s->asks == 0) {
            end_filling(op, s);
            advanced = 1;
        }
        return advanced;
    case CIO_SERVE_LOAD:
        advanced = cio_aggr_answer(op, s);
        if (!cio_round_progress(op, &s->round))
            return advanced;
        cio_aggr_loaded(op, s);
        return 1;
    case CIO_SERVE_STORE:
        if (!cio_round_progress(op, &s->round))
            return 0;
        s->state = CIO_SERVE_FREE;
        return 1;
    default:
        return 0;
    }
}

/* ---- steps ---- */

static int is_serving(const struct cio_aggr *g)
{
    return g->first != NULL || replies_busy(g) || g->begin_pos >= 0 || cio_aggr_granting(g);
}

static void send_dones(struct cio_op *op)
{
    struct cio_aggr *g = op->aggr;

    g->step = CIO_AGGR_DONES;
    op->serving = cio_now() - op->serving;
    op->stats.time[CIO_TIME_SERVING] = op->serving;
    g->done = (struct cio_head){.magic = CIO_HEAD_MAGIC, .error = op->error, .eof = op->eof};
    for (int l = 0; l < g->nleaders; l++)
        cio_op_send(op, &g->done, sizeof(g->done), op->env.team->leader[l], CIO_TAG_DONE,
                    &g->done_req[l]);
}

/* Positions are gone through in the order in which they began, so that the first ones end first. */
static int go_on(struct cio_op *op)
{
    struct cio_serving **at = &op->aggr->first;
    int advanced = 0;

    while (*at != NULL) {
        advanced |= go_on_serving(op, *at);
        if ((*at)->state == CIO_SERVE_FREE)
            *at = (*at)->after;
        else
            at = &(*at)->after;
    }
    return advanced;
}

static int serve(struct cio_op *op)
{
    struct cio_aggr *g = op->aggr;
    int advanced = begin_positions(op);

    advanced |= cio_aggr_post(op) | cio_aggr_grant(op);
    advanced |= cio_aggr_take(op);
    advanced |= go_on(op);
    if (advanced || is_serving(g))
        return advanced;
    send_dones(op);
    return 1;
}

int cio_aggr_progress(struct cio_op *op)
{
    struct cio_aggr *g = op->aggr;

    switch (g->step) {
    case CIO_AGGR_BITS:
        if (collect_bits(op))
            return 1;
        if (g->bits_expected > 0)
            return 0;
        begin_serving(op);
        return 1;
    case CIO_AGGR_SERVE:
        return serve(op);
    case CIO_AGGR_DONES:
        if (cio_reqs_busy(g->done_req, g->nleaders))
            return 0;
        g->step = CIO_AGGR_DONE;
        return 1;
    default:
        return 0;
    }
}

/* ---- waiting ---- */

/* The first one posted of the busy receives from one leader, or from any (-1) for the least
 * position. */
static struct cio_slot *first_slot(struct cio_aggr *g, int leader)
{
    struct cio_slot *first = NULL;

    for (int i = 0; i < g->pipe.slots; i++) {
        struct cio_slot *s = &g->slot[i];

        if (s->leader < 0 || !cio_req_busy(&s->req) || (leader >= 0 && s->leader != leader))
            continue;
        if (first == NULL || (leader < 0 ? s->pos < first->pos : s->posted < first->posted))
            first = s;
    }
    return first;
}

/* The next message of the leader that the first position waits for. */
static void needs_message(struct cio_aggr *g, struct cio_needs *needs)
{
    struct cio_slot *first = first_slot(g, -1);

    if (first != NULL && g->step == CIO_AGGR_SERVE)
        first = first_slot(g, first->leader);
    if (first != NULL)
        cio_needs_add(needs, &first->req, 1);
}

/* Some position has all that it was asked for, and waits for a reply buffer. */
static int must_answer(const struct cio_aggr *g)
{
    for (const struct cio_serving *s = g->first; s != NULL; s = s->after)
        if (s->asks > 0 && s->firsts == 0)
            return 1;
    return 0;
}

/* Nothing, where one of the last messages is to myself, transfers end by themselves, or a leader
 * may wait for leave that I have yet to give. */
void cio_aggr_needs(struct cio_op *op, struct cio_needs *needs)
{
    struct cio_aggr *g = op->aggr;

    if (g->step > CIO_AGGR_SERVE || g->transfers > 0 || g->grants_due > 0)
        return;
    if (g->step == CIO_AGGR_BITS || !must_answer(g))
        needs_message(g, needs);
    for (int i = 0; needs->n == 0 && i < g->pipe.replies; i++)
        cio_needs_add(needs, &g->reply[i].req, 1);
}

int cio_aggr_is_done(const struct cio_op *op)
{
    return op->aggr == NULL || op->aggr->step == CIO_AGGR_DONE;
}

int cio_aggr_holds_lock(const struct cio_op *op)
{
    return op->aggr != NULL && op->aggr->spare.user != NULL;
}

int cio_aggr_transfers(const struct cio_op *op)
{
    return op->aggr != NULL && op->aggr->transfers > 0;
}

double cio_aggr_file_time(const struct cio_op *op)
{
    const struct cio_aggr *g = op->aggr;

    return op->stats.time[CIO_TIME_FILE] + (g->transfers > 0 ? cio_now() - g->since : 0);
}

const uint32_t *cio_aggr_word(const struct cio_op *op)
{
    return op->aggr != NULL ? cio_store_word(op->env.store) : NULL;
}

void cio_aggr_finish(struct cio_op *op)
{
    struct cio_aggr *g = op->aggr;

    if (g == NULL)
        return;
    for (int i = 0; g->serving != NULL && i < g->pipe.depth; i++) {
        cio_round_destroy(op, &g->serving[i].round);
        free(g->serving[i].ask);
        free(g->serving[i].got);
    }
    free(g->serving);
    cio_op_free(op, g->rounds, rounds_size(op));
    cio_op_free(op, g->messages, messages_size(op));
    cio_op_free(op, g->spare.buf, g->spare.size);
    cio_op_free(op, g->touched, g->touched_size);
    cio_op_free(op, g->bits_buf, g->bits_size * g->pipe.slots);
    free(g->grant);
    free(g->taken);
    free(g->done_req);
    free(g);
    op->aggr = NULL;
}
