/* The shared file pointer: every record once, ordered calls in the order of ranks. */

#include "check.h"

#define N 20                    /* records of each rank */

int main(int argc, char **argv)
{
    MPI_File file;
    MPI_Offset position;
    MPI_Request request;
    int *seen, record[2], all, value;

    begin(argc, argv);
    seen = calloc((size_t) size * N, sizeof(int));
    file = open_scratch(MPI_COMM_WORLD);
    for (int i = 0; i < N; i++) {
        record[0] = rank;
        record[1] = i;
        if (i % 2 == 0) {
            OK(MPI_File_write_shared(file, record, 2, MPI_INT, MPI_STATUS_IGNORE));
        } else {
            OK(MPI_File_iwrite_shared(file, record, 2, MPI_INT, &request));
            OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
        }
    }
    MPI_Barrier(MPI_COMM_WORLD);
    OK(MPI_File_get_position_shared(file, &position));
    CHECK(position == (MPI_Offset) (size * N * sizeof(record)));
    MPI_Barrier(MPI_COMM_WORLD);
    OK(MPI_File_seek_shared(file, 0, MPI_SEEK_SET));
    for (int i = 0; i < N; i++) {
        OK(MPI_File_read_shared(file, record, 2, MPI_INT, MPI_STATUS_IGNORE));
        CHECK(record[0] >= 0 && record[0] < size && record[1] >= 0 && record[1] < N);
        seen[record[0] * N + record[1]]++;
    }
    for (int i = 0; i < size * N; i++) {
        MPI_Allreduce(&seen[i], &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
        CHECK(all == 1);
    }
    OK(MPI_File_seek_shared(file, 0, MPI_SEEK_SET));
    value = rank + 100;
    OK(MPI_File_write_ordered(file, &value, 1, MPI_INT, MPI_STATUS_IGNORE));
    OK(MPI_File_sync(file));
    MPI_Barrier(MPI_COMM_WORLD);
    OK(MPI_File_sync(file));
    OK(MPI_File_read_at(file, (size - 1 - rank) * sizeof(int), &value, 1, MPI_INT, MPI_STATUS_IGNORE));
    CHECK(value == 100 + size - 1 - rank);
    OK(MPI_File_close(&file));
    free(seen);
    return end();
}
