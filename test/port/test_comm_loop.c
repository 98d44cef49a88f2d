/* The loop: MPI's matching rules, synchronous sends, counts, and its behaviour at scale. */
#include "../plan/check.h"

#include <errno.h>
#include <string.h>

#include "port/comm_loop.h"

enum { RANKS = 7, TAGS = 4, MESSAGES = 400 };

static int send_bytes(struct cio_comm *c, const void *p, int64_t len, int dest, int tag,
                      struct cio_req *req)
{
    struct cio_iov iov = {p, len};

    return cio_comm_send(c, &iov, 1, dest, tag, req);
}

static void open_world(int size, uint64_t seed, struct cio_loop **loop, struct cio_comm **ports)
{
    CHECK(cio_loop_create(size, seed, loop) == 0);
    for (int i = 0; i < size; i++) {
        CHECK(cio_loop_comm(*loop, i, &ports[i]) == 0);
        CHECK(ports[i]->rank == i && ports[i]->size == size);
    }
}

static void close_world(struct cio_loop *loop, struct cio_comm **ports, int size)
{
    CHECK(cio_loop_pending(loop) == 0);
    for (int i = 0; i < size; i++)
        cio_comm_destroy(ports[i]);
    cio_loop_destroy(loop);
}

/* Polls until nothing more happens: every poll delivers, or nothing can be delivered. */
static int drain(struct cio_comm **ports, int size)
{
    int total = 0, done;

    do {
        done = 0;
        for (int i = 0; i < size; i++)
            done += cio_comm_wait(ports[i], NULL, 0);
        total += done;
    } while (done > 0);
    return total;
}

static void test_synchronous(void)
{
    const struct cio_iov iov[] = {{"ab", 2}, {NULL, 0}, {"cde", 3}, {"f", 1}};
    struct cio_req s = {0}, r = {0};
    struct cio_loop_counts counts;
    struct cio_loop *loop;
    struct cio_comm *p[3];
    char buf[8] = "";

    open_world(3, 1, &loop, p);
    cio_loop_set_nodes(loop, (int[]){0, 0, 9});
    CHECK(cio_comm_send(p[0], iov, 4, 2, 5, &s) == 0 && s.state == CIO_REQ_ACTIVE);
    CHECK(cio_comm_recv(p[2], buf, 8, 0, 4, &r) == 0);
    CHECK(drain(p, 3) == 0 && s.state == CIO_REQ_ACTIVE && cio_loop_pending(loop) == 2);
    CHECK(send_bytes(p[0], "", 0, 2, 4, &(struct cio_req){0}) == 0 && drain(p, 3) == 2);
    CHECK(r.state == CIO_REQ_DONE && r.bytes == 0 && r.error == 0);
    CHECK(cio_comm_recv(p[2], buf, 8, CIO_ANY_SOURCE, 5, &r) == 0);
    CHECK(r.state == CIO_REQ_ACTIVE && s.state == CIO_REQ_ACTIVE);
    while (s.state != CIO_REQ_DONE)
        CHECK(cio_comm_wait(p[0], NULL, 0) == 1);
    CHECK(r.state == CIO_REQ_ACTIVE && cio_comm_poll(p[2]) == 1);
    CHECK(r.state == CIO_REQ_DONE && r.source == 0 && r.bytes == 6 && strcmp(buf, "abcdef") == 0);
    CHECK(send_bytes(p[1], "xyz", 3, 1, 0, &s) == 0);
    CHECK(cio_comm_recv(p[1], buf, 3, 1, 0, &r) == 0 && drain(p, 3) == 2 && r.source == 1);
    cio_loop_get_counts(loop, &counts);
    CHECK(counts.messages == 3 && counts.bytes == 9);
    CHECK(counts.inter_messages == 2 && counts.inter_bytes == 6);
    close_world(loop, p, 3);
}

static void test_refusals(void)
{
    struct cio_req s = {.state = CIO_REQ_DONE}, r = {.state = CIO_REQ_DONE};
    struct cio_iov iov[CIO_COMM_IOV + 1] = {{0}};
    struct cio_loop *loop;
    struct cio_comm *p[2];
    char buf[3] = "--";

    open_world(2, 1, &loop, p);
    CHECK(cio_comm_send(p[0], iov, CIO_COMM_IOV + 1, 1, 0, &s) == -EINVAL);
    CHECK(send_bytes(p[0], "", 0, 2, 0, &s) == -EINVAL && s.state == CIO_REQ_IDLE);
    CHECK(cio_comm_recv(p[0], buf, 3, 2, 0, &r) == -EINVAL && r.state == CIO_REQ_IDLE);
    CHECK(send_bytes(p[0], "long", 4, 1, 0, &s) == 0);
    CHECK(cio_comm_recv(p[1], buf, 3, 0, 0, &r) == 0 && drain(p, 2) == 2);
    CHECK(r.error == -EMSGSIZE && s.error == 0 && strcmp(buf, "--") == 0);
    close_world(loop, p, 2);
}

/* Receives from one source and from any meet a message in the order in which they were started. */
static void test_mixed_receives(void)
{
    struct cio_req s[4], r[4];
    struct cio_loop *loop;
    struct cio_comm *p[3];
    char got[4];

    open_world(3, 1, &loop, p);
    CHECK(cio_comm_recv(p[0], &got[0], 1, 1, 0, &r[0]) == 0);
    CHECK(cio_comm_recv(p[0], &got[1], 1, CIO_ANY_SOURCE, 0, &r[1]) == 0);
    CHECK(cio_comm_recv(p[0], &got[2], 1, 2, 0, &r[2]) == 0);
    CHECK(cio_comm_recv(p[0], &got[3], 1, 1, 0, &r[3]) == 0);
    CHECK(send_bytes(p[2], "a", 1, 0, 0, &s[0]) == 0); /* any */
    CHECK(send_bytes(p[1], "b", 1, 0, 0, &s[1]) == 0); /* the first from 1 */
    CHECK(send_bytes(p[1], "c", 1, 0, 0, &s[2]) == 0); /* the second from 1 */
    CHECK(send_bytes(p[2], "d", 1, 0, 0, &s[3]) == 0);
    CHECK(drain(p, 3) == 8 && memcmp(got, "badc", 4) == 0);
    close_world(loop, p, 3);
}

/* Two ports of a rank share its messages, but each completes only its own requests. */
static void test_two_ports(void)
{
    struct cio_req s, r;
    struct cio_loop *loop;
    struct cio_comm *p[2], *second;
    char c = 0;

    open_world(2, 1, &loop, p);
    CHECK(cio_loop_comm(loop, 1, &second) == 0);
    CHECK(cio_comm_recv(second, &c, 1, 0, 3, &r) == 0);
    CHECK(send_bytes(p[0], "q", 1, 1, 3, &s) == 0);
    CHECK(drain(p, 2) == 1 && s.state == CIO_REQ_DONE && r.state == CIO_REQ_ACTIVE);
    CHECK(cio_comm_poll(second) == 1 && r.state == CIO_REQ_DONE && c == 'q');
    cio_comm_destroy(second);
    close_world(loop, p, 2);
}

/* One message of the random traffic, and the receive for one. */
struct letter {
    int source, dest, tag, index; /* index: among those of the same three */
};
struct traffic {
    struct letter sent[MESSAGES], got[MESSAGES];
    struct cio_req sends[MESSAGES], receives[MESSAGES];
    int from[MESSAGES]; /* of receive i, which is at sent[i].dest with sent[i].tag */
    int sent_order[MESSAGES], receive_order[MESSAGES];
};

static void shuffle(uint64_t *rng, int *order)
{
    for (int i = 0; i < MESSAGES; i++) {
        int j = (int)check_between(rng, 0, i);

        order[i] = order[j];
        order[j] = i;
    }
}

static void make_traffic(uint64_t *rng, struct traffic *t)
{
    int count[RANKS][RANKS][TAGS] = {0};

    memset(t, 0, sizeof(*t));
    shuffle(rng, t->sent_order);
    shuffle(rng, t->receive_order);
    for (int i = 0; i < MESSAGES; i++) {
        struct letter *l = &t->sent[t->sent_order[i]];

        l->source = (int)check_between(rng, 0, RANKS - 1);
        l->dest = (int)check_between(rng, 0, RANKS - 1);
        l->tag = (int)check_between(rng, 0, TAGS - 1);
        l->index = count[l->source][l->dest][l->tag]++;
    }
    for (int i = 0; i < MESSAGES; i++)
        t->from[i] = t->sent[i].tag % 2 ? CIO_ANY_SOURCE : t->sent[i].source;
}

static void run_traffic(uint64_t *rng, struct traffic *t, struct cio_comm **p)
{
    for (int s = 0, r = 0; s < MESSAGES || r < MESSAGES;) {
        int i;

        if (s < MESSAGES && (r == MESSAGES || check_between(rng, 0, 1))) {
            i = t->sent_order[s++];
            CHECK(send_bytes(p[t->sent[i].source], &t->sent[i], sizeof(t->sent[i]), t->sent[i].dest,
                             t->sent[i].tag, &t->sends[i]) == 0);
        } else {
            i = t->receive_order[r++];
            CHECK(cio_comm_recv(p[t->sent[i].dest], &t->got[i], sizeof(t->got[i]), t->from[i],
                                t->sent[i].tag, &t->receives[i]) == 0);
        }
        cio_comm_poll(p[check_between(rng, 0, RANKS - 1)]);
    }
}

static void check_traffic(const struct traffic *t)
{
    int count[RANKS][RANKS][TAGS] = {0};

    for (int i = 0; i < MESSAGES; i++) {
        int n = t->receive_order[i];
        const struct letter *l = &t->got[n];

        CHECK(t->sends[n].state == CIO_REQ_DONE && t->receives[n].state == CIO_REQ_DONE);
        CHECK(t->receives[n].source == l->source && t->receives[n].bytes == sizeof(*l));
        CHECK(l->dest == t->sent[n].dest && l->tag == t->sent[n].tag);
        CHECK(t->from[n] == CIO_ANY_SOURCE || t->from[n] == l->source);
        CHECK(l->index == count[l->source][l->dest][l->tag]++);
    }
}

static void test_traffic(uint64_t *rng)
{
    static struct traffic t;
    struct cio_comm *p[RANKS];
    struct cio_loop *loop;

    make_traffic(rng, &t);
    open_world(RANKS, check_random(rng), &loop, p);
    run_traffic(rng, &t, p);
    drain(p, RANKS);
    check_traffic(&t);
    close_world(loop, p, RANKS);
}

/* The order in which receives from any source see the others, as one number. */
static uint64_t arrival_order(uint64_t seed)
{
    struct cio_req s[RANKS], r[RANKS];
    struct cio_comm *p[RANKS];
    struct cio_loop *loop;
    uint64_t order = 0;

    open_world(RANKS, seed, &loop, p);
    for (int i = 0; i < RANKS; i++)
        CHECK(send_bytes(p[i], NULL, 0, 0, 0, &s[i]) == 0);
    for (int i = 0; i < RANKS; i++)
        CHECK(cio_comm_recv(p[0], NULL, 0, CIO_ANY_SOURCE, 0, &r[i]) == 0);
    drain(p, RANKS);
    for (int i = 0; i < RANKS; i++)
        order = 10 * order + (uint64_t)r[i].source;
    close_world(loop, p, RANKS);
    return order;
}

static void test_seeds(void)
{
    int differ = 0;

    for (uint64_t seed = 0; seed < 10; seed++) {
        CHECK(arrival_order(seed) == arrival_order(seed));
        differ += arrival_order(seed) != arrival_order(seed + 1);
    }
    CHECK(differ > 5);
}

/* Many senders to two receivers, with one side all waiting before the other: nothing quadratic. */
enum { MANY = 1000, TOTAL = 100 * MANY };

static void start_sends(struct cio_comm **p, struct cio_req *req)
{
    for (int i = 0; i < TOTAL; i++)
        CHECK(send_bytes(p[i % MANY], NULL, 0, i / MANY % 2, i / MANY / 2 % 2, &req[i]) == 0);
}

static void start_receives(struct cio_comm **p, struct cio_req *req)
{
    for (int i = 0; i < TOTAL; i++) {
        int tag = i / MANY / 2 % 2, source = tag == 0 ? CIO_ANY_SOURCE : i % MANY;

        CHECK(cio_comm_recv(p[i / MANY % 2], NULL, 0, source, tag, &req[i]) == 0);
    }
}

static void test_scale(uint64_t *rng)
{
    struct cio_req *s = calloc(TOTAL, sizeof(*s)), *r = calloc(TOTAL, sizeof(*r));
    struct cio_comm **p = calloc(MANY, sizeof(struct cio_comm *));
    struct cio_loop *loop;

    open_world(MANY, check_random(rng), &loop, p);
    start_sends(p, s);
    CHECK(cio_loop_pending(loop) == TOTAL);
    start_receives(p, r);
    CHECK(drain(p, MANY) == 2 * TOTAL);
    start_receives(p, r);
    start_sends(p, s);
    CHECK(drain(p, MANY) == 2 * TOTAL);
    close_world(loop, p, MANY);
    free(p);
    free(r);
    free(s);
}

int main(void)
{
    uint64_t rng = check_seed();

    test_synchronous();
    test_refusals();
    test_mixed_receives();
    test_two_ports();
    for (int i = 0; i < 100; i++)
        test_traffic(&rng);
    test_seeds();
    test_scale(&rng);
    return check_done("test_comm_loop");
}
