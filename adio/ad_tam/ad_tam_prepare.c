/* ad_tam: what collective calls on a file share: node map, groups and aggregators, store. */

#include "ad_tam.h"
#include "../ad_lustre_pipe/ad_lustre_pipe.h"
#include "adio_cb_config_list.h"
#include "plan/choose.h"
#include "plan/crowd.h"
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

/* Groupings that a file keeps, the one in use included. */
#define KEPT 3

/* The part of a rank's address space that its segments may take. */
#define ROOM_PART 4

/* Rank 0 has the processor names from the open. */
static int find_nodes(ADIO_File fd, int size, int *node_of)
{
    ADIO_cb_name_array names;

    ADIOI_cb_gather_name_array(fd->comm, fd->comm, &names);
    return cio_nodes_from_names((const char *const *) names->names, size, node_of);
}

/* With the node of each rank goes whether it shares cores with others there. */
static int mark_crowded(const ADIOI_TAM_Said * said, int size, int *node_of)
{
    struct cio_bound *ranks = ADIOI_TAM_Alloc(size * (sizeof(*ranks) + 1));
    char *crowded = (char *) (ranks + size);

    if (ranks == NULL)
        return -ENOMEM;
    for (int i = 0; i < size; i++)
        ranks[i] = (struct cio_bound) {.set = said[i].set,.cores = said[i].cores,
            .node = node_of[i],.rank = i
        };
    cio_find_crowded(ranks, size, crowded);
    for (int i = 0; i < size; i++)
        node_of[i] |= crowded[i] ? ADIOI_TAM_CROWDED : 0;
    ADIOI_Free(ranks);
    return 0;
}

static void map_nodes(ADIO_File fd, int size, ADIOI_TAM_News * n)
{
    n->token = make_token();
    n->error = find_nodes(fd, size, n->node_of);
    if (n->error == 0)
        n->error = mark_crowded(ADIOI_TAM_File_of(fd)->said, size, n->node_of);
}

int ADIOI_TAM_Nodes_at_open(ADIO_File fd, struct cio_nodes **nodes)
{
    int *node_of, size, rc;

    MPI_Comm_size(fd->comm, &size);
    node_of = ADIOI_Malloc(size * sizeof(int));
    rc = find_nodes(fd, size, node_of);
    if (rc == 0)
        rc = cio_nodes_create(node_of, size, nodes);
    ADIOI_Free(node_of);
    return rc;
}

void ADIOI_TAM_News_init(ADIO_File fd)
{
    ADIOI_TAM_File *layer = ADIOI_TAM_File_of(fd);
    int rank, size;

    MPI_Comm_rank(fd->comm, &rank);
    MPI_Comm_size(fd->comm, &size);
    layer->news = ADIOI_Calloc(1, sizeof(ADIOI_TAM_News) + size * sizeof(int));
    layer->said = ADIOI_Calloc(ADIOI_TAM_Collected(rank, size), sizeof(ADIOI_TAM_Said));
}

/* Keeps what was told the first time. */
static void take_map(ADIOI_TAM_File * layer, int rank, int size)
{
    ADIOI_TAM_News *n = layer->news;

    layer->token = n->token;
    layer->crowded = (n->node_of[rank] & ADIOI_TAM_CROWDED) != 0;
    for (int i = 0; i < size; i++)
        n->node_of[i] &= ~ADIOI_TAM_CROWDED;
    layer->mapped = 1;
    if (layer->said != NULL)
        ADIOI_Free(layer->said);
    layer->said = NULL;
}

/* What rank 0 has found out. */
static void write_news(ADIO_File fd, int64_t room, int same, ADIOI_TAM_News * n)
{
    ADIOI_TAM_File *layer = ADIOI_TAM_File_of(fd);
    int size;

    MPI_Comm_size(fd->comm, &size);
    memset(n, 0, sizeof(*n));
    n->same = same;
    n->room = room;
    n->aggregators_given = layer->aggregators_given;
    ADIOI_TAM_Find_layout(fd, 1, &n->layout);
    n->block = ADIOI_TAM_Find_block(fd);
    if (!layer->mapped)
        map_nodes(fd, size, n);
}

void ADIOI_TAM_Tell(ADIO_File fd, int64_t room, int *same)
{
    ADIOI_TAM_File *layer = ADIOI_TAM_File_of(fd);
    ADIOI_TAM_News *n = layer->news;
    int first = !layer->mapped, rank, size;
    size_t length;

    MPI_Comm_rank(fd->comm, &rank);
    MPI_Comm_size(fd->comm, &size);
    length = sizeof(*n) + (first ? size * sizeof(int) : 0);
    if (rank == 0)
        write_news(fd, room, *same, n);
    ADIOI_TAM_Spread(fd, n, (int) length);
    *same = n->same;
    layer->layout = n->layout;
    layer->look_again = 0;
    layer->block = n->block;
    layer->room = n->room;
    layer->aggregators_given = n->aggregators_given;
    ADIOI_TAM_Publish_layout(fd, &layer->layout);
    if (first && n->error == 0)
        take_map(layer, rank, size);
}

void ADIOI_TAM_Note_written(ADIO_File fd, const struct cio_op *op)
{
    ADIOI_TAM_File *layer = ADIOI_TAM_File_of(fd);
    int64_t lo, hi;

    if (layer->layout.pending == 0)
        return;
    cio_op_range(op, &lo, &hi);
    layer->look_again |= cio_layout_is_pending(&layer->layout, lo, hi);
}

void ADIOI_TAM_Look_again(ADIO_File fd)
{
    ADIOI_TAM_File *layer = ADIOI_TAM_File_of(fd);
    int same = 1;

    if (layer->look_again)
        ADIOI_TAM_Tell(fd, layer->room, &same);
}

int ADIOI_TAM_Node_ranks(const struct cio_nodes *nodes)
{
    int most = 0;

    for (int i = 0; i < nodes->nnodes; i++)
        if (cio_nodes_count(nodes, i) > most)
            most = cio_nodes_count(nodes, i);
    return most;
}

/* Groups on each node; fewer where it has fewer ranks. */
static int choose_groups(const ADIOI_TAM_File * layer)
{
    int q = ADIOI_TAM_Node_ranks(layer->nodes), c = (int) layer->hints.aggrs_per_node;
    struct cio_group_spec spec = {.node_ranks = q,.nodes = layer->nodes->nnodes,
        .bytes = layer->largest
    };

    if (!ADIOI_TAM_Has_groups(layer))
        return q;
    if (c == 0)
        return cio_choose_groups(&spec);
    return c < q ? c : q;
}

/* What all ranks know of the blocking calls before this one. */
static void note_volume(ADIOI_TAM_File * layer)
{
    if (layer->grouping != NULL && layer->grouping->segment.largest > layer->largest)
        layer->largest = layer->grouping->segment.largest;
}

static int make_team(ADIO_File fd, int c, const struct cio_layout *layout, struct cio_team **team)
{
    ADIOI_TAM_File *layer = ADIOI_TAM_File_of(fd);
    int rank, n, rc;
    int *ranks;

    MPI_Comm_rank(fd->comm, &rank);
    n = ADIOI_TAM_Aggregators(fd, layer->nodes, layout, &ranks);
    if (n <= 0)
        return n < 0 ? n : -EINVAL;
    rc = cio_team_create(layer->nodes, rank, c, ranks, n, team);
    ADIOI_Free(ranks);
    return rc;
}

/* How aggregators access the file, the most that can be had first. */
static const char *const access_names[] = { "", "uring", "thread", "blocking" };

static int access_of(const struct cio_store *store)
{
    int i = 0;

    while (store != NULL && i < 3 && strcmp(access_names[i], cio_store_name(store)) != 0)
        i++;
    return i;
}

/* A number for a segment that all groups of a file know by the same name. */
static int64_t number_of(const struct cio_segment *segment)
{
    uint64_t h = 14695981039346656037u;

    for (const char *p = segment->key; *p != '\0'; p++)
        h = (h ^ (unsigned char) *p) * 1099511628211u;
    return (int64_t) (h >> 2) + 1;
}

/* Joins the group's shared memory, and that of others on the node: 0, or it cannot be had. */
static int join(ADIO_File fd, ADIOI_TAM_Grouping * g, const char *key)
{
    ADIOI_TAM_File *layer = ADIOI_TAM_File_of(fd);

    memset(&g->segment, 0, sizeof(g->segment));
    memcpy(g->segment.key, key, sizeof(g->segment.key));
    g->segment.with_near = 1;
    if (layer->hints.transport == CIO_TRANSPORT_P2P ||
        cio_segment_join(&g->segment, cio_nodemem_posix, g->team, g->memory_limit) != 0) {
        ADIOI_TAM_Pool_clear(); /* there may be room the next time */
        return 1;
    }
    cio_segment_join_near(&g->segment, cio_nodemem_posix, g->team, g->memory_limit);
    return 0;
}

/* The largest of each of n numbers of any rank. */
static void greatest(ADIO_File fd, const int64_t * mine, int64_t * all, int n)
{
    for (int i = 0; i < n; i++)
        all[i] = -mine[i];
    ADIOI_TAM_Least(fd, all, n);
    for (int i = 0; i < n; i++)
        all[i] = -all[i];
}

/*
 * Shared memory: what an earlier file has left, if all ranks have the same of it, or else new. Finds
 * out whether everybody has joined, and what stores there are; and before that, whether any rank has
 * failed (rc) to make its grouping: then all have.
 */
static int share(ADIO_File fd, ADIOI_TAM_Grouping * g, int rc)
{
    ADIOI_TAM_File *layer = ADIOI_TAM_File_of(fd);
    enum { REFUSED, ACCESS, NUMBER, MINUS_NUMBER, FAILED, WORDS };
    int64_t mine[WORDS] = { 0 }, all[WORDS];
    struct cio_segment named;
    int kept = rc == 0 && layer->hints.transport != CIO_TRANSPORT_P2P &&
        ADIOI_TAM_Pool_take(fd, g, &g->segment);

    ADIOI_TAM_Segment_name(layer, &named);
    mine[FAILED] = -rc;
    if (rc == 0) {
        mine[REFUSED] = kept ? 0 : join(fd, g, named.key);
        mine[ACCESS] = access_of(g->store);
        mine[NUMBER] = kept ? number_of(&g->segment) : 0;
    }
    mine[MINUS_NUMBER] = -mine[NUMBER];
    greatest(fd, mine, all, WORDS);
    if (all[FAILED] != 0) {
        if (g != NULL)
            ADIOI_TAM_Segment_free(&g->segment);
        return -(int) all[FAILED];
    }
    g->access = access_names[all[ACCESS]];
    g->segment.shared = !all[REFUSED];
    if (all[NUMBER] == -all[MINUS_NUMBER])
        return 0;
    if (kept) {
        ADIOI_TAM_Segment_free(&g->segment);
        mine[REFUSED] = join(fd, g, named.key);
    }
    greatest(fd, mine, all, 1);
    g->segment.shared = !all[REFUSED];
    return 0;
}

ADIOI_TAM_Grouping *ADIOI_TAM_Grouping_use(ADIOI_TAM_Grouping * g)
{
    __atomic_add_fetch(&g->users, 1, __ATOMIC_RELAXED);
    return g;
}

void ADIOI_TAM_Grouping_drop(ADIOI_TAM_Grouping * g)
{
    if (__atomic_sub_fetch(&g->users, 1, __ATOMIC_ACQ_REL) > 0)
        return;
    cio_store_destroy(g->store);
    cio_team_destroy(g->team);
    ADIOI_Free(g);
}

/* The file keeps it no longer. No blocking call is under way: its segment is free. */
static void let_go(ADIO_File fd, ADIOI_TAM_Grouping * g)
{
    ADIOI_TAM_Pool_put(fd, g, &g->segment);
    ADIOI_TAM_Grouping_drop(g);
}

/* Groups for the hints and the layout as they are now, as far as this rank can make them by itself. */
static int make_grouping(ADIO_File fd, ADIOI_TAM_Grouping ** out)
{
    ADIOI_TAM_File *layer = ADIOI_TAM_File_of(fd);
    ADIOI_TAM_Grouping *g;
    int size, rc = 0;

    MPI_Comm_size(fd->comm, &size);
    if (layer->nodes == NULL)
        rc = cio_nodes_create(layer->news->node_of, size, &layer->nodes);
    if (rc != 0)
        return rc;
    rc = ADIOI_TAM_Reserve_fill(fd);
    g = rc == 0 ? ADIOI_TAM_Alloc(sizeof(*g)) : NULL;
    if (g == NULL)
        return -ENOMEM;
    g->users = 1;
    g->layout = layer->layout;
    g->digest = cio_hints_digest(&layer->hints);
    g->per_node = choose_groups(layer);
    *out = g;
    rc = make_team(fd, g->per_node, &g->layout, &g->team);
    if (rc == 0)
        g->memory_limit = cio_segment_limit(g->team, layer->hints.memory_limit,
                                            layer->room / ROOM_PART);
    if (rc == 0 && g->team->my_aggr >= 0)
        rc = ADIOI_TAM_Store_create(fd, &g->store);
    return rc;
}

/* The link to the grouping for the hints and the layout as they are now, or to the end of the list. */
static ADIOI_TAM_Grouping **find_grouping(ADIOI_TAM_File * layer)
{
    uint64_t digest = cio_hints_digest(&layer->hints);
    ADIOI_TAM_Grouping **link = &layer->grouping;

    while (*link != NULL && ((*link)->digest != digest || (*link)->per_node != choose_groups(layer)
                             || !cio_layout_is_same(&(*link)->layout, &layer->layout)))
        link = &(*link)->older;
    return link;
}

/* Puts it in front. All ranks keep the same ones, so that they find the same. */
static void put_first(ADIO_File fd, ADIOI_TAM_Grouping * g)
{
    ADIOI_TAM_Grouping **link = &ADIOI_TAM_File_of(fd)->grouping, *last;

    g->older = *link;
    *link = g;
    for (int i = 0; i < KEPT && *link != NULL; i++)
        link = &(*link)->older;
    last = *link;
    *link = NULL;
    if (last != NULL)
        let_go(fd, last);
    ADIOI_TAM_Publish_plan(fd, &g->layout, g->team->aggr, g->team->naggr);
}

/* Collective if there are none of that kind: then all ranks get theirs, or the same error. */
static int choose_grouping(ADIO_File fd)
{
    ADIOI_TAM_File *layer = ADIOI_TAM_File_of(fd);
    ADIOI_TAM_Grouping **link, *g = NULL;
    int rc;

    note_volume(layer);
    link = find_grouping(layer);
    if (*link != NULL && link == &layer->grouping)
        return 0;
    if (*link != NULL) {
        g = *link;
        *link = g->older;
    } else {
        rc = make_grouping(fd, &g);
        rc = share(fd, g, rc);
        if (rc != 0) {
            if (g != NULL)
                ADIOI_TAM_Grouping_drop(g);
            return rc;
        }
    }
    put_first(fd, g);
    return 0;
}

int ADIOI_TAM_Prepare(ADIO_File fd)
{
    ADIOI_TAM_File *layer = ADIOI_TAM_File_of(fd);
    int rank, size, rc;

    MPI_Comm_size(fd->comm, &size);
    if (size == 1 || !ADIOI_TAM_Is_wanted(layer))
        return 0;
    rc = layer->mapped ? choose_grouping(fd) : layer->news->error;
    MPI_Comm_rank(fd->comm, &rank);
    if (rc == 0)
        ADIOI_TAM_Show(fd, NULL);
    else if (rank == 0)
        cio_log(CIO_LOG_NOTICE, "file %s: cannot prepare for collective calls: %s", fd->filename,
                strerror(-rc));
    return rc;
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

    ADIOI_TAM_Complete(fd);
    ADIOI_TAM_Report_kept(fd);
    while (layer->grouping != NULL) {
        ADIOI_TAM_Grouping *g = layer->grouping;

        layer->grouping = g->older;
        let_go(fd, g);
    }
    ADIOI_TAM_Pool_trim();
    ADIOI_TAM_Reserve_free(fd);
    cio_nodes_destroy(layer->nodes);
    if (fd->file_system == ADIO_LUSTRE_PIPE)
        ADIOI_LUSTRE_PIPE_Forget(fd);
}
