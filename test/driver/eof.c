/*
 * Collective reads of a file that ends somewhere in what is asked for: the status counts what lies
 * before the end, that much is in memory, and zeros follow. Every kind of call, views with and
 * without holes, memory with and without. Where the view has no holes, an independent read counts
 * the same.
 *
 * Usage: eof FILE
 */
#include "gather.h"

#define BYTES 3000 /* asked for by each rank */
#define ITEM 10    /* bytes in one item of the memory type with holes, of 15 */

/* What the byte at an offset of the file is: never zero. */
static unsigned char byte_at(MPI_Offset off)
{
    return (unsigned char)(1 + off % 251);
}

static void make_file(MPI_Offset length)
{
    if (rank == 0) {
        FILE *f = fopen(path, "w");

        for (MPI_Offset i = 0; i < length; i++)
            putc_unlocked(byte_at(i), f);
        fclose(f);
    }
    MPI_Barrier(MPI_COMM_WORLD);
}

struct call {
    MPI_File file;
    MPI_Offset at; /* in bytes of the view, */
    void *buf;
    int count;
    MPI_Datatype type;
    MPI_Status status;
};

static void read_all(struct call *c)
{
    OK(MPI_File_seek(c->file, c->at, MPI_SEEK_SET));
    OK(MPI_File_read_all(c->file, c->buf, c->count, c->type, &c->status));
}

static void read_at_all(struct call *c)
{
    OK(MPI_File_read_at_all(c->file, c->at, c->buf, c->count, c->type, &c->status));
}

static void read_split(struct call *c)
{
    OK(MPI_File_read_at_all_begin(c->file, c->at, c->buf, c->count, c->type));
    OK(MPI_File_read_at_all_end(c->file, c->buf, &c->status));
}

static void read_nonblocking(struct call *c)
{
    MPI_Request request;

    OK(MPI_File_iread_at_all(c->file, c->at, c->buf, c->count, c->type, &request));
    OK(MPI_Wait(&request, &c->status));
}

/* Rank after rank from the beginning: the caller's offsets are made like that. */
static void read_ordered(struct call *c)
{
    OK(MPI_File_seek_shared(c->file, 0, MPI_SEEK_SET));
    OK(MPI_File_read_ordered(c->file, c->buf, c->count, c->type, &c->status));
}

static const struct {
    const char *name;
    void (*read)(struct call *c);
    int ordered;
} calls[] = {{"read_all", read_all, 0},
             {"read_at_all", read_at_all, 0},
             {"split", read_split, 0},
             {"iread_at_all", read_nonblocking, 0},
             {"read_ordered", read_ordered, 1}};

/* ---- views: the bytes of all ranks, or 7 of every 11 * size ---- */

static void set_view(MPI_File file, int holes, int ordered)
{
    MPI_Datatype block, type;

    if (!holes) {
        OK(MPI_File_set_view(file, 5, MPI_BYTE, MPI_BYTE, "native", MPI_INFO_NULL));
        return;
    }
    MPI_Type_contiguous(7, MPI_BYTE, &block);
    MPI_Type_create_resized(block, 0, (MPI_Aint)11 * size, &type);
    MPI_Type_commit(&type);
    OK(MPI_File_set_view(file, ordered ? 3 : 11 * rank, MPI_BYTE, type, "native", MPI_INFO_NULL));
    MPI_Type_free(&type);
    MPI_Type_free(&block);
}

/* Where in memory byte i of what was asked for is. */
static int place_of(int i, int gaps)
{
    return gaps ? i / ITEM * 15 + i % ITEM : i;
}

/* Compares memory with the file, byte by byte; returns how many lie before its end. */
static int check_bytes(const struct call *c, int gaps, MPI_Offset length, int *wrong)
{
    const unsigned char *buf = c->buf;
    int before = 0;

    for (int i = 0; i < BYTES; i++) {
        MPI_Offset off;

        OK(MPI_File_get_byte_offset(c->file, c->at + i, &off));
        before += off < length;
        *wrong += buf[place_of(i, gaps)] != (off < length ? byte_at(off) : 0);
    }
    return before;
}

static void check_count(const struct call *c, const char *what, int expected)
{
    int elements = -1, count = -1, item;

    MPI_Type_size(c->type, &item);
    MPI_Get_elements(&c->status, c->type, &elements);
    MPI_Get_count(&c->status, c->type, &count);
    if (elements == expected && count == (expected % item == 0 ? expected / item : MPI_UNDEFINED))
        return;
    printf("rank %d: %s: %d elements, count %d, expected %d bytes\n", rank, what, elements, count,
           expected);
    failures++;
}

static void run_case(int which, int holes, int gaps, MPI_Offset length)
{
    struct call c = {.buf = malloc(2 * BYTES), .count = gaps ? BYTES / ITEM : BYTES};
    int wrong = 0, before;
    MPI_Datatype block;

    MPI_Type_contiguous(ITEM, MPI_BYTE, &block);
    MPI_Type_create_resized(block, 0, 15, &c.type);
    if (!gaps)
        c.type = MPI_BYTE;
    else
        MPI_Type_commit(&c.type);
    make_file(length);
    OK(MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_RDONLY, MPI_INFO_NULL, &c.file));
    set_view(c.file, holes, calls[which].ordered);
    c.at = holes && !calls[which].ordered ? 0 : (MPI_Offset)rank * BYTES;
    memset(c.buf, 0xee, 2 * BYTES);
    memset(&c.status, 0x55, sizeof(c.status));
    calls[which].read(&c);
    before = check_bytes(&c, gaps, length, &wrong);
    check_count(&c, calls[which].name, before);
    CHECK(wrong == 0);
    if (!holes && !gaps) {
        OK(MPI_File_read_at(c.file, c.at, c.buf, c.count, c.type, &c.status));
        check_count(&c, "independent", before);
    }
    OK(MPI_File_close(&c.file));
    if (gaps)
        MPI_Type_free(&c.type);
    MPI_Type_free(&block);
    free(c.buf);
}

int main(int argc, char **argv)
{
    begin(argc, argv);
    for (int which = 0; which < (int)(sizeof(calls) / sizeof(calls[0])); which++)
        for (int i = 0; i < 4; i++) {
            MPI_Offset all = (MPI_Offset)size * BYTES * (i / 2 ? 11 : 1);

            run_case(which, i / 2, i % 2, 0);
            run_case(which, i / 2, i % 2, 3);
            run_case(which, i / 2, i % 2, all * 2 / 5);
            run_case(which, i / 2, i % 2, all / 2 + 1);
            run_case(which, i / 2, i % 2, all + 100);
        }
    return end();
}
