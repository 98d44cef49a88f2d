/*
 * Messages between ranks of one process.
 *
 * A channel is the way from one rank to another under one tag. It queues either the sends that
 * nobody has received yet, or the receives that nobody has sent to. Receives from any source wait
 * in a channel of their own, which also knows which of its sources have sends waiting:
 *
 *     (source 3, dest 0, tag 7)   sends: [a] [b]     <-+
 *     (source 5, dest 0, tag 7)   sends: [c]         <-+
 *     (any,      dest 0, tag 7)   waiting: 3, 5      --+   a receive takes a or c, never b
 *
 * The data moves when the two meet. Both then lie in their port's list of what can be completed,
 * from which a poll takes some at random, and at least one.
 */
#include "port/comm_loop.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

#include "port/comm_common.h"
#include "port/map.h"

struct op {
    struct op *next;
    struct port *port;
    struct cio_req *req;
    uint64_t number; /* of a receive: in which order they were started */
    struct cio_iov iov[CIO_COMM_IOV];
    int niov;
    void *buf;
    int64_t size;
};

struct list {
    struct op *head, *tail;
};

struct channel {
    struct cio_map_entry entry;
    struct channel *any; /* of the same dest and tag */
    struct list sends, receives;
    int place; /* in any->waiting, while there are sends */
    /* of an any-channel only: those that have sends, in no order */
    struct channel **waiting;
    int nwaiting, capacity;
};

struct cio_loop {
    int size;
    uint64_t random, started;
    struct cio_map channels;
    int *node_of;
    int64_t *unmet; /* per rank: bytes sent to it that have met no receive */
    struct cio_loop_counts counts;
    int pending;
    struct cio_loop_loss loss;
};

struct port {
    struct cio_comm comm;
    struct cio_loop *loop;
    int active;
    struct list ready;
};

static struct port *port_of(struct cio_comm *comm)
{
    return (struct port *)comm;
}

/* splitmix64 */
static uint64_t next_random(struct cio_loop *loop)
{
    return cio_mix64(loop->random += 0x9e3779b97f4a7c15u);
}

static void list_add(struct list *l, struct op *op)
{
    op->next = NULL;
    if (l->head == NULL)
        l->head = op;
    else
        l->tail->next = op;
    l->tail = op;
}

static struct op *list_take(struct list *l)
{
    struct op *op = l->head;

    l->head = op->next;
    return op;
}

static struct op *op_create(struct port *port, struct cio_req *req)
{
    struct op *op = calloc(1, sizeof(*op));

    if (op != NULL) {
        op->port = port;
        op->req = req;
    }
    return op;
}

static void op_start(struct op *op)
{
    cio_req_begin(op->req);
    op->port->active++;
    op->port->loop->pending++;
}

static void op_ready(struct op *op, int error)
{
    op->req->error = error;
    if (error != 0 && error != -EMSGSIZE && op->port->comm.error == 0)
        op->port->comm.error = error;
    list_add(&op->port->ready, op);
}

static void op_complete(struct op *op)
{
    op->port->active--;
    op->port->loop->pending--;
    op->req->state = CIO_REQ_DONE;
    free(op);
}

static int channel_make(struct cio_loop *loop, struct cio_map_key key, struct channel **out)
{
    struct channel *ch = (struct channel *)cio_map_find(&loop->channels, key);

    if (ch == NULL) {
        ch = calloc(1, sizeof(*ch));
        if (ch == NULL)
            return -ENOMEM;
        ch->entry.key = key;
        cio_map_add(&loop->channels, &ch->entry);
    }
    *out = ch;
    return 0;
}

static struct cio_map_key channel_key(int source, int dest, int tag)
{
    return (struct cio_map_key){(uint64_t)(uint32_t)source << 32 | (uint32_t)dest, (uint32_t)tag};
}

static int channel_of(struct cio_loop *loop, int source, int dest, int tag, struct channel **out)
{
    struct channel *ch;
    int rc = channel_make(loop, channel_key(source, dest, tag), &ch);

    if (rc == 0 && ch->any == NULL)
        rc = channel_make(loop, channel_key(CIO_ANY_SOURCE, dest, tag), &ch->any);
    if (rc == 0)
        *out = ch;
    return rc;
}

static void channel_destroy(struct cio_map_entry *entry)
{
    struct channel *ch = (struct channel *)entry;

    free(ch->waiting);
    free(ch);
}

/* Makes room for one more channel with sends. */
static int any_reserve(struct channel *any)
{
    int capacity = any->capacity > 0 ? 2 * any->capacity : 8;
    struct channel **waiting;

    if (any->nwaiting < any->capacity)
        return 0;
    waiting = realloc(any->waiting, (size_t)capacity * sizeof(struct channel *));
    if (waiting == NULL)
        return -ENOMEM;
    any->waiting = waiting;
    any->capacity = capacity;
    return 0;
}

static void add_send(struct channel *ch, struct op *op)
{
    if (ch->sends.head == NULL) {
        ch->place = ch->any->nwaiting++;
        ch->any->waiting[ch->place] = ch;
    }
    list_add(&ch->sends, op);
}

/* The send that a receive from this channel meets, or NULL. */
static struct op *take_send(struct cio_loop *loop, struct channel *ch)
{
    struct channel *any = ch->any, *last;
    struct op *op;

    if (ch == any && any->nwaiting > 0)
        ch = any->waiting[next_random(loop) % (uint64_t)any->nwaiting];
    if (ch->sends.head == NULL)
        return NULL;
    op = list_take(&ch->sends);
    if (ch->sends.head == NULL) {
        last = any->waiting[--any->nwaiting];
        last->place = ch->place;
        any->waiting[ch->place] = last;
    }
    return op;
}

/* The receive that a send into this channel meets, or NULL: the one that was started first. */
static struct op *take_receive(struct channel *ch)
{
    struct list *own = &ch->receives, *any = &ch->any->receives;

    if (own->head == NULL && any->head == NULL)
        return NULL;
    if (own->head == NULL || (any->head != NULL && any->head->number < own->head->number))
        own = any;
    return list_take(own);
}

/* Whether it is this one's turn to be lost. */
static int is_lost(struct cio_loop *loop, enum cio_loop_side side)
{
    return loop->loss.side == side && loop->loss.at >= 0 && loop->loss.at-- == 0;
}

static void meet(struct op *send, struct op *receive)
{
    int64_t bytes = cio_iov_bytes(send->iov, send->niov);
    int fits = bytes <= receive->size;

    if (is_lost(send->port->loop, CIO_LOOP_RECEIVER)) {
        op_ready(receive, -EIO);
        op_ready(send, 0);
        return;
    }
    if (fits)
        cio_iov_gather(send->iov, send->niov, receive->buf);
    receive->req->source = send->port->comm.rank;
    receive->req->bytes = fits ? bytes : 0;
    op_ready(receive, fits ? 0 : -EMSGSIZE);
    op_ready(send, 0);
}

/* A send begins, or ends, to wait for a receive. */
static void note_unmet(struct cio_loop *loop, const struct op *send, int dest, int begins)
{
    int64_t bytes = cio_iov_bytes(send->iov, send->niov), *unmet = &loop->unmet[dest];

    *unmet += begins ? bytes : -bytes;
    if (*unmet > loop->counts.most_unmet)
        loop->counts.most_unmet = *unmet;
}

static void count(struct cio_loop *loop, const struct op *send, int dest)
{
    int64_t bytes = cio_iov_bytes(send->iov, send->niov);
    struct cio_loop_counts *c = &loop->counts;

    c->messages++;
    c->bytes += bytes;
    if (loop->node_of[send->port->comm.rank] != loop->node_of[dest]) {
        c->inter_messages++;
        c->inter_bytes += bytes;
    }
}

static int loop_send(struct cio_comm *comm, const struct cio_iov *iov, int niov, int dest, int tag,
                     enum cio_send_mode mode, struct cio_req *req)
{
    struct port *port = port_of(comm);
    struct op *op, *receive;
    struct channel *ch;
    int rc;

    (void)mode; /* all sends are synchronous: the harder case */
    req->state = CIO_REQ_IDLE;
    if (dest < 0 || dest >= comm->size || niov < 0 || niov > CIO_COMM_IOV)
        return -EINVAL;
    rc = channel_of(port->loop, comm->rank, dest, tag, &ch);
    if (rc == 0)
        rc = any_reserve(ch->any);
    if (rc < 0)
        return rc;
    op = op_create(port, req);
    if (op == NULL)
        return -ENOMEM;
    op->niov = niov;
    for (int i = 0; i < niov; i++)
        op->iov[i] = iov[i];
    op_start(op);
    count(port->loop, op, dest);
    if (is_lost(port->loop, CIO_LOOP_SENDER)) {
        op_ready(op, -EIO);
        return 0;
    }
    receive = take_receive(ch);
    if (receive != NULL) {
        meet(op, receive);
    } else {
        add_send(ch, op);
        note_unmet(port->loop, op, dest, 1);
    }
    return 0;
}

static int loop_recv(struct cio_comm *comm, void *buf, int64_t size, int source, int tag,
                     struct cio_req *req)
{
    struct port *port = port_of(comm);
    struct op *op, *send;
    struct channel *ch;
    int rc;

    req->state = CIO_REQ_IDLE;
    if (source != CIO_ANY_SOURCE && (source < 0 || source >= comm->size))
        return -EINVAL;
    rc = channel_of(port->loop, source, comm->rank, tag, &ch);
    if (rc < 0)
        return rc;
    op = op_create(port, req);
    if (op == NULL)
        return -ENOMEM;
    op->buf = buf;
    op->size = size;
    op->number = port->loop->started++;
    op_start(op);
    send = take_send(port->loop, ch);
    if (send != NULL) {
        note_unmet(port->loop, send, comm->rank, 0);
        meet(send, op);
    } else {
        list_add(&ch->receives, op);
    }
    return 0;
}

static int loop_poll(struct cio_comm *comm)
{
    struct port *port = port_of(comm);
    struct op *op = port->ready.head, *next;
    int done = 0;

    if (is_lost(port->loop, CIO_LOOP_POLL) && port->comm.error == 0)
        port->comm.error = -EIO;
    if (port->comm.error != 0 && op == NULL)
        return port->comm.error;
    port->ready.head = NULL;
    for (; op != NULL; op = next) {
        next = op->next;
        if ((next == NULL && done == 0) || next_random(port->loop) % 2 == 0) {
            op_complete(op);
            done++;
        } else {
            list_add(&port->ready, op);
        }
    }
    return done;
}

static void loop_comm_destroy(struct cio_comm *comm)
{
    struct port *port = port_of(comm);

    assert(port->active == 0);
    free(port);
}

static int loop_wait(struct cio_comm *comm, struct cio_req *const *req, int n)
{
    (void)req;
    (void)n;
    return loop_poll(comm);
}

static const struct cio_comm_ops loop_ops = {
    .send = loop_send,
    .recv = loop_recv,
    .poll = loop_poll,
    .wait = loop_wait,
    .destroy = loop_comm_destroy,
};

int cio_loop_create(int size, uint64_t seed, struct cio_loop **out)
{
    struct cio_loop *loop = calloc(1, sizeof(*loop));

    if (loop == NULL)
        return -ENOMEM;
    loop->size = size;
    loop->random = seed;
    loop->loss.at = -1;
    loop->node_of = calloc((size_t)size, sizeof(*loop->node_of));
    loop->unmet = calloc((size_t)size, sizeof(*loop->unmet));
    if (loop->node_of == NULL || loop->unmet == NULL || cio_map_init(&loop->channels) < 0) {
        free(loop->unmet);
        free(loop->node_of);
        free(loop);
        return -ENOMEM;
    }
    *out = loop;
    return 0;
}

void cio_loop_destroy(struct cio_loop *loop)
{
    if (loop == NULL)
        return;
    cio_map_fini(&loop->channels, channel_destroy);
    free(loop->unmet);
    free(loop->node_of);
    free(loop);
}

int cio_loop_comm(struct cio_loop *loop, int rank, struct cio_comm **out)
{
    struct port *port = calloc(1, sizeof(*port));

    if (port == NULL)
        return -ENOMEM;
    port->comm = (struct cio_comm){.rank = rank, .size = loop->size, .ops = &loop_ops};
    port->loop = loop;
    *out = &port->comm;
    return 0;
}

void cio_loop_set_nodes(struct cio_loop *loop, const int *node_of)
{
    memcpy(loop->node_of, node_of, (size_t)loop->size * sizeof(*node_of));
}

void cio_loop_lose(struct cio_loop *loop, struct cio_loop_loss loss)
{
    loop->loss = loss;
}

int cio_loop_has_lost(const struct cio_loop *loop)
{
    return loop->loss.at < 0;
}

void cio_loop_get_counts(const struct cio_loop *loop, struct cio_loop_counts *counts)
{
    *counts = loop->counts;
}

int cio_loop_pending(const struct cio_loop *loop)
{
    return loop->pending;
}
