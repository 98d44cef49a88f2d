/* Buffers from malloc. */
#include "port/alloc.h"

#include <stdlib.h>

static void *get(void *self, size_t size)
{
    (void)self;
    return malloc(size);
}

const struct cio_alloc cio_alloc_system = {.get = get, .self = NULL};
