/*
 * ad_tam, TCIO (romio_tcio): independent calls of an unchanged program go through two levels of
 * buffers, which all ranks of the file share (tcio/space.h).
 *
 * Its slots lie over those that the layer has without it. A call is taken, or passed to these:
 *
 *   fd->fns ──▶ slots ── taken ──▶ space ──▶ store ──▶ file
 *                 └───── passed ─▶ plain ──▶ driver below
 *
 * What is taken is seen by this process at once; by others after a sync or close, or, if visibility
 * is immediate, when the call returns. So whatever goes to the file past the space, or looks at it,
 * comes when level 2 has nothing of it: calls that all ranks make (sync, set_size, set_atomicity,
 * blocking collective access, close) first write out what there is, if any rank has written or read
 * through the space since it was last empty. Those that one rank makes by itself (get_size,
 * preallocate, which is rank 0's work) do so for what was written here and what others have pushed.
 * A view needs nothing: the space knows bytes of the file only.
 *
 * After a collective write all wait for each other, because a rank may return when its own part is
 * done: what another one still writes must not be read into level 2 before it is there, nor written
 * over by what was written later.
 *
 * Nonblocking collective calls are taken, too, as so many independent ones: they may not wait until
 * level 2 is empty.
 *
 * Slots are called again from below: ROMIO's own collective and strided access ends in contiguous
 * one. Such a call goes where the outer one went.
 */

#ifndef AD_TAM_TCIO_H_INCLUDED
#define AD_TAM_TCIO_H_INCLUDED

#include "ad_tam.h"
#include "tcio/space.h"

/* Why a call is passed. */
typedef enum {
    ADIOI_TAM_TCIO_TAKEN,
    ADIOI_TAM_TCIO_COLLECTIVE,
    ADIOI_TAM_TCIO_ATOMIC,
    ADIOI_TAM_TCIO_DEFERRED,
    ADIOI_TAM_TCIO_DRIVER,
    ADIOI_TAM_TCIO_UNDER_WAY,
    ADIOI_TAM_TCIO_NO_SPACE,
    ADIOI_TAM_TCIO_REASONS
} ADIOI_TAM_Tcio_reason;

/* "atomic mode is on", ... */
const char *ADIOI_TAM_Tcio_why(ADIOI_TAM_Tcio_reason reason);

/* What a rank has done to level 2 since it was empty. */
enum { ADIOI_TAM_TCIO_WROTE = 1, ADIOI_TAM_TCIO_LOOKED = 2 };

typedef struct ADIOI_TAM_Tcio {
    ADIOI_Fns plain;            /* the layer's table without these slots */
    ADIOI_TAM_Tcio_reason without;      /* why there is no space; TAKEN: there is one */
    struct cio_hints asked;     /* that it was made for */
    struct cio_space_settings set;
    int64_t calls[ADIOI_TAM_TCIO_REASONS];
    char *visibility;           /* ROMIO's word of it, where ours is in its place */

    pthread_mutex_t lock;       /* of all below: get_size comes without ROMIO's own */
    MPI_Comm comm;              /* the space's own */
    struct cio_space *space;
    struct cio_tcio *file;
    struct cio_store *store;
    int used;                   /* WROTE, LOOKED */
} ADIOI_TAM_Tcio;

/* The slots that take independent access, put into a table. */
void ADIOI_TAM_Tcio_slots(ADIOI_Fns * fns);

/*
 * Whether a call is to be taken; if not, it is counted and goes to the plain slots, between this and
 * the end of passing it, in which nothing is taken.
 */
int ADIOI_TAM_Tcio_takes(ADIO_File fd);
void ADIOI_TAM_Tcio_passed(void);

/*
 * Empties level 2, if any rank has done to it what `used` says: 0 or an error, the same on all ranks.
 * Collective, and all ranks are in here when any of them leaves.
 */
int ADIOI_TAM_Tcio_settle(ADIO_File fd, int used);

/* One JSON line for the file, where romio_tam_stats says. Collective. */
void ADIOI_TAM_Tcio_report(ADIO_File fd);

#endif /* AD_TAM_TCIO_H_INCLUDED */
