/* What the files of exec share: one operation and its three roles. */
#ifndef CIO_EXEC_INTERNAL_H
#define CIO_EXEC_INTERNAL_H

#include "exec/area.h"
#include "exec/op.h"
#include "exec/wire.h"

/* A member: every rank. The leader's own member is called directly, others through messages. */
struct cio_member {
    enum { CIO_MEMBER_WAIT, CIO_MEMBER_PAYLOAD, CIO_MEMBER_SEND, CIO_MEMBER_DONE } step;
    struct cio_board *board; /* in shared memory, or the leader's own; NULL: messages */
    struct cio_area area;
    struct cio_desc desc;    /* of an area that is not on a board, */
    void *memory;            /* which lies here */
    char *stream;            /* bytes of one window, without shared memory */
    struct cio_place place;  /* what is described ends here */
    int marked;              /* positions touched have been noted */
    struct cio_ctl in, out;
    struct cio_req in_req, out_req[5];
};

struct cio_leader;
struct cio_aggr;

struct cio_op {
    struct cio_env env;
    struct cio_settings set;
    struct cio_request req;
    enum { CIO_OP_REDUCE, CIO_OP_AGREE, CIO_OP_RUN, CIO_OP_DONE } phase;
    int error; /* the first one */
    struct cio_reduction mine, all;
    struct cio_req reduce_req;
    struct cio_rounds rounds;
    struct cio_member member;
    struct cio_leader *leader; /* NULL if this rank leads no group */
    struct cio_aggr *aggr;     /* NULL if it is no aggregator */
    struct cio_stats stats;
    int64_t held; /* bytes of buffers now */
    double started;
};

double cio_now(void);

/* Keeps the first error. */
static inline void cio_op_fail(struct cio_op *op, int error)
{
    if (op->error == 0)
        op->error = error;
}

/* Alone in its group, with memory in one piece: a write is sent from where it lies. */
static inline int cio_op_is_direct(const struct cio_op *op)
{
    return op->env.team->group_size == 1 && op->req.write && op->req.bytes > 0 &&
           op->req.mem->dense;
}

/* A buffer of this operation, counted; NULL on failure. cio_op_free takes it back. */
void *cio_op_alloc(struct cio_op *op, int64_t size);
void cio_op_free(struct cio_op *op, void *p, int64_t size);

static inline int cio_op_tag(const struct cio_op *op, enum cio_tag tag)
{
    return op->set.tag + (int)tag;
}

/* A message that is waited for; a failure to start it is kept as the operation's error. */
void cio_op_send(struct cio_op *op, const void *buf, int64_t len, int dest, enum cio_tag tag,
                 struct cio_req *req);
void cio_op_recv(struct cio_op *op, void *buf, int64_t size, int source, enum cio_tag tag,
                 struct cio_req *req);

/* A message to an aggregator or back to a leader: counted in the statistics. */
void cio_op_send_data(struct cio_op *op, const struct cio_iov *iov, int niov, int dest,
                      enum cio_tag tag, struct cio_req *req);

/* Requests that must all be done before a role can go on. */
#define CIO_NEEDS_MAX 64
struct cio_needs {
    struct cio_req *req[CIO_NEEDS_MAX];
    int n;
};

/* Adds those of n requests that are active, as far as there is room. */
static inline void cio_needs_add(struct cio_needs *needs, struct cio_req *req, int n)
{
    for (int i = 0; i < n && needs->n < CIO_NEEDS_MAX; i++)
        if (req[i].state == CIO_REQ_ACTIVE)
            needs->req[needs->n++] = &req[i];
}

static inline int cio_req_busy(const struct cio_req *req)
{
    return req->state == CIO_REQ_ACTIVE;
}

static inline int cio_reqs_busy(const struct cio_req *req, int n)
{
    for (int i = 0; i < n; i++)
        if (cio_req_busy(&req[i]))
            return 1;
    return 0;
}

/*
 * Member. hello fills in what is needed; handle obeys one message of the leader's and fills in the
 * answer (no answer to FINAL).
 */
void cio_member_hello(struct cio_op *op, struct cio_ctl *out);
void cio_member_handle(struct cio_op *op, const struct cio_ctl *in, struct cio_ctl *out);
/* Remote members only. */
void cio_member_start(struct cio_op *op);
int cio_member_progress(struct cio_op *op);
void cio_member_needs(struct cio_op *op, struct cio_needs *needs);
void cio_member_finish(struct cio_op *op);

/*
 * Leader and aggregator. create makes all that can be made before the ranks agree to begin;
 * reserve, what depends on the positions (create has done it for CIO_SMALL_SLICE): 0 or -ENOMEM.
 * progress: 1 if anything advanced.
 */
#define CIO_SMALL_SLICE 4096
int cio_leader_create(struct cio_op *op);
int cio_leader_reserve(struct cio_op *op, int64_t slice);
void cio_leader_start(struct cio_op *op);
int cio_leader_progress(struct cio_op *op);
void cio_leader_needs(struct cio_op *op, struct cio_needs *needs);
int cio_leader_is_done(const struct cio_op *op);
void cio_leader_finish(struct cio_op *op);

int cio_aggr_create(struct cio_op *op);
int cio_aggr_reserve(struct cio_op *op, int64_t slice);
int cio_aggr_progress(struct cio_op *op);
int cio_aggr_is_done(const struct cio_op *op);
void cio_aggr_finish(struct cio_op *op);

#endif
