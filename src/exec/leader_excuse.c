/*
 * A leader that cannot go on, when its aggregators have been told already what the group touches:
 * they wait for its messages. For each position that it has not finished it sends one that says
 * what is wrong, and nothing else.
 */
#include "exec/lead.h"

#include "plan/bits.h"

/* The first unit from l->from on that the group touches; the number of units, if there is none. */
static int64_t next_unit(const struct cio_op *op)
{
    const struct cio_rounds *r = &op->rounds;
    int64_t t = op->leader->from;

    while (t < r->units &&
           !cio_bits_test(op->leader->bits + t % r->naggr * (r->slice / 64), t / r->naggr))
        t++;
    return t;
}

static int may_send(const struct cio_op *op, int64_t t)
{
    return !op->req.write || t / op->rounds.naggr <= op->leader->leave[t % op->rounds.naggr].upto;
}

static void send_excuse(struct cio_op *op, struct cio_flight *f, int64_t t)
{
    struct cio_leader *l = op->leader;
    int aggr = (int)(t % op->rounds.naggr);

    *f = (struct cio_flight){.serial = ++l->launched};
    f->head = (struct cio_head){.magic = CIO_HEAD_MAGIC,
                                .error = op->error,
                                .leader = op->env.team->my_leader,
                                .messages = (t == l->partial ? l->messages : 0) + 1,
                                .serial = ++l->sent[aggr],
                                .pos = t / op->rounds.naggr};
    struct cio_iov iov = {&f->head, sizeof(f->head)};
    cio_op_send_data(op, &iov, 1, op->env.team->aggr[aggr], CIO_TAG_DATA, CIO_SEND_PLAIN, &f->send);
}

int cio_leader_excuse(struct cio_op *op)
{
    struct cio_leader *l = op->leader;
    int advanced = 0;

    for (int i = 0; i < l->nflights; i++) {
        struct cio_flight *f = &l->flight[i];

        if (f->serial > 0 && !cio_req_busy(&f->send))
            f->serial = 0;
        if (f->serial > 0)
            continue;
        l->from = next_unit(op);
        if (l->from >= op->rounds.units || !may_send(op, l->from))
            break;
        send_excuse(op, f, l->from++);
        advanced = 1;
    }
    return advanced;
}

int cio_leader_excusing(const struct cio_op *op)
{
    const struct cio_leader *l = op->leader;

    for (int i = 0; i < l->nflights; i++)
        if (l->flight[i].serial > 0 && cio_req_busy(&l->flight[i].send))
            return 1;
    return next_unit(op) < op->rounds.units;
}

void cio_leader_needs_excuse(struct cio_op *op, struct cio_needs *needs)
{
    struct cio_leader *l = op->leader;
    int64_t t = next_unit(op);

    for (int i = 0; i < l->nflights && needs->n == 0; i++)
        if (l->flight[i].serial > 0)
            cio_needs_add(needs, &l->flight[i].send, 1);
    if (needs->n == 0 && t < op->rounds.units)
        cio_needs_add(needs, &l->leave[t % op->rounds.naggr].req, 1);
}
