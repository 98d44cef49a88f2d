/*
 * Nonblocking collective calls before anything was agreed on (no view, no collective call yet):
 * each lies in the holes of the other, and none may lose a byte. Higher ranks lie before lower ones
 * in the file, so that ROMIO would aggregate, and read what lies between.
 *
 * Usage: unviewed FILE ii|iw|ir TIMES
 *   ii  two nonblocking writes    iw  one, then a blocking write    ir  reads of the same kinds,
 * too
 */
#include "gather.h"

#include <unistd.h>

#define BYTES 300

static char byte_of(int who, int which, int i)
{
    return (char)(1 + who * 2 + which + i);
}

static MPI_Offset place(int which)
{
    return (MPI_Offset)((size - 1 - rank) * 2 + which) * BYTES;
}

static void fill(char *buf, int which)
{
    for (int i = 0; i < BYTES; i++)
        buf[i] = byte_of(rank, which, i);
}

static void check(const char *buf, int which)
{
    int wrong = 0;

    for (int i = 0; i < BYTES; i++)
        wrong += buf[i] != byte_of(rank, which, i);
    CHECK(wrong == 0);
}

static void check_count(MPI_Status *status)
{
    int n = -1;

    MPI_Get_count(status, MPI_BYTE, &n);
    CHECK(n == BYTES);
}

static void write_both(MPI_File file, const char *kind)
{
    char a[BYTES], b[BYTES];
    MPI_Request request[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
    MPI_Status status[2];

    fill(a, 0);
    fill(b, 1);
    OK(MPI_File_iwrite_at_all(file, place(0), a, BYTES, MPI_BYTE, &request[0]));
    if (strcmp(kind, "iw") == 0)
        OK(MPI_File_write_at_all(file, place(1), b, BYTES, MPI_BYTE, &status[1]));
    else
        OK(MPI_File_iwrite_at_all(file, place(1), b, BYTES, MPI_BYTE, &request[1]));
    OK(MPI_Wait(&request[0], &status[0]));
    check_count(&status[0]);
    if (strcmp(kind, "iw") != 0)
        OK(MPI_Wait(&request[1], &status[1]));
    check_count(&status[1]);
}

/* The second lies beyond the end of the file by half of its bytes on rank 0. */
static void read_both(MPI_File file)
{
    char a[BYTES], b[2 * BYTES];
    MPI_Request request;
    MPI_Status status;
    int n;

    OK(MPI_File_iread_at_all(file, place(0), a, BYTES, MPI_BYTE, &request));
    OK(MPI_Wait(&request, &status));
    check_count(&status);
    check(a, 0);
    OK(MPI_File_iread_at_all(file, place(1), b, 2 * BYTES, MPI_BYTE, &request));
    OK(MPI_Wait(&request, &status));
    check(b, 1);
    MPI_Get_count(&status, MPI_BYTE, &n);
    CHECK(n == (rank == 0 ? BYTES : 2 * BYTES));
}

static void once(const char *kind)
{
    MPI_File file = open_scratch(MPI_COMM_WORLD);
    char back[BYTES];

    write_both(file, kind);
    OK(MPI_File_close(&file));
    OK(MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_RDWR, MPI_INFO_NULL, &file));
    if (strcmp(kind, "ir") == 0)
        read_both(file);
    for (int which = 0; which < 2; which++) {
        OK(MPI_File_read_at(file, place(which), back, BYTES, MPI_BYTE, MPI_STATUS_IGNORE));
        check(back, which);
    }
    OK(MPI_File_close(&file));
}

int main(int argc, char **argv)
{
    begin(argc, argv);
    for (int i = 0; i < atoi(argv[3]); i++)
        once(argv[2]);
    return end();
}
