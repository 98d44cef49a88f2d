/* An aggregator's answers to what leaders want to read. */
#include "exec/serve.h"

#include <errno.h>
#include <string.h>

/* What came in a message is copied, since its buffer is needed for the next one. */
static int keep_content(struct cio_op *op, struct cio_ask *a, const struct cio_content *c)
{
    int64_t parts = a->lists * (int64_t)sizeof(*a->part);

    a->copy = cio_op_alloc(op, parts + a->meta);
    if (a->copy == NULL)
        return -ENOMEM;
    memcpy(a->copy, c->part, (size_t)parts);
    memcpy(a->copy + parts, c->coded, (size_t)a->meta);
    a->part = (const struct cio_part *)a->copy;
    a->coded = a->copy + parts;
    return 0;
}

/* A leader that asks gets an answer, whatever happens. */
int cio_aggr_ask(struct cio_op *op, struct cio_serving *s, const struct cio_head *h,
                 const struct cio_content *c, int rc)
{
    struct cio_ask *a = &s->ask[h->leader];

    if (h->data == 0)
        return rc;
    *a = (struct cio_ask){.waiting = 1, .lists = h->lists, .meta = h->meta, .data = h->data};
    s->asks++;
    if (rc != 0)
        return rc;
    if (!h->near)
        return keep_content(op, a, c);
    a->part = c->part;
    a->coded = c->coded;
    a->to = c->data;
    return 0;
}

/* ---- loading ---- */

/* Marks what those who wait have asked for. */
static int mark_asks(struct cio_op *op, struct cio_serving *s)
{
    int rc = 0;

    for (int l = 0; rc == 0 && l < op->aggr->nleaders; l++) {
        const struct cio_ask *a = &s->ask[l];
        const char *coded = a->coded;

        for (int64_t i = 0; rc == 0 && a->loading && i < a->lists; i++) {
            rc = cio_round_take(&s->round, coded, a->part[i].coded, NULL, a->part[i].data, 0);
            coded += a->part[i].coded;
        }
    }
    return rc;
}

/* Those who wait for what is not loaded; how many bytes they want. */
static int64_t pick_asks(struct cio_op *op, struct cio_serving *s)
{
    int64_t bytes = 0;

    for (int l = 0; l < op->aggr->nleaders; l++) {
        struct cio_ask *a = &s->ask[l];

        if (!a->waiting || a->ready)
            continue;
        a->loading = 1;
        bytes += a->data;
    }
    return bytes;
}

/* To where a leader of this node wants it. */
static int aim_ask(const struct cio_op *op, struct cio_round *r, const struct cio_ask *a)
{
    const char *coded = a->coded;
    char *to = a->to;
    int rc = to == NULL ? -E2BIG : 0;

    for (int64_t i = 0; rc == 0 && i < a->lists; i++) {
        rc = cio_round_aim_at(r, coded, a->part[i].coded, to, a->part[i].data, cio_aggr_direct(op));
        coded += a->part[i].coded;
        to += a->part[i].data;
    }
    return rc;
}

/* Reads all that is asked for to where it is wanted, if it is long segments on boards. */
static int load_directly(struct cio_op *op, struct cio_serving *s)
{
    int rc = 0;

    cio_round_aim(&s->round);
    for (int l = 0; rc == 0 && l < op->aggr->nleaders; l++)
        if (s->ask[l].loading)
            rc = aim_ask(op, &s->round, &s->ask[l]);
    if (rc != 0)
        return 0;
    for (int l = 0; l < op->aggr->nleaders; l++)
        s->ask[l].direct |= s->ask[l].loading;
    cio_round_read_aimed(op, &s->round);
    return 1;
}

/* The whole round, if that is most of it, without looking closer. */
static void begin_load(struct cio_op *op, struct cio_serving *s, int64_t bytes)
{
    int rc;

    if (load_directly(op, s))
        return;
    if (bytes >= s->round.len / 2 && op->set.sieve_read != CIO_DISABLE) {
        cio_round_read_all(op, &s->round);
        return;
    }
    rc = mark_asks(op, s);
    if (rc == 0)
        cio_round_read(op, &s->round);
    else
        cio_op_fail(op, rc);
}

void cio_aggr_loaded(struct cio_op *op, struct cio_serving *s)
{
    s->state = CIO_SERVE_FILL;
    for (int l = 0; l < op->aggr->nleaders; l++) {
        s->ask[l].ready |= s->ask[l].loading;
        s->ask[l].loading = 0;
    }
}

/*
 * Once everybody has asked, the file is read for all of them at once. For a leader that goes on
 * asking, what it wants is read then. Leaders that go on keep their slots; if these are all slots
 * there are, nobody else can ask before they have been answered.
 */
int cio_aggr_load(struct cio_op *op, struct cio_serving *s)
{
    int64_t bytes;

    if (s->asks == 0 || (s->firsts > 0 && s->held < op->aggr->pipe.slots))
        return 0;
    bytes = pick_asks(op, s);
    if (bytes == 0)
        return 0;
    s->state = CIO_SERVE_LOAD;
    if (op->error == 0 && !s->round.whole)
        begin_load(op, s, bytes);
    return 1;
}

/* ---- answers ---- */

/* Collects what a leader has asked for, unless it is there already. */
static int give_lists(const struct cio_round *r, const struct cio_ask *a, char *data)
{
    const char *coded = a->coded;
    int rc = 0;

    for (int64_t i = 0; rc == 0 && !a->direct && i < a->lists; i++) {
        rc = cio_round_give(r, coded, a->part[i].coded, data, a->part[i].data);
        coded += a->part[i].coded;
        data += a->part[i].data;
    }
    return rc;
}

static void drop_ask(struct cio_op *op, struct cio_serving *s, struct cio_ask *a)
{
    cio_op_free(op, a->copy, a->lists * (int64_t)sizeof(*a->part) + a->meta);
    *a = (struct cio_ask){.waiting = 0};
    s->asks--;
}

/*
 * The data, or word that it is on the board; or nothing, after an error. Data has been sent when it
 * has arrived, not when MPI has taken a copy: so few answers are under way whatever their length,
 * and without a pipeline the next round is read after that.
 */
static void send_reply(struct cio_op *op, struct cio_serving *s, struct cio_reply *r, int leader)
{
    struct cio_ask *a = &s->ask[leader];
    struct cio_iov iov = {r->buf, 0};
    enum cio_send_mode mode = a->to == NULL ? CIO_SEND_SYNCHRONOUS : CIO_SEND_PLAIN;
    double t = cio_now();

    if (op->error == 0) {
        int rc = give_lists(&s->round, a, a->to != NULL ? a->to : r->buf);

        if (rc != 0)
            cio_op_fail(op, rc);
        else
            iov.len = a->to != NULL ? (int64_t)sizeof(int64_t) : a->data;
        op->stats.time[CIO_TIME_PLACE] += cio_now() - t;
        cio_count_add(&op->stats, CIO_COUNT_PLACED_BYTES, rc == 0 && !a->direct ? a->data : 0);
    }
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
    cio_op_note_data(op, op->env.team->leader[leader], a->to == NULL ? iov.len : 0);
    drop_ask(op, s, a);
    cio_op_send_data(op, &iov, 1, op->env.team->leader[leader], CIO_TAG_REPLY, mode, &r->req);
}

/* The first reply buffer that is not on its way; NULL if there is none. */
static struct cio_reply *free_reply(struct cio_aggr *g)
{
    for (int i = 0; i < g->pipe.replies; i++)
        if (!cio_req_busy(&g->reply[i].req))
            return &g->reply[i];
    return NULL;
}

/* Answers reach a leader in the order in which it asked: it could not tell them apart. */
static int may_answer(const struct cio_aggr *g, const struct cio_serving *s, int leader)
{
    if (!s->ask[leader].ready)
        return 0;
    for (const struct cio_serving *other = g->first; other != s; other = other->after)
        if (other->ask[leader].waiting)
            return 0;
    return 1;
}

int cio_aggr_answer(struct cio_op *op, struct cio_serving *s)
{
    struct cio_aggr *g = op->aggr;
    struct cio_reply *r = free_reply(g);
    int advanced = 0;

    for (int l = 0; s->asks > 0 && r != NULL && l < g->nleaders; l++) {
        if (!may_answer(g, s, l))
            continue;
        send_reply(op, s, r, l);
        r = free_reply(g);
        advanced = 1;
    }
    return advanced;
}
