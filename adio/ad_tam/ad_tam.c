/* ad_tam: attaching to a file, detaching from it, and the table behind the prefix "tam:". */

#include "ad_tam.h"

#include <strings.h>

#define TAM_PREFIX "tam:"
#define TAM_NAME "TAM over "

static int has_tam_prefix(const char *s)
{
    return s != NULL && strncasecmp(s, TAM_PREFIX, strlen(TAM_PREFIX)) == 0;
}

/*
 * What ROMIO should take for ROMIO_FSTYPE_FORCE. "tam:" alone forces the layer but no file system,
 * and is not for ROMIO; "tam:nfs:" forces both.
 */
char *ADIOI_TAM_Forced_fstype(void)
{
    char *forced = getenv("ROMIO_FSTYPE_FORCE");

    if (!has_tam_prefix(forced))
        return forced;
    forced += strlen(TAM_PREFIX);
    return *forced != '\0' ? forced : NULL;
}

/*
 * Finds the driver for a file that was named tam:NAME. NAME may have a prefix of its own, which is
 * then passed over: *path is what to open. Collective over comm.
 */
static void resolve_below(MPI_Comm comm, const char *name, const char **path, int *file_system,
                          ADIOI_Fns ** ops, int *error_code)
{
    do {
        int prefixed = ADIOI_TAM_Resolve(comm, name, file_system, ops, error_code);

        if (*error_code != MPI_SUCCESS)
            return;
        if (prefixed)
            name = strchr(name, ':') + 1;
    } while (*ops == &ADIO_TAM_operations);
    *path = name;
}

static void open_below(ADIO_File fd, int *error_code)
{
    const char *path;
    char *copy;

    resolve_below(fd->comm, fd->filename, &path, &fd->file_system, &fd->fns, error_code);
    if (*error_code != MPI_SUCCESS || path == fd->filename)
        return;
    copy = ADIOI_Strdup(path);
    ADIOI_Free(fd->filename);
    fd->filename = copy;
}

static char *layer_name(const char *below)
{
    size_t size = strlen(TAM_NAME) + strlen(below) + 1;
    char *name = ADIOI_Malloc(size);

    if (name != NULL)
        snprintf(name, size, "%s%s", TAM_NAME, below);
    return name;
}

static int is_layered(const ADIOI_Fns * fns)
{
    return fns->ADIOI_xxx_SetInfo == ADIOI_TAM_SetInfo;
}

static void put_layer(ADIO_File fd, int forced)
{
    ADIOI_TAM_File *layer = ADIOI_Calloc(1, sizeof(*layer));

    layer->fsname = layer_name(fd->fns->fsname);
    layer->forced = forced;
    layer->below = fd->fns;
    layer->fns = *fd->fns;
    layer->fns.fsname = layer->fsname;
    layer->fns.ADIOI_xxx_OpenColl = ADIOI_TAM_OpenColl;
    layer->fns.ADIOI_xxx_SetInfo = ADIOI_TAM_SetInfo;
    layer->fns.ADIOI_xxx_IwriteStridedColl = ADIOI_TAM_IwriteStridedColl;
    layer->fns.ADIOI_xxx_IreadStridedColl = ADIOI_TAM_IreadStridedColl;
    layer->fns.ADIOI_xxx_WriteStridedColl = ADIOI_TAM_WriteStridedColl;
    layer->fns.ADIOI_xxx_ReadStridedColl = ADIOI_TAM_ReadStridedColl;
    ADIOI_TAM_Early_slots(&layer->fns);
    ADIOI_TAM_Early_init(&layer->early);
    cio_hints_init(&layer->hints);
    fd->fns = &layer->fns;
    ADIOI_TAM_News_init(fd);
}

/*
 * Called once fd->fns is chosen and before hints are taken. The file that holds a shared file
 * pointer is opened with the table of its main file; it is ROMIO's own and gets no layer.
 */
void ADIOI_TAM_Attach(ADIO_File fd, int *error_code)
{
    int forced = fd->fns == &ADIO_TAM_operations || has_tam_prefix(getenv("ROMIO_FSTYPE_FORCE"));

    *error_code = MPI_SUCCESS;
    if (fd->fns == &ADIO_TAM_operations) {
        open_below(fd, error_code);
        if (*error_code != MPI_SUCCESS)
            return;
    } else if (is_layered(fd->fns)) {
        fd->fns = ADIOI_TAM_File_of(fd)->below;
        return;
    }
    put_layer(fd, forced);
    ADIOI_TAM_Pool_trim();
}

void ADIOI_TAM_Detach(ADIO_File fd)
{
    ADIOI_TAM_File *layer;

    if (!is_layered(fd->fns))
        return;
    layer = ADIOI_TAM_File_of(fd);
    ADIOI_TAM_Release(fd);
    fd->fns = layer->below;
    pthread_mutex_destroy(&layer->early.lock);
    ADIOI_Free(layer->news);
    if (layer->said != NULL)
        ADIOI_Free(layer->said);
    ADIOI_Free(layer->fsname);
    ADIOI_Free(layer);
}

/* MPI_File_delete("tam:NAME"): the only slot that ROMIO calls without an open file. */
static void delete_below(const char *filename, int *error_code)
{
    ADIOI_Fns *ops;
    const char *path;
    int file_system;

    resolve_below(MPI_COMM_SELF, filename, &path, &file_system, &ops, error_code);
    if (*error_code == MPI_SUCCESS)
        (*ops->ADIOI_xxx_Delete) (path, error_code);
}

struct ADIOI_Fns_struct ADIO_TAM_operations = {
    .ADIOI_xxx_Delete = delete_below,
    .fsname = "TAM: two-layer aggregation over another driver"
};
