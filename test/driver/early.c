/*
 * Early return: two files with different orders of rounds, ranks with nothing to do, and whatever
 * may follow a call at once: the buffer is used again, another call on either file, an independent
 * access to what was just written while others wait elsewhere, a sync, a close.
 *
 * Usage:
 *
 *   early FILE [BYTES]
 *       FILE and FILE.2 must hold what was written, in pieces of so many bytes
 *
 *   early FILE WHAT KILOBYTES
 *       writing fails (WHAT is failing-read: reading): every rank must get the error once
 *
 * It comes from the write or from what follows. WHAT is sync, close, read, resize, atomic; or view,
 * info, alone (an independent read) or iread, after which it comes with the close.
 */
#include "gather.h"

#include <string.h>

static int piece_bytes = 1000;
#define CALLS 4

/* ---- data ---- */

/* The last call has zeros, which is what lies beyond the end of a file, too. */
static unsigned char value(int owner, int call, int piece)
{
    if (call == CALLS)
        return 0;
    return (unsigned char)(1 + (owner * 31 + call * 7 + piece) % 250);
}

static int pieces_of(int who)
{
    return who % 3 == 2 ? 0 : 20 + 10 * who; /* every third rank has nothing */
}

static int most_pieces(void)
{
    return 20 + 10 * size;
}

static MPI_File open_file(const char *name, const char *order)
{
    MPI_Info info;
    MPI_File file;

    MPI_Info_create(&info);
    MPI_Info_set(info, "cb_schedule", order);
    MPI_Info_set(info, "cb_early_return", "enable");
    OK(MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_RDWR | MPI_MODE_CREATE, info, &file));
    MPI_Info_free(&info);
    set_view_of_pieces(file, piece_bytes);
    return file;
}

/* Where a call begins in the view of each rank. */
static MPI_Offset place(int call)
{
    return (MPI_Offset)call * piece_bytes * most_pieces();
}

static void write_once(MPI_File file, int call, unsigned char *buf)
{
    int n = pieces_of(rank);

    for (int i = 0; i < n; i++)
        memset(buf + (size_t)i * piece_bytes, value(rank, call, i), piece_bytes);
    OK(MPI_File_write_at_all(file, place(call), buf, n * piece_bytes, MPI_BYTE, MPI_STATUS_IGNORE));
    memset(buf, 0xff, (size_t)n * piece_bytes);
}

static void check(const unsigned char *buf, int call, const char *what)
{
    for (int i = 0; i < pieces_of(rank) * piece_bytes; i++)
        if (buf[i] != value(rank, call, i / piece_bytes)) {
            fprintf(stderr, "rank %d: %s, call %d: wrong from byte %d on\n", rank, what, call, i);
            failures++;
            return;
        }
}

/* By one rank after the other, the others waiting for it in a receive: it must not need them. */
static void read_alone(MPI_File file, int call, unsigned char *buf)
{
    int token = 0;

    if (rank > 0)
        MPI_Recv(&token, 1, MPI_INT, rank - 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    OK(MPI_File_read_at(file, place(call), buf, pieces_of(rank) * piece_bytes, MPI_BYTE,
                        MPI_STATUS_IGNORE));
    check(buf, call, "read_at");
    if (rank < size - 1)
        MPI_Send(&token, 1, MPI_INT, rank + 1, 0, MPI_COMM_WORLD);
    MPI_Barrier(MPI_COMM_WORLD);
}

/* What a rank writes by itself, after it has returned, is what is there then. */
static void overwrite_alone(MPI_File file, int call, unsigned char *buf)
{
    MPI_Request request;

    write_once(file, call + 1, buf);
    if (pieces_of(rank) == 0)
        return;
    memset(buf, value(rank, call, 0), piece_bytes);
    OK(MPI_File_write_at(file, place(call + 1), buf, piece_bytes, MPI_BYTE, MPI_STATUS_IGNORE));
    memset(buf, value(rank, call, 1), piece_bytes);
    OK(MPI_File_iwrite_at(file, place(call + 1) + piece_bytes, buf, piece_bytes, MPI_BYTE,
                          &request));
    OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    OK(MPI_File_read_at(file, place(call + 1), buf, 2 * piece_bytes, MPI_BYTE, MPI_STATUS_IGNORE));
    for (int i = 0; i < 2 * piece_bytes; i++)
        CHECK(buf[i] == value(rank, call, i / piece_bytes));
}

/* All ranks have overwritten two pieces. */
static void check_overwritten(MPI_File file, int call, unsigned char *buf)
{
    int n = pieces_of(rank) * piece_bytes, wrong = 0;

    OK(MPI_File_read_at_all(file, place(call + 1), buf, n, MPI_BYTE, MPI_STATUS_IGNORE));
    for (int i = 0; i < n; i++)
        wrong += buf[i] != value(rank, i < 2 * piece_bytes ? call : call + 1, i / piece_bytes);
    CHECK(wrong == 0);
}

/* The next rank's first piece, through another handle: sync, barrier, sync. */
static void read_others(MPI_File file, MPI_File bytes, int call, unsigned char *buf)
{
    int next = (rank + 1) % size;

    write_once(file, call, buf);
    OK(MPI_File_sync(file));
    MPI_Barrier(MPI_COMM_WORLD);
    OK(MPI_File_sync(bytes));
    if (pieces_of(next) == 0)
        return;
    OK(MPI_File_read_at(bytes, place(call) * size + next * piece_bytes, buf, piece_bytes, MPI_BYTE,
                        MPI_STATUS_IGNORE));
    for (int i = 0; i < piece_bytes; i++)
        CHECK(buf[i] == value(next, call, 0));
}

static void read_once(MPI_File file, int call, unsigned char *buf)
{
    MPI_Status status;
    int count;

    OK(MPI_File_read_at_all(file, place(call), buf, pieces_of(rank) * piece_bytes, MPI_BYTE,
                            &status));
    MPI_Get_count(&status, MPI_BYTE, &count);
    if (count != pieces_of(rank) * piece_bytes) {
        fprintf(stderr, "rank %d: %d bytes read\n", rank, count);
        failures++;
    }
    check(buf, call, "read_at_all");
}

static void two_files(void)
{
    char second[4096];
    unsigned char *buf = malloc((size_t)most_pieces() * piece_bytes);
    MPI_File file[2];

    snprintf(second, sizeof(second), "%s.2", path);
    file[0] = open_file(path, "first-finish");
    file[1] = open_file(second, "lw-mdf");
    for (int call = 0; call < CALLS; call++) {
        write_once(file[0], call, buf);
        write_once(file[1], call, buf);
        if (call % 2 == 0)
            read_alone(file[call / 2 % 2], call, buf);
    }
    for (int call = 0; call < CALLS; call++) {
        read_once(file[call % 2], call, buf);
        read_once(file[0], call, buf);
    }
    write_once(file[1], CALLS, buf);
    OK(MPI_File_sync(file[1]));
    OK(MPI_File_close(&file[1]));
    OK(MPI_File_close(&file[0]));
    file[0] = open_file(second, "gw-mdf");
    for (int call = 0; call <= CALLS; call++)
        read_once(file[0], call, buf);
    OK(MPI_File_open(MPI_COMM_WORLD, second, MPI_MODE_RDWR, MPI_INFO_NULL, &file[1]));
    read_others(file[0], file[1], CALLS + 1, buf);
    OK(MPI_File_close(&file[1]));
    overwrite_alone(file[0], CALLS + 1, buf);
    OK(MPI_File_close(&file[0]));
    file[0] = open_file(second, "mdf");
    check_overwritten(file[0], CALLS + 1, buf);
    OK(MPI_File_close(&file[0]));
    free(buf);
}

/* ---- errors ---- */

static int errors;

static void note(const char *what, int rc)
{
    errors += rc != MPI_SUCCESS;
    print_classes(what, rc);
}

/* Calls that do not deliver an error of an earlier one. */
static int is_passed_over(const char *then)
{
    return strcmp(then, "close") == 0 || strcmp(then, "view") == 0 || strcmp(then, "info") == 0 ||
           strcmp(then, "alone") == 0 || strcmp(then, "iread") == 0;
}

static int set_info(MPI_File file)
{
    MPI_Info info;
    int rc;

    MPI_Info_create(&info);
    rc = MPI_File_set_info(file, info);
    MPI_Info_free(&info);
    return rc;
}

static int iread_all(MPI_File file, char *buf)
{
    MPI_Request request;
    int rc = MPI_File_iread_at_all(file, 0, buf, 10, MPI_BYTE, &request);
    int waited = MPI_Wait(&request, MPI_STATUS_IGNORE);

    return rc != MPI_SUCCESS ? rc : waited;
}

static void full_disk(const char *then, int kilobytes)
{
    MPI_File file = open_file(path, "first-finish");
    char *buf = calloc((size_t)kilobytes, 1000);

    note("write_all",
         MPI_File_write_at_all(file, 0, buf, kilobytes * 1000, MPI_BYTE, MPI_STATUS_IGNORE));
    if (strcmp(then, "failing-read") == 0)
        note("read_all",
             MPI_File_read_at_all(file, 0, buf, kilobytes * 1000, MPI_BYTE, MPI_STATUS_IGNORE));
    if (strcmp(then, "view") == 0)
        note("set_view", MPI_File_set_view(file, 0, MPI_BYTE, MPI_BYTE, "native", MPI_INFO_NULL));
    if (strcmp(then, "info") == 0)
        note("set_info", set_info(file));
    if (strcmp(then, "alone") == 0)
        note("read_at", MPI_File_read_at(file, 0, buf, 10, MPI_BYTE, MPI_STATUS_IGNORE));
    if (strcmp(then, "iread") == 0)
        note("iread_all", iread_all(file, buf));
    if (strcmp(then, "read") == 0)
        note("read_all", MPI_File_read_at_all(file, 0, buf, 10, MPI_BYTE, MPI_STATUS_IGNORE));
    if (strcmp(then, "sync") == 0)
        note("sync", MPI_File_sync(file));
    if (strcmp(then, "resize") == 0)
        note("set_size", MPI_File_set_size(file, 1000));
    if (strcmp(then, "atomic") == 0)
        note("set_atomicity", MPI_File_set_atomicity(file, 1));
    if (strcmp(then, "failing-read") == 0)
        note("sync", MPI_File_sync(file));
    CHECK(errors == 1 || is_passed_over(then));
    note("close", MPI_File_close(&file));
    if (errors != 1) {
        fprintf(stderr, "rank %d: %d errors\n", rank, errors);
        failures++;
    }
    free(buf);
}

int main(int argc, char **argv)
{
    begin(argc, argv);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    if (argc == 3)
        piece_bytes = atoi(argv[2]);
    if (argc > 3)
        full_disk(argv[2], atoi(argv[3]));
    else
        two_files();
    MPI_Finalize();
    return failures != 0;
}
