/*
 * The MPI port, on any number of ranks: the same promises as the loop's. With "large" as argument
 * also messages beyond 2 GiB between two ranks, which takes 5 GiB of memory.
 */
#include "../plan/check.h"

#include <errno.h>
#include <string.h>

#include "port/comm_mpi.h"

enum { WORDS = 40000, ROUNDS = 50 };

static void wait_for(struct cio_comm *c, const struct cio_req *req)
{
    while (req->state != CIO_REQ_DONE)
        if (!CHECK(cio_comm_wait(c, NULL, 0) > 0))
            MPI_Abort(MPI_COMM_WORLD, 1);
}

static void fill(uint32_t *p, int n, int seed)
{
    for (int i = 0; i < n; i++)
        p[i] = (uint32_t)(i * 2654435761u) ^ (uint32_t)seed;
}

static int holds(const uint32_t *p, int n, int seed)
{
    for (int i = 0; i < n; i++)
        if (p[i] != ((uint32_t)(i * 2654435761u) ^ (uint32_t)seed))
            return 0;
    return 1;
}

/* Cuts n words into parts, one of them empty. */
static void cut(const uint32_t *p, int n, struct cio_iov *iov)
{
    int a = n / 3, b = n - n / 5;

    iov[0] = (struct cio_iov){p, 4 * a};
    iov[1] = (struct cio_iov){NULL, 0};
    iov[2] = (struct cio_iov){p + a, 4 * (b - a)};
    iov[3] = (struct cio_iov){p + b, 4 * (n - b)};
}

/* Around a ring, in one part and in several, empty, short and long. */
static void test_ring(struct cio_comm *c)
{
    static const int sizes[] = {0, 1, 7, 1024, 1025, WORDS};
    static uint32_t out[WORDS], in[WORDS];
    int next = (c->rank + 1) % c->size, last = (c->rank + c->size - 1) % c->size;

    fill(out, WORDS, c->rank);
    for (int i = 0; i < 12; i++) {
        struct cio_iov parts[CIO_COMM_IOV], whole = {out, 4 * sizes[i / 2]};
        struct cio_req s, r;

        cut(out, sizes[i / 2], parts);
        memset(in, 0xff, sizeof(in));
        CHECK(cio_comm_recv(c, in, sizeof(in), i % 3 ? last : CIO_ANY_SOURCE, 100 + i, &r) == 0);
        CHECK(cio_comm_send(c, i % 2 ? parts : &whole, i % 2 ? 4 : 1, next, 100 + i, &s) == 0);
        wait_for(c, &r);
        wait_for(c, &s);
        CHECK(r.error == 0 && s.error == 0 && r.source == last);
        CHECK(r.bytes == 4 * sizes[i / 2] && holds(in, sizes[i / 2], last));
    }
}

/* Everybody sends to everybody many times; requests complete in any order. */
static void test_all_to_all(struct cio_comm *c)
{
    int n = c->size * ROUNDS, left = 2 * n;
    struct cio_req *req = calloc(2 * (size_t)n, sizeof(*req));
    int(*in)[2] = calloc((size_t)n, sizeof(*in)), (*out)[2] = calloc((size_t)n, sizeof(*out));
    int *seen = calloc((size_t)c->size, sizeof(*seen));

    for (int i = 0; i < n; i++) {
        struct cio_iov iov[2] = {{&out[i][0], 4}, {&out[i][1], 4}};

        out[i][0] = c->rank;
        out[i][1] = i / c->size;
        CHECK(cio_comm_recv(c, in[i], 8, CIO_ANY_SOURCE, 7, &req[2 * i]) == 0);
        CHECK(cio_comm_send(c, iov, 2, i % c->size, 7, &req[2 * i + 1]) == 0);
        if (i % 3 == 0)
            left -= cio_comm_poll(c);
    }
    while (left > 0)
        left -= cio_comm_wait(c, NULL, 0);
    CHECK(left == 0 && cio_comm_wait(c, NULL, 0) == 0);
    for (int i = 0; i < n; i++) {
        CHECK(req[2 * i].state == CIO_REQ_DONE && req[2 * i + 1].state == CIO_REQ_DONE);
        CHECK(req[2 * i].source == in[i][0] && req[2 * i].bytes == 8);
        CHECK(in[i][1] == seen[in[i][0]]++);
    }
    free(seen);
    free(out);
    free(in);
    free(req);
}

/* A send is not done before its receive has begun. */
static void test_synchronous(struct cio_comm *c)
{
    struct cio_iov byte = {"x", 1};
    struct cio_req s, r;
    char got;

    if (c->size < 2 || c->rank > 1)
        return;
    if (c->rank == 0) {
        CHECK(cio_comm_send(c, &byte, 1, 1, 20, &s) == 0);
        for (int i = 0; i < 1000; i++)
            CHECK(cio_comm_poll(c) == 0 && s.state == CIO_REQ_ACTIVE);
        CHECK(cio_comm_send(c, &byte, 1, 1, 21, &r) == 0);
        wait_for(c, &r);
        wait_for(c, &s);
    } else {
        CHECK(cio_comm_recv(c, &got, 1, 0, 21, &s) == 0);
        wait_for(c, &s);
        CHECK(cio_comm_recv(c, &got, 1, 0, 20, &r) == 0);
        wait_for(c, &r);
        CHECK(got == 'x');
    }
}

/*
 * Errors come back where the handlers let them: the communicator's, and, for calls that name none,
 * that of MPI_COMM_SELF (or, before MPI 4, of MPI_COMM_WORLD). A message that is already there when
 * a receive starts may be found too long at once.
 */
static void test_errors(MPI_Comm comm)
{
    struct cio_iov iov = {"too long", 8};
    struct cio_req s, r = {.state = CIO_REQ_DONE};
    struct cio_comm *c;
    MPI_Comm dup;
    char buf[4];
    int rc;

    MPI_Comm_dup(comm, &dup);
    MPI_Comm_set_errhandler(dup, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    CHECK(cio_comm_mpi_create(dup, 0, &c) == 0);
    CHECK(cio_comm_recv(c, buf, 4, c->size, 0, &r) == -EIO && r.state == CIO_REQ_IDLE);
    CHECK(cio_comm_send(c, &iov, 1, c->size, 0, &s) == -EIO && s.state == CIO_REQ_IDLE);
    CHECK(cio_comm_wait(c, NULL, 0) == 0);
    CHECK(c->error == -EIO && cio_comm_poll(c) == -EIO); /* what comes next cannot be relied on */
    cio_comm_destroy(c);
    CHECK(cio_comm_mpi_create(dup, 0, &c) == 0);
    rc = cio_comm_recv(c, buf, 4, (c->rank + c->size - 1) % c->size, 0, &r);
    CHECK(rc == 0 || (rc == -EMSGSIZE && r.state == CIO_REQ_IDLE));
    CHECK(cio_comm_send(c, &iov, 1, (c->rank + 1) % c->size, 0, &s) == 0);
    if (rc == 0) {
        wait_for(c, &r);
        CHECK(r.error == -EMSGSIZE);
    }
    wait_for(c, &s);
    CHECK(s.error == 0);
    cio_comm_destroy(c);
    MPI_Comm_free(&dup);
}

/* Two ports over one communicator: each waits for its own only. */
static void test_two_ports(struct cio_comm *c)
{
    struct cio_comm *second;
    struct cio_req never, r, s;
    char got, other;

    CHECK(cio_comm_mpi_create(MPI_COMM_WORLD, 0, &second) == 0);
    CHECK(cio_comm_recv(c, &got, 1, c->rank, 30, &never) == 0);
    CHECK(cio_comm_recv(second, &other, 1, c->rank, 31, &r) == 0);
    CHECK(cio_comm_send(second, &(struct cio_iov){"x", 1}, 1, c->rank, 31, &s) == 0);
    wait_for(second, &r);
    wait_for(second, &s);
    CHECK(never.state == CIO_REQ_ACTIVE);
    CHECK(cio_comm_send(second, &(struct cio_iov){"y", 1}, 1, c->rank, 30, &s) == 0);
    wait_for(c, &never);
    wait_for(second, &s);
    CHECK(got == 'y');
    cio_comm_destroy(second);
}

static int large_send(struct cio_comm *c, const char *p, int64_t len, int parts)
{
    struct cio_iov iov[2] = {{p, len}, {p, 0}};
    struct cio_req s;

    if (parts == 2) {
        iov[0].len = 5000;
        iov[1] = (struct cio_iov){p + 5000, len - 5000};
    }
    CHECK(cio_comm_send(c, iov, parts, 1, 40, &s) == 0);
    wait_for(c, &s);
    return s.error;
}

static void large_recv(struct cio_comm *c, char *p, int64_t room, int64_t len)
{
    struct cio_req r;
    int64_t wrong = 0;

    memset(p, 0, (size_t)room);
    CHECK(cio_comm_recv(c, p, room, 0, 40, &r) == 0);
    wait_for(c, &r);
    CHECK(r.error == 0 && r.bytes == len && r.source == 0);
    for (int64_t i = 0; i < len; i++)
        wrong += p[i] != (char)(i * 37 >> 5);
    CHECK(wrong == 0);
}

static void test_large(struct cio_comm *c)
{
    int64_t len = ((int64_t)9 << 28) + 12345, room = len + 777;
    char *p;

    if (c->rank > 1)
        return;
    p = malloc((size_t)room);
    CHECK(p != NULL);
    for (int64_t i = 0; i < len; i++)
        p[i] = (char)(i * 37 >> 5);
    for (int parts = 1; parts <= 2; parts++) {
        if (c->rank == 0) {
            CHECK(large_send(c, p, len, parts) == 0);
            CHECK(large_send(c, p, 100, 1) == 0); /* a short one into the large receive */
        } else {
            large_recv(c, p, room, len);
            large_recv(c, p, room, 100);
        }
    }
    free(p);
}

int main(int argc, char **argv)
{
    struct cio_comm *c;
    int rc;

    MPI_Init(&argc, &argv);
    CHECK(cio_comm_mpi_create(MPI_COMM_WORLD, 0, &c) == 0);
    test_ring(c);
    test_all_to_all(c);
    test_synchronous(c);
    test_errors(MPI_COMM_WORLD);
    test_two_ports(c);
    if (argc > 1 && strcmp(argv[1], "large") == 0)
        test_large(c);
    cio_comm_destroy(c);
    MPI_Allreduce(MPI_IN_PLACE, &check_failures, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
    MPI_Comm_rank(MPI_COMM_WORLD, &rc);
    rc = rc == 0 || check_failures > 0 ? check_done("test_comm_mpi") : 0;
    MPI_Finalize();
    return rc;
}
