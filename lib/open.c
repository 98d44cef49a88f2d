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
#include <limits.h>
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

/* Names that no system takes; Open MPI 4.1 writes past its buffers with them. */
static int is_too_long(const char *path)
{
    const char *last = strrchr(path, '/');

    return strlen(path) >= PATH_MAX || strlen(last != NULL ? last + 1 : path) > NAME_MAX;
}

/* ---- what was asked for ---- */

static int check_mode(struct file *f)
{
    int read = (f->amode & MPI_MODE_RDONLY) != 0, write = (f->amode & MPI_MODE_WRONLY) != 0;
    int both = (f->amode & MPI_MODE_RDWR) != 0;

    if (read + write + both != 1)
        return tcioi_refuse(f, MPI_ERR_AMODE,
                            "access mode: one of RDONLY, WRONLY and RDWR is needed");
    if (read && (f->amode & (MPI_MODE_CREATE | MPI_MODE_EXCL)))
        return tcioi_refuse(f, MPI_ERR_AMODE, "access mode: RDONLY makes no file");
    if (f->amode & MPI_MODE_SEQUENTIAL)
        return tcioi_refuse(f, MPI_ERR_AMODE, "access mode: SEQUENTIAL is not supported");
    return MPI_SUCCESS;
}

static int take_arguments(struct file *f, const char *name, int amode)
{
    f->amode = amode;
    f->name = name != NULL ? strdup(name) : NULL;
    if (f->name == NULL)
        return name == NULL ? MPI_ERR_BAD_FILE : MPI_ERR_NO_MEM;
    f->path = path_in(f->name);
    return f->path[0] == '\0' || is_too_long(f->path) ? MPI_ERR_BAD_FILE : MPI_SUCCESS;
}

static int is_multiple(void)
{
    int level;

    return MPI_Query_thread(&level) == MPI_SUCCESS && level == MPI_THREAD_MULTIPLE;
}

/* One reduction. Also tells how long the file of hints is that rank 0 has read. */
static int meet(struct file *f, int class, int *hints_length)
{
    int64_t name = class == MPI_SUCCESS ? (int64_t)(tcioi_hash_text(f->name) >> 1) : 0;
    int64_t length = f->rank == 0 ? tcioi_settings_file(f->hints_text) : 0;
    int64_t word[6] = {name, -name, f->amode, -(int64_t)f->amode, !is_multiple(), length};
    int rc = tcioi_agree_on(f, class, word, 6);

    if (rc != MPI_SUCCESS)
        return rc;
    if (word[0] != -word[1])
        return tcioi_refuse(f, MPI_ERR_NOT_SAME, "ranks open other files with the same call");
    if (word[2] != -word[3])
        return tcioi_refuse(f, MPI_ERR_NOT_SAME, "ranks open it with different access modes");
    f->settings.progress_thread = !word[4];
    *hints_length = (int)word[5];
    return check_mode(f);
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
    int rc = copy_info(info, &copy);

    if (rc == MPI_SUCCESS)
        rc = open_returning(f, copy);
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

/*
 * Both, and what follows from the file. Most often there is room for all segments even if all ranks
 * are on this node; else these must be counted.
 */
static int open_file(struct file *f, MPI_Info info)
{
    int below = open_below(f, info), rc = below;
    int64_t word[2];

    if (rc == MPI_SUCCESS)
        rc = open_path(f);
    if (rc == MPI_SUCCESS)
        rc = tcioi_settings_sizes(f);
    word[0] = below != MPI_SUCCESS;
    word[1] = rc == MPI_SUCCESS && tcioi_settings_fit(f, f->size) < f->settings.segments;
    rc = tcioi_agree_on(f, rc, word, 2);
    if (word[0])
        f->file = MPI_FILE_NULL; /* closing is collective, and not all of us have it */
    if (rc == MPI_SUCCESS && f->hints.tcio_segments == 0 && word[1])
        rc = tcioi_settings_fit_all(f);
    return rc;
}

/* ---- the engine ---- */

static int make_space(struct file *f)
{
    const struct cio_space_settings *s = &f->settings;
    struct cio_onesided *os;
    int64_t bytes, exposed;
    char why[256];
    int rc;

    cio_space_region(s, &bytes, &exposed);
    rc = cio_onesided_mpi_create(f->comm, bytes, exposed, &cio_nodemem_posix, &os);
    if (rc == 0)
        rc = cio_space_create(os, s, &f->space);
    if (rc == 0)
        return MPI_SUCCESS;
    if (rc != -ENOMEM && rc != -ENOSPC)
        return tcioi_class_of_errno(rc);
    snprintf(why, sizeof(why),
             "no memory for %" PRId64 " segments of %" PRId64 " bytes on each rank"
             " (hints tcio_segments, tcio_segment_size): %s",
             s->segments, s->segment_size, strerror(-rc));
    return tcioi_refuse(f, MPI_ERR_NO_MEM, why);
}

static int open_tcio(struct file *f)
{
    unsigned flags = f->write_only ? CIO_TCIO_WRITE_ONLY : 0;
    int rc =
        tcioi_class_of_errno(cio_tcio_open(f->space, short_path(f), f->store, flags, &f->tcio));

    if (f->amode & MPI_MODE_APPEND)
        f->position = cio_store_size(f->store);
    return rc == MPI_SUCCESS ? tcioi_type_keys_create(f) : rc;
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
    free(f->hints_text);
    free(f->name);
    free(f);
}

static int open_all(struct file *f, int class, MPI_Info info)
{
    int hints_length = 0, rc = meet(f, class, &hints_length);

    if (rc == MPI_SUCCESS)
        rc = tcioi_settings_read(f, hints_length, info);
    free(f->hints_text);
    f->hints_text = NULL;
    if (rc == MPI_SUCCESS)
        rc = open_file(f, info);
    if (rc == MPI_SUCCESS)
        rc = make_space(f);
    return rc == MPI_SUCCESS ? tcioi_agree(f, open_tcio(f)) : rc;
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
    f->hints_text = calloc(HINTS_FILE_MAX + 1, 1);
    if (f->hints_text == NULL) {
        free(f);
        return NULL;
    }
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

/*
 * A rank that has no memory for a file takes part in the first meeting with one that is on its
 * stack, so that the others do not wait for it.
 */
static int excuse(MPI_Comm comm)
{
    struct file none = {.comm = comm, .rank = 0};
    int64_t word[6] = {0};

    MPI_Comm_rank(comm, &none.rank);
    return tcioi_agree_on(&none, MPI_ERR_NO_MEM, word, 6);
}

int tcio_open(MPI_Comm comm, const char *name, int amode, MPI_Info info, tcio_file **fh)
{
    MPI_Comm own;
    struct file *f;
    tcio_file *handle = NULL;
    int rc = own_comm(comm, &own);

    if (rc != MPI_SUCCESS)
        return rc;
    f = new_file(own);
    if (f == NULL) {
        rc = excuse(own);
        MPI_Comm_free(&own);
        return rc;
    }
    rc = fh != NULL ? tcioi_handle_create(f, &handle) : MPI_ERR_ARG;
    if (rc == MPI_SUCCESS)
        rc = take_arguments(f, name, amode);
    rc = open_all(f, rc, info);
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
