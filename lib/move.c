/*
 * Data of any memory type. A run of bytes goes to the engine as it lies. Other types are packed, a
 * bounded number of instances at a time; a small read into one waits for its bytes in a buffer.
 */
#include "internal.h"

#include <limits.h>
#include <stdlib.h>

#define PACKED_MOST ((int64_t)1 << 20) /* packed at once, if one instance is not larger */
#define WAITING_MOST PACKED_MOST       /* for which reads wait */

static int is_run(const struct transfer *t)
{
    return t->is.dense || (t->is.contiguous && t->count == 1);
}

/* ---- piece by piece, through a buffer ---- */

struct piece {
    char *packed;
    int64_t count, bytes; /* of instances; room for them */
    int64_t done;         /* instances */
};

static int piece_create(const struct transfer *t, struct piece *p)
{
    int64_t most = t->is.size < PACKED_MOST ? PACKED_MOST / t->is.size : 1;

    *p = (struct piece){.count = most < t->count ? most : t->count};
    p->packed = malloc((size_t)(p->count * t->is.size));
    return p->packed == NULL ? MPI_ERR_NO_MEM : MPI_SUCCESS;
}

/* The next one: false if there is none. */
static int piece_next(const struct transfer *t, struct piece *p)
{
    int64_t left = t->count - p->done;

    if (p->count > left)
        p->count = left;
    p->bytes = p->count * t->is.size;
    return left > 0;
}

static int write_piece(struct file *f, const struct transfer *t, const struct piece *p)
{
    int rc = tcioi_type_pack(f, address(t->data, p->done * t->is.extent), p->count, t->type,
                             p->packed, p->bytes);

    if (rc != MPI_SUCCESS)
        return rc;
    return tcioi_class_of_errno(
        cio_tcio_write(f->tcio, t->offset + p->done * t->is.size, p->packed, p->bytes));
}

static int read_piece(struct file *f, const struct transfer *t, const struct piece *p)
{
    int rc = tcioi_class_of_errno(
        cio_tcio_read(f->tcio, t->offset + p->done * t->is.size, p->packed, p->bytes, NULL));

    if (rc != MPI_SUCCESS)
        return rc;
    return tcioi_type_unpack(f, p->packed, p->bytes, address(t->data, p->done * t->is.extent),
                             p->count, t->type);
}

static int move_pieces(struct file *f, const struct transfer *t,
                       int (*move)(struct file *, const struct transfer *, const struct piece *))
{
    struct piece p;
    int rc = piece_create(t, &p);

    for (; rc == MPI_SUCCESS && piece_next(t, &p); p.done += p.count)
        rc = move(f, t, &p);
    free(p.packed);
    return rc;
}

int tcioi_move_write(struct file *f, const struct transfer *t)
{
    if (is_run(t))
        return tcioi_class_of_errno(
            cio_tcio_write(f->tcio, t->offset, address(t->data, t->is.lb), t->bytes));
    return move_pieces(f, t, write_piece);
}

/* ---- reads that wait ---- */

static int read_waits(struct file *f, const struct transfer *t)
{
    struct waiting_read *r = malloc(sizeof(*r) + (size_t)t->bytes);
    int rc;

    if (r == NULL)
        return MPI_ERR_NO_MEM;
    r->next = NULL;
    r->data = t->data;
    r->count = t->count;
    r->is = t->is;
    rc = tcioi_class_of_mpi(MPI_Type_dup(t->type, &r->type));
    if (rc != MPI_SUCCESS)
        goto undo_malloc;
    rc = tcioi_class_of_errno(cio_tcio_read_later(f->tcio, t->offset, r->bytes, t->bytes));
    if (rc != MPI_SUCCESS)
        goto undo_dup;
    *f->last_read = r;
    f->last_read = &r->next;
    f->waiting_bytes += t->bytes;
    return MPI_SUCCESS;

undo_dup:
    MPI_Type_free(&r->type);
undo_malloc:
    free(r);
    return rc;
}

int tcioi_move_read(struct file *f, const struct transfer *t)
{
    int rc = MPI_SUCCESS;

    if (is_run(t))
        return tcioi_class_of_errno(
            cio_tcio_read_later(f->tcio, t->offset, address(t->data, t->is.lb), t->bytes));
    if (t->bytes > WAITING_MOST)
        return move_pieces(f, t, read_piece);
    if (f->waiting_bytes + t->bytes > WAITING_MOST)
        rc = tcioi_move_fetch(f);
    return rc == MPI_SUCCESS ? read_waits(f, t) : rc;
}

static int finish(struct file *f, struct waiting_read *r, int rc)
{
    if (rc == MPI_SUCCESS)
        rc = tcioi_type_unpack(f, r->bytes, r->count * r->is.size, r->data, r->count, r->type);
    MPI_Type_free(&r->type);
    free(r);
    return rc;
}

int tcioi_move_fetch(struct file *f)
{
    int rc = tcioi_class_of_errno(cio_tcio_fetch(f->tcio));
    struct waiting_read *r = f->reads;

    f->reads = NULL;
    f->last_read = &f->reads;
    f->waiting_bytes = 0;
    while (r != NULL) {
        struct waiting_read *next = r->next;

        rc = finish(f, r, rc);
        r = next;
    }
    return rc;
}
