/*
 * Ranges of files that this process holds, so that its own threads keep out of each other's way:
 * the locks of the system that a store takes are no help there. A classic lock belongs to the
 * process and excludes none of its threads; one of an open file excludes none of those who use the
 * same descriptor; and with either, an unlock drops whatever else the process has locked in that
 * range. No two ranges that are held overlap, so an unlock drops nothing of anybody else's.
 *
 * Whoever waits for a range is served in the order of asking, and sleeps. A thread that holds a
 * range is never made to wait for another, so threads cannot wait for each other in a circle.
 *
 * The table is one for the process, a mutable global: it is about files, and these are the same
 * whichever store, handle or library call a thread comes from. A child after fork() has nothing.
 */
#ifndef CIO_PORT_RANGES_H
#define CIO_PORT_RANGES_H

#include <stdint.h>

/* A file: its device and inode, or, without these, something that nothing else is known by. */
struct cio_file_id {
    uint64_t dev, ino;
};

#define CIO_FILE_NONE UINT64_MAX /* as dev: ino is an address of this process */

/* One that is held or waited for, until it is given back. */
struct cio_range {
    struct cio_range *next;
    struct cio_file_id file;
    int64_t off, end;
    uint64_t owner; /* the thread's number */
    int held;
    int mode; /* the holder's own */
};

/*
 * Waits for [off, off + len), len > 0, and holds it from then on. *alone tells whether it is the
 * only one that the calling thread holds. -EDEADLK: it would have to wait, and holds another.
 * -EINVAL: there is no such range. -ENOMEM.
 */
int cio_range_take(struct cio_file_id file, int64_t off, int64_t len, int *alone,
                   struct cio_range **out);

/* The very range that was taken, whichever thread did; NULL if nobody holds it. */
struct cio_range *cio_range_find(struct cio_file_id file, int64_t off, int64_t len);

/* Gives it back, and with it the struct. */
void cio_range_give(struct cio_range *r);

/* Whether the calling thread holds any. */
int cio_range_holding(void);

#endif
