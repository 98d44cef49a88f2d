/*
 * stdio: a stream on a file that is taken is the C library's own, with functions for its data that
 * call read, write, lseek and close of this library. So everything that stdio can do works on it;
 * only fileno and what makes streams has to be ours.
 */
#include "real.h"

#include <errno.h>
#include <pthread.h>
#include <stdio_ext.h>
#include <stdlib.h>
#include <string.h>

#include "export.h"
#include "table.h"

/* So that fileno finds the descriptor. */
struct stream {
    struct stream *next;
    FILE *file;
    int fd;
};

static struct stream *streams;
static pthread_mutex_t streams_lock = PTHREAD_MUTEX_INITIALIZER;

static void add_stream(struct stream *s)
{
    pthread_mutex_lock(&streams_lock);
    s->next = streams;
    streams = s;
    pthread_mutex_unlock(&streams_lock);
}

static void remove_stream(const struct stream *s)
{
    struct stream **at = &streams;

    pthread_mutex_lock(&streams_lock);
    while (*at != NULL && *at != s)
        at = &(*at)->next;
    if (*at != NULL)
        *at = s->next;
    pthread_mutex_unlock(&streams_lock);
}

/* Or NULL. It stays until the program closes it. */
static struct stream *find_stream(const FILE *file)
{
    struct stream *s;

    pthread_mutex_lock(&streams_lock);
    for (s = streams; s != NULL && s->file != file; s = s->next)
        ;
    pthread_mutex_unlock(&streams_lock);
    return s;
}

/* The stream's functions. */

static ssize_t stream_read(void *cookie, char *buf, size_t len)
{
    return read(((struct stream *)cookie)->fd, buf, len);
}

/*
 * Less than all of it is an error to the C library. Where the file is after a write, the C library
 * notes for its own files and forgets for such ones: its fseek would go wrong.
 */
static ssize_t stream_write(void *cookie, const char *buf, size_t len)
{
    struct stream *s = cookie;
    size_t done = 0;

    while (done < len) {
        ssize_t n = write(s->fd, buf + done, len - done);

        if (n <= 0)
            break;
        done += (size_t)n;
    }
    if (s->file->_offset >= 0)
        s->file->_offset += (off64_t)done;
    return (ssize_t)done;
}

static int stream_seek(void *cookie, off64_t *off, int whence)
{
    off_t at = lseek(((struct stream *)cookie)->fd, *off, whence);

    if (at < 0)
        return -1;
    *off = at;
    return 0;
}

static int stream_close(void *cookie)
{
    struct stream *s = cookie;
    int fd = s->fd;

    remove_stream(s);
    free(s);
    return close(fd);
}

/* On a descriptor that is taken. */
static FILE *new_stream(int fd, const char *mode)
{
    static const cookie_io_functions_t functions = {stream_read, stream_write, stream_seek,
                                                    stream_close};
    struct stream *s = malloc(sizeof(*s));

    if (s == NULL)
        return NULL;
    s->fd = fd;
    s->file = fopencookie(s, mode, functions);
    if (s->file == NULL) {
        free(s);
        return NULL;
    }
    add_stream(s);
    return s->file;
}

/* Opening. */

struct mode {
    int flags;
    char direction[3]; /* "r", "w", "a", with or without "+" */
    int other;         /* something that only the C library knows */
};

/* 0: no mode that fopen has. */
static int parse_mode(const char *text, struct mode *mode)
{
    int update;

    if (text == NULL || strchr("rwa", text[0]) == NULL || text[0] == '\0')
        return 0;
    update = strchr(text, '+') != NULL;
    *mode = (struct mode){.flags = update           ? O_RDWR
                                   : text[0] == 'r' ? O_RDONLY
                                                    : O_WRONLY,
                          .direction = {text[0], update ? '+' : '\0'},
                          .other = strchr(text, ',') != NULL || strchr(text, 'm') != NULL};
    if (text[0] != 'r')
        mode->flags |= O_CREAT | (text[0] == 'w' ? O_TRUNC : O_APPEND);
    if (strchr(text, 'x') != NULL)
        mode->flags |= O_EXCL;
    if (strchr(text, 'e') != NULL)
        mode->flags |= O_CLOEXEC;
    return 1;
}

/* Only if it is taken is the stream ours: else the C library's own fopen has the descriptor. */
static FILE *open_stream(const char *name, const char *text, const void *from)
{
    struct mode mode;
    FILE *file;
    int fd;

    if (!parse_mode(text, &mode) || mode.other || !table_may_take(name))
        return real()->fopen(name, text);
    fd = table_open(AT_FDCWD, name, mode.flags, 0666, from);
    if (fd < 0)
        return NULL;
    file = table_find(fd) != NULL ? new_stream(fd, mode.direction) : real()->fdopen(fd, text);
    if (file == NULL)
        close(fd);
    return file;
}

EXPORT FILE *fopen(const char *name, const char *mode)
{
    return open_stream(name, mode, CALLER);
}

SAME_AS(fopen) FILE *fopen64(const char *name, const char *mode);

EXPORT FILE *fdopen(int fd, const char *text)
{
    struct handle *h = table_enter(fd);
    struct mode mode;
    FILE *file;

    if (h == NULL)
        return real()->fdopen(fd, text);
    if (parse_mode(text, &mode) && !mode.other && text[0] != 'a') {
        file = new_stream(fd, mode.direction);
        table_leave(0);
        return file;
    }
    if (table_leave(table_pass(h->file, "fdopen for appending")) < 0)
        return NULL;
    return real()->fdopen(fd, text);
}

/* The C library opens the file by itself. The stream may be a standard one. */
static FILE *reopen_theirs(const char *name, const char *mode, FILE *file)
{
    FILE *again = real()->freopen(name, mode, file);

    if (again != NULL && name != NULL)
        table_not_taken(real()->fileno(again), name, "it is opened with freopen");
    return again;
}

/* What the C library has in a stream's flags, and does not tell. */
#define MAY_NOT_READ 0x4
#define MAY_NOT_WRITE 0x8

/* As if it were a new stream, with nothing in its buffer. */
static void start_again(struct stream *s, int fd, int flags)
{
    int access = flags & O_ACCMODE;

    __fpurge(s->file);
    clearerr(s->file);
    close(s->fd);
    s->fd = fd;
    s->file->_offset = -1;
    s->file->_flags &= ~(MAY_NOT_READ | MAY_NOT_WRITE);
    s->file->_flags |= access == O_RDONLY ? MAY_NOT_WRITE : access == O_WRONLY ? MAY_NOT_READ : 0;
}

/* The C library cannot do that to a stream with functions. */
static FILE *reopen_ours(const char *name, const char *text, struct stream *s, const void *from)
{
    struct mode mode;
    int fd = -1;

    fflush(s->file);
    if (name == NULL || !parse_mode(text, &mode))
        errno = name == NULL ? EBADF : EINVAL;
    else
        fd = table_open(AT_FDCWD, name, mode.flags, 0666, from);
    if (fd < 0) {
        int error = errno;

        fclose(s->file);
        errno = error;
        return NULL;
    }
    start_again(s, fd, mode.flags);
    return s->file;
}

EXPORT FILE *freopen(const char *name, const char *mode, FILE *file)
{
    struct stream *s = find_stream(file);

    return s != NULL ? reopen_ours(name, mode, s, CALLER) : reopen_theirs(name, mode, file);
}

SAME_AS(freopen) FILE *freopen64(const char *name, const char *mode, FILE *file);

EXPORT int fileno(FILE *file)
{
    const struct stream *s = find_stream(file);

    return s != NULL ? s->fd : real()->fileno(file);
}

EXPORT int fileno_unlocked(FILE *file)
{
    const struct stream *s = find_stream(file);

    return s != NULL ? s->fd : real()->fileno_unlocked(file);
}
