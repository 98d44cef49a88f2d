/* Prints the hints that are in effect on a new file, "key value" each, as in a ROMIO_HINTS file. */
#include <mpi.h>
#include <stdio.h>

static void print_hint(MPI_Info info, int n)
{
    char key[MPI_MAX_INFO_KEY + 1], value[MPI_MAX_INFO_VAL + 1] = "";
    int flag;

    MPI_Info_get_nthkey(info, n, key);
    MPI_Info_get(info, key, MPI_MAX_INFO_VAL, value, &flag);
    printf("%s %s\n", key, value);
}

int main(int argc, char **argv)
{
    int rank, nkeys = 0;
    MPI_File file;
    MPI_Info info;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (MPI_File_open(MPI_COMM_WORLD, "probe.data", MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file))
        MPI_Abort(MPI_COMM_WORLD, 1);
    MPI_File_get_info(file, &info);
    MPI_Info_get_nkeys(info, &nkeys);
    for (int i = 0; i < nkeys && rank == 0; i++)
        print_hint(info, i);
    MPI_Info_free(&info);
    MPI_File_close(&file);
    MPI_Finalize();
    return 0;
}
