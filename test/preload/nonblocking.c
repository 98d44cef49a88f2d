/* Nonblocking calls, independent and collective, completed by Wait, Test and Waitall. */

#include "check.h"

#define N 512

static void wait_by_test(MPI_Request * request, MPI_Status * status)
{
    int done = 0;

    while (!done)
        MPI_Test(request, &done, status);
}

int main(int argc, char **argv)
{
    int out[2][N], in[2][N], count = -1;
    MPI_Offset mine;
    MPI_File file, second;
    MPI_Datatype strided;
    MPI_Request requests[2];
    MPI_Status status;

    begin(argc, argv);
    for (int i = 0; i < N; i++) {
        out[0][i] = rank * N + i;
        out[1][i] = -out[0][i];
    }
    mine = (MPI_Offset) rank * sizeof(out);
    file = open_scratch(MPI_COMM_WORLD);
    OK(MPI_File_iwrite_at(file, mine, out[0], N, MPI_INT, &requests[0]));
    OK(MPI_File_iwrite_at(file, mine + sizeof(out[0]), out[1], N, MPI_INT, &requests[1]));
    OK(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE));
    OK(MPI_File_seek(file, mine, MPI_SEEK_SET));
    OK(MPI_File_iread(file, in, 2 * N, MPI_INT, &requests[0]));
    OK(MPI_Wait(&requests[0], &status));
    MPI_Get_count(&status, MPI_INT, &count);
    CHECK(count == 2 * N);
    CHECK(memcmp(in, out, sizeof(in)) == 0);

    /* element i of rank r at i * size + r */
    MPI_Type_vector(N, 1, size, MPI_INT, &strided);
    MPI_Type_commit(&strided);
    OK(MPI_File_set_view(file, rank * sizeof(int), MPI_INT, strided, "native", MPI_INFO_NULL));
    memset(in, 0, sizeof(in));
    OK(MPI_File_iwrite_all(file, out[1], N, MPI_INT, &requests[0]));
    wait_by_test(&requests[0], &status);
    OK(MPI_File_iread_at_all(file, 0, in[0], N, MPI_INT, &requests[0]));
    OK(MPI_Wait(&requests[0], &status));
    MPI_Get_count(&status, MPI_INT, &count);
    CHECK(count == N);
    CHECK(memcmp(in[0], out[1], sizeof(in[0])) == 0);

    /* two collective ones at once on the same file, then on two */
    OK(MPI_File_iwrite_at_all(file, 0, out[0], N / 2, MPI_INT, &requests[0]));
    OK(MPI_File_iwrite_at_all(file, N / 2, out[0] + N / 2, N / 2, MPI_INT, &requests[1]));
    OK(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE));
    OK(MPI_File_read_at_all(file, 0, in[0], N, MPI_INT, &status));
    CHECK(memcmp(in[0], out[0], sizeof(in[0])) == 0);
    strcat(path, ".second");
    second = open_scratch(MPI_COMM_WORLD);
    OK(MPI_File_iwrite_at_all(file, 0, out[0], N, MPI_INT, &requests[0]));
    OK(MPI_File_iwrite_at_all(second, mine, out[1], N, MPI_INT, &requests[1]));
    OK(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE));
    OK(MPI_File_read_at_all(file, 0, in[0], N, MPI_INT, &status));
    OK(MPI_File_read_at_all(second, mine, in[1], N, MPI_INT, &status));
    CHECK(memcmp(in, out, sizeof(in)) == 0);
    OK(MPI_File_close(&second));
    MPI_Type_free(&strided);
    OK(MPI_File_close(&file));
    return end();
}
