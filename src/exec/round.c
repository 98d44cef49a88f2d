/* One round of an aggregator: its buffer, and what is covered of it. */
#include "exec/round.h"

#include <errno.h>
#include <string.h>

#include "exec/internal.h"
#include "plan/bits.h"
#include "plan/code.h"
#include "plan/copy.h"

/* Segments decoded at a time. */
#define BATCH 256

static int64_t cover_bytes(const struct cio_op *op)
{
    return (int64_t)(cio_bits_words(op->set.unit) * sizeof(uint64_t));
}

int cio_round_create(struct cio_op *op, char *buf, struct cio_round *r)
{
    r->buf = buf;
    r->cover = cio_op_alloc(op, cover_bytes(op));
    r->loaded = op->req.write ? NULL : cio_op_alloc(op, cover_bytes(op));
    if (r->cover == NULL || (!op->req.write && r->loaded == NULL))
        return -ENOMEM;
    return 0;
}

void cio_round_destroy(struct cio_op *op, struct cio_round *r)
{
    cio_op_free(op, r->loaded, cover_bytes(op));
    cio_op_free(op, r->cover, cover_bytes(op));
}

void cio_round_begin(struct cio_round *r, int64_t off, int64_t len)
{
    size_t bytes = cio_bits_words(len) * sizeof(uint64_t);

    r->off = off;
    r->len = len;
    r->whole = 0;
    memset(r->cover, 0, bytes);
    if (r->loaded != NULL)
        memset(r->loaded, 0, bytes);
}

/* Begins to decode segments that must add up to `bytes`. */
static int begin(const struct cio_round *r, const char *coded, int64_t size, int64_t bytes,
                 struct cio_decoder *d)
{
    int rc = cio_decode_begin(d, coded, (size_t)size, r->off, r->off, r->off + r->len);

    return rc == 0 && d->bytes != bytes ? -EBADMSG : rc;
}

static void lay(struct cio_round *r, const cio_extent *e, int n, const char **data)
{
    const char *from = *data;

    for (int i = 0; i < n; i++) {
        int64_t at = e[i].off - r->off;

        cio_bits_set_range(r->cover, at, at + e[i].len);
        cio_copy_small(r->buf + at, from, e[i].len);
        from += e[i].len;
    }
    *data = from;
}

static void mark(struct cio_round *r, const cio_extent *e, int n)
{
    for (int i = 0; i < n; i++)
        cio_bits_set_range(r->cover, e[i].off - r->off, cio_extent_end(e[i]) - r->off);
}

int cio_round_take(struct cio_round *r, const char *coded, int64_t size, const char *data,
                   int64_t bytes)
{
    cio_extent e[BATCH];
    struct cio_decoder d;
    int n, rc = begin(r, coded, size, bytes, &d);

    if (rc != 0)
        return rc;
    while ((n = cio_decode_some(&d, e, BATCH)) > 0) {
        if (data != NULL)
            lay(r, e, n, &data);
        else
            mark(r, e, n);
    }
    return n;
}

int cio_round_give(const struct cio_round *r, const char *coded, int64_t size, char *data,
                   int64_t bytes)
{
    cio_extent e[BATCH];
    struct cio_decoder d;
    int n, rc = begin(r, coded, size, bytes, &d);

    if (rc != 0)
        return rc;
    while ((n = cio_decode_some(&d, e, BATCH)) > 0)
        for (int i = 0; i < n; i++) {
            cio_copy_small(data, r->buf + (e[i].off - r->off), e[i].len);
            data += e[i].len;
        }
    return n;
}
