/*
 * Times MPI_File_open and MPI_File_close of many files, which are created.
 *
 * Usage: mpiexec -n RANKS open-close DIR FILES
 *
 * Prints the seconds of the slowest rank, for all opens and closes together, and for opens alone.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

static void check(int rc, const char *what)
{
    if (rc == MPI_SUCCESS)
        return;
    fprintf(stderr, "open-close: %s failed\n", what);
    MPI_Abort(MPI_COMM_WORLD, 1);
}

/* Opens and closes file number i; returns the seconds that the open took. */
static double open_and_close(const char *dir, int i)
{
    char name[4096];
    MPI_File file;
    double start = MPI_Wtime(), opened;

    snprintf(name, sizeof(name), "%s/%d", dir, i);
    check(MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_CREATE | MPI_MODE_WRONLY, MPI_INFO_NULL,
                        &file),
          "open");
    opened = MPI_Wtime() - start;
    check(MPI_File_close(&file), "close");
    return opened;
}

int main(int argc, char **argv)
{
    double mine[2] = {0, 0}, slowest[2], start;
    int rank;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (argc != 3) {
        fprintf(stderr, "usage: open-close DIR FILES\n");
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    start = MPI_Wtime();
    for (int i = 0; i < atoi(argv[2]); i++)
        mine[1] += open_and_close(argv[1], i);
    mine[0] = MPI_Wtime() - start;
    MPI_Reduce(mine, slowest, 2, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
    if (rank == 0)
        printf("%.6f %.6f\n", slowest[0], slowest[1]);
    MPI_Finalize();
    return 0;
}
