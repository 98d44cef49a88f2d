/*
 * The access patterns that matter, as file views and memory types of plain MPI. All of them are
 * deterministic, so that stock and tamio write the same file.
 */
#ifndef TAMIO_BENCH_PATTERNS_H
#define TAMIO_BENCH_PATTERNS_H

#include <mpi.h>

struct pattern {
    const char *name;
    const char *help;
    MPI_Datatype view;   /* file type, of bytes */
    MPI_Datatype memory; /* one of it is transferred */
    long long bytes;     /* of this rank */
    long long pieces;    /* of this rank, in the file */
    long long room;      /* bytes that the buffer needs */
};

/* Names and descriptions, ended by a NULL name. */
extern const struct pattern pattern_list[];

/* Makes a pattern for this rank; size is the total in bytes where the pattern lets one choose. */
int pattern_create(const char *name, int rank, int ranks, struct pattern *p);
void pattern_destroy(struct pattern *p);

/* Fills the bytes that the memory type covers, each from its number in the rank's stream. */
void pattern_fill(const struct pattern *p, int rank, char *buf);

/* Bytes that differ from what pattern_fill puts there. */
long long pattern_wrong(const struct pattern *p, int rank, const char *buf);

#endif
