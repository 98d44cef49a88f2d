/*
 * The memory of a group's board, and the notes that leader and members leave on it.
 *
 * Nobody is asked whether a segment can be had: every rank of a group joins it by a name that all of
 * them know, and says in the reduction that all operations begin with whether it has. The last one
 * to join removes the name; where one is missing, the leader does, after the reduction.
 */
#include "exec/internal.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "port/log.h"

static int64_t clamp_budget(int64_t bytes)
{
    return cio_min64(cio_max64(bytes, CIO_BUDGET_MIN), CIO_BUDGET_MAX);
}

/* Bytes of a window for each member. Without shared memory the leader holds those of all. */
int64_t cio_op_budget(const struct cio_op *op)
{
    if (op->shared)
        return clamp_budget(op->set.memory_limit);
    return clamp_budget(op->set.memory_limit / op->env.team->group_size);
}

/* Maps a segment and, as the first one there, lays it out. */
static int join(struct cio_segment *seg, const struct cio_node_memory *port,
                const struct cio_team *team, int64_t memory_limit)
{
    int64_t budget = clamp_budget(memory_limit);
    int64_t size = cio_board_size(team->group_size, budget, team->naggr);
    char name[CIO_NODEMEM_NAME_MAX];
    struct cio_board *board;
    int rc;

    snprintf(name, sizeof(name), "/tamio-%s-%d", seg->key, team->my_leader);
    rc = port->ops->join(port->self, name, size, &seg->mem);
    if (rc != 0)
        return rc;
    rc = port->ops->back(port->self, &seg->mem, 0, cio_board_head_size(team->group_size));
    if (rc != 0) {
        cio_segment_leave(seg, *port);
        return rc;
    }
    board = seg->mem.base;
    rc = (int)__atomic_fetch_add(&board->joined, 1, __ATOMIC_ACQ_REL);
    if (rc == 0)
        cio_board_init(board, team->group_size, budget, team->naggr);
    if (rc == team->group_size - 1)
        port->ops->forget(port->self, &seg->mem);
    return 0;
}

int cio_segment_join(struct cio_segment *seg, struct cio_node_memory nodemem,
                     const struct cio_team *team, int64_t memory_limit)
{
    int rc;

    if (seg->refused || seg->key[0] == '\0')
        return -ENOTSUP;
    if (seg->mem.base != NULL || team->group_size == 1)
        return 0;
    rc = join(seg, &nodemem, team, memory_limit);
    if (rc == 0)
        return 0;
    cio_log(CIO_LOG_NOTICE,
            "rank %d: no shared memory for its group (%s): messages are used instead", team->rank,
            strerror(-rc));
    seg->refused = 1;
    return rc;
}

int cio_board_join(struct cio_op *op)
{
    if (op->set.transport == CIO_TRANSPORT_P2P)
        return -ENOTSUP;
    return cio_segment_join(op->env.segment, op->env.nodemem, op->env.team, op->set.memory_limit);
}

void cio_segment_leave(struct cio_segment *seg, struct cio_node_memory nodemem)
{
    if (seg->mem.base == NULL)
        return;
    nodemem.ops->forget(nodemem.self, &seg->mem);
    nodemem.ops->leave(nodemem.self, &seg->mem);
    seg->shared = 0;
    memset(&seg->mem, 0, sizeof(seg->mem));
}

int cio_board_own(struct cio_op *op, int k, struct cio_board **out)
{
    const struct cio_node_memory *port = &cio_nodemem_own;
    int64_t size = cio_board_size(k, cio_op_budget(op), op->env.team->naggr);
    int rc = port->ops->join(port->self, "", size, &op->own);

    if (rc != 0)
        return rc;
    cio_board_init(op->own.base, k, cio_op_budget(op), op->env.team->naggr);
    *out = op->own.base;
    return 0;
}

void cio_board_release(struct cio_op *op)
{
    if (op->own.base != NULL)
        cio_nodemem_own.ops->leave(cio_nodemem_own.self, &op->own);
    op->own.base = NULL;
}

struct cio_board_memory cio_board_memory_of(struct cio_op *op)
{
    if (op->shared)
        return (struct cio_board_memory){op->env.nodemem, &op->env.segment->mem};
    return (struct cio_board_memory){cio_nodemem_own, &op->own};
}

/* ---- notes ---- */

static struct cio_board *shared_board(const struct cio_op *op)
{
    return op->env.segment->mem.base;
}

void cio_board_tell(struct cio_op *op, const struct cio_ctl *ctl)
{
    struct cio_board *board = shared_board(op);

    board->down = *ctl;
    __atomic_add_fetch(&board->told, 1, __ATOMIC_RELEASE);
    op->env.nodemem.ops->wake(op->env.nodemem.self, &board->told);
}

void cio_board_expect(struct cio_op *op)
{
    op->env.segment->arrived += (uint32_t)op->env.team->group_size - 1;
}

int cio_board_answered(const struct cio_op *op)
{
    return __atomic_load_n(&shared_board(op)->arrived, __ATOMIC_ACQUIRE) ==
           op->env.segment->arrived;
}

int cio_board_hear(struct cio_op *op, struct cio_ctl *ctl)
{
    const struct cio_board *board = shared_board(op);
    struct cio_segment *seg = op->env.segment;

    if (__atomic_load_n(&board->told, __ATOMIC_ACQUIRE) == seg->told)
        return 0;
    seg->told++;
    *ctl = board->down;
    return 1;
}

/* The last answer wakes the leader. */
void cio_board_answer(struct cio_op *op, const struct cio_ctl *ctl)
{
    struct cio_board *board = shared_board(op);

    board->desc[op->env.team->my_member].up = *ctl;
    cio_board_expect(op);
    if (__atomic_add_fetch(&board->arrived, 1, __ATOMIC_ACQ_REL) == op->env.segment->arrived)
        op->env.nodemem.ops->wake(op->env.nodemem.self, &board->arrived);
}
