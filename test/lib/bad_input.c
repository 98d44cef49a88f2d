/* Bad input: the error class, on every rank where the call is collective, and nothing is changed.
 */
#include "common.h"

#include <limits.h>
#include <unistd.h>

#define IS(class, call) CHECK((call) == (class))

static const MPI_Offset last_offset = (MPI_Offset)(~0ULL >> 1);

static void test_handles(void)
{
    tcio_file *fh = open_file(CREATE, MPI_INFO_NULL), *closed = fh;
    char garbage[256] = "garbage", byte = 0;
    MPI_Offset at;
    MPI_Info info;

    OK(tcio_close(fh));
    for (int i = 0; i < 3; i++) {
        tcio_file *bad = i == 0 ? closed : i == 1 ? NULL : (tcio_file *)(void *)garbage;

        IS(MPI_ERR_FILE, tcio_write(bad, &byte, 1, MPI_CHAR));
        IS(MPI_ERR_FILE, tcio_write_at(bad, 0, &byte, 1, MPI_CHAR));
        IS(MPI_ERR_FILE, tcio_read(bad, &byte, 1, MPI_CHAR));
        IS(MPI_ERR_FILE, tcio_read_at(bad, 0, &byte, 1, MPI_CHAR));
        IS(MPI_ERR_FILE, tcio_seek(bad, 0, SEEK_SET));
        IS(MPI_ERR_FILE, tcio_tell(bad, &at));
        IS(MPI_ERR_FILE, tcio_fetch(bad));
        IS(MPI_ERR_FILE, tcio_flush(bad));
        IS(MPI_ERR_FILE, tcio_close(bad));
        IS(MPI_ERR_FILE, tcio_get_info(bad, &info));
    }
    /* not even when another file has been opened since */
    fh = open_file(CREATE, MPI_INFO_NULL);
    IS(MPI_ERR_FILE, tcio_write(closed, &byte, 1, MPI_CHAR));
    OK(tcio_write(fh, &byte, 1, MPI_CHAR));
    OK(tcio_close(fh));
}

static void test_wrong_mode(void)
{
    int classes[] = {MPI_MODE_RDONLY | MPI_MODE_WRONLY,   0,
                     MPI_MODE_RDONLY | MPI_MODE_CREATE,   MPI_MODE_RDONLY | MPI_MODE_EXCL,
                     MPI_MODE_RDWR | MPI_MODE_SEQUENTIAL, MPI_MODE_RDWR | MPI_MODE_WRONLY};
    tcio_file *fh = NULL;
    char byte = 'x';

    for (size_t i = 0; i < sizeof(classes) / sizeof(*classes); i++)
        IS(MPI_ERR_AMODE, tcio_open(MPI_COMM_WORLD, path, classes[i], MPI_INFO_NULL, &fh));
    CHECK(fh == NULL);
    fh = open_file(MPI_MODE_RDONLY, MPI_INFO_NULL);
    IS(MPI_ERR_READ_ONLY, tcio_write(fh, &byte, 1, MPI_CHAR));
    IS(MPI_ERR_READ_ONLY, tcio_write_at(fh, 0, &byte, 0, MPI_CHAR));
    OK(tcio_close(fh));
    fh = open_file(MPI_MODE_WRONLY, MPI_INFO_NULL);
    IS(MPI_ERR_ACCESS, tcio_read(fh, &byte, 1, MPI_CHAR));
    IS(MPI_ERR_ACCESS, tcio_read_at(fh, 0, &byte, 1, MPI_CHAR));
    OK(tcio_close(fh));
    CHECK(byte == 'x');
}

static void test_files(void)
{
    tcio_file *fh = NULL;
    char folder[1100], long_name[6000];

    IS(MPI_ERR_NO_SUCH_FILE,
       tcio_open(MPI_COMM_WORLD, beside("nowhere"), MPI_MODE_RDWR, MPI_INFO_NULL, &fh));
    IS(MPI_ERR_FILE_EXISTS,
       tcio_open(MPI_COMM_WORLD, path, CREATE | MPI_MODE_EXCL, MPI_INFO_NULL, &fh));
    snprintf(folder, sizeof(folder), "%s.nowhere/file", path);
    CHECK(tcio_open(MPI_COMM_WORLD, folder, CREATE, MPI_INFO_NULL, &fh) != MPI_SUCCESS);
    memset(long_name, 'n', sizeof(long_name));
    long_name[sizeof(long_name) - 1] = '\0';
    IS(MPI_ERR_BAD_FILE, tcio_open(MPI_COMM_WORLD, long_name, CREATE, MPI_INFO_NULL, &fh));
    IS(MPI_ERR_BAD_FILE, tcio_open(MPI_COMM_WORLD, NULL, CREATE, MPI_INFO_NULL, &fh));
    IS(MPI_ERR_BAD_FILE, tcio_open(MPI_COMM_WORLD, "", CREATE, MPI_INFO_NULL, &fh));
    IS(MPI_ERR_BAD_FILE, tcio_open(MPI_COMM_WORLD, "ufs:", CREATE, MPI_INFO_NULL, &fh));
    IS(MPI_ERR_COMM, tcio_open(MPI_COMM_NULL, path, CREATE, MPI_INFO_NULL, &fh));
    IS(MPI_ERR_ARG, tcio_open(MPI_COMM_WORLD, path, CREATE, MPI_INFO_NULL, NULL));
    CHECK(fh == NULL);
}

/* One rank is enough to spoil it, and all learn of it. */
static void test_not_same(void)
{
    tcio_file *fh = NULL;
    int odd = rank == size - 1;
    const char *name = odd ? beside("other") : path;

    if (size == 1)
        return;
    IS(MPI_ERR_NOT_SAME, tcio_open(MPI_COMM_WORLD, name, CREATE, MPI_INFO_NULL, &fh));
    CHECK(file_size(beside("other")) == -1);
    IS(MPI_ERR_NOT_SAME,
       tcio_open(MPI_COMM_WORLD, path, odd ? MPI_MODE_RDONLY : MPI_MODE_RDWR, MPI_INFO_NULL, &fh));
    IS(MPI_ERR_BAD_FILE, tcio_open(MPI_COMM_WORLD, odd ? NULL : path, CREATE, MPI_INFO_NULL, &fh));
    IS(MPI_ERR_ARG, tcio_open(MPI_COMM_WORLD, path, CREATE, MPI_INFO_NULL, odd ? NULL : &fh));
    IS(MPI_ERR_NOT_SAME,
       open_in(MPI_COMM_WORLD, path, CREATE, hints("tcio_segments", odd ? "3" : "4", NULL), &fh));
    IS(MPI_ERR_INFO_VALUE, open_in(MPI_COMM_WORLD, path, CREATE,
                                   hints("tcio_segment_size", odd ? "5000" : "8192", NULL), &fh));
    CHECK(fh == NULL);
}

static void test_segment_size(void)
{
    static const char *const bad[] = {"1000", "2048",  "12288", "65537", "-4096",
                                      "0",    "4096x", "",      "2G",    "large"};
    tcio_file *fh = NULL;

    for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
        if (bad[i][0] != '\0') /* not allowed in an info */
            IS(MPI_ERR_INFO_VALUE, open_in(MPI_COMM_WORLD, path, CREATE,
                                           hints("tcio_segment_size", bad[i], NULL), &fh));
    CHECK(fh == NULL);
}

static void test_positions(void)
{
    tcio_file *fh = open_file(CREATE, MPI_INFO_NULL);
    char byte = 0;
    MPI_Offset at = -1;

    OK(tcio_seek(fh, 10, SEEK_SET));
    IS(MPI_ERR_ARG, tcio_seek(fh, -1, SEEK_SET));
    IS(MPI_ERR_ARG, tcio_seek(fh, -11, SEEK_CUR));
    IS(MPI_ERR_ARG, tcio_seek(fh, last_offset, SEEK_CUR));
    IS(MPI_ERR_ARG, tcio_seek(fh, -1000000, SEEK_END));
    IS(MPI_ERR_ARG, tcio_seek(fh, 0, 12345));
    IS(MPI_ERR_ARG, tcio_tell(fh, NULL));
    OK(tcio_tell(fh, &at));
    CHECK(at == 10);
    IS(MPI_ERR_ARG, tcio_write_at(fh, -1, &byte, 1, MPI_CHAR));
    IS(MPI_ERR_ARG, tcio_read_at(fh, -1, &byte, 1, MPI_CHAR));
    IS(MPI_ERR_ARG, tcio_write_at(fh, last_offset, &byte, 1, MPI_CHAR));
    IS(MPI_ERR_ARG, tcio_read_at(fh, last_offset - 3, &byte, 4, MPI_CHAR));
    IS(MPI_ERR_ARG, tcio_write_at(fh, 0, &byte, last_offset / 2, MPI_DOUBLE));
    IS(MPI_ERR_ARG, tcio_get_info(fh, NULL));
    OK(tcio_close(fh));
}

static void test_data(void)
{
    tcio_file *fh = open_file(CREATE, MPI_INFO_NULL);
    int number = 7;
    MPI_Datatype type;
    MPI_Offset at = -1;

    IS(MPI_ERR_COUNT, tcio_write(fh, &number, -1, MPI_INT));
    IS(MPI_ERR_COUNT, tcio_read(fh, &number, -1, MPI_INT));
    IS(MPI_ERR_COUNT, tcio_write_at(fh, 0, &number, -1, MPI_INT));
    IS(MPI_ERR_COUNT, tcio_read_at(fh, 0, &number, LLONG_MIN, MPI_INT));
    IS(MPI_ERR_TYPE, tcio_write(fh, &number, 1, MPI_DATATYPE_NULL));
    IS(MPI_ERR_TYPE, tcio_read_at(fh, 0, &number, 1, MPI_DATATYPE_NULL));
    IS(MPI_ERR_BUFFER, tcio_write(fh, NULL, 1, MPI_INT));
    IS(MPI_ERR_BUFFER, tcio_read_at(fh, 0, NULL, 1, MPI_INT));
    OK(tcio_write(fh, NULL, 0, MPI_INT));
    MPI_Type_contiguous(1, MPI_INT, &type);
    IS(MPI_ERR_TYPE, tcio_write(fh, &number, 1, type));
    IS(MPI_ERR_TYPE, tcio_read(fh, &number, 1, type));
    IS(MPI_ERR_TYPE, tcio_write_at(fh, 0, &number, 0, type));
    OK(tcio_tell(fh, &at));
    CHECK(at == 0 && number == 7);
    MPI_Type_commit(&type);
    OK(tcio_write_at(fh, 4 * rank, &number, 1, type));
    MPI_Type_free(&type);
    OK(tcio_close(fh));
    CHECK(file_size(path) == 4 * size);
}

/* A handler that ends the program is never called. */
static void test_fatal_handlers(void)
{
    tcio_file *fh = NULL;

    MPI_File_set_errhandler(MPI_FILE_NULL, MPI_ERRORS_ARE_FATAL);
    test_files();
    test_data();
    MPI_File_set_errhandler(MPI_FILE_NULL, MPI_ERRORS_RETURN);
    CHECK(fh == NULL);
}

static void test_intercomm(void)
{
    MPI_Comm half, inter;
    tcio_file *fh = NULL;

    if (size == 1)
        return;
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &half);
    MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, 1 - rank % 2, 1, &inter);
    IS(MPI_ERR_COMM, tcio_open(inter, path, CREATE, MPI_INFO_NULL, &fh));
    MPI_Comm_free(&inter);
    MPI_Comm_free(&half);
}

/* Opens that fail leave nothing open: descriptors are counted. */
static int open_descriptors(void)
{
    int n = 0;

    for (int fd = 0; fd < 1024; fd++)
        n += dup2(fd, fd) == fd;
    return n;
}

int main(int argc, char **argv)
{
    int before;

    begin(argc, argv);
    test_handles();
    before = open_descriptors();
    test_wrong_mode();
    test_files();
    test_not_same();
    test_segment_size();
    test_positions();
    test_data();
    test_fatal_handlers();
    test_intercomm();
    CHECK(open_descriptors() == before);
    return end();
}
