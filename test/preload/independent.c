/* Independent calls: explicit offsets, the individual pointer, sizes, status counts. */

#include "check.h"

#define N 1000

int main(int argc, char **argv)
{
    int out[N], in[N], count;
    MPI_File file;
    MPI_Status status;
    MPI_Offset bytes, position;
    MPI_Group group;

    begin(argc, argv);
    for (int i = 0; i < N; i++)
        out[i] = rank * N + i;
    file = open_scratch(MPI_COMM_WORLD);
    OK(MPI_File_write_at(file, (MPI_Offset) rank * sizeof(out), out, N, MPI_INT, &status));
    MPI_Get_count(&status, MPI_INT, &count);
    CHECK(count == N);
    OK(MPI_File_sync(file));
    MPI_Barrier(MPI_COMM_WORLD);
    OK(MPI_File_sync(file));
    OK(MPI_File_get_size(file, &bytes));
    CHECK(bytes == (MPI_Offset) (size * sizeof(out)));
    OK(MPI_File_seek(file, (MPI_Offset) ((rank + 1) % size) * sizeof(out), MPI_SEEK_SET));
    OK(MPI_File_read(file, in, N, MPI_INT, &status));
    for (int i = 0; i < N; i++)
        CHECK(in[i] == (rank + 1) % size * N + i);
    OK(MPI_File_get_position(file, &position));
    CHECK(position == (MPI_Offset) (((rank + 1) % size + 1) * sizeof(out)));
    OK(MPI_File_read_at(file, bytes, in, N, MPI_INT, &status));
    MPI_Get_count(&status, MPI_INT, &count);
    CHECK(count == 0);
    OK(MPI_File_get_group(file, &group));
    MPI_Group_free(&group);
    OK(MPI_File_set_size(file, 12));
    OK(MPI_File_get_size(file, &bytes));
    CHECK(bytes == 12);
    OK(MPI_File_close(&file));
    return end();
}
