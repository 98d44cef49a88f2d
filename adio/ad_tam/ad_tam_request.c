/* ad_tam: the arguments of a collective call as a request of the engine. ROMIO's types end here. */

#include "ad_tam.h"

/*
 * The place of an offset in a view that goes back, as ROMIO's drivers find it: in the instance that
 * it would lie in if they did not overlap.
 */
static int64_t place_like_romio(const struct cio_flat *view, int64_t off)
{
    int64_t instance = (off - view->off[0]) / view->extent, passed = instance * view->size;
    size_t i = 0;

    off -= instance * view->extent;
    while (i < view->n && view->off[i] + view->len[i] < off)
        passed += view->len[i++];
    return i == view->n || off < view->off[i] ? passed : passed + off - view->off[i];
}

/* Where in the view's stream the access begins. */
static int64_t stream_start(ADIO_File fd, const struct cio_flat *view, int file_ptr_type,
                            ADIO_Offset offset)
{
    if (file_ptr_type != ADIO_INDIVIDUAL)
        return offset * fd->etype_size;
    if (view->extent <= 0)
        return 0;       /* no place that a view may have; it is left to the driver below */
    if (view->dense)
        return fd->fp_ind - fd->disp - view->off[0];
    if (!view->sorted)
        return place_like_romio(view, fd->fp_ind - fd->disp);
    return cio_flat_lower(view, fd->fp_ind - fd->disp);
}

/* The individual file pointer moves to the next byte of the view, as it does in ROMIO. */
static void move_pointer(ADIO_File fd, const struct cio_request *req)
{
    struct cio_cursor c;

    cio_cursor_seek(&c, req->file, req->start + req->bytes);
    fd->fp_ind = fd->disp + cio_cursor_offset(&c);
}

int ADIOI_TAM_Request_init(ADIO_File fd, void *buf, ADIOI_TAM_Count count, MPI_Datatype datatype,
                           int file_ptr_type, ADIO_Offset offset, int lasting,
                           struct cio_request *req)
{
    struct cio_flat *view = NULL, *mem = NULL;
    MPI_Count size, view_size;
    int rc;

    memset(req, 0, sizeof(*req));
    MPI_Type_size_x(datatype, &size);
    MPI_Type_size_x(fd->filetype, &view_size);
    if (count == 0 || size == 0 || view_size == 0)
        return 0;
    rc = ADIOI_TAM_Type_flat(fd->filetype, lasting, &view);
    if (rc == 0)
        rc = ADIOI_TAM_Type_flat(datatype, lasting, &mem);
    if (rc != 0) {
        cio_flat_destroy(view);
        return rc;
    }
    req->file = view;
    req->mem = mem;
    req->disp = fd->disp;
    req->start = stream_start(fd, view, file_ptr_type, offset);
    req->bytes = (int64_t) count *size;
    req->buf = buf;
    if (file_ptr_type == ADIO_INDIVIDUAL)
        move_pointer(fd, req);
    return 0;
}

void ADIOI_TAM_Request_free(struct cio_request *req)
{
    cio_flat_destroy((struct cio_flat *) req->mem);
    cio_flat_destroy((struct cio_flat *) req->file);
}
