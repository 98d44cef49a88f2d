/* An aggregator's messages: receives posted ahead, and what is in them. */
#include "exec/serve.h"

#include <errno.h>
#include <string.h>

#include "plan/bits.h"

int cio_aggr_check(const struct cio_op *op, const struct cio_head *h, const struct cio_req *req)
{
    int64_t rest = req->bytes - (int64_t)sizeof(*h);

    if (req->error != 0)
        return req->error;
    if (rest < 0 || h->magic != CIO_HEAD_MAGIC || h->lists < 0 || h->meta < 0 || h->data < 0)
        return -EBADMSG;
    if (!h->near && (h->lists > rest / (int64_t)sizeof(struct cio_part) ||
                     h->meta > rest - h->lists * (int64_t)sizeof(struct cio_part)))
        return -EBADMSG;
    if (h->leader < 0 || h->leader >= op->aggr->nleaders)
        return -EBADMSG;
    return 0;
}

static const struct cio_head *slot_head(const struct cio_slot *s)
{
    return (const struct cio_head *)s->buf;
}

/* ---- receives, posted ahead in the order of positions, for those that have a sub-buffer ---- */

static int post_receive(struct cio_op *op, struct cio_slot *s, int leader, int64_t pos)
{
    s->leader = leader;
    s->pos = pos;
    s->posted = ++op->aggr->posted;
    cio_op_recv(op, s->buf, op->aggr->pipe.receive, op->env.team->leader[leader], CIO_TAG_DATA,
                &s->req);
    return 1;
}

static int has_begun(const struct cio_aggr *g, int64_t pos)
{
    return g->begin_pos < 0 || pos < g->begin_pos;
}

/* The leader whose next message comes next; -1 if all of them are posted. */
static int next_leader(struct cio_op *op)
{
    struct cio_aggr *g = op->aggr;

    while (g->post_pos >= 0 && has_begun(g, g->post_pos)) {
        for (; g->post_leader < g->nleaders; g->post_leader++)
            if (cio_bits_test(cio_touched_by(op, g->post_leader), g->post_pos))
                return g->post_leader++;
        g->post_leader = 0;
        g->post_pos = cio_bits_next(cio_touched_by_any(op), op->rounds.slice, g->post_pos + 1);
    }
    return -1;
}

/* ---- leave to send ---- */

void cio_aggr_note_begun(struct cio_op *op, int leader, int64_t pos)
{
    struct cio_grant *g = &op->aggr->grant[leader];

    op->aggr->grants_due += g->due == g->sent;
    g->due = pos;
}

static void send_grant(struct cio_op *op, int leader)
{
    struct cio_grant *g = &op->aggr->grant[leader];

    g->head =
        (struct cio_head){.magic = CIO_HEAD_MAGIC, .leader = op->env.team->my_aggr, .pos = g->due};
    struct cio_iov iov = {&g->head, sizeof(g->head)};
    g->sent = g->due;
    op->aggr->grants_due--;
    cio_op_send_data(op, &iov, 1, op->env.team->leader[leader], CIO_TAG_GRANT, CIO_SEND_PLAIN,
                     &g->req);
}

int cio_aggr_grant(struct cio_op *op)
{
    struct cio_aggr *g = op->aggr;
    int advanced = 0;

    for (int l = 0; g->grants_due > 0 && l < g->nleaders; l++)
        if (g->grant[l].due > g->grant[l].sent && !cio_req_busy(&g->grant[l].req)) {
            send_grant(op, l);
            advanced = 1;
        }
    return advanced;
}

int cio_aggr_granting(const struct cio_aggr *g)
{
    int busy = g->grants_due > 0;

    for (int l = 0; !busy && l < g->nleaders; l++)
        busy = cio_req_busy(&g->grant[l].req);
    return busy;
}

int cio_aggr_post(struct cio_op *op)
{
    struct cio_aggr *g = op->aggr;
    int advanced = 0;

    for (int i = 0; i < g->pipe.slots; i++) {
        int leader = g->slot[i].leader < 0 ? next_leader(op) : -1;

        if (leader >= 0)
            advanced = post_receive(op, &g->slot[i], leader, g->post_pos);
    }
    return advanced;
}

/* ---- what is in a message ---- */

static const struct cio_nodemem *board_of(const struct cio_op *op, int leader)
{
    const struct cio_segment *seg = op->env.segment;

    if (leader == op->env.team->my_leader)
        return &seg->mem;
    return leader < seg->nnear ? &seg->near[leader] : NULL;
}

static int is_within(const struct cio_nodemem *mem, int64_t at, int64_t n)
{
    return at >= 0 && n >= 0 && n <= mem->size && at <= mem->size - n;
}

static int find_on_board(const struct cio_op *op, const struct cio_head *h, struct cio_content *c)
{
    const struct cio_nodemem *mem = board_of(op, h->leader);

    if (mem == NULL || mem->base == NULL || h->lists > mem->size / (int64_t)sizeof(*c->part) ||
        !is_within(mem, h->at_parts, h->lists * (int64_t)sizeof(*c->part)) ||
        !is_within(mem, h->at_meta, h->meta) || !is_within(mem, h->at_data, h->data))
        return -EBADMSG;
    *c = (struct cio_content){.part = (const struct cio_part *)((char *)mem->base + h->at_parts),
                              .coded = (char *)mem->base + h->at_meta,
                              .data = (char *)mem->base + h->at_data};
    return 0;
}

/* Finds the parts; they must add up to what the head says, and with it to the message's length. */
static int find_content(const struct cio_op *op, const struct cio_head *h, int64_t size,
                        struct cio_content *c)
{
    int64_t meta = 0, data = 0, rest = size - (int64_t)sizeof(*h);

    c->part = (const struct cio_part *)(h + 1);
    c->coded = (const char *)(c->part + h->lists);
    c->data = (char *)c->coded + h->meta;
    if (h->near && find_on_board(op, h, c) != 0)
        return -EBADMSG;
    for (int64_t i = 0; i < h->lists; i++) {
        if (c->part[i].coded < 0 || c->part[i].data < 0)
            return -EBADMSG;
        meta += c->part[i].coded;
        data += c->part[i].data;
    }
    if (!h->near)
        rest -= h->lists * (int64_t)sizeof(*c->part) + meta + (op->req.write ? data : 0);
    if (meta != h->meta || data != h->data || rest != 0 || data > op->aggr->pipe.slot)
        return -EBADMSG;
    return 0;
}

/* Lays a message's data into the round; on a board it may stay where it is. */
static int take_lists(struct cio_op *op, struct cio_round *r, const struct cio_head *h,
                      const struct cio_content *c)
{
    int64_t least = h->near ? cio_aggr_direct(op) : 0;
    const char *coded = c->coded, *data = c->data;
    int rc = 0;

    for (int64_t i = 0; rc == 0 && i < h->lists; i++) {
        rc = cio_round_take(r, coded, c->part[i].coded, data, c->part[i].data, least);
        coded += c->part[i].coded;
        data += c->part[i].data;
    }
    return rc;
}

/* ---- messages of the positions that are served ---- */

/* Messages are matched in order but may complete in another one: all of them are counted. */
static void note_part(struct cio_op *op, struct cio_serving *s, struct cio_slot *slot, int32_t all)
{
    struct cio_got *p = &s->got[slot->leader];
    int leader = slot->leader;

    s->held -= p->got > 0;
    p->got++;
    op->aggr->taken[leader]++;
    slot->leader = -1;
    if (all > 0)
        p->all = all;
    if (p->got != p->all) {
        post_receive(op, slot, leader, s->pos);
        s->held++;
    } else {
        s->pending--;
    }
}

static int take_content(struct cio_op *op, struct cio_serving *s, const struct cio_slot *slot)
{
    const struct cio_head *h = slot_head(slot);
    struct cio_content c;
    int rc;

    if (h->error != 0)
        return h->error;
    rc = find_content(op, h, slot->req.bytes, &c);
    if (!op->req.write)
        return cio_aggr_ask(op, s, h, &c, rc);
    return rc == 0 ? take_lists(op, &s->round, h, &c) : rc;
}

static void take_message(struct cio_op *op, struct cio_serving *s, struct cio_slot *slot)
{
    const struct cio_head *h = slot_head(slot);
    double t = cio_now();
    int rc = take_content(op, s, slot);

    op->stats.time[CIO_TIME_PLACE] += cio_now() - t;
    if (rc != 0)
        cio_op_fail(op, rc);
    s->received++;
    cio_count_add(&op->stats, CIO_COUNT_RECEIVES, 1);
    cio_count_most(&op->stats, CIO_COUNT_ROUND_RECEIVES, s->received);
    s->firsts -= s->got[slot->leader].got == 0;
    note_part(op, s, slot, h->messages);
}

/* The position that is served with that number; NULL: its turn has not come. */
static struct cio_serving *serving_of(struct cio_aggr *g, int64_t pos)
{
    struct cio_serving *s = g->first;

    while (s != NULL && s->pos < pos)
        s = s->after;
    return s != NULL && s->pos == pos ? s : NULL;
}

/*
 * Whether it is the next one of its leader, for a position that is served. Receives are matched in
 * the order in which they were posted, but they may be done in another one.
 */
static struct cio_serving *find_serving(struct cio_aggr *g, const struct cio_slot *slot)
{
    const struct cio_head *h = slot_head(slot);
    struct cio_serving *s;

    if (h->serial != g->taken[slot->leader] + 1)
        return NULL;
    s = serving_of(g, h->pos);
    return s != NULL && s->ask != NULL && s->ask[slot->leader].waiting ? NULL : s;
}

/* The first position that waits for something of that leader. */
static struct cio_serving *waits_for(struct cio_op *op, int leader)
{
    struct cio_serving *s = op->aggr->first;

    while (s != NULL && (!cio_bits_test(cio_touched_by(op, leader), s->pos) ||
                         (s->got[leader].all > 0 && s->got[leader].got == s->got[leader].all)))
        s = s->after;
    return s;
}

/* A message that cannot be understood counts as the leader's last of the first position that waits
 * for it. */
static void drop_message(struct cio_op *op, struct cio_serving *s, struct cio_slot *slot, int rc)
{
    struct cio_got *p = &s->got[slot->leader];

    cio_op_fail(op, rc);
    s->held -= p->got > 0;
    s->firsts -= p->got == 0;
    p->all = ++p->got;
    op->aggr->taken[slot->leader]++;
    slot->leader = -1;
    s->pending--;
}

int cio_aggr_take(struct cio_op *op)
{
    struct cio_aggr *g = op->aggr;
    int advanced = 0;

    for (int i = 0; i < g->pipe.slots; i++) {
        struct cio_slot *slot = &g->slot[i];
        struct cio_serving *s;
        int rc;

        if (slot->leader < 0 || slot->req.state != CIO_REQ_DONE)
            continue;
        rc = cio_aggr_check(op, slot_head(slot), &slot->req);
        s = rc == 0 ? find_serving(g, slot) : waits_for(op, slot->leader);
        if (s == NULL)
            continue;
        if (rc == 0)
            take_message(op, s, slot);
        else
            drop_message(op, s, slot, rc);
        advanced = 1;
    }
    return advanced;
}
