/*
 * ad_tam: what a call cannot do without, kept with the file for when there is no memory. Such a call
 * still takes part, and fails on all ranks, instead of ending the job.
 *
 * Each is taken from the heap if it has one, else from here, and there is another by the next call
 * that finds memory. Nonblocking calls end in whatever thread polls: so all is taken and put back
 * atomically.
 */

#include "ad_tam.h"
#include "port/comm_mpi.h"
#include "port/log.h"

static ADIOI_TAM_Reserve *reserve_of(ADIO_File fd)
{
    return &ADIOI_TAM_File_of(fd)->reserve;
}

/* Puts it there if nothing is; else it stays the caller's, and 0. */
static int put(void *slot, void *p)
{
    void *none = NULL;

    return __atomic_compare_exchange_n((void **) slot, &none, p, 0, __ATOMIC_ACQ_REL,
                                       __ATOMIC_RELAXED);
}

static void *take(void *slot)
{
    return __atomic_exchange_n((void **) slot, NULL, __ATOMIC_ACQ_REL);
}

/* 0, or -ENOMEM where nothing is there and no memory either. */
static int fill(void *slot, size_t size)
{
    void *p;

    if (__atomic_load_n((void **) slot, __ATOMIC_ACQUIRE) != NULL)
        return 0;
    p = ADIOI_TAM_Alloc(size);
    if (p == NULL)
        return -ENOMEM;
    if (!put(slot, p))
        ADIOI_Free(p);
    return 0;
}

static int make_comm(ADIO_File fd, struct cio_comm **comm)
{
    return cio_comm_mpi_create(fd->comm, ADIOI_TAM_File_of(fd)->crowded ? CIO_MPI_CROWDED : 0,
                               comm);
}

static int fill_comm(ADIO_File fd)
{
    struct cio_comm *comm;
    int rc;

    if (__atomic_load_n(&reserve_of(fd)->comm, __ATOMIC_ACQUIRE) != NULL)
        return 0;
    rc = make_comm(fd, &comm);
    if (rc == 0)
        ADIOI_TAM_Comm_free(fd, comm);
    return rc;
}

static int fill_op(ADIO_File fd)
{
    struct cio_op *op;

    if (__atomic_load_n(&reserve_of(fd)->op, __ATOMIC_ACQUIRE) != NULL)
        return 0;
    op = cio_op_reserve();
    if (op == NULL)
        return -ENOMEM;
    if (!put(&reserve_of(fd)->op, op))
        cio_op_unreserve(op);
    return 0;
}

int ADIOI_TAM_Reserve_fill(ADIO_File fd)
{
    ADIOI_TAM_Reserve *r = reserve_of(fd);
    int rc = fill_op(fd);

    if (rc == 0)
        rc = fill_comm(fd);
    if (rc == 0)
        rc = fill(&r->pending, ADIOI_TAM_Pending_size);
    if (rc == 0)
        rc = fill(&r->note, sizeof(ADIOI_TAM_Call));
    return rc;
}

void ADIOI_TAM_Reserve_free(ADIO_File fd)
{
    ADIOI_TAM_Reserve *r = reserve_of(fd);

    cio_op_unreserve(r->op);
    cio_comm_destroy(r->comm);
    if (r->pending != NULL)
        ADIOI_Free(r->pending);
    if (r->note != NULL)
        ADIOI_Free(r->note);
    memset(r, 0, sizeof(*r));
}

/* The heap, or the reserve. */
static void *get(ADIO_File fd, void *slot, size_t size, const char *what)
{
    void *p = ADIOI_TAM_Alloc(size);

    if (p == NULL)
        p = take(slot);
    if (p != NULL)
        return p;
    cio_log(CIO_LOG_NOTICE, "file %s: no memory for %s", fd->filename, what);
    MPI_Abort(fd->comm, 1);
    return NULL;
}

struct ADIOI_TAM_Pending *ADIOI_TAM_Pending_get(ADIO_File fd)
{
    ADIOI_TAM_Reserve_fill(fd);
    return get(fd, &reserve_of(fd)->pending, ADIOI_TAM_Pending_size,
               "a nonblocking collective call");
}

ADIOI_TAM_Call *ADIOI_TAM_Note_get(ADIO_File fd)
{
    return get(fd, &reserve_of(fd)->note, sizeof(ADIOI_TAM_Call), "a call's statistics");
}

int ADIOI_TAM_Comm_get(ADIO_File fd, struct cio_comm **comm)
{
    *comm = take(&reserve_of(fd)->comm);
    return *comm != NULL ? 0 : make_comm(fd, comm);
}

void ADIOI_TAM_Comm_free(ADIO_File fd, struct cio_comm *comm)
{
    if (!put(&reserve_of(fd)->comm, comm))
        cio_comm_destroy(comm);
}
