/*
 * The job of this process: one space over MPI_COMM_WORLD for all its files, from MPI_Init to
 * MPI_Finalize.
 */
#ifndef TAMIO_POSIX_JOB_H
#define TAMIO_POSIX_JOB_H

#include <stdint.h>

#include "tcio/space.h"

/* NULL before MPI_Init, after MPI_Finalize, and where there could be none. */
struct cio_space *job_space(void);

/* What the space was made with. */
const struct cio_space_settings *job_settings(void);

/* Of this process, in MPI_COMM_WORLD. */
int job_rank(void);

/* After fork(), in the child: there is no job. */
void job_forget(void);

/* Whether this thread may make calls of the MPI. */
int job_thread_may_call(void);

/* Whether code at this address is a part of the MPI: what it opens is its own affair. */
int job_is_mpi(const void *address);

#endif
