/*
 * What MPI_File_get_info tells of choices, step by step: lines "STEP KEY=VALUE" of the keys that
 * begin with tamio_. All ranks must see the same. Information of one file is then given to another
 * one's open, where it must change nothing.
 *
 * Usage: choices FILE
 */
#include "gather.h"

#define BYTES 20000 /* of each rank: too many to be a small call */

static char buf[BYTES];

/* The keys of a file as text, in the order of their names. */
static void describe(MPI_File file, const char *step, char *text, size_t room)
{
    static const char *const keys[] = {"tamio_groups_per_node", "tamio_last_call", "tamio_round",
                                       "tamio_transport"};
    char value[MPI_MAX_INFO_VAL + 1];
    size_t used = 0;
    MPI_Info info;
    int flag;

    text[0] = '\0';
    OK(MPI_File_get_info(file, &info));
    for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
        MPI_Info_get(info, keys[i], MPI_MAX_INFO_VAL, value, &flag);
        if (flag)
            used += (size_t)snprintf(text + used, room - used, "%s %s=%s\n", step, keys[i], value);
    }
    MPI_Info_free(&info);
}

static void show(MPI_File file, const char *step)
{
    char mine[2000], first[2000];

    describe(file, step, mine, sizeof(mine));
    memcpy(first, mine, sizeof(mine));
    MPI_Bcast(first, sizeof(first), MPI_CHAR, 0, MPI_COMM_WORLD);
    CHECK(strcmp(first, mine) == 0);
    if (rank == 0)
        printf("%s", mine);
}

static void interleave(MPI_File file, int piece_size)
{
    MPI_Datatype piece, type;

    MPI_Type_contiguous(piece_size, MPI_BYTE, &piece);
    MPI_Type_create_resized(piece, 0, (MPI_Aint)piece_size * size, &type);
    MPI_Type_commit(&type);
    OK(MPI_File_set_view(file, piece_size * rank, MPI_BYTE, type, "native", MPI_INFO_NULL));
    MPI_Type_free(&type);
    MPI_Type_free(&piece);
}

static void nonblocking(MPI_File file)
{
    MPI_Request request;

    OK(MPI_File_iread_at_all(file, 0, buf, BYTES, MPI_BYTE, &request));
    OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
}

/* A hint is passed on as the word it was, whatever was made of it. */
static void same_word(MPI_Info info, MPI_Info again, const char *key)
{
    char value[MPI_MAX_INFO_VAL + 1] = "", value_again[MPI_MAX_INFO_VAL + 1] = "";
    int flag, flag_again;

    MPI_Info_get(info, key, MPI_MAX_INFO_VAL, value, &flag);
    MPI_Info_get(again, key, MPI_MAX_INFO_VAL, value_again, &flag_again);
    CHECK(flag && flag_again && strcmp(value, value_again) == 0);
    if (rank == 0)
        printf("passed_on %s=%s\n", key, value_again);
}

/* Another file, opened with what the first one told. */
static void pass_on(MPI_File file)
{
    MPI_Info info, again;
    MPI_File other;

    OK(MPI_File_get_info(file, &info));
    OK(MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_RDONLY, info, &other));
    show(other, "passed_on");
    OK(MPI_File_get_info(other, &again));
    same_word(info, again, "romio_tam");
    same_word(info, again, "romio_tam_aggrs_per_node");
    same_word(info, again, "romio_tam_transport");
    MPI_Info_free(&again);
    MPI_Info_free(&info);
    OK(MPI_File_close(&other));
}

int main(int argc, char **argv)
{
    MPI_File file;

    begin(argc, argv);
    file = open_scratch(MPI_COMM_WORLD);
    show(file, "open");
    interleave(file, 10);
    show(file, "view");
    OK(MPI_File_write_at_all(file, 0, buf, BYTES, MPI_BYTE, MPI_STATUS_IGNORE));
    show(file, "tiny");
    OK(MPI_File_write_at_all(file, 0, buf, BYTES, MPI_BYTE, MPI_STATUS_IGNORE));
    show(file, "again");
    nonblocking(file);
    show(file, "nonblocking");
    interleave(file, 100);
    OK(MPI_File_read_at_all(file, 0, buf, BYTES, MPI_BYTE, MPI_STATUS_IGNORE));
    show(file, "few");
    OK(MPI_File_set_atomicity(file, 1));
    OK(MPI_File_read_at_all(file, 0, buf, BYTES, MPI_BYTE, MPI_STATUS_IGNORE));
    show(file, "atomic");
    pass_on(file);
    OK(MPI_File_close(&file));
    return end();
}
