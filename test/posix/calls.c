/*
 * Random calls of every kind on a file of this rank only, so that each result is known: what they
 * return, what they read, where the file ends.
 */
#include "check.h"

#include <sys/syscall.h>

#define SPAN 300000
#define LARGEST 20000
#define CALLS 3000

static unsigned long long state;
static char data[LARGEST * 3];
static int fd, copy;

static unsigned below(unsigned n)
{
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (unsigned)(state >> 33) % n;
}

static size_t filled(void)
{
    size_t len = below(LARGEST);

    fill(data, len, below(1000000));
    return len;
}

/* Three pieces, one of them empty. */
static int pieces(struct iovec v[3], size_t len)
{
    v[0] = (struct iovec){data, len / 3};
    v[1] = (struct iovec){data, 0};
    v[2] = (struct iovec){data + len / 3, len - len / 3};
    return 3;
}

static void write_somehow(unsigned how)
{
    size_t len = filled();
    off_t at = below(SPAN);
    struct iovec v[3];
    int n = pieces(v, len);

    switch (how % 9) {
    case 0:
        noted("pwrite", pwrite(fd, data, len, at));
        break;
    case 1:
        noted("pwrite64", pwrite64(fd, data, len, at));
        break;
    case 2:
        noted("write", write(fd, data, len));
        break;
    case 3:
        noted("writev", writev(fd, v, n));
        break;
    case 4:
        noted("pwritev", pwritev(fd, v, n, at));
        break;
    case 5:
        noted("write of a copy", write(copy, data, len));
        break;
    case 6:
        noted("pwritev2", pwritev2(fd, v, n, at, 0));
        break;
    case 7:
        noted("pwritev2 at the position", pwritev2(fd, v, n, -1, 0));
        break;
    case 8:
        noted("pwrite of nothing", pwrite(fd, data, 0, at));
        break;
    }
}

static void read_somehow(unsigned how)
{
    size_t len = below(LARGEST);
    off_t at = below(SPAN + SPAN / 4);
    struct iovec v[3];
    int n = pieces(v, len);

    memset(data, 0, sizeof(data));
    switch (how % 8) {
    case 0:
        note_data("pread", data, pread(fd, data, len, at));
        break;
    case 1:
        note_data("pread64", data, pread64(fd, data, len, at));
        break;
    case 2:
        note_data("read", data, read(fd, data, len));
        break;
    case 3:
        note_data("readv", data, readv(fd, v, n));
        break;
    case 4:
        note_data("preadv", data, preadv(fd, v, n, at));
        break;
    case 5:
        note_data("read of a copy", data, read(copy, data, len));
        break;
    case 6:
        note_data("preadv2", data, preadv2(fd, v, n, at, 0));
        break;
    case 7:
        note_data("pread64 of much", data, pread64(fd, data, sizeof(data), at));
        break;
    }
}

static void seek_somehow(unsigned how)
{
    off_t by = below(SPAN);

    switch (how % 6) {
    case 0:
        noted("lseek set", lseek(fd, by, SEEK_SET));
        break;
    case 1:
        noted("lseek64 set", lseek64(fd, by, SEEK_SET));
        break;
    case 2:
        noted("lseek forth", lseek(fd, by % 1000, SEEK_CUR));
        break;
    case 3:
        noted("lseek back", lseek(fd, -(by % 1000), SEEK_CUR));
        break;
    case 4:
        noted("lseek end", lseek(fd, -(by % 30000), SEEK_END));
        break;
    case 5:
        noted("where", lseek(copy, 0, SEEK_CUR));
        break;
    }
}

static void note_size(const char *what, int rc, const struct stat *st)
{
    note("%s: %d %lld", what, rc, (long long)st->st_size);
}

static void ask_somehow(unsigned how)
{
    struct stat st = {0};
    struct stat64 st64 = {0};
    struct statx stx = {0};
    int rc;

    switch (how % 7) {
    case 0:
        note_size("fstat", fstat(fd, &st), &st);
        break;
    case 1:
        note_size("stat", stat(own_file(), &st), &st);
        break;
    case 2:
        note_size("lstat", lstat(own_file(), &st), &st);
        break;
    case 3:
        note_size("fstatat", fstatat(AT_FDCWD, own_file(), &st, 0), &st);
        break;
    case 4:
        rc = fstat64(fd, &st64);
        note("fstat64: %d %lld", rc, (long long)st64.st_size);
        break;
    case 5:
        rc = statx(AT_FDCWD, own_file(), 0, STATX_SIZE, &stx);
        note("statx: %d %lld", rc, (long long)stx.stx_size);
        break;
    case 6:
        note_size("fstatat of a descriptor", fstatat(fd, "", &st, AT_EMPTY_PATH), &st);
        break;
    }
}

static void change_somehow(unsigned how)
{
    off_t at = below(SPAN);

    switch (how % 8) {
    case 0:
        noted("ftruncate", ftruncate(fd, at));
        break;
    case 1:
        noted("ftruncate64", ftruncate64(fd, at));
        break;
    case 2:
        noted("truncate", truncate(own_file(), at));
        break;
    case 3:
        noted("fsync", fsync(fd));
        break;
    case 4:
        noted("fdatasync", fdatasync(fd));
        break;
    case 5:
        noted("posix_fallocate", posix_fallocate(fd, at, 1000));
        break;
    case 6:
        noted("fallocate", fallocate(fd, 0, at, 1000));
        break;
    case 7:
        noted("close of the copy", close(copy));
        copy = dup(fd);
        break;
    }
}

/* Another open of the file: a position of its own, the same data. */
static void open_again(unsigned how)
{
    int flags[] = {O_RDONLY, O_WRONLY, O_RDWR, O_RDWR | O_TRUNC};
    int again =
        how % 2 ? open64(own_file(), flags[how % 4]) : openat(AT_FDCWD, own_file(), flags[how % 4]);

    noted("write through it", write(again, "0123456789", 10));
    note_data("read through it", data, read(again, data, 1000));
    if (how % 3 == 0) {
        noted("dup2", dup2(again, copy) == copy);
        noted("write through the copy", write(copy, "abcdefghij", 10));
        noted("dup3", dup3(fd, copy, O_CLOEXEC) == copy);
    }
    if (how % 5 == 0) {
        int third = fcntl(again, F_DUPFD, 40);

        noted("number of F_DUPFD", third >= 40);
        note_data("read through F_DUPFD", data, pread(third, data, 1000, 0));
        noted("close", close(third));
    }
    noted("close", close(again));
}

static void random_calls(void)
{
    for (int i = 0; i < CALLS; i++) {
        unsigned what = below(100), how = below(5040);

        if (what < 45)
            write_somehow(how);
        else if (what < 75)
            read_somehow(how);
        else if (what < 86)
            seek_somehow(how);
        else if (what < 94)
            ask_somehow(how);
        else if (what < 98)
            change_somehow(how);
        else
            open_again(how);
    }
}

/* What the system refuses is refused in the same way. */
static void bad_calls(void)
{
    struct iovec v = {data, (size_t)-1};
    int reader = open(own_file(), O_RDONLY), writer = open(own_file(), O_WRONLY);
    volatile int many = -1;

    noted("write to a reader", write(reader, data, 1));
    noted("read from a writer", read(writer, data, 1));
    noted("negative offset", pwrite(fd, data, 1, -1));
    noted("negative offset", pread(fd, data, 1, -5));
    noted("seek before zero", lseek(fd, -1, SEEK_SET));
    noted("bad whence", lseek(fd, 0, 77));
    noted("a piece that is too long", writev(fd, &v, 1));
    noted("too many pieces", writev(fd, &v, many));
    noted("ftruncate of a reader", ftruncate(reader, 0));
    noted("negative length", ftruncate(fd, -1));
    noted("O_EXCL", open(own_file(), O_RDWR | O_CREAT | O_EXCL, 0600));
    noted("no such folder", open("/nowhere/file.dat", O_RDWR | O_CREAT, 0600));
    noted("close", close(reader));
    noted("closed before", close(reader));
    noted("read after close", read(reader, data, 1));
    noted("close", close(writer));
}

/* Holes and the end, with nothing in between. */
static void far_away(void)
{
    long long far = 5ll << 30;

    noted("far away", pwrite(fd, "x", 1, far));
    noted("end", lseek(fd, 0, SEEK_END));
    memset(data, 7, 100);
    note_data("hole", data, pread(fd, data, 100, far - 50));
    noted("first hole", lseek(fd, 400000, SEEK_HOLE) >= 0);
    noted("ftruncate", ftruncate(fd, SPAN));
    note_data("beyond the end", data, pread(fd, data, 100, far - 50));
}

/*
 * A program that closes a number twice must not close one of the library's, which are far away.
 * The MPI may open connections at any time.
 */
#define OF_MPI 20
static void numbers(void)
{
    char name[4200];
    int lowest[3], one, two, three;

    for (int i = 0; i < 3; i++)
        lowest[i] = dup(0);
    for (int i = 0; i < 3; i++)
        close(lowest[i]);
    one = open(own_file(), O_RDWR | O_CREAT, 0640);
    snprintf(name, sizeof(name), "%s.two", own_file());
    two = creat(name, 0600);
    snprintf(name, sizeof(name), "%s.three", own_file());
    three = creat(name, 0600);
    noted("low numbers",
          one < lowest[0] + OF_MPI && two < lowest[1] + OF_MPI && three < lowest[2] + OF_MPI);
    noted("close", close(two));
    noted("closed before", close(two));
    noted("write", write(three, "still there", 11));
    noted("close", close(three));
    noted("close", close(one));
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    begin(argc, argv);
    state = 1234 + (unsigned)rank;
    numbers();
    fd = open(own_file(), O_RDWR | O_CREAT | O_TRUNC, 0640);
    copy = dup(fd);
    random_calls();
    bad_calls();
    far_away();
    noted("close", close(copy));
    noted("close", close(fd));
    fd = creat64(own_file(), 0600);
    noted("after creat", lseek(fd, 0, SEEK_END));
    close(fd);
    fd = open(own_file(), O_RDWR);
    random_calls();
    noted("close", close(fd));
    noted("closed before", close(fd));
    noted("rename", rename(own_file(), own_file()));
    return end();
}
