/* Access patterns of real applications, at a size that fits a small machine. */
#include "patterns.h"

#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "workloads.h"

const struct pattern pattern_list[] = {
    {.name = "irregular", .help = "64 MB in 3.2 million pieces of 8 to 32 bytes (E3SM F-like)"},
    {.name = "lattice", .help = "4-D blocks of 8^4 sites of 24 bytes per rank"},
    {.name = "halo", .help = "the same, from memory with a halo of one site"},
    {.name = "btio", .help = "3-D blocks of 5 doubles per cell, 64^3 cells (BTIO-like)"},
    {.name = "s3d", .help = "3-D blocks of doubles, 128 x 128 x 128 (S3D-like)"},
    {.name = "coll_perf", .help = "3-D blocks of ints, 512 x 256 x 256 (ROMIO's coll_perf)"},
    {.name = "contiguous", .help = "one block per rank, 64 MB in all, but at least 1 MB each"},
    {.name = "NAME/N", .help = "workload NAME of `bench/schedule --list`, bytes divided by N"},
    {.name = NULL},
};

#define IRREGULAR_PIECES 3200000
#define IRREGULAR_SEED 0x9e3779b97f4a7c15u
#define WORKLOAD_SEED 1 /* the first draw of bench/schedule */

/* Piece i of all: its length and its owner, from its number alone. */
static uint64_t mix(uint64_t i)
{
    uint64_t z = (i + 1) * IRREGULAR_SEED;

    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    return z ^ (z >> 27);
}

static int piece_length(uint64_t i)
{
    return 8 * (int)(1 + mix(i) % 4);
}

static int piece_owner(uint64_t i, int ranks)
{
    return (int)((mix(i) >> 16) % (uint64_t)ranks);
}

static void contiguous_memory(struct pattern *p)
{
    MPI_Type_contiguous((int)p->bytes, MPI_BYTE, &p->memory);
    p->room = p->bytes;
}

static int make_irregular(int rank, int ranks, struct pattern *p)
{
    int *length = malloc(IRREGULAR_PIECES * sizeof(int));
    MPI_Aint *place = malloc(IRREGULAR_PIECES * sizeof(MPI_Aint));
    MPI_Aint at = 0;

    if (length == NULL || place == NULL)
        return -1;
    for (uint64_t i = 0; i < IRREGULAR_PIECES; i++) {
        int n = piece_length(i);

        if (piece_owner(i, ranks) == rank) {
            length[p->pieces] = n;
            place[p->pieces++] = at;
            p->bytes += n;
        }
        at += n;
    }
    MPI_Type_create_hindexed((int)p->pieces, length, place, MPI_BYTE, &p->view);
    contiguous_memory(p);
    free(place);
    free(length);
    return 0;
}

/* A block of an n-dimensional array whose elements have `size` bytes, one block for each rank. */
struct blocks {
    int dims;
    int local[5], global[5], start[5];
};

static void place_blocks(int rank, int ranks, struct blocks *b)
{
    int grid[5] = {0}, at[5];

    MPI_Dims_create(ranks, b->dims, grid);
    for (int d = b->dims - 1; d >= 0; d--) {
        at[d] = rank % grid[d];
        rank /= grid[d];
    }
    for (int d = 0; d < b->dims; d++) {
        if (b->global[d] == 0) { /* so many for each rank */
            b->global[d] = b->local[d] * grid[d];
            b->start[d] = b->local[d] * at[d];
        } else { /* divided */
            b->start[d] = (int)((long long)b->global[d] * at[d] / grid[d]);
            b->local[d] = (int)((long long)b->global[d] * (at[d] + 1) / grid[d]) - b->start[d];
        }
    }
}

static void make_blocks(int rank, int ranks, struct blocks *b, int size, int halo,
                        struct pattern *p)
{
    int around[5], inner[5];
    long long with_halo = size;

    place_blocks(rank, ranks, b);
    p->bytes = size;
    p->pieces = 1;
    for (int d = 0; d < b->dims; d++) {
        p->bytes *= b->local[d];
        p->pieces *= d < b->dims - 1 ? b->local[d] : 1;
        around[d] = b->local[d] + 2 * halo;
        inner[d] = halo;
        with_halo *= around[d];
    }
    /* the last dimension is in bytes */
    b->local[b->dims - 1] *= size;
    b->global[b->dims - 1] *= size;
    b->start[b->dims - 1] *= size;
    around[b->dims - 1] *= size;
    inner[b->dims - 1] *= size;
    MPI_Type_create_subarray(b->dims, b->global, b->local, b->start, MPI_ORDER_C, MPI_BYTE,
                             &p->view);
    if (halo > 0) {
        MPI_Type_create_subarray(b->dims, around, b->local, inner, MPI_ORDER_C, MPI_BYTE,
                                 &p->memory);
        p->room = with_halo;
    } else {
        contiguous_memory(p);
    }
}

static void make_contiguous(int rank, int ranks, struct pattern *p)
{
    int length = ranks < 64 ? (64 << 20) / ranks : 1 << 20;
    MPI_Aint at = (MPI_Aint)rank * length;

    p->bytes = length;
    p->pieces = 1;
    MPI_Type_create_hindexed(1, &length, &at, MPI_BYTE, &p->view);
    contiguous_memory(p);
}

/* Both ends of a piece are divided, so that it stays in the same stripes. */
static void take_piece(const struct workload_piece *w, int64_t divisor, int *length,
                       MPI_Aint *place, struct pattern *p)
{
    int64_t begin = w->off / divisor, end = (w->off + w->len) / divisor;

    if (begin == end)
        return;
    length[p->pieces] = (int)(end - begin);
    place[p->pieces++] = (MPI_Aint)begin;
    p->bytes += end - begin;
}

/* NAME/DIVISOR; only for as many ranks as the workload is made for. */
static int make_workload(const char *name, int rank, int ranks, struct pattern *p)
{
    const char *slash = strchr(name, '/');
    int64_t divisor = slash != NULL ? atoll(slash + 1) : 0;
    char *bare = strndup(name, slash != NULL ? (size_t)(slash - name) : 0);
    struct workload w;
    int rc = bare != NULL && divisor > 0 ? workload_find(bare, &w) : -1;

    free(bare);
    if (rc != 0 || w.ranks != ranks)
        return -1;
    workload_fill(&w, WORKLOAD_SEED);
    int *length = malloc(w.n * sizeof(int));
    MPI_Aint *place = malloc(w.n * sizeof(MPI_Aint));
    for (size_t i = 0; length != NULL && place != NULL && i < w.n; i++)
        if (w.p[i].rank == rank)
            take_piece(&w.p[i], divisor, length, place, p);
    if (length == NULL || place == NULL || p->bytes > INT_MAX)
        return -1;
    MPI_Type_create_hindexed((int)p->pieces, length, place, MPI_BYTE, &p->view);
    contiguous_memory(p);
    free(place);
    free(length);
    free(w.p);
    return 0;
}

int pattern_create(const char *name, int rank, int ranks, struct pattern *p)
{
    struct blocks lattice = {.dims = 4, .local = {8, 8, 8, 8}};
    struct blocks btio = {.dims = 3, .global = {64, 64, 64}};
    struct blocks s3d = {.dims = 3, .global = {128, 128, 128}};
    struct blocks coll_perf = {.dims = 3, .global = {512, 256, 256}};
    int rc = 0;

    *p = (struct pattern){.name = name};
    if (strcmp(name, "irregular") == 0)
        rc = make_irregular(rank, ranks, p);
    else if (strcmp(name, "lattice") == 0)
        make_blocks(rank, ranks, &lattice, 24, 0, p);
    else if (strcmp(name, "halo") == 0)
        make_blocks(rank, ranks, &lattice, 24, 1, p);
    else if (strcmp(name, "btio") == 0)
        make_blocks(rank, ranks, &btio, 40, 0, p);
    else if (strcmp(name, "s3d") == 0)
        make_blocks(rank, ranks, &s3d, 8, 0, p);
    else if (strcmp(name, "coll_perf") == 0)
        make_blocks(rank, ranks, &coll_perf, 4, 0, p);
    else if (strcmp(name, "contiguous") == 0)
        make_contiguous(rank, ranks, p);
    else
        rc = make_workload(name, rank, ranks, p);
    if (rc != 0)
        return rc;
    MPI_Type_commit(&p->view);
    MPI_Type_commit(&p->memory);
    return 0;
}

void pattern_destroy(struct pattern *p)
{
    MPI_Type_free(&p->view);
    MPI_Type_free(&p->memory);
}

static char byte_at(int rank, long long i)
{
    return (char)(mix((uint64_t)i / 8 + ((uint64_t)rank << 40)) >> (8 * (i % 8)));
}

static void packed(const struct pattern *p, int rank, char *stream)
{
    for (long long i = 0; i < p->bytes; i++)
        stream[i] = byte_at(rank, i);
}

void pattern_fill(const struct pattern *p, int rank, char *buf)
{
    char *stream = malloc((size_t)p->bytes + 1);
    int at = 0;

    if (stream == NULL)
        MPI_Abort(MPI_COMM_WORLD, 1);
    packed(p, rank, stream);
    memset(buf, 0, (size_t)p->room);
    MPI_Unpack(stream, (int)p->bytes, &at, buf, 1, p->memory, MPI_COMM_SELF);
    free(stream);
}

long long pattern_wrong(const struct pattern *p, int rank, const char *buf)
{
    char *stream = malloc((size_t)p->bytes + 1);
    long long wrong = 0;
    int at = 0;

    if (stream == NULL)
        MPI_Abort(MPI_COMM_WORLD, 1);
    MPI_Pack(buf, 1, p->memory, stream, (int)p->bytes, &at, MPI_COMM_SELF);
    for (long long i = 0; i < p->bytes; i++)
        wrong += stream[i] != byte_at(rank, i);
    free(stream);
    return wrong;
}
