/* Two files at once, and sub-communicators whose files have nothing to do with each other. */
#include "common.h"

#define N 2000

static int number(int file, int i)
{
    return file * 1000003 + i * 7;
}

static void write_some(tcio_file *fh, int file, int from, int step, int n)
{
    for (int i = from; i < n; i += step) {
        int value = number(file, i);

        OK(tcio_write_at(fh, 4 * (MPI_Offset)i, &value, 1, MPI_INT));
    }
}

static void check_all(tcio_file *fh, int file, int n)
{
    int *in = calloc((size_t)n, sizeof(int)), wrong = 0;

    for (int i = 0; i < n; i++)
        OK(tcio_read_at(fh, 4 * (MPI_Offset)i, &in[i], 1, MPI_INT));
    OK(tcio_fetch(fh));
    for (int i = 0; i < n; i++)
        wrong += in[i] != number(file, i);
    CHECK(wrong == 0);
    free(in);
}

/* In turn, with different settings; one is flushed and closed while the other goes on. */
static void test_two(void)
{
    char other[1100];
    tcio_file *a =
        open_file(CREATE, hints("tcio_segment_size", "4096", "tcio_segments", "1", NULL));
    tcio_file *b = NULL;

    snprintf(other, sizeof(other), "%s", beside("b"));
    OK(open_in(MPI_COMM_WORLD, other, CREATE, hints("tcio_segment_size", "65536", NULL), &b));
    for (int part = 0; part < 4; part++) {
        write_some(a, 1, part * size + rank, 4 * size, N * size);
        write_some(b, 2, part * size + size - 1 - rank, 4 * size, N * size);
    }
    OK(tcio_flush(a));
    check_all(a, 1, N * size);
    OK(tcio_flush(b));
    OK(tcio_close(a));
    check_all(b, 2, N * size);
    OK(tcio_close(b));
    CHECK(file_size(path) == 4LL * N * size && file_size(other) == 4LL * N * size);
    remove_scratch(path);
    remove_scratch(other);
}

/* The same file twice: what one handle has flushed the other reads. */
static void test_twice(void)
{
    tcio_file *a = open_file(CREATE, MPI_INFO_NULL), *b = open_file(MPI_MODE_RDONLY, MPI_INFO_NULL);

    write_some(a, 3, rank, size, N);
    OK(tcio_flush(a));
    check_all(b, 3, N);
    OK(tcio_close(b));
    OK(tcio_close(a));
    remove_scratch(path);
}

/* Odd and even ranks, and one rank alone, each with its own file and pace. */
static void test_parts(void)
{
    MPI_Comm part;
    tcio_file *fh = NULL, *alone = NULL;
    char mine[1100];
    int at, of;

    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, -rank, &part);
    MPI_Comm_rank(part, &at);
    MPI_Comm_size(part, &of);
    snprintf(mine, sizeof(mine), "%s.part%d", path, rank % 2);
    for (int times = 0; times <= rank % 2; times++) {
        OK(tcio_open(part, mine, CREATE, MPI_INFO_NULL, &fh));
        write_some(fh, 4 + rank % 2, at, of, N);
        OK(tcio_flush(fh));
        check_all(fh, 4 + rank % 2, N);
        OK(tcio_close(fh));
    }
    CHECK(file_size(mine) == 4 * N);
    MPI_Barrier(part);
    if (at == 0)
        remove(mine);
    snprintf(mine, sizeof(mine), "%s.alone%d", path, rank);
    OK(tcio_open(MPI_COMM_SELF, mine, CREATE | MPI_MODE_DELETE_ON_CLOSE, MPI_INFO_NULL, &alone));
    write_some(alone, rank, 0, 1, N);
    check_all(alone, rank, N);
    OK(tcio_close(alone));
    CHECK(file_size(mine) == -1);
    MPI_Comm_free(&part);
}

/* The communicator may go while the file is open. */
static void test_comm_freed(void)
{
    MPI_Comm dup;
    tcio_file *fh = NULL;

    MPI_Comm_dup(MPI_COMM_WORLD, &dup);
    OK(tcio_open(dup, path, CREATE, MPI_INFO_NULL, &fh));
    MPI_Comm_free(&dup);
    write_some(fh, 9, rank, size, N);
    OK(tcio_close(fh));
    CHECK(file_size(path) == 4 * N);
    remove_scratch(path);
}

/* Many, one after the other: nothing is used up. */
static void test_many(void)
{
    tcio_file *fh;

    for (int i = 0; i < 60; i++) {
        fh = open_file(CREATE | (i % 3 == 0 ? MPI_MODE_DELETE_ON_CLOSE : 0),
                       hints("tcio_segment_size", "4096", "tcio_segments", "2", NULL));
        write_some(fh, i, rank, size, 50);
        OK(tcio_close(fh));
    }
    remove_scratch(path);
}

int main(int argc, char **argv)
{
    begin(argc, argv);
    test_two();
    test_twice();
    test_parts();
    test_comm_freed();
    test_many();
    return end();
}
