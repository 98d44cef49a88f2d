/*
 * A window over the first part of each rank's region, locked by all for the life of the port, and
 * one segment of shared memory for the regions of a node:
 *
 *   | region of local rank 0 | region of local rank 1 | ...      each a multiple of a page
 *   | exposed |              | exposed |
 *
 * Words are written by MPI_Accumulate, which unlike MPI_Put is atomic for each of them. The port
 * keeps the last WORDS of them, since their buffers must live until they have been sent.
 */
#include "port/onesided_mpi.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "port/log.h"

#define PAGE ((int64_t)4096)
#define WORDS 64

struct asked {
    MPI_Request request;
    uint64_t answer; /* whatever it is */
};

struct port {
    struct cio_onesided os;
    MPI_Comm comm;
    MPI_Win win;
    int locked;
    const struct cio_node_memory *memory;
    struct cio_nodemem segment;
    int64_t bytes, exposed; /* of a region */
    int *node_of, *place;   /* of each rank: its node, and which of the node's ranks it is */
    uint64_t word[WORDS];
    unsigned words;
    struct asked *asked; /* of each rank, whether it responds */
};

static struct port *port_of(struct cio_onesided *os)
{
    return (struct port *)os;
}

static int error_of(int mpi_error)
{
    return mpi_error == MPI_SUCCESS ? 0 : -EIO;
}

/* Talking. Where all ranks are of one node there is no window, and none is needed. */

static int is_one_node(const struct port *p)
{
    return p->os.nodes == 1;
}

static char *word_at(struct cio_onesided *os, int rank, int64_t at);

static int mpi_put(struct cio_onesided *os, const void *from, int64_t len, int target, int64_t at)
{
    if (is_one_node(port_of(os))) {
        memcpy(word_at(os, target, at), from, (size_t)len);
        return 0;
    }
    if (len > INT_MAX)
        return -EINVAL;
    return error_of(MPI_Put(from, (int)len, MPI_BYTE, target, (MPI_Aint)at, (int)len, MPI_BYTE,
                            port_of(os)->win));
}

static int mpi_store(struct cio_onesided *os, uint64_t word, int target, int64_t at)
{
    struct port *p = port_of(os);
    uint64_t *kept = &p->word[p->words++ % WORDS];
    int rc = 0;

    if (is_one_node(p)) {
        __atomic_store_n((uint64_t *)word_at(os, target, at), word, __ATOMIC_RELEASE);
        return 0;
    }
    if (p->words % WORDS == 0)
        rc = error_of(MPI_Win_flush_local_all(p->win));
    *kept = word;
    if (rc == 0)
        rc = error_of(MPI_Accumulate(kept, 1, MPI_UINT64_T, target, (MPI_Aint)at, 1, MPI_UINT64_T,
                                     MPI_REPLACE, p->win));
    return rc;
}

static int mpi_get(struct cio_onesided *os, void *to, int64_t len, int target, int64_t at)
{
    if (is_one_node(port_of(os))) {
        memcpy(to, word_at(os, target, at), (size_t)len);
        return 0;
    }
    if (len > INT_MAX)
        return -EINVAL;
    return error_of(MPI_Get(to, (int)len, MPI_BYTE, target, (MPI_Aint)at, (int)len, MPI_BYTE,
                            port_of(os)->win));
}

static int mpi_add(struct cio_onesided *os, uint64_t by, int target, int64_t at, uint64_t *old)
{
    struct port *p = port_of(os);
    uint64_t *kept = &p->word[p->words++ % WORDS];
    int rc = 0;

    if (is_one_node(p)) {
        *old = __atomic_fetch_add((uint64_t *)word_at(os, target, at), by, __ATOMIC_ACQ_REL);
        return 0;
    }
    if (p->words % WORDS == 0)
        rc = error_of(MPI_Win_flush_local_all(p->win));
    *kept = by;
    if (rc == 0)
        rc = error_of(
            MPI_Fetch_and_op(kept, old, MPI_UINT64_T, target, (MPI_Aint)at, MPI_SUM, p->win));
    return rc;
}

static int mpi_flush(struct cio_onesided *os, int target)
{
    return is_one_node(port_of(os)) ? 0 : error_of(MPI_Win_flush(target, port_of(os)->win));
}

static int mpi_agree(struct cio_onesided *os, int64_t *word, int n)
{
    return error_of(MPI_Allreduce(MPI_IN_PLACE, word, n, MPI_INT64_T, MPI_MAX, port_of(os)->comm));
}

static void mpi_progress(struct cio_onesided *os)
{
    int flag;

    (void)MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, port_of(os)->comm, &flag, MPI_STATUS_IGNORE);
}

/* An error is told by what comes next. */
static int mpi_responds(struct cio_onesided *os, int target)
{
    struct port *p = port_of(os);
    struct asked *a = &p->asked[target];
    int done = 1;

    if (a->request == MPI_REQUEST_NULL &&
        MPI_Rget(&a->answer, (int)sizeof a->answer, MPI_BYTE, target, 0, (int)sizeof a->answer,
                 MPI_BYTE, p->win, &a->request) != MPI_SUCCESS)
        return 1;
    (void)MPI_Test(&a->request, &done, MPI_STATUS_IGNORE);
    return done;
}

/* What was asked and never looked at. */
static void forget_questions(struct port *p)
{
    for (int r = 0; p->asked != NULL && r < p->os.size; r++)
        if (p->asked[r].request != MPI_REQUEST_NULL)
            (void)MPI_Wait(&p->asked[r].request, MPI_STATUS_IGNORE);
    free(p->asked);
}

static int mpi_back(struct cio_onesided *os, int rank, int64_t from, int64_t to)
{
    struct port *p = port_of(os);
    int64_t start = p->place[rank] * p->bytes;

    return p->memory->ops->back(p->memory->self, &p->segment, start + from, start + to);
}

static void *mpi_local(struct cio_onesided *os, int rank)
{
    struct port *p = port_of(os);

    if (p->node_of[rank] != p->node_of[os->rank])
        return NULL;
    return (char *)p->segment.base + p->place[rank] * p->bytes;
}

static char *word_at(struct cio_onesided *os, int rank, int64_t at)
{
    return (char *)mpi_local(os, rank) + at;
}

/* Making and unmaking. */

static void leave_segment(struct port *p)
{
    if (p->segment.base != NULL)
        p->memory->ops->leave(p->memory->self, &p->segment);
    p->segment.base = NULL;
}

static void mpi_destroy(struct cio_onesided *os)
{
    struct port *p = port_of(os);

    forget_questions(p);
    if (p->locked)
        (void)MPI_Win_unlock_all(p->win);
    if (p->win != MPI_WIN_NULL)
        (void)MPI_Win_free(&p->win);
    leave_segment(p);
    free(p->node_of);
    free(p->place);
    free(p);
}

static const struct cio_onesided_ops mpi_ops = {
    .put = mpi_put,
    .store = mpi_store,
    .get = mpi_get,
    .add = mpi_add,
    .flush = mpi_flush,
    .agree = mpi_agree,
    .progress = mpi_progress,
    .responds = mpi_responds,
    .back = mpi_back,
    .local = mpi_local,
    .destroy = mpi_destroy,
};

/* Whether all ranks have 0; else the worst of their errors, on all of them. */
static int worst(struct port *p, int rc)
{
    int64_t word = -rc;
    int failed = mpi_agree(&p->os, &word, 1);

    return failed != 0 ? failed : -(int)word;
}

/* What each rank tells all others first. */
struct hello {
    uint64_t name[2]; /* two digests of the processor name */
    uint64_t random;  /* rank 0's is used */
};

static uint64_t digest(const char *s, uint64_t h)
{
    for (; *s != '\0'; s++)
        h = (h ^ (unsigned char)*s) * 1099511628211u;
    return h ^ h >> 29;
}

static int same_node(const struct hello *a, const struct hello *b)
{
    return a->name[0] == b->name[0] && a->name[1] == b->name[1];
}

/* Ranks with equal names are a node; nodes are numbered by their first ranks. */
static void number_nodes(struct port *p, const struct hello *all)
{
    int nodes = 0;

    for (int r = 0; r < p->os.size; r++) {
        int first = 0, before = r - 1;

        while (!same_node(&all[first], &all[r]))
            first++;
        while (before >= 0 && !same_node(&all[before], &all[r]))
            before--;
        p->node_of[r] = first == r ? nodes++ : p->node_of[first];
        p->place[r] = before >= 0 ? p->place[before] + 1 : 0;
    }
    p->os.nodes = nodes;
}

static int find_nodes(struct port *p, struct hello *all, uint64_t *random)
{
    struct hello mine = {0};
    char name[MPI_MAX_PROCESSOR_NAME] = "";
    int len, rc;

    (void)MPI_Get_processor_name(name, &len);
    mine.name[0] = digest(name, 14695981039346656037u);
    mine.name[1] = digest(name, 88172645463325252u);
    if (getrandom(&mine.random, sizeof mine.random, 0) != (ssize_t)sizeof mine.random)
        mine.random = (uint64_t)(uintptr_t)p;
    rc = error_of(MPI_Allgather(&mine, sizeof mine, MPI_BYTE, all, sizeof mine, MPI_BYTE, p->comm));
    if (rc == 0) {
        number_nodes(p, all);
        *random = all[0].random;
    }
    return rc;
}

static void all_alone(struct port *p)
{
    for (int r = 0; r < p->os.size; r++) {
        p->node_of[r] = r;
        p->place[r] = 0;
    }
    p->os.nodes = p->os.size;
    p->memory = &cio_nodemem_own;
}

static int ranks_here(const struct port *p)
{
    int n = 0;

    for (int r = 0; r < p->os.size; r++)
        n += p->node_of[r] == p->node_of[p->os.rank];
    return n;
}

static int join_segment(struct port *p, uint64_t random)
{
    const struct cio_nodemem_ops *ops = p->memory->ops;
    char name[CIO_NODEMEM_NAME_MAX];
    int64_t start = p->place[p->os.rank] * p->bytes;
    int rc, all;

    snprintf(name, sizeof name, "/tamio-%016llx-%d", (unsigned long long)random,
             p->node_of[p->os.rank]);
    rc = ops->join(p->memory->self, name, ranks_here(p) * p->bytes, &p->segment);
    if (rc != 0)
        p->segment.base = NULL;
    else if (is_one_node(p) && p->exposed > CIO_ONESIDED_WORDS)
        rc = ops->back(p->memory->self, &p->segment, start, start + CIO_ONESIDED_WORDS);
    else
        rc = ops->back(p->memory->self, &p->segment, start, start + p->exposed);
    all = worst(p, rc);
    if (p->segment.base != NULL)
        ops->forget(p->memory->self, &p->segment);
    if (all != 0)
        leave_segment(p);
    return all;
}

static int join_node(struct port *p, uint64_t random)
{
    int rc = join_segment(p, random);

    if (rc == 0 || rc == -EIO)
        return rc;
    if (p->os.rank == 0)
        cio_log(CIO_LOG_NOTICE,
                "TCIO: ranks of a node cannot share memory (%s): each keeps its segments by itself",
                strerror(-rc));
    all_alone(p);
    return join_segment(p, random);
}

/* Open MPI 4.1 has none for a communicator of one process. */
static int make_window(struct port *p)
{
    int rc;

    if (is_one_node(p))
        return 0;
    rc = error_of(MPI_Win_create(mpi_local(&p->os, p->os.rank), (MPI_Aint)p->exposed, 1,
                                 MPI_INFO_NULL, p->comm, &p->win));

    if (rc == 0)
        rc = error_of(MPI_Win_set_errhandler(p->win, MPI_ERRORS_RETURN));
    if (rc == 0)
        rc = error_of(MPI_Win_lock_all(MPI_MODE_NOCHECK, p->win));
    if (rc == 0)
        p->locked = 1;
    return rc;
}

static int set_up(struct port *p, struct hello *all)
{
    uint64_t random = 0;
    int rc = find_nodes(p, all, &random);

    if (rc == 0)
        rc = join_node(p, random);
    if (rc == 0)
        rc = make_window(p);
    return rc;
}

/* A port without anything yet, and room for what all ranks say of themselves. */
static struct port *begin(MPI_Comm comm, struct hello **all)
{
    struct port *p = calloc(1, sizeof *p);

    if (p == NULL)
        return NULL;
    p->comm = comm;
    p->win = MPI_WIN_NULL;
    p->os.ops = &mpi_ops;
    MPI_Comm_rank(comm, &p->os.rank);
    MPI_Comm_size(comm, &p->os.size);
    p->node_of = malloc((size_t)p->os.size * sizeof *p->node_of);
    p->place = malloc((size_t)p->os.size * sizeof *p->place);
    p->os.node_of = p->node_of;
    p->asked = malloc((size_t)p->os.size * sizeof *p->asked);
    for (int r = 0; p->asked != NULL && r < p->os.size; r++)
        p->asked[r].request = MPI_REQUEST_NULL;
    *all = calloc((size_t)p->os.size, sizeof **all);
    if (p->node_of != NULL && p->place != NULL && p->asked != NULL && *all != NULL)
        return p;
    free(*all);
    mpi_destroy(&p->os);
    return NULL;
}

int cio_onesided_mpi_create(MPI_Comm comm, int64_t bytes, int64_t exposed,
                            const struct cio_node_memory *memory, struct cio_onesided **out)
{
    struct hello *all = NULL;
    struct port *p = begin(comm, &all);
    int64_t missing = p == NULL;
    int rc = error_of(MPI_Allreduce(MPI_IN_PLACE, &missing, 1, MPI_INT64_T, MPI_MAX, comm));

    if (rc == 0 && missing)
        rc = -ENOMEM;
    if (rc == 0) {
        p->memory = memory;
        p->bytes = (bytes + PAGE - 1) / PAGE * PAGE;
        p->exposed = exposed;
        rc = set_up(p, all);
    }
    free(p != NULL ? all : NULL);
    if (rc != 0) {
        if (p != NULL)
            mpi_destroy(&p->os);
        return rc;
    }
    *out = &p->os;
    return 0;
}
