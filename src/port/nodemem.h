/*
 * Memory that the ranks of one node share: POSIX shared memory, or, where all ranks live in one
 * process, plain memory under the same names.
 *
 * A segment is made by one rank, which sends its name to the others as an ordinary message; they
 * map it and say so; then the maker unlinks the name, so that nothing is left behind however the
 * job ends. Errors are 0 or a negative errno.
 */
#ifndef CIO_PORT_NODEMEM_H
#define CIO_PORT_NODEMEM_H

#include <stdint.h>

#define CIO_NODEMEM_NAME_MAX 64

struct cio_nodemem {
    void *base;
    int64_t size;
    char name[CIO_NODEMEM_NAME_MAX]; /* "" once unlinked, and where it was only attached */
};

struct cio_nodemem_ops {
    /* Makes a zeroed segment, mode 0600, with its space reserved: -ENOSPC rather than SIGBUS. */
    int (*create)(void *self, int64_t size, struct cio_nodemem *m);
    /* Maps the one that another rank made. -ENOENT where names are not shared (containers). */
    int (*attach)(void *self, const char *name, int64_t size, struct cio_nodemem *m);
    /* Removes the name; mappings stay. By the maker, once everybody has mapped it. */
    void (*unlink)(void *self, struct cio_nodemem *m);
    /* Unmaps; unlinks too if that has not happened. */
    void (*detach)(void *self, struct cio_nodemem *m);
};

struct cio_node_memory {
    const struct cio_nodemem_ops *ops;
    void *self;
};

/* POSIX shared memory (shm_open, posix_fallocate, mmap). Names are unique to process and time. */
extern const struct cio_node_memory cio_nodemem_posix;

/* Refuses every segment (-ENOTSUP): machines without shared memory, and tests of the fallback. */
extern const struct cio_node_memory cio_nodemem_none;

/* For the loop: one registry for all ranks of a test. It can be told to fail on demand. */
struct cio_nodemem_loop;
int cio_nodemem_loop_create(struct cio_nodemem_loop **out);
void cio_nodemem_loop_destroy(struct cio_nodemem_loop *loop);
struct cio_node_memory cio_nodemem_loop_port(struct cio_nodemem_loop *loop);
/*
 * The create or attach that comes `after` that many successful ones, counted from now, fails with
 * `error` (a negative errno), once.
 */
void cio_nodemem_loop_fail(struct cio_nodemem_loop *loop, int after, int error);
/* Segments that are still mapped by somebody; names that are still linked. */
int cio_nodemem_loop_mapped(const struct cio_nodemem_loop *loop);
int cio_nodemem_loop_linked(const struct cio_nodemem_loop *loop);

#endif
