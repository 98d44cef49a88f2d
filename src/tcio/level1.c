/*
 * Overlaps are resolved by a sweep over the sorted blocks. Those that reach over the sweep's place
 * are in a heap, the one written last on top: it has the bytes up to its end, or to where a block
 * begins that was written later.
 */
#include "tcio/level1.h"

#include <errno.h>
#include <stdlib.h>

#define FIRST_BLOCKS 256

int cio_wlog_create(int64_t room, struct cio_wlog *log)
{
    *log = (struct cio_wlog){.room = room, .allocated = FIRST_BLOCKS};
    log->most = room / 2 > FIRST_BLOCKS ? room / 2 : FIRST_BLOCKS;
    log->data = malloc((size_t)room);
    log->block = malloc(FIRST_BLOCKS * sizeof *log->block);
    if (log->data == NULL || log->block == NULL) {
        cio_wlog_destroy(log);
        return -ENOMEM;
    }
    cio_wlog_clear(log);
    return 0;
}

void cio_wlog_destroy(struct cio_wlog *log)
{
    free(log->data);
    free(log->block);
    *log = (struct cio_wlog){0};
}

int cio_wlog_grow(struct cio_wlog *log)
{
    int64_t n = log->allocated * 2 < log->most ? log->allocated * 2 : log->most;
    struct cio_block *more;

    if (n <= log->allocated)
        return -ENOSPC;
    more = realloc(log->block, (size_t)n * sizeof *more);
    if (more == NULL)
        return log->n > 0 ? -ENOSPC : -ENOMEM;
    log->block = more;
    log->allocated = n;
    return 0;
}

void cio_wlog_clear(struct cio_wlog *log)
{
    log->used = 0;
    log->n = 0;
    log->lo = INT64_MAX;
    log->hi = 0;
    log->rising = 1;
}

int cio_wlog_resize(struct cio_wlog *log, int64_t room)
{
    char *data = room >= log->used ? realloc(log->data, (size_t)room) : NULL;

    if (data == NULL)
        return -ENOMEM;
    log->data = data;
    log->room = room;
    log->most = room / 2 > log->allocated ? room / 2 : log->allocated;
    return 0;
}

static int by_offset(const void *a, const void *b)
{
    const struct cio_block *x = a, *y = b;

    if (x->off != y->off)
        return x->off < y->off ? -1 : 1;
    return x->at < y->at ? -1 : x->at > y->at;
}

static int overlaps(const struct cio_wlog *log)
{
    for (int64_t i = 1; i < log->n; i++)
        if (log->block[i - 1].off + log->block[i - 1].len > log->block[i].off)
            return 1;
    return 0;
}

/* Blocks by the order of writing, the last one on top. */
struct heap {
    struct cio_block *b;
    int64_t n;
};

static void heap_swap(struct heap *h, int64_t i, int64_t j)
{
    struct cio_block b = h->b[i];

    h->b[i] = h->b[j];
    h->b[j] = b;
}

static void heap_push(struct heap *h, struct cio_block b)
{
    int64_t i = h->n++;

    h->b[i] = b;
    for (; i > 0 && h->b[(i - 1) / 2].at < h->b[i].at; i = (i - 1) / 2)
        heap_swap(h, i, (i - 1) / 2);
}

static void heap_pop(struct heap *h)
{
    int64_t i = 0, child;

    h->b[0] = h->b[--h->n];
    while ((child = 2 * i + 1) < h->n) {
        if (child + 1 < h->n && h->b[child + 1].at > h->b[child].at)
            child++;
        if (h->b[i].at >= h->b[child].at)
            return;
        heap_swap(h, i, child);
        i = child;
    }
}

static int64_t end_of(struct cio_block b)
{
    return b.off + b.len;
}

/* The part of b from `from` to `to`. */
static struct cio_block part_of(struct cio_block b, int64_t from, int64_t to)
{
    return (struct cio_block){
        .off = from, .at = b.at + (uint32_t)(from - b.off), .len = (uint32_t)(to - from)};
}

/* Appends; bytes that follow each other in the file and in the log are one block. */
static int64_t emit(struct cio_block *out, int64_t n, struct cio_block b)
{
    struct cio_block *last = n > 0 ? &out[n - 1] : NULL;

    if (last != NULL && end_of(*last) == b.off && last->at + last->len == b.at) {
        last->len += b.len;
        return n;
    }
    out[n] = b;
    return n + 1;
}

/* What is seen of all blocks from above; out has room for twice as many. */
static int64_t sweep(const struct cio_wlog *log, struct heap *h, struct cio_block *out)
{
    int64_t i = 0, n = 0, at = 0, to;

    while (i < log->n || h->n > 0) {
        if (h->n == 0 && at < log->block[i].off)
            at = log->block[i].off;
        while (i < log->n && log->block[i].off <= at)
            heap_push(h, log->block[i++]);
        if (end_of(h->b[0]) <= at) {
            heap_pop(h);
            continue;
        }
        to = end_of(h->b[0]);
        if (i < log->n && log->block[i].off < to)
            to = log->block[i].off;
        n = emit(out, n, part_of(h->b[0], at, to));
        at = to;
    }
    return n;
}

int cio_wlog_resolve(struct cio_wlog *log)
{
    struct cio_block *out;
    struct heap h = {0};

    if (log->rising)
        return 0;
    qsort(log->block, (size_t)log->n, sizeof *log->block, by_offset);
    if (overlaps(log)) {
        out = malloc((size_t)(2 * log->n) * sizeof *out);
        h.b = malloc((size_t)log->n * sizeof *h.b);
        if (out == NULL || h.b == NULL) {
            free(out);
            free(h.b);
            return -ENOMEM;
        }
        log->allocated = 2 * log->n;
        log->n = sweep(log, &h, out);
        free(h.b);
        free(log->block);
        log->block = out;
    }
    log->rising = 1;
    return 0;
}
