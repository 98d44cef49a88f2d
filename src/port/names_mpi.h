/*
 * MPI for this folder: the header, and every function by its profiling name, as ROMIO calls them: a
 * profiling tool is to see the program's calls, not ours on a communicator that it never saw made.
 *
 * In the second ROMIO of MPICH 5 (--enable-mpi-abi) the header is ROMIO's own, after which mpi.h
 * does not compile; the macro that says so is called otherwise from 5.1 on.
 */
#ifndef CIO_PORT_NAMES_MPI_H
#define CIO_PORT_NAMES_MPI_H

#if defined(BUILD_MPI_ABI) || defined(MPICH_BUILD_MPI_ABI)
#include "romio_abi_internal.h"
#else
#include <mpi.h>
#endif

#undef MPI_Abort
#define MPI_Abort PMPI_Abort
#undef MPI_Accumulate
#define MPI_Accumulate PMPI_Accumulate
#undef MPI_Allgather
#define MPI_Allgather PMPI_Allgather
#undef MPI_Allreduce
#define MPI_Allreduce PMPI_Allreduce
#undef MPI_Bcast
#define MPI_Bcast PMPI_Bcast
#undef MPI_Cancel
#define MPI_Cancel PMPI_Cancel
#undef MPI_Comm_dup
#define MPI_Comm_dup PMPI_Comm_dup
#undef MPI_Comm_free
#define MPI_Comm_free PMPI_Comm_free
#undef MPI_Comm_rank
#define MPI_Comm_rank PMPI_Comm_rank
#undef MPI_Comm_set_errhandler
#define MPI_Comm_set_errhandler PMPI_Comm_set_errhandler
#undef MPI_Comm_size
#define MPI_Comm_size PMPI_Comm_size
#undef MPI_Error_class
#define MPI_Error_class PMPI_Error_class
#undef MPI_Fetch_and_op
#define MPI_Fetch_and_op PMPI_Fetch_and_op
#undef MPI_Get
#define MPI_Get PMPI_Get
#undef MPI_Get_address
#define MPI_Get_address PMPI_Get_address
#undef MPI_Get_count
#define MPI_Get_count PMPI_Get_count
#undef MPI_Get_elements_x
#define MPI_Get_elements_x PMPI_Get_elements_x
#undef MPI_Get_processor_name
#define MPI_Get_processor_name PMPI_Get_processor_name
#undef MPI_Iallreduce
#define MPI_Iallreduce PMPI_Iallreduce
#undef MPI_Ibcast
#define MPI_Ibcast PMPI_Ibcast
#undef MPI_Iprobe
#define MPI_Iprobe PMPI_Iprobe
#undef MPI_Irecv
#define MPI_Irecv PMPI_Irecv
#undef MPI_Ireduce
#define MPI_Ireduce PMPI_Ireduce
#undef MPI_Isend
#define MPI_Isend PMPI_Isend
#undef MPI_Issend
#define MPI_Issend PMPI_Issend
#undef MPI_Op_create
#define MPI_Op_create PMPI_Op_create
#undef MPI_Op_free
#define MPI_Op_free PMPI_Op_free
#undef MPI_Put
#define MPI_Put PMPI_Put
#undef MPI_Reduce
#define MPI_Reduce PMPI_Reduce
#undef MPI_Request_free
#define MPI_Request_free PMPI_Request_free
#undef MPI_Test
#define MPI_Test PMPI_Test
#undef MPI_Rget
#define MPI_Rget PMPI_Rget
#undef MPI_Testall
#define MPI_Testall PMPI_Testall
#undef MPI_Testsome
#define MPI_Testsome PMPI_Testsome
#undef MPI_Type_commit
#define MPI_Type_commit PMPI_Type_commit
#undef MPI_Type_contiguous
#define MPI_Type_contiguous PMPI_Type_contiguous
#undef MPI_Type_create_hindexed
#define MPI_Type_create_hindexed PMPI_Type_create_hindexed
#undef MPI_Type_free
#define MPI_Type_free PMPI_Type_free
#undef MPI_Wait
#define MPI_Wait PMPI_Wait
#undef MPI_Waitall
#define MPI_Waitall PMPI_Waitall
#undef MPI_Waitsome
#define MPI_Waitsome PMPI_Waitsome
#undef MPI_Win_create
#define MPI_Win_create PMPI_Win_create
#undef MPI_Win_flush
#define MPI_Win_flush PMPI_Win_flush
#undef MPI_Win_flush_local_all
#define MPI_Win_flush_local_all PMPI_Win_flush_local_all
#undef MPI_Win_free
#define MPI_Win_free PMPI_Win_free
#undef MPI_Win_lock_all
#define MPI_Win_lock_all PMPI_Win_lock_all
#undef MPI_Win_set_errhandler
#define MPI_Win_set_errhandler PMPI_Win_set_errhandler
#undef MPI_Win_unlock_all
#define MPI_Win_unlock_all PMPI_Win_unlock_all

#endif
