/* Messages through MPI. */
#ifndef CIO_PORT_COMM_MPI_H
#define CIO_PORT_COMM_MPI_H

#include "port/comm.h"
#include "port/names_mpi.h"

enum cio_mpi_mode {
    CIO_MPI_CROWDED = 1 /* ranks outnumber cores: be sparing with looking */
};

/*
 * A port over `comm`, which stays the caller's and must outlive it; it is not duplicated, so the
 * caller chooses tags that nobody else uses on it. Many may exist over one communicator, and each
 * waits only for its own requests. Not collective, and cheap. Destroyed once none of its requests
 * is active. -ENOMEM.
 */
int cio_comm_mpi_create(MPI_Comm comm, unsigned mode, struct cio_comm **out);

#endif
