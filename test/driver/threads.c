/*
 * Two threads of each rank, under MPI_THREAD_MULTIPLE.
 *
 * Usage: threads FILE size         one writes collectively, the other asks for the size of the file
 *        threads FILE nonblocking  each writes to a file of its own, FILE and FILE.2, with
 *                                  nonblocking collective calls
 */
#include "gather.h"

#include <pthread.h>

#define PIECE 1000
#define PIECES 200
#define CALLS 20

static MPI_File open_file(const char *name)
{
    int mode = MPI_MODE_RDWR | MPI_MODE_CREATE | MPI_MODE_DELETE_ON_CLOSE;
    MPI_File file;

    OK(MPI_File_open(MPI_COMM_WORLD, name, mode, MPI_INFO_NULL, &file));
    set_view_of_pieces(file, PIECE);
    return file;
}

/* What is in the file is what the last call wrote. */
static void check_file(MPI_File file, unsigned char *buf, int last)
{
    int wrong = 0;

    OK(MPI_File_read_at_all(file, 0, buf, PIECE * PIECES, MPI_BYTE, MPI_STATUS_IGNORE));
    for (int i = 0; i < PIECE * PIECES; i++)
        wrong += buf[i] != (unsigned char)(rank + last);
    CHECK(wrong == 0);
}

/* ---- the size, while others write ---- */

struct asking {
    MPI_File file;
    int stop;
    long asked;
};

static void *ask(void *argument)
{
    struct asking *a = argument;
    MPI_Offset bytes;

    while (!__atomic_load_n(&a->stop, __ATOMIC_ACQUIRE)) {
        OK(MPI_File_get_size(a->file, &bytes));
        CHECK(bytes >= 0 && bytes <= (MPI_Offset)PIECE * PIECES * size);
        a->asked++;
    }
    return NULL;
}

static void write_and_ask(void)
{
    struct asking a = {.file = open_file(path)};
    unsigned char *buf = malloc(PIECE * PIECES);
    pthread_t thread;

    pthread_create(&thread, NULL, ask, &a);
    for (int i = 0; i < CALLS; i++) {
        memset(buf, rank + i, PIECE * PIECES);
        OK(MPI_File_write_at_all(a.file, 0, buf, PIECE * PIECES, MPI_BYTE, MPI_STATUS_IGNORE));
    }
    __atomic_store_n(&a.stop, 1, __ATOMIC_RELEASE);
    pthread_join(thread, NULL);
    CHECK(a.asked > 0);
    check_file(a.file, buf, CALLS - 1);
    OK(MPI_File_close(&a.file));
    free(buf);
}

/* ---- two files ---- */

static void *write_all(void *argument)
{
    MPI_File file = *(MPI_File *)argument;
    unsigned char *buf = malloc(PIECE * PIECES);

    for (int i = 0; i < CALLS; i++) {
        MPI_Request request;

        memset(buf, rank + i, PIECE * PIECES);
        OK(MPI_File_iwrite_at_all(file, 0, buf, PIECE * PIECES, MPI_BYTE, &request));
        OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    }
    free(buf);
    return NULL;
}

static void write_two(void)
{
    unsigned char *buf = malloc(PIECE * PIECES);
    char second[1100];
    MPI_File file[2];
    pthread_t thread;

    snprintf(second, sizeof(second), "%s.2", path);
    file[0] = open_file(path);
    file[1] = open_file(second);
    pthread_create(&thread, NULL, write_all, &file[1]);
    write_all(&file[0]);
    pthread_join(thread, NULL);
    for (int i = 0; i < 2; i++) {
        check_file(file[i], buf, CALLS - 1);
        OK(MPI_File_close(&file[i]));
    }
    free(buf);
}

int main(int argc, char **argv)
{
    int provided;

    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    snprintf(path, sizeof(path), "%s", argv[1]);
    if (provided < MPI_THREAD_MULTIPLE) {
        printf("this MPI has no MPI_THREAD_MULTIPLE\n");
        MPI_Finalize();
        return 77;
    }
    if (strcmp(argv[2], "size") == 0)
        write_and_ask();
    else
        write_two();
    return end();
}
