/*
 * What ROMIO must know about the MPI that it is built for. The compiler reads this before every
 * source of ROMIO (-include), so it decides before ROMIO's own headers do.
 *
 * ROMIO is told that it is inside MPICH: that is the mode people use, with locking and with error
 * codes that are returned and not printed. What it then asks of MPICH is in mpir_ext.h, and comes
 * from mpir_ext.c instead.
 */

#ifndef TAMIO_PRELOAD_HOST_H_INCLUDED
#define TAMIO_PRELOAD_HOST_H_INCLUDED

#define _GNU_SOURCE 1

#define OMPI_OMIT_MPI1_COMPAT_DECLS 0   /* no static assertions, but what is below */
#include <mpi.h>

/* What MPI 3.0 removed, and Open MPI with it: ROMIO still looks for types made so. */
#if defined(OPEN_MPI) && !OMPI_ENABLE_MPI1_COMPAT
#define MPI_LB MPI_DATATYPE_NULL
#define MPI_UB MPI_DATATYPE_NULL
#define MPI_COMBINER_HINDEXED_INTEGER (-1001)
#define MPI_COMBINER_HVECTOR_INTEGER (-1002)
#define MPI_COMBINER_STRUCT_INTEGER (-1003)
#endif

/* Open MPI has a struct of its own behind MPI_File. Every function that takes one is ours, so the
 * struct can be ROMIO's. */
#ifdef OPEN_MPI
#define ADIOI_FileD ompi_file_t
#endif

/* Generalized requests that are polled are ours in Open MPI, and want to know when they end. */
#ifdef OPEN_MPI
int tamio_grequest_complete(MPI_Request request);
#define PMPI_Grequest_complete tamio_grequest_complete
#endif

/* What MPICH's mpi.h tells ROMIO about itself, for an MPI that has it and does not tell. */
#ifndef MPICH_VERSION
#define MPIIMPL_HAVE_MPI_COMBINER_DARRAY 1
#define MPIIMPL_HAVE_MPI_COMBINER_DUP 1
#define MPIIMPL_HAVE_MPI_COMBINER_SUBARRAY 1
#endif

#define MPICH 1
#define ROMIO_INSIDE_MPICH 1
#define HAVE_STATUS_SET_BYTES 1
#define HAVE_MPI_STATUS_SET_ELEMENTS_X 1
#define HAVE_MPI_TYPE_SIZE_X 1
#define HAVE_DECL_MPI_COMBINER_HINDEXED_BLOCK 1

#if defined(MPICH_NUMVERSION) && MPICH_NUMVERSION >= 40100000
#define HAVE_MPIX_TYPE_IOV 1
#endif
#undef HAVE_MPI_INFO            /* which MPICH's mpi.h defines in another way than romioconf.h */

/* ROMIO's own mpio.h would declare what mpi.h has declared. The rest of what it defines is here. */
#define MPIO_INCLUDE
#ifndef HAVE_MPI_GREQUEST
#define HAVE_MPI_GREQUEST 1
#endif
#ifndef MPIO_Request
#define MPIO_Request MPI_Request
#define MPIO_Wait MPI_Wait
#define MPIO_Test MPI_Test
#define MPIO_USES_MPI_REQUEST
#define MPIO_REQUEST_DEFINED
#define MPIO_REQUEST_NULL MPI_REQUEST_NULL
#endif

/* MPI 4, where the MPI is older. */
#if MPI_VERSION < 4
typedef int (MPI_Datarep_conversion_function_c) (void *, MPI_Datatype, MPI_Count, void *,
                                                 MPI_Offset, void *);
#define MPI_CONVERSION_FN_NULL_C ((MPI_Datarep_conversion_function_c *) 0)
#endif

#endif /* TAMIO_PRELOAD_HOST_H_INCLUDED */
