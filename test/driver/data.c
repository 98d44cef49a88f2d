/*
 * Collective calls, or independent ones, over many views, kinds of memory and sets of participants.
 * For each case rank 0 prints, of every call on every rank: error class, file position, count and
 * elements of the status, and of reads a checksum of the whole buffer. Each case leaves a file.
 * Output and files must be the same under every MPI-IO implementation.
 *
 * Usage: data DIR [K/N [PATTERN [independent]]]    only case K of every N, and if its name contains
 * PATTERN
 */
#include "gather.h"

#include <stdint.h>

#define CALL_INTS                                                                                  \
    6000 /* moved by one call of one rank; a multiple of every etype and memory type */
#define CALL_BYTES (CALL_INTS * 4)
#define OLD_BYTES 50000 /* what is in the file before, where it need not cover holes */
#define BUFFER_BYTES (CALL_BYTES * 3)

/* ---- views ---- */

static int parts; /* ranks that share the file: 2 if all have one view, else all */

struct view {
    MPI_Datatype etype, filetype;
    MPI_Offset disp;
    MPI_Offset first; /* where the rank begins, in etypes */
};

static MPI_Datatype resized(MPI_Datatype type, MPI_Aint extent)
{
    MPI_Datatype made;

    MPI_Type_create_resized(type, 0, extent, &made);
    MPI_Type_free(&type);
    MPI_Type_commit(&made);
    return made;
}

static MPI_Datatype elements(int n, MPI_Datatype of)
{
    MPI_Datatype made;

    MPI_Type_contiguous(n, of, &made);
    MPI_Type_commit(&made);
    return made;
}

static void view_bytes(int r, struct view *v)
{
    MPI_Type_dup(MPI_BYTE, &v->filetype);
    v->first = (MPI_Offset)r * 4 * CALL_BYTES;
    v->disp = 3;
}

static void view_columns(int r, struct view *v)
{
    int global[2] = {60, 100 * parts}, local[2] = {60, 100}, start[2] = {0, 100 * r};

    v->etype = elements(1, MPI_INT);
    MPI_Type_create_subarray(2, global, local, start, MPI_ORDER_C, MPI_INT, &v->filetype);
}

static void view_fortran(int r, struct view *v)
{
    int global[3] = {10 * parts, 20, 30}, local[3] = {10, 20, 30}, start[3] = {10 * r, 0, 0};

    v->etype = elements(1, MPI_INT);
    MPI_Type_create_subarray(3, global, local, start, MPI_ORDER_FORTRAN, MPI_INT, &v->filetype);
    v->disp = 4096;
}

static void view_vector(int r, struct view *v)
{
    v->etype = elements(1, MPI_DOUBLE);
    MPI_Type_vector(2, 3, 3 * parts, MPI_DOUBLE, &v->filetype);
    v->filetype = resized(v->filetype, (MPI_Aint)parts * 48);
    v->disp = 13 + r * 24;
}

static void view_indexed(int r, struct view *v)
{
    int lengths[5] = {1, 4, 2, 0, 3}, places[5], before = 0;

    for (int i = 0; i < 5; i++) {
        places[i] = before * parts + r * lengths[i];
        before += lengths[i];
    }
    v->etype = elements(1, MPI_INT);
    MPI_Type_indexed(5, lengths, places, MPI_INT, &v->filetype);
    v->filetype = resized(v->filetype, (MPI_Aint)parts * 40);
}

/* A hole before the first block, and one after the last. */
static void view_hole(int r, struct view *v)
{
    int length = 10;
    MPI_Aint place = 5 + 10 * r;

    MPI_Type_create_hindexed(1, &length, &place, MPI_BYTE, &v->filetype);
    v->filetype = resized(v->filetype, 10 * parts + 16);
    v->disp = 1000;
}

static void view_large_etype(int r, struct view *v)
{
    v->etype = elements(3, MPI_DOUBLE);
    MPI_Type_vector(4, 2, 2 * parts, v->etype, &v->filetype);
    v->filetype = resized(v->filetype, (MPI_Aint)parts * 8 * 24);
    v->disp = r * 48;
}

static void view_odd_etype(int r, struct view *v)
{
    v->etype = elements(5, MPI_BYTE);
    MPI_Type_vector(3, 1, parts, v->etype, &v->filetype);
    v->filetype = resized(v->filetype, (MPI_Aint)parts * 15);
    v->disp = r * 5 + 1;
}

/* Mostly holes. */
static void view_sparse(int r, struct view *v)
{
    v->etype = elements(2, MPI_INT);
    v->filetype = resized(elements(5, v->etype), (MPI_Aint)parts * 80);
    v->disp = 77 + r * 80;
}

/* Large blocks of different length on each rank: no interleaving, uneven domains. */
static void view_blocks(int r, struct view *v)
{
    MPI_Type_dup(MPI_BYTE, &v->filetype);
    v->disp = (MPI_Offset)(parts - 1 - r) * (5 * CALL_BYTES + 111);
}

/* The same without a displacement: one block that does not begin where its type does. */
static void view_shifted(int r, struct view *v)
{
    int length = 5 * CALL_BYTES;
    MPI_Aint at = (MPI_Aint)r * (5 * CALL_BYTES + 111) + 77;

    MPI_Type_create_hindexed(1, &length, &at, MPI_BYTE, &v->filetype);
}

static const struct {
    const char *name;
    void (*make)(int r, struct view *v);
    int full; /* all ranks together leave no hole */
} views[] = {{"bytes", view_bytes, 0},         {"columns", view_columns, 1},
             {"fortran", view_fortran, 1},     {"vector", view_vector, 1},
             {"indexed", view_indexed, 1},     {"hole", view_hole, 0},
             {"sparse", view_sparse, 0},       {"large_etype", view_large_etype, 1},
             {"odd_etype", view_odd_etype, 1}, {"blocks", view_blocks, 0},
             {"shifted", view_shifted, 0}};

static void make_view(int which, int r, struct view *v)
{
    memset(v, 0, sizeof(*v));
    v->etype = MPI_DATATYPE_NULL;
    views[which].make(r, v);
    if (v->etype == MPI_DATATYPE_NULL)
        v->etype = elements(1, MPI_BYTE);
    MPI_Type_commit(&v->filetype);
}

/* ---- memory ---- */

struct memory {
    MPI_Datatype type;
    int count; /* of the type in CALL_INTS */
};

static void memory_contiguous(struct memory *m)
{
    m->type = elements(1, MPI_INT);
    m->count = CALL_INTS;
}

static void memory_vector(struct memory *m)
{
    MPI_Type_vector(100, 3, 5, MPI_INT, &m->type);
    m->count = CALL_INTS / 300;
}

/* Blocks in no order, and an extent with room for more. */
static void memory_shuffled(struct memory *m)
{
    int lengths[4] = {2, 1, 3, 6}, places[4] = {20, 0, 5, 9};

    MPI_Type_indexed(4, lengths, places, MPI_INT, &m->type);
    m->type = resized(m->type, 25 * 4);
    m->count = CALL_INTS / 12;
}

static const struct {
    const char *name;
    void (*make)(struct memory *m);
    int takes_part; /* 0: all, 1: even ranks, 2: the last one */
    int atomic;
} partakers[] = {{"all", memory_contiguous, 0, 0},
                 {"all-vector", memory_vector, 0, 0},
                 {"even-shuffled", memory_shuffled, 1, 0},
                 {"last", memory_contiguous, 2, 0},
                 {"atomic", memory_vector, 0, 1}};

static int takes_part(int kind)
{
    return kind == 0 || (kind == 1 && rank % 2 == 0) || (kind == 2 && rank == size - 1);
}

/* ---- calls ---- */

struct call {
    MPI_File file;
    MPI_Offset at;
    void *buf;
    int count;
    MPI_Datatype type;
    MPI_Status *status;
};

#define BLOCKING(verb)                                                                             \
    static int verb##_all(struct call *c)                                                          \
    {                                                                                              \
        return MPI_File_##verb##_all(c->file, c->buf, c->count, c->type, c->status);               \
    }                                                                                              \
    static int verb##_at_all(struct call *c)                                                       \
    {                                                                                              \
        return MPI_File_##verb##_at_all(c->file, c->at, c->buf, c->count, c->type, c->status);     \
    }                                                                                              \
    static int verb##_ordered(struct call *c)                                                      \
    {                                                                                              \
        return MPI_File_##verb##_ordered(c->file, c->buf, c->count, c->type, c->status);           \
    }                                                                                              \
    static int verb##_split(struct call *c)                                                        \
    {                                                                                              \
        int rc = MPI_File_##verb##_all_begin(c->file, c->buf, c->count, c->type);                  \
        return rc != MPI_SUCCESS ? rc : MPI_File_##verb##_all_end(c->file, c->buf, c->status);     \
    }                                                                                              \
    static int verb##_at_split(struct call *c)                                                     \
    {                                                                                              \
        int rc = MPI_File_##verb##_at_all_begin(c->file, c->at, c->buf, c->count, c->type);        \
        return rc != MPI_SUCCESS ? rc : MPI_File_##verb##_at_all_end(c->file, c->buf, c->status);  \
    }                                                                                              \
    static int verb##_nonblocking(struct call *c)                                                  \
    {                                                                                              \
        MPI_Request request;                                                                       \
        int rc = MPI_File_i##verb##_all(c->file, c->buf, c->count, c->type, &request);             \
        return rc != MPI_SUCCESS ? rc : MPI_Wait(&request, c->status);                             \
    }                                                                                              \
    static int verb##_at_nonblocking(struct call *c)                                               \
    {                                                                                              \
        MPI_Request request;                                                                       \
        int rc = MPI_File_i##verb##_at_all(c->file, c->at, c->buf, c->count, c->type, &request);   \
        return rc != MPI_SUCCESS ? rc : MPI_Wait(&request, c->status);                             \
    }
BLOCKING(write)
BLOCKING(read)

/* Ranks take turns with the shared pointer, so that everybody knows where it will be. */
static void await_turn(void)
{
    for (int i = 0; i < rank; i++)
        MPI_Barrier(MPI_COMM_WORLD);
}

static void end_turn(void)
{
    for (int i = rank; i < size; i++)
        MPI_Barrier(MPI_COMM_WORLD);
}

#define INDEPENDENT(verb)                                                                          \
    static int verb##_one(struct call *c)                                                          \
    {                                                                                              \
        return MPI_File_##verb(c->file, c->buf, c->count, c->type, c->status);                     \
    }                                                                                              \
    static int verb##_at(struct call *c)                                                           \
    {                                                                                              \
        return MPI_File_##verb##_at(c->file, c->at, c->buf, c->count, c->type, c->status);         \
    }                                                                                              \
    static int verb##_i(struct call *c)                                                            \
    {                                                                                              \
        MPI_Request request;                                                                       \
        int rc = MPI_File_i##verb(c->file, c->buf, c->count, c->type, &request);                   \
        return rc != MPI_SUCCESS ? rc : MPI_Wait(&request, c->status);                             \
    }                                                                                              \
    static int verb##_iat(struct call *c)                                                          \
    {                                                                                              \
        MPI_Request request;                                                                       \
        int rc = MPI_File_i##verb##_at(c->file, c->at, c->buf, c->count, c->type, &request);       \
        return rc != MPI_SUCCESS ? rc : MPI_Wait(&request, c->status);                             \
    }                                                                                              \
    static int verb##_shared(struct call *c)                                                       \
    {                                                                                              \
        int rc;                                                                                    \
        await_turn();                                                                              \
        rc = MPI_File_##verb##_shared(c->file, c->buf, c->count, c->type, c->status);              \
        end_turn();                                                                                \
        return rc;                                                                                 \
    }                                                                                              \
    static int verb##_ishared(struct call *c)                                                      \
    {                                                                                              \
        MPI_Request request;                                                                       \
        int rc;                                                                                    \
        await_turn();                                                                              \
        rc = MPI_File_i##verb##_shared(c->file, c->buf, c->count, c->type, &request);              \
        if (rc == MPI_SUCCESS)                                                                     \
            rc = MPI_Wait(&request, c->status);                                                    \
        end_turn();                                                                                \
        return rc;                                                                                 \
    }
INDEPENDENT(write)
INDEPENDENT(read)

enum pointer { INDIVIDUAL, EXPLICIT, SHARED };

static const struct {
    const char *name;
    int (*write)(struct call *c), (*read)(struct call *c);
    enum pointer pointer;
    int independent;
} calls[] = {{"all", write_all, read_all, INDIVIDUAL, 0},
             {"at_all", write_at_all, read_at_all, EXPLICIT, 0},
             {"split", write_split, read_split, INDIVIDUAL, 0},
             {"at_split", write_at_split, read_at_split, EXPLICIT, 0},
             {"iall", write_nonblocking, read_nonblocking, INDIVIDUAL, 0},
             {"iat_all", write_at_nonblocking, read_at_nonblocking, EXPLICIT, 0},
             {"ordered", write_ordered, read_ordered, SHARED, 0},
             {"one", write_one, read_one, INDIVIDUAL, 1},
             {"at", write_at, read_at, EXPLICIT, 1},
             {"i", write_i, read_i, INDIVIDUAL, 1},
             {"iat", write_iat, read_iat, EXPLICIT, 1},
             {"shared", write_shared, read_shared, SHARED, 1},
             {"ishared", write_ishared, read_ishared, SHARED, 1}};

/* ---- one case ---- */

static char report[LINE];

static void add_to_report(const char *format, ...)
{
    size_t used = strlen(report);
    va_list args;

    va_start(args, format);
    vsnprintf(report + used, sizeof(report) - used, format, args);
    va_end(args);
}

static void fill(unsigned char *buf, int salt)
{
    for (int i = 0; i < BUFFER_BYTES; i++)
        buf[i] = (unsigned char)((i * 31 + i / 251 + rank * 71 + salt) % 255);
}

static unsigned checksum(const unsigned char *buf)
{
    unsigned h = 2166136261u;

    for (int i = 0; i < BUFFER_BYTES; i++)
        h = (h ^ buf[i]) * 16777619u;
    return h;
}

/*
 * Past the old end, stock ROMIO leaves whatever was in its buffers in the holes of a write: where
 * there are holes, the old file covers them.
 */
static int old_bytes(int view, int call, int who)
{
    int holes =
        !views[view].full || partakers[who].takes_part != 0 || calls[call].pointer == SHARED;

    return holes ? size * 8 * CALL_BYTES : OLD_BYTES;
}

static void make_old_file(const char *name, int length)
{
    FILE *f;

    if (rank == 0) {
        f = fopen(name, "w");
        for (int i = 0; i < length; i++)
            putc_unlocked('a' + i % 26, f);
        fclose(f);
    }
    MPI_Barrier(MPI_COMM_WORLD);
}

static void add_call(const struct call *c, enum pointer pointer, int rc)
{
    MPI_Offset position = -1;
    int count = -1, n = -1;

    if (pointer == SHARED)
        MPI_File_get_position_shared(c->file, &position);
    else
        MPI_File_get_position(c->file, &position);
    MPI_Get_count(c->status, c->type, &count);
    MPI_Get_elements(c->status, c->type, &n);
    add_to_report(" %s/%lld/%d/%d", class_name(rc), (long long)position, count, n);
    MPI_Barrier(MPI_COMM_WORLD);
}

/* Two calls, the second after a gap if offsets are explicit. */
static void run_calls(int which, int reading, struct call *c, const struct view *v)
{
    int etype_size, rc;
    MPI_Status status;

    MPI_Type_size(v->etype, &etype_size);
    for (int i = 0; i < 2; i++) {
        memset(&status, 0, sizeof(status));
        c->status = &status;
        c->at = v->first + 2 * i * (CALL_BYTES / etype_size);
        if (reading)
            memset(c->buf, 0xee, BUFFER_BYTES);
        else
            fill(c->buf, i);
        rc = reading ? calls[which].read(c) : calls[which].write(c);
        add_call(c, calls[which].pointer, rc);
        if (reading)
            add_to_report("/%08x", checksum(c->buf));
    }
}

static void rewind_file(MPI_File file, enum pointer pointer, const struct view *v)
{
    if (pointer == SHARED)
        OK(MPI_File_seek_shared(file, 0, MPI_SEEK_SET));
    else
        OK(MPI_File_seek(file, v->first, MPI_SEEK_SET));
}

static void run_file(const char *name, int which_view, int which_call, int who)
{
    enum pointer pointer = calls[which_call].pointer;
    struct memory m;
    struct view v;
    struct call c;

    parts = pointer == SHARED ? 2 : size;
    make_view(which_view, pointer == SHARED ? 0 : rank, &v);
    partakers[who].make(&m);
    MPI_Type_commit(&m.type);
    c.buf = malloc(BUFFER_BYTES);
    c.type = m.type;
    c.count = takes_part(partakers[who].takes_part) ? m.count : 0;
    OK(MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_RDWR, MPI_INFO_NULL, &c.file));
    OK(MPI_File_set_view(c.file, v.disp, v.etype, v.filetype, "native", MPI_INFO_NULL));
    OK(MPI_File_set_atomicity(c.file, partakers[who].atomic));
    rewind_file(c.file, pointer, &v);
    run_calls(which_call, 0, &c, &v);
    rewind_file(c.file, pointer, &v);
    run_calls(which_call, 1, &c, &v);
    OK(MPI_File_close(&c.file));
    free(c.buf);
    MPI_Type_free(&m.type);
    MPI_Type_free(&v.etype);
    MPI_Type_free(&v.filetype);
}

static void run_case(int view, int call, int who, const char *pattern)
{
    char name[1300], title[200];

    snprintf(title, sizeof(title), "%s.%s.%s", views[view].name, calls[call].name,
             partakers[who].name);
    if (strstr(title, pattern) == NULL)
        return;
    snprintf(name, sizeof(name), "%s/%s", path, title);
    make_old_file(name, old_bytes(view, call, who));
    report[0] = '\0';
    run_file(name, view, call, who);
    print_ranks(title, "\n   %s", report);
}

#define COUNT(table) (int)(sizeof(table) / sizeof((table)[0]))

int main(int argc, char **argv)
{
    int k = 0, n = 1, number = 0;
    int independent = argc > 4 && strcmp(argv[4], "independent") == 0;

    begin(argc, argv);
    if (argc > 2)
        CHECK(sscanf(argv[2], "%d/%d", &k, &n) == 2 && n > 0);
    for (int view = 0; view < COUNT(views); view++)
        for (int call = 0; call < COUNT(calls); call++)
            for (int who = 0; who < COUNT(partakers); who++)
                if (calls[call].independent == independent && number++ % n == k)
                    run_case(view, call, who, argc > 3 ? argv[3] : "");
    return end();
}
