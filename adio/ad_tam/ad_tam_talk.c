/*
 * ad_tam: what the ranks of a file tell each other outside of the engine's operations: words that
 * are joined on rank 0, and what rank 0 tells all.
 *
 *   gather   4 ─▶ 0 ◀─ 2, 1        each rank waits for those below it in the tree, and joins what
 *            5 ─▶ 4  3 ─▶ 2        they say to its own words
 *   spread   the other way round
 *
 * A collective call of MPI would do the same, but lets no nonblocking call of this process progress,
 * and another rank may have to see the end of one before it comes here. It sleeps in MPI only where
 * there is none.
 */

#include "ad_tam.h"
#include "port/log.h"

/* The engine's tags begin above these. */
enum { BLOCKING_TAG = 1022 };

static void give_up(ADIO_File fd, int rank, int error_code)
{
    char text[MPI_MAX_ERROR_STRING] = "";
    int length;

    MPI_Error_string(error_code, text, &length);
    cio_log(CIO_LOG_NOTICE, "file %s: rank %d cannot talk to the others: %s", fd->filename, rank,
            text);
    MPI_Abort(fd->comm, 1);
}

static void talk_begin(ADIOI_TAM_Talk * talk, ADIO_File fd, void *data, int bytes)
{
    memset(talk, 0, sizeof(*talk));
    talk->fd = fd;
    talk->data = data;
    talk->bytes = bytes;
    talk->tag = BLOCKING_TAG;
    talk->bit = 1;
    talk->request = MPI_REQUEST_NULL;
    MPI_Comm_rank(fd->comm, &talk->rank);
    MPI_Comm_size(fd->comm, &talk->size);
}

void ADIOI_TAM_Talk_gather(ADIOI_TAM_Talk * talk, ADIO_File fd, void *data, int bytes,
                           ADIOI_TAM_Joiner * join)
{
    talk_begin(talk, fd, data, bytes);
    talk->up = 1;
    talk->join = join;
    ADIOI_Assert(join == NULL || bytes <= (int) sizeof(talk->heard));
}

/* Ranks below one in the tree, itself included: all up to the next one that has its lowest bit's. */
int ADIOI_TAM_Collected(int rank, int size)
{
    int below = rank == 0 ? size : rank & -rank;

    return below < size - rank ? below : size - rank;
}

void ADIOI_TAM_Talk_spread(ADIOI_TAM_Talk * talk, ADIO_File fd, void *data, int bytes)
{
    talk_begin(talk, fd, data, bytes);
    /* first it hears from the rank that lacks its lowest bit; the root, from nobody */
    while (talk->bit < talk->size && !(talk->rank & talk->bit))
        talk->bit <<= 1;
}

/* What goes up from a rank, or comes up from it, or goes down to it. */
static int bytes_of(const ADIOI_TAM_Talk * talk, int rank)
{
    int many = talk->up && talk->join == NULL;

    return talk->bytes * (many ? ADIOI_TAM_Collected(rank, talk->size) : 1);
}

static void receive(ADIOI_TAM_Talk * talk, void *to, int from)
{
    int bytes = bytes_of(talk, talk->up ? from : talk->rank);
    int rc = MPI_Irecv(to, bytes, MPI_BYTE, from, talk->tag, talk->fd->comm, &talk->request);

    if (rc != MPI_SUCCESS)
        give_up(talk->fd, talk->rank, rc);
}

static void tell(ADIOI_TAM_Talk * talk, int to)
{
    int bytes = bytes_of(talk, talk->up ? talk->rank : to);
    int rc = MPI_Isend(talk->data, bytes, MPI_BYTE, to, talk->tag, talk->fd->comm,
                       &talk->request);

    if (rc != MPI_SUCCESS)
        give_up(talk->fd, talk->rank, rc);
}

/* The next message of a gather; 0: there is none. */
static int go_up(ADIOI_TAM_Talk * talk)
{
    if (talk->hearing && talk->join != NULL)
        talk->join(talk->data, talk->heard, talk->bytes);
    talk->hearing = 0;
    for (; talk->bit < talk->size; talk->bit <<= 1) {
        int bit = talk->bit;

        if (talk->rank & bit) {
            talk->bit = talk->size;
            tell(talk, talk->rank - bit);
            return 1;
        }
        if (talk->rank + bit < talk->size) {
            talk->hearing = 1;
            talk->bit <<= 1;
            receive(talk, talk->join != NULL ? talk->heard : talk->data + bit * talk->bytes,
                    talk->rank + bit);
            return 1;
        }
    }
    return 0;
}

/* The next message of a spread. */
static int go_down(ADIOI_TAM_Talk * talk)
{
    if (talk->rank != 0 && !talk->hearing) {
        talk->hearing = 1;
        receive(talk, talk->data, talk->rank - talk->bit);
        return 1;
    }
    for (talk->bit >>= 1; talk->bit > 0; talk->bit >>= 1)
        if (talk->rank + talk->bit < talk->size) {
            tell(talk, talk->rank + talk->bit);
            return 1;
        }
    return 0;
}

int ADIOI_TAM_Talk_progress(ADIOI_TAM_Talk * talk)
{
    for (;;) {
        int done, rc = MPI_Test(&talk->request, &done, MPI_STATUS_IGNORE);

        if (rc != MPI_SUCCESS)
            give_up(talk->fd, talk->rank, rc);
        if (!done)
            return 0;
        if (talk->up ? !go_up(talk) : !go_down(talk))
            return 1;
    }
}

/* Asleep in MPI, unless something else of this process has to go on. */
static void finish(ADIOI_TAM_Talk * talk)
{
    while (!ADIOI_TAM_Talk_progress(talk)) {
        if (ADIOI_TAM_Progress() > 0) {
            ADIOI_TAM_Nap();
            continue;
        }
        int rc = MPI_Wait(&talk->request, MPI_STATUS_IGNORE);

        if (rc != MPI_SUCCESS)
            give_up(talk->fd, talk->rank, rc);
    }
}

void ADIOI_TAM_Gather(ADIO_File fd, void *data, int bytes, ADIOI_TAM_Joiner * join)
{
    ADIOI_TAM_Talk talk;

    ADIOI_TAM_Talk_gather(&talk, fd, data, bytes, join);
    finish(&talk);
}

void ADIOI_TAM_Collect(ADIO_File fd, void *data, int bytes)
{
    ADIOI_TAM_Gather(fd, data, bytes, NULL);
}

void ADIOI_TAM_Spread(ADIO_File fd, void *data, int bytes)
{
    ADIOI_TAM_Talk talk;

    ADIOI_TAM_Talk_spread(&talk, fd, data, bytes);
    finish(&talk);
}

void ADIOI_TAM_Join_least(void *into, const void *from, int bytes)
{
    int64_t *least = into;
    const int64_t *other = from;

    for (int i = 0; i < bytes / (int) sizeof(*least); i++)
        if (other[i] < least[i])
            least[i] = other[i];
}

void ADIOI_TAM_Least(ADIO_File fd, int64_t * words, int n)
{
    ADIOI_TAM_Gather(fd, words, n * (int) sizeof(*words), ADIOI_TAM_Join_least);
    ADIOI_TAM_Spread(fd, words, n * (int) sizeof(*words));
}
