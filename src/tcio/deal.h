/*
 * Dealing out: the blocks of a log, or the wishes of a file, to the nodes whose segments they
 * touch. Those of this node go straight to the slots, those of each other node in records.
 */
#ifndef CIO_TCIO_DEAL_H
#define CIO_TCIO_DEAL_H

#include "tcio/state.h"

#define CIO_TCIO_WINDOW (64 << 10) /* of the file, read at once for small reads in a row */

/* The resolved log of the file; all of it has arrived when this returns. */
int cio_deal_writes(struct cio_tcio *f);

/* Reads, sorted by offset; *cut as of cio_walk_read(). */
int cio_deal_reads(struct cio_tcio *f, const struct cio_wish *wish, int64_t n, int64_t *cut);

/* Immediate spaces: level 2 may have something that the file has not. */
int cio_tcio_in_use(const struct cio_tcio *f);

#endif
