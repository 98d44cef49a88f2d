/*
 * Every rank is a thread, and all regions lie in one process: puts and gets are copies. Words are
 * accessed atomically, so that what one thread has put is seen by whoever sees a word stored after.
 */
#include "port/onesided_loop.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#define WORDS_MOST 16

struct cio_onesided_loop {
    int size, nodes;
    int *node_of, *busy;
    int64_t bytes, left; /* of a region; that may still be backed */
    char **region;
    pthread_mutex_t lock;
    pthread_cond_t all;
    int arrived;
    unsigned turn;
    int64_t word[WORDS_MOST], agreed[WORDS_MOST];
};

struct port {
    struct cio_onesided os;
    struct cio_onesided_loop *loop;
};

static struct port *port_of(struct cio_onesided *os)
{
    return (struct port *)os;
}

static char *place(struct cio_onesided *os, int target, int64_t at)
{
    return port_of(os)->loop->region[target] + at;
}

static int loop_put(struct cio_onesided *os, const void *from, int64_t len, int target, int64_t at)
{
    memcpy(place(os, target, at), from, (size_t)len);
    return 0;
}

static int loop_store(struct cio_onesided *os, uint64_t word, int target, int64_t at)
{
    __atomic_store_n((uint64_t *)(void *)place(os, target, at), word, __ATOMIC_SEQ_CST);
    return 0;
}

static int loop_get(struct cio_onesided *os, void *to, int64_t len, int target, int64_t at)
{
    uint64_t word;

    if (len == (int64_t)sizeof word) {
        word = __atomic_load_n((uint64_t *)(void *)place(os, target, at), __ATOMIC_SEQ_CST);
        memcpy(to, &word, sizeof word);
    } else {
        memcpy(to, place(os, target, at), (size_t)len);
    }
    return 0;
}

static int loop_add(struct cio_onesided *os, uint64_t by, int target, int64_t at, uint64_t *old)
{
    *old = __atomic_fetch_add((uint64_t *)(void *)place(os, target, at), by, __ATOMIC_SEQ_CST);
    return 0;
}

static int loop_flush(struct cio_onesided *os, int target)
{
    (void)os, (void)target;
    return 0;
}

static void join_words(struct cio_onesided_loop *l, const int64_t *word, int n)
{
    for (int i = 0; i < n; i++)
        if (l->arrived == 0 || word[i] > l->word[i])
            l->word[i] = word[i];
}

static int loop_agree(struct cio_onesided *os, int64_t *word, int n)
{
    struct cio_onesided_loop *l = port_of(os)->loop;
    unsigned turn;

    if (n > WORDS_MOST)
        return -EINVAL;
    pthread_mutex_lock(&l->lock);
    join_words(l, word, n);
    turn = l->turn;
    if (++l->arrived == l->size) {
        memcpy(l->agreed, l->word, sizeof l->word);
        l->arrived = 0;
        l->turn++;
        pthread_cond_broadcast(&l->all);
    }
    while (turn == l->turn)
        pthread_cond_wait(&l->all, &l->lock);
    memcpy(word, l->agreed, (size_t)n * sizeof *word);
    pthread_mutex_unlock(&l->lock);
    return 0;
}

static void loop_progress(struct cio_onesided *os)
{
    (void)os;
    sched_yield();
}

static int loop_responds(struct cio_onesided *os, int target)
{
    return !__atomic_load_n(&port_of(os)->loop->busy[target], __ATOMIC_RELAXED);
}

void cio_onesided_loop_busy(struct cio_onesided *os, int rank, int busy)
{
    __atomic_store_n(&port_of(os)->loop->busy[rank], busy, __ATOMIC_RELAXED);
}

static int loop_back(struct cio_onesided *os, int rank, int64_t from, int64_t to)
{
    struct cio_onesided_loop *l = port_of(os)->loop;

    (void)rank;
    if (to > l->bytes)
        return -EINVAL;
    return __atomic_sub_fetch(&l->left, to - from, __ATOMIC_SEQ_CST) >= 0 ? 0 : -ENOSPC;
}

void cio_onesided_loop_limit(struct cio_onesided_loop *loop, int64_t bytes)
{
    loop->left = bytes;
}

static void *loop_local(struct cio_onesided *os, int rank)
{
    return os->node_of[rank] == os->node_of[os->rank] ? place(os, rank, 0) : NULL;
}

static void loop_destroy(struct cio_onesided *os)
{
    free(os);
}

static const struct cio_onesided_ops loop_ops = {
    .put = loop_put,
    .store = loop_store,
    .get = loop_get,
    .add = loop_add,
    .flush = loop_flush,
    .agree = loop_agree,
    .progress = loop_progress,
    .responds = loop_responds,
    .back = loop_back,
    .local = loop_local,
    .destroy = loop_destroy,
};

static int make_regions(struct cio_onesided_loop *l)
{
    l->node_of = malloc((size_t)l->size * sizeof *l->node_of);
    l->busy = calloc((size_t)l->size, sizeof *l->busy);
    l->region = calloc((size_t)l->size, sizeof *l->region);
    if (l->node_of == NULL || l->busy == NULL || l->region == NULL)
        return -ENOMEM;
    for (int r = 0; r < l->size; r++) {
        l->region[r] = aligned_alloc(4096, (size_t)(l->bytes + 4095) / 4096 * 4096);
        if (l->region[r] == NULL)
            return -ENOMEM;
        memset(l->region[r], 0, (size_t)l->bytes);
    }
    return 0;
}

int cio_onesided_loop_create(int size, const int *node_of, int64_t bytes,
                             struct cio_onesided_loop **out)
{
    struct cio_onesided_loop *l = calloc(1, sizeof *l);
    int rc = -ENOMEM;

    if (l == NULL)
        return rc;
    l->size = size;
    l->bytes = bytes;
    l->left = INT64_MAX;
    pthread_mutex_init(&l->lock, NULL);
    pthread_cond_init(&l->all, NULL);
    rc = make_regions(l);
    if (rc != 0) {
        cio_onesided_loop_destroy(l);
        return rc;
    }
    for (int r = 0; r < size; r++) {
        l->node_of[r] = node_of[r];
        l->nodes = node_of[r] >= l->nodes ? node_of[r] + 1 : l->nodes;
    }
    *out = l;
    return 0;
}

int cio_onesided_loop_port(struct cio_onesided_loop *loop, int rank, struct cio_onesided **out)
{
    struct port *p = malloc(sizeof *p);

    if (p == NULL)
        return -ENOMEM;
    p->loop = loop;
    p->os = (struct cio_onesided){.rank = rank,
                                  .size = loop->size,
                                  .nodes = loop->nodes,
                                  .node_of = loop->node_of,
                                  .ops = &loop_ops};
    *out = &p->os;
    return 0;
}

void cio_onesided_loop_destroy(struct cio_onesided_loop *loop)
{
    for (int r = 0; r < loop->size && loop->region != NULL; r++)
        free(loop->region[r]);
    free(loop->region);
    free(loop->node_of);
    free(loop->busy);
    pthread_cond_destroy(&loop->all);
    pthread_mutex_destroy(&loop->lock);
    free(loop);
}
