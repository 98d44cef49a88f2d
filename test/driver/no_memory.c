/*
 * One rank has no memory for one allocation of tamio's, each in turn: while a file is prepared for
 * collective calls, in set_info or in the first call; or in a later call. All ranks get the same
 * outcome, success or no memory, and the next calls work.
 *
 * Usage: no_memory FILE RANK info|call|write|read|iwrite|iread [HOW MANY FAIL]
 */
#include "gather.h"

#include <dlfcn.h>

#define MOST 500
#define BYTES 100  /* of a piece */
#define PIECES 200 /* of a rank in a call that is not prepared for any more */

static int (*fail)(int, int);

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

/* What a rank has at byte i of its view, after the call of that number. */
static char byte_of(int call, int i)
{
    return (char)(1 + rank + 7 * call + i);
}

static void check_count(MPI_Status *status)
{
    int n = -1;

    MPI_Get_count(status, MPI_BYTE, &n);
    CHECK(n == BYTES * PIECES);
}

static int finish(int rc, MPI_Request *request, MPI_Status *status)
{
    return rc == MPI_SUCCESS ? MPI_Wait(request, status) : rc;
}

/* Each rank's at a place of its own, without a view or within it. */
static MPI_Offset place(int viewed)
{
    return viewed ? 0 : (MPI_Offset)rank * BYTES * PIECES;
}

static int write_pieces(MPI_File file, int call, int nonblocking, int viewed)
{
    static char buf[BYTES * PIECES];
    MPI_Request request;
    MPI_Status status;
    int rc;

    for (int i = 0; i < BYTES * PIECES; i++)
        buf[i] = byte_of(call, i);
    if (nonblocking)
        rc = finish(
            MPI_File_iwrite_at_all(file, place(viewed), buf, sizeof(buf), MPI_BYTE, &request),
            &request, &status);
    else
        rc = MPI_File_write_at_all(file, place(viewed), buf, sizeof(buf), MPI_BYTE, &status);
    if (rc == MPI_SUCCESS)
        check_count(&status);
    return rc;
}

static int read_pieces(MPI_File file, int call, int nonblocking)
{
    static char buf[BYTES * PIECES];
    MPI_Request request;
    MPI_Status status;
    int rc, wrong = 0;

    memset(buf, 0, sizeof(buf));
    if (nonblocking)
        rc = finish(MPI_File_iread_at_all(file, 0, buf, sizeof(buf), MPI_BYTE, &request), &request,
                    &status);
    else
        rc = MPI_File_read_at_all(file, 0, buf, sizeof(buf), MPI_BYTE, &status);
    if (rc != MPI_SUCCESS)
        return rc;
    check_count(&status);
    for (int i = 0; i < BYTES * PIECES; i++)
        wrong += buf[i] != byte_of(call, i);
    CHECK(wrong == 0);
    return rc;
}

static int set_info(MPI_File file)
{
    MPI_Info info = hint("2");
    int rc = MPI_File_set_info(file, info);

    MPI_Info_free(&info);
    return rc;
}

static int attempt(MPI_File file, const char *what)
{
    if (strcmp(what, "info") == 0)
        return set_info(file);
    if (strcmp(what, "read") == 0 || strcmp(what, "iread") == 0)
        return read_pieces(file, 0, what[0] == 'i');
    return write_pieces(file, 1, what[0] == 'i', strcmp(what, "call") != 0);
}

/* The file as it is when the failing call comes. */
static MPI_File prepare(const char *what)
{
    MPI_File file = open_scratch(MPI_COMM_WORLD);

    if (strcmp(what, "info") == 0 || strcmp(what, "call") == 0)
        return file;
    set_view_of_pieces(file, BYTES);
    OK(write_pieces(file, 0, 0, 1));
    OK(write_pieces(file, 0, 1, 1));
    return file;
}

/* With allocation n, and as many more as are to fail, failing on that rank; whether it did. */
static int once(int n, int many, int which, const char *what)
{
    int fired, rc;
    MPI_File file = prepare(what);

    fail(rank == which ? n : 0, many);
    rc = attempt(file, what);
    fired = fail(0, 0);
    MPI_Bcast(&fired, 1, MPI_INT, which, MPI_COMM_WORLD);
    check_same(rc);
    set_view_of_pieces(file, BYTES);
    for (int i = 2; i < 5; i++) {
        OK(write_pieces(file, i, i == 3, 1));
        OK(read_pieces(file, i, i == 4));
    }
    OK(MPI_File_close(&file));
    return fired;
}

int main(int argc, char **argv)
{
    int n = 1, many;

    begin(argc, argv);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN); /* MPI_Wait asks that */
    *(void **)&fail = dlsym(RTLD_DEFAULT, "tamio_test_fail");
    CHECK(fail != NULL && argc >= 4);
    many = argc > 4 ? atoi(argv[4]) : 1;
    while (failures == 0 && n < MOST && once(n, many, atoi(argv[2]), argv[3]))
        n++;
    if (rank == 0)
        printf("allocations: %d\n", n - 1);
    CHECK(n > 2 && n < MOST);
    return end();
}
