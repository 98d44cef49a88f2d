/*
 * Memory that the ranks of one node share: POSIX shared memory, or, where all ranks live in one
 * process, plain memory under the same names.
 *
 * All ranks join a segment under a name that they agreed on and that nobody else uses: what a job
 * that died has left under it would be joined as well. Once all have told each other that they are
 * in, the name is forgotten, so that nothing is left behind however the job ends; and where one
 * could not join, the others forget the name and leave. A segment may be far larger than what is
 * used of it, since only what is backed takes memory. Errors are 0 or a negative errno.
 */
#ifndef CIO_PORT_NODEMEM_H
#define CIO_PORT_NODEMEM_H

#include <stdint.h>

#define CIO_NODEMEM_NAME_MAX 64

struct cio_nodemem {
    void *base;
    int64_t size;
    int fd;                          /* the port's own */
    char name[CIO_NODEMEM_NAME_MAX]; /* "" once forgotten */
};

struct cio_nodemem_ops {
    /*
     * Maps the segment of that name, which whoever comes first makes: zeroed, mode 0600, `size`
     * bytes long (the same for all who join), none of them backed by memory yet.
     */
    int (*join)(void *self, const char *name, int64_t size, struct cio_nodemem *m);
    /*
     * Backs the bytes [from, to): -ENOSPC now rather than a SIGBUS when they are touched. Any rank
     * may, also twice.
     */
    int (*back)(void *self, struct cio_nodemem *m, int64_t from, int64_t to);
    /*
     * Removes the name; mappings stay. Once everybody has joined, by any of them; does nothing if
     * it is gone.
     */
    void (*forget)(void *self, struct cio_nodemem *m);
    /* Unmaps. The name is not touched. */
    void (*leave)(void *self, struct cio_nodemem *m);
    /*
     * Sleeps while *word is `seen`, at most `usec` microseconds; may return early. With 0 it lets
     * others run, if there are any. The loop returns at once.
     */
    void (*wait)(void *self, const uint32_t *word, uint32_t seen, int usec);
    /* Wakes all who sleep on it. */
    void (*wake)(void *self, uint32_t *word);
};

struct cio_node_memory {
    const struct cio_nodemem_ops *ops;
    void *self;
};

/* POSIX shared memory (shm_open, posix_fallocate, mmap); a name as shm_open takes it, "/...". */
extern const struct cio_node_memory cio_nodemem_posix;

/*
 * The file system that such segments lie in: its size and what is left of it, in bytes; both
 * INT64_MAX if it has no limit, or none that can be found out.
 */
void cio_nodemem_posix_room(int64_t *size, int64_t *left);

/* Address space that this process may still map (ulimit -v), in bytes; INT64_MAX: no limit. */
int64_t cio_address_room(void);

/* Memory of one rank only, for one that is alone on its node: whoever joins has it to itself. */
extern const struct cio_node_memory cio_nodemem_own;

/* Refuses every segment (-ENOTSUP): machines without shared memory, and tests of the fallback. */
extern const struct cio_node_memory cio_nodemem_none;

/* For the loop: one registry for all ranks of a test. It can be told to fail on demand. */
struct cio_nodemem_loop;
int cio_nodemem_loop_create(struct cio_nodemem_loop **out);
void cio_nodemem_loop_destroy(struct cio_nodemem_loop *loop);
struct cio_node_memory cio_nodemem_loop_port(struct cio_nodemem_loop *loop);
/*
 * The join or back that comes `after` that many successful ones, counted from now, fails with
 * `error` (a negative errno), once.
 */
void cio_nodemem_loop_fail(struct cio_nodemem_loop *loop, int after, int error);
/* Segments that are still mapped by somebody; names that are still linked. */
int cio_nodemem_loop_mapped(const struct cio_nodemem_loop *loop);
int cio_nodemem_loop_linked(const struct cio_nodemem_loop *loop);

#endif
