/*
 * Types are looked at once, and what was found goes with them.
 *
 * Usage: types FILE cost     8 bytes through a view of a million blocks take about as long as
 * through one of 16: blocking, nonblocking, with and without a file pointer types FILE handles
 * types are freed and others made, which get the same handles; duplicates are used after the
 * original is gone: every byte must be where it belongs types FILE memory   views and types that
 * come and go leave nothing behind types FILE threads  four threads see a type for the first time
 * at once types FILE late     a type that is never freed, and a file that is written and closed
 * while MPI_Finalize frees MPI_COMM_SELF
 */
#include "gather.h"

#include <fcntl.h>
#include <malloc.h>
#include <pthread.h>
#include <unistd.h>

static MPI_File open_on(MPI_Comm comm, const char *name)
{
    MPI_File file = MPI_FILE_NULL;

    OK(MPI_File_open(comm, name, MPI_MODE_RDWR | MPI_MODE_CREATE | MPI_MODE_DELETE_ON_CLOSE,
                     MPI_INFO_NULL, &file));
    return file;
}

/* Blocks of so many bytes, one of each rank in turn; instances touch. */
static MPI_Datatype make_view(int blocks, int bytes)
{
    MPI_Datatype vector, type;

    MPI_Type_vector(blocks, bytes, bytes * size, MPI_BYTE, &vector);
    MPI_Type_create_resized(vector, 0, (MPI_Aint)blocks * bytes * size, &type);
    MPI_Type_commit(&type);
    MPI_Type_free(&vector);
    return type;
}

static void set_view(MPI_File file, MPI_Datatype type, int bytes)
{
    OK(MPI_File_set_view(file, (MPI_Offset)bytes * rank, MPI_BYTE, type, "native", MPI_INFO_NULL));
}

/* ---- what a call costs ---- */

enum { MANY = 1 << 20, FEW = 16, CALLS = 200, BYTES = 8 };

static void write_at(MPI_File file, MPI_Offset at)
{
    char buf[BYTES] = "";

    OK(MPI_File_write_at_all(file, at, buf, BYTES, MPI_BYTE, MPI_STATUS_IGNORE));
}

static void write_on(MPI_File file, MPI_Offset at)
{
    char buf[BYTES] = "";

    OK(MPI_File_seek(file, at, MPI_SEEK_SET));
    OK(MPI_File_write_all(file, buf, BYTES, MPI_BYTE, MPI_STATUS_IGNORE));
}

static void iwrite_at(MPI_File file, MPI_Offset at)
{
    char buf[BYTES] = "";
    MPI_Request request;

    OK(MPI_File_iwrite_at_all(file, at, buf, BYTES, MPI_BYTE, &request));
    OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
}

static int by_time(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return x < y ? -1 : x > y;
}

/* Of the slowest rank in each call. */
static double median(const double *mine)
{
    double all[CALLS];

    MPI_Allreduce(mine, all, CALLS, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    qsort(all, CALLS, sizeof(all[0]), by_time);
    return all[CALLS / 2];
}

static void compare(const char *what, void (*call)(MPI_File, MPI_Offset), MPI_File file[2])
{
    double time[2][CALLS], many, few;

    for (int i = -5; i < CALLS; i++)
        for (int f = 0; f < 2; f++) {
            double start;

            MPI_Barrier(MPI_COMM_WORLD);
            start = MPI_Wtime();
            call(file[f], BYTES * (i & 15));
            if (i >= 0)
                time[f][i] = MPI_Wtime() - start;
        }
    many = median(time[0]);
    few = median(time[1]);
    if (rank == 0)
        printf("%s: %.3f ms through %d blocks, %.3f through %d: %.2f\n", what, 1e3 * many, MANY,
               1e3 * few, FEW, many / few);
    CHECK(many <= 2 * few);
}

static void check_cost(void)
{
    const int blocks[2] = {MANY, FEW};
    char name[1100];
    MPI_File file[2];

    for (int f = 0; f < 2; f++) {
        MPI_Datatype type = make_view(blocks[f], BYTES);

        snprintf(name, sizeof(name), "%s.%d", path, f);
        file[f] = open_on(MPI_COMM_WORLD, name);
        set_view(file[f], type, BYTES);
        MPI_Type_free(&type);
    }
    compare("write_at_all", write_at, file);
    compare("write_all", write_on, file);
    compare("iwrite_at_all", iwrite_at, file);
    for (int f = 0; f < 2; f++)
        OK(MPI_File_close(&file[f]));
}

/* ---- handles that are used again ---- */

/* One call: its types, and where in the view it begins. */
struct shape {
    int blocks, bytes;  /* of the view */
    int runs, run, gap; /* of the memory type: bytes, and bytes between them */
    int count;          /* of memory types */
    MPI_Offset at;
};

static struct shape make_shape(int round)
{
    struct shape s = {.blocks = 2 + 37 * round % 150,
                      .bytes = 1 + round % 7,
                      .runs = 2 + 11 * round % 90,
                      .run = 1 + round % 5,
                      .gap = 1 + round % 3,
                      .count = 1 + round % 4};

    /* some in the first instance, some a hundred thousand further on */
    s.at = round % 3 + (round % 5 == 0 ? (MPI_Offset)100000 * s.blocks * s.bytes : 0);
    return s;
}

static MPI_Datatype make_memory(const struct shape *s)
{
    MPI_Datatype vector, type;

    MPI_Type_vector(s->runs, s->run, s->run + s->gap, MPI_BYTE, &vector);
    MPI_Type_create_resized(vector, 0, (MPI_Aint)s->runs * (s->run + s->gap), &type);
    MPI_Type_commit(&type);
    MPI_Type_free(&vector);
    return type;
}

static int bytes_of(const struct shape *s)
{
    return s->count * s->runs * s->run;
}

static unsigned char byte_of(int round, int at)
{
    return (unsigned char)(1 + (17 * round + 31 * rank + at) % 255);
}

static unsigned char *make_buffer(const struct shape *s, int round)
{
    unsigned char *buf = calloc((size_t)s->count * s->runs, (size_t)(s->run + s->gap));

    for (int i = 0; i < bytes_of(s); i++)
        buf[i / s->run * (s->run + s->gap) + i % s->run] = byte_of(round, i);
    return buf;
}

/* Reads the file as it is, without MPI, once all have written. */
static void check_bytes(const char *name, const struct shape *s, int round)
{
    int fd, wrong = 0;

    MPI_Barrier(MPI_COMM_WORLD);
    fd = open(name, O_RDONLY);
    for (int i = 0; i < bytes_of(s); i++) {
        MPI_Offset at = s->at + i;
        unsigned char got = 0;

        at = (at / s->bytes * size + rank) * s->bytes + at % s->bytes;
        wrong += pread(fd, &got, 1, at) != 1 || got != byte_of(round, i);
    }
    close(fd);
    CHECK(wrong == 0);
}

/* Writes with a type, which is freed at once where MPI allows that. */
static void write_with(MPI_File file, const struct shape *s, int round, MPI_Datatype *type)
{
    unsigned char *buf = make_buffer(s, round);

    if (round % 2 == 0) {
        OK(MPI_File_write_at_all(file, s->at, buf, s->count, *type, MPI_STATUS_IGNORE));
        MPI_Type_free(type);
    } else {
        struct shape other = make_shape(round + 5);
        MPI_Request request;
        MPI_Datatype next;

        OK(MPI_File_iwrite_at_all(file, s->at, buf, s->count, *type, &request));
        MPI_Type_free(type);
        next = make_memory(&other);
        OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
        MPI_Type_free(&next);
    }
    free(buf);
}

static void check_handles(void)
{
    enum { ROUNDS = 48 };
    MPI_File file = open_on(MPI_COMM_WORLD, path);
    MPI_Datatype memory[ROUNDS];
    int again = 0;

    for (int round = 0; round < ROUNDS; round++) {
        struct shape s = make_shape(round);
        MPI_Datatype view = make_view(s.blocks, s.bytes), used, copy;

        set_view(file, view, s.bytes);
        MPI_Type_free(&view);
        used = memory[round] = make_memory(&s);
        for (int i = 0; i < round; i++)
            again += memory[i] == used;
        if (round % 8 >= 4) { /* what was found with the original is the duplicate's, too */
            unsigned char *buf = make_buffer(&s, round + 100);

            OK(MPI_File_write_at_all(file, s.at, buf, s.count, used, MPI_STATUS_IGNORE));
            free(buf);
            check_bytes(path, &s, round + 100);
            MPI_Type_dup(used, &copy);
            MPI_Type_free(&used);
            used = copy;
        }
        write_with(file, &s, round, &used);
        check_bytes(path, &s, round);
        MPI_Barrier(MPI_COMM_WORLD);
    }
    CHECK(again > 0);
    OK(MPI_File_close(&file));
}

/* ---- extents of memory types ---- */

enum { RUNS = 3, RUN = 4, APART = 9, PIECE = 5, MIDDLE = 512 };

/* Where byte i of the stream lies in memory. */
static int memory_at(int i, int extent)
{
    return MIDDLE + i / (RUNS * RUN) * extent + i % (RUNS * RUN) / RUN * APART + i % RUN;
}

static void move(MPI_File file, int write, int nonblocking, char *buf, int count, MPI_Datatype type)
{
    MPI_Request request = MPI_REQUEST_NULL;

    if (write && nonblocking)
        OK(MPI_File_iwrite_at_all(file, 0, buf, count, type, &request));
    else if (write)
        OK(MPI_File_write_at_all(file, 0, buf, count, type, MPI_STATUS_IGNORE));
    else if (nonblocking)
        OK(MPI_File_iread_at_all(file, 0, buf, count, type, &request));
    else
        OK(MPI_File_read_at_all(file, 0, buf, count, type, MPI_STATUS_IGNORE));
    OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
}

static void write_and_read(MPI_File file, int extent, int count, int nonblocking)
{
    char out[2 * MIDDLE], in[2 * MIDDLE] = "";
    struct shape s = {.bytes = PIECE, .count = count, .runs = RUNS, .run = RUN};
    MPI_Datatype vector, type;
    int fd, wrong = 0;

    for (int i = 0; i < 2 * MIDDLE; i++)
        out[i] = (char)(1 + (i * 7 + rank + count) % 100);
    MPI_Type_vector(RUNS, RUN, APART, MPI_BYTE, &vector);
    MPI_Type_create_resized(vector, 0, extent, &type);
    MPI_Type_commit(&type);
    move(file, 1, nonblocking, out + MIDDLE, count, type);
    MPI_Barrier(MPI_COMM_WORLD);
    fd = open(path, O_RDONLY);
    for (int i = 0; i < bytes_of(&s); i++) {
        char got = 0;

        wrong += pread(fd, &got, 1, (i / PIECE * size + rank) * PIECE + i % PIECE) != 1 ||
                 got != out[memory_at(i, extent)];
    }
    close(fd);
    CHECK(wrong == 0);
    if (extent != 0 || count == 1) { /* else bytes of several instances have one place */
        move(file, 0, nonblocking, in + MIDDLE, count, type);
        for (int i = 0; i < bytes_of(&s); i++)
            wrong += in[memory_at(i, extent)] != out[memory_at(i, extent)];
        CHECK(wrong == 0);
    }
    MPI_Type_free(&vector);
    MPI_Type_free(&type);
}

static void check_extents(void)
{
    const int extents[] = {-64, -32, 0, 32};
    MPI_File file = open_on(MPI_COMM_WORLD, path);
    MPI_Datatype view = make_view(1, PIECE);

    set_view(file, view, PIECE);
    for (int e = 0; e < 4; e++)
        for (int count = 1; count <= 3; count++)
            for (int nonblocking = 0; nonblocking < 2; nonblocking++)
                write_and_read(file, extents[e], count, nonblocking);
    MPI_Type_free(&view);
    OK(MPI_File_close(&file));
}

/* ---- memory ---- */

static long in_use(void)
{
    struct mallinfo2 info = mallinfo2();

    return (long)(info.uordblks + info.hblkhd);
}

static void check_memory(void)
{
    enum { BLOCKS = 1 << 16, WARM = 10, ROUNDS = 60, ALLOWED = 128 << 10 };
    MPI_File file = open_on(MPI_COMM_WORLD, path);
    struct shape s = {.runs = 1000, .run = 1, .gap = 1, .count = 1};
    unsigned char *buf = make_buffer(&s, 0);
    long before = 0;

    for (int round = 0; round < WARM + ROUNDS; round++) {
        MPI_Datatype view = make_view(BLOCKS, BYTES), memory = make_memory(&s), copy;
        MPI_Request request;

        if (round == WARM)
            before = in_use();
        set_view(file, view, BYTES);
        OK(MPI_File_write_at_all(file, 0, buf, 1, memory, MPI_STATUS_IGNORE));
        MPI_Type_dup(memory, &copy);
        OK(MPI_File_iwrite_at_all(file, 0, buf, 1, copy, &request));
        OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
        MPI_Type_free(&copy);
        MPI_Type_free(&memory);
        MPI_Type_free(&view);
    }
    CHECK(in_use() - before <= ALLOWED);
    OK(MPI_File_close(&file));
    free(buf);
}

/* ---- threads ---- */

enum { THREADS = 4, MEETINGS = 12 };

struct worker {
    pthread_t thread;
    pthread_barrier_t *meet;
    MPI_Datatype *memory; /* of this round, of all threads */
    MPI_File file;
};

/* Nonblocking: ROMIO lets only one thread at a time into a call that waits for others. */
static void *write_together(void *argument)
{
    struct worker *w = argument;

    for (int round = 0; round < MEETINGS; round++) {
        struct shape s = make_shape(round);
        unsigned char *buf = make_buffer(&s, round);
        MPI_Request request;

        pthread_barrier_wait(w->meet);
        OK(MPI_File_iwrite_at_all(w->file, s.at, buf, s.count, *w->memory, &request));
        OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
        pthread_barrier_wait(w->meet);
        free(buf);
    }
    return NULL;
}

static void check_threads(void)
{
    char name[THREADS][1100];
    pthread_barrier_t meet;
    struct worker w[THREADS];
    MPI_Datatype memory;

    pthread_barrier_init(&meet, NULL, THREADS + 1);
    for (int i = 0; i < THREADS; i++) {
        w[i] = (struct worker){.meet = &meet, .memory = &memory};
        snprintf(name[i], sizeof(name[i]), "%s.%d", path, i);
        w[i].file = open_on(MPI_COMM_WORLD, name[i]);
        pthread_create(&w[i].thread, NULL, write_together, &w[i]);
    }
    for (int round = 0; round < MEETINGS; round++) {
        struct shape s = make_shape(round);
        MPI_Datatype view = make_view(s.blocks, s.bytes);

        for (int i = 0; i < THREADS; i++)
            set_view(w[i].file, view, s.bytes);
        MPI_Type_free(&view);
        memory = make_memory(&s);
        pthread_barrier_wait(&meet);
        pthread_barrier_wait(&meet);
        MPI_Type_free(&memory);
        for (int i = 0; i < THREADS; i++)
            check_bytes(name[i], &s, round);
        MPI_Barrier(MPI_COMM_WORLD);
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(w[i].thread, NULL);
        OK(MPI_File_close(&w[i].file));
    }
    pthread_barrier_destroy(&meet);
}

/* ---- the end ---- */

static MPI_File late_file;
static MPI_Datatype late_type;

static int on_end(MPI_Comm comm, int key, void *value, void *extra)
{
    struct shape s = make_shape(6), other = make_shape(7);
    unsigned char *buf = make_buffer(&s, 6), *next = make_buffer(&other, 7);
    MPI_Datatype fresh = make_memory(&other);

    (void)comm, (void)key, (void)value, (void)extra;
    set_view(late_file, MPI_BYTE, 0);
    OK(MPI_File_write_at_all(late_file, (1 << 20) * (MPI_Offset)rank, buf, s.count, late_type,
                             MPI_STATUS_IGNORE));
    OK(MPI_File_write_at_all(late_file, (1 << 20) * (MPI_Offset)rank, next, other.count, fresh,
                             MPI_STATUS_IGNORE));
    MPI_Type_free(&fresh);
    MPI_Type_free(&late_type);
    OK(MPI_File_close(&late_file));
    free(buf);
    free(next);
    return failures == 0 ? MPI_SUCCESS : MPI_ERR_OTHER;
}

/* Freed in the reverse order of making: ROMIO's own attribute, and the layer's, before this one. */
static void leave_late(void)
{
    struct shape s = make_shape(6);
    unsigned char *buf = make_buffer(&s, 6);
    MPI_Datatype never_freed;
    int key;

    MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, on_end, &key, NULL);
    MPI_Comm_set_attr(MPI_COMM_SELF, key, NULL);
    MPI_Comm_free_keyval(&key);
    late_file = open_on(MPI_COMM_WORLD, path);
    late_type = make_memory(&s);
    set_view(late_file, late_type, 0);
    OK(MPI_File_write_at_all(late_file, 0, buf, s.count, late_type, MPI_STATUS_IGNORE));
    never_freed = make_memory(&s);
    OK(MPI_File_write_at_all(late_file, 0, buf, s.count, never_freed, MPI_STATUS_IGNORE));
    free(buf);
}

int main(int argc, char **argv)
{
    const struct {
        const char *name;
        void (*run)(void);
    } modes[] = {{"cost", check_cost},     {"handles", check_handles}, {"extents", check_extents},
                 {"memory", check_memory}, {"threads", check_threads}, {"late", leave_late}};
    int threads = strcmp(argv[2], "threads") == 0, provided;

    MPI_Init_thread(&argc, &argv, threads ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    snprintf(path, sizeof(path), "%s", argv[1]);
    if (threads && provided < MPI_THREAD_MULTIPLE) {
        printf("this MPI has no MPI_THREAD_MULTIPLE\n");
        MPI_Finalize();
        return 77;
    }
    for (size_t i = 0; i < sizeof(modes) / sizeof(modes[0]); i++)
        if (strcmp(argv[2], modes[i].name) == 0)
            modes[i].run();
    return end();
}
