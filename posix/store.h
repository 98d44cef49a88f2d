/*
 * The store of a file by its key: path and inode, as the space knows it in all processes. It has a
 * descriptor of its own, which is no program's.
 */
#ifndef TAMIO_POSIX_STORE_H
#define TAMIO_POSIX_STORE_H

#include <sys/types.h>

#include "port/store.h"

/* "/real/path (inode 12)"; to be freed. NULL: no memory. */
char *path_store_key(const char *path, ino_t inode);

/* The length of the path in a key. */
size_t path_store_path_length(const char *key);

/*
 * For reading and writing as far as the file's permissions go. *write_only: it cannot be read.
 * -ESTALE: the path is of another file by now. -ENOMEM, and what open(2) says. Any thread.
 */
int path_store_open(const char *key, int *write_only, struct cio_store **out);

/* Whether a descriptor is of such a store: the program cannot have got it. */
int path_store_owns(int fd);

#endif
