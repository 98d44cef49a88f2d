/*
 * An ordinary MPI-IO program: a three-dimensional array of doubles, divided in blocks among the
 * ranks, written to one file with MPI_File_write_all, read back with MPI_File_read_all and checked.
 *
 * Usage: mpiexec -n RANKS blocks FILE [N [REPEATS]]
 *
 * The array has N x N x N elements (default 128). Every element holds its own global number, so the
 * file is the same for any number of ranks. Rank 0 prints the best times of all repeats (default 3).
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

struct block {
    int global[3], local[3], start[3];
};

static void divide(int n, int rank, int ranks, struct block *b)
{
    int grid[3] = {0, 0, 0};
    int place[3];

    MPI_Dims_create(ranks, 3, grid);
    place[0] = rank / (grid[1] * grid[2]);
    place[1] = rank / grid[2] % grid[1];
    place[2] = rank % grid[2];
    for (int d = 0; d < 3; d++) {
        b->global[d] = n;
        b->start[d] = (int)((long long)n * place[d] / grid[d]);
        b->local[d] = (int)((long long)n * (place[d] + 1) / grid[d]) - b->start[d];
    }
}

static int count(const struct block *b)
{
    return b->local[0] * b->local[1] * b->local[2];
}

static double value_at(const struct block *b, int i)
{
    long long z = i % b->local[2] + b->start[2];
    long long y = i / b->local[2] % b->local[1] + b->start[1];
    long long x = i / b->local[2] / b->local[1] + b->start[0];

    return (double)((x * b->global[1] + y) * b->global[2] + z);
}

static void check(int rc, const char *what)
{
    char text[MPI_MAX_ERROR_STRING];
    int length;

    if (rc == MPI_SUCCESS)
        return;
    MPI_Error_string(rc, text, &length);
    fprintf(stderr, "blocks: %s: %s\n", what, text);
    MPI_Abort(MPI_COMM_WORLD, 1);
}

static double transfer(const char *path, const struct block *b, double *data, int writing)
{
    int mode = writing ? MPI_MODE_CREATE | MPI_MODE_WRONLY : MPI_MODE_RDONLY;
    MPI_Datatype view;
    MPI_File file;
    double mine, slowest;

    if (count(b) > 0) {
        MPI_Type_create_subarray(3, b->global, b->local, b->start, MPI_ORDER_C, MPI_DOUBLE, &view);
    } else {
        MPI_Type_contiguous(1, MPI_DOUBLE, &view);
    }
    MPI_Type_commit(&view);
    check(MPI_File_open(MPI_COMM_WORLD, path, mode, MPI_INFO_NULL, &file), "open");
    check(MPI_File_set_view(file, 0, MPI_DOUBLE, view, "native", MPI_INFO_NULL), "set_view");
    MPI_Barrier(MPI_COMM_WORLD);
    mine = MPI_Wtime();
    if (writing)
        check(MPI_File_write_all(file, data, count(b), MPI_DOUBLE, MPI_STATUS_IGNORE), "write_all");
    else
        check(MPI_File_read_all(file, data, count(b), MPI_DOUBLE, MPI_STATUS_IGNORE), "read_all");
    mine = MPI_Wtime() - mine;
    MPI_Allreduce(&mine, &slowest, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    check(MPI_File_close(&file), "close");
    MPI_Type_free(&view);
    return slowest;
}

static double least(double a, double b)
{
    return a < b ? a : b;
}

int main(int argc, char **argv)
{
    int rank, ranks, wrong = 0, all_wrong;
    double writing = 1e9, reading = 1e9;
    struct block b;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    int n = argc > 2 ? atoi(argv[2]) : 128;
    int repeats = argc > 3 ? atoi(argv[3]) : 3;
    if (argc < 2 || n < 1 || n > 1024 || repeats < 1) {
        if (rank == 0)
            fprintf(stderr, "usage: blocks FILE [N (1 to 1024) [REPEATS]]\n");
        MPI_Finalize();
        return 2;
    }
    divide(n, rank, ranks, &b);
    double *data = malloc((size_t)(count(&b) + 1) * sizeof(double));
    if (data == NULL)
        MPI_Abort(MPI_COMM_WORLD, 1);
    for (int r = 0; r < repeats; r++) {
        for (int i = 0; i < count(&b); i++)
            data[i] = value_at(&b, i);
        writing = least(writing, transfer(argv[1], &b, data, 1));
        for (int i = 0; i < count(&b); i++)
            data[i] = -1;
        reading = least(reading, transfer(argv[1], &b, data, 0));
        for (int i = 0; i < count(&b); i++)
            wrong += data[i] != value_at(&b, i);
    }
    MPI_Allreduce(&wrong, &all_wrong, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (rank == 0)
        printf("%d ranks, %d^3 doubles: write %.4f s, read %.4f s, %d wrong\n", ranks, n, writing,
               reading, all_wrong);
    free(data);
    MPI_Finalize();
    return all_wrong != 0;
}
