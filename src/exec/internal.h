/* What the files of exec share: one operation and its three roles. */
#ifndef CIO_EXEC_INTERNAL_H
#define CIO_EXEC_INTERNAL_H

#include "exec/board.h"
#include "exec/describe.h"
#include "exec/op.h"
#include "exec/wire.h"
#include "plan/pipeline.h"

/* A member: every rank. The leader's own member is called directly, others through notes. */
struct cio_member {
    enum {
        CIO_MEMBER_WAIT,
        CIO_MEMBER_FOLLOW,  /* with shared memory: for its part of a read, */
        CIO_MEMBER_THROUGH, /* or, when it is through, for the outcome */
        CIO_MEMBER_PAYLOAD, /* without */
        CIO_MEMBER_SEND,
        CIO_MEMBER_DONE
    } step;
    int finished;            /* the last window has been copied, or the last one of its own */
    int alone;               /* shares no memory with its leader: messages go between them */
    struct cio_board *board; /* the group's; or, alone, its own, with one area */
    struct cio_describer describer;
    struct cio_place place;   /* where the window begins, */
    struct cio_place reached; /* and how far it is described */
    char *stream;             /* bytes of one window, alone, */
    int64_t stream_size;
    struct cio_ctl in, out;
    struct cio_req in_req, out_req[5];
};

struct cio_leader;
struct cio_aggr;

/* Words of one rank, or of some, on their way to another, and what may follow them (small.h). */
#define CIO_SMALL_MAX (16 << 10)
struct cio_parcel {
    struct cio_req req;
    struct cio_reduction words;
    char attached[CIO_SMALL_MAX];
};

/* The words of the reduction that not only op.c looks at. */
enum { CIO_MIN_ERROR, CIO_MIN_MINUS_HI = 2, CIO_MIN_EOF = CIO_REDUCE_WORDS - 1 };
enum { CIO_SUM_BYTES, CIO_SUM_PIECES, CIO_SUM_OUTSTANDING = 6 };
enum {
    CIO_SUM_ATTACHED = CIO_REDUCE_WORDS - 3, /* bytes, in a small call, */
    CIO_SUM_LARGE,                           /* ranks that could not attach what they have */
    CIO_SUM_SERVED                           /* the call is over */
};

/* The reduction (reduce.c). */
struct cio_reduce {
    enum {
        CIO_REDUCE_WORD,   /* a member waits for its leader's note */
        CIO_REDUCE_GATHER, /* a leader, for members and children */
        CIO_REDUCE_PARENT, /* for what comes from above, */
        CIO_REDUCE_SPREAD  /* and for its messages to members and children */
    } step;
    int sources;                /* ranks whose words come by message, */
    int turn;                   /* and up to which they have been dealt with */
    int noted;                  /* what members said on the board has been taken in */
    struct cio_parcel *parcels; /* one for each; NULL: they go through `own`, one by one */
    int64_t bytes;              /* in a read, of the ranks whose words come through here */
    struct cio_parcel own;      /* what comes from above */
    struct cio_parcel out;      /* what goes there */
};

struct cio_op {
    struct cio_env env;
    struct cio_settings set;
    struct cio_request req;
    enum { CIO_OP_REDUCE, CIO_OP_AGREE, CIO_OP_SCHEDULE, CIO_OP_RUN, CIO_OP_DONE } phase;
    int error; /* the first one */
    struct cio_reduction mine, all;
    struct cio_reduce reduce;
    struct cio_rounds rounds;
    struct cio_scheduling *scheduling; /* NULL: by offset */
    struct cio_pipeline pipe;          /* how aggregators divide their buffers */
    int shared;                        /* the group's board lies in shared memory */
    struct cio_nodemem own;            /* a board that does not */
    struct cio_req awake, rouse;       /* wakes this rank inside MPI; wakes another there */
    struct cio_member member;
    struct cio_leader *leader; /* NULL if this rank leads no group */
    struct cio_aggr *aggr;     /* NULL if it is no aggregator */
    int unmade;                /* neither has been made yet */
    struct cio_stats stats;
    int broken;     /* messages have been lost */
    int plain;      /* nothing is written that nobody asked to write */
    int doubtful;   /* something of a read has not arrived */
    int64_t charge; /* the most that any rank's request takes of a budget */
    int64_t held;   /* bytes of buffers now */
    int64_t eof;    /* where the file ends (read); INT64_MAX: nobody came to its end */
    double started;
    double serving; /* since when an aggregator has served its positions; then how long */
};

double cio_now(void);

/*
 * Whether a member that has just said this, at the end of a window that is not the last, has
 * nothing to do with those that follow, and need not wait for them.
 */
static inline int cio_op_is_through(const struct cio_op *op, const struct cio_ctl *up)
{
    return op->set.early && up->kind == CIO_CTL_READY && up->error == 0 && up->refused == 0 &&
           up->lists == 0 && up->place.t >= op->rounds.units;
}

/* Keeps the first error. */
static inline void cio_op_fail(struct cio_op *op, int error)
{
    if (op->error == 0)
        op->error = error;
}

/* Alone in its group, with memory in one piece: data is sent and received where it lies. */
static inline int cio_op_is_direct(const struct cio_op *op)
{
    return op->env.team->group_size == 1 && op->req.bytes > 0 && op->req.mem->dense;
}

/* The most data in one message between leaders and aggregators. */
static inline int64_t cio_op_message_data(const struct cio_op *op)
{
    return op->pipe.message;
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
                      enum cio_tag tag, enum cio_send_mode mode, struct cio_req *req);
/* So many bytes of it are data. */
void cio_op_note_data(struct cio_op *op, int dest, int64_t bytes);

/* Requests that must all be done before a role can go on. */
#define CIO_NEEDS_MAX 64
struct cio_needs {
    struct cio_req *req[CIO_NEEDS_MAX];
    int n;
    const uint32_t *word;      /* or a counter that must change, */
    uint32_t seen;             /* from this, */
    const uint32_t *file_word; /* or one that does when file access is over; NULL: there is none */
    uint32_t file_seen;
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
 * Boards and notes on them (talk.c).
 *
 * join maps the group's segment before the ranks agree to begin: 0, or why there is none. own makes
 * a board for k members in this rank's memory.
 */
int cio_board_join(struct cio_op *op);
int cio_board_own(struct cio_op *op, int k, struct cio_board **out);
void cio_board_release(struct cio_op *op);
int64_t cio_op_budget(const struct cio_op *op);
/* The least that any member of any group has: the same on every rank. */
int64_t cio_op_least_budget(const struct cio_op *op);
struct cio_board_memory cio_board_memory_of(struct cio_op *op);

/*
 * Wakes members first to end - 1 of the group, who may sleep on a word of the board that has
 * changed. Sleeps inside MPI until it is not `seen` any more: 0, or at once -ENOTSUP, since there
 * is no board that others write on.
 */
void cio_board_wake(struct cio_op *op, uint32_t *word, int first, int end);
int cio_board_sleep(struct cio_op *op, const uint32_t *word, uint32_t seen);

/* The leader's word to all members; how many answers are then to come; whether they have. */
void cio_board_tell(struct cio_op *op, const struct cio_ctl *ctl);
void cio_board_expect(struct cio_op *op);
int cio_board_answered(const struct cio_op *op);
/* A member's side: whether there is a new word; the answer to it. */
int cio_board_hear(struct cio_op *op, struct cio_ctl *ctl);
void cio_board_answer(struct cio_op *op, const struct cio_ctl *ctl);
/*
 * Members that are through. The leader answers in the stead of so many; when it has told the
 * outcome to the others, or these have no board any more, it tells it to those who hear of it by
 * the board.
 */
enum cio_through { CIO_THROUGH_NOT, CIO_THROUGH_BOARD, CIO_THROUGH_MESSAGE };
void cio_board_answer_for(struct cio_op *op, int members);
void cio_board_tell_through(struct cio_op *op, const char *through, const struct cio_ctl *ctl);
int cio_board_hear_through(struct cio_op *op, struct cio_ctl *ctl);

/* Starts to reduce op->mine of all ranks to op->all; 1 when that is done; what it waits for. */
void cio_reduce_start(struct cio_op *op);
int cio_reduce_progress(struct cio_op *op);
void cio_reduce_needs(struct cio_op *op, struct cio_needs *needs);
void cio_reduce_finish(struct cio_op *op);

/*
 * Member. begin makes it describe its first window on `board`, in the given area; handle obeys one
 * word of the leader's and fills in the answer (none to FINAL).
 */
void cio_member_begin(struct cio_op *op, struct cio_board *board, int area, struct cio_ctl *out);
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
/* A group of one: all that it has to do with its request is done, and the outcomes can come. */
int cio_leader_is_over(const struct cio_op *op);
/* Whether it can do without attention until what it has begun is over. */
int cio_leader_is_patient(const struct cio_op *op);
void cio_leader_finish(struct cio_op *op);

int cio_aggr_create(struct cio_op *op);
int cio_aggr_reserve(struct cio_op *op, int64_t slice);
int cio_aggr_progress(struct cio_op *op);
int cio_aggr_is_done(const struct cio_op *op);
/* What comes next, in the order in which leaders send: it does not depend on anything done here. */
void cio_aggr_needs(struct cio_op *op, struct cio_needs *needs);
/* A counter that changes when file access is over; NULL: there is none. */
const uint32_t *cio_aggr_word(const struct cio_op *op);
/* Whether it holds the lock of a range of the file. */
int cio_aggr_holds_lock(const struct cio_op *op);
/* Whether file access is under way. */
int cio_aggr_transfers(const struct cio_op *op);
/* Seconds of this call in which it was; only on an aggregator. */
double cio_aggr_file_time(const struct cio_op *op);
void cio_aggr_finish(struct cio_op *op);

#endif
