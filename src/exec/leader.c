/*
 * The leader of a group: a local aggregator. It makes the group's board, has the pieces of each
 * window merged and copied by all members, and alone talks to the aggregators.
 *
 *   HELLO -> ATTACH -> PIECES -> MERGE -> write: COPY -> FLY -> next window: PIECES
 *                                         read:  FLY -> COPY   last one: BITS -> DONES -> FINAL
 */
#include "exec/internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "plan/bits.h"
#include "port/log.h"

/* Windows of this many pieces are merged by all members, each its part. */
#define SHARED_MERGE 500000

/* Unit messages in flight from one leader. */
#define IN_FLIGHT 16

enum step {
    STEP_HELLO,
    STEP_ATTACH,
    STEP_PIECES,
    STEP_MERGE,
    STEP_COPY,
    STEP_FLY,  /* units are sent to the aggregators, and (read) come back */
    STEP_BITS, /* what was sent first may still be on its way */
    STEP_DONES,
    STEP_FINAL,
    STEP_DONE
};

struct flight {
    struct cio_req send, reply;
    int64_t unit; /* index on the board */
    int used;
};

struct cio_leader {
    enum step step;
    int k; /* members, me included */
    struct cio_board *board;
    int64_t private_size;     /* of a board in my own memory, else 0 */
    struct cio_room *cap;     /* per member */
    struct cio_ctl *in;       /* per member: its last message */
    struct cio_req *in_req;   /* per member */
    struct cio_req *payload;  /* three per member */
    struct cio_ctl out;       /* to all members */
    struct cio_req *out_req;  /* per member */
    struct cio_place end;     /* of the window, */
    int32_t parts;            /* and how often its unit has been in a window already */
    int bits_sent;
    char *coded;              /* positions for each aggregator, in coded_size bytes */
    int64_t coded_size;
    struct cio_head *dones;   /* per aggregator */
    struct cio_req *aggr_req; /* per aggregator */
    struct flight flight[IN_FLIGHT];
    int64_t next_unit;
    char *stream;             /* one member's bytes, without shared memory */
    int64_t stream_size;
    int stream_member;
    struct cio_req stream_req;
    double since;
};

int cio_leader_create(struct cio_op *op)
{
    const struct cio_team *team = op->env.team;
    struct cio_leader *l = calloc(1, sizeof(*l));
    size_t k = (size_t)team->group_size, g = (size_t)team->naggr;

    if (l == NULL)
        return -ENOMEM;
    op->leader = l;
    l->k = team->group_size;
    l->cap = calloc(k, sizeof(*l->cap));
    l->in = calloc(k, sizeof(*l->in));
    l->in_req = calloc(k, sizeof(*l->in_req));
    l->payload = calloc(3 * k, sizeof(*l->payload));
    l->out_req = calloc(k, sizeof(*l->out_req));
    l->dones = calloc(g, sizeof(*l->dones));
    l->aggr_req = calloc(g, sizeof(*l->aggr_req));
    if (l->cap == NULL || l->in == NULL || l->in_req == NULL || l->payload == NULL ||
        l->out_req == NULL || l->dones == NULL || l->aggr_req == NULL)
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

/* One message from every other member. */
static void expect_members(struct cio_op *op)
{
    struct cio_leader *l = op->leader;

    for (int i = 1; i < l->k; i++)
        cio_op_recv(op, &l->in[i], sizeof(l->in[i]), op->env.team->group[i], CIO_TAG_UP,
                    &l->in_req[i]);
}

/* l->out to every member; my own obeys at once. */
static void tell_members(struct cio_op *op)
{
    struct cio_leader *l = op->leader;

    for (int i = 1; i < l->k; i++)
        cio_op_send(op, &l->out, sizeof(l->out), op->env.team->group[i], CIO_TAG_DOWN,
                    &l->out_req[i]);
    if (l->out.kind != CIO_CTL_FINAL)
        expect_members(op);
    cio_member_handle(op, &l->out, &l->in[0]);
}

static int members_busy(const struct cio_leader *l)
{
    return cio_reqs_busy(l->in_req, l->k) || cio_reqs_busy(l->out_req, l->k);
}

static int by_message(const struct cio_leader *l)
{
    return l->private_size > 0 && l->k > 1;
}

static void note_errors(struct cio_op *op)
{
    for (int i = 0; i < op->leader->k; i++)
        if (op->leader->in[i].error != 0)
            cio_op_fail(op, op->leader->in[i].error);
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
    cio_op_send_data(op, &iov, 1, op->env.team->aggr[aggr], CIO_TAG_BITS, &l->aggr_req[aggr]);
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

    for (int a = 0; a < op->env.team->naggr; a++)
        if (l->dones[a].error != 0)
            cio_op_fail(op, l->dones[a].error);
    l->step = STEP_FINAL;
    l->out = (struct cio_ctl){.kind = CIO_CTL_FINAL, .error = op->error};
    tell_members(op);
}

/* ---- the board ---- */

static void drop_segment(struct cio_op *op)
{
    struct cio_segment *seg = op->env.segment;

    if (seg->mem.base != NULL)
        op->env.nodemem.ops->detach(op->env.nodemem.self, &seg->mem);
    memset(&seg->mem, 0, sizeof(seg->mem));
}

/* Shared memory of at least `size` bytes: the segment of the last operation, or a new one. */
static int share(struct cio_op *op, int64_t size)
{
    struct cio_segment *seg = op->env.segment;
    int rc;

    if (op->set.transport == CIO_TRANSPORT_P2P || seg->refused)
        return -ENOTSUP;
    if (seg->mem.base == NULL || seg->mem.size < size) {
        drop_segment(op);
        rc = op->env.nodemem.ops->create(op->env.nodemem.self, size, &seg->mem);
        if (rc != 0)
            return rc;
        memcpy(op->leader->out.name, seg->mem.name, sizeof(op->leader->out.name));
    }
    cio_count_most(&op->stats, CIO_COUNT_SEGMENT_BYTES, seg->mem.size);
    op->leader->out.size = seg->mem.size;
    op->leader->board = seg->mem.base;
    return 0;
}

/* Says once for each file why messages are used, if something else was asked for. */
static void refuse_sharing(struct cio_op *op, int error)
{
    struct cio_segment *seg = op->env.segment;

    if (!seg->refused && op->set.transport != CIO_TRANSPORT_P2P)
        cio_log(CIO_LOG_NOTICE,
                "rank %d: no shared memory for its group (%s): messages are used instead",
                op->env.team->rank, strerror(-error));
    seg->refused = 1;
}

static int make_board(struct cio_op *op, int sharing)
{
    struct cio_leader *l = op->leader;
    int64_t size = cio_board_size(l->cap, l->k, &op->rounds);
    int rc = sharing ? share(op, size) : -ENOTSUP;

    if (rc != 0 && sharing)
        refuse_sharing(op, rc);
    if (rc != 0) {
        l->board = cio_op_alloc(op, size);
        if (l->board == NULL)
            return -ENOMEM;
        l->private_size = size;
        op->member.board = l->board;
    }
    cio_board_init(l->board, l->cap, l->k, &op->rounds);
    return 0;
}

/*
 * Makes the board and lets the members attach to it. If there is none, the aggregators are told of
 * the failure, and the members, at the end, of the outcome.
 */
static void attach_members(struct cio_op *op, int sharing)
{
    struct cio_leader *l = op->leader;
    int rc;

    l->step = STEP_ATTACH;
    l->out = (struct cio_ctl){.kind = CIO_CTL_ATTACH};
    rc = make_board(op, sharing);
    if (rc == 0) {
        tell_members(op);
        return;
    }
    cio_op_fail(op, rc);
    send_bits(op);
    l->step = STEP_BITS;
}

static void note_rooms(struct cio_op *op)
{
    struct cio_leader *l = op->leader;

    cio_member_hello(op, &l->in[0]);
    for (int i = 0; i < l->k; i++)
        l->cap[i] = (struct cio_room){l->in[i].ext, l->in[i].dir, l->in[i].data};
}

/* Everybody has mapped the segment, or said that it cannot. */
static int sharing_failed(struct cio_op *op)
{
    struct cio_leader *l = op->leader;
    int64_t failed = 0;

    if (l->out.size == 0)
        return 0;
    if (l->out.name[0] != '\0')
        op->env.nodemem.ops->unlink(op->env.nodemem.self, &op->env.segment->mem);
    for (int i = 0; i < l->k; i++)
        if (l->in[i].size != 0)
            failed = l->in[i].size;
    if (failed == 0)
        return 0;
    refuse_sharing(op, (int)failed);
    drop_segment(op);
    return 1;
}

/* Without shared memory: what the members have described comes as payload. */
static void expect_pieces(struct cio_op *op)
{
    struct cio_leader *l = op->leader;
    struct cio_area area;

    l->step = STEP_PIECES;
    for (int i = 1; by_message(l) && i < l->k; i++) {
        int source = op->env.team->group[i];

        if (l->in[i].error != 0)
            continue;
        cio_area_at(l->board, i, &area);
        area.desc->ndir = l->in[i].dir;
        area.desc->next = l->in[i].ext;
        area.dir[0].first = 0;
        if (area.desc->ndir > 0)
            cio_op_recv(op, area.dir, (area.desc->ndir + 1) * (int64_t)sizeof(*area.dir), source,
                        CIO_TAG_PAYLOAD, &l->payload[3 * i]);
        if (area.desc->next > 0)
            cio_op_recv(op, area.ext, area.desc->next * (int64_t)sizeof(*area.ext), source,
                        CIO_TAG_PAYLOAD, &l->payload[3 * i + 1]);
        if (!l->bits_sent)
            cio_op_recv(op, area.bits, l->board->words * (int64_t)sizeof(*area.bits), source,
                        CIO_TAG_PAYLOAD, &l->payload[3 * i + 2]);
    }
}

/* ---- windows ---- */

/* A unit that a window cuts is sent in parts: which one this is. */
static void count_parts(struct cio_leader *l, int64_t cut)
{
    struct cio_unit *u = cio_board_units(l->board);

    if (l->board->nunits == 0)
        return;
    if (u->t == cut)
        u->part = l->parts;
    u += l->board->nunits - 1;
    l->parts = u->last ? 0 : u->part + 1;
}

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
        cio_board_merge(l->board, &op->rounds, i, op->env.alloc);
    op->stats.time[CIO_TIME_MERGE] += cio_now() - t;
}

static void after_merge(struct cio_op *op);

/* The window ends where the first member had to stop. */
static void begin_window(struct cio_op *op)
{
    struct cio_leader *l = op->leader;
    int64_t cut = l->end.t;

    l->end = l->in[0].place;
    for (int i = 1; i < l->k; i++)
        if (cio_place_before(l->in[i].place, l->end))
            l->end = l->in[i].place;
    cio_board_list(l->board, &op->rounds, l->end);
    count_parts(l, cut);
    cio_count_add(&op->stats, CIO_COUNT_WINDOWS, 1);
    if (by_message(l) || window_pieces(l) < SHARED_MERGE) {
        merge_alone(op);
        after_merge(op);
        return;
    }
    l->step = STEP_MERGE;
    l->out = (struct cio_ctl){.kind = CIO_CTL_MERGE};
    tell_members(op);
}

static void note_units(struct cio_op *op)
{
    struct cio_unit *u = cio_board_units(op->leader->board);

    for (int64_t i = 0; i < op->leader->board->nunits; i++) {
        cio_count_add(&op->stats, CIO_COUNT_SEGMENTS, u[i].segments);
        cio_count_add(&op->stats, CIO_COUNT_METADATA_BYTES, u[i].meta_bytes);
    }
}

static void begin_copy(struct cio_op *op)
{
    struct cio_leader *l = op->leader;

    l->step = STEP_COPY;
    l->stream_member = 0;
    l->out = (struct cio_ctl){.kind = CIO_CTL_COPY, .place = l->end};
    tell_members(op);
}

/* Begins with the next member whose bytes must travel as a message, if there is one. */
static void next_stream(struct cio_op *op)
{
    struct cio_leader *l = op->leader;
    struct cio_area area;
    int64_t bytes = 0;

    while (bytes == 0 && ++l->stream_member < l->k) {
        cio_area_at(l->board, l->stream_member, &area);
        bytes = cio_area_bytes(&area);
    }
    if (bytes == 0)
        return;
    int rank = op->env.team->group[l->stream_member];
    if (op->req.write) {
        cio_op_recv(op, l->stream, bytes, rank, CIO_TAG_PAYLOAD, &l->stream_req);
    } else {
        cio_board_copy(l->board, &area, NULL, l->stream, 0);
        cio_op_send(op, l->stream, bytes, rank, CIO_TAG_PAYLOAD, &l->stream_req);
    }
}

/* Bytes of members that share no memory, one member after the other. 1 if something moved. */
static int move_streams(struct cio_op *op)
{
    struct cio_leader *l = op->leader;
    struct cio_area area;

    if (!by_message(l) || l->stream_member >= l->k || cio_req_busy(&l->stream_req))
        return 0;
    if (l->stream_member > 0 && op->req.write) {
        cio_area_at(l->board, l->stream_member, &area);
        cio_board_copy(l->board, &area, NULL, l->stream, 1);
    }
    next_stream(op);
    return 1;
}

/* ---- units on their way ---- */

static int unit_aggr(const struct cio_op *op, const struct cio_unit *u)
{
    return op->env.team->aggr[u->t % op->rounds.naggr];
}

static void fill_head(struct cio_op *op, const struct cio_unit *u, struct cio_head *head)
{
    *head = (struct cio_head){.magic = CIO_HEAD_MAGIC,
                              .error = u->error,
                              .leader = op->env.team->my_leader,
                              .parts = u->last ? u->part + 1 : 0,
                              .pos = u->t / op->rounds.naggr,
                              .meta = u->meta_bytes,
                              .data = u->data_bytes};
}

static const void *unit_data(struct cio_op *op, const struct cio_unit *u)
{
    if (cio_op_is_direct(op))
        return op->req.buf + op->req.mem->block[0].off + u->stream;
    return (char *)op->leader->board + u->data;
}

/* Where a reply's head lies: just before the unit's data. */
static struct cio_head *reply_head(struct cio_op *op, const struct cio_unit *u)
{
    return (struct cio_head *)((char *)op->leader->board + u->data) - 1;
}

static void launch(struct cio_op *op, struct flight *f, int64_t index)
{
    struct cio_board *board = op->leader->board;
    struct cio_unit *u = &cio_board_units(board)[index];
    struct cio_head *head = (struct cio_head *)((char *)board + u->head);
    struct cio_iov iov[2] = {{head, (int64_t)sizeof(*head) + u->meta_bytes}, {NULL, 0}};

    fill_head(op, u, head);
    f->used = 1;
    f->unit = index;
    if (op->req.write)
        iov[1] = (struct cio_iov){unit_data(op, u), u->data_bytes};
    else if (u->error == 0)
        cio_op_recv(op, reply_head(op, u), (int64_t)sizeof(*head) + u->data_bytes,
                    unit_aggr(op, u), CIO_TAG_REPLY, &f->reply);
    cio_op_send_data(op, iov, iov[1].len > 0 ? 2 : 1, unit_aggr(op, u), CIO_TAG_DATA, &f->send);
}

static void note_reply(struct cio_op *op, const struct flight *f)
{
    struct cio_unit *u = &cio_board_units(op->leader->board)[f->unit];
    const struct cio_head *head = reply_head(op, u);

    if (u->error != 0)
        return;
    if (f->reply.error != 0)
        u->error = f->reply.error;
    else if (head->magic != CIO_HEAD_MAGIC)
        u->error = -EBADMSG;
    else if (head->error != 0)
        u->error = head->error;
    else if (f->reply.bytes != (int64_t)sizeof(*head) + u->data_bytes)
        u->error = -EBADMSG;
    if (u->error != 0)
        cio_op_fail(op, u->error);
}

/* Keeps units in flight until all of the window's have been sent, and (read) answered. */
static int fly(struct cio_op *op)
{
    struct cio_leader *l = op->leader;
    int advanced = 0;

    for (int i = 0; i < IN_FLIGHT; i++) {
        struct flight *f = &l->flight[i];

        if (f->used && !cio_req_busy(&f->send) && !cio_req_busy(&f->reply)) {
            if (!op->req.write)
                note_reply(op, f);
            *f = (struct flight){.used = 0};
            advanced = 1;
        }
        if (!f->used && l->next_unit < l->board->nunits) {
            launch(op, f, l->next_unit++);
            advanced = 1;
        }
    }
    return advanced;
}

static int flying(const struct cio_leader *l)
{
    for (int i = 0; i < IN_FLIGHT; i++)
        if (l->flight[i].used)
            return 1;
    return l->next_unit < l->board->nunits;
}

static void begin_flights(struct cio_op *op)
{
    op->leader->step = STEP_FLY;
    op->leader->next_unit = 0;
    op->leader->since = cio_now();
}

/* ---- what follows what ---- */

static void end_window(struct cio_op *op)
{
    if (op->leader->end.t >= op->rounds.units)
        op->leader->step = STEP_BITS;
    else
        expect_pieces(op);
}

static void after_flights(struct cio_op *op)
{
    op->stats.time[CIO_TIME_EXCHANGE] += cio_now() - op->leader->since;
    if (op->req.write)
        end_window(op);
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

static void after_attach(struct cio_op *op)
{
    if (sharing_failed(op)) {
        attach_members(op, 0);
        return;
    }
    note_errors(op);
    expect_pieces(op);
}

/* Room for the bytes of any one member, where they come as messages. */
static void make_stream(struct cio_op *op)
{
    struct cio_leader *l = op->leader;

    for (int i = 1; by_message(l) && i < l->k; i++)
        l->stream_size = cio_max64(l->stream_size, l->cap[i].data);
    if (l->stream_size == 0)
        return;
    l->stream = cio_op_alloc(op, l->stream_size);
    if (l->stream == NULL)
        cio_op_fail(op, -ENOMEM);
}

/* Before the first window the aggregators are told what to expect: nothing, after an error. */
static void after_pieces(struct cio_op *op)
{
    struct cio_leader *l = op->leader;

    if (!l->bits_sent) {
        make_stream(op);
        send_bits(op);
        if (op->error != 0) {
            l->step = STEP_BITS;
            return;
        }
    }
    begin_window(op);
}

static void after_merge(struct cio_op *op)
{
    note_units(op);
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
    case STEP_PIECES:
        return cio_reqs_busy(l->payload, 3 * l->k);
    case STEP_FLY:
        return flying(l);
    case STEP_BITS:
    case STEP_DONES:
        return cio_reqs_busy(l->aggr_req, op->env.team->naggr);
    case STEP_DONE:
        return 1;
    default:
        return members_busy(l) || cio_req_busy(&l->stream_req);
    }
}

/* Flights land in the order in which they took off, more or less: the first one is waited for. */
static void needs_flight(struct cio_leader *l, struct cio_needs *needs)
{
    struct flight *first = NULL;

    for (int i = 0; i < IN_FLIGHT; i++)
        if (l->flight[i].used && (first == NULL || l->flight[i].unit < first->unit))
            first = &l->flight[i];
    if (first != NULL) {
        cio_needs_add(needs, &first->send, 1);
        cio_needs_add(needs, &first->reply, 1);
    }
}

void cio_leader_needs(struct cio_op *op, struct cio_needs *needs)
{
    struct cio_leader *l = op->leader;

    switch (l->step) {
    case STEP_PIECES:
        cio_needs_add(needs, l->payload, 3 * l->k);
        break;
    case STEP_FLY:
        needs_flight(l, needs);
        break;
    case STEP_BITS:
    case STEP_DONES:
        cio_needs_add(needs, l->aggr_req, op->env.team->naggr);
        break;
    default:
        if (cio_req_busy(&l->stream_req)) {
            cio_needs_add(needs, &l->stream_req, 1);
            break;
        }
        cio_needs_add(needs, l->in_req, l->k);
        cio_needs_add(needs, l->out_req, l->k);
    }
}

static void next_step(struct cio_op *op)
{
    switch (op->leader->step) {
    case STEP_HELLO:
        note_rooms(op);
        attach_members(op, op->leader->k > 1);
        break;
    case STEP_ATTACH:
        after_attach(op);
        break;
    case STEP_PIECES:
        after_pieces(op);
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

    if (l->step == STEP_FLY && fly(op))
        return 1;
    if (l->step == STEP_COPY && move_streams(op))
        return 1;
    if (is_waiting(op))
        return 0;
    next_step(op);
    return 1;
}

void cio_leader_start(struct cio_op *op)
{
    expect_members(op);
}

int cio_leader_is_done(const struct cio_op *op)
{
    return op->leader == NULL || op->leader->step == STEP_DONE;
}

void cio_leader_finish(struct cio_op *op)
{
    struct cio_leader *l = op->leader;

    if (l == NULL)
        return;
    cio_op_free(op, l->stream, l->stream_size);
    cio_op_free(op, l->coded, l->coded_size * op->env.team->naggr);
    if (l->private_size > 0)
        cio_op_free(op, l->board, l->private_size);
    free(l->aggr_req);
    free(l->dones);
    free(l->out_req);
    free(l->payload);
    free(l->in_req);
    free(l->in);
    free(l->cap);
    free(l);
    op->leader = NULL;
}
