/*
 * Groups become more once a call has shown that there is much to move, and the data is right before
 * and after: every rank writes 9 MiB, interleaved, and reads them back. Prints the groups on a node
 * before the first call, after a small one, and after the large ones.
 *
 * Usage: volume FILE
 */
#include "gather.h"

#define PIECE 4096
#define BYTES (9 << 20)

static unsigned char buf[BYTES];

static unsigned char byte_at(int i, int turn)
{
    return (unsigned char)(i * 7 + i / PIECE + 31 * rank + turn);
}

static void show_groups(MPI_File file, const char *step)
{
    char value[MPI_MAX_INFO_VAL + 1] = "none";
    MPI_Info info;
    int flag;

    OK(MPI_File_get_info(file, &info));
    MPI_Info_get(info, "tamio_groups_per_node", MPI_MAX_INFO_VAL, value, &flag);
    MPI_Info_free(&info);
    if (rank == 0)
        printf("%s %s\n", step, value);
}

static void write_and_read(MPI_File file, int turn)
{
    int wrong = 0;

    for (int i = 0; i < BYTES; i++)
        buf[i] = byte_at(i, turn);
    OK(MPI_File_write_at_all(file, 0, buf, BYTES, MPI_BYTE, MPI_STATUS_IGNORE));
    memset(buf, 0, sizeof(buf));
    OK(MPI_File_read_at_all(file, 0, buf, BYTES, MPI_BYTE, MPI_STATUS_IGNORE));
    for (int i = 0; i < BYTES; i++)
        wrong += buf[i] != byte_at(i, turn);
    CHECK(wrong == 0);
}

int main(int argc, char **argv)
{
    MPI_Datatype piece, type;
    MPI_File file;

    begin(argc, argv);
    file = open_scratch(MPI_COMM_WORLD);
    MPI_Type_contiguous(PIECE, MPI_BYTE, &piece);
    MPI_Type_create_resized(piece, 0, (MPI_Aint)PIECE * size, &type);
    MPI_Type_commit(&type);
    OK(MPI_File_set_view(file, (MPI_Offset)PIECE * rank, MPI_BYTE, type, "native", MPI_INFO_NULL));
    show_groups(file, "view");
    OK(MPI_File_write_at_all(file, 0, buf, 1, MPI_BYTE, MPI_STATUS_IGNORE));
    show_groups(file, "small");
    write_and_read(file, 1);
    show_groups(file, "large");
    write_and_read(file, 2);
    show_groups(file, "again");
    MPI_Type_free(&type);
    MPI_Type_free(&piece);
    OK(MPI_File_close(&file));
    return end();
}
