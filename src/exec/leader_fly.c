/* A leader's messages on their way: sent to the aggregators, confirmed, and (read) answered. */
#include "exec/lead.h"

#include <errno.h>

#include "plan/bits.h"

/*
 * Messages in flight from one leader; if ranks wait for their own stripes only, enough for a few to
 * each aggregator, since these may have all of them at the same time. One that is an aggregator too
 * sends all of a window at once if it may and that is not more than BURST bytes, so that it can
 * then wait for the messages of others.
 */
#define IN_FLIGHT 16
#define IN_FLIGHT_EACH 4
#define ALL_IN_FLIGHT 1024
#define BURST ((int64_t)16 << 20)

static int few_in_flight(const struct cio_op *op)
{
    int64_t few = op->set.early ? (int64_t)IN_FLIGHT_EACH * op->env.team->naggr : 0;

    return (int)cio_min64(cio_max64(IN_FLIGHT, few), ALL_IN_FLIGHT);
}

int cio_leader_most_in_flight(const struct cio_op *op)
{
    return op->env.team->my_aggr >= 0 ? ALL_IN_FLIGHT : few_in_flight(op);
}

static int unit_aggr(const struct cio_op *op, const struct cio_unit *u)
{
    return op->env.team->aggr[u->t % op->rounds.naggr];
}

static char *unit_data(struct cio_op *op, const struct cio_unit *u)
{
    if (cio_op_is_direct(op))
        return op->req.buf + op->req.mem->off[0] + u->stream;
    return (char *)op->leader->board + u->data;
}

/* As many parts from `part` on as fit into one message, at least one; adds up what they have. */
static int64_t take_parts(struct cio_op *op, const struct cio_unit *u, int64_t part,
                          struct cio_part *sum)
{
    const struct cio_part *p = cio_unit_parts(op->leader->board, u);
    int64_t size = sizeof(struct cio_head), first = part;

    *sum = (struct cio_part){0, 0};
    for (; part < u->parts; part++) {
        size += (int64_t)sizeof(*p) + p[part].coded + (op->req.write ? p[part].data : 0);
        if (part > first && (size > op->pipe.receive || sum->data + p[part].data > op->pipe.slot))
            break;
        sum->coded += p[part].coded;
        sum->data += p[part].data;
    }
    return part - first;
}

static void add_iov(struct cio_iov *iov, int *n, const void *base, int64_t len)
{
    if (len == 0)
        return;
    if (*n > 0 && (const char *)iov[*n - 1].base + iov[*n - 1].len == base)
        iov[*n - 1].len += len;
    else
        iov[(*n)++] = (struct cio_iov){base, len};
}

/*
 * Whether the aggregator takes what it needs from the board itself. Only in the last window:
 * nothing says when it has, but the end of the operation.
 */
static int is_near(const struct cio_op *op, const struct cio_unit *u)
{
    const struct cio_leader *l = op->leader;

    return op->shared && l->end >= op->rounds.units && l->near[u->t % op->rounds.naggr];
}

/* All that such an aggregator needs to be told. */
static void send_near(struct cio_op *op, struct cio_flight *f, struct cio_head *head,
                      const struct cio_next *at)
{
    const struct cio_unit *u = f->unit;
    struct cio_iov iov = {head, sizeof(*head)};

    head->near = 1;
    head->at_parts = u->at + (int64_t)sizeof(*head) + at->part * (int64_t)sizeof(struct cio_part);
    head->at_meta = u->meta + at->meta;
    head->at_data = u->data + at->data;
    if (!op->req.write && head->data > 0) {
        f->answer = sizeof(f->ack);
        cio_op_recv(op, &f->ack, sizeof(f->ack), unit_aggr(op, u), CIO_TAG_REPLY, &f->reply);
    }
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
    cio_op_send_data(op, &iov, 1, unit_aggr(op, u), CIO_TAG_DATA, CIO_SEND_PLAIN, &f->send);
}

static void send_message(struct cio_op *op, struct cio_flight *f, const struct cio_head *head,
                         const struct cio_next *at)
{
    struct cio_board *board = op->leader->board;
    const struct cio_unit *u = f->unit;
    char *data = unit_data(op, u) + at->data;
    struct cio_iov iov[CIO_COMM_IOV];
    int n = 0;

    add_iov(iov, &n, head, sizeof(*head));
    add_iov(iov, &n, cio_unit_parts(board, u) + at->part,
            head->lists * (int64_t)sizeof(struct cio_part));
    add_iov(iov, &n, (char *)board + u->meta + at->meta, head->meta);
    if (op->req.write)
        add_iov(iov, &n, data, head->data);
    else if (head->data > 0)
        cio_op_recv(op, data, head->data, unit_aggr(op, u), CIO_TAG_REPLY, &f->reply);
    cio_op_send_data(op, iov, n, unit_aggr(op, u), CIO_TAG_DATA, CIO_SEND_PLAIN, &f->send);
    cio_op_note_data(op, unit_aggr(op, u), op->req.write ? head->data : 0);
}

/* Messages of this unit that earlier windows have sent. */
static int32_t sent_before(const struct cio_leader *l, const struct cio_unit *u)
{
    return u->t == l->partial ? l->messages : 0;
}

/* Moves on to what follows the parts that have just been sent. */
static void move_next(struct cio_leader *l, int64_t parts, const struct cio_part *sum)
{
    const struct cio_unit *u = &cio_board_units(l->board)[l->next.unit];

    l->messages = sent_before(l, u) + 1;
    l->partial = u->t;
    l->next.part += parts;
    l->next.meta += sum->coded;
    l->next.data += sum->data;
    if (l->next.part >= u->parts)
        l->next = (struct cio_next){.unit = l->next.unit + 1};
}

static void launch(struct cio_op *op, struct cio_flight *f)
{
    struct cio_leader *l = op->leader;
    struct cio_unit *u = &cio_board_units(l->board)[l->next.unit];
    struct cio_head *head = &f->head;
    struct cio_next at = l->next;
    struct cio_part sum;
    int64_t parts;

    if (u->error == 0)
        u->error = op->error;
    if (u->error != 0)
        u->parts = 0;
    parts = take_parts(op, u, at.part, &sum);
    if (at.part == 0)
        head = (struct cio_head *)((char *)l->board + u->at);
    move_next(l, parts, &sum);
    u->flying++;
    l->aloft++;
    *f = (struct cio_flight){.serial = ++l->launched, .unit = u, .answer = sum.data};
    *head = (struct cio_head){.magic = CIO_HEAD_MAGIC,
                              .error = u->error,
                              .leader = op->env.team->my_leader,
                              .messages = u->last && l->next.part == 0 ? l->messages : 0,
                              .serial = ++l->sent[u->t % op->rounds.naggr],
                              .pos = u->t / op->rounds.naggr,
                              .lists = parts,
                              .meta = sum.coded,
                              .data = sum.data};
    if (is_near(op, u))
        send_near(op, f, head, &at);
    else
        send_message(op, f, head, &at);
}

/* Nothing comes back where something failed: the aggregator's last message says what. */
static void note_reply(struct cio_op *op, const struct cio_flight *f)
{
    if (f->unit->error != 0 || f->answer == 0)
        return;
    if (f->reply.error != 0)
        cio_op_fail(op, f->reply.error);
    else if (f->reply.bytes != f->answer && f->reply.bytes > 0)
        cio_op_fail(op, -EBADMSG);
    if (f->reply.error != 0 || f->reply.bytes != f->answer) {
        f->unit->error = -EIO;
        op->doubtful = 1;
    }
}

static int is_launched(const struct cio_leader *l, const struct cio_unit *u)
{
    return u < &cio_board_units(l->board)[l->next.unit];
}

static void land(struct cio_op *op, struct cio_flight *f)
{
    struct cio_leader *l = op->leader;

    if (!op->req.write)
        note_reply(op, f);
    if (--f->unit->flying == 0 && l->followed && is_launched(l, f->unit))
        cio_leader_note_landed(op, f->unit);
    f->serial = 0;
    op->leader->aloft--;
}

int cio_leader_all_launched(const struct cio_leader *l)
{
    return l->next.unit >= l->board->nunits;
}

/* Whether the next message's aggregator has a sub-buffer for it, or (read) few are on their way. */
static int may_launch(struct cio_op *op)
{
    struct cio_leader *l = op->leader;

    if (cio_leader_all_launched(l))
        return 0;
    int64_t t = cio_board_units(l->board)[l->next.unit].t;
    if (l->burst)
        return 1;
    return op->req.write ? t / op->rounds.naggr <= l->leave[t % op->rounds.naggr].upto
                         : l->aloft < few_in_flight(op);
}

/* ---- leave to send ---- */

static int is_restrained(const struct cio_leave *leave)
{
    return leave->upto < leave->last;
}

static void expect_grant(struct cio_op *op, int aggr)
{
    struct cio_leave *leave = &op->leader->leave[aggr];

    cio_op_recv(op, &leave->head, sizeof(leave->head), op->env.team->aggr[aggr], CIO_TAG_GRANT,
                &leave->req);
}

void cio_leader_begin_leave(struct cio_op *op, int aggr, const uint64_t *bits)
{
    struct cio_leave *leave = &op->leader->leave[aggr];

    leave->upto = op->pipe.depth - 1;
    leave->last = cio_bits_last(bits, op->rounds.slice);
    if (!op->req.write || !is_restrained(leave))
        return;
    op->leader->restrained++;
    expect_grant(op, aggr);
}

/* One that makes no sense lets all go: the call has failed, and the aggregator waits for them. */
static void take_grant(struct cio_op *op, int aggr)
{
    struct cio_leave *leave = &op->leader->leave[aggr];
    const struct cio_head *h = &leave->head;
    int rc = leave->req.error;

    if (rc == 0 && (leave->req.bytes != (int64_t)sizeof(*h) || h->magic != CIO_HEAD_MAGIC))
        rc = -EBADMSG;
    if (rc != 0)
        cio_op_fail(op, rc);
    leave->upto = rc == 0 ? cio_max64(leave->upto, h->pos) : leave->last;
    if (is_restrained(leave))
        expect_grant(op, aggr);
    else
        op->leader->restrained--;
}

int cio_leader_take_grants(struct cio_op *op)
{
    struct cio_leader *l = op->leader;
    int taken = 0;

    for (int a = 0; l->restrained > 0 && a < op->rounds.naggr; a++)
        if (is_restrained(&l->leave[a]) && l->leave[a].req.state == CIO_REQ_DONE) {
            take_grant(op, a);
            taken = 1;
        }
    return taken;
}

int cio_leader_fly(struct cio_op *op)
{
    struct cio_leader *l = op->leader;
    int advanced = 0;

    for (int i = 0; i < l->nflights && (i < l->used || may_launch(op)); i++) {
        struct cio_flight *f = &l->flight[i];

        if (f->serial > 0 && !cio_req_busy(&f->send) && !cio_req_busy(&f->reply)) {
            land(op, f);
            advanced = 1;
        }
        if (f->serial == 0 && may_launch(op)) {
            launch(op, f);
            l->used = i < l->used ? l->used : i + 1;
            advanced = 1;
        }
    }
    return advanced;
}

int cio_leader_flying(const struct cio_leader *l)
{
    for (int i = 0; i < l->used; i++)
        if (l->flight[i].serial > 0)
            return 1;
    return !cio_leader_all_launched(l);
}

/* Flights land in the order in which they took off, more or less: the first one is waited for. If
 * there is none, the leave for the next one is. */
void cio_leader_needs_flight(struct cio_op *op, struct cio_needs *needs)
{
    struct cio_leader *l = op->leader;
    struct cio_flight *first = NULL;

    for (int i = 0; i < l->used; i++)
        if (l->flight[i].serial > 0 && (first == NULL || l->flight[i].serial < first->serial))
            first = &l->flight[i];
    if (first != NULL) {
        cio_needs_add(needs, &first->send, 1);
        cio_needs_add(needs, &first->reply, 1);
    } else if (!cio_leader_all_launched(l)) {
        int64_t t = cio_board_units(l->board)[l->next.unit].t;

        cio_needs_add(needs, &l->leave[t % op->rounds.naggr].req, 1);
    }
}

void cio_leader_begin_flights(struct cio_op *op)
{
    struct cio_leader *l = op->leader;
    int64_t bytes = 0;

    for (int64_t i = 0; i < l->board->nunits; i++)
        bytes += cio_board_units(l->board)[i].bytes;
    l->burst = op->aggr != NULL && bytes <= BURST && l->restrained == 0;
    l->step = CIO_LEADER_FLY;
    l->next = (struct cio_next){0};
    l->since = cio_now();
    l->followed = cio_leader_may_follow(op);
    if (l->followed)
        cio_leader_begin_following(op);
}
