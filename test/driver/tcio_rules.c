/*
 * What a program may rely on, one rule at a time.
 *
 * Usage: tcio_rules FILE RULE
 */
#include "gather.h"

#include <unistd.h>

#define RECORD 1000

static MPI_File file;

static void open_as(int amode)
{
    OK(MPI_File_open(MPI_COMM_WORLD, path, amode, MPI_INFO_NULL, &file));
}

static void fill(unsigned char *buf, int n, int salt)
{
    for (int i = 0; i < n; i++)
        buf[i] = (unsigned char)(i * 7 + i / 256 + salt * 31 + 1);
}

static int is_filled(const unsigned char *buf, int n, int salt)
{
    unsigned char *expected = malloc((size_t)n);
    int same;

    fill(expected, n, salt);
    same = memcmp(buf, expected, (size_t)n) == 0;
    free(expected);
    return same;
}

static void write_record(MPI_File f, int place, int salt)
{
    unsigned char buf[RECORD];

    fill(buf, RECORD, salt);
    OK(MPI_File_write_at(f, (MPI_Offset)place * RECORD, buf, RECORD, MPI_BYTE, MPI_STATUS_IGNORE));
}

static void check_record(MPI_File f, int place, int salt)
{
    unsigned char buf[RECORD] = {0};
    MPI_Status status;
    int n;

    OK(MPI_File_read_at(f, (MPI_Offset)place * RECORD, buf, RECORD, MPI_BYTE, &status));
    MPI_Get_count(&status, MPI_BYTE, &n);
    CHECK(n == RECORD);
    CHECK(is_filled(buf, RECORD, salt));
}

static MPI_Offset size_of(MPI_File f)
{
    MPI_Offset n = -1;

    OK(MPI_File_get_size(f, &n));
    return n;
}

static void make_file(int records, int salt)
{
    FILE *f;
    unsigned char buf[RECORD];

    if (rank == 0) {
        f = fopen(path, "w");
        for (int i = 0; i < records; i++) {
            fill(buf, RECORD, salt + i);
            fwrite(buf, RECORD, 1, f);
        }
        fclose(f);
    }
    MPI_Barrier(MPI_COMM_WORLD);
}

/* Rank 0 compares the file itself; its name may begin with a driver's. */
static void check_file(const char *name, int records, int salt)
{
    unsigned char buf[RECORD];
    FILE *f;

    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) {
        f = fopen(strncmp(name, "nfs:", 4) == 0 ? name + 4 : name, "r");
        CHECK(f != NULL);
        for (int i = 0; f != NULL && i < records; i++)
            CHECK(fread(buf, RECORD, 1, f) == 1 && is_filled(buf, RECORD, salt + i));
        CHECK(f != NULL && fgetc(f) == EOF);
        if (f != NULL)
            fclose(f);
    }
    MPI_Barrier(MPI_COMM_WORLD);
}

/* One writes and tells another one, which reads, writes over it, and tells the first. */
static void message(void)
{
    int token = 0;

    open_as(MPI_MODE_RDWR | MPI_MODE_CREATE);
    for (int round = 0; round < 60; round++) {
        int a = round * 7 % size, b = (a + 1 + round % (size - 1)) % size, place = round * 37 % 50;

        if (rank == a) {
            write_record(file, place, round);
            MPI_Send(&token, 1, MPI_INT, b, 0, MPI_COMM_WORLD);
            MPI_Recv(&token, 1, MPI_INT, b, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            check_record(file, place, round + 1000);
        } else if (rank == b) {
            MPI_Recv(&token, 1, MPI_INT, a, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            CHECK(size_of(file) >= (MPI_Offset)(place + 1) * RECORD);
            check_record(file, place, round);
            write_record(file, place, round + 1000);
            MPI_Send(&token, 1, MPI_INT, a, 1, MPI_COMM_WORLD);
        }
        if (round % 16 == 15)
            MPI_Barrier(MPI_COMM_WORLD);
    }
    OK(MPI_File_close(&file));
}

/* Only rank 0 has anything to do; the others wait for it, some in a receive, some in a barrier. */
static void alone(void)
{
    int token = 0;

    open_as(MPI_MODE_RDWR | MPI_MODE_CREATE);
    if (rank == 0) {
        for (int i = 0; i < 1000; i++)
            write_record(file, i * 7 % 1000, i * 7 % 1000);
        for (int i = 0; i < 1000; i += 13)
            check_record(file, i, i);
        CHECK(size_of(file) == 1000 * RECORD);
        for (int r = 1; r < size; r += 2)
            MPI_Send(&token, 1, MPI_INT, r, 0, MPI_COMM_WORLD);
    } else if (rank % 2 == 1)
        MPI_Recv(&token, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Barrier(MPI_COMM_WORLD);
    OK(MPI_File_sync(file));
    MPI_Barrier(MPI_COMM_WORLD);
    OK(MPI_File_sync(file));
    check_record(file, rank, rank);
    OK(MPI_File_close(&file));
    check_file(path, 1000, 0);
}

static void append(void)
{
    MPI_Offset at;

    make_file(5, 0);
    open_as(MPI_MODE_RDWR | MPI_MODE_APPEND);
    OK(MPI_File_get_position(file, &at));
    CHECK(at == 5 * RECORD);
    write_record(file, 5 + rank, 5 + rank);
    OK(MPI_File_sync(file));
    MPI_Barrier(MPI_COMM_WORLD);
    OK(MPI_File_sync(file));
    CHECK(size_of(file) == (5 + size) * RECORD);
    OK(MPI_File_close(&file));
    check_file(path, 5 + size, 0);
}

static void delete_on_close(void)
{
    open_as(MPI_MODE_RDWR | MPI_MODE_CREATE | MPI_MODE_DELETE_ON_CLOSE);
    write_record(file, rank, rank);
    check_record(file, rank, rank);
    OK(MPI_File_close(&file));
    MPI_Barrier(MPI_COMM_WORLD);
    CHECK(access(path, F_OK) != 0);
}

static void read_only(void)
{
    unsigned char byte = 0;

    make_file(100, 0);
    open_as(MPI_MODE_RDONLY);
    MPI_File_set_errhandler(file, MPI_ERRORS_RETURN);
    for (int i = 0; i < 100; i++)
        check_record(file, (i + rank * 13) % 100, (i + rank * 13) % 100);
    CHECK(MPI_File_write_at(file, 0, &byte, 1, MPI_BYTE, MPI_STATUS_IGNORE) != MPI_SUCCESS);
    CHECK(size_of(file) == 100 * RECORD);
    OK(MPI_File_close(&file));
    check_file(path, 100, 0);
}

/* What nobody writes stays, though it cannot be read. */
static void write_only(void)
{
    unsigned char buf[RECORD];

    make_file(100, 0);
    open_as(MPI_MODE_WRONLY);
    for (int i = rank; i < 100; i += size) {
        fill(buf, RECORD, i);
        OK(MPI_File_write_at(file, i * RECORD + 100, buf + 100, 17, MPI_BYTE, MPI_STATUS_IGNORE));
    }
    write_record(file, 100 + rank, 100 + rank);
    OK(MPI_File_close(&file));
    check_file(path, 100 + size, 0);
}

static void external32(void)
{
    int value[250], back[250];
    unsigned char byte[4] = {0};
    FILE *f;

    for (int i = 0; i < 250; i++)
        value[i] = 0x01020304 + i + rank;
    open_as(MPI_MODE_RDWR | MPI_MODE_CREATE);
    OK(MPI_File_set_view(file, 0, MPI_INT, MPI_INT, "external32", MPI_INFO_NULL));
    OK(MPI_File_write_at(file, 250 * rank, value, 250, MPI_INT, MPI_STATUS_IGNORE));
    OK(MPI_File_read_at(file, 250 * rank, back, 250, MPI_INT, MPI_STATUS_IGNORE));
    CHECK(memcmp(value, back, sizeof(value)) == 0);
    OK(MPI_File_close(&file));
    f = fopen(path, "r");
    CHECK(f != NULL && fseek(f, 1000 * rank, SEEK_SET) == 0 && fread(byte, 4, 1, f) == 1);
    CHECK(byte[0] == 1 && byte[1] == 2 && byte[2] == 3 && byte[3] == 4 + rank);
    if (f != NULL)
        fclose(f);
    MPI_Barrier(MPI_COMM_WORLD);
}

/* Files of all, of half of the ranks, and of each, in turn. */
static void many(void)
{
    char name[3][1100];
    MPI_Comm half;
    MPI_File f[3];
    int place;

    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &half);
    MPI_Comm_rank(half, &place);
    snprintf(name[0], sizeof(name[0]), "%s", path);
    snprintf(name[1], sizeof(name[1]), "%s.half%d", path, rank % 2);
    snprintf(name[2], sizeof(name[2]), "%s.self%d", path, rank);
    for (int i = 0; i < 3; i++)
        OK(MPI_File_open(i == 0   ? MPI_COMM_WORLD
                         : i == 1 ? half
                                  : MPI_COMM_SELF,
                         name[i], MPI_MODE_RDWR | MPI_MODE_CREATE, MPI_INFO_NULL, &f[i]));
    for (int i = 0; i < 20; i++) {
        int members;

        MPI_Comm_size(half, &members);
        write_record(f[0], i * size + rank, i * size + rank);
        write_record(f[1], i * members + place, i * members + place);
        write_record(f[2], i, i);
    }
    for (int i = 0; i < 3; i++)
        OK(MPI_File_close(&f[i]));
    check_file(name[0], 20 * size, 0);
    check_file(name[1], 20 * ((size + 1) / 2), 0);
    check_file(name[2], 20, 0);
    remove(name[1]);
    remove(name[2]);
    MPI_Comm_free(&half);
}

/*
 * Each rank through a handle of its own, all in the same blocks of the file: most write many small
 * pieces of a block, which may be worth reading, modifying and writing back; rank 0 a single one.
 */
static void selves(void)
{
    enum { PIECE = 50, BLOCKS = 250 };
    unsigned char buf[RECORD];

    OK(MPI_File_open(MPI_COMM_SELF, path, MPI_MODE_RDWR | MPI_MODE_CREATE, MPI_INFO_NULL, &file));
    MPI_Barrier(MPI_COMM_WORLD);
    for (int i = 0; i < BLOCKS; i++)
        for (int piece = 0; piece < 4 * RECORD / PIECE; piece++) {
            int record = 4 * i + piece * PIECE / RECORD, at = piece * PIECE % RECORD;

            if ((piece == 33 ? 0 : 1 + piece % (size - 1)) != rank)
                continue;
            fill(buf, RECORD, record);
            OK(MPI_File_write_at(file, (MPI_Offset)record * RECORD + at, buf + at, PIECE, MPI_BYTE,
                                 MPI_STATUS_IGNORE));
        }
    OK(MPI_File_close(&file));
    check_file(path, 4 * BLOCKS, 0);
}

/* Rank 0 writes large pieces, which may go straight to the file; the others, small ones beside
 * them. */
static void large(void)
{
    enum { PIECE = 50, BLOCK = 300, LARGE = 100, BLOCKS = 2 };
    unsigned char *buf = malloc(BLOCK * RECORD);

    open_as(MPI_MODE_RDWR | MPI_MODE_CREATE);
    for (int i = 0; i < BLOCKS; i++) {
        MPI_Offset at = (MPI_Offset)i * BLOCK * RECORD;

        for (int j = 0; j < BLOCK; j++)
            fill(buf + j * RECORD, RECORD, i * BLOCK + j);
        for (int j = LARGE * RECORD; rank > 0 && j < BLOCK * RECORD; j += PIECE)
            if (1 + j / PIECE % (size - 1) == rank)
                OK(MPI_File_write_at(file, at + j, buf + j, PIECE, MPI_BYTE, MPI_STATUS_IGNORE));
        if (rank == 0)
            OK(MPI_File_write_at(file, at, buf, LARGE * RECORD, MPI_BYTE, MPI_STATUS_IGNORE));
    }
    free(buf);
    OK(MPI_File_close(&file));
    check_file(path, BLOCKS * BLOCK, 0);
}

static void say(const char *key)
{
    char value[MPI_MAX_INFO_VAL + 1] = "";
    MPI_Info info;
    int found = 0;

    OK(MPI_File_get_info(file, &info));
    MPI_Info_get(info, key, MPI_MAX_INFO_VAL, value, &found);
    if (rank == 0)
        printf("%s: %s\n", key, found ? value : "-");
    MPI_Info_free(&info);
}

static void set(const char *key, const char *value)
{
    MPI_Info info;

    MPI_Info_create(&info);
    MPI_Info_set(info, key, value);
    OK(MPI_File_set_info(file, info));
    MPI_Info_free(&info);
}

/* On and off while the file is open. */
static void change(void)
{
    static const char *const words[] = {"disable", "enable", "enable", "disable", "enable"};

    open_as(MPI_MODE_RDWR | MPI_MODE_CREATE);
    say("tamio_tcio");
    say("romio_visibility_immediate");
    for (int i = 0; i < 5; i++) {
        write_record(file, i * size + rank, i * size + rank);
        set("romio_tcio", words[i]);
        MPI_Barrier(MPI_COMM_WORLD);
        if (strcmp(words[i], i > 0 ? words[i - 1] : "enable") != 0)
            check_record(file, i * size + (rank + 1) % size, i * size + (rank + 1) % size);
        MPI_Barrier(MPI_COMM_WORLD);
    }
    set("tcio_segment_size", "8192");
    set("tcio_visibility", "sync");
    say("tamio_tcio");
    say("romio_visibility_immediate");
    write_record(file, 5 * size + rank, 5 * size + rank);
    set("romio_tcio", "disable");
    say("tamio_tcio");
    OK(MPI_File_close(&file));
    check_file(path, 6 * size, 0);
}

/* Rank 0's hint is everybody's; without it, nobody's. */
static void differ(void)
{
    MPI_Info info;

    for (int with = 0; with < 2; with++) {
        MPI_Info_create(&info);
        MPI_Info_set(info, "romio_tcio", (rank == 0) == with ? "enable" : "disable");
        OK(MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_RDWR | MPI_MODE_CREATE, info, &file));
        MPI_Info_free(&info);
        say("tamio_tcio");
        write_record(file, rank, rank);
        OK(MPI_File_close(&file));
        check_file(path, size, 0);
    }
}

/* More than the disk has: all ranks are told by the next call that writes it out. */
static void full(void)
{
    open_as(MPI_MODE_RDWR | MPI_MODE_CREATE);
    MPI_File_set_errhandler(file, MPI_ERRORS_RETURN);
    for (int i = 0; i < 2000; i++) {
        unsigned char buf[RECORD];

        fill(buf, RECORD, i);
        MPI_File_write_at(file, ((MPI_Offset)i * size + rank) * RECORD, buf, RECORD, MPI_BYTE,
                          MPI_STATUS_IGNORE);
    }
    print_classes("sync", MPI_File_sync(file));
    print_classes("close", MPI_File_close(&file));
}

/* The same without a sync. */
static void full_at_close(void)
{
    unsigned char buf[RECORD] = {0};

    open_as(MPI_MODE_RDWR | MPI_MODE_CREATE);
    MPI_File_set_errhandler(file, MPI_ERRORS_RETURN);
    for (int i = 0; i < 2000; i++)
        MPI_File_write_at(file, ((MPI_Offset)i * size + rank) * RECORD, buf, RECORD, MPI_BYTE,
                          MPI_STATUS_IGNORE);
    print_classes("close", MPI_File_close(&file));
}

/* Some calls that are taken and some that are not, for the report. */
static void count(void)
{
    open_as(MPI_MODE_RDWR | MPI_MODE_CREATE);
    for (int i = 0; i < 3; i++)
        write_record(file, i * size + rank, i * size + rank);
    check_record(file, rank, rank);
    OK(MPI_File_write_at_all(file, 0, "", 0, MPI_BYTE, MPI_STATUS_IGNORE));
    OK(MPI_File_set_atomicity(file, 1));
    check_record(file, rank, rank);
    check_record(file, size + rank, size + rank);
    OK(MPI_File_close(&file));
    check_file(path, 3 * size, 0);
}

static const struct {
    const char *name;
    void (*run)(void);
} rules[] = {{"message", message},
             {"alone", alone},
             {"append", append},
             {"delete_on_close", delete_on_close},
             {"read_only", read_only},
             {"write_only", write_only},
             {"external32", external32},
             {"many", many},
             {"selves", selves},
             {"large", large},
             {"change", change},
             {"differ", differ},
             {"full", full},
             {"full_at_close", full_at_close},
             {"count", count}};

int main(int argc, char **argv)
{
    int found = 0;

    begin(argc, argv);
    for (size_t i = 0; i < sizeof(rules) / sizeof(rules[0]); i++)
        if (strcmp(rules[i].name, argv[2]) == 0) {
            rules[i].run();
            found = 1;
        }
    CHECK(found);
    return end();
}
