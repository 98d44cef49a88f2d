/* A member's description of its pieces: lists in its area of the board, each one coded. */
#ifndef CIO_EXEC_DESCRIBE_H
#define CIO_EXEC_DESCRIBE_H

#include "exec/board.h"
#include "exec/op.h"

/* The most pieces in one list, and the most bytes of its code. */
#define CIO_LIST_PIECES 1024
#define CIO_LIST_CODED ((int64_t)CIO_LIST_PIECES * 11 + 32)

struct cio_describer {
    const struct cio_request *req;
    const struct cio_rounds *rounds;
    struct cio_area area;
    struct cio_board_memory memory;
    int64_t budget;
    int64_t list_bytes; /* the most in one list */
    int marked;         /* the area's set of positions is complete */
};

/*
 * Describes the pieces from *place on, as many as the budget allows, and moves *place to where it
 * had to stop ({units, 0}: nowhere). The first time, area.bits becomes the set of positions that
 * the whole request touches. 0, or why memory cannot be had.
 */
int cio_describe(struct cio_describer *d, struct cio_place *place);

/* Adds every position that a request touches to a set of them (rounds.h). */
void cio_describe_positions(const struct cio_request *req, const struct cio_rounds *rounds,
                            uint64_t *bits);

/* How many of the area's lists belong to units up to t, and their bytes. */
int64_t cio_area_lists(const struct cio_area *area, int64_t t);
int64_t cio_area_bytes(const struct cio_area *area, int64_t lists);

#endif
