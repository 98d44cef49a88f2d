/*
 * ad_tam: the file as the engine's store. Where the driver below makes plain POSIX calls, so does
 * the store; elsewhere (NFS, which locks around every call, and file systems that are not POSIX)
 * its slots are called.
 */

#include "ad_tam.h"

#include <limits.h>

struct adio_store {
    struct cio_store base;
    ADIO_File fd;
};

static ADIO_File file_of(struct cio_store *s)
{
    return ((struct adio_store *) s)->fd;
}

/* What the slots say is an MPI error code: its class tells which errno it was. */
int ADIOI_TAM_Errno(int error_code)
{
    int class = MPI_SUCCESS;

    if (error_code == MPI_SUCCESS)
        return 0;
    MPI_Error_class(error_code, &class);
    switch (class) {
        case MPI_ERR_NO_SPACE:
            return -ENOSPC;
        case MPI_ERR_QUOTA:
            return -EDQUOT;
        case MPI_ERR_READ_ONLY:
            return -EROFS;
        case MPI_ERR_ACCESS:
            return -EACCES;
        default:
            return -EIO;
    }
}

/* The slots take an int in the oldest series. */
static ADIOI_TAM_Count chunk(int64_t len)
{
    return (ADIOI_TAM_Count) (len > (1 << 30) ? 1 << 30 : len);
}

static int slot_write(struct cio_store *s, const void *buf, int64_t len, int64_t off)
{
    ADIO_File fd = file_of(s);
    const char *p = buf;
    ADIO_Status status;
    int error_code = MPI_SUCCESS;

    while (len > 0 && error_code == MPI_SUCCESS) {
        ADIOI_TAM_Count n = chunk(len);

        (*ADIOI_TAM_File_of(fd)->below->ADIOI_xxx_WriteContig) (fd, p, n, MPI_BYTE,
                                                               ADIO_EXPLICIT_OFFSET, off, &status,
                                                               &error_code);
        p += n;
        off += n;
        len -= n;
    }
    return ADIOI_TAM_Errno(error_code);
}

static int slot_read(struct cio_store *s, void *buf, int64_t len, int64_t off)
{
    ADIO_File fd = file_of(s);
    char *p = buf;
    ADIO_Status status;
    int error_code = MPI_SUCCESS;

    memset(buf, 0, (size_t) len);
    while (len > 0 && error_code == MPI_SUCCESS) {
        ADIOI_TAM_Count n = chunk(len);

        (*ADIOI_TAM_File_of(fd)->below->ADIOI_xxx_ReadContig) (fd, p, n, MPI_BYTE,
                                                              ADIO_EXPLICIT_OFFSET, off, &status,
                                                              &error_code);
        p += n;
        off += n;
        len -= n;
    }
    return ADIOI_TAM_Errno(error_code);
}

static int slot_lock(struct cio_store *s, int64_t off, int64_t len)
{
    ADIO_File fd = file_of(s);

    if (fd->file_system == ADIO_NFS || !ADIO_Feature(fd, ADIO_DATA_SIEVING_WRITES))
        return -ENOTSUP;
    ADIOI_WRITE_LOCK(fd, off, SEEK_SET, len);
    return 0;
}

static void slot_unlock(struct cio_store *s, int64_t off, int64_t len)
{
    ADIO_File fd = file_of(s);

    ADIOI_UNLOCK(fd, off, SEEK_SET, len);
}

static int64_t slot_size(struct cio_store *s)
{
    ADIO_File fd = file_of(s);
    ADIO_Fcntl_t fcntl_struct;
    int error_code = MPI_SUCCESS;

    (*ADIOI_TAM_File_of(fd)->below->ADIOI_xxx_Fcntl) (fd, ADIO_FCNTL_GET_FSIZE, &fcntl_struct,
                                                     &error_code);
    return error_code == MPI_SUCCESS ? fcntl_struct.fsize : -1;
}

static void slot_destroy(struct cio_store *s)
{
    ADIOI_Free(s);
}

static const struct cio_store_ops slot_ops = {
    .write = slot_write,
    .read = slot_read,
    .lock = slot_lock,
    .unlock = slot_unlock,
    .size = slot_size,
    .destroy = slot_destroy
};

int ADIOI_TAM_Is_posix(ADIO_File fd)
{
    switch (fd->file_system) {
        case ADIO_UFS:
        case ADIO_LUSTRE:
        case ADIO_LUSTRE_PIPE:
        case ADIO_GPFS:
        case ADIO_PANFS:
            return 1;
        default:
            return 0;
    }
}

/* Without a pipeline nothing is gained by another thread. */
static enum cio_store_kind choose_kind(const struct cio_hints *hints)
{
    static const enum cio_store_kind kinds[] = {
        [CIO_IO_AUTO] = CIO_STORE_AUTO,
        [CIO_IO_BLOCKING] = CIO_STORE_BLOCKING,
        [CIO_IO_THREAD] = CIO_STORE_THREAD,
        [CIO_IO_URING] = CIO_STORE_URING
    };

    return hints->pipeline == CIO_DISABLE ? CIO_STORE_BLOCKING : kinds[hints->pipeline_io];
}

int ADIOI_TAM_Store_create(ADIO_File fd, struct cio_store **store)
{
    struct adio_store *s;

    if (ADIOI_TAM_Is_posix(fd))
        return cio_store_open(fd->fd_sys, choose_kind(&ADIOI_TAM_File_of(fd)->hints), store);
    s = ADIOI_TAM_Alloc(sizeof(*s));
    if (s == NULL)
        return -ENOMEM;
    s->base.ops = &slot_ops;
    s->base.below = NULL;
    s->fd = fd;
    *store = &s->base;
    return 0;
}
