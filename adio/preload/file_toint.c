/*
 * File handles as integers. ROMIO up to 5.0 has MPI_File_c2f and MPI_File_f2c, and not yet the names
 * that MPI 5.0 gives to the same. From 5.1 on it leaves all four to the MPI around it.
 */

#include "mpioimpl.h"
#include "errhandler.h"

int PMPI_File_toint(MPI_File file);
MPI_File PMPI_File_fromint(int file);

#if ADIO_TAM_SERIES < 501

int PMPI_File_toint(MPI_File file)
{
    return (int) PMPI_File_c2f(file);
}

MPI_File PMPI_File_fromint(int file)
{
    return PMPI_File_f2c((MPI_Fint) file);
}

#else

int PMPI_File_toint(MPI_File file)
{
    return MPIR_File_toint_impl(file);
}

MPI_File PMPI_File_fromint(int file)
{
    return MPIR_File_fromint_impl(file);
}

MPI_Fint PMPI_File_c2f(MPI_File file)
{
    return MPIR_File_toint_impl(file);
}

MPI_File PMPI_File_f2c(MPI_Fint file)
{
    return MPIR_File_fromint_impl((int) file);
}

TAMIO_ALIAS(File_c2f);
TAMIO_ALIAS(File_f2c);

#endif

TAMIO_ALIAS(File_toint);
TAMIO_ALIAS(File_fromint);
