/*
 * An ART-like writer and reader of octrees: cells of a cosmology code that are refined where more
 * happens, so that every tree has another shape. No file view could say where its pieces go; each
 * is written with one call as it comes, and read with one.
 *
 * Usage: mpiexec -n RANKS octree FILE [SEGMENTS [SHARE]]
 *
 * As in table IV of the paper, a rank has segments of trees, in turn with the others, and how many
 * trees a segment has is a normal distribution (mu 2048, sigma 128, seed 5); here a SHARE-th part
 * of these (64), and fewer SEGMENTS (64; the paper has 1024). The file describes itself, so that
 * any number of ranks can read it:
 *
 *   file     | magic, segments, variables | first byte of each segment, trees in it | segment ... |
 *   segment  | tree | tree | ...
 *   tree     | depth | nodes of each level | level 0 | level 1 | ...        (the paper's figure 8)
 *   level    | which nodes are refined, a byte each | variable 0, a double each | variable 1 | ...
 *
 * The reader takes other segments than it has written, finds its way by what the file says, and
 * compares every value.
 */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tcio.h>

#define MU 2048
#define SIGMA 128
#define SEED 5
#define MAGIC 0x0131656572746f63 /* "cotree1" and a 1 in a little-endian file */
#define VARIABLES 2
#define MOST_LEVELS 6
#define MOST_NODES 512 /* of a level */

static int rank, ranks, segments, share;

static void must(int rc, const char *what)
{
    if (rc == MPI_SUCCESS)
        return;
    fprintf(stderr, "rank %d: %s: %s\n", rank, what, tcio_strerror(rc));
    MPI_Abort(MPI_COMM_WORLD, 1);
}

/* ---- what is in the file: the same whoever asks ---- */

static uint64_t mix(uint64_t x)
{
    x += 0x9e3779b97f4a7c15u;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

/* In (0, 1]. */
static double uniform(uint64_t x)
{
    return ((double)(mix(x) >> 11) + 1) / 9007199254740992.0;
}

static int trees_in(int segment)
{
    uint64_t x = SEED * 1000003u + 2 * (uint64_t)segment;
    double normal = sqrt(-2 * log(uniform(x))) * cos(2 * acos(-1) * uniform(x + 1));
    double trees = (MU + SIGMA * normal) / share;

    return trees < 1 ? 1 : (int)trees;
}

struct level {
    int32_t nodes;
    unsigned char refined[MOST_NODES];
    double variable[VARIABLES][MOST_NODES];
};

struct tree {
    int32_t depth;
    struct level level[MOST_LEVELS];
};

/* A refined node has eight below it. */
static void grow_level(struct tree *t, uint64_t seed)
{
    struct level *l = &t->level[t->depth];
    int below = 0;

    for (int i = 0; i < l->nodes; i++) {
        uint64_t x = mix(seed + (uint64_t)(t->depth * 4096 + i));

        l->refined[i] = t->depth + 1 < MOST_LEVELS && below + 8 <= MOST_NODES &&
                        x % 100 < (t->depth == 0 ? 80 : 14);
        below += l->refined[i] ? 8 : 0;
        for (int v = 0; v < VARIABLES; v++)
            l->variable[v][i] = uniform(x + (uint64_t)v) * (v + 1);
    }
    t->depth++;
    if (t->depth < MOST_LEVELS)
        t->level[t->depth].nodes = below;
}

static void grow_tree(int segment, int number, struct tree *t)
{
    uint64_t seed = mix(((uint64_t)segment << 32) + (uint64_t)number);

    t->depth = 0;
    t->level[0].nodes = 1;
    do {
        grow_level(t, seed);
    } while (t->depth < MOST_LEVELS && t->level[t->depth].nodes > 0);
}

static int64_t tree_bytes(const struct tree *t)
{
    int64_t n = (int64_t)sizeof(int32_t) * (1 + t->depth);

    for (int i = 0; i < t->depth; i++)
        n += t->level[i].nodes * (int64_t)(1 + VARIABLES * sizeof(double));
    return n;
}

/* ---- where it is ---- */

struct header {
    int64_t magic, segments, variables;
};

struct entry {
    int64_t first, trees;
};

/* Every rank measures its own segments; then all know where each begins. */
static struct entry *place_segments(void)
{
    struct entry *table = malloc((size_t)segments * sizeof(*table));
    int64_t *bytes = calloc((size_t)segments, sizeof(*bytes));
    int64_t at = (int64_t)(sizeof(struct header) + (size_t)segments * sizeof(*table));
    struct tree *t = malloc(sizeof(*t));

    if (table == NULL || bytes == NULL || t == NULL)
        must(MPI_ERR_NO_MEM, "tables");
    for (int s = rank; s < segments; s += ranks) {
        for (int i = 0; i < trees_in(s); i++) {
            grow_tree(s, i, t);
            bytes[s] += tree_bytes(t);
        }
    }
    MPI_Allreduce(MPI_IN_PLACE, bytes, segments, MPI_INT64_T, MPI_SUM, MPI_COMM_WORLD);
    for (int s = 0; s < segments; s++) {
        table[s] = (struct entry){.first = at, .trees = trees_in(s)};
        at += bytes[s];
    }
    free(bytes);
    free(t);
    return table;
}

/* ---- writing: one call for each small array, wherever it comes from ---- */

static void write_level(tcio_file *fh, const struct level *l)
{
    must(tcio_write(fh, l->refined, l->nodes, MPI_BYTE), "write");
    for (int v = 0; v < VARIABLES; v++)
        must(tcio_write(fh, l->variable[v], l->nodes, MPI_DOUBLE), "write");
}

static void write_tree(tcio_file *fh, const struct tree *t)
{
    must(tcio_write(fh, &t->depth, 1, MPI_INT32_T), "write");
    for (int i = 0; i < t->depth; i++)
        must(tcio_write(fh, &t->level[i].nodes, 1, MPI_INT32_T), "write");
    for (int i = 0; i < t->depth; i++)
        write_level(fh, &t->level[i]);
}

static void write_file(const char *name, const struct entry *table)
{
    struct header header = {MAGIC, segments, VARIABLES};
    struct tree *t = malloc(sizeof(*t));
    tcio_file *fh;

    if (t == NULL)
        must(MPI_ERR_NO_MEM, "tree");
    must(tcio_open(MPI_COMM_WORLD, name, MPI_MODE_CREATE | MPI_MODE_WRONLY, MPI_INFO_NULL, &fh),
         "open");
    if (rank == 0) {
        must(tcio_write(fh, &header, sizeof(header), MPI_BYTE), "write");
        must(tcio_write(fh, table, segments * (MPI_Count)sizeof(*table), MPI_BYTE), "write");
    }
    for (int s = rank; s < segments; s += ranks) {
        must(tcio_seek(fh, table[s].first, SEEK_SET), "seek");
        for (int i = 0; i < table[s].trees; i++) {
            grow_tree(s, i, t);
            write_tree(fh, t);
        }
    }
    must(tcio_close(fh), "close");
    free(t);
}

/* ---- reading: the shape first, then all of a tree at once ---- */

static void read_level(tcio_file *fh, struct level *l)
{
    must(tcio_read(fh, l->refined, l->nodes, MPI_BYTE), "read");
    for (int v = 0; v < VARIABLES; v++)
        must(tcio_read(fh, l->variable[v], l->nodes, MPI_DOUBLE), "read");
}

/* 0: what the file says makes no sense. */
static int read_tree(tcio_file *fh, struct tree *t)
{
    must(tcio_read(fh, &t->depth, 1, MPI_INT32_T), "read");
    must(tcio_fetch(fh), "fetch");
    if (t->depth < 1 || t->depth > MOST_LEVELS)
        return 0;
    for (int i = 0; i < t->depth; i++)
        must(tcio_read(fh, &t->level[i].nodes, 1, MPI_INT32_T), "read");
    must(tcio_fetch(fh), "fetch");
    for (int i = 0; i < t->depth; i++) {
        if (t->level[i].nodes < 1 || t->level[i].nodes > MOST_NODES)
            return 0;
        read_level(fh, &t->level[i]);
    }
    must(tcio_fetch(fh), "fetch");
    return 1;
}

static int same_level(const struct level *a, const struct level *b)
{
    size_t n = (size_t)a->nodes;

    if (a->nodes != b->nodes || memcmp(a->refined, b->refined, n) != 0)
        return 0;
    for (int v = 0; v < VARIABLES; v++)
        if (memcmp(a->variable[v], b->variable[v], n * sizeof(double)) != 0)
            return 0;
    return 1;
}

static int same_tree(const struct tree *a, const struct tree *b)
{
    if (a->depth != b->depth)
        return 0;
    for (int i = 0; i < a->depth; i++)
        if (!same_level(&a->level[i], &b->level[i]))
            return 0;
    return 1;
}

/* Trees of a segment that are not as they were written. */
static int check_segment(tcio_file *fh, int segment, const struct entry *e, struct tree *both)
{
    int wrong = e->trees != trees_in(segment);

    must(tcio_seek(fh, e->first, SEEK_SET), "seek");
    for (int i = 0; i < trees_in(segment) && wrong == 0; i++) {
        grow_tree(segment, i, &both[0]);
        wrong += !read_tree(fh, &both[1]) || !same_tree(&both[0], &both[1]);
    }
    return wrong;
}

static int read_file(const char *name)
{
    struct header header = {0};
    struct entry *table;
    struct tree *both = malloc(2 * sizeof(*both));
    tcio_file *fh;
    int wrong = 0;

    must(tcio_open(MPI_COMM_WORLD, name, MPI_MODE_RDONLY, MPI_INFO_NULL, &fh), "open");
    must(tcio_read(fh, &header, sizeof(header), MPI_BYTE), "read");
    must(tcio_fetch(fh), "fetch");
    if (header.magic != MAGIC || header.segments != segments || header.variables != VARIABLES)
        must(MPI_ERR_IO, "header");
    table = malloc((size_t)header.segments * sizeof(*table));
    if (table == NULL || both == NULL)
        must(MPI_ERR_NO_MEM, "tables");
    must(tcio_read(fh, table, header.segments * (MPI_Count)sizeof(*table), MPI_BYTE), "read");
    must(tcio_fetch(fh), "fetch");
    for (int s = ranks - 1 - rank; s < segments; s += ranks)
        wrong += check_segment(fh, s, &table[s], both);
    must(tcio_close(fh), "close");
    free(table);
    free(both);
    return wrong;
}

int main(int argc, char **argv)
{
    struct entry *table;
    double times[3];
    int wrong, all_wrong;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    segments = argc > 2 ? atoi(argv[2]) : 64;
    share = argc > 3 ? atoi(argv[3]) : 64;
    if (argc < 2 || segments < 1 || share < 1) {
        fprintf(stderr, "usage: octree FILE [SEGMENTS [SHARE]]\n");
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    if (rank == 0)
        remove(argv[1]);
    table = place_segments();
    times[0] = MPI_Wtime();
    write_file(argv[1], table);
    times[1] = MPI_Wtime();
    wrong = read_file(argv[1]);
    times[2] = MPI_Wtime();
    MPI_Allreduce(&wrong, &all_wrong, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (rank == 0)
        printf("%d ranks, %d segments: write %.4f s, read %.4f s, %d segments wrong\n", ranks,
               segments, times[1] - times[0], times[2] - times[1], all_wrong);
    free(table);
    MPI_Finalize();
    return all_wrong != 0;
}
