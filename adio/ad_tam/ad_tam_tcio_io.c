/*
 * ad_tam, TCIO: the slots of independent access. Each contiguous run, of the file and of memory, is
 * one access to the space. Nonblocking ones are made at once, as ROMIO does where it has no
 * asynchronous I/O; so are nonblocking collective ones.
 */

#include "ad_tam_tcio.h"

static ADIOI_TAM_Tcio *tcio_of(ADIO_File fd)
{
    return ADIOI_TAM_File_of(fd)->tcio;
}

/* A contiguous run of an access, in the file and in memory. */
typedef struct {
    struct cio_cursor at, mem;
    int64_t left;
    char *buf;
    int64_t off, len;
} run;

static void first_run(run * r, const struct cio_request *req)
{
    memset(r, 0, sizeof(*r));
    r->left = req->bytes;
    if (req->bytes == 0)
        return;
    cio_cursor_seek(&r->at, req->file, req->start);
    cio_cursor_seek(&r->mem, req->mem, 0);
}

static int next_run(run * r, const struct cio_request *req)
{
    if (r->len > 0) {
        cio_cursor_skip(&r->at, r->len);
        cio_cursor_skip(&r->mem, r->len);
    }
    if (r->left == 0)
        return 0;
    r->len = cio_cursor_run(&r->mem, cio_cursor_run(&r->at, r->left));
    r->off = req->disp + cio_cursor_offset(&r->at);
    r->buf = req->buf + cio_cursor_offset(&r->mem);
    r->left -= r->len;
    return 1;
}

static int write_runs(ADIOI_TAM_Tcio * t, const struct cio_request *req)
{
    run r;
    int rc = 0, rc2;

    cio_tcio_hold(t->file);
    for (first_run(&r, req); rc == 0 && next_run(&r, req);)
        rc = cio_tcio_write(t->file, r.off, r.buf, r.len);
    rc2 = cio_tcio_release(t->file);
    return rc != 0 ? rc : rc2;
}

/* Bytes of an access that lie before the end of the file. */
static int count_before_end(ADIOI_TAM_Tcio * t, const struct cio_request *req, int64_t * moved)
{
    int64_t size;
    run r;
    int rc = cio_tcio_size(t->file, &size);

    *moved = 0;
    for (first_run(&r, req); rc == 0 && next_run(&r, req);)
        *moved += cio_max64(0, cio_min64(r.len, size - r.off));
    return rc;
}

/*
 * All at once. If the last run lies before the end of the file, so do all others of a view that does
 * not go back.
 */
static int read_runs(ADIOI_TAM_Tcio * t, const struct cio_request *req, int64_t * moved)
{
    int64_t got = 0;
    run r;
    int rc = 0, rc2;

    cio_tcio_hold(t->file);
    for (first_run(&r, req); rc == 0 && next_run(&r, req);)
        if (r.left > 0)
            rc = cio_tcio_read_later(t->file, r.off, r.buf, r.len);
        else
            rc = cio_tcio_read(t->file, r.off, r.buf, r.len, &got);
    rc2 = cio_tcio_fetch(t->file);
    cio_tcio_release(t->file);
    if (rc != 0 || rc2 != 0)
        return rc != 0 ? rc : rc2;
    *moved = req->bytes - r.len + got;
    if (r.len == req->bytes || (got == r.len && req->file->sorted))
        return 0;
    return count_before_end(t, req, moved);
}

/* Makes an access: 0 and the bytes moved, or an error. */
static int move(ADIO_File fd, const struct cio_request *req, int64_t * moved)
{
    ADIOI_TAM_Tcio *t = tcio_of(fd);
    int rc;

    *moved = 0;
    if (req->bytes == 0)
        return 0;
    pthread_mutex_lock(&t->lock);
    t->used |= req->write ? ADIOI_TAM_TCIO_WROTE : ADIOI_TAM_TCIO_LOOKED;
    if (req->write)
        rc = write_runs(t, req);
    else
        rc = read_runs(t, req, moved);
    pthread_mutex_unlock(&t->lock);
    if (rc == 0 && req->write)
        *moved = req->bytes;
    fd->dirty_write |= req->write;
    return rc;
}

/* A call of any kind, through the view: 0 and the bytes moved, or an error and the pointer as it was. */
static int move_strided(ADIO_File fd, const void *buf, ADIOI_TAM_Count count, MPI_Datatype datatype,
                        int file_ptr_type, ADIO_Offset offset, int write, int64_t * moved)
{
    ADIO_Offset pointer = fd->fp_ind;
    struct cio_request req;
    int rc = ADIOI_TAM_Request_init(fd, (void *) buf, count, datatype, file_ptr_type, offset, 0,
                                    &req);

    *moved = 0;
    req.write = write;
    if (rc == 0)
        rc = move(fd, &req, moved);
    ADIOI_TAM_Request_free(&req);
    if (rc != 0)
        fd->fp_ind = pointer;
    return rc;
}

/* A call that ROMIO has found to be one piece, at a place in the file. */
static int move_contig(ADIO_File fd, const void *buf, ADIOI_TAM_Count count, MPI_Datatype datatype,
                       int file_ptr_type, ADIO_Offset offset, int write, int64_t * moved)
{
    ADIOI_TAM_Tcio *t = tcio_of(fd);
    MPI_Count size;
    int rc;

    *moved = 0;
    MPI_Type_size_x(datatype, &size);
    size *= count;
    if (size == 0)
        return 0;
    if (file_ptr_type == ADIO_INDIVIDUAL)
        offset = fd->fp_ind;
    pthread_mutex_lock(&t->lock);
    t->used |= write ? ADIOI_TAM_TCIO_WROTE : ADIOI_TAM_TCIO_LOOKED;
    if (write)
        rc = cio_tcio_write(t->file, offset, buf, size);
    else
        rc = cio_tcio_read(t->file, offset, (void *) buf, size, moved);
    pthread_mutex_unlock(&t->lock);
    if (rc == 0 && write)
        *moved = size;
    fd->dirty_write |= write;
    if (file_ptr_type == ADIO_INDIVIDUAL && rc == 0)
        fd->fp_ind += *moved;
    return rc;
}

/* What a blocking call, and a nonblocking one, tell of it. */
static void conclude(ADIO_File fd, int rc, MPI_Datatype datatype, int64_t moved,
                     ADIO_Status * status, int *error_code)
{
    *error_code = ADIOI_TAM_Error_code(fd, rc);
    ADIOI_TAM_Set_count(status, datatype, rc == 0 ? moved : 0);
}

static void conclude_request(ADIO_File fd, int rc, int64_t moved, ADIO_Request * request,
                             int *error_code)
{
    *error_code = ADIOI_TAM_Error_code(fd, rc);
    MPIO_Completed_request_create(&fd, rc == 0 ? moved : 0, error_code, request);
}

static void write_contig(ADIO_File fd, const void *buf, ADIOI_TAM_Count count,
                         MPI_Datatype datatype, int file_ptr_type, ADIO_Offset offset,
                         ADIO_Status * status, int *error_code)
{
    int64_t moved;
    int rc;

    if (ADIOI_TAM_Tcio_takes(fd)) {
        rc = move_contig(fd, buf, count, datatype, file_ptr_type, offset, 1, &moved);
        conclude(fd, rc, datatype, moved, status, error_code);
        return;
    }
    (*tcio_of(fd)->plain.ADIOI_xxx_WriteContig) (fd, buf, count, datatype, file_ptr_type, offset,
                                                 status, error_code);
    ADIOI_TAM_Tcio_passed();
}

static void read_contig(ADIO_File fd, void *buf, ADIOI_TAM_Count count, MPI_Datatype datatype,
                        int file_ptr_type, ADIO_Offset offset, ADIO_Status * status,
                        int *error_code)
{
    int64_t moved;
    int rc;

    if (ADIOI_TAM_Tcio_takes(fd)) {
        rc = move_contig(fd, buf, count, datatype, file_ptr_type, offset, 0, &moved);
        conclude(fd, rc, datatype, moved, status, error_code);
        return;
    }
    (*tcio_of(fd)->plain.ADIOI_xxx_ReadContig) (fd, buf, count, datatype, file_ptr_type, offset,
                                                status, error_code);
    ADIOI_TAM_Tcio_passed();
}

static void write_strided(ADIO_File fd, const void *buf, ADIOI_TAM_Count count,
                          MPI_Datatype datatype, int file_ptr_type, ADIO_Offset offset,
                          ADIO_Status * status, int *error_code)
{
    int64_t moved;
    int rc;

    if (ADIOI_TAM_Tcio_takes(fd)) {
        rc = move_strided(fd, buf, count, datatype, file_ptr_type, offset, 1, &moved);
        conclude(fd, rc, datatype, moved, status, error_code);
        return;
    }
    (*tcio_of(fd)->plain.ADIOI_xxx_WriteStrided) (fd, buf, count, datatype, file_ptr_type, offset,
                                                  status, error_code);
    ADIOI_TAM_Tcio_passed();
}

static void read_strided(ADIO_File fd, void *buf, ADIOI_TAM_Count count, MPI_Datatype datatype,
                         int file_ptr_type, ADIO_Offset offset, ADIO_Status * status,
                         int *error_code)
{
    int64_t moved;
    int rc;

    if (ADIOI_TAM_Tcio_takes(fd)) {
        rc = move_strided(fd, buf, count, datatype, file_ptr_type, offset, 0, &moved);
        conclude(fd, rc, datatype, moved, status, error_code);
        return;
    }
    (*tcio_of(fd)->plain.ADIOI_xxx_ReadStrided) (fd, buf, count, datatype, file_ptr_type, offset,
                                                 status, error_code);
    ADIOI_TAM_Tcio_passed();
}

static void iwrite_contig(ADIO_File fd, const void *buf, ADIOI_TAM_Count count,
                          MPI_Datatype datatype, int file_ptr_type, ADIO_Offset offset,
                          ADIO_Request * request, int *error_code)
{
    int64_t moved;
    int rc;

    if (ADIOI_TAM_Tcio_takes(fd)) {
        rc = move_contig(fd, buf, count, datatype, file_ptr_type, offset, 1, &moved);
        conclude_request(fd, rc, moved, request, error_code);
        return;
    }
    (*tcio_of(fd)->plain.ADIOI_xxx_IwriteContig) (fd, buf, count, datatype, file_ptr_type, offset,
                                                  request, error_code);
    ADIOI_TAM_Tcio_passed();
}

static void iread_contig(ADIO_File fd, void *buf, ADIOI_TAM_Count count, MPI_Datatype datatype,
                         int file_ptr_type, ADIO_Offset offset, ADIO_Request * request,
                         int *error_code)
{
    int64_t moved;
    int rc;

    if (ADIOI_TAM_Tcio_takes(fd)) {
        rc = move_contig(fd, buf, count, datatype, file_ptr_type, offset, 0, &moved);
        conclude_request(fd, rc, moved, request, error_code);
        return;
    }
    (*tcio_of(fd)->plain.ADIOI_xxx_IreadContig) (fd, buf, count, datatype, file_ptr_type, offset,
                                                 request, error_code);
    ADIOI_TAM_Tcio_passed();
}

static void iwrite_strided(ADIO_File fd, const void *buf, ADIOI_TAM_Count count,
                           MPI_Datatype datatype, int file_ptr_type, ADIO_Offset offset,
                           ADIO_Request * request, int *error_code)
{
    int64_t moved;
    int rc;

    if (ADIOI_TAM_Tcio_takes(fd)) {
        rc = move_strided(fd, buf, count, datatype, file_ptr_type, offset, 1, &moved);
        conclude_request(fd, rc, moved, request, error_code);
        return;
    }
    (*tcio_of(fd)->plain.ADIOI_xxx_IwriteStrided) (fd, buf, count, datatype, file_ptr_type, offset,
                                                   request, error_code);
    ADIOI_TAM_Tcio_passed();
}

static void iread_strided(ADIO_File fd, void *buf, ADIOI_TAM_Count count, MPI_Datatype datatype,
                          int file_ptr_type, ADIO_Offset offset, ADIO_Request * request,
                          int *error_code)
{
    int64_t moved;
    int rc;

    if (ADIOI_TAM_Tcio_takes(fd)) {
        rc = move_strided(fd, buf, count, datatype, file_ptr_type, offset, 0, &moved);
        conclude_request(fd, rc, moved, request, error_code);
        return;
    }
    (*tcio_of(fd)->plain.ADIOI_xxx_IreadStrided) (fd, buf, count, datatype, file_ptr_type, offset,
                                                  request, error_code);
    ADIOI_TAM_Tcio_passed();
}

static void iwrite_all(ADIO_File fd, const void *buf, ADIOI_TAM_Count count, MPI_Datatype datatype,
                       int file_ptr_type, ADIO_Offset offset, ADIO_Request * request,
                       int *error_code)
{
    int64_t moved;
    int rc;

    if (ADIOI_TAM_Tcio_takes(fd)) {
        rc = move_strided(fd, buf, count, datatype, file_ptr_type, offset, 1, &moved);
        conclude_request(fd, rc, moved, request, error_code);
        return;
    }
    (*tcio_of(fd)->plain.ADIOI_xxx_IwriteStridedColl) (fd, buf, count, datatype, file_ptr_type,
                                                       offset, request, error_code);
    ADIOI_TAM_Tcio_passed();
}

static void iread_all(ADIO_File fd, void *buf, ADIOI_TAM_Count count, MPI_Datatype datatype,
                      int file_ptr_type, ADIO_Offset offset, ADIO_Request * request,
                      int *error_code)
{
    int64_t moved;
    int rc;

    if (ADIOI_TAM_Tcio_takes(fd)) {
        rc = move_strided(fd, buf, count, datatype, file_ptr_type, offset, 0, &moved);
        conclude_request(fd, rc, moved, request, error_code);
        return;
    }
    (*tcio_of(fd)->plain.ADIOI_xxx_IreadStridedColl) (fd, buf, count, datatype, file_ptr_type,
                                                      offset, request, error_code);
    ADIOI_TAM_Tcio_passed();
}

void ADIOI_TAM_Tcio_slots(ADIOI_Fns * fns)
{
    fns->ADIOI_xxx_ReadContig = read_contig;
    fns->ADIOI_xxx_WriteContig = write_contig;
    fns->ADIOI_xxx_ReadStrided = read_strided;
    fns->ADIOI_xxx_WriteStrided = write_strided;
    fns->ADIOI_xxx_IreadContig = iread_contig;
    fns->ADIOI_xxx_IwriteContig = iwrite_contig;
    fns->ADIOI_xxx_IreadStrided = iread_strided;
    fns->ADIOI_xxx_IwriteStrided = iwrite_strided;
    fns->ADIOI_xxx_IreadStridedColl = iread_all;
    fns->ADIOI_xxx_IwriteStridedColl = iwrite_all;
}
