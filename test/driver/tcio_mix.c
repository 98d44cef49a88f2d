/*
 * Random mixes of independent reads and writes of all ranks against an image of the file in memory,
 * which every rank keeps of all ranks' calls. Calls go in epochs: in one, each byte is written by
 * one rank at most, in calls of every form, through views and memory with and without holes, and
 * ranks read what they wrote. Between epochs comes something that makes it visible, or changes the
 * file, and all ranks read what anybody wrote. In the end the file itself is compared.
 *
 * Usage: tcio_mix FILE SEED EPOCHS VISIBILITY     immediate: others see a write at once; else sync
 */
#include "gather.h"

#include <stdint.h>

#define MOST 150000 /* bytes of the file */
#define CALL 6000   /* bytes of a call */

static unsigned char image[MOST];
static MPI_Offset length; /* of the file */
static MPI_File file;
static int immediate;

/* ---- chance: the same on all ranks, for the same place ---- */

struct chance {
    uint64_t state;
};

static uint64_t mix(uint64_t x)
{
    x ^= x >> 33;
    x *= 0xff51afd7ed558ccdu;
    x ^= x >> 33;
    x *= 0xc4ceb9fe1a85ec53u;
    return x ^ x >> 33;
}

static int pick(struct chance *c, int n)
{
    c->state += 0x9e3779b97f4a7c15u;
    return (int)(mix(c->state) % (uint64_t)n);
}

/* ---- one epoch: who may write what ---- */

struct epoch {
    uint64_t salt;
    int grain;
    int cyclic; /* views: rank r has every size-th grain; else all see all bytes */
};

/* Of a byte; `size` is nobody. */
static int owner(const struct epoch *e, MPI_Offset off)
{
    if (e->cyclic)
        return (int)(off / e->grain % size);
    return (int)(mix(e->salt + (uint64_t)(off / e->grain)) % (uint64_t)(size + 1));
}

/* Where byte p of what rank r sees lies in the file. */
static MPI_Offset place(const struct epoch *e, int r, MPI_Offset p)
{
    if (!e->cyclic)
        return p;
    return (p / e->grain * size + r) * e->grain + p % e->grain;
}

struct call {
    int write, form, gaps;
    MPI_Offset at; /* in what the rank sees */
    int n;         /* bytes */
    uint64_t salt;
};

static unsigned char byte_of(const struct call *c, int i)
{
    return (unsigned char)(1 + mix(c->salt + (uint64_t)i) % 255);
}

/* A call of rank r. What it writes is its own: from there, as far as that goes. */
static struct call next_call(const struct epoch *e, int r, struct chance *chance)
{
    struct call c = {.write = pick(chance, 3) > 0, .form = pick(chance, 4)};
    int most = e->cyclic ? MOST / size - 2 * e->grain : MOST - 1;

    c.at = pick(chance, most);
    c.n = 1 + pick(chance, pick(chance, 2) ? 100 : CALL);
    c.salt = mix(chance->state);
    while (c.at < most && owner(e, place(e, r, c.at)) != r && c.write)
        c.at++;
    if (c.at + c.n > most)
        c.n = (int)(most - c.at);
    for (int i = 0; c.write && i < c.n; i++)
        if (owner(e, place(e, r, c.at + i)) != r)
            c.n = i;
    c.gaps = c.n >= 3 && c.n % 3 == 0;
    return c;
}

static void apply(const struct epoch *e, int r, const struct call *c)
{
    for (int i = 0; c->write && i < c->n; i++) {
        MPI_Offset off = place(e, r, c->at + i);

        image[off] = byte_of(c, i);
        if (off >= length)
            length = off + 1;
    }
}

/* ---- a call through MPI ---- */

/* Bytes of memory, one after the other or 3 of every 5. */
static int memory_place(const struct call *c, int i)
{
    return c->gaps ? i / 3 * 5 + i % 3 : i;
}

static MPI_Datatype memory_type(const struct call *c)
{
    MPI_Datatype type;

    if (c->gaps)
        MPI_Type_vector(c->n / 3, 3, 5, MPI_BYTE, &type);
    else
        MPI_Type_contiguous(c->n, MPI_BYTE, &type);
    MPI_Type_commit(&type);
    return type;
}

static void make_write(const struct call *c, void *buf, MPI_Datatype type, MPI_Status *status)
{
    MPI_Request request = MPI_REQUEST_NULL;

    if (c->form % 2)
        OK(MPI_File_seek(file, c->at, MPI_SEEK_SET));
    switch (c->form) {
    case 0:
        OK(MPI_File_write_at(file, c->at, buf, 1, type, status));
        break;
    case 1:
        OK(MPI_File_write(file, buf, 1, type, status));
        break;
    case 2:
        OK(MPI_File_iwrite_at(file, c->at, buf, 1, type, &request));
        break;
    default:
        OK(MPI_File_iwrite(file, buf, 1, type, &request));
    }
    if (request != MPI_REQUEST_NULL)
        OK(MPI_Wait(&request, status));
}

static void make_read(const struct call *c, void *buf, MPI_Datatype type, MPI_Status *status)
{
    MPI_Request request = MPI_REQUEST_NULL;

    if (c->form % 2)
        OK(MPI_File_seek(file, c->at, MPI_SEEK_SET));
    switch (c->form) {
    case 0:
        OK(MPI_File_read_at(file, c->at, buf, 1, type, status));
        break;
    case 1:
        OK(MPI_File_read(file, buf, 1, type, status));
        break;
    case 2:
        OK(MPI_File_iread_at(file, c->at, buf, 1, type, &request));
        break;
    default:
        OK(MPI_File_iread(file, buf, 1, type, &request));
    }
    if (request != MPI_REQUEST_NULL)
        OK(MPI_Wait(&request, status));
}

/* The pointer is where the bytes moved end; at the end of the file ROMIO has two opinions. */
static void check_pointer(const struct call *c, int moved)
{
    MPI_Offset at;

    if (c->form % 2 && moved == c->n) {
        OK(MPI_File_get_position(file, &at));
        CHECK(at == c->at + c->n);
    }
}

/*
 * Compares what was read with the image, where nobody writes meanwhile (e is NULL: everywhere).
 * Stock counts too much at the end of the file, if there are holes.
 */
static void check_bytes(const struct epoch *e, const struct call *c, const unsigned char *buf,
                        int moved)
{
    int wrong = -1;

    for (int i = 0; i < moved && wrong < 0; i++) {
        MPI_Offset off = e != NULL ? place(e, rank, c->at + i) : c->at + i;
        int who = e != NULL ? owner(e, off) : rank;

        if (off < length && (who == rank || who == size) && buf[memory_place(c, i)] != image[off])
            wrong = i;
    }
    if (wrong >= 0)
        fprintf(stderr, "rank %d: byte %d of %d at %lld\n", rank, wrong, c->n, (long long)c->at);
    CHECK(wrong < 0);
}

/* Bytes of a read that lie before the end of the file, as far as this rank knows it. */
static int known(const struct epoch *e, const struct call *c)
{
    int n = 0;

    for (int i = 0; i < c->n; i++)
        n += (e != NULL ? place(e, rank, c->at + i) : c->at + i) < length;
    return n;
}

static void make_call(const struct epoch *e, const struct call *c)
{
    unsigned char *buf = malloc(2 * CALL);
    MPI_Datatype type = memory_type(c);
    MPI_Status status;
    int moved = -1;

    memset(buf, 0xee, 2 * CALL);
    for (int i = 0; c->write && i < c->n; i++)
        buf[memory_place(c, i)] = byte_of(c, i);
    if (c->write)
        make_write(c, buf, type, &status);
    else
        make_read(c, buf, type, &status);
    MPI_Get_elements(&status, type, &moved);
    if (c->write)
        CHECK(moved == c->n);
    else {
        CHECK(moved >= known(e, c) && moved <= c->n);
        CHECK(e != NULL || c->gaps || moved == known(e, c));
        check_bytes(e, c, buf, moved);
    }
    check_pointer(c, moved);
    MPI_Type_free(&type);
    free(buf);
}

/* ---- epochs ---- */

static void set_view(const struct epoch *e)
{
    if (e->cyclic)
        set_view_of_pieces(file, e->grain);
    else
        OK(MPI_File_set_view(file, 0, MPI_BYTE, MPI_BYTE, "native", MPI_INFO_NULL));
}

static void run_calls(const struct epoch *e, int r)
{
    struct chance chance = {mix(e->salt + 1000003u * (uint64_t)(r + 1))};

    for (int n = pick(&chance, 30); n > 0; n--) {
        struct call c = next_call(e, r, &chance);

        if (c.n <= 0)
            continue;
        if (r == rank && !c.write)
            make_call(e, &c);
        apply(e, r, &c);
        if (r == rank && c.write)
            make_call(e, &c);
    }
}

/* This rank's calls, and then what those of the others do. */
static void run_epoch(const struct epoch *e)
{
    run_calls(e, rank);
    for (int r = 0; r < size; r++)
        if (r != rank)
            run_calls(e, r);
}

static void open_file(int again)
{
    OK(MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_RDWR | (again ? 0 : MPI_MODE_CREATE),
                     MPI_INFO_NULL, &file));
}

static void sync_barrier_sync(void)
{
    OK(MPI_File_sync(file));
    MPI_Barrier(MPI_COMM_WORLD);
    OK(MPI_File_sync(file));
}

static void make_visible(void)
{
    if (immediate)
        MPI_Barrier(MPI_COMM_WORLD);
    else
        sync_barrier_sync();
}

/* Each rank writes its part of a range, all together. */
static void write_together(struct chance *chance, int nonblocking)
{
    MPI_Offset at = pick(chance, MOST / 2), end;
    int n = 1 + pick(chance, MOST / 2 / size - 1);
    struct call c = {.n = n, .at = at + (MPI_Offset)rank * n, .salt = mix(chance->state)};
    unsigned char *buf = malloc((size_t)n);
    MPI_Request request;

    for (int i = 0; i < n; i++)
        buf[i] = byte_of(&c, rank * n + i);
    for (int i = 0; i < size * n; i++)
        image[at + i] = byte_of(&c, i);
    end = at + (MPI_Offset)size * n;
    length = end > length ? end : length;
    if (nonblocking) {
        OK(MPI_File_iwrite_at_all(file, c.at, buf, n, MPI_BYTE, &request));
        OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    } else
        OK(MPI_File_write_at_all(file, c.at, buf, n, MPI_BYTE, MPI_STATUS_IGNORE));
    free(buf);
}

static void change_size(struct chance *chance)
{
    MPI_Offset size_now, wanted = pick(chance, MOST);

    sync_barrier_sync();
    OK(MPI_File_set_size(file, wanted));
    memset(image + wanted, 0, (size_t)(MOST - wanted));
    length = wanted;
    OK(MPI_File_get_size(file, &size_now));
    CHECK(size_now == length);
}

static void preallocate(struct chance *chance)
{
    MPI_Offset wanted = pick(chance, MOST);

    OK(MPI_File_preallocate(file, wanted));
    length = wanted > length ? wanted : length;
}

/* In turn, each sees at once what the one before it has written. */
static void be_atomic(struct chance *chance)
{
    MPI_Offset at = pick(chance, MOST - 1000);
    unsigned char buf[500];

    OK(MPI_File_set_atomicity(file, 1));
    for (int r = 0; r < size; r++) {
        memset(buf, 1 + r, sizeof(buf));
        memset(image + at, 1 + r, sizeof(buf));
        if (r == rank)
            OK(MPI_File_write_at(file, at, buf, sizeof(buf), MPI_BYTE, MPI_STATUS_IGNORE));
        MPI_Barrier(MPI_COMM_WORLD);
        OK(MPI_File_read_at(file, at, buf, sizeof(buf), MPI_BYTE, MPI_STATUS_IGNORE));
        CHECK(memcmp(buf, image + at, sizeof(buf)) == 0);
        MPI_Barrier(MPI_COMM_WORLD);
    }
    length = at + 500 > length ? at + 500 : length;
    OK(MPI_File_set_atomicity(file, 0));
}

static void reopen(void)
{
    OK(MPI_File_close(&file));
    open_file(1);
}

/* Something between two epochs. */
static void intervene(struct chance *chance)
{
    OK(MPI_File_set_view(file, 0, MPI_BYTE, MPI_BYTE, "native", MPI_INFO_NULL));
    switch (pick(chance, 8)) {
    case 0:
        reopen();
        break;
    case 1:
        write_together(chance, 0);
        break;
    case 2:
        make_visible();
        write_together(chance, 1);
        break;
    case 3:
        change_size(chance);
        break;
    case 4:
        preallocate(chance);
        break;
    case 5:
        be_atomic(chance);
        break;
    default:
        break;
    }
    make_visible();
}

/* All ranks read what any has written. */
static void look_everywhere(struct chance *chance)
{
    MPI_Offset size_now;

    for (int i = 0; i < 5; i++) {
        struct call c = {.form = pick(chance, 4)};

        c.at = pick(chance, MOST) * (rank + 1) % MOST;
        c.n = 1 + pick(chance, CALL);
        if (c.at + c.n > MOST)
            c.n = (int)(MOST - c.at);
        c.gaps = c.n >= 3 && c.n % 3 == 0;
        make_call(NULL, &c);
    }
    OK(MPI_File_get_size(file, &size_now));
    CHECK(size_now == length);
    MPI_Barrier(MPI_COMM_WORLD);
}

static void compare_file(void)
{
    FILE *f = fopen(path, "r");
    unsigned char *bytes = malloc(MOST + 1);
    size_t n = f != NULL ? fread(bytes, 1, MOST + 1, f) : 0;

    CHECK(n == (size_t)length);
    CHECK(n != (size_t)length || memcmp(bytes, image, n) == 0);
    if (f != NULL)
        fclose(f);
    free(bytes);
}

static int all_failures(void)
{
    int all;

    MPI_Allreduce(&failures, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    return all;
}

int main(int argc, char **argv)
{
    static const int grains[] = {1, 7, 64, 500, 3000, 4096};
    struct chance chance;

    begin(argc, argv);
    chance.state = mix((uint64_t)atoi(argv[2]));
    immediate = strcmp(argv[4], "immediate") == 0;
    open_file(0);
    for (int i = 0; i < atoi(argv[3]) && !all_failures(); i++) {
        struct epoch e = {.grain = grains[pick(&chance, 6)], .cyclic = pick(&chance, 2)};

        e.salt = mix(chance.state);
        set_view(&e);
        run_epoch(&e);
        intervene(&chance);
        look_everywhere(&chance);
    }
    OK(MPI_File_close(&file));
    if (rank == 0)
        compare_file();
    if (failures > 0)
        fprintf(stderr, "rank %d: seed %s\n", rank, argv[2]);
    return end();
}
