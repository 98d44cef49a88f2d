/* ad_lustre_pipe: opening a file. */

#include "ad_lustre_pipe.h"

#include <fcntl.h>
#include <unistd.h>

static int posix_flags(int access_mode)
{
    int flags = O_CLOEXEC;

    if (access_mode & ADIO_RDWR)
        flags |= O_RDWR;
    else if (access_mode & ADIO_WRONLY)
        flags |= O_WRONLY;
    else
        flags |= O_RDONLY;
    if (access_mode & ADIO_CREATE)
        flags |= O_CREAT;
    if (access_mode & ADIO_EXCL)
        flags |= O_EXCL;
    return flags;
}

/* open(2) applies the umask itself, so the default is everything that it leaves. */
static mode_t permissions(ADIO_File fd)
{
    return fd->perm == ADIO_PERM_NULL ? 0666 : (mode_t) fd->perm;
}

void ADIOI_LUSTRE_PIPE_Open(ADIO_File fd, int *error_code)
{
    static char myname[] = "ADIOI_LUSTRE_PIPE_OPEN";

    fd->fd_direct = -1;
    fd->fd_sys = open(fd->filename, posix_flags(fd->access_mode), permissions(fd));
    if (fd->fd_sys == -1) {
        *error_code = ADIOI_Err_create_code(myname, fd->filename, errno);
        return;
    }
    if (fd->access_mode & ADIO_APPEND)
        fd->fp_ind = fd->fp_sys_posn = lseek(fd->fd_sys, 0, SEEK_END);
    *error_code = MPI_SUCCESS;
}
