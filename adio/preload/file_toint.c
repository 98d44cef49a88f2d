/* The names that MPI 5.0 gives to MPI_File_c2f and MPI_File_f2c. ROMIO does not have them. */

#include "mpioimpl.h"
#include "errhandler.h"

int PMPI_File_toint(MPI_File file);
MPI_File PMPI_File_fromint(int file);

int PMPI_File_toint(MPI_File file)
{
    return (int) PMPI_File_c2f(file);
}

TAMIO_ALIAS(File_toint);

MPI_File PMPI_File_fromint(int file)
{
    return PMPI_File_f2c((MPI_Fint) file);
}

TAMIO_ALIAS(File_fromint);
