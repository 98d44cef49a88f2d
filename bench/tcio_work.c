/* The workloads of bench/tcio. */
#include "tcio_work.h"

#include <stdlib.h>
#include <string.h>

#include "twister.h"

enum { VARIABLES = 2, MEAN = 2048, SIGMA = 128, SEED = 5 };

struct work_kind {
    const char *name;
    const char *(*prepare)(struct work *w);
    int (*walk)(const struct work *w, work_visit visit, void *arg);
    void (*finish)(const struct work *w, char *memory); /* after the memory was filled, or NULL */
};

/* ---- synthetic ------------------------------------------------------------------------------ */

static int64_t size_of(char letter)
{
    switch (letter) {
    case 'c':
        return sizeof(char);
    case 's':
        return sizeof(short);
    case 'i':
        return sizeof(int);
    case 'f':
        return sizeof(float);
    case 'd':
        return sizeof(double);
    }
    return 0;
}

static MPI_Datatype type_of(char letter)
{
    switch (letter) {
    case 'c':
        return MPI_CHAR;
    case 's':
        return MPI_SHORT;
    case 'i':
        return MPI_INT;
    case 'f':
        return MPI_FLOAT;
    }
    return MPI_DOUBLE;
}

static const char *prepare_synthetic(struct work *w)
{
    const struct work_sizes *s = &w->sizes;
    int64_t element = 0, arrays = (int64_t)strlen(s->types);

    for (const char *t = s->types; *t != '\0'; t++) {
        if (size_of(*t) == 0)
            return "types of arrays are letters of c,s,i,f,d";
        element += size_of(*t);
    }
    if (arrays == 0 || s->length <= 0 || s->access <= 0 || s->length % s->access != 0)
        return "arrays need types, a length, and an access size that divides it";
    w->block = element * s->access;
    w->room = element * s->length;
    w->pieces = arrays * (s->length / s->access);
    w->bytes = w->room;
    w->file_bytes = w->bytes * w->ranks;
    return NULL;
}

/* Program 3. `turn` counts blocks: for an access size of 1 the paper's i. */
static int walk_synthetic(const struct work *w, work_visit visit, void *arg)
{
    const struct work_sizes *s = &w->sizes;
    int64_t size[WORK_ARRAYS], base[WORK_ARRAYS], turns = s->length / s->access, at = 0;
    MPI_Datatype type[WORK_ARRAYS];
    int arrays = (int)strlen(s->types);

    for (int j = 0; j < arrays; j++) {
        size[j] = size_of(s->types[j]) * s->access;
        type[j] = type_of(s->types[j]);
        base[j] = at;
        at += size[j] * turns;
    }
    for (int64_t turn = 0; turn < turns; turn++) {
        int64_t pos = (turn * w->ranks + w->rank) * w->block;

        for (int j = 0; j < arrays; j++) {
            struct work_piece p = {pos, base[j] + turn * size[j], size[j], (int)s->access, type[j]};
            int rc = visit(arg, &p);

            if (rc != 0)
                return rc;
            pos += size[j];
        }
    }
    return 0;
}

/* ---- art ------------------------------------------------------------------------------------ */

/*
 * A tree in the file:     depth  variables  cells of each level  values  refined?  values  refined?
 * ... and in memory:          values of all cells   refined? of all cells   depth, variables,
 * levels   fill
 */
struct tree {
    int64_t off, at; /* in the file, in memory */
    int depth;
};

enum { VALUES = VARIABLES * sizeof(double), FLAG = sizeof(int) };

static uint64_t mixed(uint64_t x)
{
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9;
    x = (x ^ x >> 27) * 0x94d049bb133111eb;
    return x ^ x >> 31;
}

/* Five to seven levels; figure 8 has six. */
static int depth_of(int64_t segment, int64_t tree)
{
    return 5 + (int)(mixed((uint64_t)segment << 32 | (uint64_t)tree) % 3);
}

static int64_t cells_of(int depth)
{
    return ((int64_t)1 << depth) - 1;
}

static int64_t tree_bytes(int depth)
{
    return (2 + depth) * (int64_t)sizeof(int) + cells_of(depth) * (VALUES + FLAG);
}

static int64_t tree_room(int depth)
{
    return (tree_bytes(depth) + 7) / 8 * 8;
}

static int64_t header_at(const struct tree *t)
{
    return t->at + cells_of(t->depth) * (VALUES + FLAG);
}

static void count_segment(struct work *w, int64_t segment)
{
    for (int64_t i = 0; i < w->trees[segment]; i++) {
        int depth = depth_of(segment, i);

        w->file_bytes += tree_bytes(depth);
        if (segment % w->ranks == w->rank) {
            w->room += tree_room(depth);
            w->bytes += tree_bytes(depth);
            w->pieces += 3 + 2 * cells_of(depth);
        }
    }
}

static const char *prepare_art(struct work *w)
{
    const struct work_sizes *s = &w->sizes;
    struct twister t;

    if (s->segments <= 0 || s->share <= 0)
        return "a number of segments and a share are needed";
    w->trees = calloc((size_t)s->segments * 2, sizeof(*w->trees));
    if (w->trees == NULL)
        return "no memory";
    w->starts = w->trees + s->segments;
    twister_seed(&t, SEED);
    for (int64_t i = 0; i < s->segments; i++) {
        w->trees[i] = (int64_t)twister_gauss(&t, MEAN, SIGMA) / s->share;
        w->starts[i] = w->file_bytes;
        count_segment(w, i);
    }
    return NULL;
}

static int walk_header(struct tree *t, work_visit visit, void *arg)
{
    int64_t at = header_at(t);
    int count[] = {1, 1, t->depth}, rc = 0;

    for (int i = 0; i < 3 && rc == 0; i++) {
        struct work_piece p = {t->off, at, count[i] * (int64_t)sizeof(int), count[i], MPI_INT};

        rc = visit(arg, &p);
        t->off += p.bytes;
        at += p.bytes;
    }
    return rc;
}

static int walk_tree(struct tree *t, work_visit visit, void *arg)
{
    int64_t cells = cells_of(t->depth), flags = t->at + cells * VALUES;
    int rc = walk_header(t, visit, arg);

    for (int64_t cell = 0; cell < cells && rc == 0; cell++) {
        struct work_piece v = {t->off, t->at + cell * VALUES, VALUES, VARIABLES, MPI_DOUBLE};
        struct work_piece f = {t->off + VALUES, flags + cell * FLAG, FLAG, 1, MPI_INT};

        rc = visit(arg, &v);
        if (rc == 0)
            rc = visit(arg, &f);
        t->off += VALUES + FLAG;
    }
    return rc;
}

static int walk_art(const struct work *w, work_visit visit, void *arg)
{
    struct tree t = {0};
    int rc = 0;

    for (int64_t s = w->rank; s < w->sizes.segments && rc == 0; s += w->ranks) {
        t.off = w->starts[s];
        for (int64_t i = 0; i < w->trees[s] && rc == 0; i++) {
            t.depth = depth_of(s, i);
            rc = walk_tree(&t, visit, arg);
            t.at += tree_room(t.depth);
        }
    }
    return rc;
}

static void put_header(const struct tree *t, char *memory)
{
    int header[2 + 64] = {t->depth, VARIABLES};

    for (int level = 0; level < t->depth; level++)
        header[2 + level] = 1 << level;
    memcpy(memory + header_at(t), header, (size_t)(2 + t->depth) * sizeof(int));
}

/* Trees describe themselves: headers are not random. */
static void finish_art(const struct work *w, char *memory)
{
    struct tree t = {0};

    for (int64_t s = w->rank; s < w->sizes.segments; s += w->ranks)
        for (int64_t i = 0; i < w->trees[s]; i++) {
            t.depth = depth_of(s, i);
            put_header(&t, memory);
            t.at += tree_room(t.depth);
        }
}

/* ---- records and blocks --------------------------------------------------------------------- */

static const char *prepare_calls(struct work *w)
{
    const struct work_sizes *s = &w->sizes;

    if (s->calls <= 0 || s->call <= 0 || s->call > INT32_MAX)
        return "a number of calls and their bytes are needed";
    w->room = s->calls * s->call;
    w->pieces = s->calls;
    w->bytes = w->room;
    w->file_bytes = w->bytes * w->ranks;
    return NULL;
}

static int walk_calls(const struct work *w, int64_t first, int64_t stride, work_visit visit,
                      void *arg)
{
    int64_t call = w->sizes.call;
    int rc = 0;

    for (int64_t k = 0; k < w->sizes.calls && rc == 0; k++) {
        struct work_piece p = {(first + k * stride) * call, k * call, call, (int)call, MPI_BYTE};

        rc = visit(arg, &p);
    }
    return rc;
}

static int walk_records(const struct work *w, work_visit visit, void *arg)
{
    return walk_calls(w, w->rank, w->ranks, visit, arg);
}

static int walk_block(const struct work *w, work_visit visit, void *arg)
{
    return walk_calls(w, w->rank * w->sizes.calls, 1, visit, arg);
}

/* ---- all ------------------------------------------------------------------------------------ */

static const struct work_kind kinds[] = {
    {"synthetic", prepare_synthetic, walk_synthetic, NULL},
    {"art", prepare_art, walk_art, finish_art},
    {"ior-hard", prepare_calls, walk_records, NULL},
    {"contiguous", prepare_calls, walk_block, NULL},
};

const char *work_create(const char *name, const struct work_sizes *sizes, int rank, int ranks,
                        struct work *w)
{
    *w = (struct work){.sizes = *sizes, .rank = rank, .ranks = ranks};
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
        if (strcmp(kinds[i].name, name) == 0)
            w->kind = &kinds[i];
    return w->kind == NULL ? "no such workload" : w->kind->prepare(w);
}

void work_destroy(struct work *w)
{
    free(w->trees);
    w->trees = NULL;
}

int work_walk(const struct work *w, work_visit visit, void *arg)
{
    return w->kind->walk(w, visit, arg);
}

void work_fill(const struct work *w, char *memory)
{
    for (int64_t at = 0; at < w->room; at += 8) {
        uint64_t word = mixed(((uint64_t)w->rank + 1) << 40 | (uint64_t)at);
        int64_t left = w->room - at;

        memcpy(memory + at, &word, (size_t)(left < 8 ? left : 8));
    }
    if (w->kind->finish != NULL)
        w->kind->finish(w, memory);
}
