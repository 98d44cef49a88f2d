/*
 * ad_tam: a rank that has returned from a collective call before it was over (cb_early_return).
 *
 * The engine's operation stays with the file, and is completed before anything else is done with it,
 * through whatever handle: another collective call, a sync, a close, an independent access, which
 * thus sees what was written, and is not written over by what is read, modified and written back.
 * That needs only ranks that are still in the call, or have completed it, so it never waits for a
 * rank that may wait for this one.
 *
 * Ranks that stay in the call to its end get its error from it. Those that had returned get the
 * same error, once, from the next blocking collective access, sync, set_size, set_atomicity or
 * close; what fails before that for another reason does not take its place, but for a close, after
 * which nothing comes. The call in between is made: the others make it too. A nonblocking access
 * does not deliver it: its errors go to the communicator's error handler, not to the file's.
 */

#include "ad_tam.h"

#include <sched.h>

/* The files of this process that have something to complete. Its lock is held for a moment only. */
static ADIOI_TAM_Early *left;
static pthread_mutex_t left_lock = PTHREAD_MUTEX_INITIALIZER;

static void remember(ADIOI_TAM_Early * early)
{
    pthread_mutex_lock(&left_lock);
    early->next = left;
    __atomic_store_n(&left, early, __ATOMIC_RELEASE);
    pthread_mutex_unlock(&left_lock);
}

static void forget(ADIOI_TAM_Early * early)
{
    ADIOI_TAM_Early **link = &left;

    pthread_mutex_lock(&left_lock);
    while (*link != early)
        link = &(*link)->next;
    __atomic_store_n(link, early->next, __ATOMIC_RELEASE);
    pthread_mutex_unlock(&left_lock);
}

void ADIOI_TAM_Leave(ADIO_File fd, struct cio_op *op, struct cio_comm *comm, ADIOI_TAM_Call * call)
{
    ADIOI_TAM_Early *early = &ADIOI_TAM_File_of(fd)->early;

    pthread_mutex_lock(&early->lock);
    early->op = op;
    early->comm = comm;
    early->call = call;
    early->fd = fd;
    remember(early);
    pthread_mutex_unlock(&early->lock);
}

/*
 * An MPI may make nonblocking calls progress while this waits (adio/preload/grequest.c), and one of
 * them may come here again: it finds nothing to complete.
 */
static void complete(ADIO_File fd, ADIOI_TAM_Early * early)
{
    struct cio_op *op = early->op;
    struct cio_stats stats;
    int rc;

    early->op = NULL;
    ADIOI_TAM_Begin_blocking();
    cio_op_wait(op);
    ADIOI_TAM_End_blocking();
    ADIOI_TAM_Check(fd, op);
    rc = cio_op_finish(op, &stats);
    ADIOI_TAM_Comm_free(fd, early->comm);
    ADIOI_TAM_Keep(early->call, &stats);
    ADIOI_TAM_Show(fd, &stats);
    if (early->error == 0)
        early->error = rc;
    forget(early);
}

void ADIOI_TAM_Early_init(ADIOI_TAM_Early * early)
{
    pthread_mutexattr_t recursive;

    pthread_mutexattr_init(&recursive);
    pthread_mutexattr_settype(&recursive, PTHREAD_MUTEX_RECURSIVE);
    pthread_mutex_init(&early->lock, &recursive);
    pthread_mutexattr_destroy(&recursive);
}

static void complete_own(ADIO_File fd)
{
    ADIOI_TAM_Early *early = &ADIOI_TAM_File_of(fd)->early;

    pthread_mutex_lock(&early->lock);
    if (early->op != NULL)
        complete(fd, early);
    pthread_mutex_unlock(&early->lock);
}

/* Takes its lock if there is something to complete; *busy: another thread has it, and completes it. */
static int hold(ADIOI_TAM_Early * early, int *busy)
{
    if (pthread_mutex_trylock(&early->lock) != 0) {
        *busy = 1;
        return 0;
    }
    if (early->op != NULL)
        return 1;
    pthread_mutex_unlock(&early->lock); /* this thread completes it */
    return 0;
}

/*
 * Finds one that was left through another handle of the file, and takes its lock, which keeps that
 * handle from being closed. It is only tried for: whoever has it may come for the list's.
 */
static ADIOI_TAM_Early *hold_another(ADIO_File fd, int *busy)
{
    ADIOI_TAM_Early *early;

    *busy = 0;
    pthread_mutex_lock(&left_lock);
    for (early = left; early != NULL; early = early->next)
        if (ADIOI_TAM_Is_same_file(early->fd, fd) && hold(early, busy))
            break;
    pthread_mutex_unlock(&left_lock);
    return early;
}

static void complete_others(ADIO_File fd)
{
    ADIOI_TAM_Early *early;
    int busy = 1;

    while (busy && __atomic_load_n(&left, __ATOMIC_ACQUIRE) != NULL) {
        while ((early = hold_another(fd, &busy)) != NULL) {
            complete(early->fd, early);
            pthread_mutex_unlock(&early->lock);
        }
        if (busy)
            sched_yield();
    }
}

void ADIOI_TAM_Complete(ADIO_File fd)
{
    complete_own(fd);
    complete_others(fd);
}

/* The error that is due, which is then delivered; 0: none. */
static int take_error(ADIO_File fd)
{
    ADIOI_TAM_Early *early = &ADIOI_TAM_File_of(fd)->early;
    int error;

    pthread_mutex_lock(&early->lock);
    error = early->error;
    early->error = 0;
    pthread_mutex_unlock(&early->lock);
    return error;
}

void ADIOI_TAM_Deliver(ADIO_File fd, int *error_code)
{
    if (*error_code == MPI_SUCCESS)
        *error_code = ADIOI_TAM_Error_code(fd, take_error(fd));
}

/* The table of the driver below, once nothing of this rank's is under way. */
static ADIOI_Fns *completed(ADIO_File fd)
{
    ADIOI_TAM_Complete(fd);
    return ADIOI_TAM_File_of(fd)->below;
}

/* MPI_File_sync is collective, and what it fails with on one rank, all learn. */
static void flush(ADIO_File fd, int *error_code)
{
    int64_t error;

    (*completed(fd)->ADIOI_xxx_Flush) (fd, error_code);
    error = ADIOI_TAM_Errno(*error_code);
    ADIOI_TAM_Least(fd, &error, 1);
    if (*error_code == MPI_SUCCESS)
        *error_code = ADIOI_TAM_Error_code(fd, (int) error);
    ADIOI_TAM_Deliver(fd, error_code);
}

static void close_file(ADIO_File fd, int *error_code)
{
    int late;

    (*completed(fd)->ADIOI_xxx_Close) (fd, error_code);
    late = take_error(fd);
    if (late != 0)
        *error_code = ADIOI_TAM_Error_code(fd, late);
}

static void resize(ADIO_File fd, ADIO_Offset size, int *error_code)
{
    (*completed(fd)->ADIOI_xxx_Resize) (fd, size, error_code);
    ADIOI_TAM_Deliver(fd, error_code);
}

static void control(ADIO_File fd, int flag, ADIO_Fcntl_t * fcntl_struct, int *error_code)
{
    (*completed(fd)->ADIOI_xxx_Fcntl) (fd, flag, fcntl_struct, error_code);
    if (flag == ADIO_FCNTL_SET_ATOMICITY)
        ADIOI_TAM_Deliver(fd, error_code);
}

static void read_contig(ADIO_File fd, void *buf, ADIOI_TAM_Count count, MPI_Datatype datatype,
                        int file_ptr_type, ADIO_Offset offset, ADIO_Status * status,
                        int *error_code)
{
    (*completed(fd)->ADIOI_xxx_ReadContig) (fd, buf, count, datatype, file_ptr_type, offset, status,
                                           error_code);
}

static void write_contig(ADIO_File fd, const void *buf, ADIOI_TAM_Count count,
                         MPI_Datatype datatype, int file_ptr_type, ADIO_Offset offset,
                         ADIO_Status * status, int *error_code)
{
    (*completed(fd)->ADIOI_xxx_WriteContig) (fd, buf, count, datatype, file_ptr_type, offset,
                                            status, error_code);
}

static void read_strided(ADIO_File fd, void *buf, ADIOI_TAM_Count count, MPI_Datatype datatype,
                         int file_ptr_type, ADIO_Offset offset, ADIO_Status * status,
                         int *error_code)
{
    (*completed(fd)->ADIOI_xxx_ReadStrided) (fd, buf, count, datatype, file_ptr_type, offset,
                                            status, error_code);
}

static void write_strided(ADIO_File fd, const void *buf, ADIOI_TAM_Count count,
                          MPI_Datatype datatype, int file_ptr_type, ADIO_Offset offset,
                          ADIO_Status * status, int *error_code)
{
    ADIOI_Fns *below = completed(fd);
    int sieve = fd->hints->ds_write;

    if (ADIOI_TAM_Is_outstanding(fd))
        fd->hints->ds_write = ADIOI_HINT_DISABLE;
    (*below->ADIOI_xxx_WriteStrided) (fd, buf, count, datatype, file_ptr_type, offset, status,
                                      error_code);
    fd->hints->ds_write = sieve;
}

static void iread_contig(ADIO_File fd, void *buf, ADIOI_TAM_Count count, MPI_Datatype datatype,
                         int file_ptr_type, ADIO_Offset offset, ADIO_Request * request,
                         int *error_code)
{
    (*completed(fd)->ADIOI_xxx_IreadContig) (fd, buf, count, datatype, file_ptr_type, offset,
                                            request, error_code);
}

static void iwrite_contig(ADIO_File fd, const void *buf, ADIOI_TAM_Count count,
                          MPI_Datatype datatype, int file_ptr_type, ADIO_Offset offset,
                          ADIO_Request * request, int *error_code)
{
    (*completed(fd)->ADIOI_xxx_IwriteContig) (fd, buf, count, datatype, file_ptr_type, offset,
                                             request, error_code);
}

static void iread_strided(ADIO_File fd, void *buf, ADIOI_TAM_Count count, MPI_Datatype datatype,
                          int file_ptr_type, ADIO_Offset offset, ADIO_Request * request,
                          int *error_code)
{
    (*completed(fd)->ADIOI_xxx_IreadStrided) (fd, buf, count, datatype, file_ptr_type, offset,
                                             request, error_code);
}

static void iwrite_strided(ADIO_File fd, const void *buf, ADIOI_TAM_Count count,
                           MPI_Datatype datatype, int file_ptr_type, ADIO_Offset offset,
                           ADIO_Request * request, int *error_code)
{
    ADIOI_Fns *below = completed(fd);
    int sieve = fd->hints->ds_write;

    if (ADIOI_TAM_Is_outstanding(fd))
        fd->hints->ds_write = ADIOI_HINT_DISABLE;
    (*below->ADIOI_xxx_IwriteStrided) (fd, buf, count, datatype, file_ptr_type, offset, request,
                                       error_code);
    fd->hints->ds_write = sieve;
}

void ADIOI_TAM_Early_slots(ADIOI_Fns * fns)
{
    fns->ADIOI_xxx_Flush = flush;
    fns->ADIOI_xxx_Close = close_file;
    fns->ADIOI_xxx_Resize = resize;
    fns->ADIOI_xxx_Fcntl = control;
    fns->ADIOI_xxx_ReadContig = read_contig;
    fns->ADIOI_xxx_WriteContig = write_contig;
    fns->ADIOI_xxx_ReadStrided = read_strided;
    fns->ADIOI_xxx_WriteStrided = write_strided;
    fns->ADIOI_xxx_IreadContig = iread_contig;
    fns->ADIOI_xxx_IwriteContig = iwrite_contig;
    fns->ADIOI_xxx_IreadStrided = iread_strided;
    fns->ADIOI_xxx_IwriteStrided = iwrite_strided;
}
