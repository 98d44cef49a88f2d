/* What the Fortran module cannot do by itself: handles of the MPI become those of C. */
#include "internal.h"

#pragma GCC visibility push(default)
int tcio_open_f(int comm, const char *name, int amode, int info, tcio_file **fh);
int tcio_move_f(tcio_file *fh, int writing, int here, int64_t where, void *data, int64_t count,
                int type);
int tcio_seek_f(tcio_file *fh, int64_t offset, int whence);
int tcio_tell_f(tcio_file *fh, int64_t *offset);
int tcio_get_info_f(tcio_file *fh, int *info);
#pragma GCC visibility pop

int tcio_open_f(int comm, const char *name, int amode, int info, tcio_file **fh)
{
    return tcio_open(MPI_Comm_f2c(comm), name, amode, MPI_Info_f2c(info), fh);
}

int tcio_move_f(tcio_file *fh, int writing, int here, int64_t where, void *data, int64_t count,
                int type)
{
    MPI_Datatype datatype = MPI_Type_f2c(type);

    if (writing)
        return here ? tcio_write(fh, data, count, datatype)
                    : tcio_write_at(fh, where, data, count, datatype);
    return here ? tcio_read(fh, data, count, datatype)
                : tcio_read_at(fh, where, data, count, datatype);
}

int tcio_seek_f(tcio_file *fh, int64_t offset, int whence)
{
    return tcio_seek(fh, offset, whence);
}

int tcio_tell_f(tcio_file *fh, int64_t *offset)
{
    MPI_Offset at;
    int rc = tcio_tell(fh, &at);

    if (rc == MPI_SUCCESS)
        *offset = at;
    return rc;
}

int tcio_get_info_f(tcio_file *fh, int *info)
{
    MPI_Info made;
    int rc = tcio_get_info(fh, &made);

    if (rc == MPI_SUCCESS)
        *info = MPI_Info_c2f(made);
    return rc;
}
