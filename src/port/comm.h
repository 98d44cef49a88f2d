/*
 * Messages between the ranks of one file, as exec sees them. Two implementations: MPI
 * (comm_mpi.h), and an in-process loop in which all ranks live in one process (comm_loop.h).
 *
 * Nothing here blocks but cio_comm_wait. A request is a struct of the caller's: it
 * must stay where it is, and the buffers untouched, from the start until `state` is CIO_REQ_DONE,
 * which only cio_comm_poll and cio_comm_wait set. Errors are 0 or a negative errno. Whoever looks
 * at what was received checks the request first (cio_req_check).
 *
 * Lack of memory does not keep a request from being started: it is started later, by poll or wait.
 */
#ifndef CIO_PORT_COMM_H
#define CIO_PORT_COMM_H

#include <errno.h>
#include <stddef.h>
#include <stdint.h>

#define CIO_ANY_SOURCE (-1)

enum cio_req_state { CIO_REQ_IDLE, CIO_REQ_ACTIVE, CIO_REQ_DONE };

struct cio_iov {
    const void *base;
    int64_t len;
};
#define CIO_COMM_IOV 4

enum cio_send_mode { CIO_SEND_SYNCHRONOUS, CIO_SEND_PLAIN, CIO_RECEIVE };

struct cio_req {
    enum cio_req_state state;
    int error;     /* when done: 0 or a negative errno */
    int source;    /* when a receive is done: who sent it, */
    int64_t bytes; /* and how much */
    int slot;      /* the port's own: where it keeps it */
    /* the port's own, too: what to start as soon as there is memory for it */
    struct {
        struct cio_req *next;
        struct cio_iov iov[CIO_COMM_IOV];
        int niov, peer, tag;
        enum cio_send_mode mode;
    } later;
};

/* What is wrong with a receive that is done and should have brought so many bytes: 0, or an error.
 */
static inline int cio_req_check(const struct cio_req *req, int64_t bytes)
{
    if (req->error != 0)
        return req->error;
    return req->bytes == bytes ? 0 : -EBADMSG;
}

/*
 * `error` is 0 until messages may have been lost: the first failure of a request, of poll or of
 * wait, for whatever reason but a message that was too long. What comes after it cannot be relied
 * on, neither here nor on the other side.
 */
struct cio_comm {
    int rank, size;
    int error;
    const struct cio_comm_ops *ops;
};

struct cio_comm_ops {
    int (*send)(struct cio_comm *comm, const struct cio_iov *iov, int niov, int dest, int tag,
                enum cio_send_mode mode, struct cio_req *req);
    int (*recv)(struct cio_comm *comm, void *buf, int64_t size, int source, int tag,
                struct cio_req *req);
    int (*poll)(struct cio_comm *comm);
    int (*wait)(struct cio_comm *comm, struct cio_req *const *req, int n);
    void (*destroy)(struct cio_comm *comm);
};

/*
 * Starts a synchronous send: done means that the receiver has begun to receive it. A short message
 * may lie with it before that. At most CIO_COMM_IOV parts; a message may exceed 2 GiB.
 * Messages from one rank to another with the same tag arrive in the order in which they were sent.
 */
static inline int cio_comm_send(struct cio_comm *comm, const struct cio_iov *iov, int niov,
                                int dest, int tag, struct cio_req *req)
{
    return comm->ops->send(comm, iov, niov, dest, tag, CIO_SEND_SYNCHRONOUS, req);
}

/*
 * The same for a short message that the receiver already waits for, or has room for: done may mean
 * only that the buffer can be used again. Saves the answer that a synchronous send needs.
 */
static inline int cio_comm_post(struct cio_comm *comm, const struct cio_iov *iov, int niov,
                                int dest, int tag, struct cio_req *req)
{
    return comm->ops->send(comm, iov, niov, dest, tag, CIO_SEND_PLAIN, req);
}

/* Starts a receive of at most `size` bytes; a longer message is an error (-EMSGSIZE). */
static inline int cio_comm_recv(struct cio_comm *comm, void *buf, int64_t size, int source, int tag,
                                struct cio_req *req)
{
    return comm->ops->recv(comm, buf, size, source, tag, req);
}

/*
 * Makes progress and marks what is done, without waiting. Returns how many requests became done, or
 * a negative errno.
 */
static inline int cio_comm_poll(struct cio_comm *comm)
{
    return comm->ops->poll(comm);
}

/*
 * Waits, asleep where the MPI can, until all of these are done; idle ones count as done. With none
 * given, until any active request is done. Others may become done too. The loop cannot wait: it
 * polls. Results as of cio_comm_poll.
 */
static inline int cio_comm_wait(struct cio_comm *comm, struct cio_req *const *req, int n)
{
    return comm->ops->wait(comm, req, n);
}

static inline void cio_comm_destroy(struct cio_comm *comm)
{
    if (comm != NULL)
        comm->ops->destroy(comm);
}

#endif
