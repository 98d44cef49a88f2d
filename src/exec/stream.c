/* Streams of messages of bounded size. */
#include "exec/stream.h"

#include <errno.h>
#include <string.h>

#define CHUNK_MAGIC 0x74616d33u /* "tam3" */
#define MESSAGE ((int64_t)sizeof(struct cio_chunk) + CIO_CHUNK)

static void send_chunk(struct cio_op *op, struct cio_outbox *out)
{
    int64_t n = cio_min64(out->left, CIO_CHUNK);
    struct cio_iov iov[2] = {{&out->head, sizeof(out->head)}, {out->data, n}};

    out->head.magic = CHUNK_MAGIC;
    out->head.last = n == out->left;
    if (n < out->left)
        out->data += n;
    out->left -= n;
    cio_op_send_data(op, iov, n > 0 ? 2 : 1, out->dest, out->tag, CIO_SEND_PLAIN, &out->req);
}

void cio_outbox_start(struct cio_op *op, struct cio_outbox *out, int dest, enum cio_tag tag,
                      const void *data, int64_t size, int error)
{
    *out = (struct cio_outbox){
        .head = {.error = error}, .data = data, .left = error == 0 ? size : 0, .dest = dest};
    out->tag = tag;
    send_chunk(op, out);
}

int cio_outbox_progress(struct cio_op *op, struct cio_outbox *out)
{
    if (out->left == 0 || cio_req_busy(&out->req))
        return 0;
    send_chunk(op, out);
    return 1;
}

int cio_inbox_create(struct cio_op *op, struct cio_inbox *in)
{
    in->chunk = cio_op_alloc(op, MESSAGE);
    return in->chunk == NULL ? -ENOMEM : 0;
}

void cio_inbox_destroy(struct cio_op *op, struct cio_inbox *in)
{
    cio_op_free(op, in->data, in->room);
    cio_op_free(op, in->chunk, MESSAGE);
    in->data = NULL;
    in->chunk = NULL;
}

int cio_inbox_reserve(struct cio_op *op, struct cio_inbox *in, int64_t size)
{
    int64_t room = cio_max64(size, 2 * in->room);
    char *data;

    if (size <= in->room)
        return 0;
    data = cio_op_alloc(op, room);
    if (data == NULL)
        return -ENOMEM;
    if (in->size > 0)
        memcpy(data, in->data, (size_t)in->size);
    cio_op_free(op, in->data, in->room);
    in->data = data;
    in->room = room;
    return 0;
}

static void expect_chunk(struct cio_op *op, struct cio_inbox *in)
{
    in->req = (struct cio_req){0};
    cio_op_recv(op, in->chunk, MESSAGE, in->source, in->tag, &in->req);
}

void cio_inbox_start(struct cio_op *op, struct cio_inbox *in, int source, enum cio_tag tag)
{
    in->source = source;
    in->tag = tag;
    in->error = 0;
    in->size = 0;
    expect_chunk(op, in);
}

static void take_bytes(struct cio_op *op, struct cio_inbox *in, int64_t n)
{
    int rc = in->error != 0 ? in->error : cio_inbox_reserve(op, in, in->size + n);

    in->error = rc;
    if (rc != 0 || n == 0)
        return;
    memcpy(in->data + in->size, in->chunk + sizeof(struct cio_chunk), (size_t)n);
    in->size += n;
}

/* A message that cannot be understood counts as the last one. */
static int take_chunk(struct cio_op *op, struct cio_inbox *in)
{
    const struct cio_chunk *head = (const struct cio_chunk *)in->chunk;
    int64_t n = in->req.bytes - (int64_t)sizeof(*head);

    if (in->req.error == 0 && n >= 0 && head->magic == CHUNK_MAGIC) {
        if (in->error == 0)
            in->error = head->error;
        take_bytes(op, in, n);
        return head->last;
    }
    in->error = in->req.error != 0 ? in->req.error : -EBADMSG;
    return 1;
}

int cio_inbox_progress(struct cio_op *op, struct cio_inbox *in)
{
    if (cio_req_busy(&in->req))
        return 0;
    if (take_chunk(op, in))
        return 1;
    expect_chunk(op, in);
    return 0;
}
