/* One operation: the agreement at its start, its roles, its end. */
#include "exec/schedule.h"
#include "exec/small.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "plan/bits.h"

/* Looks at a counter before a rank with a core to itself goes to sleep. */
#define LOOKS 200
#define LOOKS_AT_ALL 1000 /* of one that looks after messages too */

/*
 * Microseconds after which a rank that sleeps on a counter sleeps inside MPI instead, in case that
 * others wait for it there with what has nothing to do with this call. Waking it then takes a
 * message, so where ranks share cores, and most waits are long, it is later.
 */
#define NAP 2000
#define CROWDED_NAP 20000

/* The same for one that must react to messages too: at first, and at most. */
#define SHORT_NAP 100
#define LONG_NAP 400
#define MEMBERS_NAP 1000 /* while it waits for members, who wake it */

/*
 * The naps in parts of what file access takes for a round, where ranks share cores and may return
 * early: looks would be most of what the cores do, and all of those who are through, or begin with
 * something else, would wait for it. Each is twice as long as the one before, so that who gets
 * messages looks often. In a write that is too seldom, since each round is made of messages that
 * take several looks; but not where leaders are so many that looks, which cost the more the more
 * send anything, would leave no time for them.
 */
#define FIRST_PART 8
#define LONGEST_PART 4
#define MANY_LEADERS 512
#define SLOW_NAP 40000 /* but no more than this */

/* The words of the reduction. */
enum {
    MIN_ERROR = CIO_MIN_ERROR,
    MIN_LO,
    MIN_MINUS_HI = CIO_MIN_MINUS_HI,
    MIN_MINUS_PACE,
    MIN_MINUS_CHARGE,
    MIN_END
};
enum {
    SUM_BYTES = CIO_SUM_BYTES,
    SUM_PIECES = CIO_SUM_PIECES,
    SUM_SPANS,
    SUM_UNSORTED,
    SUM_UNSHARED,
    SUM_TOUCHES,
    SUM_OUTSTANDING = CIO_SUM_OUTSTANDING,
    SUM_UNMADE
};

double cio_now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

void *cio_op_alloc(struct cio_op *op, int64_t size)
{
    void *p = op->env.alloc.get(op->env.alloc.self, (size_t)cio_max64(size, 1));

    if (p == NULL)
        return NULL;
    op->held += size;
    cio_count_most(&op->stats, CIO_COUNT_PEAK_BYTES, op->held);
    return p;
}

void cio_op_free(struct cio_op *op, void *p, int64_t size)
{
    if (p == NULL)
        return;
    op->held -= size;
    free(p);
}

void cio_op_send(struct cio_op *op, const void *buf, int64_t len, int dest, enum cio_tag tag,
                 struct cio_req *req)
{
    struct cio_iov iov = {buf, len};
    int rc = cio_comm_post(op->env.comm, &iov, 1, dest, cio_op_tag(op, tag), req);

    if (rc != 0)
        cio_op_fail(op, rc);
}

void cio_op_recv(struct cio_op *op, void *buf, int64_t size, int source, enum cio_tag tag,
                 struct cio_req *req)
{
    int rc = cio_comm_recv(op->env.comm, buf, size, source, cio_op_tag(op, tag), req);

    if (rc != 0)
        cio_op_fail(op, rc);
}

void cio_op_send_data(struct cio_op *op, const struct cio_iov *iov, int niov, int dest,
                      enum cio_tag tag, enum cio_send_mode mode, struct cio_req *req)
{
    int64_t bytes = 0;
    int rc = (mode == CIO_SEND_PLAIN ? cio_comm_post : cio_comm_send)(op->env.comm, iov, niov, dest,
                                                                      cio_op_tag(op, tag), req);

    if (rc != 0)
        cio_op_fail(op, rc);
    for (int i = 0; i < niov; i++)
        bytes += iov[i].len;
    cio_count_add(&op->stats, CIO_COUNT_MESSAGES, 1);
    cio_count_add(&op->stats, CIO_COUNT_MESSAGE_BYTES, bytes);
    if (cio_team_is_remote(op->env.team, dest)) {
        cio_count_add(&op->stats, CIO_COUNT_INTER_MESSAGES, 1);
        cio_count_add(&op->stats, CIO_COUNT_INTER_BYTES, bytes);
    }
}

void cio_op_note_data(struct cio_op *op, int dest, int64_t bytes)
{
    if (cio_team_is_remote(op->env.team, dest))
        cio_count_add(&op->stats, CIO_COUNT_INTER_DATA, bytes);
}

/*
 * What a request takes of a member's budget, at most, within so many bytes of the file. Each piece
 * may lie across the border of two positions, or have more of them inside it.
 */
static int64_t charge(const struct cio_op *op, int64_t span)
{
    int64_t unit = op->set.unit;
    int64_t touches =
        cio_min64(2 * op->stats.count[CIO_COUNT_PIECES] + op->req.bytes / unit, span / unit + 2);
    int64_t pieces = op->stats.count[CIO_COUNT_PIECES] + touches;
    int64_t lists = touches + pieces / CIO_LIST_PIECES + op->req.bytes / cio_op_message_data(op);

    return op->req.bytes + pieces * CIO_PIECE_CHARGE + lists * CIO_LIST_CHARGE;
}

/*
 * Where the file ends at least, as one of the ranks finds it: those whose last byte lies before
 * that need not wait for the end of a read to know that they have got all of it.
 */
static int64_t known_end(const struct cio_op *op)
{
    int64_t size;

    if (!op->set.early || op->req.write || op->env.team->my_aggr != 0)
        return INT64_MAX;
    size = op->env.store != NULL ? cio_store_size(op->env.store) : INT64_MAX;
    return size == INT64_MAX ? 0 : size;
}

/* The file range that this rank touches, as the reduction wants it. */
static void describe_range(struct cio_op *op)
{
    const struct cio_request *req = &op->req;
    struct cio_cursor c;

    for (int i = 0; i < CIO_REDUCE_WORDS; i++) {
        op->mine.min[i] = INT64_MAX;
        op->mine.sum[i] = 0;
    }
    op->mine.min[MIN_ERROR] = op->error;
    op->mine.min[MIN_END] = known_end(op);
    op->mine.sum[SUM_UNSHARED] = cio_board_join(op) != 0;
    op->mine.sum[SUM_OUTSTANDING] = op->set.outstanding;
    if (op->env.pace != NULL)
        op->mine.min[MIN_MINUS_PACE] = -op->env.pace->ns[req->write];
    if (req->bytes == 0)
        return;
    cio_cursor_seek(&c, req->file, req->start);
    op->mine.min[MIN_LO] = req->disp + cio_cursor_offset(&c);
    cio_cursor_seek(&c, req->file, req->start + req->bytes - 1);
    op->mine.min[MIN_MINUS_HI] = -(req->disp + cio_cursor_offset(&c) + 1);
    op->mine.sum[SUM_BYTES] = req->bytes;
    op->mine.sum[SUM_PIECES] = op->stats.count[CIO_COUNT_PIECES];
    op->mine.sum[SUM_SPANS] = -op->mine.min[MIN_MINUS_HI] - op->mine.min[MIN_LO];
    op->mine.sum[SUM_UNSORTED] = !req->file->sorted;
    op->mine.sum[SUM_TOUCHES] = cio_schedule_touches(op, op->mine.sum[SUM_SPANS]);
    op->mine.min[MIN_MINUS_CHARGE] = -charge(op, op->mine.sum[SUM_SPANS]);
    cio_small_describe(op);
}

/* Whether the call is left to others, for a reason that all ranks see. */
static int declined(struct cio_op *op)
{
    struct cio_totals t = {.lo = op->all.min[MIN_LO],
                           .hi = -op->all.min[MIN_MINUS_HI],
                           .bytes = op->all.sum[SUM_BYTES],
                           .pieces = op->all.sum[SUM_PIECES],
                           .spans = op->all.sum[SUM_SPANS],
                           .unsorted = op->all.sum[SUM_UNSORTED],
                           .node_ranks = op->set.node_ranks};

    /* what others do not serve they cannot keep from losing bytes of what is under way */
    enum cio_switch tam = op->all.sum[SUM_OUTSTANDING] > 0 ? CIO_ENABLE : op->set.tam;
    struct cio_choice choice = cio_choose(&t, tam);

    op->stats.declined = !choice.tam;
    op->stats.alone = choice.alone;
    op->stats.beside = op->all.sum[SUM_OUTSTANDING] > 0;
    op->stats.why = choice.why;
    return op->stats.declined;
}

/*
 * What is left of cb_buffer_size for rounds and messages: sets of positions are within it too, as
 * long as they are a small part of it, and in a read what leaders have asked for.
 */
static int64_t buffer_left(const struct cio_op *op)
{
    const struct cio_team *team = op->env.team;
    int64_t coded = (int64_t)(sizeof(struct cio_head) + cio_bits_bound(CIO_SMALL_SLICE) + 8);
    int64_t sets =
        (team->nleaders + 1) * (int64_t)CIO_SMALL_SLICE / 8 + (CIO_SLOTS_MAX + team->naggr) * coded;

    return op->set.buffer - cio_min64(sets, op->set.buffer / 16) -
           (op->req.write ? 0 : op->set.buffer / 32);
}

/* All ranks divide the buffers of aggregators in the same way. */
static void plan_buffers(struct cio_op *op)
{
    int64_t overhead = 2 * CIO_LIST_CODED + 1024;
    struct cio_pipeline_spec spec = {.buffer = buffer_left(op),
                                     .unit = op->set.unit,
                                     .depth = op->set.depth,
                                     .message = op->set.message,
                                     .overhead = overhead,
                                     .request = 2 * overhead,
                                     .leaders = op->env.team->nleaders,
                                     .write = op->req.write};

    cio_pipeline_plan(&spec, &op->pipe);
    op->stats.count[CIO_COUNT_DEPTH] = op->pipe.depth;
}

static int make_roles(struct cio_op *op)
{
    int rc = 0;

    if (cio_team_leads(op->env.team))
        rc = cio_leader_create(op);
    if (rc == 0 && op->env.team->my_aggr >= 0)
        rc = cio_aggr_create(op);
    return rc;
}

/*
 * Buffers that were not needed the last time are made when it is known that they are, which costs a
 * second reduction; in a small call, making them would take longer than all the rest.
 */
static int may_do_without(const struct cio_op *op)
{
    return op->env.pace != NULL && op->env.pace->unused;
}

struct cio_op *cio_op_reserve(void)
{
    return calloc(1, sizeof(struct cio_op));
}

void cio_op_unreserve(struct cio_op *op)
{
    free(op);
}

/* New, or the one in reserve, which another thread may want too. */
static struct cio_op *make_op(const struct cio_env *env)
{
    struct cio_op *op = calloc(1, sizeof(*op));

    if (op == NULL && env->reserve != NULL)
        op = __atomic_exchange_n(env->reserve, NULL, __ATOMIC_ACQ_REL);
    if (op != NULL)
        memset(op, 0, sizeof(*op));
    return op;
}

static void free_op(struct cio_op *op)
{
    struct cio_op **reserve = op->env.reserve, *none = NULL;

    if (reserve == NULL ||
        !__atomic_compare_exchange_n(reserve, &none, op, 0, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
        free(op);
}

struct cio_op *cio_op_start(const struct cio_env *env, const struct cio_settings *settings,
                            const struct cio_request *request)
{
    struct cio_op *op = make_op(env);
    int rc = 0;

    if (op == NULL)
        return NULL;
    op->env = *env;
    if (env->own.ops == NULL)
        op->env.own = cio_nodemem_own;
    op->set = *settings;
    op->set.small = cio_min64(op->set.small, CIO_SMALL_MAX);
    op->req = *request;
    op->eof = INT64_MAX;
    op->error = request->error;
    if (op->error != 0)
        op->req.bytes = 0;
    op->started = cio_now();
    op->stats.count[CIO_COUNT_BYTES] = op->req.bytes;
    if (op->req.bytes > 0)
        op->stats.count[CIO_COUNT_PIECES] =
            cio_flat_pieces(op->req.file, op->req.start, op->req.bytes);
    plan_buffers(op);
    op->unmade = may_do_without(op);
    if (!op->unmade)
        rc = make_roles(op);
    if (rc == 0)
        rc = cio_schedule_create(op);
    if (rc != 0)
        cio_op_fail(op, rc);
    describe_range(op);
    op->mine.sum[SUM_UNMADE] = op->unmade;
    cio_reduce_start(op);
    return op;
}

/* Nobody has anything to do, or somebody cannot: the same on every rank. */
static int ends_early(struct cio_op *op)
{
    if (op->all.min[MIN_ERROR] != 0)
        op->error = (int)op->all.min[MIN_ERROR];
    return op->error != 0 || op->all.min[MIN_LO] == INT64_MAX;
}

/*
 * Where nobody returns before the others, it does not matter whose turn comes first. Automatic is
 * by offset then.
 */
static int may_stagger(const struct cio_op *op, const struct cio_domains *d)
{
    int by_offset =
        op->set.schedule == CIO_SCHEDULE_OFFSET || op->set.schedule == CIO_SCHEDULE_AUTOMATIC;

    return by_offset && !op->set.early && cio_domains_is_cyclic(d);
}

static int plan_rounds(struct cio_op *op)
{
    struct cio_domain_spec spec = {.kind = op->set.domain,
                                   .lo = op->all.min[MIN_LO],
                                   .hi = -op->all.min[MIN_MINUS_HI],
                                   .naggr = op->env.team->naggr,
                                   .stripe = op->set.stripe,
                                   .stripe_count = op->set.stripe_count,
                                   .unit = op->set.unit,
                                   .layout = op->set.layout};
    struct cio_domains d;
    int rc = cio_domains_init(&spec, &d);

    if (rc != 0)
        return rc;
    cio_rounds_init(&d, spec.naggr, &op->rounds);
    op->rounds.staggered = may_stagger(op, &d);
    if (!op->req.write)
        op->rounds.skip =
            (spec.naggr + op->env.team->nodes->nnodes - 1) / op->env.team->nodes->nnodes;
    if (op->rounds.units <= CIO_MAX_UNITS)
        return 0;
    op->stats.declined = 1;
    op->stats.why = "the file range is too wide";
    return -ECANCELED;
}

/* One rank without shared memory is reason enough for all to do without. */
static void choose_sharing(struct cio_op *op)
{
    struct cio_segment *seg = op->env.segment;

    seg->shared = op->all.sum[SUM_UNSHARED] == 0;
    seg->largest = cio_max64(seg->largest, op->all.sum[SUM_BYTES]);
    op->shared = seg->shared && op->env.team->group_size > 1;
    if (seg->shared)
        return;
    seg->refused = 1;
    cio_segment_leave(seg, op->env.nodemem);
}

static void start_roles(struct cio_op *op)
{
    op->phase = CIO_OP_RUN;
    if (op->leader != NULL)
        cio_leader_start(op);
    else
        cio_member_start(op);
}

/* Ranks have agreed to begin; where it is not known yet in which order, they find that out first.
 */
static void begin(struct cio_op *op)
{
    struct cio_prospect prospect = {
        .touches = op->all.sum[SUM_TOUCHES],
        .stripe_ns = op->all.min[MIN_MINUS_PACE] < 0 ? -op->all.min[MIN_MINUS_PACE] : 0,
        .charge = -op->all.min[MIN_MINUS_CHARGE]};

    op->charge = prospect.charge;
    choose_sharing(op);
    op->plain = op->set.polled || op->all.sum[SUM_OUTSTANDING] > 0;
    op->stats.time[CIO_TIME_SETUP] = cio_now() - op->started;
    if (cio_schedule_begin(op, &prospect))
        op->phase = CIO_OP_SCHEDULE;
    else
        start_roles(op);
}

static int reserve(struct cio_op *op)
{
    int rc = op->unmade ? make_roles(op) : 0;

    op->unmade = 0;
    if (op->rounds.slice <= CIO_SMALL_SLICE)
        return rc;
    if (rc == 0 && op->leader != NULL)
        rc = cio_leader_reserve(op, op->rounds.slice);
    if (rc == 0 && op->aggr != NULL)
        rc = cio_aggr_reserve(op, op->rounds.slice);
    return rc;
}

/* More memory is needed than was made at first, so the ranks agree once more. */
static void agree(struct cio_op *op)
{
    op->phase = CIO_OP_AGREE;
    op->mine.min[MIN_ERROR] = reserve(op);
    op->mine.sum[CIO_SUM_LARGE] = 1; /* it is too late for that */
    cio_reduce_start(op);
}

/* The words have carried all that there was to do, and it is done. */
static void end_small(struct cio_op *op)
{
    choose_sharing(op);
    if (op->all.min[MIN_ERROR] != 0)
        cio_op_fail(op, (int)op->all.min[MIN_ERROR]);
    op->eof = op->all.min[CIO_MIN_EOF];
    op->stats.small = 1;
    op->stats.why = "few bytes: one rank serves them";
    op->stats.count[CIO_COUNT_SHARED] = op->shared;
    op->stats.time[CIO_TIME_SETUP] = cio_now() - op->started;
    op->phase = CIO_OP_DONE;
}

/* All ranks come to the same decision from the same numbers. */
static void after_reduce(struct cio_op *op)
{
    int rc = 0;

    if (cio_small_is_served(op)) {
        end_small(op);
        return;
    }
    if (!ends_early(op) && op->phase == CIO_OP_REDUCE)
        rc = declined(op) ? -ECANCELED : plan_rounds(op);
    if (rc != 0)
        cio_op_fail(op, rc);
    if (op->error == 0 && ends_early(op))
        op->stats.why = "there is nothing to transfer";
    if (op->error != 0 || ends_early(op))
        op->phase = CIO_OP_DONE;
    else if (op->phase == CIO_OP_REDUCE &&
             (op->rounds.slice > CIO_SMALL_SLICE || op->all.sum[SUM_UNMADE] > 0))
        agree(op);
    else
        begin(op);
}

static int roles_done(const struct cio_op *op)
{
    return op->member.step == CIO_MEMBER_DONE && cio_leader_is_done(op) && cio_aggr_is_done(op);
}

/* Nothing that comes can be relied on, and what others wait for may never come. */
static int break_off(struct cio_op *op)
{
    if (op->phase != CIO_OP_DONE) {
        op->broken = 1;
        cio_op_fail(op, op->env.comm->error);
        op->phase = CIO_OP_DONE;
    }
    return 1;
}

int cio_op_is_broken(const struct cio_op *op)
{
    return op->broken ? op->env.comm->error : 0;
}

int cio_op_progress(struct cio_op *op)
{
    int advanced = 1;

    if (op->env.comm->error != 0)
        return break_off(op);
    if (op->phase <= CIO_OP_AGREE && cio_reduce_progress(op))
        after_reduce(op);
    if (op->phase == CIO_OP_SCHEDULE && cio_schedule_progress(op))
        start_roles(op);
    while (op->phase == CIO_OP_RUN && advanced) {
        advanced = 0;
        if (op->aggr != NULL)
            advanced |= cio_aggr_progress(op);
        if (op->leader != NULL)
            advanced |= cio_leader_progress(op);
        else
            advanced |= cio_member_progress(op);
        if (roles_done(op))
            op->phase = CIO_OP_DONE;
    }
    return op->phase == CIO_OP_DONE;
}

/* Sleeps until the counter changes, having looked for a while where that harms nobody. */
static void await_word(struct cio_op *op, const struct cio_needs *needs)
{
    const struct cio_node_memory *port = &op->env.nodemem;
    int nap = op->set.crowded ? CROWDED_NAP : NAP;

    for (int i = 0; !op->set.crowded && i < LOOKS; i++) {
        if (__atomic_load_n(needs->word, __ATOMIC_ACQUIRE) != needs->seen)
            return;
        port->ops->wait(port->self, needs->word, needs->seen, 0);
    }
    port->ops->wait(port->self, needs->word, needs->seen, nap);
    if (__atomic_load_n(needs->word, __ATOMIC_ACQUIRE) == needs->seen &&
        cio_board_sleep(op, needs->word, needs->seen) != 0)
        cio_comm_poll(op->env.comm);
}

/* Microseconds of file access for a round, in the mean of those of this call. */
static int64_t access_usec(const struct cio_op *op)
{
    return (int64_t)(1e6 * cio_aggr_file_time(op)) /
           cio_max64(op->stats.count[CIO_COUNT_ROUNDS], 1);
}

/* Microseconds of the naps of an aggregator whose file access is under way, which wakes it. */
static int64_t file_nap(const struct cio_op *op, int idle)
{
    int many = op->env.team->nleaders >= MANY_LEADERS;
    int slow = op->set.crowded && op->set.early && (many || !op->req.write);
    int64_t round = slow ? access_usec(op) : 0;
    int64_t longest = cio_max64(LONG_NAP, cio_min64(round / LONGEST_PART, SLOW_NAP));
    int64_t nap = many ? cio_max64(SHORT_NAP, round / FIRST_PART) : SHORT_NAP;

    while (--idle > 0 && nap < longest)
        nap *= 2;
    return cio_min64(nap, longest);
}

/*
 * An aggregator must react to whatever comes first: a message, the end of a file access or a
 * member's answer. MPI wakes nobody for the latter two, so it looks again and again, and naps in
 * between.
 */
static void await_anything(struct cio_op *op, const struct cio_needs *needs, int *idle)
{
    const struct cio_node_memory *port = &op->env.nodemem;
    int64_t longest = needs->word != NULL && op->leader != NULL ? MEMBERS_NAP : LONG_NAP, nap;
    const uint32_t none = 0, *word = needs->word != NULL ? needs->word : &none;
    uint32_t seen = needs->word != NULL ? needs->seen : none;
    int usec = 0;

    if (cio_comm_poll(op->env.comm) > 0) {
        *idle = 0;
        return;
    }
    ++*idle;
    nap = cio_min64(SHORT_NAP * (int64_t)*idle, longest);
    if (cio_aggr_transfers(op)) {
        nap = file_nap(op, *idle);
        word = needs->file_word != NULL ? needs->file_word : word;
        seen = needs->file_word != NULL ? needs->file_seen : seen;
    }
    if (op->set.crowded || *idle > LOOKS_AT_ALL)
        usec = (int)nap;
    port->ops->wait(port->self, word, seen, usec);
}

/* An aggregator whose leader needs no attention waits for what comes next. 0: it must not. */
static int await_next(struct cio_op *op)
{
    struct cio_needs needs = {.n = 0};

    if (op->leader == NULL || !cio_leader_is_patient(op) || cio_aggr_transfers(op))
        return 0;
    if (cio_comm_poll(op->env.comm) > 0)
        return 1;
    cio_aggr_needs(op, &needs);
    if (needs.n > 0)
        cio_comm_wait(op->env.comm, needs.req, needs.n);
    return needs.n > 0;
}

/*
 * Lets the other operations of this process progress: how many there are. Not while this one holds
 * the lock of a range, which one of them might wait for.
 */
static int progress_others(struct cio_op *op)
{
    const struct cio_others *others = &op->env.others;

    if (others->progress == NULL)
        return 0;
    return cio_aggr_holds_lock(op) || others->progress(others->self) > 0;
}

/* Whatever this rank waits for; with others, for anything at all. */
static void await(struct cio_op *op, struct cio_needs *needs, int *idle)
{
    int others = progress_others(op);

    if (op->phase == CIO_OP_SCHEDULE)
        cio_schedule_needs(op, needs);
    else if (op->phase != CIO_OP_RUN)
        cio_reduce_needs(op, needs);
    else if (op->leader != NULL)
        cio_leader_needs(op, needs);
    else
        cio_member_needs(op, needs);
    if (others || (op->phase == CIO_OP_RUN && !cio_aggr_is_done(op))) {
        if (!others && await_next(op))
            *idle = 0;
        else
            await_anything(op, needs, idle);
    } else if (needs->word != NULL) {
        await_word(op, needs);
    } else {
        cio_comm_wait(op->env.comm, needs->req, needs->n);
    }
}

/* The last byte of a read, if there is one, is not what lies beyond the end of the file: that reads
 * as zeros. */
static int ends_in_data(const struct cio_op *op)
{
    const struct cio_request *req = &op->req;
    struct cio_cursor c;

    if (req->bytes == 0 || -op->mine.min[MIN_MINUS_HI] <= op->all.min[MIN_END])
        return 1;
    cio_cursor_seek(&c, req->mem, req->bytes - 1);
    return req->buf[cio_cursor_offset(&c)] != 0;
}

int cio_op_is_released(const struct cio_op *op)
{
    const struct cio_member *m = &op->member;

    if (op->phase == CIO_OP_DONE)
        return 1;
    if (!op->set.early || op->phase != CIO_OP_RUN || op->aggr != NULL || op->error != 0)
        return 0;
    if (op->leader != NULL ? !cio_leader_is_over(op) : !m->finished)
        return 0;
    if (op->leader == NULL && m->alone && m->step != CIO_MEMBER_WAIT)
        return 0;
    return op->req.write || (!op->doubtful && ends_in_data(op));
}

/* Until it is finished or, if that is enough, released. */
static void wait_for(struct cio_op *op, int released)
{
    int idle = 0;

    for (;;) {
        struct cio_needs needs = {.file_word = cio_aggr_word(op)};

        if (needs.file_word != NULL)
            needs.file_seen = __atomic_load_n(needs.file_word, __ATOMIC_ACQUIRE);
        if (cio_op_progress(op) || (released && cio_op_is_released(op)))
            return;
        await(op, &needs, &idle);
    }
}

void cio_op_wait(struct cio_op *op)
{
    wait_for(op, 0);
}

void cio_op_let_go(struct cio_op *op)
{
    op->req.file = op->req.mem = NULL;
    op->req.buf = NULL;
    cio_count_add(&op->stats, CIO_COUNT_EARLY, 1);
    op->stats.time[CIO_TIME_RESPONSE] = cio_now() - op->started;
}

int cio_op_wait_released(struct cio_op *op)
{
    wait_for(op, 1);
    if (op->phase == CIO_OP_DONE)
        return 1;
    cio_op_let_go(op);
    return 0;
}

int64_t cio_op_moved(const struct cio_op *op)
{
    const struct cio_request *req = &op->req;

    if (op->error != 0)
        return 0;
    if (req->write || req->bytes == 0 || req->file == NULL || op->eof == INT64_MAX)
        return req->bytes;
    return cio_max64(
        cio_min64(cio_flat_lower(req->file, op->eof - req->disp) - req->start, req->bytes), 0);
}

void cio_op_range(const struct cio_op *op, int64_t *lo, int64_t *hi)
{
    *lo = op->all.min[MIN_LO];
    *hi = -op->all.min[MIN_MINUS_HI];
}

/* Whether buffers were of any use. */
static void note_use(struct cio_op *op)
{
    if (op->env.pace != NULL)
        op->env.pace->unused = op->stats.small || op->stats.declined;
}

/* What a round took, in the mean of all that this rank has served; half of it from the last time.
 */
static void note_pace(struct cio_op *op)
{
    int64_t *ns = op->env.pace != NULL ? &op->env.pace->ns[op->req.write] : NULL;
    int64_t rounds = op->stats.count[CIO_COUNT_ROUNDS];

    if (ns == NULL || rounds == 0 || op->error != 0)
        return;
    rounds = (int64_t)(1e9 * op->serving / (double)rounds) + 1;
    *ns = *ns == 0 ? rounds : (*ns + rounds) / 2;
}

int cio_op_finish(struct cio_op *op, struct cio_stats *stats)
{
    int error = op->error;

    note_pace(op);
    note_use(op);
    cio_schedule_finish(op);
    cio_reduce_finish(op);

    cio_member_finish(op);
    cio_leader_finish(op);
    cio_aggr_finish(op);
    cio_board_release(op);
    if (op->stats.time[CIO_TIME_RESPONSE] == 0)
        op->stats.time[CIO_TIME_RESPONSE] = cio_now() - op->started;
    op->stats.time[CIO_TIME_TOTAL] = op->stats.time[CIO_TIME_RESPONSE];
    op->stats.count[CIO_COUNT_INTER_META] =
        op->stats.count[CIO_COUNT_INTER_BYTES] - op->stats.count[CIO_COUNT_INTER_DATA];
    if (stats != NULL)
        *stats = op->stats;
    free_op(op);
    return error;
}
