/*
 * What differs between the ROMIOs of MPICH 4.0 to 5.1, in one place. The patch of a series defines
 * ADIO_TAM_SERIES (400 for 4.0, 500 for 5.0).
 */

#ifndef AD_TAM_COMPAT_H_INCLUDED
#define AD_TAM_COMPAT_H_INCLUDED

#include "adio.h"

/* ROMIO calls the profiling names of MPI; its own list (mpipr.h) lacks these in some series. */
#undef MPIX_Grequest_start
#define MPIX_Grequest_start PMPIX_Grequest_start
#undef MPI_Comm_get_attr
#define MPI_Comm_get_attr PMPI_Comm_get_attr
#undef MPI_Get_elements_x
#define MPI_Get_elements_x PMPI_Get_elements_x
#undef MPI_Comm_create_keyval
#define MPI_Comm_create_keyval PMPI_Comm_create_keyval
#undef MPI_Comm_free_keyval
#define MPI_Comm_free_keyval PMPI_Comm_free_keyval
#undef MPI_Type_free_keyval
#define MPI_Type_free_keyval PMPI_Type_free_keyval

#if ADIO_TAM_SERIES < 401

/* the type of `count` in the slots of ADIOI_Fns */
typedef int ADIOI_TAM_Count;

/* Like ADIO_ResolveFileType; returns whether the name begins with a driver's prefix. */
static inline int ADIOI_TAM_Resolve(MPI_Comm comm, const char *filename, int *fstype,
                                    ADIOI_Fns ** ops, int *error_code)
{
    ADIO_ResolveFileType(comm, filename, fstype, ops, error_code);
    return strchr(filename, ':') != NULL;
}

#else

typedef MPI_Aint ADIOI_TAM_Count;

static inline int ADIOI_TAM_Resolve(MPI_Comm comm, const char *filename, int *fstype,
                                    ADIOI_Fns ** ops, int *error_code)
{
    int known = ADIO_ResolveFileType(comm, filename, fstype, ops, error_code);

    return known && strchr(filename, ':') != NULL;
}

#endif

#endif /* AD_TAM_COMPAT_H_INCLUDED */
