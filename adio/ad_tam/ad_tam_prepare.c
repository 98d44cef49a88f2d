/* ad_tam: what collective calls on a file share: node map, groups and aggregators, store. */

#include "ad_tam.h"
#include "adio_cb_config_list.h"
#include "plan/choose.h"
#include "port/log.h"

#include <time.h>
#include <unistd.h>

/* What no other file of any job on this machine has. */
static uint64_t make_token(void)
{
    uint64_t token = 0;
    struct timespec t;

    if (getentropy(&token, sizeof(token)) == 0)
        return token;
    clock_gettime(CLOCK_REALTIME, &t);
    return ((uint64_t) getpid() << 40) ^ (uint64_t) t.tv_sec << 20 ^ (uint64_t) t.tv_nsec;
}

/* What rank 0 tells all others. */
typedef struct {
    uint64_t token;
    int error;
    int node_of[];
} node_map;

/* Rank 0 has the processor names from the open; everybody gets the numbers of their nodes. */
static void map_nodes(ADIO_File fd, int size, node_map * map)
{
    ADIO_cb_name_array names;
    int rank;

    MPI_Comm_rank(fd->comm, &rank);
    ADIOI_cb_gather_name_array(fd->comm, fd->comm, &names);
    if (rank == 0) {
        map->token = make_token();
        map->error = cio_nodes_from_names((const char *const *) names->names, size, map->node_of);
    }
    MPI_Bcast(map, (int) (sizeof(*map) + size * sizeof(int)), MPI_BYTE, 0, fd->comm);
}

static int make_nodes(ADIO_File fd)
{
    ADIOI_TAM_File *layer = ADIOI_TAM_File_of(fd);
    node_map *map;
    int size, rc;

    MPI_Comm_size(fd->comm, &size);
    map = ADIOI_Calloc(1, sizeof(*map) + size * sizeof(int));
    map_nodes(fd, size, map);
    layer->token = map->token;
    rc = map->error;
    if (rc == 0)
        rc = cio_nodes_create(map->node_of, size, &layer->nodes);
    ADIOI_Free(map);
    return rc;
}

static void give_up(ADIO_File fd, int rc)
{
    cio_log(CIO_LOG_NOTICE, "file %s: cannot prepare for collective calls: %s", fd->filename,
            strerror(-rc));
    MPI_Abort(fd->comm, 1);
}

void ADIOI_TAM_Map_nodes(ADIO_File fd)
{
    ADIOI_TAM_File *layer = ADIOI_TAM_File_of(fd);
    int size, rc;

    MPI_Comm_size(fd->comm, &size);
    if (size == 1 || layer->nodes != NULL || !ADIOI_TAM_Is_wanted(layer))
        return;
    rc = make_nodes(fd);
    if (rc != 0)
        give_up(fd, rc);
}

int ADIOI_TAM_Node_ranks(const struct cio_nodes *nodes)
{
    int most = 0;

    for (int i = 0; i < nodes->nnodes; i++)
        if (cio_nodes_count(nodes, i) > most)
            most = cio_nodes_count(nodes, i);
    return most;
}

/* With deferred open only ROMIO's own aggregators have the file open. */
static int choose_aggregators(ADIO_File fd, int *ranks)
{
    ADIOI_TAM_File *layer = ADIOI_TAM_File_of(fd);
    int n = fd->hints->cb_nodes;

    if (layer->hints.placement != CIO_PLACEMENT_ROMIO && !fd->hints->deferred_open)
        return cio_global_spread(layer->nodes, n, NULL, ranks);
    memcpy(ranks, fd->hints->ranklist, n * sizeof(int));
    return n;
}

static int make_team(ADIO_File fd, struct cio_team **team)
{
    ADIOI_TAM_File *layer = ADIOI_TAM_File_of(fd);
    int c = (int) layer->hints.aggrs_per_node, rank, n;
    int *ranks;

    if (c == 0)
        c = cio_choose_groups(ADIOI_TAM_Node_ranks(layer->nodes));
    MPI_Comm_rank(fd->comm, &rank);
    ranks = ADIOI_Malloc(fd->hints->cb_nodes * sizeof(int));
    n = choose_aggregators(fd, ranks);
    if (n > 0)
        n = cio_team_create(layer->nodes, rank, c, ranks, n, team);
    ADIOI_Free(ranks);
    return n;
}

/* Groups for the hints as they are now. */
static int make_grouping(ADIO_File fd)
{
    ADIOI_TAM_File *layer = ADIOI_TAM_File_of(fd);
    uint64_t digest = cio_hints_digest(&layer->hints);
    ADIOI_TAM_Grouping *g;
    int rc;

    if (layer->grouping != NULL && layer->grouping->digest == digest)
        return 0;
    g = ADIOI_Calloc(1, sizeof(*g));
    rc = make_team(fd, &g->team);
    if (rc != 0) {
        ADIOI_Free(g);
        return rc;
    }
    ADIOI_TAM_Segment_name(layer, &g->segment);
    g->digest = digest;
    g->older = layer->grouping;
    layer->grouping = g;
    return 0;
}

void ADIOI_TAM_Prepare(ADIO_File fd)
{
    ADIOI_TAM_File *layer = ADIOI_TAM_File_of(fd);
    int rc = make_grouping(fd);

    if (rc == 0 && layer->grouping->team->my_aggr >= 0 && layer->store == NULL)
        rc = ADIOI_TAM_Store_create(fd, &layer->store);
    if (rc != 0)
        give_up(fd, rc);
}

void ADIOI_TAM_Segment_name(ADIOI_TAM_File * layer, struct cio_segment *segment)
{
    snprintf(segment->key, sizeof(segment->key), "%016llx-%x", (unsigned long long) layer->token,
             layer->segments++);
}

void ADIOI_TAM_Segment_free(struct cio_segment *segment)
{
    cio_segment_leave(segment, cio_nodemem_posix);
    memset(segment, 0, sizeof(*segment));
}

void ADIOI_TAM_Release(ADIO_File fd)
{
    ADIOI_TAM_File *layer = ADIOI_TAM_File_of(fd);

    while (layer->grouping != NULL) {
        ADIOI_TAM_Grouping *g = layer->grouping;

        layer->grouping = g->older;
        ADIOI_TAM_Segment_free(&g->segment);
        cio_team_destroy(g->team);
        ADIOI_Free(g);
    }
    cio_store_destroy(layer->store);
    cio_nodes_destroy(layer->nodes);
}
