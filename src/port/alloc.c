/*
 * Buffers from malloc. Large ones are aligned to huge pages, and the kernel is asked for such: a
 * buffer that is used for one call is mapped anew each time, and page by page that takes longer
 * than to fill it.
 */
#include "port/alloc.h"

#include <stdlib.h>
#include <sys/mman.h>

#define HUGE_PAGE ((size_t)2 << 20)

static void *get(void *self, size_t size)
{
    void *p;

    (void)self;
    if (size < HUGE_PAGE)
        return malloc(size);
    if (posix_memalign(&p, HUGE_PAGE, size) != 0)
        return NULL;
#ifdef MADV_HUGEPAGE
    madvise(p, size - size % HUGE_PAGE, MADV_HUGEPAGE);
#endif
    return p;
}

const struct cio_alloc cio_alloc_system = {.get = get, .self = NULL};
