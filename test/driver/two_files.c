/* Two files open at once keep their own hints, and calls on them in turn give the right data. */
#include "gather.h"

#define N 20000

static MPI_File open_with(const char *suffix, const char *tam, const char *aggrs)
{
    char name[1100];
    MPI_File file;
    MPI_Info info;

    snprintf(name, sizeof(name), "%s.%s", path, suffix);
    MPI_Info_create(&info);
    MPI_Info_set(info, "romio_tam", tam);
    MPI_Info_set(info, "romio_tam_aggrs_per_node", aggrs);
    OK(MPI_File_open(MPI_COMM_WORLD, name,
                     MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE, info, &file));
    MPI_Info_free(&info);
    return file;
}

static void check_hint(MPI_File file, const char *name, const char *expected)
{
    char value[MPI_MAX_INFO_VAL + 1] = "";
    MPI_Info info;
    int flag;

    OK(MPI_File_get_info(file, &info));
    MPI_Info_get(info, name, MPI_MAX_INFO_VAL, value, &flag);
    CHECK(flag && strcmp(value, expected) == 0);
    MPI_Info_free(&info);
}

static void interleave(MPI_File file)
{
    MPI_Datatype view;

    MPI_Type_vector(N, 1, size, MPI_INT, &view);
    MPI_Type_commit(&view);
    OK(MPI_File_set_view(file, (MPI_Offset)rank * (MPI_Offset)sizeof(int), MPI_INT, view, "native",
                         MPI_INFO_NULL));
    MPI_Type_free(&view);
}

static void write_numbers(MPI_File file, int from)
{
    static int data[N];

    for (int i = 0; i < N; i++)
        data[i] = from + i * size + rank;
    OK(MPI_File_write_at_all(file, 0, data, N, MPI_INT, MPI_STATUS_IGNORE));
}

static void check_numbers(MPI_File file, int from)
{
    static int data[N];
    int wrong = 0;

    memset(data, 0xee, sizeof(data));
    OK(MPI_File_read_at_all(file, 0, data, N, MPI_INT, MPI_STATUS_IGNORE));
    for (int i = 0; i < N; i++)
        wrong += data[i] != from + i * size + rank;
    CHECK(wrong == 0);
}

int main(int argc, char **argv)
{
    MPI_File a, b;

    begin(argc, argv);
    a = open_with("a", "enable", "2");
    b = open_with("b", "disable", "auto");
    check_hint(a, "romio_tam", "enable");
    check_hint(a, "romio_tam_aggrs_per_node", "2");
    check_hint(b, "romio_tam", "disable");
    check_hint(b, "romio_tam_aggrs_per_node", "auto");
    interleave(a);
    interleave(b);
    for (int round = 0; round < 3; round++) {
        write_numbers(a, round);
        write_numbers(b, 1000000 + round);
        check_numbers(b, 1000000 + round);
        check_numbers(a, round);
    }
    OK(MPI_File_close(&a));
    check_hint(b, "romio_tam", "disable");
    check_numbers(b, 1000002);
    OK(MPI_File_close(&b));
    return end();
}
