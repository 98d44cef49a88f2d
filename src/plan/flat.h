/*
 * A flattened datatype, tiled without end: block i of instance j begins at j * extent +
 * block[i].off.
 *
 * Its stream is the bytes of all blocks, one after the other in that order; a request is a range of
 * the stream. File views and memory types are both this. Only one instance is held, whatever the
 * size of a request: cursors walk the rest.
 *
 *   block    [aa]  [bbb] .  [aa]  [bbb] .          extent = distance of the dots
 *   stream   aabbbaabbb...                          size   = bytes of one instance
 */
#ifndef CIO_PLAN_FLAT_H
#define CIO_PLAN_FLAT_H

#include "plan/extent.h"

struct cio_flat {
    int64_t extent;     /* distance of instances; 0 or less only if not sorted */
    int64_t size;       /* bytes of one instance, > 0 */
    size_t n;           /* blocks, none of them empty */
    int sorted;         /* offsets rise along the whole stream: cio_flat_lower may be used */
    int dense;          /* one block that touches the next instance's: no gaps at all */
    const int64_t *off; /* of the blocks; may be negative, and need not rise */
    const int64_t *len;
    int64_t *start; /* start[i]: stream position of block i * CIO_FLAT_STEP; for finding it */
    int64_t *own;   /* offsets and lengths, where they are not the caller's */
    struct cio_flat *lasting; /* of cio_flat_lasting */
    int owners;
};
#define CIO_FLAT_STEP 64

/*
 * From n (offset, length) pairs; empty ones are dropped, and touching neighbours joined. `extent`
 * is that of the datatype. The caller owns *out until cio_flat_destroy. -ENOMEM; -EINVAL if nothing
 * is left, or a length is negative. cio_flat_borrow uses the caller's arrays, which
 * must then outlive it, if nothing needs to be joined or dropped but empty pairs at the ends.
 *
 * All pairs are looked at once, here. What comes later costs what it walks over: finding a place is
 * a binary search and CIO_FLAT_STEP blocks at most.
 */
int cio_flat_create(const int64_t *off, const int64_t *len, size_t n, int64_t extent,
                    struct cio_flat **out);
int cio_flat_borrow(const int64_t *off, const int64_t *len, size_t n, int64_t extent,
                    struct cio_flat **out);
/* One owner more, each of whom destroys it; from any thread. Returns f. */
struct cio_flat *cio_flat_share(struct cio_flat *f);
/*
 * The same with arrays of its own, also the caller's to destroy; f, if these are its own. They are
 * copied once and kept with f, whatever the threads that ask for it. -ENOMEM.
 */
int cio_flat_lasting(struct cio_flat *f, struct cio_flat **out);
void cio_flat_destroy(struct cio_flat *f);

/* Stream position of the first byte whose offset is >= off (at least 0). Needs `sorted`. */
int64_t cio_flat_lower(const struct cio_flat *f, int64_t off);

/* An upper bound of the contiguous pieces in the stream range [from, from + bytes). */
int64_t cio_flat_pieces(const struct cio_flat *f, int64_t from, int64_t bytes);

/* A place in the stream. */
struct cio_cursor {
    const struct cio_flat *f;
    int64_t shift;  /* instance * extent */
    int64_t within; /* bytes of the block already passed */
    size_t block;
};

void cio_cursor_seek(struct cio_cursor *c, const struct cio_flat *f, int64_t stream);

/* Offset of the byte at the cursor. */
static inline int64_t cio_cursor_offset(const struct cio_cursor *c)
{
    return c->shift + c->f->off[c->block] + c->within;
}

/* Bytes from the cursor that are contiguous, `most` if there are more. */
static inline int64_t cio_cursor_run(const struct cio_cursor *c, int64_t most)
{
    if (c->f->dense)
        return most;
    return cio_min64(c->f->len[c->block] - c->within, most);
}

/* Moves by n bytes, no more than cio_cursor_run said. */
static inline void cio_cursor_skip(struct cio_cursor *c, int64_t n)
{
    c->within += n;
    if (c->within < c->f->len[c->block] || c->f->dense)
        return;
    c->within = 0;
    if (++c->block == c->f->n) {
        c->block = 0;
        c->shift += c->f->extent;
    }
}

/*
 * Copies n bytes of the stream at the cursor out of, or into, the memory whose byte 0 is at `base`,
 * and moves the cursor.
 */
void cio_cursor_copy_out(struct cio_cursor *c, const char *base, int64_t n, char *to);
void cio_cursor_copy_in(struct cio_cursor *c, char *base, int64_t n, const char *from);

#endif
