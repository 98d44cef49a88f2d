/*
 * Blocking and nonblocking collective calls, for the lines that romio_tam_stats makes of them.
 * Ranks wait for nonblocking calls in different orders, and one is under way during a blocking
 * call.
 *
 * Usage: stats FILE [PATH]      PATH: the hint, given to open by rank 1 only
 */
#include "gather.h"

#define BYTES 1000 /* of each rank in each call */

static char buf[4][BYTES];

/* Pieces of 10 bytes, one of each rank after the other. */
static void interleave(MPI_File file)
{
    MPI_Datatype piece, type;

    MPI_Type_contiguous(10, MPI_BYTE, &piece);
    MPI_Type_create_resized(piece, 0, (MPI_Aint)10 * size, &type);
    MPI_Type_commit(&type);
    OK(MPI_File_set_view(file, 10 * rank, MPI_BYTE, type, "native", MPI_INFO_NULL));
    MPI_Type_free(&type);
    MPI_Type_free(&piece);
}

static void wait_in_turn(MPI_Request *request)
{
    int first = rank % 2;

    OK(MPI_Wait(&request[first], MPI_STATUS_IGNORE));
    OK(MPI_Wait(&request[!first], MPI_STATUS_IGNORE));
}

static void two_at_once(MPI_File file)
{
    MPI_Request request[2];

    OK(MPI_File_iwrite_at_all(file, BYTES, buf[0], BYTES, MPI_BYTE, &request[0]));
    OK(MPI_File_iread_at_all(file, 0, buf[1], BYTES / 2, MPI_BYTE, &request[1]));
    wait_in_turn(request);
}

static void during_a_blocking_one(MPI_File file)
{
    MPI_Request request;

    OK(MPI_File_iread_at_all(file, 0, buf[2], BYTES, MPI_BYTE, &request));
    OK(MPI_File_read_at_all(file, BYTES, buf[3], BYTES / 4, MPI_BYTE, MPI_STATUS_IGNORE));
    OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
}

/* One rank far from the others: so many rounds that ranks agree a second time. */
static void far_apart(MPI_File file)
{
    MPI_Offset at = rank == 0 ? 0 : (MPI_Offset)1 << 30;
    MPI_Request request;

    OK(MPI_File_set_view(file, 0, MPI_BYTE, MPI_BYTE, "native", MPI_INFO_NULL));
    OK(MPI_File_iread_at_all(file, at, buf[0], BYTES, MPI_BYTE, &request));
    OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
}

static void atomically(MPI_File file)
{
    OK(MPI_File_set_atomicity(file, 1));
    OK(MPI_File_read_at_all(file, 0, buf[0], BYTES, MPI_BYTE, MPI_STATUS_IGNORE));
    OK(MPI_File_set_atomicity(file, 0));
}

static MPI_File open_with(const char *stats)
{
    MPI_File file;
    MPI_Info info;

    MPI_Info_create(&info);
    if (stats != NULL && rank == 1)
        MPI_Info_set(info, "romio_tam_stats", stats);
    OK(MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_CREATE | MPI_MODE_RDWR, info, &file));
    MPI_Info_free(&info);
    return file;
}

int main(int argc, char **argv)
{
    MPI_File file;

    begin(argc, argv);
    file = open_with(argc > 2 ? argv[2] : NULL);
    interleave(file);
    OK(MPI_File_write_at_all(file, 0, buf[0], BYTES, MPI_BYTE, MPI_STATUS_IGNORE));
    two_at_once(file);
    during_a_blocking_one(file);
    atomically(file);
    far_apart(file);
    two_at_once(file);
    OK(MPI_File_close(&file));
    return end();
}
