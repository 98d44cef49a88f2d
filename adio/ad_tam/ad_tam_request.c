/* ad_tam: the arguments of a collective call as a request of the engine. ROMIO's types end here. */

#include "ad_tam.h"

/* Touching instances of a type without gaps: `size` bytes, or any other number. */
static int dense(int64_t size, struct cio_flat **flat)
{
    int64_t off = 0;

    return cio_flat_create(&off, &size, 1, size, flat);
}

/*
 * From what ROMIO keeps for one instance. Empty blocks, which mark bounds, are passed over. It is
 * borrowed where it will be there for as long as the request: a nonblocking call's type may be freed.
 */
static int flatten(MPI_Datatype type, int borrow, struct cio_flat **flat)
{
    ADIOI_Flatlist_node *node;
    MPI_Aint lb, extent;
    MPI_Count size;
    int contig;

    MPI_Type_size_x(type, &size);
    ADIOI_Datatype_iscontig(type, &contig);
    if (contig)
        return dense(size, flat);
    node = ADIOI_Flatten_and_find(type);
    MPI_Type_get_extent(type, &lb, &extent);
    return (borrow ? cio_flat_borrow : cio_flat_create) ((const int64_t *) node->indices,
                                                         (const int64_t *) node->blocklens,
                                                         (size_t) node->count, extent, flat);
}

/* Where in the view's stream the access begins. */
static int64_t stream_start(ADIO_File fd, const struct cio_flat *view, int file_ptr_type,
                            ADIO_Offset offset)
{
    if (file_ptr_type != ADIO_INDIVIDUAL)
        return offset * fd->etype_size;
    if (view->dense)
        return fd->fp_ind - fd->disp - view->off[0];
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
                           int file_ptr_type, ADIO_Offset offset, int borrow,
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
    rc = flatten(fd->filetype, borrow, &view);
    if (rc == 0)
        rc = flatten(datatype, borrow, &mem);
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
