#include "ranks.h"

#include <pthread.h>
#include <stdlib.h>

struct rank {
    struct ranks *all;
    struct cio_onesided_loop *loop;
    int rank;
};

static void *one(void *arg)
{
    struct rank *r = arg;
    struct ranks *all = r->all;
    struct cio_onesided *os;
    struct cio_space *space;
    struct cio_tcio *f;
    int rc;

    MUST(cio_onesided_loop_port(r->loop, r->rank, &os) == 0);
    all->port[r->rank] = os;
    MUST(cio_space_create(os, &all->settings, &space) == 0);
    MUST(cio_tcio_open(space, "the file", all->store, all->flags, &f) == 0);
    all->run(all, r->rank, space, f);
    (void)cio_tcio_close(f);
    rc = cio_space_flush(space);
    cio_space_destroy(space);
    if (r->rank == 0)
        all->outcome = rc;
    return NULL;
}

void ranks_run(struct ranks *all)
{
    struct cio_onesided_loop *loop;
    struct rank *r = calloc((size_t)all->size, sizeof *r);
    pthread_t *thread = calloc((size_t)all->size, sizeof *thread);
    int64_t bytes, exposed;

    MUST(r != NULL && thread != NULL);
    cio_space_region(&all->settings, &bytes, &exposed);
    MUST(cio_onesided_loop_create(all->size, all->node_of, bytes, &loop) == 0);
    if (all->memory > 0)
        cio_onesided_loop_limit(loop, all->memory);
    for (int i = 0; i < all->size; i++) {
        r[i] = (struct rank){all, loop, i};
        MUST(pthread_create(&thread[i], NULL, one, &r[i]) == 0);
    }
    for (int i = 0; i < all->size; i++)
        pthread_join(thread[i], NULL);
    cio_onesided_loop_destroy(loop);
    free(thread);
    free(r);
}
