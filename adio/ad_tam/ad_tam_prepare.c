/* ad_tam: what collective calls on a file share: node map, groups and aggregators, store. */

#include "ad_tam.h"
#include "adio_cb_config_list.h"
#include "plan/choose.h"
#include "port/log.h"

/* Rank 0 has the processor names from the open; everybody gets the numbers of their nodes. */
static int map_nodes(ADIO_File fd, int *node_of)
{
    ADIO_cb_name_array names;
    int rank, size, rc = 0;

    MPI_Comm_rank(fd->comm, &rank);
    MPI_Comm_size(fd->comm, &size);
    ADIOI_cb_gather_name_array(fd->comm, fd->comm, &names);
    if (rank == 0)
        rc = cio_nodes_from_names((const char *const *) names->names, size, node_of);
    if (rc != 0)
        node_of[0] = -1;
    MPI_Bcast(node_of, size, MPI_INT, 0, fd->comm);
    return node_of[0] == -1 ? -ENOMEM : 0;
}

static int make_nodes(ADIO_File fd)
{
    ADIOI_TAM_File *layer = ADIOI_TAM_File_of(fd);
    int *node_of, size, rc;

    MPI_Comm_size(fd->comm, &size);
    node_of = ADIOI_Malloc(size * sizeof(int));
    rc = map_nodes(fd, node_of);
    if (rc == 0)
        rc = cio_nodes_create(node_of, size, &layer->nodes);
    ADIOI_Free(node_of);
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

void ADIOI_TAM_Segment_free(struct cio_segment *segment)
{
    if (segment->mem.base != NULL)
        cio_nodemem_posix.ops->detach(cio_nodemem_posix.self, &segment->mem);
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
