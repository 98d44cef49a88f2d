/*
 * To be preloaded: lets some allocations fail that tamio makes below certain functions of its own,
 * of memory, shared memory and threads. MPICH's do not fail. The program arms it with
 * tamio_test_fail(). Where code lies in the library is told by TEST_CODE (tamio's), TEST_BELOW
 * (those functions) and TEST_ROMIO (ROMIO's allocators, which end the job): ranges "first-behind"
 * in hexadecimal, as offsets, with blanks between them (resources.sh).
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <execinfo.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#define DEEP 20

extern void *__libc_malloc(size_t size);
extern void *__libc_calloc(size_t n, size_t size);
extern void *__libc_memalign(size_t alignment, size_t size);

struct range {
    uintptr_t first, behind;
};
struct ranges {
    struct range range[16];
    int n;
};

static struct ranges code, below, romio;
static int left, many, fired, busy;

static void find(const char *name, uintptr_t base, struct ranges *r)
{
    const char *text = getenv(name);
    unsigned long first, behind;
    int used;

    while (text != NULL && sscanf(text, "%lx-%lx%n", &first, &behind, &used) == 2) {
        r->range[r->n++] = (struct range){base + first, base + behind};
        text += used;
    }
    if (r->n == 0)
        abort();
}

/*
 * The n-th from now on fails, counted from 1, and those after it, so many in all; n == 0: none.
 * Whether any has failed since the last call.
 */
int tamio_test_fail(int n, int so_many);

int tamio_test_fail(int n, int so_many)
{
    void *any = dlsym(RTLD_DEFAULT, "MPI_File_open"), *frames[DEEP];
    int before = fired;
    Dl_info info;

    if (code.n == 0 && dladdr(any, &info) != 0) {
        find("TEST_CODE", (uintptr_t)info.dli_fbase, &code);
        find("TEST_BELOW", (uintptr_t)info.dli_fbase, &below);
        find("TEST_ROMIO", (uintptr_t)info.dli_fbase, &romio);
        backtrace(frames, DEEP); /* what it allocates, it does the first time */
    }
    left = n;
    many = so_many;
    fired = 0;
    return before;
}

static int is_in(const struct ranges *r, const void *address)
{
    uintptr_t a = (uintptr_t)address;

    for (int i = 0; i < r->n; i++)
        if (a >= r->range[i].first && a < r->range[i].behind)
            return 1;
    return 0;
}

/* Called from tamio, maybe through ROMIO's allocator, below one of those functions. */
static int is_meant(const void *caller)
{
    void *frames[DEEP];
    int n, from = 0;

    if (!is_in(&code, caller) && !is_in(&romio, caller))
        return 0;
    busy = 1;
    n = backtrace(frames, DEEP);
    busy = 0;
    while (from < n && frames[from] != caller)
        from++;
    if (from + 1 < n && is_in(&romio, frames[from]))
        from++;
    if (from == n || !is_in(&code, frames[from]))
        return 0;
    while (from < n && !is_in(&below, frames[from]))
        from++;
    return from < n;
}

static int fails(const void *caller)
{
    if (left == 0 || busy || !is_meant(caller))
        return 0;
    if (left > 1) {
        left--;
        return 0;
    }
    fired = 1;
    if (--many == 0)
        left = 0;
    return 1;
}

void *malloc(size_t size)
{
    return fails(__builtin_return_address(0)) ? NULL : __libc_malloc(size);
}

void *calloc(size_t n, size_t size)
{
    return fails(__builtin_return_address(0)) ? NULL : __libc_calloc(n, size);
}

int posix_memalign(void **out, size_t alignment, size_t size)
{
    void *p = fails(__builtin_return_address(0)) ? NULL : __libc_memalign(alignment, size);

    if (p == NULL)
        return ENOMEM;
    *out = p;
    return 0;
}

void *mmap(void *at, size_t size, int protection, int flags, int fd, off_t offset)
{
    if (fails(__builtin_return_address(0))) {
        errno = ENOMEM;
        return MAP_FAILED;
    }
    return (void *)syscall(SYS_mmap, at, size, protection, flags, fd, offset);
}

int posix_fallocate(int fd, off_t offset, off_t size)
{
    if (fails(__builtin_return_address(0)))
        return ENOSPC;
    return syscall(SYS_fallocate, fd, 0, offset, size) == 0 ? 0 : errno;
}

int shm_open(const char *name, int flags, mode_t mode)
{
    static int (*next)(const char *, int, mode_t);

    if (next == NULL)
        *(void **)&next = dlsym(RTLD_NEXT, "shm_open");
    if (fails(__builtin_return_address(0))) {
        errno = EMFILE;
        return -1;
    }
    return next(name, flags, mode);
}

int pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*start)(void *),
                   void *argument)
{
    static int (*next)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);

    if (next == NULL)
        *(void **)&next = dlsym(RTLD_NEXT, "pthread_create");
    if (fails(__builtin_return_address(0)))
        return EAGAIN;
    return next(thread, attributes, start, argument);
}
