/*
 * One rank has no memory for what a file needs for collective calls, at each place in turn: in
 * set_info, or in the first collective call. All ranks get the same outcome, success or no memory,
 * and the next call works.
 *
 * Usage: no_memory FILE RANK info|call
 */
#include "gather.h"

#include <dlfcn.h>

#define MOST 200
#define PIECES 50
#define BYTES 100

static int (*fail)(int);

static MPI_Info hint(const char *value)
{
    MPI_Info info;

    MPI_Info_create(&info);
    MPI_Info_set(info, "romio_tam_aggrs_per_node", value);
    return info;
}

/* Collective: whether all have this class. */
static int have_all(int class, int wanted)
{
    int mine = class == wanted, all;

    MPI_Allreduce(&mine, &all, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    return all;
}

static void check_same(int code)
{
    int class = class_of(code), first = class;

    MPI_Bcast(&first, 1, MPI_INT, 0, MPI_COMM_WORLD);
    CHECK(have_all(class, first));
    CHECK(class == MPI_SUCCESS || class == MPI_ERR_NO_MEM);
}

static void fill(char *buf, int from)
{
    for (int i = 0; i < BYTES; i++)
        buf[i] = (char)(from + i);
}

static int write_piece(MPI_File file, int i)
{
    char buf[BYTES];
    MPI_Status status;
    int n = -1, rc;

    fill(buf, rank + i);
    rc = MPI_File_write_at_all(file, (MPI_Offset)(i * size + rank) * BYTES, buf, BYTES, MPI_BYTE,
                               &status);
    if (rc == MPI_SUCCESS) {
        MPI_Get_count(&status, MPI_BYTE, &n);
        CHECK(n == BYTES);
    }
    return rc;
}

static void check_piece(MPI_File file, int i)
{
    char buf[BYTES], expected[BYTES];

    fill(expected, rank + i);
    OK(MPI_File_read_at_all(file, (MPI_Offset)(i * size + rank) * BYTES, buf, BYTES, MPI_BYTE,
                            MPI_STATUS_IGNORE));
    CHECK(memcmp(buf, expected, BYTES) == 0);
}

static int attempt(MPI_File file, int in_call)
{
    MPI_Info info;
    int rc;

    if (in_call)
        return write_piece(file, 0);
    info = hint("2");
    rc = MPI_File_set_info(file, info);
    MPI_Info_free(&info);
    return rc;
}

/* With the n-th allocation failing on that rank; whether there was one. */
static int once(int n, int which, int in_call)
{
    int fired, rc;
    MPI_File file = open_scratch(MPI_COMM_WORLD);

    fail(rank == which ? n : 0);
    rc = attempt(file, in_call);
    fired = fail(0);
    MPI_Bcast(&fired, 1, MPI_INT, which, MPI_COMM_WORLD);
    check_same(rc);
    for (int i = 0; i < 3; i++) {
        OK(write_piece(file, i));
        check_piece(file, i);
    }
    OK(MPI_File_close(&file));
    return fired;
}

int main(int argc, char **argv)
{
    int n = 1;

    begin(argc, argv);
    *(void **)&fail = dlsym(RTLD_DEFAULT, "tamio_test_fail");
    CHECK(fail != NULL && argc == 4);
    while (failures == 0 && n < MOST && once(n, atoi(argv[2]), strcmp(argv[3], "call") == 0))
        n++;
    if (rank == 0)
        printf("allocations: %d\n", n - 1);
    CHECK(n > 5 && n < MOST);
    return end();
}
