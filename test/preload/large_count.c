/* The calls of MPI 4 with MPI_Count, where the MPI has them. */

#include "check.h"

#define N 300

int main(int argc, char **argv)
{
#if MPI_VERSION >= 4
    int out[N], in[N];
    MPI_Count count = N;
    MPI_Status status;
    MPI_Request request;
    MPI_File file;

    begin(argc, argv);
    for (int i = 0; i < N; i++)
        out[i] = rank * N + i;
    file = open_scratch(MPI_COMM_WORLD);
    OK(MPI_File_write_at_all_c(file, rank * sizeof(out), out, count, MPI_INT, &status));
    OK(MPI_File_read_at_c(file, rank * sizeof(out), in, count, MPI_INT, &status));
    CHECK(memcmp(in, out, sizeof(in)) == 0);
    memset(in, 0, sizeof(in));
    OK(MPI_File_iread_at_all_c(file, rank * sizeof(out), in, count, MPI_INT, &request));
    OK(MPI_Wait(&request, &status));
    CHECK(memcmp(in, out, sizeof(in)) == 0);
    OK(MPI_File_close(&file));
    return end();
#else
    (void) argc;
    (void) argv;
    printf("this MPI is older than MPI 4\n");
    return 77;
#endif
}
