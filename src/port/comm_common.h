/* What the implementations of comm.h share. */
#ifndef CIO_PORT_COMM_COMMON_H
#define CIO_PORT_COMM_COMMON_H

#include <string.h>

#include "port/comm.h"

static inline int64_t cio_iov_bytes(const struct cio_iov *iov, int niov)
{
    int64_t total = 0;

    for (int i = 0; i < niov; i++)
        total += iov[i].len;
    return total;
}

/* Puts the parts one after another into `out`. */
static inline void cio_iov_gather(const struct cio_iov *iov, int niov, void *out)
{
    char *at = out;

    for (int i = 0; i < niov; i++) {
        if (iov[i].len == 0)
            continue;
        memcpy(at, iov[i].base, (size_t)iov[i].len);
        at += iov[i].len;
    }
}

static inline void cio_req_begin(struct cio_req *req)
{
    *req = (struct cio_req){.state = CIO_REQ_ACTIVE};
}

#endif
