/*
 * TCIO: independent calls become collective I/O, through two levels of buffers.
 *
 *   program ── write ──▶ level 1: a log in each process: a segment of bytes, four at most
 *                           │ push: sorted, joined, one transfer for each node
 *                           ▼
 *                        level 2: segments of the file, round-robin over the processes
 *                           │ write-behind, flush, drain: whole segments, each by one process
 *                           ▼
 *                         file
 *
 * A *space* is level 2 of all processes of a communicator; it serves one file (MPI-IO, libtcio) or
 * many (POSIX programs). Segments of processes of a node lie in memory that the node shares: any of
 * them fills, reads and writes out any of these. For segments of other nodes a process puts a
 * record into the inbox of a rank there, and whoever of that node comes by carries it out; a thread
 * of the node's first rank does if nobody else does. So no call here waits for the program of
 * another rank; what it may wait for is the other MPI (port/onesided.h).
 *
 * Errors are 0 or a negative errno. An error of a write that was accepted before is kept with the
 * file and comes with the next flush or drain. A space and its files belong to one thread at a
 * time.
 */
#ifndef CIO_TCIO_SPACE_H
#define CIO_TCIO_SPACE_H

#include "port/onesided.h"
#include "port/store.h"

struct cio_space;
struct cio_tcio;

#define CIO_TCIO_FILES 128 /* that a space knows at a time */
#define CIO_TCIO_PATH 1000 /* bytes of a path, the final zero included */

struct cio_space_settings {
    int64_t segment_size; /* a power of two, 4096 or more */
    int64_t segments;     /* of memory for level 2 in each process, all included */
    int immediate;        /* a write is in level 2 before it returns, and all reads look there */
    int progress_thread;  /* a thread of each process lets MPI progress: MPI_THREAD_MULTIPLE only */
    /*
     * The store of a file that another process has written to and this one has not opened; kept
     * until the space ends, or the file is forgotten. NULL: all processes open all files.
     */
    int (*open)(void *self, const char *path, struct cio_store **out);
    void *self;
};

/*
 * What is right if nobody says more: the segment size for a file with such a stripe (0: none is
 * known), and the default of `segments`.
 */
void cio_space_defaults(int64_t stripe, struct cio_space_settings *settings);

/* What the space needs of each rank's region, and how much of that others must reach. */
void cio_space_region(const struct cio_space_settings *settings, int64_t *bytes, int64_t *exposed);

/*
 * Collective. The port becomes the space's, also on failure. The same result on all ranks:
 * -EINVAL (settings that differ or make no sense), -ENOMEM, -EAGAIN (no thread).
 */
int cio_space_create(struct cio_onesided *os, const struct cio_space_settings *settings,
                     struct cio_space **out);

/*
 * Collective: everything that was written is in the files, in stripe order, each segment by the
 * process that owns it. The worst error of any rank, on all of them. Level 2 is empty afterwards,
 * and knows nothing of what it has read: others may write to the file. What could not be written
 * stays, and is tried again by the next flush.
 */
int cio_space_flush(struct cio_space *space);

/* Collective. Files have been closed; what was not flushed is lost. */
void cio_space_destroy(struct cio_space *space);

enum cio_tcio_flags {
    CIO_TCIO_WRITE_ONLY = 1, /* the store cannot read */
};

/*
 * A file of the space, from this process on. `path` says which file it is, the same in all
 * processes; `store` stays the caller's, and lives until the file is closed, or, without
 * settings.open, until the space is destroyed. One handle for each path. Without settings.open this
 * is collective, since whoever writes may need the stores of others; with it, local. -ENOMEM,
 * -ENAMETOOLONG, -ENFILE (a node has CIO_TCIO_FILES already).
 */
int cio_tcio_open(struct cio_space *space, const char *path, struct cio_store *store,
                  unsigned flags, struct cio_tcio **out);

/* Writes of one process keep their order. `buf` may be used again at once. */
int cio_tcio_write(struct cio_tcio *f, int64_t off, const void *buf, int64_t len);

/*
 * Between these an immediate space does not push after each write, and reads that are to be made
 * later are, also of what this process wrote: many may be one call of MPI.
 */
void cio_tcio_hold(struct cio_tcio *f);
int cio_tcio_release(struct cio_tcio *f);

/*
 * Reads now, what this process wrote included. *got: bytes that lie before the end of the file; the
 * rest of buf is zero. With got NULL the end is not asked for.
 */
int cio_tcio_read(struct cio_tcio *f, int64_t off, void *buf, int64_t len, int64_t *got);

/*
 * Reads at the latest when cio_tcio_fetch() returns; `buf` must stay until then. What this process
 * has written before is read at once, if this range may have any of it.
 */
int cio_tcio_read_later(struct cio_tcio *f, int64_t off, void *buf, int64_t len);
int cio_tcio_fetch(struct cio_tcio *f);

/* What was written here is in level 2: others see it with cio_tcio_read() of an immediate space. */
int cio_tcio_push(struct cio_tcio *f);

/*
 * Reads from now on see what others had pushed, and closed or drained, before: what opening the
 * file again would do. Of use where settings.open is given.
 */
int cio_tcio_refresh(struct cio_tcio *f);

/*
 * What was written here, and what others have pushed before, is in the file. Not collective. With
 * `forget`, level 2 also lets go of the file once nobody has it open.
 */
int cio_tcio_drain(struct cio_tcio *f, int forget);

/* Where the file ends, with what level 2 has. Not collective. */
int cio_tcio_size(struct cio_tcio *f, int64_t *size);

/* What level 2 has is dropped, written or not: after a truncation. Not collective; pushes before.
 */
int cio_tcio_discard(struct cio_tcio *f);

/* Pushes, fetches, and frees. The handle is gone also after an error. */
int cio_tcio_close(struct cio_tcio *f);

/* What a process has done with a file, or for its space (from local_transfers on). */
struct cio_tcio_stats {
    int64_t writes, reads;               /* calls */
    int64_t bytes_written, bytes_read;   /* by them */
    int64_t blocks;                      /* pieces that went to level 2, joined */
    int64_t direct_writes, direct_reads; /* large pieces, straight to or from the file */
    int64_t pushes;                      /* times that level 1 was emptied */
    int64_t local_transfers;             /* batches to and from segments of this node */
    int64_t remote_transfers;            /* records put into inboxes of other nodes */
    int64_t remote_bytes;
    int64_t file_writes, file_bytes; /* by this process, for anybody */
    int64_t file_reads;
    int64_t evictions; /* segments that had to make room */
    double waiting;    /* seconds in which calls waited for others or for the file */
};
void cio_tcio_stats(const struct cio_tcio *f, struct cio_tcio_stats *out);
void cio_space_stats(const struct cio_space *space, struct cio_tcio_stats *out);

/*
 * A number that belongs to the path, the same for all processes, 0 at first: adds to it, and tells
 * what it is then. Different paths may share one, rarely. Not collective.
 */
int cio_tcio_count(struct cio_tcio *f, int64_t by, int64_t *now);

/* Memory that this process has for the file and its part of the space, in bytes. */
int64_t cio_tcio_memory(const struct cio_tcio *f);

/* Bytes of level 1 that a call may fill before it is pushed. */
int64_t cio_tcio_level1(const struct cio_tcio *f);

#endif
