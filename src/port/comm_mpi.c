/*
 * Messages through MPI. The active MPI requests lie densely in one array, as MPI_Testsome wants
 * them, with what belongs to each beside it in another.
 *
 * The communicator is ROMIO's, and so is its error handler: while that is the fatal one, an MPI
 * error ends the job, as everywhere in ROMIO. Under MPI_ERRORS_RETURN (which poll, whose calls name
 * no communicator, needs on MPI_COMM_SELF or MPI_COMM_WORLD too) errors come back as -EIO, and a
 * truncated message as -EMSGSIZE.
 *
 * A request for which there is no memory is put off, with all that come after it, and tried again
 * in every poll for PATIENCE seconds.
 *
 * Counts are int, as in MPI-3: what is longer than CHUNK is described by a datatype of several
 * blocks.
 */
#include "port/comm_mpi.h"

#include <errno.h>
#include <stdlib.h>
#include <time.h>

#include "port/comm_common.h"

#define CHUNK ((int64_t)1 << 30)
#define PATIENCE 30   /* seconds without memory for one message */
#define COPY_MAX 4096 /* a message of several parts is copied together up to here */

struct slot {
    struct cio_req *req;
    void *copy; /* of a short message of several parts, or NULL */
    int receives;
};

struct port {
    struct cio_comm comm;
    MPI_Comm mpi;
    unsigned mode; /* enum cio_mpi_mode */
    struct cio_req *later, **later_end; /* to be started when there is memory; in order, since */
    time_t later_since;                 /* messages must not overtake each other; since when */
    int active, capacity;
    MPI_Request *requests;
    struct slot *slots;
    int *indices; /* what MPI_Testsome tells */
    MPI_Status *statuses;
};

/* How one message is told to MPI. */
struct message {
    void *base;
    int count;
    MPI_Datatype type;
    void *copy;
};

static struct port *port_of(struct cio_comm *comm)
{
    return (struct port *)comm;
}

static int class_of(int mpi_error)
{
    int class = MPI_SUCCESS;

    if (mpi_error != MPI_SUCCESS)
        MPI_Error_class(mpi_error, &class);
    return class;
}

static int error_of(int mpi_error)
{
    switch (class_of(mpi_error)) {
    case MPI_SUCCESS:
        return 0;
    case MPI_ERR_TRUNCATE:
        return -EMSGSIZE;
    default:
        return -EIO;
    }
}

/* Makes room for one more request. */
static int reserve(struct port *port)
{
    size_t n = port->capacity > 0 ? 2 * (size_t)port->capacity : 16;
    MPI_Request *requests;
    struct slot *slots;
    MPI_Status *statuses;
    int *indices;

    if (port->active < port->capacity)
        return 0;
    if ((requests = realloc(port->requests, n * sizeof(*requests))) != NULL)
        port->requests = requests;
    if ((slots = realloc(port->slots, n * sizeof(*slots))) != NULL)
        port->slots = slots;
    if ((indices = realloc(port->indices, n * sizeof(*indices))) != NULL)
        port->indices = indices;
    if ((statuses = realloc(port->statuses, n * sizeof(*statuses))) != NULL)
        port->statuses = statuses;
    if (requests == NULL || slots == NULL || indices == NULL || statuses == NULL)
        return -ENOMEM;
    port->capacity = (int)n;
    return 0;
}

static void activate(struct port *port, struct cio_req *req, void *copy, int receives)
{
    req->slot = port->active;
    port->slots[port->active++] = (struct slot){req, copy, receives};
}

static int count_blocks(const struct cio_iov *iov, int niov)
{
    int64_t n = 0;

    for (int i = 0; i < niov; i++)
        n += (iov[i].len + CHUNK - 1) / CHUNK;
    return (int)n;
}

static void fill_blocks(const struct cio_iov *iov, int niov, MPI_Aint *at, int *len)
{
    for (int i = 0; i < niov; i++) {
        MPI_Aint base;

        MPI_Get_address(iov[i].base, &base);
        for (int64_t done = 0; done < iov[i].len; done += CHUNK) {
            int64_t left = iov[i].len - done;

            *at++ = base + (MPI_Aint)done;
            *len++ = (int)(left < CHUNK ? left : CHUNK);
        }
    }
}

/* A datatype with absolute addresses, for use with MPI_BOTTOM. */
static int make_type(const struct cio_iov *iov, int niov, MPI_Datatype *out)
{
    int n = count_blocks(iov, niov), rc = -ENOMEM;
    MPI_Aint *at = malloc((size_t)n * sizeof(*at));
    int *len = malloc((size_t)n * sizeof(*len));

    if (at != NULL && len != NULL) {
        fill_blocks(iov, niov, at, len);
        rc = error_of(MPI_Type_create_hindexed(n, len, at, MPI_BYTE, out));
    }
    free(len);
    free(at);
    if (rc == 0)
        rc = error_of(MPI_Type_commit(out));
    return rc;
}

static int message_begin(struct message *m, const struct cio_iov *iov, int niov)
{
    int64_t total = cio_iov_bytes(iov, niov);

    *m = (struct message){.count = (int)total, .type = MPI_BYTE};
    if (total == 0)
        return 0;
    if (niov == 1 && total <= CHUNK) {
        m->base = (void *)iov->base;
        return 0;
    }
    if (total <= COPY_MAX) {
        m->base = m->copy = malloc((size_t)total);
        if (m->copy == NULL)
            return -ENOMEM;
        cio_iov_gather(iov, niov, m->copy);
        return 0;
    }
    m->base = MPI_BOTTOM;
    m->count = 1;
    return make_type(iov, niov, &m->type);
}

/* MPI keeps the type for as long as the transfer needs it. */
static void message_end(struct message *m)
{
    if (m->type != MPI_BYTE)
        MPI_Type_free(&m->type);
}

static int hand_over(struct port *port, const struct message *m, struct cio_req *req)
{
    MPI_Request *request = &port->requests[port->active];
    int peer = req->later.peer, tag = req->later.tag;

    switch (req->later.mode) {
    case CIO_RECEIVE:
        peer = peer == CIO_ANY_SOURCE ? MPI_ANY_SOURCE : peer;
        return error_of(MPI_Irecv(m->base, m->count, m->type, peer, tag, port->mpi, request));
    case CIO_SEND_PLAIN:
        return error_of(MPI_Isend(m->base, m->count, m->type, peer, tag, port->mpi, request));
    default:
        return error_of(MPI_Issend(m->base, m->count, m->type, peer, tag, port->mpi, request));
    }
}

/* -ENOMEM: nothing has happened, and it can be tried again. */
static int start(struct port *port, struct cio_req *req)
{
    struct message m;
    int rc = reserve(port);

    if (rc == 0)
        rc = message_begin(&m, req->later.iov, req->later.niov);
    if (rc < 0)
        return rc;
    rc = hand_over(port, &m, req);
    message_end(&m);
    if (rc == 0)
        activate(port, req, m.copy, req->later.mode == CIO_RECEIVE);
    else
        free(m.copy);
    return rc;
}

static int fail(struct port *port, int rc)
{
    if (port->comm.error == 0)
        port->comm.error = rc;
    return rc;
}

static void put_off(struct port *port, struct cio_req *req)
{
    if (port->later == NULL) {
        port->later_end = &port->later;
        port->later_since = time(NULL);
    }
    *port->later_end = req;
    port->later_end = &req->later.next;
}

/* Starts what was put off, as far as there is memory by now; not for ever. */
static void start_later(struct port *port)
{
    while (port->later != NULL && port->comm.error == 0) {
        struct cio_req *req = port->later;
        int rc = start(port, req);

        if (rc == -ENOMEM && time(NULL) - port->later_since < PATIENCE)
            return;
        if (rc < 0)
            fail(port, rc);
        port->later = req->later.next;
        port->later_since = time(NULL);
    }
}

static int begin(struct cio_comm *comm, const struct cio_iov *iov, int niov, int peer, int tag,
                 enum cio_send_mode mode, struct cio_req *req)
{
    struct port *port = port_of(comm);
    int rc;

    *req = (struct cio_req){.state = CIO_REQ_ACTIVE, .slot = -1};
    req->later.niov = niov;
    req->later.peer = peer;
    req->later.tag = tag;
    req->later.mode = mode;
    for (int i = 0; i < niov; i++)
        req->later.iov[i] = iov[i];
    rc = port->later == NULL ? start(port, req) : -ENOMEM;
    if (rc == -ENOMEM) {
        put_off(port, req);
        return 0;
    }
    if (rc < 0)
        req->state = CIO_REQ_IDLE;
    return rc < 0 && rc != -EMSGSIZE ? fail(port, rc) : rc;
}

static int mpi_send(struct cio_comm *comm, const struct cio_iov *iov, int niov, int dest, int tag,
                    enum cio_send_mode mode, struct cio_req *req)
{
    return begin(comm, iov, niov, dest, tag, mode, req);
}

static int mpi_recv(struct cio_comm *comm, void *buf, int64_t size, int source, int tag,
                    struct cio_req *req)
{
    struct cio_iov part = {buf, size};

    return begin(comm, &part, 1, source, tag, CIO_RECEIVE, req);
}

/* MPI_Get_elements_x only where it must be: SMPI, for one, does not have it. */
static int64_t bytes_of(const MPI_Status *status)
{
    MPI_Count elements;
    int count;

    MPI_Get_count(status, MPI_BYTE, &count);
    if (count != MPI_UNDEFINED)
        return count;
    MPI_Get_elements_x(status, MPI_BYTE, &elements);
    return elements;
}

static void complete(struct port *port, struct slot *slot, const MPI_Status *status, int error)
{
    struct cio_req *req = slot->req;

    if (error != 0 && error != -EMSGSIZE)
        fail(port, error);

    free(slot->copy);
    req->error = error;
    if (slot->receives && error == 0) {
        req->source = status->MPI_SOURCE;
        req->bytes = bytes_of(status);
    }
    req->state = CIO_REQ_DONE;
}

/* Fills the gaps that completed requests have left with the last ones. */
static void compact(struct port *port)
{
    int i = 0;

    while (i < port->active) {
        if (port->requests[i] != MPI_REQUEST_NULL) {
            i++;
            continue;
        }
        port->active--;
        port->requests[i] = port->requests[port->active];
        port->slots[i] = port->slots[port->active];
        port->slots[i].req->slot = i;
    }
}

/* Nothing of mine is under way, but MPI may have something to do for others. */
static int make_progress(struct port *port)
{
    int flag;
    int rc = error_of(MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, port->mpi, &flag, MPI_STATUS_IGNORE));

    return rc < 0 ? fail(port, rc) : 0;
}

static int mpi_poll(struct cio_comm *comm)
{
    struct port *port = port_of(comm);
    int done = 0, rc;

    start_later(port);
    if (port->comm.error != 0)
        return port->comm.error;
    if (port->active == 0)
        return make_progress(port);
    rc = MPI_Testsome(port->active, port->requests, &done, port->indices, port->statuses);
    if (rc != MPI_SUCCESS && class_of(rc) != MPI_ERR_IN_STATUS)
        return fail(port, error_of(rc));
    for (int i = 0; i < done; i++) {
        const MPI_Status *status = &port->statuses[i];

        complete(port, &port->slots[port->indices[i]], status,
                 rc == MPI_SUCCESS ? 0 : error_of(status->MPI_ERROR));
    }
    if (done > 0)
        compact(port);
    return done;
}

/*
 * Until anything is done. MPI_Waitsome would do, but spins in MPICH. A rank with a core to itself
 * looks busily for a while, and then every now and then; one that shares it sleeps in between from
 * the beginning, because looking costs others the time that they need to answer.
 */
static int wait_any(struct port *port)
{
    const int busy = port->mode & CIO_MPI_CROWDED ? 1 : 1000;
    struct timespec pause = {0, 100000};
    int done = 0;

    for (int i = 0; done == 0 && (port->active > 0 || port->later != NULL); i++) {
        if (i >= busy) {
            nanosleep(&pause, NULL);
            if (pause.tv_nsec < 400000)
                pause.tv_nsec *= 2;
        }
        done = mpi_poll(&port->comm);
    }
    return done;
}

/* Until one is done, asleep: MPI_Wait and MPI_Waitall sleep where the device can. */
static int wait_one(struct port *port, struct cio_req *req)
{
    MPI_Status status;
    int slot, rc;

    while (req->slot < 0 && port->comm.error == 0)
        wait_any(port);
    if (port->comm.error != 0 || req->state == CIO_REQ_DONE)
        return 0;
    slot = req->slot;
    rc = error_of(MPI_Wait(&port->requests[slot], &status));

    complete(port, &port->slots[slot], &status, rc);
    compact(port);
    return 1;
}

static int mpi_wait(struct cio_comm *comm, struct cio_req *const *req, int n)
{
    struct port *port = port_of(comm);
    int done = 0;

    if (n == 0)
        return wait_any(port);
    start_later(port);
    for (int i = 0; i < n && port->comm.error == 0; i++)
        if (req[i]->state == CIO_REQ_ACTIVE)
            done += wait_one(port, req[i]);
    return port->comm.error != 0 ? port->comm.error : done;
}

static void free_arrays(struct port *port)
{
    free(port->statuses);
    free(port->indices);
    free(port->slots);
    free(port->requests);
}

static void mpi_destroy(struct cio_comm *comm)
{
    struct port *port = port_of(comm);

    free_arrays(port);
    free(port);
}

static const struct cio_comm_ops mpi_ops = {
    .send = mpi_send,
    .recv = mpi_recv,
    .poll = mpi_poll,
    .wait = mpi_wait,
    .destroy = mpi_destroy,
};

int cio_comm_mpi_create(MPI_Comm comm, unsigned mode, struct cio_comm **out)
{
    struct port *port = calloc(1, sizeof(*port));
    int rc;

    if (port == NULL)
        return -ENOMEM;
    port->comm.ops = &mpi_ops;
    port->mpi = comm;
    port->mode = mode;
    MPI_Comm_rank(comm, &port->comm.rank);
    MPI_Comm_size(comm, &port->comm.size);
    rc = reserve(port);
    if (rc < 0) {
        free_arrays(port);
        free(port);
        return rc;
    }
    *out = &port->comm;
    return 0;
}
