/* Messages through MPI. */
#ifndef CIO_PORT_COMM_MPI_H
#define CIO_PORT_COMM_MPI_H

#include <mpi.h>

#include "port/comm.h"

/*
 * A port over `comm`, which stays the caller's and must outlive it; it is not duplicated, so the
 * caller chooses tags that nobody else uses on it. Many may exist over one communicator, and each
 * waits only for its own requests. -ENOMEM.
 */
int cio_comm_mpi_create(MPI_Comm comm, struct cio_comm **out);

/*
 * Frees what all ports share (an MPI operation and datatypes kept as attributes of `comm`), if the
 * implementation keeps such; called before the communicator is freed.
 */
void cio_comm_mpi_release(MPI_Comm comm);

#endif
