/* Calls of a few KB, served by one rank. */
#include "exec/small.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "plan/code.h"

/* Pieces that one rank describes; transfers that the root makes of all, at most. */
#define PIECES_MAX 1024
#define TRANSFERS_MAX 64

struct attachment {
    int32_t coded; /* bytes of its coded pieces, which follow, */
    int32_t data;  /* and of the pieces themselves; in a write they follow, too */
};

/* A piece of anybody's; `at` is where its bytes are (write) or go to (read). */
struct part {
    cio_extent e;
    char *at;
};

struct small_call {
    struct cio_op *op;
    struct part *part;
    int64_t n, cap;
    int64_t transfers;
    char *run; /* bytes of one transfer */
    int error;
};

/* ---- on every rank ---- */

/* The request's pieces, those that touch joined. Their number, or -1: they are too many. */
static int64_t list_pieces(const struct cio_request *req, cio_extent *e, int64_t cap)
{
    struct cio_cursor c;
    int64_t n = 0;

    cio_cursor_seek(&c, req->file, req->start);
    for (int64_t left = req->bytes; left > 0;) {
        int64_t run = cio_cursor_run(&c, left), off = req->disp + cio_cursor_offset(&c);

        if (n > 0 && cio_extent_end(e[n - 1]) == off)
            e[n - 1].len += run;
        else if (n == cap)
            return -1;
        else
            e[n++] = (cio_extent){off, run};
        cio_cursor_skip(&c, run);
        left -= run;
    }
    return n;
}

/* Bytes of the attachment, at `out`; -1: it does not fit, or there is no memory. */
static int64_t make_attachment(struct cio_op *op, char *out)
{
    const struct cio_request *req = &op->req;
    int64_t cap = cio_min64(req->bytes, PIECES_MAX), size = -1, n;
    cio_extent *e = cio_op_alloc(op, cap * (int64_t)sizeof(*e));
    struct attachment head = {.data = (int32_t)req->bytes};
    struct cio_cursor c;

    if (e == NULL)
        return -1;
    n = list_pieces(req, e, cap);
    if (n > 0 && e[0].off >= 0 &&
        (int64_t)(sizeof(head) + cio_code_bound((size_t)n)) + req->bytes <= CIO_SMALL_MAX) {
        head.coded = (int32_t)cio_code_encode(e, (size_t)n, 0, out + sizeof(head));
        memcpy(out, &head, sizeof(head));
        size = (int64_t)sizeof(head) + head.coded;
        cio_cursor_seek(&c, req->mem, 0);
        if (req->write) {
            cio_cursor_copy_out(&c, req->buf, req->bytes, out + size);
            size += req->bytes;
        }
    }
    cio_op_free(op, e, cap * (int64_t)sizeof(*e));
    return size;
}

void cio_small_describe(struct cio_op *op)
{
    const struct cio_request *req = &op->req;
    int64_t size = -1;

    if (req->bytes == 0 || op->error != 0)
        return;
    if (req->bytes <= op->set.small && req->file->sorted && req->disp >= 0)
        size = make_attachment(op, op->reduce.out.attached);
    op->mine.sum[CIO_SUM_LARGE] = size < 0;
    op->mine.sum[CIO_SUM_ATTACHED] = cio_max64(size, 0);
}

static int is_small(const struct cio_op *op, const struct cio_reduction *words)
{
    int64_t size = words->sum[CIO_SUM_ATTACHED] + (op->req.write ? 0 : words->sum[CIO_SUM_BYTES]);

    return words->sum[CIO_SUM_LARGE] == 0 && size <= op->set.small;
}

int64_t cio_small_up(const struct cio_op *op, const struct cio_reduction *words)
{
    return is_small(op, words) ? words->sum[CIO_SUM_ATTACHED] : 0;
}

int64_t cio_small_down(const struct cio_op *op, const struct cio_reduction *all, int64_t bytes)
{
    return all->sum[CIO_SUM_SERVED] != 0 && !op->req.write ? bytes : 0;
}

void cio_small_add(struct cio_op *op, const char *attached, int64_t size)
{
    int64_t end = cio_small_up(op, &op->all);

    if (end >= size && size > 0)
        memcpy(op->reduce.out.attached + end - size, attached, (size_t)size);
}

void cio_small_take(struct cio_op *op, const char *bytes)
{
    struct cio_cursor c;

    if (op->req.write || op->req.bytes == 0 || op->all.min[CIO_MIN_ERROR] != 0)
        return;
    cio_cursor_seek(&c, op->req.mem, 0);
    cio_cursor_copy_in(&c, op->req.buf, op->req.bytes, bytes);
}

/* ---- at the root ---- */

static int add_part(struct small_call *m, const cio_extent *e, char *at)
{
    if (m->n == m->cap)
        return -ENOSPC;
    m->part[m->n++] = (struct part){*e, at};
    return 0;
}

/* One rank's pieces. */
static int unpack(struct small_call *m, const char *code, const struct attachment *head, char *data)
{
    int64_t end = m->op->all.min[CIO_MIN_MINUS_HI] * -1, done = 0;
    struct cio_decoder d;
    cio_extent e;
    int rc = cio_decode_begin(&d, code, (size_t)head->coded, 0, 0, end);

    if (rc != 0 || d.bytes != head->data)
        return -EBADMSG;
    while ((rc = cio_decode_next(&d, &e)) > 0) {
        if (add_part(m, &e, data + done) != 0)
            return -ENOSPC;
        done += e.len;
    }
    return rc;
}

/* All that came attached; in a read, `data` is where the bytes go to. */
static int unpack_all(struct small_call *m, char *from, int64_t size, char *data, int64_t room)
{
    int write = m->op->req.write;
    struct attachment head;

    for (int64_t at = 0; at < size;) {
        int64_t rest = size - at - (int64_t)sizeof(head);
        int rc;

        if (rest < 0)
            return -EBADMSG;
        memcpy(&head, from + at, sizeof(head));
        at += (int64_t)sizeof(head);
        if (head.coded < 0 || head.data < 0 || head.coded > rest ||
            head.data > (write ? rest - head.coded : room))
            return -EBADMSG;
        rc = unpack(m, from + at, &head, write ? from + at + head.coded : data);
        if (rc != 0)
            return rc;
        at += head.coded + (write ? head.data : 0);
        data += write ? 0 : head.data;
        room -= write ? 0 : head.data;
    }
    return 0;
}

static int by_offset(const void *a, const void *b)
{
    const struct part *x = a, *y = b;

    return (x->e.off > y->e.off) - (x->e.off < y->e.off);
}

static void sort_parts(struct small_call *m)
{
    int64_t i = 1;

    while (i < m->n && m->part[i - 1].e.off <= m->part[i].e.off)
        i++;
    if (i < m->n)
        qsort(m->part, (size_t)m->n, sizeof(*m->part), by_offset);
}

/* Pieces from `first` on that make one transfer, since they touch or overlap: up to which, to
 * where. */
static int64_t run_from(const struct small_call *m, int64_t first, int64_t *end)
{
    int64_t i = first + 1;

    *end = cio_extent_end(m->part[first].e);
    for (; i < m->n && m->part[i].e.off <= *end; i++)
        *end = cio_max64(*end, cio_extent_end(m->part[i].e));
    return i;
}

static void count_transfers(struct small_call *m)
{
    int64_t end;

    for (int64_t i = 0; i < m->n; i = run_from(m, i, &end))
        m->transfers++;
}

/* Under the lock of its range, where others may be under way (op.h). */
static int write_at(struct cio_op *op, char *buf, int64_t len, int64_t off)
{
    struct cio_piece piece = {buf, len, off};
    struct cio_batch batch = {.write = 1, .locked = 1, .piece = &piece, .n = 1};

    if (!op->set.polled && !op->set.early && op->all.sum[CIO_SUM_OUTSTANDING] == 0)
        return cio_store_write(op->env.store, buf, len, off);
    cio_store_start(op->env.store, &batch);
    cio_store_wait(op->env.store, &batch);
    return batch.error;
}

static int write_run(struct small_call *m, int64_t first, int64_t past, int64_t len)
{
    int64_t off = m->part[first].e.off;

    for (int64_t i = first; i < past; i++)
        memcpy(m->run + (m->part[i].e.off - off), m->part[i].at, (size_t)m->part[i].e.len);
    return write_at(m->op, m->run, len, off);
}

static int read_run(struct small_call *m, int64_t first, int64_t past, int64_t len)
{
    int64_t off = m->part[first].e.off, *eof = &m->op->all.min[CIO_MIN_EOF];
    int rc = cio_store_read(m->op->env.store, m->run, len, off);

    if (rc != 0)
        return rc;
    if (m->run[len - 1] == 0 && *eof == INT64_MAX)
        *eof = cio_store_size(m->op->env.store);
    for (int64_t i = first; i < past; i++)
        memcpy(m->part[i].at, m->run + (m->part[i].e.off - off), (size_t)m->part[i].e.len);
    return 0;
}

static int transfer_all(struct small_call *m)
{
    double began = cio_now();
    int rc = 0;

    for (int64_t i = 0; rc == 0 && i < m->n;) {
        int64_t end, past = run_from(m, i, &end), len = end - m->part[i].e.off;

        rc = (m->op->req.write ? write_run : read_run)(m, i, past, len);
        cio_count_add(&m->op->stats, CIO_COUNT_FILE_CALLS, 1);
        cio_count_add(&m->op->stats, CIO_COUNT_FILE_BYTES, len);
        cio_count_add(&m->op->stats, CIO_COUNT_SEGMENTS, 1);
        i = past;
    }
    m->op->stats.time[CIO_TIME_FILE] += cio_now() - began;
    return rc;
}

/* The number of pieces is not known before they are unpacked, but none is empty. */
static int64_t most_pieces(const struct cio_op *op)
{
    return cio_min64(op->all.sum[CIO_SUM_BYTES], op->all.sum[CIO_SUM_PIECES]);
}

static void serve(struct small_call *m)
{
    struct cio_op *op = m->op;
    struct cio_reduce *r = &op->reduce;
    int rc = unpack_all(m, r->out.attached, op->all.sum[CIO_SUM_ATTACHED], r->own.attached,
                        CIO_SMALL_MAX);

    if (rc == 0) {
        sort_parts(m);
        count_transfers(m);
    }
    if (rc != 0 || m->transfers > TRANSFERS_MAX)
        return;
    op->all.sum[CIO_SUM_SERVED] = 1;
    op->all.min[CIO_MIN_ERROR] = transfer_all(m);
}

void cio_small_serve(struct cio_op *op)
{
    struct small_call m = {.op = op, .cap = most_pieces(op)};
    int64_t parts = m.cap * (int64_t)sizeof(*m.part), run = op->all.sum[CIO_SUM_BYTES];

    if (op->all.min[CIO_MIN_ERROR] != 0 || run == 0 || !is_small(op, &op->all))
        return;
    if (op->env.team->my_aggr < 0 || op->env.store == NULL)
        return;
    m.part = cio_op_alloc(op, parts);
    m.run = cio_op_alloc(op, run);
    if (m.part != NULL && m.run != NULL)
        serve(&m);
    cio_op_free(op, m.run, run);
    cio_op_free(op, m.part, parts);
}
