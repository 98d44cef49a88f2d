/* ad_tam: hints in, hints out. The table and its parser are the engine's, in plan/hints.c. */

#include "ad_tam.h"
#include "port/cores.h"
#include "port/log.h"

/* How requests travel inside nodes. */
static const char by_memory[] = "shm", by_messages[] = "p2p", by_nothing[] = "none";

/* A bad value is reported once for each file, by rank 0, and ignored. */
static void report(ADIO_File fd, unsigned int row, const char *why)
{
    ADIOI_TAM_File *layer = ADIOI_TAM_File_of(fd);
    int rank;

    MPI_Comm_rank(fd->comm, &rank);
    if (rank == 0 && !(layer->warned & (1u << row)))
        cio_log(CIO_LOG_NOTICE, "file %s: %s", fd->filename, why);
    layer->warned |= 1u << row;
}

static void take_hints(ADIO_File fd, MPI_Info info)
{
    ADIOI_TAM_File *layer = ADIOI_TAM_File_of(fd);
    char value[MPI_MAX_INFO_VAL + 1], why[CIO_HINT_VALUE_MAX];
    size_t rows;
    const struct cio_hint *table = cio_hint_table(&rows);

    for (unsigned int i = 0; i < rows; i++) {
        int found = 0;

        ADIOI_Info_get(info, (char *) table[i].name, MPI_MAX_INFO_VAL, value, &found);
        if (found && cio_hint_parse(&table[i], value, &layer->hints, why) != 0)
            report(fd, i, why);
    }
}

static void publish(ADIO_File fd)
{
    ADIOI_TAM_File *layer = ADIOI_TAM_File_of(fd);
    char room[CIO_HINT_NUMBER_MAX];
    size_t rows;
    const struct cio_hint *table = cio_hint_table(&rows);

    for (size_t i = 0; i < rows; i++) {
        const char *value = cio_hint_text(&table[i], &layer->hints, room);

        if (value != NULL)
            ADIOI_Info_set(fd->info, (char *) table[i].name, (char *) value);
    }
}

const char *ADIOI_TAM_Mode_word(const ADIOI_TAM_File * layer)
{
    char room[CIO_HINT_NUMBER_MAX];
    size_t rows, i = 0;
    const struct cio_hint *table = cio_hint_table(&rows);

    while (i < rows - 1 && table[i].field != offsetof(struct cio_hints, tam))
        i++;
    return cio_hint_text(&table[i], &layer->hints, room);
}

/* ---- what was chosen: keys that ROMIO does not know as hints, and passes over ---- */

static void show_number(ADIO_File fd, const char *key, int64_t n, int64_t * shown)
{
    char text[CIO_HINT_NUMBER_MAX];

    if (n == *shown)
        return;
    snprintf(text, sizeof(text), "%lld", (long long) n);
    ADIOI_Info_set(fd->info, (char *) key, text);
    *shown = n;
}

static void show_word(ADIO_File fd, const char *key, const char *word, const char **shown)
{
    if (word == *shown)
        return;
    ADIOI_Info_set(fd->info, (char *) key, (char *) word);
    *shown = word;
}

/* Shared memory was asked for by name and is not used: rank 0 says so, once. */
static void complain(ADIO_File fd, ADIOI_TAM_Grouping * g)
{
    if (!g->complained && g->team->rank == 0)
        cio_log(CIO_LOG_NOTICE, "file %s: hint romio_tam_transport: shared memory cannot be had"
                " on every node, messages are used instead", fd->filename);
    g->complained = 1;
}

static void show_grouping(ADIO_File fd)
{
    ADIOI_TAM_File *layer = ADIOI_TAM_File_of(fd);
    ADIOI_TAM_Grouping *g = layer->grouping;
    const char *word = g->segment.shared ? by_memory : by_messages;

    if (g->team->nleaders == layer->nodes->nranks)
        word = by_nothing;
    show_number(fd, "tamio_groups_per_node", g->per_node, &layer->shown.per_node);
    show_number(fd, "tamio_round", ADIOI_TAM_Unit(fd), &layer->shown.unit);
    show_word(fd, "tamio_transport", word, &layer->shown.transport);
    show_word(fd, "tamio_pipeline_io", g->access, &layer->shown.io);
    if (word == by_messages && layer->hints.transport == CIO_TRANSPORT_SHM)
        complain(fd, g);
}

static void show_schedule(ADIO_File fd, const struct cio_stats *stats)
{
    ADIOI_TAM_Choice *shown = &ADIOI_TAM_File_of(fd)->shown;
    const char *word = cio_schedule_name(stats->schedule);
    char text[MPI_MAX_INFO_VAL];

    if (stats->schedule_why == NULL ||
        (word == shown->schedule && stats->schedule_why == shown->schedule_why))
        return;
    snprintf(text, sizeof(text), "%s: %s", word, stats->schedule_why);
    ADIOI_Info_set(fd->info, (char *) "tamio_schedule", text);
    shown->schedule = word;
    shown->schedule_why = stats->schedule_why;
}

static void show_call(ADIO_File fd, const struct cio_stats *stats)
{
    ADIOI_TAM_Choice *shown = &ADIOI_TAM_File_of(fd)->shown;
    char text[MPI_MAX_INFO_VAL];

    if (!stats->declined)
        show_number(fd, "tamio_pipeline_depth", stats->count[CIO_COUNT_DEPTH], &shown->depth);
    show_schedule(fd, stats);
    if (stats->why == shown->why && stats->declined == shown->declined)
        return;
    snprintf(text, sizeof(text), "%s: %s",
             stats->declined ? "left to the driver below" : "served", stats->why);
    ADIOI_Info_set(fd->info, (char *) "tamio_last_call", text);
    shown->why = stats->why;
    shown->declined = stats->declined;
}

static ADIOI_TAM_Way way_of(const struct cio_stats *stats)
{
    if (!stats->declined)
        return ADIOI_TAM_SERVED;
    return stats->alone ? ADIOI_TAM_ALONE : ADIOI_TAM_BELOW;
}

void ADIOI_TAM_Show(ADIO_File fd, const struct cio_stats *stats)
{
    if (ADIOI_TAM_File_of(fd)->grouping != NULL)
        show_grouping(fd);
    if (stats == NULL || stats->why == NULL)
        return;
    show_call(fd, stats);
    ADIOI_TAM_Publish_way(fd, way_of(stats));
}

static void join_said(ADIOI_TAM_Said * least, const ADIOI_TAM_Said * other)
{
    if (other->digest < least->digest)
        least->digest = other->digest;
    if (other->minus_digest < least->minus_digest)
        least->minus_digest = other->minus_digest;
    if (other->room < least->room)
        least->room = other->room;
}

static void join_pair(void *into, const void *from, int bytes)
{
    (void) bytes;
    join_said(into, from);
}

/* The least of what all ranks say, on rank 0; the first time it keeps what each has said. */
static ADIOI_TAM_Said ask(ADIO_File fd)
{
    ADIOI_TAM_File *layer = ADIOI_TAM_File_of(fd);
    int64_t digest = (int64_t) (cio_hints_digest(&layer->hints) >> 1);
    ADIOI_TAM_Said least = {.digest = digest,.minus_digest = -digest,.room = cio_address_room() };
    int rank, size;

    if (layer->mapped) {
        ADIOI_TAM_Gather(fd, &least, sizeof(least), join_pair);
        return least;
    }
    layer->said[0] = least;
    layer->said[0].cores = cio_cores(&layer->said[0].set);
    ADIOI_TAM_Collect(fd, layer->said, sizeof(least));
    MPI_Comm_rank(fd->comm, &rank);
    MPI_Comm_size(fd->comm, &size);
    for (int i = 1; rank == 0 && i < size; i++)
        join_said(&least, &layer->said[i]);
    return least;
}

/* Rank 0 learns whether all ranks have the same hints, and tells them. */
int ADIOI_TAM_Agree(ADIO_File fd)
{
    ADIOI_TAM_File *layer = ADIOI_TAM_File_of(fd);
    ADIOI_TAM_Said least = ask(fd);
    int same = least.digest == -least.minus_digest, rank;

    MPI_Comm_rank(fd->comm, &rank);
    ADIOI_TAM_Tell(fd, least.room, &same);
    layer->agreed = layer->mapped;
    if (same)
        return 1;
    if (rank == 0)
        cio_log(CIO_LOG_NOTICE, "file %s: hints differ between ranks: those of rank 0 are used",
                fd->filename);
    ADIOI_TAM_Spread(fd, &layer->hints, sizeof(layer->hints));
    publish(fd);
    return 0;
}

void ADIOI_TAM_SetInfo(ADIO_File fd, MPI_Info users_info, int *error_code)
{
    static char myname[] = "ADIOI_TAM_SETINFO";
    ADIOI_TAM_File *layer = ADIOI_TAM_File_of(fd);
    int opening = !fd->hints->initialized;
    uint64_t before = opening ? 0 : cio_hints_digest(&layer->hints);
    int rc;

    ADIOI_TAM_Complete(fd);
    ADIOI_TAM_Report_kept(fd);
    (*layer->below->ADIOI_xxx_SetInfo) (fd, users_info, error_code);
    if (users_info != MPI_INFO_NULL)
        take_hints(fd, users_info);
    if (opening || cio_hints_digest(&layer->hints) != before)
        publish(fd);
    if (opening && users_info != MPI_INFO_NULL)
        ADIOI_TAM_Take_striping(fd, users_info);
    if (opening)
        return;
    if (!ADIOI_TAM_Agree(fd) && *error_code == MPI_SUCCESS)
        MPIO_ERR_CREATE_CODE_INFO_NOT_SAME(myname, "romio_tam, cb_* or tcio_*", error_code);
    rc = ADIOI_TAM_Prepare(fd);
    if (*error_code == MPI_SUCCESS)
        *error_code = ADIOI_TAM_Error_code(fd, rc);
    rc = ADIOI_TAM_Tcio_take_hints(fd);
    if (*error_code == MPI_SUCCESS)
        *error_code = ADIOI_TAM_Error_code(fd, rc);
}
