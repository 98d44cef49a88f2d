/*
 * A message that makes no sense while ranks agree on the order of stripes: the operation must end
 * on all ranks with every message drained, and no rank may think that it went well.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../plan/check.h"
#include "cases.h"
#include "exec/stream.h"
#include "exec/wire.h"

/* ---- a port that spoils the n-th message of one kind, from all ranks ---- */

struct spoiling {
    int tag;
    int64_t at, seen;
    int64_t byte;         /* of it */
    char spoilt[1 << 17]; /* it must stay until it is sent */
};

struct port {
    struct cio_comm comm; /* first, so that one is the other */
    struct cio_comm *below;
    struct spoiling *s;
};

static int64_t gather(const struct cio_iov *iov, int niov, char *to)
{
    int64_t n = 0;

    for (int i = 0; i < niov; i++) {
        memcpy(to + n, iov[i].base, (size_t)iov[i].len);
        n += iov[i].len;
    }
    return n;
}

static int spoil_send(struct cio_comm *comm, const struct cio_iov *iov, int niov, int dest, int tag,
                      enum cio_send_mode mode, struct cio_req *req)
{
    struct port *p = (struct port *)comm;
    struct cio_iov one = {p->s->spoilt, 0};

    if (tag != p->s->tag || p->s->seen++ != p->s->at)
        return p->below->ops->send(p->below, iov, niov, dest, tag, mode, req);
    one.len = gather(iov, niov, p->s->spoilt);
    if (one.len > p->s->byte)
        p->s->spoilt[p->s->byte] ^= 0x55;
    return p->below->ops->send(p->below, &one, 1, dest, tag, mode, req);
}

static int pass_recv(struct cio_comm *comm, void *buf, int64_t size, int source, int tag,
                     struct cio_req *req)
{
    return cio_comm_recv(((struct port *)comm)->below, buf, size, source, tag, req);
}

static int pass_poll(struct cio_comm *comm)
{
    return cio_comm_poll(((struct port *)comm)->below);
}

static int pass_wait(struct cio_comm *comm, struct cio_req *const *req, int n)
{
    return cio_comm_wait(((struct port *)comm)->below, req, n);
}

static void pass_destroy(struct cio_comm *comm)
{
    cio_comm_destroy(((struct port *)comm)->below);
    free(comm);
}

static const struct cio_comm_ops spoiling_ops = {.send = spoil_send,
                                                 .recv = pass_recv,
                                                 .poll = pass_poll,
                                                 .wait = pass_wait,
                                                 .destroy = pass_destroy};

static void put_between(struct world *w, struct spoiling *s)
{
    for (int r = 0; r < w->size; r++) {
        struct port *p = malloc(sizeof(*p));

        if (p == NULL)
            abort();
        *p = (struct port){.comm = *w->comm[r], .below = w->comm[r], .s = s};
        p->comm.ops = &spoiling_ops;
        w->comm[r] = &p->comm;
    }
}

/* ---- cases ---- */

static int errors_in(const struct world *w)
{
    int n = 0;

    for (int r = 0; r < w->size; r++)
        n += w->error[r] == -EBADMSG;
    return n;
}

/* An order for which there are messages of that kind. */
static enum cio_schedule schedule_with(enum cio_tag tag, uint64_t seed)
{
    static const enum cio_schedule by_aggregators[] = {CIO_SCHEDULE_MDF, CIO_SCHEDULE_LW_MDF,
                                                       CIO_SCHEDULE_GW_MDF};

    if (tag == CIO_TAG_REPORT || tag == CIO_TAG_PLAN)
        return CIO_SCHEDULE_GW_MDF;
    if (tag == CIO_TAG_ANSWER || seed % 2 == 0)
        return by_aggregators[seed / 2 % 3];
    return CIO_SCHEDULE_FIRST_FINISH;
}

/*
 * Spoils the head of a message, or the first byte behind it, which may still make sense then.
 * Returns whether there was such a message; in the second case, whether the error was seen.
 */
static int spoil(uint64_t seed, int write, enum cio_tag tag, int64_t at, int inside)
{
    static struct spoiling s;
    struct test_case c;
    int ok, reached, errors;

    case_create(&c, seed, 0);
    s.tag = c.world.settings.tag + (int)tag;
    s.at = at;
    s.seen = 0;
    s.byte = inside ? (int64_t)sizeof(struct cio_chunk) : 0;
    c.world.settings.depth = 1 + (int)(seed % 3);
    c.world.settings.schedule = schedule_with(tag, seed);
    case_fill_store(&c);
    case_prepare(&c, write);
    put_between(&c.world, &s);
    ok = CHECK(world_run(&c.world) == 0);
    reached = s.seen > at;
    errors = errors_in(&c.world);
    ok = ok && CHECK(errors == (reached ? c.world.size : 0) || (inside && errors == 0));
    if (!ok) {
        printf("%s, message %lld with tag %d: %d of %d ranks saw it\n", write ? "write" : "read",
               (long long)at, (int)tag, errors, c.world.size);
        case_print(&c, "spoilt", seed);
        exit(1);
    }
    case_destroy(&c);
    return inside ? errors > 0 : reached;
}

int main(void)
{
    static const enum cio_tag kinds[] = {CIO_TAG_PATTERN, CIO_TAG_REPORT, CIO_TAG_PLAN,
                                         CIO_TAG_ANSWER, CIO_TAG_ORDER};
    enum { KINDS = sizeof(kinds) / sizeof(kinds[0]), ENOUGH = 60 };

    for (int k = 0; k < KINDS; k++) {
        int found = 0, inside = 0;

        for (uint64_t seed = 1; seed <= 120 && (found < ENOUGH || inside < ENOUGH); seed++)
            for (int64_t at = 0; at < 12; at += 1 + at / 2) {
                found += spoil(seed, seed % 2 == 0, kinds[k], at, 0);
                inside += spoil(seed, seed % 2 == 0, kinds[k], at, 1);
            }
        if (!CHECK(found >= 20 && inside >= 20))
            printf("only %d and %d messages with tag %d\n", found, inside, (int)kinds[k]);
    }
    return check_done("malformed");
}
