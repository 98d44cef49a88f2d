/*
 * Reading, writing and seeking on a handle, under the lock of table.h. Results are those of the
 * system's calls, with errors as a negative errno.
 */
#ifndef TAMIO_POSIX_TRANSFER_H
#define TAMIO_POSIX_TRANSFER_H

#include <sys/uio.h>

#include "table.h"

#define AT_POSITION ((int64_t)-1) /* and moves it */

/* A span of memory as its one piece. */
static inline struct iovec transfer_one(const void *buf, size_t len)
{
    return (struct iovec){(void *)buf, len};
}

int64_t transfer_write(struct handle *h, const struct iovec *piece, int n, int64_t off);
int64_t transfer_read(struct handle *h, const struct iovec *piece, int n, int64_t off);
int64_t transfer_seek(struct handle *h, int fd, int64_t off, int whence);

#endif
