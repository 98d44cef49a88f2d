/*
 * Several threads of each rank, under MPI_THREAD_MULTIPLE.
 *
 * Usage: threads FILE size         one writes collectively, the other asks for the size of the file
 *        threads FILE nonblocking  each writes to a file of its own, FILE and FILE.2, with
 *                                  nonblocking collective calls
 *        threads FILE own KIND     four write and read, each a file of its own; KIND is
 *                                  nonblocking, or mixed: one of them makes blocking calls
 *        threads FILE one KIND     the same, all one file, each through a handle of its own: their
 *                                  pieces lie in turn, so that each fills the holes of the others
 *
 * Not more than one makes blocking collective calls: ROMIO has one lock, which such a call holds
 * from its beginning to its end, so that two on two ranks may wait for each other for ever, with
 * stock MPICH too.
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

/* ---- four threads ---- */

#define THREADS 4
#define SMALL 40 /* bytes of a piece */
#define TURNS 6

struct work {
    MPI_File file;
    int thread;
    const char *kind;
    int wrong;
};

static int is_nonblocking(const struct work *w)
{
    return w->thread > 0 || strcmp(w->kind, "mixed") != 0;
}

static void write_pieces(const struct work *w, int call, unsigned char *buf)
{
    MPI_Request request;

    memset(buf, 1 + 50 * w->thread + 5 * rank + call, SMALL * PIECES);
    if (is_nonblocking(w)) {
        OK(MPI_File_iwrite_at_all(w->file, 0, buf, SMALL * PIECES, MPI_BYTE, &request));
        OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    } else {
        OK(MPI_File_write_at_all(w->file, 0, buf, SMALL * PIECES, MPI_BYTE, MPI_STATUS_IGNORE));
    }
}

static int read_wrong(const struct work *w, int call, unsigned char *buf)
{
    MPI_Request request;
    int wrong = 0;

    memset(buf, 0, SMALL * PIECES);
    if (is_nonblocking(w)) {
        OK(MPI_File_iread_at_all(w->file, 0, buf, SMALL * PIECES, MPI_BYTE, &request));
        OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    } else {
        OK(MPI_File_read_at_all(w->file, 0, buf, SMALL * PIECES, MPI_BYTE, MPI_STATUS_IGNORE));
    }
    for (int i = 0; i < SMALL * PIECES; i++)
        wrong += buf[i] != (unsigned char)(1 + 50 * w->thread + 5 * rank + call);
    return wrong;
}

static void *write_and_read(void *argument)
{
    struct work *w = argument;
    unsigned char *buf = malloc(SMALL * PIECES);

    for (int call = 0; call < TURNS; call++) {
        write_pieces(w, call, buf);
        w->wrong += read_wrong(w, call, buf);
    }
    free(buf);
    return NULL;
}

/* Pieces of all threads of all ranks in turn. */
static void open_work(struct work *w, int own)
{
    int mode = MPI_MODE_RDWR | MPI_MODE_CREATE;
    MPI_Datatype piece, type;
    char name[1100];

    snprintf(name, sizeof(name), "%s.%d", path, own ? w->thread : 0);
    OK(MPI_File_open(MPI_COMM_WORLD, name, mode, MPI_INFO_NULL, &w->file));
    MPI_Type_contiguous(SMALL, MPI_BYTE, &piece);
    MPI_Type_create_resized(piece, 0, (MPI_Aint)SMALL * size * THREADS, &type);
    MPI_Type_commit(&type);
    OK(MPI_File_set_view(w->file, (MPI_Offset)SMALL * (rank * THREADS + w->thread), MPI_BYTE, type,
                         "native", MPI_INFO_NULL));
    MPI_Type_free(&type);
    MPI_Type_free(&piece);
}

static void four(int own, const char *kind)
{
    struct work work[THREADS];
    pthread_t thread[THREADS];

    for (int i = 0; i < THREADS; i++) {
        work[i] = (struct work){.thread = i, .kind = kind};
        open_work(&work[i], own);
    }
    for (int i = 0; i < THREADS; i++)
        pthread_create(&thread[i], NULL, write_and_read, &work[i]);
    for (int i = 0; i < THREADS; i++) {
        pthread_join(thread[i], NULL);
        CHECK(work[i].wrong == 0);
    }
    for (int i = 0; i < THREADS; i++)
        OK(MPI_File_close(&work[i].file));
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
    else if (argc > 3)
        four(strcmp(argv[2], "own") == 0, argv[3]);
    else
        write_two();
    return end();
}
