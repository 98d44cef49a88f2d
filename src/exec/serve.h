/*
 * The inside of an aggregator, for the files that make it up: aggr.c (its life), aggr_recv.c
 * (messages), aggr_read.c (answers).
 *
 * Several positions are served at once, each in a sub-buffer of its own; the next position begins
 * where one is over:
 *
 *   write   FILL (messages are laid into the buffer) -> STORE (it is written) -> FREE
 *   read    FILL (leaders ask) -> LOAD (it is read; they may go on asking) -> FILL ... -> FREE
 */
#ifndef CIO_EXEC_SERVE_H
#define CIO_EXEC_SERVE_H

#include "exec/internal.h"
#include "exec/round.h"
#include "plan/pipeline.h"

/* A receive, posted ahead for one leader's next message. */
struct cio_slot {
    struct cio_req req;
    char *buf;
    int leader;     /* whose message; -1: free */
    int64_t pos;    /* for which position, or an earlier one, */
    int64_t posted; /* and the how manieth receive it is */
};

/* What a leader wants of a position: one message at a time. */
struct cio_ask {
    int waiting;                 /* not answered yet, */
    int loading;                 /* and being read for, */
    int ready;                   /* or it has been */
    const struct cio_part *part; /* NULL: nothing is the answer */
    const char *coded;
    int64_t lists, meta, data;
    char *copy; /* of both, where they came in a message */
    char *to;   /* where the data goes on the leader's board; NULL: in a message */
    int direct; /* it is read to there */
};

struct cio_reply {
    struct cio_req req;
    char *buf;
};

/* Messages of one leader for a position. */
struct cio_got {
    int32_t got, all; /* all: 0 until the last one has come */
};

/* What a leader may send (write): lead.h, struct cio_leave. */
struct cio_grant {
    struct cio_req req;
    int64_t due, sent; /* up to this position; 0: nothing yet */
    struct cio_head head;
};

struct cio_serving {
    enum { CIO_SERVE_FREE, CIO_SERVE_FILL, CIO_SERVE_LOAD, CIO_SERVE_STORE } state;
    struct cio_serving *after; /* the next one of those that are not free, by position */
    int64_t pos;
    int pending;         /* leaders that have not finished it */
    int firsts;          /* leaders that have not asked for anything of it yet (read) */
    int held;            /* slots kept for leaders that have more to ask of it */
    int asks;            /* that wait */
    int64_t received;    /* messages of it */
    struct cio_got *got; /* per leader */
    struct cio_ask *ask; /* per leader (read) */
    struct cio_round round;
};

struct cio_aggr {
    enum { CIO_AGGR_BITS, CIO_AGGR_SERVE, CIO_AGGR_DONES, CIO_AGGR_DONE } step;
    int nleaders;
    struct cio_pipeline pipe;
    struct cio_serving *serving; /* pipe.depth of them, */
    struct cio_serving *first;   /* those that are not free, in the order of positions, */
    char *rounds;                /* and their buffers */
    char *messages;              /* buffers of slots and replies */
    struct cio_slot slot[CIO_SLOTS_MAX];
    struct cio_reply reply[CIO_REPLIES_MAX]; /* read */
    struct cio_spare spare;                  /* write */
    uint64_t *touched; /* per leader: the positions that it touches; then: by anybody */
    int64_t touched_size;
    int bits_expected, bits_posted;
    int64_t begin_pos;       /* the next position to begin with; -1: there is none */
    struct cio_grant *grant; /* per leader */
    int grants_due;
    int64_t *taken; /* per leader: messages, in the order in which it sent them */
    int64_t posted; /* receives so far */
    char *bits_buf; /* coded positions, one for each slot */
    int64_t bits_size;
    int64_t post_pos; /* the next receive to post is for this position */
    int post_leader;  /* and the first leader from here on that touches it */
    int transfers;    /* rounds whose file access is under way, */
    double since;     /* and since when there are any */
    struct cio_head done;
    struct cio_req *done_req; /* per leader */
};

/* Segments of a board that are as long are transferred without being copied. */
static inline int64_t cio_aggr_direct(const struct cio_op *op)
{
    return op->set.direct > 0 ? op->set.direct : CIO_DIRECT_LEAST;
}

static inline uint64_t *cio_touched_by(const struct cio_op *op, int leader)
{
    return op->aggr->touched + op->rounds.slice / 64 * leader;
}

static inline uint64_t *cio_touched_by_any(const struct cio_op *op)
{
    return cio_touched_by(op, op->aggr->nleaders);
}

/* What a message says must fit its length; otherwise it is not looked at: -EBADMSG. */
int cio_aggr_check(const struct cio_op *op, const struct cio_head *h, const struct cio_req *req);

/* Keeps receives posted; takes what has come for the positions that are served. 1: something did.
 */
int cio_aggr_post(struct cio_op *op);
int cio_aggr_take(struct cio_op *op);

/* Tells leaders of positions that have begun; the note of one of them. */
int cio_aggr_grant(struct cio_op *op);
void cio_aggr_note_begun(struct cio_op *op, int leader, int64_t pos);
/* Some leader is not told yet, or the message to it is not sent. */
int cio_aggr_granting(const struct cio_aggr *g);

/* Where the parts of a message lie: behind its head, or on the leader's board. */
struct cio_content {
    const struct cio_part *part;
    const char *coded;
    char *data;
};

/* Read: keeps what a leader has asked for; `rc` is what is wrong with it. 0 or a negative errno. */
int cio_aggr_ask(struct cio_op *op, struct cio_serving *s, const struct cio_head *h,
                 const struct cio_content *c, int rc);

/* Read: begins to load what is asked for, once all have asked; answers what is loaded. */
int cio_aggr_load(struct cio_op *op, struct cio_serving *s);
int cio_aggr_answer(struct cio_op *op, struct cio_serving *s);
/* What was being loaded is there. */
void cio_aggr_loaded(struct cio_op *op, struct cio_serving *s);

#endif
