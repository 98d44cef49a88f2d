/*
 * Several collective writes through one open file: the error class of each on every rank, and what
 * MPI_File_get_info tells every rank after it of the layout and of who divides the file. If all
 * went well, every byte is compared at the end.
 *
 * Usage: calls FILE PIECE COUNT CALLS [late | beside] [[CALL:]NAME=VALUE...]
 *
 * In each call every rank writes COUNT pieces of PIECE bytes, in turn with the other ranks, behind
 * what the call before has written. Hints are given at open, or before a call. The file stays.
 * late: rank 0 comes later to the first call, and writes a byte by itself before. beside: what the
 * first call writes is also being written by a nonblocking one.
 */
#include "gather.h"

#include <stdint.h>
#include <unistd.h>

static int64_t piece, count;

static char value_at(int64_t off)
{
    return (char)(off * 31 + off / 251 * 7 + 1);
}

/* Those of the hints that are for this call; 0: at open. */
static MPI_Info hints_of(int call, int argc, char **argv, int *given)
{
    MPI_Info info;

    MPI_Info_create(&info);
    *given = 0;
    for (int i = 5; i < argc; i++) {
        char text[LINE], *name = text, *value;

        snprintf(text, sizeof(text), "%s", argv[i]);
        if (strtol(text, &name, 10) != call)
            continue;
        name += *name == ':';
        value = strchr(name, '=');
        if (value == NULL)
            continue;
        *value++ = '\0';
        MPI_Info_set(info, name, value);
        ++*given;
    }
    return info;
}

static void fill(int call, char *buf)
{
    for (int64_t i = 0; i < piece * count; i++)
        buf[i] = value_at((((call - 1) * count + i / piece) * size + rank) * piece + i % piece);
}

static int write_once(MPI_File file, int call, char *buf)
{
    fill(call, buf);
    return MPI_File_write_all(file, buf, (int)(piece * count), MPI_BYTE, MPI_STATUS_IGNORE);
}

/* Others have long come to the next call. */
static void write_late(MPI_File file)
{
    char first = value_at(0);

    if (rank != 0)
        return;
    usleep(500000);
    OK(MPI_File_write_at(file, 0, &first, 1, MPI_BYTE, MPI_STATUS_IGNORE));
}

static MPI_Request write_beside(MPI_File file, char *buf)
{
    MPI_Request request;

    fill(1, buf);
    OK(MPI_File_iwrite_at_all(file, 0, buf, (int)(piece * count), MPI_BYTE, &request));
    return request;
}

static void print_info(MPI_File file, int call)
{
    static const char *const names[] = {"tamio_layout", "tamio_domain", "tamio_aggregators"};
    MPI_Info info;

    OK(MPI_File_get_info(file, &info));
    for (int i = 0; i < 3; i++) {
        char value[MPI_MAX_INFO_VAL + 1] = "-", what[LINE];
        int found;

        MPI_Info_get(info, names[i], MPI_MAX_INFO_VAL, value, &found);
        snprintf(what, sizeof(what), "%d %s", call, names[i]);
        print_ranks(what, "%s", value);
    }
    MPI_Info_free(&info);
}

static void compare_bytes(int64_t bytes)
{
    const char *name = strrchr(path, ':') ? strrchr(path, ':') + 1 : path;
    FILE *f = fopen(name, "r");
    int64_t wrong = 0, n = 0;
    int c;

    CHECK(f != NULL);
    while (f != NULL && (c = getc(f)) != EOF)
        wrong += (char)c != value_at(n++);
    CHECK(wrong == 0 && n == bytes);
    if (f != NULL)
        fclose(f);
}

int main(int argc, char **argv)
{
    int calls, given, failed = 0;
    MPI_File file;
    MPI_Info info;
    MPI_Request request = MPI_REQUEST_NULL;
    char *buf, *other;

    begin(argc, argv);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    piece = atoll(argv[2]);
    count = atoll(argv[3]);
    calls = atoi(argv[4]);
    buf = malloc((size_t)(piece * count));
    other = malloc((size_t)(piece * count));
    info = hints_of(0, argc, argv, &given);
    OK(MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_CREATE | MPI_MODE_RDWR, info, &file));
    MPI_Info_free(&info);
    set_view_of_pieces(file, (int)piece);
    if (argc > 5 && strcmp(argv[5], "late") == 0)
        write_late(file);
    if (argc > 5 && strcmp(argv[5], "beside") == 0)
        request = write_beside(file, other);
    for (int call = 1; call <= calls; call++) {
        char what[LINE];
        int rc;

        info = hints_of(call, argc, argv, &given);
        if (given)
            OK(MPI_File_set_info(file, info));
        MPI_Info_free(&info);
        rc = write_once(file, call, buf);
        snprintf(what, sizeof(what), "%d write_all", call);
        print_classes(what, rc);
        print_info(file, call);
        failed |= rc != MPI_SUCCESS;
    }
    OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    OK(MPI_File_close(&file));
    MPI_Allreduce(MPI_IN_PLACE, &failed, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    if (!failed && rank == 0)
        compare_bytes(piece * count * size * calls);
    free(other);
    free(buf);
    MPI_Finalize();
    return failures != 0;
}
