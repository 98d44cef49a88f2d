/*
 * What the programs of bench/tcio write and read: pieces of a file, each of them one call of an
 * independent program.
 *
 * - synthetic, the paper's benchmark: arrays of several types, a few elements of each in turn, and
 *   blocks of these of all ranks in turn (program 3, figure 2).
 * - art, the cosmology code: segments of the file, round-robin over the ranks. Each holds as many
 *   trees as a normal distribution says (table IV), or one of `share` of these. A tree (figure 8)
 *   is its depth, the number of variables, the cells of each level, and for each cell its variables
 *   and whether it is refined: 129 arrays if it has six levels.
 * - ior-hard: records of 47,008 bytes, one of each rank in turn.
 * - contiguous: one block of each rank.
 *
 * Nothing here calls MPI: the type of a piece is only named.
 */
#ifndef TAMIO_BENCH_TCIO_WORK_H
#define TAMIO_BENCH_TCIO_WORK_H

#include <mpi.h>
#include <stdint.h>

#define WORK_ARRAYS 16

struct work_sizes {
    char types[WORK_ARRAYS + 1]; /* synthetic: a letter of `csifd` for each array */
    int64_t length, access;      /* synthetic: of an array, and of a call, in elements */
    int64_t segments, share;     /* art */
    int64_t calls, call;         /* ior-hard, contiguous: of a rank, and bytes of each */
};

struct work {
    const struct work_kind *kind;
    struct work_sizes sizes;
    int rank, ranks;
    int64_t room;            /* bytes of memory that the pieces lie in */
    int64_t block;           /* synthetic: bytes of one turn of all arrays */
    int64_t *trees, *starts; /* art: of each segment, and where it starts in the file */
    int64_t pieces, bytes;   /* of this rank */
    int64_t file_bytes;      /* of all */
};

struct work_piece {
    int64_t off; /* in the file */
    int64_t at;  /* in memory */
    int64_t bytes;
    int count;
    MPI_Datatype type;
};

/* 0, or what a visitor returned that is not, which ends the walk. */
typedef int (*work_visit)(void *arg, const struct work_piece *p);

/* NULL, or what is wrong. Ends with work_destroy. */
const char *work_create(const char *name, const struct work_sizes *sizes, int rank, int ranks,
                        struct work *w);
void work_destroy(struct work *w);

/* All pieces, in the order of the program. */
int work_walk(const struct work *w, work_visit visit, void *arg);

/* The memory of this rank, which says where it belongs. */
void work_fill(const struct work *w, char *memory);

#endif
