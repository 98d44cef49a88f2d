/*
 * A nonblocking collective call does not wait for others: rank 0 makes one, and only then tells
 * rank 1, which makes it then. Before it comes a call after which groups are to be made anew, or
 * after which there are none yet.
 *
 * Usage: nonblocking_order FILE volume MEBIBYTES  a blocking write of so much from each rank
 *        nonblocking_order FILE atomic            a blocking write in atomic mode
 */
#include "gather.h"

#define PIECE 65536

static void write_much(MPI_File file, int mebibytes)
{
    char *buf = calloc((size_t)mebibytes, 1 << 20);

    set_view_of_pieces(file, PIECE);
    OK(MPI_File_write_at_all(file, 0, buf, mebibytes << 20, MPI_BYTE, MPI_STATUS_IGNORE));
    free(buf);
}

static void write_atomically(MPI_File file)
{
    char byte = 0;

    OK(MPI_File_set_atomicity(file, 1));
    OK(MPI_File_write_at_all(file, rank, &byte, 1, MPI_BYTE, MPI_STATUS_IGNORE));
    OK(MPI_File_set_atomicity(file, 0));
}

static void one_by_one(MPI_File file)
{
    char data[1000], back[1000];
    MPI_Request request;
    int token = 0;

    memset(data, rank + 1, sizeof(data));
    if (rank == 1)
        MPI_Recv(&token, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    OK(MPI_File_iwrite_at_all(file, 1000 * rank, data, 1000, MPI_BYTE, &request));
    if (rank == 0)
        MPI_Send(&token, 1, MPI_INT, 1, 0, MPI_COMM_WORLD);
    OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    OK(MPI_File_read_at_all(file, 1000 * rank, back, 1000, MPI_BYTE, MPI_STATUS_IGNORE));
    CHECK(memcmp(data, back, sizeof(data)) == 0);
}

int main(int argc, char **argv)
{
    MPI_File file;

    begin(argc, argv);
    file = open_scratch(MPI_COMM_WORLD);
    if (strcmp(argv[2], "volume") == 0)
        write_much(file, atoi(argv[3]));
    else
        write_atomically(file);
    MPI_Barrier(MPI_COMM_WORLD);
    one_by_one(file);
    OK(MPI_File_close(&file));
    return end();
}
