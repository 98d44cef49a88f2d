/*
 * Calls of a few KB: the words of the reduction carry all that there is to do, the root of its tree
 * does it, and the words that come back carry the outcome and, in a read, the data. There are no
 * segments, rounds or buffers of cb_buffer_size in it, and no further message.
 *
 *   up     words | what a rank attached | another ...      each: head, coded pieces, data
 * (write) down   words | bytes of a rank | bytes of another ...        (read)
 *
 * On the way everybody's parts follow each other in one order: the rank's own, those of its
 * members, those of its children, in theirs. So what comes back is handed on in slices, whose
 * lengths are known from the words that went up.
 *
 * Where anybody has more than fits, or cannot attach it, the words say so (CIO_SUM_LARGE,
 * CIO_SUM_ATTACHED), nothing is attached from there on, and the operation goes its ordinary way.
 */
#ifndef CIO_EXEC_SMALL_H
#define CIO_EXEC_SMALL_H

#include "exec/internal.h"

/* What this rank has to do, attached to its words. Or it cannot be: then the words say so. */
void cio_small_describe(struct cio_op *op);

/* How many bytes follow these words on their way up; on their way down to these ranks. */
int64_t cio_small_up(const struct cio_op *op, const struct cio_reduction *words);
int64_t cio_small_down(const struct cio_op *op, const struct cio_reduction *all, int64_t bytes);

/* Adds what came attached to somebody's words to what goes on; op->all has them joined already. */
void cio_small_add(struct cio_op *op, const char *attached, int64_t size);

/*
 * At the root, which has everybody's words: does it all, if it is little enough. The words in
 * op->all tell then that it has, with its error, and reduce.own.attached has the data of a read.
 */
void cio_small_serve(struct cio_op *op);

static inline int cio_small_is_served(const struct cio_op *op)
{
    return op->all.sum[CIO_SUM_SERVED] != 0;
}

/* This rank's bytes of a read, from where they have come to. */
void cio_small_take(struct cio_op *op, const char *bytes);

#endif
