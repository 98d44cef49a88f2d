/*
 * Several operations under way on one file: none of them may lose a byte of another.
 *
 * Usage: outstanding FILE KIND HANDLES BYTES TIMES [SEED]
 *
 *   KIND     what comes while a nonblocking collective write A is under way
 *              ii   another one, B; they are waited for in either order
 *              iii  two others, one of which is waited for between
 *              iw   a blocking collective write
 *              ir   a blocking collective read of what was there before, then a write
 *              is   each rank's own strided write
 *              ic   each rank's own contiguous writes
 *              in   each rank's own nonblocking strided write
 *              order  rank 0 waits for A before it comes to B, others after it
 *              lone   rank 1 writes by itself, and rank 0 waits for that before it waits for A
 *              wc   A is a blocking collective write, and then come each rank's own contiguous ones
 *   HANDLES  one: the same file handle; two: B goes through another one; parts: through one of
 *            half of the ranks; self: through one of each rank's own
 *   BYTES    of a piece, at most
 *   TIMES    that it is done
 *
 * Ranks own places in turn, in as many regions as there are operations. In each region every
 * operation has the pieces of some ranks, so that each fills the holes of the others; all go
 * through one view. Some places are left out: they must keep what was there.
 */
#include "gather.h"

#include <fcntl.h>
#include <unistd.h>

#define PIECES 48 /* places of each rank in each region */
#define MOST 3    /* regions */

static unsigned long long state;

static unsigned next(unsigned most)
{
    state = state * 6364136223846793005ULL + 1442695040888963407ULL;
    return (unsigned)(state >> 33) % most;
}

/* What this rank writes with one operation: bytes of its view, */
struct part {
    MPI_Offset at;
    int bytes, n;
    unsigned char *data;
    MPI_Offset off[PIECES]; /* and where in the file they are */
    int len[PIECES];
};

static unsigned char byte_of(int which, long at)
{
    return (unsigned char)(which * 101 + at * 7 + at / 251 + 1);
}

/* The whole file as it must be: all ranks draw the same numbers. */
struct plan {
    int regions, halved; /* halved: odd ranks take part in the first operation only */
    long size;
    unsigned char *expected;
    struct part part[MOST];
    int n; /* the view */
    MPI_Aint off[PIECES * MOST];
    int len[PIECES * MOST];
};

static void own_piece(struct plan *p, struct part *q, int which, long at, int len)
{
    for (int i = 0; i < len; i++)
        q->data[q->bytes + i] = byte_of(which + 1, at + i);
    q->bytes += len;
    q->off[q->n] = at;
    q->len[q->n++] = len;
    p->off[p->n] = (MPI_Aint)at;
    p->len[p->n++] = len;
}

static void add_piece(struct plan *p, int region, int owner, long at, int len)
{
    int which = (region + owner) % p->regions;

    if (owner == rank)
        own_piece(p, &p->part[which], which, at, len);
    if (which > 0 && p->halved && owner % 2 != 0)
        return;
    for (long i = at; i < at + len; i++)
        p->expected[i] = byte_of(which + 1, i);
}

/* The parts of a rank lie in its view in the order of the regions. */
static void place_parts(struct plan *p)
{
    MPI_Offset at = 0;

    for (int region = 0; region < p->regions; region++) {
        struct part *q = &p->part[(region + rank) % p->regions];

        q->at = at;
        at += q->bytes;
    }
}

static void make_plan(struct plan *p, int regions, int halved, int most)
{
    long places = (long)PIECES * size;

    memset(p, 0, sizeof(*p));
    p->regions = regions;
    p->halved = halved;
    p->size = places * regions * most;
    p->expected = malloc((size_t)p->size);
    for (long i = 0; i < p->size; i++)
        p->expected[i] = byte_of(0, i);
    for (int k = 0; k < regions; k++)
        p->part[k].data = malloc((size_t)(PIECES * most));
    for (long s = 0; s < places * regions; s++) {
        int len = 1 + (int)next((unsigned)most), skip = next(8) == 0;

        if (!skip)
            add_piece(p, (int)(s / places), (int)(s % size), s * most, len);
    }
    place_parts(p);
}

static void free_plan(struct plan *p)
{
    for (int k = 0; k < p->regions; k++)
        free(p->part[k].data);
    free(p->expected);
}

static void fill_file(const struct plan *p)
{
    unsigned char *before = malloc((size_t)p->size);
    int fd;

    for (long i = 0; i < p->size; i++)
        before[i] = byte_of(0, i);
    if (rank == 0) {
        fd = open(path, O_RDWR | O_CREAT, 0600);
        CHECK(fd >= 0 && pwrite(fd, before, (size_t)p->size, 0) == p->size);
        close(fd);
    }
    free(before);
    MPI_Barrier(MPI_COMM_WORLD);
}

static long wrong_bytes(const struct plan *p)
{
    unsigned char *got = malloc((size_t)p->size);
    long wrong = 0;
    int fd = open(path, O_RDONLY);

    CHECK(fd >= 0 && pread(fd, got, (size_t)p->size, 0) == p->size);
    close(fd);
    for (long i = 0; i < p->size; i++)
        wrong += got[i] != p->expected[i];
    free(got);
    return wrong;
}

static void use_view(MPI_File file, const struct plan *p)
{
    MPI_Datatype type;

    MPI_Type_create_hindexed(p->n, p->len, p->off, MPI_BYTE, &type);
    MPI_Type_commit(&type);
    OK(MPI_File_set_view(file, 0, MPI_BYTE, type, "native", MPI_INFO_NULL));
    MPI_Type_free(&type);
}

static void begin_write(MPI_File file, const struct part *q, MPI_Request *request)
{
    OK(MPI_File_iwrite_at_all(file, q->at, q->data, q->bytes, MPI_BYTE, request));
}

static void wait_for(MPI_Request *request)
{
    OK(MPI_Wait(request, MPI_STATUS_IGNORE));
}

/* Looks at it for a while, so that it gets to any place. */
static void poke(MPI_Request *request)
{
    unsigned pause = next(3) * 40;
    int done = 0;

    for (unsigned n = next(60); n > 0 && !done; n--) {
        OK(MPI_Test(request, &done, MPI_STATUS_IGNORE));
        if (pause > 0)
            usleep(pause);
    }
}

struct run {
    MPI_File a, b; /* b: null on ranks that take part in A only */
    const struct plan *plan;
};

static void write_collectively(struct run *r)
{
    const struct part *q = &r->plan->part[1];

    if (r->b != MPI_FILE_NULL)
        OK(MPI_File_write_at_all(r->b, q->at, q->data, q->bytes, MPI_BYTE, MPI_STATUS_IGNORE));
}

static void write_alone(struct run *r)
{
    const struct part *q = &r->plan->part[1];

    if (r->b != MPI_FILE_NULL)
        OK(MPI_File_write_at(r->b, q->at, q->data, q->bytes, MPI_BYTE, MPI_STATUS_IGNORE));
}

static void other_is_nonblocking(struct run *r)
{
    MPI_Request request[2];
    MPI_Status statuses[2];

    begin_write(r->a, &r->plan->part[0], &request[0]);
    poke(&request[0]);
    request[1] = MPI_REQUEST_NULL;
    if (r->b != MPI_FILE_NULL)
        begin_write(r->b, &r->plan->part[1], &request[1]);
    if (next(3) == 0) {
        OK(MPI_Waitall(2, request, statuses));
        return;
    }
    int first = (int)next(2);
    wait_for(&request[first]);
    wait_for(&request[1 - first]);
}

static void three_nonblocking(struct run *r)
{
    MPI_Request request[3];

    begin_write(r->a, &r->plan->part[0], &request[0]);
    request[1] = MPI_REQUEST_NULL;
    if (r->b != MPI_FILE_NULL)
        begin_write(r->b, &r->plan->part[1], &request[1]);
    poke(&request[1]);
    wait_for(&request[0]);
    if (r->plan->halved && rank % 2 != 0)
        OK(MPI_File_iwrite_at_all(r->a, 0, NULL, 0, MPI_BYTE, &request[2]));
    else
        begin_write(r->a, &r->plan->part[2], &request[2]);
    poke(&request[2]);
    wait_for(&request[1]);
    wait_for(&request[2]);
}

static void other_is_blocking(struct run *r)
{
    MPI_Request request;

    begin_write(r->a, &r->plan->part[0], &request);
    poke(&request);
    write_collectively(r);
    wait_for(&request);
}

static void read_between(struct run *r)
{
    const struct part *q = &r->plan->part[1];
    unsigned char *back = calloc(1, (size_t)q->bytes + 1);
    MPI_Request request;
    int at = 0, wrong = 0;

    begin_write(r->a, &r->plan->part[0], &request);
    poke(&request);
    if (r->b != MPI_FILE_NULL) {
        OK(MPI_File_read_at_all(r->b, q->at, back, q->bytes, MPI_BYTE, MPI_STATUS_IGNORE));
        for (int i = 0; i < q->n; i++)
            for (int j = 0; j < q->len[i]; j++)
                wrong += back[at++] != byte_of(0, (long)q->off[i] + j);
    }
    CHECK(wrong == 0);
    write_collectively(r);
    wait_for(&request);
    free(back);
}

static void own_strided(struct run *r)
{
    MPI_Request request;

    begin_write(r->a, &r->plan->part[0], &request);
    poke(&request);
    write_alone(r);
    wait_for(&request);
}

/* Without a view if it is another handle: then ROMIO takes no locks. */
static void write_contiguously(struct run *r)
{
    const struct part *q = &r->plan->part[1];
    const unsigned pause = next(3) * 500;
    int done = 0;

    for (int i = 0; r->b != MPI_FILE_NULL && i < q->n; done += q->len[i++]) {
        MPI_Offset at = r->b == r->a ? q->at + done : q->off[i];

        if (i % 8 == 0)
            usleep(pause);
        OK(MPI_File_write_at(r->b, at, q->data + done, q->len[i], MPI_BYTE, MPI_STATUS_IGNORE));
    }
}

static void own_contiguous(struct run *r)
{
    MPI_Request request;

    begin_write(r->a, &r->plan->part[0], &request);
    poke(&request);
    write_contiguously(r);
    wait_for(&request);
}

static void after_blocking(struct run *r)
{
    const struct part *q = &r->plan->part[0];

    OK(MPI_File_write_at_all(r->a, q->at, q->data, q->bytes, MPI_BYTE, MPI_STATUS_IGNORE));
    write_contiguously(r);
}

static void own_nonblocking(struct run *r)
{
    const struct part *q = &r->plan->part[1];
    MPI_Request request[2];
    int first = (int)next(2);

    begin_write(r->a, &r->plan->part[0], &request[0]);
    poke(&request[0]);
    request[1] = MPI_REQUEST_NULL;
    if (r->b != MPI_FILE_NULL)
        OK(MPI_File_iwrite_at(r->b, q->at, q->data, q->bytes, MPI_BYTE, &request[1]));
    wait_for(&request[first]);
    wait_for(&request[1 - first]);
}

static void in_another_order(struct run *r)
{
    MPI_Request request;

    begin_write(r->a, &r->plan->part[0], &request);
    if (rank == 0)
        wait_for(&request);
    write_collectively(r);
    if (rank != 0)
        wait_for(&request);
}

/* Nothing of the others' is needed for what one rank writes by itself. */
static void lone_write(struct run *r)
{
    MPI_Request request;
    int token = 0;

    begin_write(r->a, &r->plan->part[0], &request);
    poke(&request);
    if (rank == 0) {
        for (int i = 1; i < size; i++)
            MPI_Recv(&token, 1, MPI_INT, i, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        write_alone(r);
    } else {
        write_alone(r);
        MPI_Send(&token, 1, MPI_INT, 0, 0, MPI_COMM_WORLD);
    }
    wait_for(&request);
}

static const struct kind {
    const char *name;
    void (*run)(struct run *r);
    int parts;
    int plain; /* another handle has no view */
} kinds[] = {{"ii", other_is_nonblocking, 2}, {"iii", three_nonblocking, 3},
             {"iw", other_is_blocking, 2},    {"ir", read_between, 2},
             {"is", own_strided, 2},          {"ic", own_contiguous, 2, 1},
             {"in", own_nonblocking, 2},      {"order", in_another_order, 2},
             {"lone", lone_write, 2},         {"wc", after_blocking, 2, 1}};

static const struct kind *find_kind(const char *name)
{
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
        if (strcmp(kinds[i].name, name) == 0)
            return &kinds[i];
    fprintf(stderr, "no kind %s\n", name);
    exit(2);
}

/* The handle for B; the null one on ranks that do not take part. */
static MPI_File open_second(const char *handles, MPI_File first)
{
    MPI_Comm comm = MPI_COMM_WORLD;
    MPI_File file = first;

    if (strcmp(handles, "one") == 0)
        return first;
    if (strcmp(handles, "parts") == 0)
        MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &comm);
    if (strcmp(handles, "self") == 0)
        MPI_Comm_dup(MPI_COMM_SELF, &comm);
    OK(MPI_File_open(comm, path, MPI_MODE_RDWR, MPI_INFO_NULL, &file));
    if (comm == MPI_COMM_WORLD)
        return file;
    MPI_Comm_free(&comm);
    if (strcmp(handles, "parts") == 0 && rank % 2 != 0)
        OK(MPI_File_close(&file));
    return file;
}

static void once(const struct kind *kind, const char *handles, int most)
{
    struct plan plan;
    struct run r = {.plan = &plan};
    long wrong;

    make_plan(&plan, kind->parts, strcmp(handles, "parts") == 0, most);
    fill_file(&plan);
    OK(MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_RDWR, MPI_INFO_NULL, &r.a));
    use_view(r.a, &plan);
    r.b = open_second(handles, r.a);
    if (r.b != r.a && r.b != MPI_FILE_NULL && !kind->plain)
        use_view(r.b, &plan);
    kind->run(&r);
    if (r.b != r.a && r.b != MPI_FILE_NULL)
        OK(MPI_File_close(&r.b));
    OK(MPI_File_close(&r.a));
    MPI_Barrier(MPI_COMM_WORLD);
    wrong = rank == 0 ? wrong_bytes(&plan) : 0;
    if (wrong > 0)
        printf("%s %s %d: %ld wrong bytes of %ld\n", kind->name, handles, most, wrong, plan.size);
    CHECK(wrong == 0);
    MPI_Barrier(MPI_COMM_WORLD);
    free_plan(&plan);
}

int main(int argc, char **argv)
{
    const struct kind *kind;

    begin(argc, argv);
    if (argc < 6) {
        fprintf(stderr, "usage: outstanding FILE KIND HANDLES BYTES TIMES [SEED]\n");
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    kind = find_kind(argv[2]);
    state = argc > 6 ? strtoull(argv[6], NULL, 0) : 1;
    for (int i = 0; i < atoi(argv[5]); i++)
        once(kind, argv[3], atoi(argv[4]));
    if (rank == 0)
        unlink(path);
    return end();
}
