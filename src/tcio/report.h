/* What was done with a file, as one line of JSON: for libtcio, MPI-IO and POSIX programs alike. */
#ifndef CIO_TCIO_REPORT_H
#define CIO_TCIO_REPORT_H

#include <stddef.h>

#include "tcio/space.h"

/* The numbers in it, for those who add them up or show them one by one. */
#define CIO_TCIO_COUNTS 16
extern const char *const cio_tcio_count_name[CIO_TCIO_COUNTS];

/* Those of a file, and what this process has done as a part of the space; *waiting in seconds. */
void cio_tcio_counts(const struct cio_space *space, const struct cio_tcio *f,
                     int64_t count[CIO_TCIO_COUNTS], double *waiting);

/* Only the latter: what a process has done for all files. */
void cio_space_counts(const struct cio_space *space, int64_t count[CIO_TCIO_COUNTS],
                      double *waiting);

struct cio_tcio_report {
    const char *file;
    const char *call; /* that ended it */
    int ranks;
    int64_t segment_size, segments;
    int immediate;
    const int64_t *sum, *most; /* CIO_TCIO_COUNTS of all ranks, added up, and the most of any */
    double waiting;            /* the longest */
    const char *more;          /* further members, as in `"passed": 3, "why": "atomic"`; or NULL */
};

/* Into `line`, without an end of line. Returns its length, as snprintf does. */
int cio_tcio_json(const struct cio_tcio_report *r, char *line, size_t size);

#endif
