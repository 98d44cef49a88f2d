/*
 * One window: the units that the members' lists belong to, and their messages.
 *
 * The messages of a unit are made of the members' own lists, one after the other; or, where that
 * makes the pieces fewer, of their pieces merged and coalesced.
 */
#ifndef CIO_EXEC_WINDOW_H
#define CIO_EXEC_WINDOW_H

#include "exec/board.h"
#include "exec/op.h"

/*
 * Lists the units up to `end` that the members have lists of, in their order, and decides where the
 * members' lists go if they are not merged. 0, or why memory cannot be had.
 */
int cio_window_list(struct cio_board *board, const struct cio_board_memory *m, int64_t end);

/* Pieces that would be left of 1,000 if the window were merged, from a sample. */
int cio_window_sample(struct cio_board *board, const struct cio_rounds *r, struct cio_alloc alloc);

/* Makes room for merging instead. 0, or why memory cannot be had. */
int cio_window_plan_merge(struct cio_board *board, const struct cio_board_memory *m,
                          const struct cio_rounds *r, int64_t list_bytes);

/*
 * Merges the units u with u mod members == member: pieces get positions, and segments are coded, in
 * lists of at most list_bytes each.
 */
void cio_window_merge(struct cio_board *board, const struct cio_rounds *r, int member,
                      int64_t list_bytes, struct cio_alloc alloc);

/* A member's side of a copy, of its first `lists` lists. */
struct cio_copy {
    struct cio_board *board;
    struct cio_area area;
    int64_t lists;
    int merged;
    int write;
    const struct cio_rounds *rounds;
    const struct cio_request *req; /* its memory; or */
    char *stream;                  /* a plain buffer with just these bytes, if it is not NULL */
};

/* Copies the lists' code to the messages, where it is needed there. */
void cio_copy_code(const struct cio_copy *c);

/* Copies bytes between the messages and memory. */
void cio_copy_data(const struct cio_copy *c);

/* Copies bytes between memory and a plain buffer. */
void cio_copy_stream(const struct cio_area *area, int64_t lists, const struct cio_request *req,
                     char *stream, int write);

static inline struct cio_part *cio_unit_parts(struct cio_board *board, const struct cio_unit *u)
{
    return (struct cio_part *)((char *)board + u->at + sizeof(struct cio_head));
}

#endif
