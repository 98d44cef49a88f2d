/*
 * The leader of a group: a local aggregator. It has the lists of each window merged, if that pays,
 * and copied by all members, and alone talks to the aggregators.
 *
 *   READY -> LISTS -> MERGE -> write: COPY -> FLY -> next window: LISTS
 *                              read:  FLY -> COPY    last one: BITS -> DONES -> FINAL
 *
 * In the last window of a read from which ranks may return early, members do not copy when all of
 * it has come: each does when its own part has (they follow).
 */
#include "exec/internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "exec/window.h"
#include "plan/bits.h"
#include "port/log.h"

/* Windows of this many pieces are merged by all members, each its part. */
#define SHARED_MERGE 500000

/* Merging pays if it leaves so many of 1,000 pieces, or fewer. */
#define MERGE_BELOW 500

/*
 * Messages in flight from one leader; if ranks wait for their own stripes only, enough for a few to
 * each aggregator, since these may have all of them at the same time. One that is an aggregator too
 * sends all of a window at once if that is not more than BURST bytes, so that it can then wait for
 * the messages of others.
 */
#define IN_FLIGHT 16
#define IN_FLIGHT_EACH 2
#define ALL_IN_FLIGHT 1024
#define BURST ((int64_t)16 << 20)

/*
 * Messages of a write that an aggregator may not have begun to receive yet. Every few of them a
 * synchronous one tells how far it has come.
 */
#define CREDIT 8
#define CONFIRM_EVERY 4

enum step {
    STEP_READY,
    STEP_LISTS,
    STEP_MERGE,
    STEP_COPY,
    STEP_FLY,  /* messages are sent to the aggregators, and (read) answered */
    STEP_BITS, /* what was sent first may still be on its way */
    STEP_DONES,
    STEP_FINAL,
    STEP_DONE
};

struct flight {
    struct cio_req send, reply;
    int64_t serial;   /* 0: not used */
    int64_t confirms; /* when it is sent, so many messages to its aggregator have arrived */
    struct cio_unit *unit;
    int64_t answer;       /* bytes that will be its answer (read) */
    int64_t ack;          /* that of a near aggregator */
    struct cio_head head; /* of a unit's messages after the first */
};

/* The next message: parts of a unit. */
struct next {
    int64_t unit, part;
    int64_t meta, data; /* bytes of the parts before */
};

/* A member that takes its part of a read as soon as all of it has come. */
struct follower {
    int64_t left; /* units of its that have not */
    int missing;  /* something of them failed */
    int served;   /* without shared memory: its bytes have been sent, or are on their way */
    struct cio_ctl word;
};

struct cio_leader {
    enum step step;
    int k;                     /* members, me included */
    int followed;              /* members follow in this window */
    struct follower *follower; /* per member */
    struct cio_board *board;
    struct cio_ctl *in;      /* per member: its last message */
    struct cio_req *in_req;  /* per member */
    struct cio_req *payload; /* three per member */
    struct cio_ctl out;      /* to all members */
    struct cio_req *out_req; /* per member */
    int64_t end;             /* the window's last unit, which may not be complete: */
    int64_t partial;         /* it was that of the window before, */
    int32_t messages;        /* which has sent this many of it */
    int merge;               /* -1: not decided yet */
    int bits_sent;
    char *coded; /* positions for each aggregator, in coded_size bytes */
    int64_t coded_size;
    struct cio_head *dones;   /* per aggregator */
    struct cio_req *aggr_req; /* per aggregator */
    struct flight *flight;    /* nflights of them */
    int nflights;
    int used;  /* of these, so many at most have been */
    int burst; /* the window is sent at once */
    int64_t launched;
    int aloft;                 /* messages in flight */
    int64_t *sent, *confirmed; /* messages to each aggregator, and those that have arrived */
    char *near;                /* per aggregator: it sees my board */
    struct next next;
    char *stream; /* one member's bytes, without shared memory */
    int64_t stream_size;
    int stream_member;
    struct cio_req stream_req;
    double since;
};

static int few_in_flight(const struct cio_op *op)
{
    int64_t few = op->set.early ? (int64_t)IN_FLIGHT_EACH * op->env.team->naggr : 0;

    return (int)cio_min64(cio_max64(IN_FLIGHT, few), ALL_IN_FLIGHT);
}

static int most_in_flight(const struct cio_op *op)
{
    return op->env.team->my_aggr >= 0 ? ALL_IN_FLIGHT : few_in_flight(op);
}

int cio_leader_create(struct cio_op *op)
{
    const struct cio_team *team = op->env.team;
    struct cio_leader *l = calloc(1, sizeof(*l));
    size_t k = (size_t)team->group_size, g = (size_t)team->naggr;

    if (l == NULL)
        return -ENOMEM;
    op->leader = l;
    l->k = team->group_size;
    l->partial = -1;
    l->merge = l->k == 1 || op->set.merge == CIO_DISABLE ? 0 : op->set.merge == CIO_ENABLE ? 1 : -1;
    l->in = calloc(k, sizeof(*l->in));
    l->in_req = calloc(k, sizeof(*l->in_req));
    l->payload = calloc(3 * k, sizeof(*l->payload));
    l->out_req = calloc(k, sizeof(*l->out_req));
    l->dones = calloc(g, sizeof(*l->dones));
    l->aggr_req = calloc(g, sizeof(*l->aggr_req));
    l->nflights = most_in_flight(op);
    l->flight = calloc((size_t)l->nflights, sizeof(*l->flight));
    l->sent = calloc(g, sizeof(*l->sent));
    l->confirmed = calloc(g, sizeof(*l->confirmed));
    l->near = calloc(g, 1);
    l->follower = calloc(k, sizeof(*l->follower));
    if (l->follower == NULL || l->in == NULL || l->in_req == NULL || l->payload == NULL ||
        l->out_req == NULL || l->dones == NULL || l->aggr_req == NULL || l->flight == NULL ||
        l->sent == NULL || l->confirmed == NULL || l->near == NULL)
        return -ENOMEM;
    return cio_leader_reserve(op, CIO_SMALL_SLICE);
}

int cio_leader_reserve(struct cio_op *op, int64_t slice)
{
    struct cio_leader *l = op->leader;

    cio_op_free(op, l->coded, l->coded_size * op->env.team->naggr);
    l->coded_size = (int64_t)(sizeof(struct cio_head) + cio_bits_bound(slice) + 7) / 8 * 8;
    l->coded = cio_op_alloc(op, l->coded_size * op->env.team->naggr);
    return l->coded == NULL ? -ENOMEM : 0;
}

/* ---- members ---- */

/* Members whose answers are messages. */
static int by_message(const struct cio_op *op)
{
    return !op->shared && op->leader->k > 1;
}

/* One answer from every other member. */
static void expect_members(struct cio_op *op)
{
    struct cio_leader *l = op->leader;

    if (!by_message(op)) {
        if (op->shared)
            cio_board_expect(op);
        return;
    }
    for (int i = 1; i < l->k; i++)
        cio_op_recv(op, &l->in[i], sizeof(l->in[i]), op->env.team->group[i], CIO_TAG_UP,
                    &l->in_req[i]);
}

static void send_word(struct cio_op *op)
{
    struct cio_leader *l = op->leader;

    if (op->shared)
        cio_board_tell(op, &l->out);
    for (int i = 1; by_message(op) && i < l->k; i++)
        cio_op_send(op, &l->out, sizeof(l->out), op->env.team->group[i], CIO_TAG_DOWN,
                    &l->out_req[i]);
}

/* l->out to every member; my own obeys at once. */
static void tell_members(struct cio_op *op)
{
    struct cio_leader *l = op->leader;

    send_word(op);
    if (l->out.kind != CIO_CTL_FINAL)
        expect_members(op);
    cio_member_handle(op, &l->out, &l->in[0]);
}

static int members_busy(const struct cio_op *op)
{
    const struct cio_leader *l = op->leader;

    if (op->shared && l->step != STEP_FINAL)
        return !cio_board_answered(op);
    return cio_reqs_busy(l->in_req, l->k) || cio_reqs_busy(l->out_req, l->k);
}

/* Their answers, from where they left them. The first reason to refuse sharing, or 0. */
static int read_answers(struct cio_op *op)
{
    struct cio_leader *l = op->leader;
    int refused = 0;

    for (int i = 0; i < l->k; i++) {
        if (op->shared && i > 0)
            l->in[i] = l->board->desc[i].up;
        if (l->in[i].error != 0)
            cio_op_fail(op, l->in[i].error);
        if (refused == 0)
            refused = l->in[i].refused;
    }
    return refused;
}

/* ---- aggregators ---- */

static void unite_bits(struct cio_op *op, uint64_t *bits)
{
    struct cio_area area;

    for (int i = 0; op->error == 0 && i < op->leader->k; i++) {
        cio_area_at(op->leader->board, i, &area);
        cio_bits_or(bits, area.bits, (int64_t)cio_rounds_words(&op->rounds) * 64);
    }
}

static void send_bits_to(struct cio_op *op, int aggr, const uint64_t *bits)
{
    struct cio_leader *l = op->leader;
    const struct cio_rounds *r = &op->rounds;
    struct cio_head *head = (struct cio_head *)(l->coded + aggr * l->coded_size);

    *head = (struct cio_head){.magic = CIO_HEAD_MAGIC, .leader = op->env.team->my_leader};
    head->error = op->error;
    if (op->error == 0)
        head->meta = (int64_t)cio_bits_encode(bits + aggr * r->slice / 64, r->slice, head + 1);
    struct cio_iov iov = {head, (int64_t)sizeof(*head) + head->meta};
    cio_op_send_data(op, &iov, 1, op->env.team->aggr[aggr], CIO_TAG_BITS, CIO_SEND_PLAIN,
                     &l->aggr_req[aggr]);
}

/* Which positions the group touches: to each aggregator its part. None, if something failed. */
static void send_bits(struct cio_op *op)
{
    struct cio_leader *l = op->leader;
    const struct cio_rounds *r = &op->rounds;
    uint64_t *bits = calloc(cio_rounds_words(r), sizeof(uint64_t));

    l->bits_sent = 1;
    if (bits == NULL)
        cio_op_fail(op, -ENOMEM);
    else
        unite_bits(op, bits);
    for (int a = 0; a < r->naggr; a++)
        send_bits_to(op, a, bits);
    free(bits);
}

static void await_dones(struct cio_op *op)
{
    struct cio_leader *l = op->leader;

    l->step = STEP_DONES;
    for (int a = 0; a < op->env.team->naggr; a++)
        cio_op_recv(op, &l->dones[a], sizeof(l->dones[a]), op->env.team->aggr[a], CIO_TAG_DONE,
                    &l->aggr_req[a]);
}

static void finish_members(struct cio_op *op)
{
    struct cio_leader *l = op->leader;

    for (int a = 0; a < op->env.team->naggr; a++) {
        if (l->dones[a].error != 0)
            cio_op_fail(op, l->dones[a].error);
        op->eof = cio_min64(op->eof, l->dones[a].eof);
    }
    l->step = STEP_FINAL;
    l->out = (struct cio_ctl){.kind = CIO_CTL_FINAL, .error = op->error, .eof = op->eof};
    if (l->board != NULL)
        cio_count_most(&op->stats, op->shared ? CIO_COUNT_SEGMENT_BYTES : CIO_COUNT_PEAK_BYTES,
                       cio_board_backed(l->board) + (op->shared ? 0 : op->held));
    tell_members(op);
}

/* ---- the board ---- */

/* Room for the bytes of any one member, which come as messages. */
static int make_stream(struct cio_op *op)
{
    struct cio_leader *l = op->leader;

    l->stream_size = cio_op_budget(op);
    l->stream = cio_op_alloc(op, l->stream_size);
    return l->stream == NULL ? -ENOMEM : 0;
}

/* A board of my own; members, if there are others, send what they describe. */
static void begin_own(struct cio_op *op)
{
    struct cio_leader *l = op->leader;
    int rc = cio_board_own(op, l->k, &l->board);

    if (rc == 0 && l->k > 1)
        rc = make_stream(op);
    if (rc == 0)
        l->board->elsewhere = cio_op_is_direct(op);
    if (rc == 0)
        cio_member_begin(op, l->board, 0, &l->in[0]);
    else
        l->in[0] = (struct cio_ctl){.kind = CIO_CTL_READY, .error = rc};
}

/* Aggregators of this node, as they have signed on the board. */
static void find_near(struct cio_op *op)
{
    const struct cio_board *board = op->leader->board;
    uint32_t n = board->nnear < CIO_NEAR_MAX ? board->nnear : CIO_NEAR_MAX;

    for (uint32_t i = 0; i < n; i++)
        if (board->near[i] > 0 && board->near[i] <= op->env.team->naggr)
            op->leader->near[board->near[i] - 1] = 1;
}

void cio_leader_start(struct cio_op *op)
{
    struct cio_leader *l = op->leader;

    expect_members(op);
    if (!op->shared) {
        begin_own(op);
        return;
    }
    op->env.nodemem.ops->forget(op->env.nodemem.self, &op->env.segment->mem);
    l->board = op->env.segment->mem.base;
    find_near(op);
    cio_member_begin(op, l->board, 0, &l->in[0]);
}

/* There is no shared memory for what the window needs: it begins again, by messages. */
static void go_alone(struct cio_op *op, int why)
{
    struct cio_leader *l = op->leader;

    cio_log(CIO_LOG_NOTICE,
            "rank %d: no shared memory for its group (%s): messages are used instead",
            op->env.team->rank, strerror(-why));
    l->out = (struct cio_ctl){.kind = CIO_CTL_ALONE};
    send_word(op);
    op->shared = 0;
    op->env.segment->refused = 1;
    l->step = STEP_READY;
    expect_members(op);
    begin_own(op);
}

static void expect_payload(struct cio_op *op, int member, int which, void *to, int64_t size)
{
    if (size > 0)
        cio_op_recv(op, to, size, op->env.team->group[member], CIO_TAG_PAYLOAD,
                    &op->leader->payload[3 * member + which]);
}

/* Room for what a member says that it has described; a wrong claim is an error. */
static int back_area(struct cio_op *op, const struct cio_ctl *up, struct cio_desc *desc)
{
    struct cio_board_memory m = cio_board_memory_of(op);
    int64_t bits = (int64_t)(cio_rounds_words(&op->rounds) * sizeof(uint64_t));
    int rc = cio_region_back(&m, &desc->lists, up->lists * (int64_t)sizeof(struct cio_list));

    if (rc == 0)
        rc = cio_region_back(&m, &desc->meta, up->coded);
    return rc == 0 ? cio_region_back(&m, &desc->bits, bits) : rc;
}

/* Without shared memory: what the members have described comes as payload, the first time asked
 * for. */
static void expect_lists(struct cio_op *op, int first)
{
    struct cio_leader *l = op->leader;
    struct cio_area area;

    for (int i = 1; i < l->k; i++) {
        const struct cio_ctl *up = &l->in[i];
        int rc;

        cio_area_at(l->board, i, &area);
        rc = back_area(op, up, area.desc);
        if (rc != 0)
            cio_op_fail(op, rc); /* what follows fails too, and is told to all */
        area.desc->nlists = up->lists;
        area.desc->coded = up->coded;
        expect_payload(op, i, 0, area.list, up->lists * (int64_t)sizeof(*area.list));
        expect_payload(op, i, 1, area.meta, up->coded);
        if (first)
            expect_payload(op, i, 2, area.bits,
                           (int64_t)(cio_rounds_words(&op->rounds) * sizeof(uint64_t)));
    }
    if (!first)
        return;
    l->out = (struct cio_ctl){.kind = CIO_CTL_SEND};
    send_word(op);
}

static void count_pieces(struct cio_op *op)
{
    struct cio_leader *l = op->leader;
    struct cio_area area;

    for (int i = 1; by_message(op) && i < l->k; i++) {
        cio_area_at(l->board, i, &area);
        area.desc->pieces = 0;
        for (int64_t j = 0; j < area.desc->nlists; j++)
            area.desc->pieces =
                cio_max64(area.desc->pieces, area.list[j].first + area.list[j].pieces);
    }
}

/* ---- windows ---- */

static int64_t window_pieces(struct cio_leader *l)
{
    struct cio_unit *u = cio_board_units(l->board);
    int64_t pieces = 0;

    for (int64_t i = 0; i < l->board->nunits; i++)
        pieces += u[i].pieces;
    return pieces;
}

/* Merges all of it, where asking the members would take longer, or they do not see the board. */
static void merge_alone(struct cio_op *op)
{
    struct cio_leader *l = op->leader;
    double t = cio_now();

    for (int i = 0; i < l->k; i++)
        cio_window_merge(l->board, &op->rounds, i, cio_op_message_data(op), op->env.alloc);
    op->stats.time[CIO_TIME_MERGE] += cio_now() - t;
}

/* The window ends with the unit in which the first member had to stop. */
static int list_window(struct cio_op *op)
{
    struct cio_leader *l = op->leader;
    struct cio_board_memory m = cio_board_memory_of(op);
    int rc;

    l->end = l->in[0].place.t;
    for (int i = 1; i < l->k; i++)
        l->end = cio_min64(l->end, l->in[i].place.t);
    rc = cio_window_list(l->board, &m, l->end);
    for (int64_t i = 0; rc == 0 && i < l->board->nunits; i++)
        cio_board_units(l->board)[i].last = cio_board_units(l->board)[i].t < l->end;
    return rc;
}

/* Whether the window is to be merged, and there is memory for that. */
static int plan_merge(struct cio_op *op)
{
    struct cio_leader *l = op->leader;
    struct cio_board_memory m = cio_board_memory_of(op);

    if (l->merge < 0 && l->board->nunits > 0)
        l->merge = cio_window_sample(l->board, &op->rounds, op->env.alloc) <= MERGE_BELOW;
    if (l->merge <= 0)
        return 0;
    if (cio_window_plan_merge(l->board, &m, &op->rounds, cio_op_message_data(op)) == 0)
        return 1;
    l->merge = 0;
    list_window(op);
    return 0;
}

static void after_merge(struct cio_op *op);

static void begin_window(struct cio_op *op)
{
    struct cio_leader *l = op->leader;
    int rc = list_window(op);

    if (rc != 0 && op->shared) {
        go_alone(op, rc);
        return;
    }
    cio_count_add(&op->stats, CIO_COUNT_WINDOWS, 1);
    if (!plan_merge(op)) {
        after_merge(op);
    } else if (by_message(op) || window_pieces(l) < SHARED_MERGE) {
        merge_alone(op);
        after_merge(op);
    } else {
        l->step = STEP_MERGE;
        l->out = (struct cio_ctl){.kind = CIO_CTL_MERGE};
        tell_members(op);
    }
}

static void note_units(struct cio_op *op)
{
    struct cio_unit *u = cio_board_units(op->leader->board);

    for (int64_t i = 0; i < op->leader->board->nunits; i++) {
        cio_count_add(&op->stats, CIO_COUNT_SEGMENTS, u[i].segments);
        cio_count_add(&op->stats, CIO_COUNT_METADATA_BYTES, u[i].meta_bytes);
    }
}

/* The side of a copy that a member whose bytes come by message, or a read's request, leaves to me.
 */
static struct cio_copy copy_for(struct cio_op *op, int member)
{
    struct cio_leader *l = op->leader;
    struct cio_copy c = {.board = l->board,
                         .merged = l->merge > 0,
                         .write = op->req.write,
                         .rounds = &op->rounds,
                         .stream = l->stream};

    cio_area_at(l->board, member, &c.area);
    c.lists = cio_area_lists(&c.area, l->end);
    return c;
}

/* Members copy their lists' code with their data, except where data comes later or by message. */
static void copy_code(struct cio_op *op)
{
    for (int i = 0; i < op->leader->k; i++) {
        struct cio_copy c = copy_for(op, i);

        if (!op->req.write || (by_message(op) && i > 0))
            cio_copy_code(&c);
    }
}

/* What members are told when they are to copy. */
static struct cio_ctl copy_word(const struct cio_op *op, enum cio_ctl_kind kind, int doubtful)
{
    const struct cio_leader *l = op->leader;

    return (struct cio_ctl){
        .kind = kind, .place = {l->end, 0}, .merged = l->merge > 0, .doubtful = doubtful};
}

static void begin_copy(struct cio_op *op)
{
    struct cio_leader *l = op->leader;

    l->step = STEP_COPY;
    l->stream_member = 0;
    l->out = copy_word(op, CIO_CTL_COPY, op->doubtful);
    tell_members(op);
}

/* A member's bytes of a read, which `c` has of it, as a message. */
static void send_stream(struct cio_op *op, int member, const struct cio_copy *c)
{
    int64_t bytes = cio_area_bytes(&c->area, c->lists);

    cio_copy_data(c);
    cio_op_send(op, op->leader->stream, bytes, op->env.team->group[member], CIO_TAG_PAYLOAD,
                &op->leader->stream_req);
}

/* Begins with the next member whose bytes must travel as a message, if there is one. */
static void next_stream(struct cio_op *op)
{
    struct cio_leader *l = op->leader;
    struct cio_copy c;
    int64_t bytes = 0;

    while (bytes == 0 && ++l->stream_member < l->k) {
        c = copy_for(op, l->stream_member);
        bytes = cio_area_bytes(&c.area, c.lists);
    }
    if (bytes == 0)
        return;
    if (op->req.write)
        cio_op_recv(op, l->stream, bytes, op->env.team->group[l->stream_member], CIO_TAG_PAYLOAD,
                    &l->stream_req);
    else
        send_stream(op, l->stream_member, &c);
}

/* Bytes of members that share no memory, one member after the other. 1 if something moved. */
static int move_streams(struct cio_op *op)
{
    struct cio_leader *l = op->leader;

    if (!by_message(op) || l->stream_member >= l->k || cio_req_busy(&l->stream_req))
        return 0;
    if (l->stream_member > 0 && op->req.write) {
        struct cio_copy c = copy_for(op, l->stream_member);

        cio_copy_data(&c);
    }
    next_stream(op);
    return 1;
}

/* ---- members that follow ---- */

/* Only in the last window: members are needed to begin with another. */
static int may_follow(const struct cio_op *op)
{
    const struct cio_leader *l = op->leader;

    return op->set.early && !op->req.write && l->k > 1 && l->end >= op->rounds.units;
}

static int64_t count_units(const struct cio_area *area, int64_t lists)
{
    int64_t n = 0;

    for (int64_t i = 0; i < lists; i++)
        n += i == 0 || area->list[i].t != area->list[i - 1].t;
    return n;
}

/* All that a member waits for has come. One without shared memory gets it when there is time. */
static void release_follower(struct cio_op *op, int member)
{
    uint32_t *landed = &op->leader->board->desc[member].landed;

    if (!op->shared)
        return;
    __atomic_store_n(landed,
                     op->leader->follower[member].missing ? CIO_LANDED_SOME : CIO_LANDED_ALL,
                     __ATOMIC_RELEASE);
    op->env.nodemem.ops->wake(op->env.nodemem.self, landed);
}

static void begin_following(struct cio_op *op)
{
    struct cio_leader *l = op->leader;
    struct cio_area area;

    for (int i = 1; i < l->k; i++) {
        cio_area_at(l->board, i, &area);
        area.desc->landed = CIO_LANDED_NOT;
        l->follower[i] =
            (struct follower){.left = count_units(&area, cio_area_lists(&area, l->end))};
        if (l->follower[i].left == 0)
            release_follower(op, i);
    }
    expect_members(op);
    l->out = copy_word(op, CIO_CTL_FOLLOW, 0);
    if (op->shared)
        send_word(op);
}

/* All of a unit has come, or will not. Who has been released may use its area for other things. */
static void note_landed(struct cio_op *op, const struct cio_unit *u)
{
    struct cio_leader *l = op->leader;
    struct cio_area area;

    for (int i = 1; i < l->k; i++) {
        struct follower *f = &l->follower[i];
        int64_t lists;

        if (f->left == 0)
            continue;
        cio_area_at(l->board, i, &area);
        lists = cio_area_lists(&area, u->t);
        if (lists == 0 || area.list[lists - 1].t != u->t)
            continue;
        f->missing |= u->error != 0;
        if (--f->left == 0)
            release_follower(op, i);
    }
}

/* Without shared memory, one after the other: 1 if it was somebody's turn. */
static int serve_followers(struct cio_op *op)
{
    struct cio_leader *l = op->leader;
    int i = 1;

    if (!l->followed || !by_message(op) || cio_req_busy(&l->stream_req))
        return 0;
    while (i < l->k && (l->follower[i].left > 0 || l->follower[i].served))
        i++;
    if (i == l->k)
        return 0;
    struct follower *f = &l->follower[i];
    struct cio_copy c = copy_for(op, i);
    f->served = 1;
    f->word = copy_word(op, CIO_CTL_COPY, f->missing);
    cio_op_send(op, &f->word, sizeof(f->word), op->env.team->group[i], CIO_TAG_DOWN,
                &l->out_req[i]);
    if (c.lists > 0)
        send_stream(op, i, &c);
    return 1;
}

/* ---- messages on their way ---- */

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

/* A request of a read is confirmed by its answer. */
static enum cio_send_mode choose_mode(struct cio_op *op, struct flight *f, int64_t serial)
{
    if (!op->req.write || serial % CONFIRM_EVERY != 0)
        return CIO_SEND_PLAIN;
    f->confirms = serial;
    return CIO_SEND_SYNCHRONOUS;
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
static void send_near(struct cio_op *op, struct flight *f, struct cio_head *head,
                      const struct next *at)
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
    cio_op_send_data(op, &iov, 1, unit_aggr(op, u), CIO_TAG_DATA, choose_mode(op, f, head->serial),
                     &f->send);
}

static void send_message(struct cio_op *op, struct flight *f, const struct cio_head *head,
                         const struct next *at)
{
    struct cio_board *board = op->leader->board;
    const struct cio_unit *u = f->unit;
    enum cio_send_mode mode = choose_mode(op, f, head->serial);
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
    cio_op_send_data(op, iov, n, unit_aggr(op, u), CIO_TAG_DATA, mode, &f->send);
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
        l->next = (struct next){.unit = l->next.unit + 1};
}

static void launch(struct cio_op *op, struct flight *f)
{
    struct cio_leader *l = op->leader;
    struct cio_unit *u = &cio_board_units(l->board)[l->next.unit];
    struct cio_head *head = &f->head;
    struct next at = l->next;
    struct cio_part sum;
    int64_t parts;

    if (u->error != 0)
        u->parts = 0;
    parts = take_parts(op, u, at.part, &sum);
    if (at.part == 0)
        head = (struct cio_head *)((char *)l->board + u->at);
    move_next(l, parts, &sum);
    u->flying++;
    l->aloft++;
    *f = (struct flight){.serial = ++l->launched, .unit = u, .answer = sum.data};
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
static void note_reply(struct cio_op *op, const struct flight *f)
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

static void land(struct cio_op *op, struct flight *f)
{
    struct cio_leader *l = op->leader;
    int64_t *confirmed = &l->confirmed[f->unit->t % op->rounds.naggr];

    if (!op->req.write)
        note_reply(op, f);
    if (--f->unit->flying == 0 && l->followed && is_launched(l, f->unit))
        note_landed(op, f->unit);
    *confirmed = cio_max64(*confirmed, f->confirms);
    f->serial = 0;
    op->leader->aloft--;
}

static int all_launched(const struct cio_leader *l)
{
    return l->next.unit >= l->board->nunits;
}

/* Whether the next message's aggregator has taken enough of the ones before. */
static int may_launch(struct cio_op *op)
{
    struct cio_leader *l = op->leader;

    if (all_launched(l))
        return 0;
    int64_t a = cio_board_units(l->board)[l->next.unit].t % op->rounds.naggr;
    if (l->burst)
        return 1;
    return op->req.write ? l->sent[a] - l->confirmed[a] < CREDIT : l->aloft < few_in_flight(op);
}

/* Keeps messages in flight until all of the window's have been sent, and (read) answered. */
static int fly(struct cio_op *op)
{
    struct cio_leader *l = op->leader;
    int advanced = 0;

    for (int i = 0; i < l->nflights && (i < l->used || may_launch(op)); i++) {
        struct flight *f = &l->flight[i];

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

static int flying(const struct cio_leader *l)
{
    for (int i = 0; i < l->used; i++)
        if (l->flight[i].serial > 0)
            return 1;
    return !all_launched(l);
}

static void begin_flights(struct cio_op *op)
{
    struct cio_leader *l = op->leader;
    int64_t bytes = 0;

    for (int64_t i = 0; i < l->board->nunits; i++)
        bytes += cio_board_units(l->board)[i].bytes;
    l->burst = op->aggr != NULL && bytes <= BURST;
    l->step = STEP_FLY;
    l->next = (struct next){0};
    l->since = cio_now();
    l->followed = may_follow(op);
    if (l->followed)
        begin_following(op);
}

/* ---- what follows what ---- */

static void end_window(struct cio_op *op)
{
    int refused = read_answers(op);

    if (op->leader->end >= op->rounds.units) {
        op->leader->step = STEP_BITS;
        return;
    }
    if (refused != 0) {
        go_alone(op, refused);
        return;
    }
    op->leader->step = STEP_LISTS;
    if (by_message(op))
        expect_lists(op, 0);
}

/* Those who follow have been told, or are served as they come: only my own part is left. */
static void copy_own(struct cio_op *op)
{
    struct cio_leader *l = op->leader;

    l->step = STEP_COPY;
    l->out = copy_word(op, CIO_CTL_COPY, op->doubtful);
    cio_member_handle(op, &l->out, &l->in[0]);
}

static void after_flights(struct cio_op *op)
{
    op->stats.time[CIO_TIME_EXCHANGE] += cio_now() - op->leader->since;
    if (op->req.write)
        end_window(op);
    else if (op->leader->followed)
        copy_own(op);
    else
        begin_copy(op);
}

static void after_copy(struct cio_op *op)
{
    if (op->req.write)
        begin_flights(op);
    else
        end_window(op);
}

static void after_ready(struct cio_op *op)
{
    int refused = read_answers(op);

    if (refused != 0) {
        go_alone(op, refused);
        return;
    }
    op->leader->step = STEP_LISTS;
    if (by_message(op) && op->error == 0)
        expect_lists(op, 1);
}

/* Before the first window the aggregators are told what to expect: nothing, after an error. */
static void after_lists(struct cio_op *op)
{
    struct cio_leader *l = op->leader;

    if (!l->bits_sent) {
        send_bits(op);
        if (op->error != 0) {
            l->step = STEP_BITS;
            return;
        }
    }
    count_pieces(op);
    begin_window(op);
}

static void after_merge(struct cio_op *op)
{
    note_units(op);
    copy_code(op);
    if (op->req.write)
        begin_copy(op);
    else
        begin_flights(op);
}

/* What a step waits for has not come yet. */
static int is_waiting(const struct cio_op *op)
{
    const struct cio_leader *l = op->leader;

    switch (l->step) {
    case STEP_LISTS:
        return cio_reqs_busy(l->payload, 3 * l->k) || cio_reqs_busy(l->out_req, l->k);
    case STEP_FLY:
        return flying(l);
    case STEP_BITS:
    case STEP_DONES:
        return cio_reqs_busy(l->aggr_req, op->env.team->naggr);
    case STEP_DONE:
        return 1;
    default:
        return members_busy(op) || cio_req_busy(&l->stream_req);
    }
}

/*
 * The window is the last one, and all of it is on its way: nobody waits for anything more of mine,
 * unless members follow. In an earlier one others might wait for what I have yet to send, and I,
 * through them, for myself.
 */
int cio_leader_is_patient(const struct cio_op *op)
{
    const struct cio_leader *l = op->leader;

    switch (l->step) {
    case STEP_FLY:
        return l->end >= op->rounds.units && all_launched(l) && !l->followed;
    case STEP_BITS:
    case STEP_DONES:
    case STEP_FINAL:
    case STEP_DONE:
        return 1;
    default:
        return 0;
    }
}

/* Flights land in the order in which they took off, more or less: the first one is waited for. */
static void needs_flight(struct cio_leader *l, struct cio_needs *needs)
{
    struct flight *first = NULL;

    for (int i = 0; i < l->used; i++)
        if (l->flight[i].serial > 0 && (first == NULL || l->flight[i].serial < first->serial))
            first = &l->flight[i];
    if (first != NULL) {
        cio_needs_add(needs, &first->send, 1);
        cio_needs_add(needs, &first->reply, 1);
    }
}

static void needs_members(struct cio_op *op, struct cio_needs *needs)
{
    struct cio_leader *l = op->leader;

    if (op->shared) {
        needs->word = &l->board->arrived;
        needs->seen = __atomic_load_n(needs->word, __ATOMIC_ACQUIRE);
        if (needs->seen == op->env.segment->arrived)
            needs->word = NULL;
    } else if (cio_req_busy(&l->stream_req)) {
        cio_needs_add(needs, &l->stream_req, 1);
    } else {
        cio_needs_add(needs, l->in_req, l->k);
        cio_needs_add(needs, l->out_req, l->k);
    }
}

void cio_leader_needs(struct cio_op *op, struct cio_needs *needs)
{
    struct cio_leader *l = op->leader;

    switch (l->step) {
    case STEP_LISTS:
        cio_needs_add(needs, l->payload, 3 * l->k);
        cio_needs_add(needs, l->out_req, l->k);
        break;
    case STEP_FLY:
        needs_flight(l, needs);
        break;
    case STEP_BITS:
    case STEP_DONES:
        cio_needs_add(needs, l->aggr_req, op->env.team->naggr);
        break;
    default:
        needs_members(op, needs);
    }
}

static void next_step(struct cio_op *op)
{
    switch (op->leader->step) {
    case STEP_READY:
        after_ready(op);
        break;
    case STEP_LISTS:
        after_lists(op);
        break;
    case STEP_MERGE:
        after_merge(op);
        break;
    case STEP_COPY:
        after_copy(op);
        break;
    case STEP_FLY:
        after_flights(op);
        break;
    case STEP_BITS:
        await_dones(op);
        break;
    case STEP_DONES:
        finish_members(op);
        break;
    default:
        op->leader->step = STEP_DONE;
    }
}

int cio_leader_progress(struct cio_op *op)
{
    struct cio_leader *l = op->leader;

    if (l->step == STEP_FLY && (fly(op) || serve_followers(op)))
        return 1;
    if (l->step == STEP_COPY && (l->followed ? serve_followers(op) : move_streams(op)))
        return 1;
    if (is_waiting(op))
        return 0;
    next_step(op);
    return 1;
}

int cio_leader_is_done(const struct cio_op *op)
{
    return op->leader == NULL || op->leader->step == STEP_DONE;
}

int cio_leader_is_over(const struct cio_op *op)
{
    return op->leader->k == 1 && op->leader->step >= STEP_DONES;
}

void cio_leader_finish(struct cio_op *op)
{
    struct cio_leader *l = op->leader;

    if (l == NULL)
        return;
    cio_op_free(op, l->stream, l->stream_size);
    cio_op_free(op, l->coded, l->coded_size * op->env.team->naggr);
    free(l->follower);
    free(l->near);
    free(l->confirmed);
    free(l->sent);
    free(l->flight);
    free(l->aggr_req);
    free(l->dones);
    free(l->out_req);
    free(l->payload);
    free(l->in_req);
    free(l->in);
    free(l);
    op->leader = NULL;
}
