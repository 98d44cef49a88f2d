/*
 * Calls where there is little address space (the runner sets a limit): data is right, also in
 * several windows, in blocking and nonblocking calls, file after file. Prints how requests travel.
 *
 * Usage: address FILE PIECES
 */
#include "gather.h"

#define PIECE 1000

static char *buf;
static int bytes;

static void print_transport(MPI_File file)
{
    char word[MPI_MAX_INFO_VAL] = "";
    MPI_Info info;
    int found;

    OK(MPI_File_get_info(file, &info));
    MPI_Info_get(info, "tamio_transport", MPI_MAX_INFO_VAL - 1, word, &found);
    MPI_Info_free(&info);
    if (rank == 0)
        printf("transport: %s\n", word);
}

static void fill(int from)
{
    for (int i = 0; i < bytes; i++)
        buf[i] = (char)(from + 7 * rank + i % 251);
}

static void check(int from)
{
    int wrong = 0;

    for (int i = 0; i < bytes; i++)
        wrong += buf[i] != (char)(from + 7 * rank + i % 251);
    CHECK(wrong == 0);
}

static void use(int from)
{
    MPI_File file = open_scratch(MPI_COMM_WORLD);
    MPI_Request request;

    set_view_of_pieces(file, PIECE);
    fill(from);
    OK(MPI_File_write_at_all(file, 0, buf, bytes, MPI_BYTE, MPI_STATUS_IGNORE));
    memset(buf, 0, (size_t)bytes);
    OK(MPI_File_read_at_all(file, 0, buf, bytes, MPI_BYTE, MPI_STATUS_IGNORE));
    check(from);
    print_transport(file);
    memset(buf, 0, (size_t)bytes);
    OK(MPI_File_iread_at_all(file, 0, buf, bytes, MPI_BYTE, &request));
    OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    check(from);
    OK(MPI_File_close(&file));
}

int main(int argc, char **argv)
{
    begin(argc, argv);
    bytes = PIECE * (argc > 2 ? atoi(argv[2]) : 1);
    buf = malloc((size_t)bytes);
    for (int i = 0; i < 3; i++)
        use(i);
    free(buf);
    return end();
}
