/* 200 files are open at once, each used by a collective call, then closed. */
#include "gather.h"

#define FILES 200
#define N 64

static void name_of(int i, char *name, size_t length)
{
    snprintf(name, length, "%s.%d", path, i);
}

static void use(MPI_File file, int number)
{
    int out[N], in[N], wrong = 0;
    MPI_Datatype view;

    MPI_Type_vector(N, 1, size, MPI_INT, &view);
    MPI_Type_commit(&view);
    OK(MPI_File_set_view(file, (MPI_Offset)rank * (MPI_Offset)sizeof(int), MPI_INT, view, "native",
                         MPI_INFO_NULL));
    for (int i = 0; i < N; i++)
        out[i] = number * N + i;
    OK(MPI_File_write_at_all(file, 0, out, N, MPI_INT, MPI_STATUS_IGNORE));
    OK(MPI_File_read_at_all(file, 0, in, N, MPI_INT, MPI_STATUS_IGNORE));
    for (int i = 0; i < N; i++)
        wrong += in[i] != out[i];
    CHECK(wrong == 0);
    MPI_Type_free(&view);
}

int main(int argc, char **argv)
{
    static MPI_File files[FILES];
    char name[1100];

    begin(argc, argv);
    for (int i = 0; i < FILES; i++) {
        name_of(i, name, sizeof(name));
        OK(MPI_File_open(MPI_COMM_WORLD, name,
                         MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE, MPI_INFO_NULL,
                         &files[i]));
    }
    for (int i = 0; i < FILES; i++)
        use(files[i], i);
    for (int i = 0; i < FILES; i++)
        OK(MPI_File_close(&files[(i * 7) % FILES]));
    return end();
}
