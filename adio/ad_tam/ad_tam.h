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
#include "exec/op.h"
#include "plan/hints.h"

typedef struct ADIOI_TAM_File {
    ADIOI_Fns fns;              /* first: fd->fns points here */
    ADIOI_Fns *below;           /* table of the driver underneath */
    char *fsname;               /* names both drivers */
    int forced;                 /* opened as tam:, or ROMIO_FSTYPE_FORCE=tam: */
    struct cio_hints hints;     /* effective values, the same on every rank */
    unsigned int warned;        /* rows of the hint table already complained about */

    /* made at the first collective call, and again when hints have changed */
    struct cio_nodes *nodes;
    struct cio_team *team;
    struct cio_store *store;
    struct cio_segment segment;
    unsigned int calls;         /* collective calls so far */
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

/*
 * What a collective call works with: node map, groups, store. Collective the first time.
 * 0 or a negative errno.
 */
int ADIOI_TAM_Prepare(ADIO_File fd);
/* Forgets the groups, because hints have changed; all, because the file is closed. */
void ADIOI_TAM_Regroup(ADIO_File fd);
void ADIOI_TAM_Release(ADIO_File fd);

/* A store over the driver below: POSIX calls where the driver uses them too, else its slots. */
int ADIOI_TAM_Store_create(ADIO_File fd, struct cio_store **store);

/* One rank's request from a call's arguments; frees what it made. 0 or a negative errno. */
int ADIOI_TAM_Request_init(ADIO_File fd, void *buf, ADIOI_TAM_Count count, MPI_Datatype datatype,
                           int file_ptr_type, ADIO_Offset offset, struct cio_request *req);
void ADIOI_TAM_Request_free(struct cio_request *req);

/* Collective slots. */
void ADIOI_TAM_WriteStridedColl(ADIO_File fd, const void *buf, ADIOI_TAM_Count count,
                                MPI_Datatype datatype, int file_ptr_type, ADIO_Offset offset,
                                ADIO_Status * status, int *error_code);
void ADIOI_TAM_ReadStridedColl(ADIO_File fd, void *buf, ADIOI_TAM_Count count,
                               MPI_Datatype datatype, int file_ptr_type, ADIO_Offset offset,
                               ADIO_Status * status, int *error_code);

#endif /* AD_TAM_H_INCLUDED */
