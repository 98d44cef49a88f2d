/* One-sided communication between the threads of a process: each of them is a rank. For tests. */
#ifndef CIO_PORT_ONESIDED_LOOP_H
#define CIO_PORT_ONESIDED_LOOP_H

#include "port/onesided.h"

struct cio_onesided_loop;

/*
 * `size` ranks, of which `node_of[r]` says on which node rank r is (0, 1, ... without gaps), with a
 * region of `bytes` each. -ENOMEM.
 */
int cio_onesided_loop_create(int size, const int *node_of, int64_t bytes,
                             struct cio_onesided_loop **out);

/* The port of a rank; one for each, used by its thread (and those that the rank makes). -ENOMEM. */
int cio_onesided_loop_port(struct cio_onesided_loop *loop, int rank, struct cio_onesided **out);

/* Whether a rank shall look as if it computed: it does not respond. */
void cio_onesided_loop_busy(struct cio_onesided *os, int rank, int busy);

/* From now on so many bytes can be backed, by all ranks together. */
void cio_onesided_loop_limit(struct cio_onesided_loop *loop, int64_t bytes);

/* Once all ports are destroyed. */
void cio_onesided_loop_destroy(struct cio_onesided_loop *loop);

#endif
