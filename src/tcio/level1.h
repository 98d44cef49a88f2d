/*
 * Level 1: what a process has written since the last push, in the order of its calls. Bytes lie one
 * after the other in `data`; a block says where in the file some of them go. A write that goes on
 * where the last one ended makes its block longer.
 *
 *   data    |aaaa|bb|cccccc|dddd|            block   {off, at, len}, ...
 */
#ifndef CIO_TCIO_LEVEL1_H
#define CIO_TCIO_LEVEL1_H

#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "plan/copy.h"

struct cio_block {
    int64_t off;
    uint32_t at, len; /* in data; what lies further behind was written later */
};

struct cio_wlog {
    char *data;
    int64_t room, used;
    struct cio_block *block;
    int64_t n, allocated, most;
    int64_t lo, hi; /* of all blocks */
    int rising;     /* blocks are sorted, and none overlaps another */
};

/* With room for so many bytes, and as many blocks as half of these. -ENOMEM. */
int cio_wlog_create(int64_t room, struct cio_wlog *log);
void cio_wlog_destroy(struct cio_wlog *log);

/* Makes room for one block more. -ENOMEM, -ENOSPC (it is full: push). */
int cio_wlog_grow(struct cio_wlog *log);

/*
 * Takes as many of the bytes as there is room for and returns how many; 0: it is full. -ENOMEM.
 */
static inline int64_t cio_wlog_add(struct cio_wlog *log, int64_t off, const char *buf, int64_t len)
{
    struct cio_block *last = log->n > 0 ? &log->block[log->n - 1] : NULL;

    if (len > log->room - log->used)
        len = log->room - log->used;
    if (len <= 0)
        return 0;
    if (last != NULL && last->off + last->len == off && last->at + last->len == log->used) {
        last->len += (uint32_t)len;
    } else {
        if (log->n == log->allocated) {
            int rc = cio_wlog_grow(log);

            if (rc != 0)
                return rc == -ENOSPC ? 0 : rc;
        }
        log->rising &= off >= log->hi;
        log->block[log->n++] =
            (struct cio_block){.off = off, .at = (uint32_t)log->used, .len = (uint32_t)len};
    }
    cio_copy_small(log->data + log->used, buf, len);
    log->used += len;
    if (off + len > log->hi)
        log->hi = off + len;
    if (off < log->lo)
        log->lo = off;
    return len;
}

static inline int cio_wlog_touches(const struct cio_wlog *log, int64_t off, int64_t len)
{
    return log->n > 0 && off < log->hi && off + len > log->lo;
}

/*
 * Sorts the blocks and takes away what later ones have overwritten: disjoint and rising afterwards.
 * -ENOMEM leaves the log as it was.
 */
int cio_wlog_resolve(struct cio_wlog *log);

void cio_wlog_clear(struct cio_wlog *log);

/* Room for so many bytes, at least for those that there are. -ENOMEM. */
int cio_wlog_resize(struct cio_wlog *log, int64_t room);

#endif
