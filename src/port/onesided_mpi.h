/* One-sided communication through MPI windows, and shared memory inside a node. */
#ifndef CIO_PORT_ONESIDED_MPI_H
#define CIO_PORT_ONESIDED_MPI_H

#include "port/names_mpi.h"
#include "port/nodemem.h"
#include "port/onesided.h"

/*
 * Collective over `comm`, which stays the caller's, is used by nobody else while the port lives,
 * and returns errors (MPI_ERRORS_RETURN). Each rank gets a region of `bytes`, of which the first
 * `exposed` can be reached from other nodes. Ranks with equal processor names are a node; if they
 * cannot share memory, each of them becomes a node of its own (with a notice from rank 0). The same
 * error on all ranks: -ENOMEM, -ENOSPC, -EIO where the MPI fails.
 */
int cio_onesided_mpi_create(MPI_Comm comm, int64_t bytes, int64_t exposed,
                            const struct cio_node_memory *memory, struct cio_onesided **out);

#endif
