/*
 * ad_tam: shared memory of closed files, kept for the next file of the same ranks.
 *
 * To make the segments of all groups, and to map their pages in every rank, takes as long as a good
 * part of a short collective call, and programs write file after file. So a closed file leaves its
 * segment here, and the next one whose communicator has the same processes, and whose groups and
 * aggregators are the same, goes on with it as if it were the same file.
 *
 * All ranks of a file open and close it, so their pools have the same segments. That is not relied
 * on: whoever takes one must find out whether all others took the same. The list is not kept with a
 * file, since it is what is left of files; it holds a few segments at most, and none that had to
 * grow beyond a limit.
 */

#include "ad_tam.h"

#define KEPT 4
#define LARGEST_PER_RANK ((int64_t) 8 << 20)

typedef struct entry {
    struct entry *older;
    uint64_t shape;             /* of the groups */
    int nranks;
    int *world;                 /* the ranks in MPI_COMM_WORLD */
    struct cio_segment segment;
} entry;

static entry *newest;

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

/* Who the ranks of a file are; NULL if some are not of MPI_COMM_WORLD. */
static int *world_ranks(ADIO_File fd, int n)
{
    int *ranks = ADIOI_Malloc(2 * n * sizeof(int));
    MPI_Group mine, world;

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

int ADIOI_TAM_Pool_take(ADIO_File fd, const ADIOI_TAM_Grouping * g, struct cio_segment *segment)
{
    uint64_t shape = shape_of(g);
    int n = g->team->nodes->nranks;
    int *world = newest != NULL ? world_ranks(fd, n) : NULL;
    entry **link = &newest, *e;

    if (world == NULL)
        return 0;
    while (*link != NULL && !fits(*link, shape, world, n))
        link = &(*link)->older;
    ADIOI_Free(world);
    e = *link;
    if (e == NULL)
        return 0;
    *link = e->older;
    *segment = e->segment;
    memset(&e->segment, 0, sizeof(e->segment));
    discard(e);
    return 1;
}

/* The oldest go first. */
static void limit(void)
{
    entry **link = &newest;

    for (int i = 0; i < KEPT && *link != NULL; i++)
        link = &(*link)->older;
    while (*link != NULL) {
        entry *e = *link;

        *link = e->older;
        discard(e);
    }
}

void ADIOI_TAM_Pool_put(ADIO_File fd, const ADIOI_TAM_Grouping * g, struct cio_segment *segment)
{
    int n = g->team->nodes->nranks;
    int keep = segment->shared && !segment->refused && segment->largest / n <= LARGEST_PER_RANK;
    int *world = keep ? world_ranks(fd, n) : NULL;
    entry *e;

    if (world == NULL) {
        ADIOI_TAM_Segment_free(segment);
        return;
    }
    e = ADIOI_Malloc(sizeof(*e));
    *e = (entry) {.older = newest,.shape = shape_of(g),.nranks = n,.world = world,
        .segment = *segment
    };
    memset(segment, 0, sizeof(*segment));
    newest = e;
    limit();
}
