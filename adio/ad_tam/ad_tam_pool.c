/*
 * ad_tam: shared memory of closed files, kept for the next file of the same ranks.
 *
 * To make the segments of all groups, and to map their pages in every rank, takes as long as a good
 * part of a short collective call, and programs write file after file. So a closed file leaves its
 * segment here, and the next one whose communicator has the same processes, and whose groups and
 * aggregators are the same, goes on with it as if it were the same file.
 *
 * All ranks of a file open and close it, so their pools have the same segments. That is not relied
 * on: whoever takes one must find out whether all others took the same. So each rank gives back by
 * itself what is not used for a while, everything when the node is short of shared memory, and in
 * MPI_Finalize. What the pools of a node may hold is divided among its ranks.
 *
 * Where address space is limited, nothing is kept.
 *
 * The list is not kept with a file, since it is what is left of files.
 */

#include "ad_tam.h"

#include <time.h>
#include <unistd.h>

#define KEPT 4

/* Seconds without use. */
#define IDLE 5

/* Bytes on a node, but no more than this part of /dev/shm; and what is too little left of it. */
#define LARGEST ((int64_t) 64 << 20)
#define PART 100
#define SHORT_PART 10

typedef struct entry {
    struct entry *older;
    uint64_t shape;             /* of the groups */
    int nranks;
    int *world;                 /* the ranks in MPI_COMM_WORLD */
    int64_t share;              /* this rank's, of its bytes */
    time_t since;               /* when it was put here */
    struct cio_segment segment;
} entry;

static entry *newest;
static int node_ranks;          /* the most of any file on this node */
static int hooked;              /* into MPI_Finalize */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static uint64_t mix(uint64_t h, uint64_t v)
{
    h ^= v + 0x9e3779b97f4a7c15u + (h << 6) + (h >> 2);
    return h * 0xff51afd7ed558ccdu;
}

/* What the layout of a segment, and who has joined it, depends on besides the processes. */
static uint64_t shape_of(const ADIOI_TAM_Grouping * g)
{
    const struct cio_team *team = g->team;
    uint64_t h = mix((uint64_t) g->per_node, (uint64_t) team->naggr);

    h = mix(h, (uint64_t) g->memory_limit);
    for (int i = 0; i < team->naggr; i++)
        h = mix(h, (uint64_t) team->aggr[i]);
    for (int i = 0; i < team->nodes->nranks; i++)
        h = mix(h, (uint64_t) team->nodes->node[i]);
    return h;
}

/* Who the ranks of a file are; NULL if some are not of MPI_COMM_WORLD, or there is no memory. */
static int *world_ranks(ADIO_File fd, int n)
{
    int *ranks = ADIOI_TAM_Alloc(2 * n * sizeof(int));
    MPI_Group mine, world;

    if (ranks == NULL)
        return NULL;
    for (int i = 0; i < n; i++)
        ranks[n + i] = i;
    MPI_Comm_group(fd->comm, &mine);
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    MPI_Group_translate_ranks(mine, n, ranks + n, world, ranks);
    MPI_Group_free(&world);
    MPI_Group_free(&mine);
    for (int i = 0; i < n; i++)
        if (ranks[i] == MPI_UNDEFINED) {
            ADIOI_Free(ranks);
            return NULL;
        }
    return ranks;
}

static void discard(entry * e)
{
    ADIOI_TAM_Segment_free(&e->segment);
    ADIOI_Free(e->world);
    ADIOI_Free(e);
}

static int fits(const entry * e, uint64_t shape, const int *world, int n)
{
    return e->shape == shape && e->nranks == n && memcmp(e->world, world, n * sizeof(int)) == 0;
}

static entry *take(uint64_t shape, const int *world, int n)
{
    entry **link = &newest, *e;

    pthread_mutex_lock(&lock);
    while (*link != NULL && !fits(*link, shape, world, n))
        link = &(*link)->older;
    e = *link;
    if (e != NULL)
        *link = e->older;
    pthread_mutex_unlock(&lock);
    return e;
}

int ADIOI_TAM_Pool_take(ADIO_File fd, const ADIOI_TAM_Grouping * g, struct cio_segment *segment)
{
    int n = g->team->nodes->nranks;
    int *world = newest != NULL ? world_ranks(fd, n) : NULL;
    entry *e;

    if (world == NULL)
        return 0;
    e = take(shape_of(g), world, n);
    ADIOI_Free(world);
    if (e == NULL)
        return 0;
    *segment = e->segment;
    memset(&e->segment, 0, sizeof(e->segment));
    discard(e);
    return 1;
}

static time_t now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec;
}

static int is_short(void)
{
    int64_t size, left;

    cio_nodemem_posix_room(&size, &left);
    return left < size / SHORT_PART;
}

/*
 * What this rank may hold. A file of a part of the ranks does not know how many the node has; most
 * likely no more than cores, unless more have been seen.
 */
static int64_t allowance(void)
{
    int64_t size, left, ranks = sysconf(_SC_NPROCESSORS_ONLN);
    int world;

    MPI_Comm_size(MPI_COMM_WORLD, &world);
    cio_nodemem_posix_room(&size, &left);
    ranks = world < ranks ? world : ranks;
    ranks = node_ranks > ranks ? node_ranks : ranks;
    return (size / PART < LARGEST ? size / PART : LARGEST) / ranks;
}

/* Takes out, of those put here before that time, all but the newest few that are within limits. */
static entry *cut(time_t before, int most, int64_t bytes)
{
    entry **link = &newest, *out = NULL;

    while (*link != NULL) {
        entry *e = *link;

        if (e->since >= before && most > 0 && e->share <= bytes) {
            most--;
            bytes -= e->share;
            link = &e->older;
            continue;
        }
        *link = e->older;
        e->older = out;
        out = e;
    }
    return out;
}

static void limit(time_t before, int most, int64_t bytes)
{
    entry *e, *next;

    pthread_mutex_lock(&lock);
    e = cut(before, most, bytes);
    pthread_mutex_unlock(&lock);
    for (; e != NULL; e = next) {
        next = e->older;
        discard(e);
    }
}

void ADIOI_TAM_Pool_clear(void)
{
    limit(0, 0, 0);
}

void ADIOI_TAM_Pool_trim(void)
{
    if (newest == NULL)
        return;
    if (is_short())
        ADIOI_TAM_Pool_clear();
    else
        limit(now() - IDLE, KEPT, INT64_MAX);
}

static int at_finalize(MPI_Comm comm, int keyval, void *attribute, void *extra)
{
    (void) comm;
    (void) keyval;
    (void) attribute;
    (void) extra;
    ADIOI_TAM_Pool_clear();
    return MPI_SUCCESS;
}

/* MPI_Finalize begins with the attributes of MPI_COMM_SELF. */
static void hook(void)
{
    int keyval;

    if (hooked)
        return;
    hooked = 1;
    MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, at_finalize, &keyval, NULL);
    MPI_Comm_set_attr(MPI_COMM_SELF, keyval, NULL);
    MPI_Comm_free_keyval(&keyval);
}

static entry *make_entry(ADIO_File fd, const ADIOI_TAM_Grouping * g)
{
    int n = g->team->nodes->nranks;
    entry *e = ADIOI_TAM_Alloc(sizeof(*e));

    if (e == NULL)
        return NULL;
    e->world = world_ranks(fd, n);
    if (e->world == NULL) {
        ADIOI_Free(e);
        return NULL;
    }
    e->shape = shape_of(g);
    e->nranks = n;
    e->since = now();
    return e;
}

static int is_worth_keeping(const struct cio_segment *segment)
{
    return segment->shared && !segment->refused && cio_address_room() == INT64_MAX && !is_short() &&
        cio_segment_share(segment) <= allowance();
}

void ADIOI_TAM_Pool_put(ADIO_File fd, const ADIOI_TAM_Grouping * g, struct cio_segment *segment)
{
    const struct cio_nodes *nodes = g->team->nodes;
    int mine = cio_nodes_count(nodes, nodes->node[g->team->rank]);
    entry *e;

    node_ranks = mine > node_ranks ? mine : node_ranks;
    e = is_worth_keeping(segment) ? make_entry(fd, g) : NULL;
    if (e == NULL) {
        ADIOI_TAM_Segment_free(segment);
        return;
    }
    e->share = cio_segment_share(segment);
    e->segment = *segment;
    memset(segment, 0, sizeof(*segment));
    hook();
    pthread_mutex_lock(&lock);
    e->older = newest;
    newest = e;
    pthread_mutex_unlock(&lock);
    limit(now() - IDLE, KEPT, allowance());
}
