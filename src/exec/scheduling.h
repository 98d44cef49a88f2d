/*
 * The inside of scheduling, for the files that make it up: schedule.c (whether, and its stages),
 * schedule_group.c (who touches what), schedule_plan.c (aggregators and planner), schedule_order.c
 * (the orders, and who follows them).
 */
#ifndef CIO_EXEC_SCHEDULING_H
#define CIO_EXEC_SCHEDULING_H

#include "exec/schedule.h"
#include "exec/stream.h"
#include "plan/pattern.h"

/* One rank's row of a pattern, on its way from its leader to an aggregator; its code follows. */
struct cio_sched_row {
    int32_t rank;
    int32_t bytes;
};

/* Group: a member, or a leader for all of its own. */
enum cio_sched_role { CIO_SCHED_GROUP, CIO_SCHED_AGGREGATOR, CIO_SCHED_PLANNER, CIO_SCHED_ROLES };

/* Memory with its size, for cio_op_free. */
struct cio_block {
    char *p;
    int64_t size;
};

struct cio_scheduling {
    int stage;
    int entered; /* the stage is, */
    int begun;   /* a stream is received in it, */
    int turn;    /* and whose */
    /* why this rank, or what it speaks for, can have no part in it; 0: it can */
    int lost[CIO_SCHED_ROLES];
    double stripe; /* seconds */
    double since;
    struct cio_inbox in;
    struct cio_outbox *out; /* all streams that this rank may send, */
    int nout, boxes;        /* and how many of them there are, at most */

    struct cio_block rows;     /* sets of positions: of the group, or my own */
    struct cio_block patterns; /* leader: for the aggregators, a part for each behind their sizes, */
    int64_t told;              /* so many bytes in all; */
    struct cio_block *theirs;  /* first leader of a node: those of the others, */
    struct cio_block bundle;   /* and all of them, for each aggregator together */
    struct cio_block orders;   /* leader, or member by message: order, then index, of all */
    uint32_t *order, *index;

    struct cio_pattern *pattern;     /* aggregator */
    struct cio_block report, answer; /* to the planner */
    uint32_t *mine;                  /* its own order */

    struct cio_pattern **all; /* planner: NULL, if it needs the counts only */
    uint32_t *busiest;
    struct cio_block plan;
    struct cio_block joint; /* the answers of all aggregators, */
    int64_t joined;         /* so many bytes of it */

    struct cio_decision decision;
};

static inline int cio_sched_leads(const struct cio_op *op)
{
    return op->leader != NULL;
}

static inline int cio_sched_plans(const struct cio_op *op)
{
    return op->env.team->my_aggr == 0;
}

/* Whether the aggregators cannot make their orders by themselves; or the response is wanted. */
static inline int cio_sched_is_planned(const struct cio_op *op)
{
    return op->set.explain ||
           (op->set.schedule != CIO_SCHEDULE_MDF && op->set.schedule != CIO_SCHEDULE_LW_MDF);
}

/* The planner needs no patterns for GW-MDF. */
static inline int cio_sched_is_counted(const struct cio_op *op)
{
    return op->set.schedule == CIO_SCHEDULE_GW_MDF && !op->set.explain;
}

/* In a group without shared memory. */
static inline int cio_sched_by_message(const struct cio_op *op)
{
    return !op->shared && op->env.team->group_size > 1;
}

static inline void cio_sched_lose(struct cio_op *op, enum cio_sched_role role, int error)
{
    if (op->scheduling->lost[role] == 0)
        op->scheduling->lost[role] = error;
}

static inline int cio_sched_has_part(const struct cio_op *op, enum cio_sched_role role)
{
    return op->scheduling->lost[role] == 0;
}

/* Whether a stage has just begun. */
static inline int cio_sched_enter(struct cio_op *op)
{
    return !op->scheduling->entered++;
}

static inline int64_t cio_sched_row_bytes(const struct cio_op *op)
{
    return (int64_t)(cio_rounds_words(&op->rounds) * sizeof(uint64_t));
}

static inline struct cio_board *cio_sched_board(const struct cio_op *op)
{
    return op->env.segment->mem.base;
}

/* NULL, or room for so many bytes. */
void *cio_sched_get(struct cio_op *op, struct cio_block *b, int64_t size);
void cio_sched_drop(struct cio_op *op, struct cio_block *b);

/* What was lost otherwise than for want of memory is an error of the operation. */
void cio_sched_judge(struct cio_op *op, enum cio_sched_role role, int error);

/* Sends a stream: of bytes, or of why this rank has none in that role. */
void cio_sched_send(struct cio_op *op, enum cio_sched_role as, int dest, enum cio_tag tag,
                    const struct cio_block *data, int64_t size);

/* Has a stream from each of `n` ranks, one after the other: 1 when there are no more. */
int cio_sched_receive(struct cio_op *op, const int *ranks, int n, enum cio_tag tag,
                      void (*take)(struct cio_op *op, int turn));

/* Bytes of one aggregator's answer, at most; of all of them as they travel: each behind its size,
 * or behind why there is none. */
int64_t cio_sched_answer_bytes(const struct cio_op *op);
int64_t cio_sched_joint_bytes(const struct cio_op *op);

/* For the statistics. */
void cio_sched_note(struct cio_op *op, const struct cio_decision *d);

/* The stages, in their order (schedule.c): 1 when one is over. */
int cio_sched_mark(struct cio_op *op);
int cio_sched_gather(struct cio_op *op);
int cio_sched_bundle(struct cio_op *op);
int cio_sched_tell_patterns(struct cio_op *op);
int cio_sched_collect(struct cio_op *op);
int cio_sched_report(struct cio_op *op);
int cio_sched_plan(struct cio_op *op);
int cio_sched_hear_plan(struct cio_op *op);
int cio_sched_join(struct cio_op *op);
int cio_sched_hear_orders(struct cio_op *op);
int cio_sched_follow(struct cio_op *op);

#endif
