/*
 * Opening and closing.
 *
 * MPI_File_open does what it does for any program: it makes the file, with its stripes, or refuses
 * to. The file stays open there, for what the MPI knows of it and for MPI_MODE_DELETE_ON_CLOSE;
 * bytes go through a descriptor of our own. Whatever one rank finds, all agree on before they go
 * on, so that each step is undone by all or none.
 */
#include "internal.h"

#include "port/log.h"
#include "port/onesided_mpi.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

/* ---- names ---- */

/* Past ROMIO's prefixes, of which one of tamio's may come first. */
static const char *path_in(const char *name)
{
    static const char *const prefixes[] = {
        "tam:", "ufs:", "nfs:", "xfs:", "panfs:", "lustre:", "gpfs:", NULL};

    for (int i = 0; prefixes[i] != NULL; i++) {
        size_t n = strlen(prefixes[i]);

        if (strncasecmp(name, prefixes[i], n) == 0)
            return path_in(name + n);
    }
    return name;
}

/* What the engine calls the file: its path, or the end of a long one. */
static const char *short_path(const struct file *f)
{
    size_t n = strlen(f->path);

    return n < CIO_TCIO_PATH ? f->path : f->path + n - (CIO_TCIO_PATH - 1);
}

/* ---- what was asked for ---- */

static int check_mode(struct file *f)
{
    int read = (f->amode & MPI_MODE_RDONLY) != 0, write = (f->amode & MPI_MODE_WRONLY) != 0;
    int both = (f->amode & MPI_MODE_RDWR) != 0;

    if (read + write + both != 1)
        return tcioi_because(f, MPI_ERR_AMODE,
                             "access mode: one of RDONLY, WRONLY and RDWR is needed");
    if (read && (f->amode & (MPI_MODE_CREATE | MPI_MODE_EXCL)))
        return tcioi_because(f, MPI_ERR_AMODE, "access mode: RDONLY makes no file");
    if (f->amode & MPI_MODE_SEQUENTIAL)
        return tcioi_because(f, MPI_ERR_AMODE, "access mode: SEQUENTIAL is not supported");
    return MPI_SUCCESS;
}

static int check_same(struct file *f)
{
    int64_t name = (int64_t)(tcioi_hash_text(f->name) >> 1);
    int64_t mine[4] = {name, -name, f->amode, -(int64_t)f->amode}, most[4];
    int rc = tcioi_class_of_mpi(MPI_Allreduce(mine, most, 4, MPI_INT64_T, MPI_MAX, f->comm));

    if (rc != MPI_SUCCESS)
        return rc;
    if (most[0] != -most[1])
        return tcioi_because(f, MPI_ERR_NOT_SAME, "ranks open other files with the same call");
    if (most[2] != -most[3])
        return tcioi_because(f, MPI_ERR_NOT_SAME, "ranks open it with different access modes");
    return MPI_SUCCESS;
}

static int take_arguments(struct file *f, const char *name, int amode)
{
    f->amode = amode;
    f->name = name != NULL ? strdup(name) : NULL;
    if (f->name == NULL)
        return name == NULL ? MPI_ERR_BAD_FILE : MPI_ERR_NO_MEM;
    f->path = path_in(f->name);
    return f->path[0] != '\0' ? MPI_SUCCESS : MPI_ERR_BAD_FILE;
}

static int check_arguments(struct file *f, const char *name, int amode)
{
    int rc = tcioi_agree(f, take_arguments(f, name, amode));

    if (rc == MPI_SUCCESS)
        rc = tcioi_agree(f, check_same(f));
    return rc == MPI_SUCCESS ? tcioi_agree(f, check_mode(f)) : rc;
}

/* ---- the MPI's file ---- */

/* The hints, but for TCIO below us. */
static int copy_info(MPI_Info info, MPI_Info *out)
{
    int rc =
        tcioi_class_of_mpi(info != MPI_INFO_NULL ? MPI_Info_dup(info, out) : MPI_Info_create(out));

    return rc == MPI_SUCCESS ? tcioi_class_of_mpi(MPI_Info_set(*out, "romio_tcio", "disable")) : rc;
}

/* Errors come back, whatever the program has asked for. */
static int open_returning(struct file *f, MPI_Info info)
{
    MPI_Errhandler before;
    int rc;

    MPI_File_get_errhandler(MPI_FILE_NULL, &before);
    MPI_File_set_errhandler(MPI_FILE_NULL, MPI_ERRORS_RETURN);
    rc = tcioi_class_of_mpi(MPI_File_open(f->comm, f->name, f->amode, info, &f->file));
    MPI_File_set_errhandler(MPI_FILE_NULL, before);
    MPI_Errhandler_free(&before);
    if (rc != MPI_SUCCESS)
        f->file = MPI_FILE_NULL;
    else
        MPI_File_set_errhandler(f->file, MPI_ERRORS_RETURN);
    return rc;
}

static int open_below(struct file *f, MPI_Info info)
{
    MPI_Info copy = MPI_INFO_NULL;
    int rc = tcioi_agree(f, copy_info(info, &copy));

    if (rc == MPI_SUCCESS)
        rc = tcioi_agree(f, open_returning(f, copy));
    if (rc != MPI_SUCCESS)
        f->file = MPI_FILE_NULL; /* closing is collective, and not all of us have it */
    if (copy != MPI_INFO_NULL)
        MPI_Info_free(&copy);
    return rc;
}

/* ---- our own descriptor ---- */

/* Write-behind fills gaps by reading, so files that are only written are opened for both. */
static int open_path(struct file *f)
{
    int mode = f->amode & MPI_MODE_RDONLY ? O_RDONLY : O_RDWR;

    f->fd = open(f->path, mode | O_CLOEXEC);
    if (f->fd < 0 && errno == EACCES && f->amode & MPI_MODE_WRONLY) {
        f->fd = open(f->path, O_WRONLY | O_CLOEXEC);
        f->write_only = 1;
    }
    if (f->fd < 0)
        return tcioi_because(f, tcioi_class_of_errno(-errno),
                             "the MPI has opened it, but %s cannot be: %s", f->path,
                             strerror(errno));
    return tcioi_class_of_errno(cio_store_open(f->fd, CIO_STORE_BLOCKING, &f->store));
}

/* ---- the engine ---- */

static int make_space(struct file *f)
{
    const struct cio_space_settings *s = &f->settings;
    struct cio_onesided *os;
    int64_t bytes, exposed;
    int rc;

    cio_space_region(s, &bytes, &exposed);
    rc = cio_onesided_mpi_create(f->comm, bytes, exposed, &cio_nodemem_posix, &os);
    if (rc == 0)
        rc = cio_space_create(os, s, &f->space);
    if (rc == 0)
        return MPI_SUCCESS;
    return tcioi_because(f, rc == -ENOSPC ? MPI_ERR_NO_MEM : tcioi_class_of_errno(rc),
                         "no memory for %" PRId64 " segments of %" PRId64 " bytes on each rank"
                         " (hints tcio_segments, tcio_segment_size): %s",
                         s->segments, s->segment_size, strerror(-rc));
}

static int open_tcio(struct file *f)
{
    unsigned flags = f->write_only ? CIO_TCIO_WRITE_ONLY : 0;

    return tcioi_class_of_errno(cio_tcio_open(f->space, short_path(f), f->store, flags, &f->tcio));
}

static int find_end(struct file *f)
{
    if (f->amode & MPI_MODE_APPEND)
        f->position = cio_store_size(f->store);
    return tcioi_type_keys_create(f);
}

/* ---- all of it ---- */

/* What is there, the last first. Collective. */
static int undo(struct file *f)
{
    int rc = MPI_SUCCESS, more;

    tcioi_type_keys_destroy(f);
    if (f->tcio != NULL)
        rc = tcioi_class_of_errno(cio_tcio_close(f->tcio));
    if (f->space != NULL)
        cio_space_destroy(f->space);
    cio_store_destroy(f->store);
    if (f->fd >= 0 && close(f->fd) < 0 && rc == MPI_SUCCESS)
        rc = tcioi_because(f, tcioi_class_of_errno(-errno), "close: %s", strerror(errno));
    more = f->file != MPI_FILE_NULL ? tcioi_class_of_mpi(MPI_File_close(&f->file)) : MPI_SUCCESS;
    return rc != MPI_SUCCESS ? rc : more;
}

static void discard(struct file *f)
{
    MPI_Comm_free(&f->comm);
    free(f->name);
    free(f);
}

static int open_all(struct file *f, const char *name, int amode, MPI_Info info)
{
    int rc = check_arguments(f, name, amode);

    if (rc == MPI_SUCCESS)
        rc = tcioi_settings_read(f, info);
    if (rc == MPI_SUCCESS)
        rc = open_below(f, info);
    if (rc == MPI_SUCCESS)
        rc = tcioi_agree(f, open_path(f));
    if (rc == MPI_SUCCESS)
        rc = tcioi_settings_complete(f);
    if (rc == MPI_SUCCESS)
        rc = tcioi_agree(f, make_space(f));
    if (rc == MPI_SUCCESS)
        rc = tcioi_agree(f, open_tcio(f));
    return rc == MPI_SUCCESS ? tcioi_agree(f, find_end(f)) : rc;
}

/* A communicator of our own, whose errors come back. Intercommunicators have no file. */
static int own_comm(MPI_Comm comm, MPI_Comm *out)
{
    int inter, rc;

    if (comm == MPI_COMM_NULL)
        return MPI_ERR_COMM;
    rc = tcioi_class_of_mpi(MPI_Comm_test_inter(comm, &inter));
    if (rc != MPI_SUCCESS || inter)
        return MPI_ERR_COMM;
    rc = tcioi_class_of_mpi(MPI_Comm_dup(comm, out));
    if (rc == MPI_SUCCESS)
        MPI_Comm_set_errhandler(*out, MPI_ERRORS_RETURN);
    return rc;
}

static struct file *new_file(MPI_Comm comm)
{
    struct file *f = calloc(1, sizeof(*f));

    if (f == NULL)
        return NULL;
    f->comm = comm;
    f->file = MPI_FILE_NULL;
    f->fd = -1;
    f->type_key = MPI_KEYVAL_INVALID;
    f->last_read = &f->reads;
    for (int i = 0; i < NAMED_TYPES; i++)
        f->named[i].type = MPI_DATATYPE_NULL;
    MPI_Comm_rank(comm, &f->rank);
    MPI_Comm_size(comm, &f->size);
    return f;
}

/* One for each rank, or none for any. */
static int new_files(MPI_Comm comm, int ready, struct file **out)
{
    struct file *f = new_file(comm);
    int class = f == NULL ? MPI_ERR_NO_MEM : ready ? MPI_SUCCESS : MPI_ERR_ARG, worst = class;
    int rc = tcioi_class_of_mpi(MPI_Allreduce(&class, &worst, 1, MPI_INT, MPI_MAX, comm));

    rc = rc != MPI_SUCCESS ? rc : worst;
    if (rc != MPI_SUCCESS)
        free(f);
    else
        *out = f;
    return rc;
}

int tcio_open(MPI_Comm comm, const char *name, int amode, MPI_Info info, tcio_file **fh)
{
    MPI_Comm own;
    struct file *f;
    tcio_file *handle = NULL;
    int rc = own_comm(comm, &own);

    if (rc != MPI_SUCCESS)
        return rc;
    rc = new_files(own, fh != NULL, &f);
    if (rc != MPI_SUCCESS) {
        MPI_Comm_free(&own);
        return rc;
    }
    rc = tcioi_agree(f, tcioi_handle_create(f, &handle));
    if (rc == MPI_SUCCESS)
        rc = open_all(f, name, amode, info);
    if (rc == MPI_SUCCESS) {
        *fh = handle;
        return MPI_SUCCESS;
    }
    if (handle != NULL)
        tcioi_handle_destroy(handle);
    undo(f);
    discard(f);
    return rc;
}

int tcio_close(tcio_file *fh)
{
    struct file *f = tcioi_handle_file(fh);
    int rc, flushed, undone;

    if (f == NULL)
        return MPI_ERR_FILE;
    tcioi_handle_destroy(fh);
    rc = tcioi_move_fetch(f);
    flushed = tcioi_class_of_errno(cio_space_flush(f->space));
    tcioi_report_stats(f);
    undone = undo(f);
    rc = rc != MPI_SUCCESS ? rc : flushed;
    rc = tcioi_agree(f, rc != MPI_SUCCESS ? rc : undone);
    discard(f);
    return rc;
}
