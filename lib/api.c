/* What the calls promise: handles, modes, positions. */
#include "internal.h"

#include <inttypes.h>
#include <stdio.h>

/* ---- arguments ---- */

static int check_direction(const struct file *f, int write)
{
    if (write && f->amode & MPI_MODE_RDONLY)
        return MPI_ERR_READ_ONLY;
    return !write && f->amode & MPI_MODE_WRONLY ? MPI_ERR_ACCESS : MPI_SUCCESS;
}

/* Neither the bytes nor their end may be past what an offset can say. */
static int check_size(struct transfer *t)
{
    int64_t end;

    if (t->offset < 0 || __builtin_mul_overflow(t->count, t->is.size, &t->bytes) ||
        __builtin_add_overflow(t->offset, t->bytes, &end))
        return MPI_ERR_ARG;
    return t->bytes > 0 && address(t->data, t->is.lb) == NULL ? MPI_ERR_BUFFER : MPI_SUCCESS;
}

static int check(struct file *f, int write, struct transfer *t)
{
    int rc = check_direction(f, write);

    if (rc == MPI_SUCCESS && t->count < 0)
        rc = MPI_ERR_COUNT;
    if (rc == MPI_SUCCESS)
        rc = tcioi_type_look(f, t->type, &t->is);
    return rc == MPI_SUCCESS ? check_size(t) : rc;
}

static int transfer(struct file *f, int write, struct transfer *t)
{
    int rc = check(f, write, t);

    if (rc != MPI_SUCCESS || t->bytes == 0)
        return rc;
    return write ? tcioi_move_write(f, t) : tcioi_move_read(f, t);
}

static int transfer_here(struct file *f, int write, struct transfer *t)
{
    int rc;

    t->offset = f->position;
    rc = transfer(f, write, t);
    if (rc == MPI_SUCCESS)
        f->position += t->bytes;
    return rc;
}

/* ---- data ---- */

int tcio_write(tcio_file *fh, const void *data, MPI_Count count, MPI_Datatype type)
{
    struct transfer t = {.data = (char *)data, .count = count, .type = type};
    struct file *f = tcioi_handle_file(fh);

    return f == NULL ? MPI_ERR_FILE : transfer_here(f, 1, &t);
}

int tcio_write_at(tcio_file *fh, MPI_Offset offset, const void *data, MPI_Count count,
                  MPI_Datatype type)
{
    struct transfer t = {.offset = offset, .data = (char *)data, .count = count, .type = type};
    struct file *f = tcioi_handle_file(fh);

    return f == NULL ? MPI_ERR_FILE : transfer(f, 1, &t);
}

int tcio_read(tcio_file *fh, void *data, MPI_Count count, MPI_Datatype type)
{
    struct transfer t = {.data = data, .count = count, .type = type};
    struct file *f = tcioi_handle_file(fh);

    return f == NULL ? MPI_ERR_FILE : transfer_here(f, 0, &t);
}

int tcio_read_at(tcio_file *fh, MPI_Offset offset, void *data, MPI_Count count, MPI_Datatype type)
{
    struct transfer t = {.offset = offset, .data = data, .count = count, .type = type};
    struct file *f = tcioi_handle_file(fh);

    return f == NULL ? MPI_ERR_FILE : transfer(f, 0, &t);
}

int tcio_fetch(tcio_file *fh)
{
    struct file *f = tcioi_handle_file(fh);

    return f == NULL ? MPI_ERR_FILE : tcioi_move_fetch(f);
}

int tcio_flush(tcio_file *fh)
{
    struct file *f = tcioi_handle_file(fh);
    int fetched, flushed;

    if (f == NULL)
        return MPI_ERR_FILE;
    fetched = tcioi_move_fetch(f);
    flushed = tcioi_class_of_errno(cio_space_flush(f->space));
    return tcioi_agree(f, fetched != MPI_SUCCESS ? fetched : flushed);
}

/* ---- position ---- */

/* Where a seek counts from. The end is asked for only by those who count from it. */
static int find_base(struct file *f, int whence, int64_t *base)
{
    *base = 0;
    if (whence == SEEK_SET || whence == MPI_SEEK_SET)
        return MPI_SUCCESS;
    if (whence == SEEK_CUR || whence == MPI_SEEK_CUR) {
        *base = f->position;
        return MPI_SUCCESS;
    }
    if (whence == SEEK_END || whence == MPI_SEEK_END)
        return tcioi_class_of_errno(cio_tcio_size(f->tcio, base));
    return MPI_ERR_ARG;
}

int tcio_seek(tcio_file *fh, MPI_Offset offset, int whence)
{
    struct file *f = tcioi_handle_file(fh);
    int64_t base, position;
    int rc;

    if (f == NULL)
        return MPI_ERR_FILE;
    rc = find_base(f, whence, &base);
    if (rc != MPI_SUCCESS)
        return rc;
    if (__builtin_add_overflow(base, (int64_t)offset, &position) || position < 0)
        return MPI_ERR_ARG;
    f->position = position;
    return MPI_SUCCESS;
}

int tcio_tell(tcio_file *fh, MPI_Offset *offset)
{
    struct file *f = tcioi_handle_file(fh);

    if (f == NULL)
        return MPI_ERR_FILE;
    if (offset == NULL)
        return MPI_ERR_ARG;
    *offset = f->position;
    return MPI_SUCCESS;
}

int tcio_get_info(tcio_file *fh, MPI_Info *info)
{
    struct file *f = tcioi_handle_file(fh);

    if (f == NULL)
        return MPI_ERR_FILE;
    return info == NULL ? MPI_ERR_ARG : tcioi_report_info(f, info);
}
