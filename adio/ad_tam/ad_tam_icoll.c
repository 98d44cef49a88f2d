/*
 * ad_tam: nonblocking collectives. The engine's operation is handed to a generalized request whose
 * poll function makes it progress in MPI_Test and MPI_Wait.
 *
 * Several of them may be under way on one file, and ranks poll them in any order. So all that is
 * collective on the file's communicator is the one reduction that is started in the call itself,
 * where the order is the same on all ranks.
 */

#include "ad_tam.h"
#include "port/comm_mpi.h"

typedef struct pending {
    ADIO_File fd;
    MPI_Request request;        /* what the program waits for */
    struct cio_comm *comm;
    struct cio_op *op;
    struct cio_segment segment; /* others may be under way */
    struct cio_request req;
    MPI_Datatype datatype;      /* for the rank's own access, where the engine declines */
    ADIOI_TAM_Count count;
    ADIO_Offset offset;         /* in etypes */
    int error_code;
    int done;
} pending;

static int query(void *state, MPI_Status * status)
{
    pending *p = state;
    MPI_Count bytes = p->error_code == MPI_SUCCESS ? p->req.bytes : 0;

    MPI_Status_set_elements_x(status, MPI_BYTE, bytes);
    MPI_Status_set_cancelled(status, 0);
    status->MPI_SOURCE = MPI_UNDEFINED;
    status->MPI_TAG = MPI_UNDEFINED;
    return p->error_code;
}

static int release(void *state)
{
    pending *p = state;

    ADIOI_TAM_Request_free(&p->req);
    MPI_Type_free(&p->datatype);
    ADIOI_Free(p);
    return MPI_SUCCESS;
}

static int cancel(void *state, int complete)
{
    (void) state;
    (void) complete;
    return MPI_SUCCESS;         /* collective I/O is not cancelled */
}

/* What the engine leaves alone, each rank does by itself: that needs no other rank. */
static void access_alone(pending * p)
{
    ADIOI_Fns *below = ADIOI_TAM_File_of(p->fd)->below;
    ADIO_Status status;

    p->error_code = MPI_SUCCESS;
    if (p->req.bytes == 0)
        return;
    if (p->req.write)
        (*below->ADIOI_xxx_WriteStrided) (p->fd, p->req.buf, p->count, p->datatype,
                                         ADIO_EXPLICIT_OFFSET, p->offset, &status, &p->error_code);
    else
        (*below->ADIOI_xxx_ReadStrided) (p->fd, p->req.buf, p->count, p->datatype,
                                        ADIO_EXPLICIT_OFFSET, p->offset, &status, &p->error_code);
}

static void conclude(pending * p)
{
    struct cio_stats stats;
    int rc = cio_op_finish(p->op, &stats);

    cio_comm_destroy(p->comm);
    ADIOI_TAM_Segment_free(&p->segment);
    p->done = 1;
    if (rc == -ECANCELED)
        access_alone(p);
    else
        p->error_code = ADIOI_TAM_Error_code(p->fd, rc);
    p->fd->async_count--;
    MPI_Grequest_complete(p->request);
}

static int poll(void *state, MPI_Status * status)
{
    pending *p = state;

    (void) status;
    if (p->done)
        return MPI_SUCCESS;
    cio_comm_poll(p->comm);
    if (cio_op_progress(p->op))
        conclude(p);
    return MPI_SUCCESS;
}

static int wait_all(int count, void **states, double timeout, MPI_Status * status)
{
    (void) timeout;
    for (int i = 0; i < count; i++)
        while (!((pending *) states[i])->done)
            poll(states[i], status);
    return MPI_SUCCESS;
}

/* Starts the engine; 0 if the driver below must serve the call. */
static int start(ADIO_File fd, void *buf, ADIOI_TAM_Count count, MPI_Datatype datatype,
                 int file_ptr_type, ADIO_Offset offset, int write, ADIO_Request * request,
                 int *error_code)
{
    pending *p;
    int rc;

    if (ADIOI_TAM_File_of(fd)->nodes == NULL || !ADIOI_TAM_Is_served(fd, write))
        return 0;
    p = ADIOI_Calloc(1, sizeof(*p));
    p->fd = fd;
    p->count = count;
    MPI_Type_dup(datatype, &p->datatype);
    rc = ADIOI_TAM_Request_init(fd, buf, count, datatype, file_ptr_type, offset, &p->req);
    p->req.write = write;
    p->req.error = rc != 0 ? rc : ADIOI_TAM_Open_deferred(fd);
    p->offset = p->req.start / fd->etype_size;
    p->op = ADIOI_TAM_Start(fd, &p->req, &p->segment, &p->comm);
    fd->async_count++;
    *error_code = MPIX_Grequest_start(query, release, cancel, poll, wait_all, p, request);
    p->request = *request;
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
