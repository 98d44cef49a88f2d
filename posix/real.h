/*
 * The system's functions behind the names that this library takes. Everything in posix/ that works
 * for the library itself calls these; what the engine calls by name comes to the same, because
 * its descriptors are in no table.
 */
#ifndef TAMIO_POSIX_REAL_H
#define TAMIO_POSIX_REAL_H

#include <aio.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

_Static_assert(sizeof(off_t) == 8,
               "for systems where open64 and open are the same; with -D_GNU_SOURCE");

#define REAL_FUNCTIONS(X)                                                                          \
    X(openat)                                                                                      \
    X(close)                                                                                       \
    X(read)                                                                                        \
    X(write)                                                                                       \
    X(pread)                                                                                       \
    X(pwrite)                                                                                      \
    X(readv) X(writev) X(preadv) X(pwritev) X(preadv2) X(pwritev2) X(lseek) X(fsync) X(fdatasync)  \
        X(sync) X(syncfs) X(ftruncate) X(truncate) X(fallocate) X(posix_fallocate) X(dup) X(dup2)  \
            X(dup3) X(fcntl) X(ioctl) X(flock) X(lockf) X(mmap) X(sendfile) X(copy_file_range)     \
                X(splice) X(aio_read) X(aio_write) X(unlinkat) X(remove) X(renameat) X(fopen)      \
                    X(freopen) X(fdopen) X(fileno) X(fileno_unlocked) X(close_range) X(closefrom)  \
                        X(lio_listio) X(statx) X(renameat2)

struct real {
#define REAL_FIELD(name) __typeof__(name) *name;
    REAL_FUNCTIONS(REAL_FIELD)
#undef REAL_FIELD
};

/* A function that the C library does not have is NULL here, and no program can call it. */
const struct real *real(void);

/* As the kernel has it: in a C library before 2.33 there is no such function to look up. */
int real_stat(int dir, const char *path, struct stat *st, int flags);

#endif
