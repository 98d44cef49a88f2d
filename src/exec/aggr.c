/*
 * A global aggregator: serves its positions of the file, one after the other.
 *
 * Every leader first says which positions its group touches. From then on the aggregator knows what
 * will come: it keeps a bounded number of receives posted, for one leader's next message each, in
 * the order of positions. A message for a later position waits in its slot.
 *
 *   write   messages are laid into the round's buffer; when all have come, it is written
 *   read    when every leader has asked, what they want is read, and each gets its part; a leader
 *           that asks in several messages gets an answer to each
 */
#include "exec/internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "exec/round.h"
#include "plan/bits.h"
#include "plan/code.h"

#define SLOTS 24
#define REPLIES 4

enum step { STEP_BITS, STEP_SERVE, STEP_DONES, STEP_DONE };

struct slot {
    struct cio_req req;
    char *buf;
    int leader;     /* whose message; -1: free */
    int64_t pos;    /* for which position, */
    int64_t posted; /* and the how manieth receive it is */
};

/* What a leader wants of the current position: one message at a time. */
struct ask {
    int waiting;                 /* not answered yet */
    const struct cio_part *part; /* NULL: nothing is the answer */
    const char *coded;
    int64_t lists, meta, data;
    char *copy; /* of both, where they came in a message */
    char *to;   /* where the data goes on the leader's board; NULL: in a message */
};

/* Where the parts of a message lie: behind its head, or on the leader's board. */
struct content {
    const struct cio_part *part;
    const char *coded;
    char *data;
};

struct reply {
    struct cio_req req;
    char *buf;
};

/* Messages of one leader for the current position. */
struct parts {
    int32_t got, all; /* all: 0 until the last one has come */
};

struct cio_aggr {
    enum step step;
    int nleaders;
    int64_t slot_size;
    int nslots;
    struct slot slot[SLOTS];
    struct reply reply[REPLIES]; /* read */
    struct cio_round round;
    uint64_t *touched; /* per leader: the positions that it touches; then: by anybody */
    int64_t touched_size;
    int bits_expected, bits_posted;
    int64_t pos;         /* served now; -1: before the first */
    int pending;         /* leaders that have not finished it */
    int firsts;          /* leaders that have not asked for anything of it yet (read) */
    int64_t received;    /* messages of it */
    struct parts *parts; /* per leader */
    int64_t *taken;      /* per leader: messages, in the order in which it sent them */
    int64_t posted;      /* receives so far */
    char *bits_buf;      /* coded positions, one for each slot */
    int64_t bits_size;
    int64_t post_pos; /* the next receive to post is for this position */
    int post_leader;  /* and the first leader from here on that touches it */
    struct ask *ask;  /* per leader (read), */
    int asks;         /* and how many wait */
    int held;         /* slots kept for leaders that have more to ask of this position */
    struct cio_head done;
    struct cio_req *done_req; /* per leader */
};

/* ---- memory: all of it before anything is promised to anybody ---- */

static int make_buffers(struct cio_op *op, struct cio_aggr *g)
{
    g->slot_size = cio_op_message_size(op);
    g->nslots = g->nleaders < SLOTS ? g->nleaders : SLOTS;
    for (int i = 0; i < g->nslots; i++) {
        g->slot[i].leader = -1;
        g->slot[i].buf = cio_op_alloc(op, g->slot_size);
        if (g->slot[i].buf == NULL)
            return -ENOMEM;
    }
    for (int i = 0; !op->req.write && i < REPLIES; i++) {
        g->reply[i].buf = cio_op_alloc(op, g->slot_size);
        if (g->reply[i].buf == NULL)
            return -ENOMEM;
    }
    return cio_round_create(op, &g->round);
}

int cio_aggr_create(struct cio_op *op)
{
    struct cio_aggr *g = calloc(1, sizeof(*g));

    if (g == NULL)
        return -ENOMEM;
    op->aggr = g;
    g->nleaders = op->env.team->nleaders;
    g->pos = -1;
    g->bits_expected = g->nleaders;
    g->done_req = calloc((size_t)g->nleaders, sizeof(*g->done_req));
    g->ask = calloc((size_t)g->nleaders, sizeof(*g->ask));
    g->parts = calloc((size_t)g->nleaders, sizeof(*g->parts));
    g->taken = calloc((size_t)g->nleaders, sizeof(*g->taken));
    if (g->done_req == NULL || g->ask == NULL || g->parts == NULL || g->taken == NULL)
        return -ENOMEM;
    int rc = make_buffers(op, g);
    return rc == 0 ? cio_aggr_reserve(op, CIO_SMALL_SLICE) : rc;
}

int cio_aggr_reserve(struct cio_op *op, int64_t slice)
{
    struct cio_aggr *g = op->aggr;

    cio_op_free(op, g->touched, g->touched_size);
    cio_op_free(op, g->bits_buf, g->bits_size * g->nslots);
    g->touched_size = (g->nleaders + 1) * slice / 8;
    g->touched = cio_op_alloc(op, g->touched_size);
    g->bits_size = (int64_t)(sizeof(struct cio_head) + cio_bits_bound(slice) + 7) / 8 * 8;
    g->bits_buf = cio_op_alloc(op, g->bits_size * g->nslots);
    if (g->touched == NULL || g->bits_buf == NULL)
        return -ENOMEM;
    memset(g->touched, 0, (size_t)g->touched_size);
    return 0;
}

/* ---- which positions will come ---- */

static uint64_t *touched_by(const struct cio_op *op, int leader)
{
    return op->aggr->touched + op->rounds.slice / 64 * leader;
}

static uint64_t *touched_by_any(const struct cio_op *op)
{
    return touched_by(op, op->aggr->nleaders);
}

/* What a message says must fit its length; otherwise it is not looked at. */
static int check_message(const struct cio_op *op, const struct cio_head *h,
                         const struct cio_req *req)
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

static void note_bits(struct cio_op *op, const struct cio_head *h, const struct cio_req *req)
{
    int rc = check_message(op, h, req);

    if (rc == 0)
        rc = h->error;
    if (rc == 0)
        rc =
            cio_bits_decode_or(h + 1, (size_t)h->meta, op->rounds.slice, touched_by(op, h->leader));
    if (rc != 0)
        cio_op_fail(op, rc);
    else
        cio_bits_or(touched_by_any(op), touched_by(op, h->leader), op->rounds.slice);
}

static int collect_bits(struct cio_op *op)
{
    struct cio_aggr *g = op->aggr;
    int advanced = 0;

    for (int i = 0; i < g->nslots; i++) {
        struct slot *s = &g->slot[i];
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

static const struct cio_head *slot_head(const struct slot *s)
{
    return (const struct cio_head *)s->buf;
}

/* ---- receives, posted ahead in the order of positions ---- */

static int post_receive(struct cio_op *op, struct slot *s, int leader, int64_t pos)
{
    s->leader = leader;
    s->pos = pos;
    s->posted = ++op->aggr->posted;
    cio_op_recv(op, s->buf, op->aggr->slot_size, op->env.team->leader[leader], CIO_TAG_DATA,
                &s->req);
    return 1;
}

/* The leader whose next message comes next; -1 if all of them are posted. */
static int next_leader(struct cio_op *op)
{
    struct cio_aggr *g = op->aggr;

    while (g->post_pos >= 0) {
        for (; g->post_leader < g->nleaders; g->post_leader++)
            if (cio_bits_test(touched_by(op, g->post_leader), g->post_pos))
                return g->post_leader++;
        g->post_leader = 0;
        g->post_pos = cio_bits_next(touched_by_any(op), op->rounds.slice, g->post_pos + 1);
    }
    return -1;
}

static int post_receives(struct cio_op *op)
{
    struct cio_aggr *g = op->aggr;
    int advanced = 0;

    for (int i = 0; i < g->nslots; i++) {
        int leader = g->slot[i].leader < 0 ? next_leader(op) : -1;

        if (leader >= 0)
            advanced = post_receive(op, &g->slot[i], leader, g->post_pos);
    }
    return advanced;
}

/* ---- positions ---- */

static void begin_position(struct cio_op *op, int64_t pos)
{
    struct cio_aggr *g = op->aggr;
    int64_t off, len;

    g->pos = pos;
    g->pending = 0;
    g->received = 0;
    for (int l = 0; l < g->nleaders; l++)
        g->pending += cio_bits_test(touched_by(op, l), pos);
    g->firsts = g->pending;
    g->held = 0;
    memset(g->parts, 0, (size_t)g->nleaders * sizeof(*g->parts));
    cio_domains_range(&op->rounds.domains, op->env.team->my_aggr, pos, &off, &len);
    cio_round_begin(&g->round, off, len);
    cio_count_add(&op->stats, CIO_COUNT_ROUNDS, 1);
}

static void begin_serving(struct cio_op *op)
{
    struct cio_aggr *g = op->aggr;
    int64_t first = cio_bits_next(touched_by_any(op), op->rounds.slice, 0);

    g->step = STEP_SERVE;
    op->stats.time[CIO_TIME_POSITIONS] = cio_now() - op->started - op->stats.time[CIO_TIME_SETUP];
    g->post_pos = first;
    if (first >= 0)
        begin_position(op, first);
    else
        g->pos = -1;
}

/* ---- messages of the current position ---- */

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

static int find_on_board(const struct cio_op *op, const struct cio_head *h, struct content *c)
{
    const struct cio_nodemem *mem = board_of(op, h->leader);

    if (mem == NULL || mem->base == NULL || h->lists > mem->size / (int64_t)sizeof(*c->part) ||
        !is_within(mem, h->at_parts, h->lists * (int64_t)sizeof(*c->part)) ||
        !is_within(mem, h->at_meta, h->meta) || !is_within(mem, h->at_data, h->data))
        return -EBADMSG;
    *c = (struct content){.part = (const struct cio_part *)((char *)mem->base + h->at_parts),
                          .coded = (char *)mem->base + h->at_meta,
                          .data = (char *)mem->base + h->at_data};
    return 0;
}

/* Finds the parts; they must add up to what the head says, and with it to the message's length. */
static int find_content(const struct cio_op *op, const struct cio_head *h, int64_t size,
                        struct content *c)
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
    if (meta != h->meta || data != h->data || rest != 0 || data > op->aggr->slot_size)
        return -EBADMSG;
    return 0;
}

/* Lays a message's data into the round. */
static int take_lists(struct cio_op *op, const struct cio_head *h, const struct content *c)
{
    const char *coded = c->coded, *data = c->data;
    int rc = 0;

    for (int64_t i = 0; rc == 0 && i < h->lists; i++) {
        rc = cio_round_take(&op->aggr->round, coded, c->part[i].coded, data, c->part[i].data);
        coded += c->part[i].coded;
        data += c->part[i].data;
    }
    return rc;
}

/* What came in a message is copied, since its buffer is needed for the next one. */
static int keep_content(struct cio_op *op, struct ask *a, const struct content *c)
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
static int keep_ask(struct cio_op *op, const struct cio_head *h, const struct content *c, int rc)
{
    struct ask *a = &op->aggr->ask[h->leader];

    if (h->data == 0)
        return rc;
    *a = (struct ask){.waiting = 1, .lists = h->lists, .meta = h->meta, .data = h->data};
    op->aggr->asks++;
    if (rc != 0)
        return rc;
    if (!h->near)
        return keep_content(op, a, c);
    a->part = c->part;
    a->coded = c->coded;
    a->to = c->data;
    return 0;
}

/* Messages are matched in order but may complete in another one: all of them are counted. */
static void note_part(struct cio_op *op, struct slot *s, int32_t all)
{
    struct parts *p = &op->aggr->parts[s->leader];
    int leader = s->leader;

    op->aggr->held -= p->got > 0;
    p->got++;
    op->aggr->taken[leader]++;
    s->leader = -1;
    if (all > 0)
        p->all = all;
    if (p->got != p->all) {
        post_receive(op, s, leader, op->aggr->pos);
        op->aggr->held++;
    }
    if (p->got == p->all)
        op->aggr->pending--;
}

static void take_message(struct cio_op *op, struct slot *s)
{
    struct cio_aggr *g = op->aggr;
    const struct cio_head *h = slot_head(s);
    int rc = h->error;

    double t = cio_now();

    if (rc == 0) {
        struct content c;

        rc = find_content(op, h, s->req.bytes, &c);
        if (!op->req.write)
            rc = keep_ask(op, h, &c, rc);
        else if (rc == 0)
            rc = take_lists(op, h, &c);
    }
    op->stats.time[CIO_TIME_PLACE] += cio_now() - t;
    if (op->req.write)
        cio_count_add(&op->stats, CIO_COUNT_PLACED_BYTES, h->data);
    if (rc != 0)
        cio_op_fail(op, rc);
    g->received++;
    cio_count_add(&op->stats, CIO_COUNT_RECEIVES, 1);
    cio_count_most(&op->stats, CIO_COUNT_ROUND_RECEIVES, g->received);
    if (g->firsts > 0)
        g->firsts--;
    note_part(op, s, h->messages);
}

/*
 * Whether it is the next one of its leader, for the current position. Receives are matched in the
 * order in which they were posted, but they may be done in another one.
 */
static int is_next(const struct cio_aggr *g, const struct slot *s)
{
    const struct cio_head *h = slot_head(s);

    return h->pos == g->pos && h->serial == g->taken[s->leader] + 1 && !g->ask[s->leader].waiting;
}

/* A message that cannot be understood counts as the leader's last of this position. */
static int take_messages(struct cio_op *op)
{
    struct cio_aggr *g = op->aggr;
    int advanced = 0;

    for (int i = 0; i < g->nslots; i++) {
        struct slot *s = &g->slot[i];
        int rc;

        if (s->leader < 0 || s->req.state != CIO_REQ_DONE)
            continue;
        rc = check_message(op, slot_head(s), &s->req);
        if (rc != 0) {
            cio_op_fail(op, rc);
            g->taken[s->leader]++;
            s->leader = -1;
            g->pending--;
            advanced = 1;
        } else if (is_next(g, s)) {
            take_message(op, s);
            advanced = 1;
        }
    }
    return advanced;
}

/* ---- reading ---- */

/* Collects what a leader has asked for. */
static int give_lists(struct cio_op *op, const struct ask *a, char *data)
{
    const char *coded = a->coded;
    int rc = 0;

    for (int64_t i = 0; rc == 0 && i < a->lists; i++) {
        rc = cio_round_give(&op->aggr->round, coded, a->part[i].coded, data, a->part[i].data);
        coded += a->part[i].coded;
        data += a->part[i].data;
    }
    return rc;
}

static void drop_ask(struct cio_op *op, struct ask *a)
{
    cio_op_free(op, a->copy, a->lists * (int64_t)sizeof(*a->part) + a->meta);
    *a = (struct ask){.waiting = 0};
    op->aggr->asks--;
}

/* The data, or word that it is on the board; or nothing, after an error. */
static void send_reply(struct cio_op *op, struct reply *r, int leader)
{
    struct ask *a = &op->aggr->ask[leader];
    struct cio_iov iov = {r->buf, 0};
    double t = cio_now();

    if (op->error == 0) {
        int rc = give_lists(op, a, a->to != NULL ? a->to : r->buf);

        if (rc != 0)
            cio_op_fail(op, rc);
        else
            iov.len = a->to != NULL ? (int64_t)sizeof(int64_t) : a->data;
        op->stats.time[CIO_TIME_PLACE] += cio_now() - t;
        cio_count_add(&op->stats, CIO_COUNT_PLACED_BYTES, rc == 0 ? a->data : 0);
    }
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
    cio_op_note_data(op, op->env.team->leader[leader], a->to == NULL ? iov.len : 0);
    drop_ask(op, a);
    cio_op_send_data(op, &iov, 1, op->env.team->leader[leader], CIO_TAG_REPLY, CIO_SEND_PLAIN,
                     &r->req);
}

/* Marks what those who wait have asked for, and how much it is. */
static int mark_asks(struct cio_op *op)
{
    struct cio_aggr *g = op->aggr;
    int rc = 0;

    for (int l = 0; rc == 0 && l < g->nleaders; l++) {
        const struct ask *a = &g->ask[l];
        const char *coded = a->coded;

        for (int64_t i = 0; rc == 0 && a->waiting && i < a->lists; i++) {
            rc = cio_round_take(&g->round, coded, a->part[i].coded, NULL, a->part[i].data);
            coded += a->part[i].coded;
        }
    }
    return rc;
}

/* Loads what is asked for: the whole round, if that is most of it, without looking closer. */
static int load(struct cio_op *op)
{
    struct cio_aggr *g = op->aggr;
    int64_t bytes = 0;
    int rc;

    if (g->round.whole)
        return 0;
    for (int l = 0; l < g->nleaders; l++)
        bytes += g->ask[l].waiting ? g->ask[l].data : 0;
    if (bytes >= g->round.len / 2 && op->set.sieve_read != CIO_DISABLE)
        return cio_round_read_all(op, &g->round);
    rc = mark_asks(op);
    return rc != 0 ? rc : cio_round_read(op, &g->round);
}

/* The first reply buffer that is not on its way; NULL if there is none. */
static struct reply *free_reply(struct cio_aggr *g)
{
    for (int i = 0; i < REPLIES; i++)
        if (!cio_req_busy(&g->reply[i].req))
            return &g->reply[i];
    return NULL;
}

/*
 * Answers, once everybody has asked: the file is read for all of them at once. For a leader that
 * goes on asking, what it wants is read then. Leaders that go on keep their slots; if these are all
 * slots there are, nobody else can ask before they have been answered.
 */
static int answer(struct cio_op *op)
{
    struct cio_aggr *g = op->aggr;
    struct reply *r = free_reply(g);
    int advanced = 0;

    if (g->asks == 0 || (g->firsts > 0 && g->held < g->nslots) || r == NULL)
        return 0;
    if (op->error == 0) {
        int rc = load(op);

        if (rc != 0)
            cio_op_fail(op, rc);
    }
    for (int l = 0; l < g->nleaders && r != NULL; l++) {
        if (!g->ask[l].waiting)
            continue;
        send_reply(op, r, l);
        r = free_reply(g);
        advanced = 1;
    }
    return advanced;
}

static int replies_busy(const struct cio_aggr *g)
{
    for (int i = 0; i < REPLIES; i++)
        if (cio_req_busy(&g->reply[i].req))
            return 1;
    return 0;
}

/* ---- steps ---- */

static void end_position(struct cio_op *op)
{
    struct cio_aggr *g = op->aggr;
    int64_t next = cio_bits_next(touched_by_any(op), op->rounds.slice, g->pos + 1);

    if (op->req.write && op->error == 0) {
        int rc = cio_round_write(op, &g->round);

        if (rc != 0)
            cio_op_fail(op, rc);
    }
    g->pos = -1;
    if (next >= 0)
        begin_position(op, next);
}

static void send_dones(struct cio_op *op)
{
    struct cio_aggr *g = op->aggr;

    g->step = STEP_DONES;
    g->done = (struct cio_head){.magic = CIO_HEAD_MAGIC, .error = op->error, .eof = op->eof};
    for (int l = 0; l < g->nleaders; l++)
        cio_op_send(op, &g->done, sizeof(g->done), op->env.team->leader[l], CIO_TAG_DONE,
                    &g->done_req[l]);
}

static int serve(struct cio_op *op)
{
    struct cio_aggr *g = op->aggr;
    int advanced = post_receives(op);

    if (g->pos < 0) {
        if (!replies_busy(g)) {
            send_dones(op);
            advanced = 1;
        }
        return advanced;
    }
    advanced |= take_messages(op);
    advanced |= answer(op);
    if (g->pending == 0 && g->asks == 0) {
        end_position(op);
        advanced = 1;
    }
    return advanced;
}

int cio_aggr_progress(struct cio_op *op)
{
    struct cio_aggr *g = op->aggr;

    switch (g->step) {
    case STEP_BITS:
        if (collect_bits(op))
            return 1;
        if (g->bits_expected > 0)
            return 0;
        begin_serving(op);
        return 1;
    case STEP_SERVE:
        return serve(op);
    case STEP_DONES:
        if (cio_reqs_busy(g->done_req, g->nleaders))
            return 0;
        g->step = STEP_DONE;
        return 1;
    default:
        return 0;
    }
}

/* The first one posted of the busy receives from one leader, or from any (-1) for the least
 * position. */
static struct slot *first_slot(struct cio_aggr *g, int leader)
{
    struct slot *first = NULL;

    for (int i = 0; i < g->nslots; i++) {
        struct slot *s = &g->slot[i];

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
    struct slot *first = first_slot(g, -1);

    if (first != NULL && g->step == STEP_SERVE)
        first = first_slot(g, first->leader);
    if (first != NULL)
        cio_needs_add(needs, &first->req, 1);
}

void cio_aggr_needs(struct cio_op *op, struct cio_needs *needs)
{
    struct cio_aggr *g = op->aggr;

    if (g->step > STEP_SERVE)
        return; /* one of the last messages is to myself */
    if (g->asks == 0 || g->firsts > 0)
        needs_message(g, needs);
    for (int i = 0; needs->n == 0 && i < REPLIES; i++)
        cio_needs_add(needs, &g->reply[i].req, 1);
}

int cio_aggr_is_done(const struct cio_op *op)
{
    return op->aggr == NULL || op->aggr->step == STEP_DONE;
}

void cio_aggr_finish(struct cio_op *op)
{
    struct cio_aggr *g = op->aggr;

    if (g == NULL)
        return;
    cio_round_destroy(op, &g->round);
    for (int i = 0; i < REPLIES; i++)
        cio_op_free(op, g->reply[i].buf, g->slot_size);
    for (int i = 0; i < g->nslots; i++)
        cio_op_free(op, g->slot[i].buf, g->slot_size);
    cio_op_free(op, g->touched, g->touched_size);
    cio_op_free(op, g->bits_buf, g->bits_size * g->nslots);
    free(g->taken);
    free(g->parts);
    free(g->ask);
    free(g->done_req);
    free(g);
    op->aggr = NULL;
}
