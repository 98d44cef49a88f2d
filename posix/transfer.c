/* What the kernel checks is checked here: access, sizes, offsets. */
#include "transfer.h"

#include <errno.h>
#include <limits.h>

#include "real.h"

#define TRANSFER_MAX ((int64_t)0x7ffff000) /* the kernel moves no more at once */
#define LARGE ((int64_t)4 << 20)

/* Bytes of all pieces, or the error that they are. */
static int64_t total(const struct iovec *piece, int n)
{
    int64_t sum = 0;

    if (n < 0 || n > IOV_MAX)
        return -EINVAL;
    for (int i = 0; i < n; i++) {
        if ((int64_t)piece[i].iov_len < 0 || (int64_t)piece[i].iov_len > INT64_MAX - sum)
            return -EINVAL;
        sum += (int64_t)piece[i].iov_len;
    }
    return sum < TRANSFER_MAX ? sum : TRANSFER_MAX;
}

/* Bytes that may be moved at `off`, or the error. */
static int64_t check(const struct iovec *piece, int n, int64_t off)
{
    int64_t len = total(piece, n);

    if (len < 0)
        return len;
    if (off < 0)
        return -EINVAL;
    if (len > INT64_MAX - off)
        return -EFBIG;
    return len;
}

static int64_t shorter(int64_t a, size_t b)
{
    return a < (int64_t)b ? a : (int64_t)b;
}

/* After some bytes the error of the next ones comes with the next call. */
static int64_t write_pieces(struct file *f, const struct iovec *piece, int64_t len, int64_t off)
{
    int64_t done = 0;

    for (; done < len; piece++) {
        int64_t n = shorter(len - done, piece->iov_len);
        int rc = n > 0 ? cio_tcio_write(f->tcio, off + done, piece->iov_base, n) : 0;

        if (rc < 0)
            return done > 0 ? done : rc;
        done += n;
    }
    return done;
}

/*
 * The engine clears what lies behind the end, and a program may give more than it has memory for
 * when it knows that the file is short. Asked for large pieces only.
 */
static int64_t before_end(struct file *f, int64_t off, int64_t n)
{
    int64_t size;

    if (n < LARGE || cio_tcio_size(f->tcio, &size) < 0 || size >= off + n)
        return n;
    return size > off ? size - off : 0;
}

static int64_t read_pieces(struct file *f, const struct iovec *piece, int64_t len, int64_t off)
{
    int64_t done = 0;

    for (; done < len; piece++) {
        int64_t wanted = shorter(len - done, piece->iov_len), got = 0;
        int64_t n = before_end(f, off + done, wanted);
        int rc = n > 0 ? cio_tcio_read(f->tcio, off + done, piece->iov_base, n, &got) : 0;

        if (rc < 0)
            return done > 0 ? done : rc;
        done += got;
        if (got < wanted)
            break;
    }
    return done;
}

int64_t transfer_write(struct handle *h, const struct iovec *piece, int n, int64_t off)
{
    int64_t at = off == AT_POSITION ? h->position : off;
    int64_t len = check(piece, n, at);

    if (!h->writable)
        return -EBADF;
    if (len <= 0)
        return len;
    len = write_pieces(h->file, piece, len, at);
    if (off == AT_POSITION && len > 0)
        h->position += len;
    return len;
}

int64_t transfer_read(struct handle *h, const struct iovec *piece, int n, int64_t off)
{
    int64_t at = off == AT_POSITION ? h->position : off;
    int64_t len = check(piece, n, at);

    if (!h->readable)
        return -EBADF;
    if (len <= 0)
        return len;
    len = read_pieces(h->file, piece, len, at);
    if (off == AT_POSITION && len > 0)
        h->position += len;
    return len;
}

static int64_t move(struct handle *h, int64_t base, int64_t off)
{
    if (off > 0 && base > INT64_MAX - off)
        return -EOVERFLOW;
    if (base + off < 0)
        return -EINVAL;
    h->position = base + off;
    return h->position;
}

/* Holes are what the file has. */
static int64_t seek_in_file(struct handle *h, int fd, int64_t off, int whence)
{
    int rc = file_settle(h->file);
    int64_t at;

    if (rc < 0)
        return rc;
    at = real()->lseek(fd, off, whence);
    return at < 0 ? -errno : move(h, at, 0);
}

int64_t transfer_seek(struct handle *h, int fd, int64_t off, int whence)
{
    int64_t size;
    int rc;

    switch (whence) {
    case SEEK_SET:
        return move(h, 0, off);
    case SEEK_CUR:
        return move(h, h->position, off);
    case SEEK_END:
        rc = cio_tcio_size(h->file->tcio, &size);
        return rc < 0 ? rc : move(h, size, off);
    default:
        return seek_in_file(h, fd, off, whence);
    }
}
