/*
 * What a segment has that is newer than the file is in its slot. The rest of a read is taken from
 * the file: piece by piece, or, if much of the segment is wanted, or it is wanted again, all of it,
 * which then stays in the slot.
 */
#include <errno.h>
#include <string.h>

#include "plan/bits.h"
#include "tcio/state.h"

#define DENSE 16 /* much: one byte of so many, */
#define MANY 64  /* or so many pieces, each of which costs a call */

void cio_walk_begin(struct cio_space *s, int entry, struct cio_walk *w)
{
    *w = (struct cio_walk){.space = s, .entry = entry};
}

void cio_walk_expect(struct cio_walk *w, int64_t span, int64_t pieces, int64_t bytes)
{
    const struct cio_space *s = w->space;
    int64_t segment = s->settings.segment_size, share = span / s->os->size * s->here;

    share = cio_max64(share, segment);
    w->dense = bytes >= share / DENSE || pieces >= share / segment * MANY;
}

void cio_walk_end(struct cio_walk *w)
{
    if (w->holds)
        cio_slot_release(&w->held);
    w->holds = 0;
}

static int hold(struct cio_walk *w, int64_t off, int make)
{
    int64_t segment = w->space->settings.segment_size, number = off / segment;
    int rc;

    if (w->entry < 0)
        return -ENOMEM;
    if (w->holds && w->held.base == number * segment)
        return 0;
    cio_walk_end(w);
    rc = cio_slot_take(w->space, w->entry, number, make, &w->held);
    w->holds = rc == 0;
    return rc;
}

/* Bytes from off on that lie in the same segment, `len` at most. */
static int64_t in_segment(const struct cio_walk *w, int64_t off, int64_t len)
{
    int64_t segment = w->space->settings.segment_size;

    return cio_min64(len, segment - off % segment);
}

static int get_store(struct cio_walk *w, struct cio_store **out)
{
    unsigned flags;

    *out = w->store;
    return w->entry < 0 ? 0 : cio_entry_store(w->space, w->entry, out, &flags);
}

static void put_store(struct cio_walk *w)
{
    if (w->entry >= 0)
        cio_entry_store_put(w->space, w->entry);
}

/* Without memory for the segment: a call for each piece, as without level 2. */
static int write_file(struct cio_walk *w, int64_t off, const char *from, int64_t len)
{
    struct cio_store *store;
    int rc = get_store(w, &store);

    if (rc != 0)
        return rc;
    cio_tally(&w->space->stats.file_writes, 1);
    cio_tally(&w->space->stats.file_bytes, len);
    rc = cio_write_locked(store, from, len, off);
    put_store(w);
    return rc;
}

int cio_walk_fill(struct cio_walk *w, int64_t off, const char *from, int64_t len)
{
    for (int64_t n; len > 0; off += n, from += n, len -= n) {
        int rc = hold(w, off, 1);

        n = in_segment(w, off, len);
        if (rc == 0)
            cio_slot_fill(w->space, &w->held, off, from, n);
        else if (rc == -ENOMEM)
            rc = write_file(w, off, from, n);
        if (rc != 0 && w->entry >= 0)
            cio_entry_fail(w->space, w->entry, rc, off, off + len);
        if (rc != 0)
            return rc;
    }
    return 0;
}

static int read_file(struct cio_walk *w, int64_t off, char *to, int64_t len, int64_t *end)
{
    struct cio_store *store;
    int rc = get_store(w, &store);

    if (rc != 0)
        return rc;
    cio_tally(&w->space->stats.file_reads, 1);
    rc = cio_store_read(store, to, len, off);
    *end = rc == 0 && to[len - 1] == 0 ? cio_store_size(store) : INT64_MAX;
    put_store(w);
    return rc;
}

static int read_slot(struct cio_walk *w, int64_t off, char *to, int64_t len, int64_t *cut)
{
    struct cio_held *h = &w->held;
    int64_t end = 0;
    int rc = 0;

    if (!h->slot->loaded && !cio_slot_has(h, off, len)) {
        if (w->dense) {
            rc = cio_slot_load(w->space, h);
        } else {
            rc = read_file(w, off, to, len, &end);
            cio_slot_overlay(h, off, len, to);
        }
    }
    if (rc != 0)
        return rc;
    if (h->slot->loaded || cio_slot_has(h, off, len)) {
        memcpy(to, h->data + off - h->base, (size_t)len);
        end = h->slot->loaded ? h->slot->end : INT64_MAX;
    }
    *cut |= off + len > end && !(h->slot->dirty && cio_bits_test(h->bits, off + len - 1 - h->base));
    return 0;
}

static int read_one(struct cio_walk *w, int64_t off, char *to, int64_t len, int64_t *cut)
{
    int64_t end;
    int rc = hold(w, off, w->dense);

    if (rc == 0)
        return read_slot(w, off, to, len, cut);
    if (rc != -ENOENT && rc != -ENOMEM)
        return rc;
    rc = read_file(w, off, to, len, &end);
    *cut |= rc == 0 && off + len > end;
    return rc;
}

int cio_walk_read(struct cio_walk *w, int64_t off, char *to, int64_t len, int64_t *cut)
{
    int rc = 0;

    for (int64_t n; rc == 0 && len > 0; off += n, to += n, len -= n) {
        n = in_segment(w, off, len);
        rc = read_one(w, off, to, n, cut);
    }
    return rc;
}
