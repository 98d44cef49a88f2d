/*
 * Times small collective calls, kind by kind: microseconds of a call, the slowest rank's mean.
 *
 * Usage: small DIR CALLS [KIND]      each kind uses a file of its name in DIR; prints "KIND
 * write|read US"
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WARM = 3, MOST = 1 << 20 };

struct kind {
    const char *name;
    int view;   /* blocks of 8 bytes of each rank in the view, interleaved; 0: none */
    int bytes;  /* of a call, of each rank */
    int writer; /* the only rank with any, or -1 */
};

static const struct kind kinds[] = {
    {"adjacent-8", 0, 8, -1},           {"adjacent-64", 0, 64, -1},
    {"one-rank-64", 0, 64, 1},          {"strided-1", 1, 8, -1},
    {"strided-64", 64, 512, -1},        {"strided-512", 512, 4096, -1},
    {"strided-4096", 4096, 32768, -1},  {"vector-65536", 65536, 8, -1},
    {"vector-1048576", 1048576, 8, -1}, {"declined", 0, 256 << 10, -1},
};

static void must(int rc, const char *what)
{
    if (rc != MPI_SUCCESS) {
        fprintf(stderr, "small: %s failed\n", what);
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
}

/* Returns the offset, in bytes of the view, at which this rank's calls are. */
static MPI_Offset set_view(MPI_File file, const struct kind *k, int rank, int ranks)
{
    MPI_Datatype blocks, type;

    if (k->view == 0)
        return (MPI_Offset)rank * k->bytes;
    MPI_Type_vector(k->view, 1, ranks, MPI_DOUBLE, &blocks);
    MPI_Type_create_resized(blocks, 0, (MPI_Aint)k->view * ranks * 8, &type);
    MPI_Type_commit(&type);
    must(MPI_File_set_view(file, (MPI_Offset)rank * 8, MPI_BYTE, type, "native", MPI_INFO_NULL),
         "set_view");
    MPI_Type_free(&type);
    MPI_Type_free(&blocks);
    return 0;
}

static void call(MPI_File file, int write, MPI_Offset at, char *buf, int bytes)
{
    if (write)
        must(MPI_File_write_at_all(file, at, buf, bytes, MPI_BYTE, MPI_STATUS_IGNORE), "write");
    else
        must(MPI_File_read_at_all(file, at, buf, bytes, MPI_BYTE, MPI_STATUS_IGNORE), "read");
}

static void time_calls(MPI_File file, const struct kind *k, int write, MPI_Offset at, int calls)
{
    static char buf[MOST];
    int rank;
    double t = 0, longest;

    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (int i = -WARM; i < calls; i++) {
        if (i == 0) {
            MPI_Barrier(MPI_COMM_WORLD);
            t = MPI_Wtime();
        }
        call(file, write, at, buf, k->writer < 0 || k->writer == rank ? k->bytes : 0);
    }
    t = (MPI_Wtime() - t) * 1e6 / calls;
    MPI_Reduce(&t, &longest, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
    if (rank == 0)
        printf("%s %s %.1f\n", k->name, write ? "write" : "read", longest);
}

static void run(const char *dir, const struct kind *k, int calls)
{
    int rank, ranks;
    MPI_File file;
    MPI_Offset at;
    char name[4096];

    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    snprintf(name, sizeof(name), "%s/%s", dir, k->name);
    must(MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file),
         "open");
    at = set_view(file, k, rank, ranks);
    time_calls(file, k, 1, at, calls);
    time_calls(file, k, 0, at, calls);
    MPI_File_close(&file);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    if (argc < 3) {
        fprintf(stderr, "usage: small DIR CALLS [KIND]\n");
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
        if (argc < 4 || strcmp(argv[3], kinds[i].name) == 0)
            run(argv[1], &kinds[i], atoi(argv[2]));
    MPI_Finalize();
    return 0;
}
