/*
 * ad_tam: how the file is striped, as rank 0 knows it: from the driver below, where that is
 * ad_lustre_pipe, or else from hints. All ranks get it with the news that rank 0 sends when hints
 * are agreed on, and MPI_File_get_info tells what follows from it. Before that, rank 0 tells what
 * it knows of it (ROMIO_PRINT_HINTS, which prints when a file is opened).
 */

#include "ad_tam.h"
#include "../ad_lustre_pipe/ad_lustre_pipe.h"
#include "plan/choose.h"
#include "port/log.h"

#include <sys/stat.h>

static void report(ADIO_File fd, const char *name, const char *value)
{
    int rank;

    MPI_Comm_rank(fd->comm, &rank);
    if (rank == 0)
        cio_log(CIO_LOG_NOTICE, "file %s: hint %s: value \"%.64s\" ignored, expected a number",
                fd->filename, name, value);
}

/*
 * A hint that most drivers do not take themselves. To ROMIO a negative number is no number, and no
 * reason to say anything.
 */
static void take_number(ADIO_File fd, MPI_Info info, const char *name, const char *as, int *field)
{
    char value[MPI_MAX_INFO_VAL + 1], *end;
    int found = 0;
    long number;

    ADIOI_Info_get(info, (char *) name, MPI_MAX_INFO_VAL, value, &found);
    if (!found)
        return;
    number = strtol(value, &end, 10);
    if (end == value || *end != '\0' || number > CIO_LAYOUT_COUNT_MAX) {
        report(fd, name, value);
        return;
    }
    if (number < -1)
        return;
    *field = (int) number;
    ADIOI_Info_set(fd->info, (char *) as, value);
}

static int has_key(MPI_Info info, const char *name)
{
    char value[MPI_MAX_INFO_VAL + 1];
    int found = 0;

    ADIOI_Info_get(info, (char *) name, MPI_MAX_INFO_VAL, value, &found);
    return found;
}

/* ROMIO keeps cb_nodes only as far as its list allows, which is one for each node by default. */
static int given_aggregators(MPI_Info users_info)
{
    char value[MPI_MAX_INFO_VAL + 1];
    int found = 0;

    if (has_key(users_info, "cb_config_list"))
        return -1;
    ADIOI_Info_get(users_info, "cb_nodes", MPI_MAX_INFO_VAL, value, &found);
    return found && atoi(value) > 0 ? atoi(value) : 0;
}

void ADIOI_TAM_Take_striping(ADIO_File fd, MPI_Info users_info)
{
    ADIOI_TAM_File *layer = ADIOI_TAM_File_of(fd);

    layer->aggregators_given = given_aggregators(users_info);
    if (!has_key(fd->info, "striping_factor"))
        take_number(fd, users_info, "striping_factor", "striping_factor",
                    &fd->hints->striping_factor);
    take_number(fd, users_info, "romio_lustre_start_iodevice", "start_iodevice",
                &fd->hints->start_iodevice);
    take_number(fd, users_info, "start_iodevice", "start_iodevice", &fd->hints->start_iodevice);
}

void ADIOI_TAM_Find_layout(ADIO_File fd, int again, struct cio_layout *layout)
{
    const struct cio_layout *known = NULL;
    struct cio_hinted_stripes hints = {
        .stripe = fd->hints->striping_unit,
        .targets = fd->hints->striping_factor,
        .over = ADIOI_TAM_File_of(fd)->hints.overstriping
    };

    if (fd->file_system == ADIO_LUSTRE_PIPE)
        known = ADIOI_LUSTRE_PIPE_Layout(fd, again);
    if (known != NULL)
        *layout = *known;
    else
        cio_layout_from_hints(&hints, layout);
}

int64_t ADIOI_TAM_Find_block(ADIO_File fd)
{
    struct stat st;

    if (stat(fd->filename, &st) != 0 || st.st_blksize <= 0)
        return 0;
    return st.st_blksize;
}

static void publish_number(ADIO_File fd, const char *name, int64_t value)
{
    char text[32];

    snprintf(text, sizeof(text), "%lld", (long long) value);
    ADIOI_Info_set(fd->info, (char *) name, text);
}

void ADIOI_TAM_Publish_layout(ADIO_File fd, const struct cio_layout *layout)
{
    const struct cio_component *last = cio_layout_last(layout);
    char text[MPI_MAX_INFO_VAL];

    ADIOI_Info_set(fd->info, "tamio_layout_source", (char *) cio_layout_source_text(layout));
    if (last == NULL) {
        if (has_key(fd->info, "tamio_layout"))
            MPI_Info_delete(fd->info, "tamio_layout");
        return;
    }
    cio_layout_text(layout, text, sizeof(text));
    ADIOI_Info_set(fd->info, "tamio_layout", text);
    publish_number(fd, "striping_unit", last->stripe);
    if (last->targets > 0)
        publish_number(fd, "striping_factor", last->targets);
}

enum cio_domain_kind ADIOI_TAM_Domain(ADIO_File fd, const struct cio_layout *layout)
{
    switch (ADIOI_TAM_File_of(fd)->hints.domain) {
        case CIO_DOMAIN_HINT_EVEN:
            return CIO_DOMAIN_EVEN;
        case CIO_DOMAIN_HINT_ALIGNED:
            return CIO_DOMAIN_ALIGNED;
        case CIO_DOMAIN_HINT_CYCLIC:
            return CIO_DOMAIN_CYCLIC;
        case CIO_DOMAIN_HINT_GROUP_CYCLIC:
            return CIO_DOMAIN_GROUP_CYCLIC;
        default:
            return layout->n > 0 ? CIO_DOMAIN_CYCLIC : CIO_DOMAIN_ALIGNED;
    }
}

static void publish_division(ADIO_File fd, const char *domain, const char *aggregators)
{
    ADIOI_Info_set(fd->info, "tamio_domain", (char *) domain);
    ADIOI_Info_set(fd->info, "tamio_aggregators", (char *) aggregators);
}

static void publish_served(ADIO_File fd, const struct cio_layout *layout, const int *ranks, int n)
{
    static const char *const domains[] = {
        [CIO_DOMAIN_EVEN] = "even",
        [CIO_DOMAIN_ALIGNED] = "aligned",
        [CIO_DOMAIN_CYCLIC] = "cyclic",
        [CIO_DOMAIN_GROUP_CYCLIC] = "group-cyclic"
    };
    char text[MPI_MAX_INFO_VAL];

    cio_ranks_text(ranks, n, text, sizeof(text));
    publish_division(fd, domains[ADIOI_TAM_Domain(fd, layout)], text);
}

/* ROMIO's aggregators, unless it finds that ranks need not be helped: then each is on its own. */
static void publish_romios(ADIO_File fd)
{
    char text[MPI_MAX_INFO_VAL];

    cio_ranks_text(fd->hints->ranklist, fd->hints->cb_nodes, text, sizeof(text));
    publish_division(fd, "romio", text);
}

void ADIOI_TAM_Publish_way(ADIO_File fd, ADIOI_TAM_Way way)
{
    ADIOI_TAM_File *layer = ADIOI_TAM_File_of(fd);
    const ADIOI_TAM_Grouping *g = layer->grouping;

    if (way == layer->shown.way)
        return;
    if (way == ADIOI_TAM_ALONE)
        publish_division(fd, "none", "none");
    else if (way == ADIOI_TAM_BELOW)
        publish_romios(fd);
    else
        publish_served(fd, &g->layout, g->team->aggr, g->team->naggr);
    layer->shown.way = way;
}

void ADIOI_TAM_Publish_plan(ADIO_File fd, const struct cio_layout *layout, const int *ranks, int n)
{
    if (ADIOI_TAM_Refuse_by_hints(fd, 1) && ADIOI_TAM_Refuse_by_hints(fd, 0)) {
        ADIOI_TAM_Publish_way(fd, fd->hints->cb_write == ADIOI_HINT_DISABLE &&
                              fd->hints->cb_read == ADIOI_HINT_DISABLE ? ADIOI_TAM_ALONE :
                              ADIOI_TAM_BELOW);
        return;
    }
    publish_served(fd, layout, ranks, n);
    ADIOI_TAM_File_of(fd)->shown.way = ADIOI_TAM_SERVED;
}

static int choose_number(ADIO_File fd, int limit, const struct cio_layout *layout)
{
    int usual = fd->hints->cb_nodes, given = ADIOI_TAM_File_of(fd)->aggregators_given;

    if (given < 0 || cio_layout_targets(layout) == 0)
        return usual;
    if (given > 0)
        return given < limit ? given : limit;
    return cio_choose_aggregators(layout, usual, limit);
}

/* With deferred open only ROMIO's own aggregators have the file open. */
static int are_romios(ADIO_File fd)
{
    return ADIOI_TAM_File_of(fd)->hints.placement == CIO_PLACEMENT_ROMIO ||
        fd->hints->deferred_open;
}

int ADIOI_TAM_Aggregators(ADIO_File fd, const struct cio_nodes *nodes,
                          const struct cio_layout *layout, int **ranks)
{
    int n = are_romios(fd) ? fd->hints->cb_nodes : choose_number(fd, nodes->nranks, layout);

    *ranks = ADIOI_TAM_Alloc(n * sizeof(int));
    if (*ranks == NULL)
        return -ENOMEM;
    if (are_romios(fd))
        memcpy(*ranks, fd->hints->ranklist, n * sizeof(int));
    else
        n = cio_global_spread(nodes, n, NULL, *ranks);
    if (n <= 0)
        ADIOI_Free(*ranks);
    return n;
}

/* What all ranks will come to, as far as rank 0 can tell without asking them. */
static void foresee(ADIO_File fd)
{
    struct cio_layout layout;
    struct cio_nodes *nodes;
    int *ranks, n;

    ADIOI_TAM_Find_layout(fd, 0, &layout);
    if (layout.n > 0)
        ADIOI_TAM_Publish_layout(fd, &layout);
    if (getenv("ROMIO_PRINT_HINTS") == NULL || ADIOI_TAM_Nodes_at_open(fd, &nodes) != 0)
        return;
    n = ADIOI_TAM_Aggregators(fd, nodes, &layout, &ranks);
    if (n > 0) {
        ADIOI_TAM_Publish_plan(fd, &layout, ranks, n);
        ADIOI_Free(ranks);
    }
    cio_nodes_destroy(nodes);
}

void ADIOI_TAM_OpenColl(ADIO_File fd, int rank, int access_mode, int *error_code)
{
    (*ADIOI_TAM_File_of(fd)->below->ADIOI_xxx_OpenColl) (fd, rank, access_mode, error_code);
    if (*error_code == MPI_SUCCESS && rank == 0)
        foresee(fd);
    ADIOI_TAM_Tcio_at_open(fd, *error_code);
}
