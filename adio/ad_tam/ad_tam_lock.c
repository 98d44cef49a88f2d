/*
 * ad_tam: a group lock for the time of a blocking collective write of the engine
 * (romio_lustre_group_lock).
 *
 * Who shares a group lock does not see what others of the group write, and reads and writes whole
 * pages: of two that write parts of one page, the bytes of one are lost. So it is taken where every
 * page has one writer, which is where aggregators' domains end at pages; and never for a call that
 * goes to the driver below, whose ranks may write next to each other, or read, modify and write back
 * what another one writes.
 *
 * Whoever accesses the file without the lock waits until it is given back. So nobody takes it before
 * all ranks are in the call: one may be in an access of its own until then, and would never come. Nor
 * is it taken while a rank has a nonblocking call under way on the file, which must progress
 * meanwhile, nor for such a call. And either all aggregators have it or none: one without would wait
 * in its write for the others, who would wait for it in the call.
 */

#include "ad_tam.h"
#include "../ad_lustre_pipe/ad_lustre_pipe.h"
#include "port/log.h"

/* A multiple of every machine's pages, and what Lustre's stripes are multiples of. */
#define PAGES 65536

/* The number of a group lock: the same on all ranks, and hardly another file's. */
static int lock_number(const ADIOI_TAM_File * layer)
{
    return (int) (layer->token & 0x3fffffff) + 1;
}

static int is_wanted(ADIO_File fd)
{
    ADIOI_TAM_File *layer = ADIOI_TAM_File_of(fd);

    return layer->hints.group_lock && !layer->unlocked && fd->file_system == ADIO_LUSTRE_PIPE;
}

/* What ends of domains are multiples of is the same as in choose_settings(). */
static int shares_pages(ADIO_File fd)
{
    ADIOI_TAM_File *layer = ADIOI_TAM_File_of(fd);
    const struct cio_layout *layout = &layer->grouping->layout;
    enum cio_domain_kind kind = ADIOI_TAM_Domain(fd, layout);
    int64_t grain = kind == CIO_DOMAIN_ALIGNED ? layer->block : 0;

    if (kind == CIO_DOMAIN_EVEN)
        return 1;
    if (layout->n > 0)
        return !cio_layout_is_multiple(layout, PAGES);
    return (grain > 0 ? grain : ADIOI_TAM_Unit(fd)) % PAGES != 0;
}

/* Once for each file. */
static void say(ADIO_File fd, const char *why)
{
    cio_log(CIO_LOG_NOTICE, "file %s: it is written without a group lock: %s", fd->filename, why);
}

/* Whether all ranks are content; the first that is not says why. */
static int all_are(ADIO_File fd, int mine, const char *why)
{
    int64_t first;
    int rank, size;

    MPI_Comm_rank(fd->comm, &rank);
    MPI_Comm_size(fd->comm, &size);
    first = mine ? size : rank;
    ADIOI_TAM_Least(fd, &first, 1);
    if (first == rank)
        say(fd, why);
    return first == size;
}

/* Whether all ranks have come here with nothing else under way on the file. */
static int all_are_free(ADIO_File fd)
{
    int64_t all = !ADIOI_TAM_Is_outstanding(fd);

    ADIOI_TAM_Least(fd, &all, 1);
    return all != 0;
}

static int take(ADIO_File fd, int writes)
{
    ADIOI_TAM_File *layer = ADIOI_TAM_File_of(fd);
    char why[ADIOI_LUSTRE_PIPE_REASON] = "";
    int mine;

    if (!all_are_free(fd))
        return 0;
    mine = writes && ADIOI_LUSTRE_PIPE_Group_lock(fd, lock_number(layer), why) == 0;
    if (all_are(fd, mine || !writes, why))
        return mine;
    ADIOI_TAM_Unlock_group(fd, mine);
    layer->unlocked = 1;
    return 0;
}

int ADIOI_TAM_Lock_group(ADIO_File fd)
{
    ADIOI_TAM_File *layer = ADIOI_TAM_File_of(fd);
    const struct cio_team *team;

    if (!is_wanted(fd))
        return 0;
    team = layer->grouping->team;
    if (!shares_pages(fd))
        return take(fd, team->my_aggr >= 0);
    if (team->rank == 0)
        say(fd, "aggregators may write parts of the same page");
    layer->unlocked = 1;
    return 0;
}

void ADIOI_TAM_Unlock_group(ADIO_File fd, int locked)
{
    if (locked)
        ADIOI_LUSTRE_PIPE_Group_unlock(fd, lock_number(ADIOI_TAM_File_of(fd)));
}
