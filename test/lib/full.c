/*
 * A disk that is full when level 2 is written: every rank learns of it, and what is in the file is
 * right or missing.
 *
 * Usage: full FILE MEGABYTES close no_space|success
 *        full FILE MEGABYTES flush               of which the disk has not the last one: another
 *                                                file takes it, until it goes
 */
#include "common.h"

#define MIB (1 << 20)
#define PIECE 1024

static unsigned char value(long long off)
{
    return (unsigned char)(off / PIECE * 7 % 251 + 1);
}

/* Zeros are what is not there. */
static void check_there(long long bytes)
{
    unsigned char *got = malloc(MIB);
    long long wrong = 0;

    CHECK(file_size(path) <= bytes);
    for (long long at = 0; at < bytes && at < file_size(path); at += MIB) {
        read_plain(path, at, got, MIB, 0);
        for (int i = 0; i < MIB; i++)
            wrong += got[i] != 0 && got[i] != value(at + i);
    }
    CHECK(wrong == 0);
    free(got);
}

static tcio_file *start(const char *segments)
{
    return open_file(CREATE, hints("tcio_segment_size", "65536", "tcio_segments", segments, NULL));
}

static int write_all(tcio_file *fh, long long bytes)
{
    unsigned char piece[PIECE];
    int rc = MPI_SUCCESS;

    for (long long i = rank; i < bytes / PIECE && rc == MPI_SUCCESS; i += size) {
        memset(piece, value(i * PIECE), PIECE);
        rc = tcio_write_at(fh, i * PIECE, piece, PIECE, MPI_BYTE);
    }
    return rc;
}

/* Buffers that are far too small: also a write may be the first to find it. */
static void test_close(long long bytes, int expected)
{
    tcio_file *fh = start("4");
    int rc = write_all(fh, bytes);

    CHECK(rc == MPI_SUCCESS || rc == expected);
    CHECK(tcio_close(fh) == expected);
    if (expected == MPI_SUCCESS)
        CHECK(file_size(path) == bytes);
}

static void take_room(const char *name)
{
    FILE *out = rank == 0 ? fopen(name, "w") : NULL;
    static char mib[MIB];

    if (out != NULL) {
        CHECK(fwrite(mib, 1, MIB, out) == MIB);
        fclose(out);
    }
    MPI_Barrier(MPI_COMM_WORLD);
}

/* What could not be written is not lost: it is, once there is room. */
static void test_flush(long long bytes)
{
    tcio_file *fh = start("1024");

    take_room(beside("ballast"));
    OK(write_all(fh, bytes));
    CHECK(tcio_flush(fh) == MPI_ERR_NO_SPACE);
    CHECK(tcio_flush(fh) == MPI_ERR_NO_SPACE);
    remove_scratch(beside("ballast"));
    OK(tcio_flush(fh));
    OK(tcio_close(fh));
    CHECK(file_size(path) == bytes);
}

int main(int argc, char **argv)
{
    long long bytes = argc > 2 ? atoll(argv[2]) * MIB : 0;
    int expected = argc > 4 && strcmp(argv[4], "no_space") == 0 ? MPI_ERR_NO_SPACE : MPI_SUCCESS;

    begin(argc, argv);
    if (argc > 3 && strcmp(argv[3], "flush") == 0)
        test_flush(bytes);
    else
        test_close(bytes, expected);
    if (rank == 0)
        check_there(bytes);
    return end();
}
