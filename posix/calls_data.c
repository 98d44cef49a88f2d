/* Programs' calls that move data of a descriptor, or its position. */
#include "real.h"

#include <errno.h>

#include "export.h"
#include "transfer.h"

EXPORT ssize_t write(int fd, const void *buf, size_t len)
{
    struct handle *h = table_enter(fd);
    struct iovec one = transfer_one(buf, len);

    return h == NULL ? real()->write(fd, buf, len)
                     : table_leave(transfer_write(h, &one, 1, AT_POSITION));
}

EXPORT ssize_t read(int fd, void *buf, size_t len)
{
    struct handle *h = table_enter(fd);
    struct iovec one = transfer_one(buf, len);

    return h == NULL ? real()->read(fd, buf, len)
                     : table_leave(transfer_read(h, &one, 1, AT_POSITION));
}

/* A negative offset is an error, and never means the position. */
static int64_t given(int64_t off)
{
    return off < 0 ? INT64_MIN : off;
}

EXPORT ssize_t pwrite(int fd, const void *buf, size_t len, off_t off)
{
    struct handle *h = table_enter(fd);
    struct iovec one = transfer_one(buf, len);

    return h == NULL ? real()->pwrite(fd, buf, len, off)
                     : table_leave(transfer_write(h, &one, 1, given(off)));
}

EXPORT ssize_t pread(int fd, void *buf, size_t len, off_t off)
{
    struct handle *h = table_enter(fd);
    struct iovec one = transfer_one(buf, len);

    return h == NULL ? real()->pread(fd, buf, len, off)
                     : table_leave(transfer_read(h, &one, 1, given(off)));
}

EXPORT ssize_t writev(int fd, const struct iovec *piece, int n)
{
    struct handle *h = table_enter(fd);

    return h == NULL ? real()->writev(fd, piece, n)
                     : table_leave(transfer_write(h, piece, n, AT_POSITION));
}

EXPORT ssize_t readv(int fd, const struct iovec *piece, int n)
{
    struct handle *h = table_enter(fd);

    return h == NULL ? real()->readv(fd, piece, n)
                     : table_leave(transfer_read(h, piece, n, AT_POSITION));
}

EXPORT ssize_t pwritev(int fd, const struct iovec *piece, int n, off_t off)
{
    struct handle *h = table_enter(fd);

    return h == NULL ? real()->pwritev(fd, piece, n, off)
                     : table_leave(transfer_write(h, piece, n, given(off)));
}

EXPORT ssize_t preadv(int fd, const struct iovec *piece, int n, off_t off)
{
    struct handle *h = table_enter(fd);

    return h == NULL ? real()->preadv(fd, piece, n, off)
                     : table_leave(transfer_read(h, piece, n, given(off)));
}

/* With flags the kernel is asked for more than data. Offset -1 is the position here. */
EXPORT ssize_t pwritev2(int fd, const struct iovec *piece, int n, off_t off, int flags)
{
    struct handle *h = table_enter(fd);

    if (h != NULL && flags == 0)
        return table_leave(transfer_write(h, piece, n, off == -1 ? AT_POSITION : given(off)));
    if (h != NULL && table_leave(table_pass(h->file, "pwritev2 with flags")) < 0)
        return -1;
    return real()->pwritev2(fd, piece, n, off, flags);
}

EXPORT ssize_t preadv2(int fd, const struct iovec *piece, int n, off_t off, int flags)
{
    struct handle *h = table_enter(fd);

    if (h != NULL && flags == 0)
        return table_leave(transfer_read(h, piece, n, off == -1 ? AT_POSITION : given(off)));
    if (h != NULL && table_leave(table_pass(h->file, "preadv2 with flags")) < 0)
        return -1;
    return real()->preadv2(fd, piece, n, off, flags);
}

EXPORT off_t lseek(int fd, off_t off, int whence)
{
    struct handle *h = table_enter(fd);

    return h == NULL ? real()->lseek(fd, off, whence)
                     : table_leave(transfer_seek(h, fd, off, whence));
}

SAME_AS(pwrite) ssize_t pwrite64(int fd, const void *buf, size_t len, off64_t off);
SAME_AS(pread) ssize_t pread64(int fd, void *buf, size_t len, off64_t off);
SAME_AS(pwritev) ssize_t pwritev64(int fd, const struct iovec *piece, int n, off64_t off);
SAME_AS(preadv) ssize_t preadv64(int fd, const struct iovec *piece, int n, off64_t off);
SAME_AS(pwritev2)
ssize_t pwritev64v2(int fd, const struct iovec *piece, int n, off64_t off, int flags);
SAME_AS(preadv2)
ssize_t preadv64v2(int fd, const struct iovec *piece, int n, off64_t off, int flags);
SAME_AS(lseek) off64_t lseek64(int fd, off64_t off, int whence);

/* What _FORTIFY_SOURCE makes of read and pread: `size` is what the buffer has. */

static void check_size(size_t len, size_t size)
{
    if (len > size)
        __builtin_trap();
}

EXPORT ssize_t __read_chk(int fd, void *buf, size_t len, size_t size)
{
    check_size(len, size);
    return read(fd, buf, len);
}

EXPORT ssize_t __pread_chk(int fd, void *buf, size_t len, off_t off, size_t size)
{
    check_size(len, size);
    return pread(fd, buf, len, off);
}

SAME_AS(__pread_chk)
ssize_t __pread64_chk(int fd, void *buf, size_t len, off64_t off, size_t size);
