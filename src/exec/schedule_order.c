/* The orders of aggregators: made, and on their way to every rank, which then follows them. */
#include <errno.h>
#include <string.h>

#include "exec/scheduling.h"
#include "plan/permutation.h"

int64_t cio_sched_answer_bytes(const struct cio_op *op)
{
    return (int64_t)(sizeof(struct cio_decision) +
                     cio_permutation_bound((uint32_t)op->rounds.positions));
}

int64_t cio_sched_joint_bytes(const struct cio_op *op)
{
    return (cio_sched_answer_bytes(op) + (int64_t)sizeof(int32_t)) * op->rounds.naggr;
}

/* ---- at the aggregators, or at the planner ---- */

int cio_sched_make_answer(struct cio_op *op)
{
    return cio_sched_get(op, &op->scheduling->answer, cio_sched_answer_bytes(op)) == NULL ? -ENOMEM
                                                                                          : 0;
}

static enum cio_why why_of(const struct cio_op *op, enum cio_schedule kind)
{
    if (op->set.schedule != CIO_SCHEDULE_AUTOMATIC)
        return CIO_WHY_ASKED;
    return kind == CIO_SCHEDULE_OFFSET ? CIO_WHY_NO_GAIN : CIO_WHY_BEST;
}

int64_t cio_sched_answer(struct cio_op *op, const struct cio_schedule_plan *plan,
                         const uint32_t *order)
{
    char *to = op->scheduling->answer.p;
    struct cio_decision d = {.kind = plan->kind,
                             .why = why_of(op, plan->kind),
                             .permuted = plan->kind != CIO_SCHEDULE_OFFSET,
                             .known = cio_sched_is_central(op),
                             .offset = plan->offset.mean,
                             .chosen = plan->chosen.mean};

    memcpy(to, &d, sizeof(d));
    return (int64_t)(sizeof(d) +
                     cio_permutation_encode(order, (uint32_t)op->rounds.positions, to + sizeof(d)));
}

int cio_sched_make_joint(struct cio_op *op)
{
    return cio_sched_get(op, &op->scheduling->joint, cio_sched_joint_bytes(op)) == NULL ? -ENOMEM
                                                                                        : 0;
}

/* One that cannot be an answer is passed on as an error, too: it is one for everybody then. */
void cio_sched_join_answer(struct cio_op *op, const char *data, int64_t size)
{
    struct cio_scheduling *s = op->scheduling;
    int32_t head = size > cio_sched_answer_bytes(op) ? -EBADMSG : (int32_t)size;

    if (!cio_sched_has_part(op, CIO_SCHED_PLANNER))
        return;
    memcpy(s->joint.p + s->joined, &head, sizeof(head));
    s->joined += (int64_t)sizeof(head);
    if (head <= 0)
        return;
    memcpy(s->joint.p + s->joined, data, (size_t)head);
    s->joined += head;
}

static void take_one(struct cio_op *op, int aggr)
{
    const struct cio_inbox *in = &op->scheduling->in;

    (void)aggr;
    cio_sched_join_answer(op, in->data, in->error != 0 ? in->error : in->size);
}

int cio_sched_join(struct cio_op *op)
{
    struct cio_scheduling *s = op->scheduling;
    const struct cio_team *team = op->env.team;

    if (!cio_sched_plans(op))
        return 1;
    if (!cio_sched_is_central(op)) {
        if (cio_sched_enter(op))
            cio_sched_lose(op, CIO_SCHED_PLANNER, cio_sched_make_joint(op));
        if (!cio_sched_receive(op, team->aggr, team->naggr, CIO_TAG_ANSWER, take_one))
            return 0;
    }
    cio_sched_send(op, CIO_SCHED_PLANNER, team->leader[0], CIO_TAG_ORDER, &s->joint, s->joined);
    return 1;
}

/* ---- at those who follow it ---- */

static void keep_offset(const struct cio_op *op, int aggr)
{
    const struct cio_scheduling *s = op->scheduling;
    int64_t n = op->rounds.positions;

    for (int64_t i = 0; i < n; i++)
        s->order[aggr * n + i] = s->index[aggr * n + i] = (uint32_t)i;
}

/* Decodes one aggregator's order. -EBADMSG. */
static int decode_order(const struct cio_op *op, int aggr, const char *code, int64_t size)
{
    const struct cio_scheduling *s = op->scheduling;
    int64_t n = op->rounds.positions;

    return cio_permutation_decode(code, (size_t)size, (uint32_t)n, s->order + aggr * n,
                                  s->index + aggr * n);
}

static int is_sound(const struct cio_decision *d)
{
    return d->kind >= 0 && d->kind <= CIO_SCHEDULE_FIRST_FINISH && d->why >= 0 && d->why < CIO_WHYS;
}

/* What was decided is what aggregator 0 says, though one without memory may do otherwise. */
static int take_answer(struct cio_op *op, int aggr, const char *data, int64_t size)
{
    struct cio_scheduling *s = op->scheduling;
    struct cio_decision d;

    if (size < (int64_t)sizeof(d))
        return -EBADMSG;
    memcpy(&d, data, sizeof(d));
    if (!is_sound(&d) || !cio_sched_has_part(op, CIO_SCHED_GROUP))
        return -EBADMSG;
    d.permuted |= s->decision.permuted;
    if (aggr == 0)
        s->decision = d;
    s->decision.permuted = d.permuted;
    return decode_order(op, aggr, data + sizeof(d), size - (int64_t)sizeof(d));
}

/* One after the other, up to the first that makes no sense. An aggregator without one stays with
 * the order by offset. */
static int take_answers(struct cio_op *op)
{
    const char *at = op->scheduling->in.data, *end = at + op->scheduling->in.size;
    int32_t size;
    int rc = 0;

    for (int a = 0; rc == 0 && a < op->rounds.naggr; a++) {
        if (end - at < (int64_t)sizeof(size))
            return -EBADMSG;
        memcpy(&size, at, sizeof(size));
        at += sizeof(size);
        if (size > end - at)
            return -EBADMSG;
        if (size >= 0)
            rc = take_answer(op, a, at, size);
        else if (size != -ENOMEM && size != -ENOSPC)
            return size;
        else if (cio_sched_has_part(op, CIO_SCHED_GROUP))
            keep_offset(op, a);
        at += size > 0 ? size : 0;
    }
    return rc == 0 && at != end ? -EBADMSG : rc;
}

/* From now on units are in the new order. */
static void follow_orders(struct cio_op *op)
{
    struct cio_scheduling *s = op->scheduling;

    cio_sched_note(op, &s->decision);
    if (!s->decision.permuted || op->error != 0)
        return;
    op->rounds.order = s->order;
    op->rounds.index = s->index;
}

/* What has come, to the leaders below this one, and to members that share no memory. */
static void pass_on(struct cio_op *op, int dest)
{
    struct cio_scheduling *s = op->scheduling;

    cio_outbox_start(op, &s->out[s->nout++], dest, CIO_TAG_ORDER, s->in.data, s->in.size,
                     s->in.error);
}

static void pass_on_all(struct cio_op *op)
{
    const struct cio_team *team = op->env.team;

    for (int i = 0; i < CIO_TEAM_CHILDREN && cio_team_child(team, i) >= 0; i++)
        pass_on(op, cio_team_child(team, i));
    for (int i = 1; cio_sched_by_message(op) && i < team->group_size; i++)
        pass_on(op, team->group[i]);
}

static void tell_orders(struct cio_op *op)
{
    struct cio_scheduling *s = op->scheduling;
    struct cio_ctl ctl = {.kind = CIO_CTL_ORDER};

    if (!op->shared)
        return;
    cio_sched_board(op)->decision = s->decision;
    cio_sched_board(op)->decision.permuted = op->rounds.order != NULL;
    cio_board_tell(op, &ctl);
}

/* Without memory somewhere there is no order. */
static void take_orders(struct cio_op *op, int turn)
{
    struct cio_scheduling *s = op->scheduling;
    int rc = s->in.error;

    (void)turn;
    s->decision.why = CIO_WHY_MEMORY; /* unless there is an answer */
    if (rc == 0)
        rc = take_answers(op);
    if (rc != 0)
        s->decision.permuted = 0;
    if (rc != 0 && rc != -ENOMEM && rc != -ENOSPC)
        cio_op_fail(op, rc);
    follow_orders(op);
}

static void spread_orders(struct cio_op *op, int turn)
{
    pass_on_all(op);
    take_orders(op, turn);
}

int cio_sched_hear_orders(struct cio_op *op)
{
    const struct cio_team *team = op->env.team;
    int from = team->my_leader == 0 ? team->aggr[0] : cio_team_parent(team);

    if (!cio_sched_leads(op))
        return 1;
    if (!cio_sched_receive(op, &from, 1, CIO_TAG_ORDER, spread_orders))
        return 0;
    tell_orders(op);
    return 1;
}

int cio_sched_follow(struct cio_op *op)
{
    struct cio_ctl ctl;

    if (cio_sched_leads(op))
        return 1;
    if (!op->shared)
        return cio_sched_receive(op, op->env.team->group, 1, CIO_TAG_ORDER, take_orders);
    if (!cio_board_hear(op, &ctl))
        return 0;
    op->scheduling->decision = cio_sched_board(op)->decision;
    follow_orders(op);
    return 1;
}
