/* Collective writing and reading of a 2D array, columns interleaved by a subarray view. */

#include "check.h"

#define ROWS 37
#define COLUMNS 16              /* of each rank */

int main(int argc, char **argv)
{
    int out[ROWS][COLUMNS], in[ROWS][COLUMNS], count;
    MPI_Datatype view;
    MPI_File file;
    MPI_Status status;

    begin(argc, argv);
    for (int i = 0; i < ROWS * COLUMNS; i++)
        out[i / COLUMNS][i % COLUMNS] = (i / COLUMNS) * 10000 + rank * COLUMNS + i % COLUMNS;
    MPI_Type_create_subarray(2, (int[]) {ROWS, COLUMNS * size}, (int[]) {ROWS, COLUMNS},
                             (int[]) {0, rank * COLUMNS}, MPI_ORDER_C, MPI_INT, &view);
    MPI_Type_commit(&view);
    file = open_scratch(MPI_COMM_WORLD);
    OK(MPI_File_set_view(file, 8, MPI_INT, view, "native", MPI_INFO_NULL));
    OK(MPI_File_write_all(file, out, ROWS * COLUMNS, MPI_INT, &status));
    MPI_Get_count(&status, MPI_INT, &count);
    CHECK(count == ROWS * COLUMNS);
    memset(in, 0, sizeof(in));
    OK(MPI_File_read_at_all(file, 0, in, ROWS * COLUMNS, MPI_INT, &status));
    CHECK(memcmp(in, out, sizeof(in)) == 0);
    OK(MPI_File_set_view(file, 8, MPI_INT, MPI_INT, "native", MPI_INFO_NULL));
    for (int i = rank; i < ROWS * COLUMNS * size; i += size) {
        int value = -1;

        OK(MPI_File_read_at(file, i, &value, 1, MPI_INT, MPI_STATUS_IGNORE));
        CHECK(value == i / (COLUMNS * size) * 10000 + i % (COLUMNS * size));
    }
    OK(MPI_File_close(&file));
    MPI_Type_free(&view);
    return end();
}
