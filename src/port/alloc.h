/* Where exec's buffers come from, so that tests can let an allocation fail. */
#ifndef CIO_PORT_ALLOC_H
#define CIO_PORT_ALLOC_H

#include <stddef.h>

struct cio_alloc {
    void *(*get)(void *self, size_t size); /* NULL on failure; freed with free() */
    void *self;
};

/* malloc; huge pages for large ones, where the system gives them */
extern const struct cio_alloc cio_alloc_system;

#endif
