/*
 * ad_lustre_pipe: opening and closing a file.
 *
 * ROMIO's collective open calls the Open slot twice where a file may have to be created: on the
 * first aggregator alone, with ADIO_CREATE and MPI_COMM_SELF, and then, without ADIO_CREATE, on all
 * ranks. After that the first aggregator sends striping_unit and striping_factor of fd->hints to
 * all. So that one creates the file with the striping asked for, and asks how an open file is striped;
 * others learn the numbers without further messages.
 */

#include "ad_lustre_pipe.h"
#include "port/log.h"

#include <fcntl.h>
#include <limits.h>
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

static int say(ADIO_File fd, int descriptor, const char *what)
{
    if (descriptor >= 0 && what[0] != '\0')
        cio_log(CIO_LOG_NOTICE, "file %s: %s", fd->filename, what);
    return descriptor;
}

/*
 * What a failed creation left behind is ours: it does not offend against O_EXCL. What a file has
 * not got is said once there is a file.
 */
static int open_or_create(ADIO_File fd)
{
    char why[ADIOI_LUSTRE_PIPE_REASON] = "";
    int flags = posix_flags(fd->access_mode);
    int rc = -ENOTSUP;

    if (flags & O_CREAT)
        rc = ADIOI_LUSTRE_PIPE_Create(fd, flags, permissions(fd), why);
    if (rc >= 0)
        return say(fd, rc, why);
    if (rc != -ENOTSUP && rc != -EEXIST)
        flags &= ~O_EXCL;
    return say(fd, open(fd->filename, flags, permissions(fd)), why);
}

/* The one whose fd->hints all ranks get, in a collective open. */
static int is_source(ADIO_File fd)
{
    int rank;

    if (fd->comm == MPI_COMM_SELF || (fd->access_mode & ADIO_CREATE))
        return 0;
    MPI_Comm_rank(fd->comm, &rank);
    return rank == fd->hints->ranklist[0];
}

static void take_striping(ADIO_File fd)
{
    const struct cio_component *last;

    ADIOI_LUSTRE_PIPE_Discover(fd, fd->fd_sys);
    last = cio_layout_last(&ADIOI_LUSTRE_PIPE_File_of(fd)->layout);
    if (last == NULL)
        return;
    fd->hints->striping_unit = last->stripe <= INT_MAX ? (int) last->stripe : 0;
    fd->hints->striping_factor = last->targets;
}

void ADIOI_LUSTRE_PIPE_Open(ADIO_File fd, int *error_code)
{
    static char myname[] = "ADIOI_LUSTRE_PIPE_OPEN";

    fd->fd_direct = -1;
    fd->fd_sys = open_or_create(fd);
    if (fd->fd_sys == -1) {
        *error_code = ADIOI_Err_create_code(myname, fd->filename, errno);
        return;
    }
    if (fd->access_mode & ADIO_APPEND)
        fd->fp_ind = fd->fp_sys_posn = lseek(fd->fd_sys, 0, SEEK_END);
    if (is_source(fd))
        take_striping(fd);
    *error_code = MPI_SUCCESS;
}

static void publish(ADIO_File fd, const char *name, int value)
{
    char text[16];

    if (value <= 0)
        return;
    snprintf(text, sizeof(text), "%d", value);
    ADIOI_Info_set(fd->info, (char *) name, text);
}

void ADIOI_LUSTRE_PIPE_OpenColl(ADIO_File fd, int rank, int access_mode, int *error_code)
{
    ADIOI_GEN_OpenColl(fd, rank, access_mode, error_code);
    if (*error_code != MPI_SUCCESS)
        return;
    publish(fd, "striping_unit", fd->hints->striping_unit);
    publish(fd, "striping_factor", fd->hints->striping_factor);
}

void ADIOI_LUSTRE_PIPE_Close(ADIO_File fd, int *error_code)
{
    ADIOI_LUSTRE_PIPE_Forget(fd);
    ADIOI_GEN_Close(fd, error_code);
}
