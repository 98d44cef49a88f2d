/*
 * ad_tam: a driver that lies over another one.
 *
 * ADIO_Open calls ADIOI_TAM_Attach for every file. It copies the function table of the driver that
 * ROMIO chose, replaces the slots that tamio serves, and points fd->fns at the copy; everything
 * else falls through to the driver below. ADIO_Close calls ADIOI_TAM_Detach.
 *
 *   fd->fns ──▶ ┌─ ADIOI_TAM_File ─────────────┐
 *               │ fns    (copy, slots replaced)│
 *               │ below ─────────────────────────▶ ADIO_UFS_operations, ...
 *               │ hints, ...                   │
 *               └──────────────────────────────┘
 *
 * No field of ADIOI_FileD is needed: the state is found from fd->fns, its first member.
 */

#ifndef AD_TAM_H_INCLUDED
#define AD_TAM_H_INCLUDED

#include "ad_tam_compat.h"
#include "plan/hints.h"

typedef struct ADIOI_TAM_File {
    ADIOI_Fns fns;              /* first: fd->fns points here */
    ADIOI_Fns *below;           /* table of the driver underneath */
    char *fsname;               /* names both drivers */
    int forced;                 /* opened as tam:, or ROMIO_FSTYPE_FORCE=tam: */
    struct cio_hints hints;     /* effective values, the same on every rank */
    unsigned int warned;        /* rows of the hint table already complained about */
} ADIOI_TAM_File;

/* The layer of an attached file. */
static inline ADIOI_TAM_File *ADIOI_TAM_File_of(ADIO_File fd)
{
    return (ADIOI_TAM_File *) fd->fns;
}

/*
 * SetInfo slot: lets the driver below take its hints, then takes ours and puts the effective value
 * of every one into fd->info. Collective. Values that differ between ranks give MPI_ERR_NOT_SAME on
 * all of them, and rank 0's are used.
 */
void ADIOI_TAM_SetInfo(ADIO_File fd, MPI_Info users_info, int *error_code);

#endif /* AD_TAM_H_INCLUDED */
