/* Every call, as the header promises it: positions, ends, modes, visibility after a flush. */
#include "common.h"

#define N 1000

static MPI_Offset tell(tcio_file *fh)
{
    MPI_Offset at = -1;

    OK(tcio_tell(fh, &at));
    return at;
}

/* Numbers of all ranks in turn: each writes its own, and all are there after the flush. */
static void write_interleaved(tcio_file *fh)
{
    for (int i = 0; i < N; i++) {
        int number = i * size + rank;

        OK(tcio_write_at(fh, (MPI_Offset)number * 4, &number, 1, MPI_INT));
    }
}

static void check_interleaved(tcio_file *fh, int count)
{
    int *got = malloc((size_t)count * sizeof(int)), wrong = 0;

    memset(got, 0xee, (size_t)count * sizeof(int));
    for (int i = 0; i < count; i++)
        OK(tcio_read_at(fh, (MPI_Offset)i * 4, &got[i], 1, MPI_INT));
    OK(tcio_fetch(fh));
    for (int i = 0; i < count; i++)
        wrong += got[i] != i;
    CHECK(wrong == 0);
    free(got);
}

static void test_interleaved(void)
{
    tcio_file *fh = open_file(CREATE, MPI_INFO_NULL);

    write_interleaved(fh);
    OK(tcio_flush(fh));
    CHECK(file_size(path) == 4LL * N * size);
    check_interleaved(fh, N * size);
    OK(tcio_close(fh));
    fh = open_file(MPI_MODE_RDONLY, MPI_INFO_NULL);
    check_interleaved(fh, N * size);
    OK(tcio_close(fh));
    remove_scratch(path);
}

/* Each rank has a position, which its reads, writes and seeks move. */
static void test_position(void)
{
    tcio_file *fh = open_file(CREATE, MPI_INFO_NULL);
    double out[3] = {rank, rank + 0.25, rank + 0.5}, in[3] = {0};

    CHECK(tell(fh) == 0);
    OK(tcio_seek(fh, 24 * rank, SEEK_SET));
    OK(tcio_write(fh, out, 3, MPI_DOUBLE));
    CHECK(tell(fh) == 24 * rank + 24);
    OK(tcio_write(fh, out, 0, MPI_DOUBLE));
    OK(tcio_write_at(fh, 24 * rank, out, 1, MPI_DOUBLE));
    CHECK(tell(fh) == 24 * rank + 24);
    OK(tcio_seek(fh, -16, SEEK_CUR));
    OK(tcio_read(fh, in, 2, MPI_DOUBLE));
    CHECK(tell(fh) == 24 * rank + 24);
    OK(tcio_fetch(fh));
    CHECK(in[0] == rank + 0.25 && in[1] == rank + 0.5);
    OK(tcio_seek(fh, 8, MPI_SEEK_SET));
    CHECK(tell(fh) == 8);
    OK(tcio_flush(fh));
    OK(tcio_seek(fh, -8, SEEK_END));
    CHECK(tell(fh) == 24 * size - 8);
    OK(tcio_read(fh, in, 1, MPI_DOUBLE));
    OK(tcio_fetch(fh));
    CHECK(in[0] == size - 1 + 0.5);
    OK(tcio_close(fh));
    remove_scratch(path);
}

/* Its own bytes count at once, for the end of the file and for reads. */
static void test_own_end(void)
{
    tcio_file *fh = open_file(CREATE, MPI_INFO_NULL);
    char in[8];

    if (rank == size - 1) {
        OK(tcio_write_at(fh, 5000, "0123456789", 10, MPI_CHAR));
        OK(tcio_seek(fh, -4, SEEK_END));
        CHECK(tell(fh) == 5006);
        memset(in, 'x', sizeof(in));
        OK(tcio_read(fh, in, 8, MPI_CHAR));
        OK(tcio_fetch(fh));
        CHECK(memcmp(in, "6789\0\0\0\0", 8) == 0);
        CHECK(tell(fh) == 5014);
        OK(tcio_read_at(fh, 4996, in, 8, MPI_CHAR));
        OK(tcio_fetch(fh));
        CHECK(memcmp(in,
                     "\0\0\0\0"
                     "0123",
                     8) == 0);
    }
    OK(tcio_close(fh));
    CHECK(file_size(path) == 5010);
    remove_scratch(path);
}

/* Overlapping writes of one process keep their order, also across flushes. */
static void test_order(void)
{
    tcio_file *fh = open_file(CREATE, MPI_INFO_NULL);
    char in[7] = "", at = (char)('0' + rank % 10);
    MPI_Offset base = 100000 * (MPI_Offset)rank;

    OK(tcio_write_at(fh, base, "aaaaaa", 6, MPI_CHAR));
    OK(tcio_write_at(fh, base + 2, "bb", 2, MPI_CHAR));
    OK(tcio_write_at(fh, base + 1, &at, 1, MPI_CHAR));
    OK(tcio_read_at(fh, base, in, 6, MPI_CHAR));
    OK(tcio_fetch(fh));
    CHECK(in[0] == 'a' && in[1] == at && memcmp(in + 2, "bbaa", 4) == 0);
    OK(tcio_flush(fh));
    OK(tcio_write_at(fh, base + 3, "cc", 2, MPI_CHAR));
    OK(tcio_read_at(fh, base, in, 6, MPI_CHAR));
    OK(tcio_fetch(fh));
    CHECK(in[0] == 'a' && in[1] == at && memcmp(in + 2, "bcca", 4) == 0);
    OK(tcio_close(fh));
    remove_scratch(path);
}

/* A read comes before a write that follows it, although it is lazy. */
static void test_read_before_write(void)
{
    tcio_file *fh = open_file(CREATE, MPI_INFO_NULL);
    MPI_Offset at = 64 * (MPI_Offset)rank;
    char in[4] = "xxx";

    OK(tcio_write_at(fh, at, "old", 3, MPI_CHAR));
    OK(tcio_flush(fh));
    OK(tcio_read_at(fh, at, in, 3, MPI_CHAR));
    OK(tcio_write_at(fh, at, "new", 3, MPI_CHAR));
    OK(tcio_fetch(fh));
    CHECK(memcmp(in, "old", 3) == 0);
    OK(tcio_read_at(fh, at, in, 3, MPI_CHAR));
    OK(tcio_fetch(fh));
    CHECK(memcmp(in, "new", 3) == 0);
    OK(tcio_close(fh));
    remove_scratch(path);
}

/* Reads are in their place after fetch, flush or close, whichever comes. */
static void test_lazy_ends(void)
{
    tcio_file *fh = open_file(CREATE, MPI_INFO_NULL);
    int number = rank + 1, a = -1, b = -1;

    OK(tcio_write_at(fh, 4 * rank, &number, 1, MPI_INT));
    OK(tcio_flush(fh));
    OK(tcio_read_at(fh, 4 * ((rank + 1) % size), &a, 1, MPI_INT));
    OK(tcio_flush(fh));
    CHECK(a == (rank + 1) % size + 1);
    OK(tcio_read_at(fh, 4 * ((rank + 2) % size), &b, 1, MPI_INT));
    OK(tcio_close(fh));
    CHECK(b == (rank + 2) % size + 1);
    remove_scratch(path);
}

static void test_modes(void)
{
    tcio_file *fh = open_file(MPI_MODE_CREATE | MPI_MODE_EXCL | MPI_MODE_WRONLY, MPI_INFO_NULL);
    char in[6] = "";

    OK(tcio_write_at(fh, 2 * rank, "ab", 2, MPI_CHAR));
    OK(tcio_close(fh));
    fh = open_file(MPI_MODE_WRONLY | MPI_MODE_APPEND, MPI_INFO_NULL);
    CHECK(tell(fh) == 2 * size);
    if (rank == 0)
        OK(tcio_write(fh, "c", 1, MPI_CHAR));
    OK(tcio_close(fh));
    CHECK(file_size(path) == 2 * size + 1);
    fh = open_file(MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE, MPI_INFO_NULL);
    OK(tcio_read_at(fh, 2 * size - 1, in, 4, MPI_CHAR));
    OK(tcio_fetch(fh));
    CHECK(memcmp(in, "bc\0\0", 4) == 0);
    OK(tcio_close(fh));
    CHECK(file_size(path) == -1);
}

/* ROMIO's prefixes are no part of the path. Another MPI-IO takes them for a folder. */
static void test_prefix(void)
{
    char name[1100];
    MPI_File probe;
    tcio_file *fh;

    snprintf(name, sizeof(name), "ufs:%s", path);
    if (MPI_File_open(MPI_COMM_WORLD, name, CREATE, MPI_INFO_NULL, &probe) != MPI_SUCCESS)
        return;
    OK(MPI_File_close(&probe));
    OK(open_in(MPI_COMM_WORLD, name, CREATE, MPI_INFO_NULL, &fh));
    OK(tcio_write_at(fh, rank, "x", 1, MPI_CHAR));
    OK(tcio_close(fh));
    CHECK(file_size(path) == size);
    remove_scratch(path);
}

/* A file that nobody writes to, and one that only the last rank does. */
static void test_few(void)
{
    tcio_file *fh = open_file(CREATE, MPI_INFO_NULL);

    OK(tcio_fetch(fh));
    OK(tcio_flush(fh));
    OK(tcio_close(fh));
    CHECK(file_size(path) == 0);
    MPI_Barrier(MPI_COMM_WORLD);
    fh = open_file(CREATE, MPI_INFO_NULL);
    if (rank == size - 1)
        OK(tcio_write_at(fh, 3, "x", 1, MPI_CHAR));
    OK(tcio_close(fh));
    CHECK(file_size(path) == 4);
    remove_scratch(path);
}

static void test_strerror(void)
{
    static const int classes[] = {MPI_SUCCESS,   MPI_ERR_NO_SPACE, MPI_ERR_FILE, MPI_ERR_NOT_SAME,
                                  MPI_ERR_COUNT, MPI_ERR_TYPE,     MPI_ERR_ARG,  MPI_ERR_READ_ONLY};

    for (size_t i = 0; i < sizeof(classes) / sizeof(*classes); i++)
        for (size_t j = 0; j < i; j++)
            CHECK(strcmp(tcio_strerror(classes[i]), tcio_strerror(classes[j])) != 0);
    CHECK(strstr(tcio_strerror(MPI_ERR_NO_SPACE), "space") != NULL);
    CHECK(tcio_strerror(-5)[0] != '\0' && tcio_strerror(1 << 30)[0] != '\0');
}

int main(int argc, char **argv)
{
    begin(argc, argv);
    test_interleaved();
    test_position();
    test_own_end();
    test_order();
    test_read_before_write();
    test_lazy_ends();
    test_modes();
    test_prefix();
    test_few();
    test_strerror();
    return end();
}
