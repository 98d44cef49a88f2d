/*
 * File after file, on the same communicator, several at once, on parts of it, and after some ranks
 * alone have had so many files that their shared memory of earlier ones is gone: each has its data.
 */
#include "gather.h"

#define N 3000
#define MANY 6

static MPI_File open_on(MPI_Comm comm, int number)
{
    int first = rank;
    char name[1100];
    MPI_File file;

    MPI_Bcast(&first, 1, MPI_INT, 0, comm);
    snprintf(name, sizeof(name), "%s.%d.%d", path, first, number);
    OK(MPI_File_open(comm, name, MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE,
                     MPI_INFO_NULL, &file));
    return file;
}

/* Every rank's numbers in turn; read back one rank further on, so that they come from others. */
static void use(MPI_Comm comm, MPI_File file, int from)
{
    static int data[N];
    MPI_Datatype view;
    int me, n, wrong = 0;

    MPI_Comm_rank(comm, &me);
    MPI_Comm_size(comm, &n);
    MPI_Type_vector(N, 1, n, MPI_INT, &view);
    MPI_Type_commit(&view);
    for (int i = 0; i < N; i++)
        data[i] = from + i * n + me;
    OK(MPI_File_set_view(file, me * (MPI_Offset)sizeof(int), MPI_INT, view, "native",
                         MPI_INFO_NULL));
    OK(MPI_File_write_all(file, data, N, MPI_INT, MPI_STATUS_IGNORE));
    me = (me + 1) % n;
    OK(MPI_File_set_view(file, me * (MPI_Offset)sizeof(int), MPI_INT, view, "native",
                         MPI_INFO_NULL));
    memset(data, 0xee, sizeof(data));
    OK(MPI_File_read_all(file, data, N, MPI_INT, MPI_STATUS_IGNORE));
    for (int i = 0; i < N; i++)
        wrong += data[i] != from + i * n + me;
    CHECK(wrong == 0);
    MPI_Type_free(&view);
}

static void one_after_the_other(MPI_Comm comm, int from)
{
    for (int i = 0; i < 3; i++) {
        MPI_File file = open_on(comm, i);

        use(comm, file, from + i);
        OK(MPI_File_close(&file));
    }
}

/* All open at once, used in turn and closed first to last. */
static void at_once(MPI_Comm comm, int from)
{
    MPI_File file[MANY];

    for (int i = 0; i < MANY; i++)
        file[i] = open_on(comm, i);
    for (int i = 0; i < 2 * MANY; i++)
        use(comm, file[i % MANY], from + 100 * i);
    for (int i = 0; i < MANY; i++)
        OK(MPI_File_close(&file[i]));
}

static void set_limit(MPI_File file, const char *bytes)
{
    MPI_Info info;

    MPI_Info_create(&info);
    MPI_Info_set(info, "romio_tam_memory_limit", bytes);
    OK(MPI_File_set_info(file, info));
    MPI_Info_free(&info);
}

static void get_transport(MPI_File file, char *word)
{
    MPI_Info info;
    int found;

    OK(MPI_File_get_info(file, &info));
    MPI_Info_get(info, "tamio_transport", MPI_MAX_INFO_VAL - 1, word, &found);
    if (!found)
        strcpy(word, "none");
    MPI_Info_free(&info);
}

/* A file whose memory limit is raised leaves two kinds of shared memory: the next one gets its own.
 */
static void other_limit(void)
{
    char before[MPI_MAX_INFO_VAL], after[MPI_MAX_INFO_VAL];
    int n = 6 << 20;
    char *buf = calloc((size_t)n, 1);
    MPI_File file = open_on(MPI_COMM_WORLD, 0);

    set_limit(file, "1048576");
    use(MPI_COMM_WORLD, file, 0);
    set_limit(file, "67108864");
    use(MPI_COMM_WORLD, file, 0);
    get_transport(file, before);
    OK(MPI_File_close(&file));
    file = open_on(MPI_COMM_WORLD, 1);
    set_limit(file, "67108864");
    use(MPI_COMM_WORLD, file, 0);
    for (int i = 0; i < 2; i++) /* the second one knows what was found out in the first */
        OK(MPI_File_write_at_all(file, 0, buf, n / 4, MPI_INT, MPI_STATUS_IGNORE));
    get_transport(file, after);
    CHECK(strcmp(before, after) == 0);
    OK(MPI_File_close(&file));
    free(buf);
}

int main(int argc, char **argv)
{
    MPI_Comm dup, half, reversed;

    begin(argc, argv);
    MPI_Comm_dup(MPI_COMM_WORLD, &dup);
    MPI_Comm_split(MPI_COMM_WORLD, rank < size / 2, rank, &half);
    MPI_Comm_split(MPI_COMM_WORLD, 0, -rank, &reversed);
    one_after_the_other(MPI_COMM_WORLD, 0);
    one_after_the_other(dup, 1000);
    one_after_the_other(reversed, 2000);
    at_once(MPI_COMM_WORLD, 3000);
    one_after_the_other(MPI_COMM_WORLD, 4000);
    if (rank < size / 2)
        at_once(half, 5000);
    one_after_the_other(MPI_COMM_WORLD, 6000);
    one_after_the_other(half, 7000);
    one_after_the_other(dup, 8000);
    other_limit();
    MPI_Comm_free(&reversed);
    MPI_Comm_free(&half);
    MPI_Comm_free(&dup);
    return end();
}
