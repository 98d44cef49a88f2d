/* A leader's members that follow: each takes its part of a read as soon as that has come. */
#include "exec/lead.h"

int cio_leader_may_follow(const struct cio_op *op)
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
    cio_board_wake(op, landed, member, member + 1);
}

void cio_leader_begin_following(struct cio_op *op)
{
    struct cio_leader *l = op->leader;
    struct cio_area area;

    for (int i = 1; i < l->k; i++) {
        if (l->through[i] != CIO_THROUGH_NOT) {
            l->follower[i] = (struct cio_follower){.served = 1};
            continue;
        }
        cio_area_at(l->board, i, &area);
        area.desc->landed = CIO_LANDED_NOT;
        l->follower[i] =
            (struct cio_follower){.left = count_units(&area, cio_area_lists(&area, l->end))};
        if (l->follower[i].left == 0)
            release_follower(op, i);
    }
    cio_leader_expect_members(op);
    l->out = cio_leader_copy_word(op, CIO_CTL_FOLLOW, 0);
    if (op->shared)
        cio_leader_send_word(op);
}

void cio_leader_note_landed(struct cio_op *op, const struct cio_unit *u)
{
    struct cio_leader *l = op->leader;
    struct cio_area area;

    for (int i = 1; i < l->k; i++) {
        struct cio_follower *f = &l->follower[i];
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

int cio_leader_serve_followers(struct cio_op *op)
{
    struct cio_leader *l = op->leader;
    int i = 1;

    if (!l->followed || !cio_leader_by_message(op) || cio_req_busy(&l->stream_req))
        return 0;
    while (i < l->k && (l->follower[i].left > 0 || l->follower[i].served))
        i++;
    if (i == l->k)
        return 0;
    struct cio_follower *f = &l->follower[i];
    struct cio_copy c = cio_leader_copy_for(op, i);
    f->served = 1;
    f->word = cio_leader_copy_word(op, CIO_CTL_COPY, f->missing);
    cio_op_send(op, &f->word, sizeof(f->word), op->env.team->group[i], CIO_TAG_DOWN,
                &l->out_req[i]);
    if (c.lists > 0)
        cio_leader_send_stream(op, i, &c);
    return 1;
}
