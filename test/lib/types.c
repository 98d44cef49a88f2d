/* Memory types of all kinds: what is in the file is what MPI_Send would send. */
#include "common.h"

#include <limits.h>

#define ROOM 4096

static unsigned char from[ROOM], packed[ROOM], got[ROOM], expected[ROOM];

/* Writes some of them, compares with MPI_Pack, and reads into as many. */
static void try_at(tcio_file *fh, MPI_Offset at, MPI_Datatype type, int count, const char *what)
{
    int position = 0, back = 0, before = failures;

    for (int i = 0; i < ROOM; i++)
        from[i] = (unsigned char)(i * 37 + i / 251 + rank);
    memset(packed, 0, ROOM);
    OK(MPI_Pack(from + 1024, count, type, packed, ROOM, &position, MPI_COMM_WORLD));
    OK(tcio_write_at(fh, at, from + 1024, count, type));
    memset(got, 0xdd, ROOM);
    OK(tcio_read_at(fh, at, got, ROOM / 4, MPI_BYTE));
    OK(tcio_fetch(fh));
    CHECK(memcmp(got, packed, (size_t)position) == 0);
    memset(got, 0xee, ROOM);
    memset(expected, 0xee, ROOM);
    OK(MPI_Unpack(packed, position, &back, expected + 1024, count, type, MPI_COMM_WORLD));
    OK(tcio_read_at(fh, at, got + 1024, count, type));
    OK(tcio_fetch(fh));
    CHECK(memcmp(got, expected, ROOM) == 0);
    if (failures != before)
        fprintf(stderr, "rank %d: %d of %s\n", rank, count, what);
}

static MPI_Offset at;

/* One, and several, which may be a run where one is, or not. The type is used up. */
static void try(tcio_file *fh, MPI_Datatype type, const char *what)
{
    MPI_Type_commit(&type);
    for (int count = 1; count <= 3; count++, at += 1024)
        try_at(fh, at, type, count, what);
    MPI_Type_free(&type);
}

static void test_constructors(tcio_file *fh)
{
    MPI_Datatype type, inner;
    int lengths[3] = {2, 1, 3}, places[3] = {9, 0, 4}, in_order[3] = {0, 2, 3};
    int sizes[2] = {5, 7}, subsizes[2] = {2, 3}, starts[2] = {1, 2};
    MPI_Aint bytes[3] = {40, -16, 8}, negative[3] = {-100, -50, -92};
    MPI_Datatype mixed[3] = {MPI_INT, MPI_DOUBLE, MPI_CHAR};

    MPI_Type_contiguous(5, MPI_SHORT, &type);
    try(fh, type, "contiguous");
    MPI_Type_vector(3, 2, 4, MPI_INT, &type);
    try(fh, type, "vector");
    MPI_Type_vector(3, 2, 2, MPI_INT, &type);
    try(fh, type, "vector without gaps");
    MPI_Type_vector(3, 1, -2, MPI_INT, &type);
    try(fh, type, "vector that goes back");
    MPI_Type_vector(4, 1, -1, MPI_INT, &type);
    try(fh, type, "dense vector that goes back");
    MPI_Type_indexed(3, lengths, places, MPI_INT, &type);
    try(fh, type, "indexed");
    MPI_Type_indexed(3, lengths, in_order, MPI_INT, &type);
    try(fh, type, "indexed without gaps");
    MPI_Type_create_hindexed(3, lengths, negative, MPI_CHAR, &type);
    try(fh, type, "hindexed before its beginning");
    MPI_Type_create_struct(3, lengths, bytes, mixed, &type);
    try(fh, type, "struct");
    MPI_Type_create_subarray(2, sizes, subsizes, starts, MPI_ORDER_C, MPI_INT, &type);
    try(fh, type, "subarray");
    MPI_Type_create_subarray(2, sizes, subsizes, starts, MPI_ORDER_FORTRAN, MPI_FLOAT, &type);
    try(fh, type, "subarray of Fortran");
    MPI_Type_create_resized(MPI_INT, -4, 12, &type);
    try(fh, type, "resized");
    MPI_Type_create_resized(MPI_INT, 0, 2, &type);
    try(fh, type, "resized, overlapping");
    MPI_Type_vector(2, 1, 3, MPI_DOUBLE, &inner);
    MPI_Type_contiguous(2, inner, &type);
    try(fh, type, "contiguous vectors");
    MPI_Type_dup(inner, &type);
    try(fh, type, "duplicate");
    MPI_Type_free(&inner);
    MPI_Type_contiguous(0, MPI_INT, &type);
    try(fh, type, "empty");
}

static void test_named(tcio_file *fh)
{
    MPI_Datatype named[] = {MPI_CHAR,       MPI_SHORT,     MPI_INT,     MPI_LONG_LONG,
                            MPI_FLOAT,      MPI_DOUBLE,    MPI_BYTE,    MPI_2INT,
                            MPI_DOUBLE_INT, MPI_SHORT_INT, MPI_UINT16_T};

    for (int again = 0; again < 2; again++)
        for (size_t i = 0; i < sizeof(named) / sizeof(*named); i++, at += 1024)
            try_at(fh, at, named[i], 3, "a named type");
}

/* A type that is freed before the read is resolved, and one that gets its handle. */
static void test_freed(tcio_file *fh)
{
    int in[8], out[4] = {1, 2, 3, 4};
    MPI_Datatype type;

    OK(tcio_write_at(fh, at, out, 4, MPI_INT));
    for (int stride = 2; stride >= 1; stride--) {
        memset(in, 0, sizeof(in));
        MPI_Type_vector(4, 1, stride, MPI_INT, &type);
        CHECK(tcio_read_at(fh, at, in, 1, type) == MPI_ERR_TYPE);
        MPI_Type_commit(&type);
        OK(tcio_read_at(fh, at, in, 1, type));
        MPI_Type_free(&type);
        OK(tcio_fetch(fh));
        for (int i = 0; i < 4; i++)
            CHECK(in[i * stride] == out[i]);
    }
    at += 1024;
}

/* Addresses in the type, and none in the call. */
static void test_bottom(tcio_file *fh)
{
    int a = 17, b = 18, lengths[2] = {1, 1}, in[2] = {0};
    MPI_Aint places[2];
    MPI_Datatype type;

    MPI_Get_address(&b, &places[0]);
    MPI_Get_address(&a, &places[1]);
    MPI_Type_create_hindexed(2, lengths, places, MPI_INT, &type);
    MPI_Type_commit(&type);
    OK(tcio_write_at(fh, at, MPI_BOTTOM, 1, type));
    OK(tcio_read_at(fh, at, in, 2, MPI_INT));
    OK(tcio_fetch(fh));
    CHECK(in[0] == 18 && in[1] == 17);
    a = b = 0;
    OK(tcio_read_at(fh, at, MPI_BOTTOM, 1, type));
    OK(tcio_fetch(fh));
    CHECK(a == 17 && b == 18);
    MPI_Type_free(&type);
    at += 1024;
}

/* More than is packed at once, and than waits for its bytes. */
static void test_long(tcio_file *fh)
{
    enum { N = 700000 };
    int *out = malloc(N * 2 * sizeof(int)), *in = calloc(N * 2, sizeof(int)), wrong = 0;
    MPI_Datatype one, all;

    for (int i = 0; i < 2 * N; i++)
        out[i] = i * 3 + rank;
    MPI_Type_create_resized(MPI_INT, 0, 8, &one);
    MPI_Type_commit(&one);
    MPI_Type_vector(N, 1, 2, MPI_INT, &all);
    MPI_Type_commit(&all);
    OK(tcio_write_at(fh, at, out, N, one));
    OK(tcio_read_at(fh, at, in, 1, all));
    OK(tcio_fetch(fh));
    for (int i = 0; i < 2 * N; i++)
        wrong += in[i] != (i % 2 ? 0 : out[i]);
    CHECK(wrong == 0);
    OK(tcio_write_at(fh, at + 4, out, 1, all));
    memset(in, 0, N * 2 * sizeof(int));
    OK(tcio_read_at(fh, at + 4, in, N, one));
    OK(tcio_fetch(fh));
    for (int i = 0; i < 2 * N; i++)
        wrong += in[i] != (i % 2 ? 0 : out[i]);
    CHECK(wrong == 0);
    MPI_Type_free(&one);
    MPI_Type_free(&all);
    free(out);
    free(in);
}

/* Many small reads into types with gaps wait, but not for more than some memory. */
static void test_many(tcio_file *fh)
{
    enum { N = 3000, LENGTH = 300 };
    int *in = calloc(N * LENGTH * 2, sizeof(int)), *out = malloc(LENGTH * sizeof(int)), wrong = 0;
    MPI_Datatype type;

    for (int i = 0; i < LENGTH; i++)
        out[i] = i + 1 + rank;
    OK(tcio_write_at(fh, at, out, LENGTH, MPI_INT));
    MPI_Type_vector(LENGTH, 1, 2, MPI_INT, &type);
    MPI_Type_commit(&type);
    for (int i = 0; i < N; i++)
        OK(tcio_read_at(fh, at, in + i * LENGTH * 2, 1, type));
    MPI_Type_free(&type);
    OK(tcio_fetch(fh));
    for (int i = 0; i < N * LENGTH * 2; i++)
        wrong += in[i] != (i % 2 ? 0 : out[i / 2 % LENGTH]);
    CHECK(wrong == 0);
    free(in);
    free(out);
}

int main(int argc, char **argv)
{
    tcio_file *fh;

    begin(argc, argv);
    fh = open_file(CREATE, hints("tcio_segment_size", "4096", "tcio_segments", "4", NULL));
    at = (MPI_Offset)rank << 27;
    test_constructors(fh);
    test_named(fh);
    test_freed(fh);
    test_bottom(fh);
    test_long(fh);
    at += 8 << 20;
    test_many(fh);
    OK(tcio_close(fh));
    return end();
}
