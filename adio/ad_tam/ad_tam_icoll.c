/*
 * ad_tam: nonblocking collectives. The engine's operation is handed to a generalized request whose
 * poll function makes it progress in MPI_Test and MPI_Wait.
 *
 * Several of them may be under way, and ranks wait for them in any order. So all that is collective
 * on the file's communicator is the one reduction that is started in the call itself, where the
 * order is the same on all ranks; and since MPI_Wait polls only the request that it waits for, every
 * poll makes all operations of this process progress. That list is the one thing here that is not
 * kept with a file. MPI calls poll functions of several threads at once: one of them does it for all.
 */

#include "ad_tam.h"
#include "port/comm_mpi.h"

#include <sched.h>

typedef struct pending {
    struct pending *next;
    ADIO_File fd;
    MPI_Request request;        /* what the program waits for */
    struct cio_comm *comm;
    struct cio_op *op;
    struct cio_segment segment; /* others may be under way */
    struct cio_request req;
    MPI_Datatype datatype;      /* for the rank's own access, where the engine declines */
    ADIOI_TAM_Count count;
    ADIOI_TAM_Call *call;       /* for the report */
    MPI_Count moved;            /* bytes, when it is done */
    int error_code;
    int done;
} pending;

static pending *under_way;
static pthread_mutex_t under_way_lock = PTHREAD_MUTEX_INITIALIZER;

static const char is_nonblocking[] = "it is nonblocking";

static void forget(pending * p)
{
    pending **link = &under_way;

    while (*link != p)
        link = &(*link)->next;
    *link = p->next;
}

static int query(void *state, MPI_Status * status)
{
    pending *p = state;

    MPI_Status_set_elements_x(status, MPI_BYTE, p->error_code == MPI_SUCCESS ? p->moved : 0);
    MPI_Status_set_cancelled(status, 0);
    status->MPI_SOURCE = MPI_UNDEFINED;
    status->MPI_TAG = MPI_UNDEFINED;
    return p->error_code;
}

/* MPICH holds its lock meanwhile: no MPI call may be made here. */
static int release(void *state)
{
    ADIOI_Free(state);
    return MPI_SUCCESS;
}

static int cancel(void *state, int complete)
{
    (void) state;
    (void) complete;
    return MPI_SUCCESS;         /* collective I/O is not cancelled */
}

static void access_contig(pending * p, ADIO_Status * status)
{
    ADIOI_Fns *below = ADIOI_TAM_File_of(p->fd)->below;
    ADIO_Offset at = p->req.disp + p->req.start;

    if (p->req.write)
        (*below->ADIOI_xxx_WriteContig) (p->fd, p->req.buf, p->count, p->datatype,
                                        ADIO_EXPLICIT_OFFSET, at, status, &p->error_code);
    else
        (*below->ADIOI_xxx_ReadContig) (p->fd, p->req.buf, p->count, p->datatype,
                                       ADIO_EXPLICIT_OFFSET, at, status, &p->error_code);
}

static void access_strided(pending * p, ADIO_Status * status)
{
    ADIOI_Fns *below = ADIOI_TAM_File_of(p->fd)->below;
    ADIO_Offset at = p->req.start / p->fd->etype_size;

    if (p->req.write)
        (*below->ADIOI_xxx_WriteStrided) (p->fd, p->req.buf, p->count, p->datatype,
                                         ADIO_EXPLICIT_OFFSET, at, status, &p->error_code);
    else
        (*below->ADIOI_xxx_ReadStrided) (p->fd, p->req.buf, p->count, p->datatype,
                                        ADIO_EXPLICIT_OFFSET, at, status, &p->error_code);
}

/* What the engine leaves alone, each rank does by itself: that needs no other rank. */
static void access_alone(pending * p)
{
    ADIO_Status status;

    p->error_code = MPI_SUCCESS;
    if (p->req.bytes == 0)
        return;
    if (!p->fd->is_open)
        ADIO_ImmediateOpen(p->fd, &p->error_code);
    if (p->error_code != MPI_SUCCESS)
        return;
    if (p->req.file->dense && p->req.mem->dense)
        access_contig(p, &status);
    else
        access_strided(p, &status);
    p->moved = p->req.bytes;
#ifdef HAVE_STATUS_SET_BYTES
    if (p->error_code == MPI_SUCCESS)
        MPI_Get_elements_x(&status, MPI_BYTE, &p->moved);
#endif
}

/* Nonblocking calls are asked for, as the engine sees it, whatever the hint says. */
static void explain(ADIO_File fd, struct cio_stats *stats)
{
    const ADIOI_TAM_File *layer = ADIOI_TAM_File_of(fd);

    if (!stats->declined && stats->why != NULL && !ADIOI_TAM_Is_asked(layer))
        stats->why = is_nonblocking;
}

/* The program may free it at once when it is complete. */
static void conclude(pending * p)
{
    struct cio_stats stats;
    int rc;

    p->moved = cio_op_moved(p->op);
    rc = cio_op_finish(p->op, &stats);
    explain(p->fd, &stats);
    ADIOI_TAM_Keep(p->call, &stats);
    ADIOI_TAM_Show(p->fd, &stats);

    forget(p);
    cio_comm_destroy(p->comm);
    ADIOI_TAM_Segment_free(&p->segment);
    if (stats.declined)
        access_alone(p);
    else
        p->error_code = ADIOI_TAM_Error_code(p->fd, rc);
    p->fd->dirty_write |= p->req.write;
    ADIOI_TAM_Request_free(&p->req);
    MPI_Type_free(&p->datatype);
    __atomic_sub_fetch(&p->fd->async_count, 1, __ATOMIC_RELAXED);
    __atomic_store_n(&p->done, 1, __ATOMIC_RELEASE);
    MPI_Grequest_complete(p->request);
}

static void progress_all(void)
{
    pending *next;

    if (pthread_mutex_trylock(&under_way_lock) != 0)
        return; /* another thread does */
    for (pending * p = under_way; p != NULL; p = next) {
        next = p->next;
        cio_comm_poll(p->comm);
        if (cio_op_progress(p->op))
            conclude(p);
    }
    pthread_mutex_unlock(&under_way_lock);
}

static int poll(void *state, MPI_Status * status)
{
    (void) state;
    (void) status;
    progress_all();
    return MPI_SUCCESS;
}

static int wait_all(int count, void **states, double timeout, MPI_Status * status)
{
    (void) timeout;
    (void) status;
    for (int i = 0; i < count; i++)
        while (!__atomic_load_n(&((pending *) states[i])->done, __ATOMIC_ACQUIRE)) {
            progress_all();
            sched_yield();
        }
    return MPI_SUCCESS;
}

/* What must be agreed on has been: by an earlier call, which all ranks made too. */
static int is_ready(ADIO_File fd)
{
    int size;

    MPI_Comm_size(fd->comm, &size);
    return size == 1 || (ADIOI_TAM_File_of(fd)->agreed && ADIOI_TAM_File_of(fd)->nodes != NULL);
}

/* Whether it is to be reported has not been agreed on either. */
static void leave_early(ADIO_File fd)
{
    struct cio_stats stats = {.declined = 1,.why = "ranks have not agreed on hints yet" };

    ADIOI_TAM_Show(fd, &stats);
}

static const char *call_name(int write)
{
    return write ? "iwrite" : "iread";
}

/* A call that the engine is not asked to serve. */
static void leave(ADIO_File fd, int write, const char *why)
{
    struct cio_stats stats = {.declined = 1,.why = why };

    ADIOI_TAM_Keep(ADIOI_TAM_Promise(fd, call_name(write)), &stats);
    ADIOI_TAM_Show(fd, &stats);
}

/* Starts the engine; 0 if the driver below must serve the call. */
static int start(ADIO_File fd, void *buf, ADIOI_TAM_Count count, MPI_Datatype datatype,
                 int file_ptr_type, ADIO_Offset offset, int write, ADIO_Request * request,
                 int *error_code)
{
    const char *refusal;
    pending *p;
    int rc;

    ADIOI_TAM_Complete(fd);
    if (!is_ready(fd)) {
        leave_early(fd);
        return 0;
    }
    refusal = ADIOI_TAM_Refuse(fd, write);
    if (refusal == NULL && ADIOI_TAM_File_of(fd)->grouping == NULL)
        refusal = "groups have not been made yet"; /* that would make it wait */
    if (refusal != NULL) {
        leave(fd, write, refusal);
        return 0;
    }
    p = ADIOI_Calloc(1, sizeof(*p));
    p->fd = fd;
    p->count = count;
    MPI_Type_dup(datatype, &p->datatype);
    rc = ADIOI_TAM_Request_init(fd, buf, count, datatype, file_ptr_type, offset, 0, &p->req);
    p->req.write = write;
    p->req.error = rc != 0 ? rc : ADIOI_TAM_Open_deferred(fd);
    p->call = ADIOI_TAM_Promise(fd, call_name(write));
    p->op = ADIOI_TAM_Start(fd, &p->req, &p->segment, &p->comm);
    __atomic_add_fetch(&fd->async_count, 1, __ATOMIC_RELAXED);
    *error_code = MPIX_Grequest_start(query, release, cancel, poll, wait_all, p, request);
    p->request = *request;
    pthread_mutex_lock(&under_way_lock);
    p->next = under_way;
    under_way = p;
    pthread_mutex_unlock(&under_way_lock);
    return 1;
}

void ADIOI_TAM_IwriteStridedColl(ADIO_File fd, const void *buf, ADIOI_TAM_Count count,
                                 MPI_Datatype datatype, int file_ptr_type, ADIO_Offset offset,
                                 ADIO_Request * request, int *error_code)
{
    if (!start(fd, (void *) buf, count, datatype, file_ptr_type, offset, 1, request, error_code))
        (*ADIOI_TAM_File_of(fd)->below->ADIOI_xxx_IwriteStridedColl) (fd, buf, count, datatype,
                                                                     file_ptr_type, offset, request,
                                                                     error_code);
}

void ADIOI_TAM_IreadStridedColl(ADIO_File fd, void *buf, ADIOI_TAM_Count count,
                                MPI_Datatype datatype, int file_ptr_type, ADIO_Offset offset,
                                ADIO_Request * request, int *error_code)
{
    if (!start(fd, buf, count, datatype, file_ptr_type, offset, 0, request, error_code))
        (*ADIOI_TAM_File_of(fd)->below->ADIOI_xxx_IreadStridedColl) (fd, buf, count, datatype,
                                                                    file_ptr_type, offset, request,
                                                                    error_code);
}
