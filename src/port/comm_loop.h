/*
 * Messages between ranks that all live in this process, with no threads: tests call each rank's
 * state machine in turn. Delivery order between different pairs is shuffled by a seed; waiting
 * does not block, since another rank must run first.
 */
#ifndef CIO_PORT_COMM_LOOP_H
#define CIO_PORT_COMM_LOOP_H

#include "port/comm.h"

struct cio_loop;

/* A world of `size` ranks. The ports of cio_loop_comm belong to it. -ENOMEM. */
int cio_loop_create(int size, uint64_t seed, struct cio_loop **out);
void cio_loop_destroy(struct cio_loop *loop);

/*
 * A new port of one rank; destroyed with cio_comm_destroy, before the world, and only once none of
 * its requests is active, which is asserted.
 */
int cio_loop_comm(struct cio_loop *loop, int rank, struct cio_comm **out);

/*
 * Counts since creation: messages and bytes between ranks for which node[] differs, and in all.
 * Until cio_loop_set_nodes copies a node[] in, all ranks are on one node.
 */
struct cio_loop_counts {
    int64_t messages, bytes, inter_messages, inter_bytes;
    int64_t most_unmet; /* bytes to one rank that it had no receive for */
};
void cio_loop_set_nodes(struct cio_loop *loop, const int *node_of);
void cio_loop_get_counts(const struct cio_loop *loop, struct cio_loop_counts *counts);

/*
 * Loses something, once: the message number `at` (from 0) on its receiver's side, which is told
 * that its receive has failed, or on its sender's, whose send has failed and whose receiver hears
 * nothing; or lets the poll number `at` fail. has_lost: whether it has come to that.
 */
enum cio_loop_side { CIO_LOOP_RECEIVER, CIO_LOOP_SENDER, CIO_LOOP_POLL };
struct cio_loop_loss {
    enum cio_loop_side side;
    int64_t at; /* -1: nothing */
};
void cio_loop_lose(struct cio_loop *loop, struct cio_loop_loss loss);
int cio_loop_has_lost(const struct cio_loop *loop);

/* Number of sends and receives that are still active: 0 once every operation has been drained. */
int cio_loop_pending(const struct cio_loop *loop);

#endif
