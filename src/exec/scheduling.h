/*
 * The inside of scheduling, for the files that make it up: schedule.c (whether, and its stages),
 * schedule_group.c (who of a node touches what), schedule_aggr.c (aggregators that make their
 * orders by themselves), schedule_plan.c (the planner, which makes those of all), schedule_order.c
 * (the orders, and who follows them).
 */
#ifndef CIO_EXEC_SCHEDULING_H
#define CIO_EXEC_SCHEDULING_H

#include "exec/schedule.h"
#include "exec/stream.h"
#include "plan/pattern.h"
#include "plan/schedule.h"

/* One rank's row of a pattern, on its way from its leader to the first one; its code follows. */
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
    int soon;      /* members of groups return before anything is served */
    double since;
    struct cio_inbox in;
    struct cio_outbox *out; /* all streams that this rank may send, */
    int nout, boxes;        /* and how many of them there are, at most */

    struct cio_block rows;     /* sets of positions: of the group, or my own */
    struct cio_pattern **node; /* first leader of a node: who of it touches what, per aggregator */
    struct cio_block parts;    /* leader: rows, or code of its node; a part for each aggregator, */
    int64_t told;              /* so many bytes in all */
    struct cio_block orders;   /* leader, or member by message: order, then index, of all */
    uint32_t *order, *index;

    struct cio_pattern *pattern; /* aggregator by itself */
    struct cio_block counts;     /* GW-MDF: stripes per rank, for the planner */
    uint32_t *mine;              /* its order */
    struct cio_block answer;     /* of one aggregator */

    struct cio_pattern **all; /* planner: who touches what, per aggregator; */
    uint32_t *busiest;        /* GW-MDF: the largest of the counts, */
    struct cio_block plan;    /* and their code */
    struct cio_block joint;   /* the answers of all aggregators, */
    int64_t joined;           /* so many bytes of it */

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

/* Whether aggregators must know, for their orders, what ranks touch at the others. */
static inline int cio_sched_is_counted(const struct cio_op *op)
{
    return op->set.schedule == CIO_SCHEDULE_GW_MDF && !op->set.explain;
}

/* Whether the planner makes all orders: aggregators cannot by themselves, or the response is
 * wanted. */
static inline int cio_sched_is_central(const struct cio_op *op)
{
    return op->set.explain ||
           (op->set.schedule != CIO_SCHEDULE_MDF && op->set.schedule != CIO_SCHEDULE_LW_MDF &&
            op->set.schedule != CIO_SCHEDULE_GW_MDF);
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

/* A pattern for each aggregator, with nobody in it: NULL for want of memory. */
struct cio_pattern **cio_sched_make_patterns(const struct cio_op *op);
void cio_sched_drop_patterns(const struct cio_op *op, struct cio_pattern **patterns);

/* Bytes before the parts of a message with one for each aggregator: these are their sizes. */
static inline int64_t cio_sched_parts_head(const struct cio_op *op)
{
    return op->rounds.naggr * (int64_t)sizeof(int64_t);
}

/* Adds the parts of such a message, which has been received, to the patterns of their aggregators.
 * -EBADMSG, -ENOMEM; or why there is no message. */
int cio_sched_take_parts(const struct cio_op *op, struct cio_pattern **patterns,
                         int (*take)(struct cio_pattern *p, const char *data, int64_t size));

/* For the statistics. */
void cio_sched_count_pattern(struct cio_op *op, const struct cio_pattern *p);

/* An aggregator's order by a plan, behind what was decided, in s->answer: its bytes. */
int cio_sched_make_answer(struct cio_op *op);
int64_t cio_sched_answer(struct cio_op *op, const struct cio_schedule_plan *plan,
                         const uint32_t *order);

/* The answer of the next aggregator, or why there is none, for all ranks. */
int cio_sched_make_joint(struct cio_op *op);
void cio_sched_join_answer(struct cio_op *op, const char *data, int64_t size);

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
int cio_sched_collect_all(struct cio_op *op);
int cio_sched_report(struct cio_op *op);
int cio_sched_plan(struct cio_op *op);
int cio_sched_find_maxima(struct cio_op *op);
int cio_sched_hear_plan(struct cio_op *op);
int cio_sched_join(struct cio_op *op);
int cio_sched_hear_orders(struct cio_op *op);
int cio_sched_follow(struct cio_op *op);

#endif
