/*
 * Immediate visibility: what a rank has written, another that has got a message since reads, with
 * no flush between.
 */
#include "common.h"

#define ROUNDS 200

static int next(int step)
{
    return (rank + step + size) % size;
}

/* A token goes around; each rank reads what the one before wrote, and writes the next number. */
static void test_ring(tcio_file *fh)
{
    int token = 0, in, failed = 0;

    for (int i = 0; i < ROUNDS; i++) {
        if (i > 0 || rank > 0) {
            MPI_Recv(&token, 1, MPI_INT, next(-1), 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            in = -1;
            OK(tcio_read_at(fh, 5000 * (MPI_Offset)next(-1), &in, 1, MPI_INT));
            OK(tcio_fetch(fh));
            failed += in != token;
        }
        token++;
        OK(tcio_write_at(fh, 5000 * (MPI_Offset)rank, &token, 1, MPI_INT));
        if (i < ROUNDS - 1 || rank < size - 1)
            MPI_Send(&token, 1, MPI_INT, next(1), 1, MPI_COMM_WORLD);
    }
    CHECK(failed == 0);
}

/* All write the same word in turn; the last one is there at the end. */
static void test_same_place(tcio_file *fh)
{
    int token = -1, last = -1;

    for (int turn = 0; turn < 3 * size; turn++) {
        if (turn % size == rank) {
            OK(tcio_read_at(fh, 1000000, &last, 1, MPI_INT));
            OK(tcio_fetch(fh));
            CHECK(last == (turn == 0 ? 0 : turn - 1));
            token = turn;
            OK(tcio_write_at(fh, 1000000, &token, 1, MPI_INT));
        }
        MPI_Barrier(MPI_COMM_WORLD);
    }
    OK(tcio_flush(fh));
    OK(tcio_read_at(fh, 1000000, &last, 1, MPI_INT));
    OK(tcio_fetch(fh));
    CHECK(last == 3 * size - 1);
}

int main(int argc, char **argv)
{
    tcio_file *fh;

    begin(argc, argv);
    fh = open_file(CREATE, hints("tcio_visibility", "immediate", "tcio_segment_size", "4096",
                                 "tcio_segments", "2", NULL));
    if (size > 1)
        test_ring(fh);
    test_same_place(fh);
    OK(tcio_close(fh));
    return end();
}
