/*
 * The inside of a leader, for the files that make it up: leader.c (its life, its members, and what
 * follows what), leader_window.c (windows and copies), leader_fly.c (messages to the aggregators),
 * leader_follow.c (members that follow), leader_excuse.c (when it cannot go on).
 *
 * A leader is a local aggregator. It has the lists of each window merged, if that pays, and copied
 * by all members, and alone talks to the aggregators:
 *
 *   READY -> LISTS -> MERGE -> write: COPY -> FLY -> next window: LISTS
 *                              read:  FLY -> COPY    last one: BITS -> DONES -> FINAL
 *                                                    no memory: EXCUSE -> BITS -> ...
 *
 * In the last window of a read from which ranks may return early, members do not copy when all of
 * it has come: each does when its own part has (they follow).
 */
#ifndef CIO_EXEC_LEAD_H
#define CIO_EXEC_LEAD_H

#include "exec/internal.h"
#include "exec/window.h"

/* A message on its way to an aggregator, and (read) its answer. */
struct cio_flight {
    struct cio_req send, reply;
    int64_t serial; /* 0: not used */
    struct cio_unit *unit;
    int64_t answer;       /* bytes that will be its answer (read) */
    int64_t ack;          /* that of a near aggregator */
    struct cio_head head; /* of a unit's messages after the first */
};

/* The next message: parts of a unit. */
struct cio_next {
    int64_t unit, part;
    int64_t meta, data; /* bytes of the parts before */
};

/*
 * How far an aggregator lets the group go (write). It has a sub-buffer for each of its first
 * positions, op->pipe.depth of them, from the start; then it tells of further ones that the group
 * touches when it has begun with them. So no more comes to it than there is room for.
 */
struct cio_leave {
    int64_t upto; /* this position may be sent, and those before */
    int64_t last; /* that the group touches; -1: none */
    struct cio_req req;
    struct cio_head head; /* what is received next */
};

/* A member that takes its part of a read as soon as all of it has come. */
struct cio_follower {
    int64_t left; /* units of its that have not */
    int missing;  /* something of them failed */
    int served;   /* without shared memory: its bytes have been sent, or are on their way */
    struct cio_ctl word;
};

struct cio_leader {
    enum {
        CIO_LEADER_READY,
        CIO_LEADER_LISTS,
        CIO_LEADER_MERGE,
        CIO_LEADER_COPY,
        CIO_LEADER_FLY,    /* messages are sent to the aggregators, and (read) answered */
        CIO_LEADER_EXCUSE, /* it cannot go on, and tells the aggregators */
        CIO_LEADER_BITS,   /* what was sent first may still be on its way */
        CIO_LEADER_DONES,
        CIO_LEADER_FINAL,
        CIO_LEADER_DONE
    } step;
    int k;                         /* members, me included */
    int followed;                  /* members follow in this window */
    struct cio_follower *follower; /* per member */
    char *through;                 /* per member: enum cio_through, */
    int nthrough;                  /* so many by the board */
    struct cio_board *board;
    struct cio_ctl *in;      /* per member: its last message */
    struct cio_req *in_req;  /* per member */
    struct cio_req *payload; /* three per member */
    struct cio_ctl out;      /* to all members */
    struct cio_req *out_req; /* per member */
    int64_t end;             /* the window's last unit, which may not be complete: */
    int64_t partial;         /* it was that of the window before, */
    int32_t messages;        /* which has sent this many of it */
    int merge;               /* -1: not decided yet */
    int64_t from;            /* all units before this have been sent */
    int boardless;           /* there is no memory for a board: nothing more can be sent */
    int bits_sent;
    uint64_t *bits; /* positions that the group touches, by aggregator */
    char *coded;    /* positions for each aggregator, in coded_size bytes */
    int64_t coded_size;
    struct cio_head *dones;    /* per aggregator */
    struct cio_req *aggr_req;  /* per aggregator */
    struct cio_flight *flight; /* nflights of them */
    int nflights;
    int used;  /* of these, so many at most have been */
    int burst; /* the window is sent at once */
    int64_t launched;
    int aloft;               /* messages in flight */
    int64_t *sent;           /* messages to each aggregator */
    struct cio_leave *leave; /* per aggregator */
    int restrained;          /* aggregators that have yet to give leave for the last position */
    char *near;              /* per aggregator: it sees my board */
    struct cio_next next;
    char *stream; /* one member's bytes, without shared memory */
    int64_t stream_size;
    int stream_member;
    struct cio_req stream_req;
    double since;
};

/* Members whose answers are messages. */
static inline int cio_leader_by_message(const struct cio_op *op)
{
    return !op->shared && op->leader->k > 1;
}

/*
 * Members (leader.c). expect_members: one answer from every other member is to come. send_word:
 * l->out to every other member, where those that are through hear of the outcome only.
 * tell_members: l->out to every member, whose answers, except to FINAL, are then to come; my own
 * obeys at once.
 */
void cio_leader_expect_members(struct cio_op *op);
void cio_leader_send_word(struct cio_op *op);
void cio_leader_tell_members(struct cio_op *op);

/*
 * Windows (leader_window.c). list_window: the window ends with the unit in which the first member
 * had to stop; 0, or why memory cannot be had. plan_merge: whether it is to be merged, and there is
 * memory for that. merge_alone merges all of it, where asking the members would take longer, or
 * they do not see the board; merge_for_through, the parts of members that are not there
 * any more. note_units counts its units in the statistics.
 */
int cio_leader_list_window(struct cio_op *op);
int cio_leader_plan_merge(struct cio_op *op);
void cio_leader_merge_alone(struct cio_op *op);
void cio_leader_merge_for_through(struct cio_op *op);
void cio_leader_note_units(struct cio_op *op);

/* The side of a copy that a member whose bytes come by message, or a read's request, leaves to me.
 */
struct cio_copy cio_leader_copy_for(struct cio_op *op, int member);
/* Members copy their lists' code with their data, except where data comes later or by message. */
void cio_leader_copy_code(struct cio_op *op);
/* What members are told when they are to copy. */
struct cio_ctl cio_leader_copy_word(const struct cio_op *op, enum cio_ctl_kind kind, int doubtful);
/* Has all members copy. */
void cio_leader_begin_copy(struct cio_op *op);
/* A member's bytes of a read, which `c` has of it, as a message. */
void cio_leader_send_stream(struct cio_op *op, int member, const struct cio_copy *c);
/* Bytes of members that share no memory, one member after the other. 1 if something moved. */
int cio_leader_move_streams(struct cio_op *op);

/*
 * Messages on their way (leader_fly.c). most_in_flight: how many there can be at once.
 * begin_flights: the window's are to be sent next; members follow, if they may. fly keeps messages
 * in flight until all of the window's have been sent, and (read) answered: 1 if something advanced.
 * flying: this is not so yet. all_launched: all have at least been begun.
 *
 * begin_leave: the positions that the group touches at an aggregator, as it will be told.
 * take_grants: 1 if one has come. needs_flight: what has to come next.
 */
void cio_leader_begin_leave(struct cio_op *op, int aggr, const uint64_t *bits);
int cio_leader_take_grants(struct cio_op *op);
void cio_leader_needs_flight(struct cio_op *op, struct cio_needs *needs);
int cio_leader_most_in_flight(const struct cio_op *op);
void cio_leader_begin_flights(struct cio_op *op);
int cio_leader_fly(struct cio_op *op);
int cio_leader_flying(const struct cio_leader *l);
int cio_leader_all_launched(const struct cio_leader *l);

/*
 * What was promised to the aggregators and cannot be sent (leader_excuse.c). excuse: 1 if something
 * advanced; excusing: not everything has been said yet; needs_excuse: what has to come next.
 */
int cio_leader_excuse(struct cio_op *op);
int cio_leader_excusing(const struct cio_op *op);
void cio_leader_needs_excuse(struct cio_op *op, struct cio_needs *needs);

/*
 * Members that follow (leader_follow.c). may_follow: only in the last window, since members are
 * needed to begin with another. begin_following: each takes its part as soon as all of it has come.
 */
int cio_leader_may_follow(const struct cio_op *op);
void cio_leader_begin_following(struct cio_op *op);
/* All of a unit has come, or will not. Who has been released may use its area for other things. */
void cio_leader_note_landed(struct cio_op *op, const struct cio_unit *u);
/* Without shared memory, one after the other: 1 if it was somebody's turn. */
int cio_leader_serve_followers(struct cio_op *op);

#endif
