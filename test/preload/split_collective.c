/* Split collective calls: _begin and _end, explicit offsets, pointer and ordered. */

#include "check.h"

#define N 256

int main(int argc, char **argv)
{
    int out[N], in[N], count = -1;
    MPI_File file;
    MPI_Status status;

    begin(argc, argv);
    for (int i = 0; i < N; i++)
        out[i] = rank * N + i;
    file = open_scratch(MPI_COMM_WORLD);
    OK(MPI_File_write_at_all_begin(file, rank * sizeof(out), out, N, MPI_INT));
    OK(MPI_File_write_at_all_end(file, out, &status));
    MPI_Get_count(&status, MPI_INT, &count);
    CHECK(count == N);
    OK(MPI_File_seek(file, rank * sizeof(out), MPI_SEEK_SET));
    OK(MPI_File_read_all_begin(file, in, N, MPI_INT));
    OK(MPI_File_read_all_end(file, in, &status));
    CHECK(memcmp(in, out, sizeof(in)) == 0);
    memset(in, 0, sizeof(in));
    OK(MPI_File_read_ordered_begin(file, in, N, MPI_INT));
    OK(MPI_File_read_ordered_end(file, in, &status));
    CHECK(memcmp(in, out, sizeof(in)) == 0);
    CHECK(MPI_File_read_all_end(file, in, &status) != MPI_SUCCESS);
    OK(MPI_File_close(&file));
    return end();
}
