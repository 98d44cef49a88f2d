/* A profiling tool, for `run` to preload, to link with a program as a library, and to link into it. */

#include <mpi.h>
#include <stdio.h>

int MPI_File_open(MPI_Comm comm, const char *filename, int amode, MPI_Info info, MPI_File * fh)
{
    int code = PMPI_File_open(comm, filename, amode, info, fh);

    printf("tool: MPI_File_open\n");
    fflush(stdout);
    return code;
}

int MPI_File_close(MPI_File * fh)
{
    printf("tool: MPI_File_close\n");
    fflush(stdout);
    return PMPI_File_close(fh);
}
