/*
 * Generalized requests that make progress when the program waits, for Open MPI (MPICH has them as
 * MPIX_Grequest_class_*). ROMIO's nonblocking calls are made of them.
 *
 * Open MPI calls opal_progress whenever it waits for something, and opal_progress calls whoever
 * registered; here that is poll_all. A poll function may itself wait for MPI, so poll_all can run
 * inside itself and in several threads at once: a request that is being polled is passed over, and
 * one that is gone is taken off the list when no poll_all runs any more.
 */

#include "mpioimpl.h"
#include "mpir_ext.h"

#ifdef OPEN_MPI
#undef PMPI_Grequest_complete   /* host.h leads ROMIO's calls to the function below */

#include <dlfcn.h>
#include <pthread.h>

struct tamio_grequest_class {
    MPI_Grequest_query_function *query;
    MPI_Grequest_free_function *free;
    MPI_Grequest_cancel_function *cancel;
    MPIX_Grequest_poll_function *poll;
};

struct pending {
    struct pending *next;
    struct tamio_grequest_class class;
    void *state;
    MPI_Request request;
    int in_order;               /* after older ones of its kind */
    int complete;
    int polled;                 /* right now */
    int gone;                   /* freed by MPI */
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct pending *pending_list;
static int polls;               /* how many poll_all run */

static void drop_gone(void)
{
    struct pending **at = &pending_list;

    while (*at != NULL) {
        struct pending *p = *at;

        if (!p->gone) {
            at = &p->next;
            continue;
        }
        *at = p->next;
        free(p);
    }
}

/* Whether it must wait for an older request of the same kind. ROMIO does not keep the messages of two
 * collective operations on one file apart: its own, which are made by class, are served one after the
 * other. tamio's have tags of their own. */
static int is_behind(const struct pending *p)
{
    if (!p->in_order)
        return 0;
    for (const struct pending * q = pending_list; q != p; q = q->next)
        if (!q->complete && !q->gone && q->class.poll == p->class.poll)
            return 1;
    return 0;
}

static int poll_all(void)
{
    MPI_Status status;
    int events = 0;

    pthread_mutex_lock(&lock);
    polls++;
    for (struct pending * p = pending_list; p != NULL; p = p->next) {
        if (p->complete || p->polled || p->gone || is_behind(p))
            continue;
        p->polled = 1;
        pthread_mutex_unlock(&lock);
        p->class.poll(p->state, &status);
        pthread_mutex_lock(&lock);
        p->polled = 0;
        events += p->complete;
    }
    if (--polls == 0)
        drop_gone();
    pthread_mutex_unlock(&lock);
    return events;
}

static void register_progress(void)
{
    int (*progress_register) (int (*)(void)) = dlsym(RTLD_DEFAULT, "opal_progress_register");

    if (progress_register != NULL && progress_register(poll_all) == 0)
        return;
    fprintf(stderr, "tamio preload: this Open MPI has no opal_progress_register: nonblocking "
            "MPI_File_ calls cannot make progress\n");
    PMPI_Abort(MPI_COMM_WORLD, 1);
}

static int query(void *state, MPI_Status * status)
{
    struct pending *p = state;

    return p->class.query(p->state, status);
}

static int cancel(void *state, int complete)
{
    struct pending *p = state;

    return p->class.cancel(p->state, complete);
}

static int free_state(void *state)
{
    struct pending *p = state;
    int error_code = p->class.free(p->state);

    pthread_mutex_lock(&lock);
    p->gone = 1;
    if (polls == 0)
        drop_gone();
    pthread_mutex_unlock(&lock);
    return error_code;
}

/* At the end: the oldest come first. */
static void append(struct pending *p)
{
    struct pending **end = &pending_list;

    pthread_mutex_lock(&lock);
    while (*end != NULL)
        end = &(*end)->next;
    *end = p;
    pthread_mutex_unlock(&lock);
}

static int start(const struct tamio_grequest_class *class, int in_order, void *state,
                 MPI_Request * request)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    struct pending *p = calloc(1, sizeof(*p));
    int error_code;

    if (p == NULL)
        return MPI_ERR_NO_MEM;
    pthread_once(&once, register_progress);
    p->class = *class;
    p->in_order = in_order;
    p->state = state;
    error_code = PMPI_Grequest_start(query, free_state, cancel, p, request);
    if (error_code != MPI_SUCCESS) {
        free(p);
        return error_code;
    }
    p->request = *request;
    append(p);
    return MPI_SUCCESS;
}

/* In place of PMPI_Grequest_complete: a completed request is not polled any more. */
int tamio_grequest_complete(MPI_Request request)
{
    pthread_mutex_lock(&lock);
    for (struct pending * p = pending_list; p != NULL; p = p->next)
        if (p->request == request && !p->gone)
            p->complete = 1;
    pthread_mutex_unlock(&lock);
    return PMPI_Grequest_complete(request);
}

int PMPIX_Grequest_class_create(MPI_Grequest_query_function * query_fn,
                                MPI_Grequest_free_function * free_fn,
                                MPI_Grequest_cancel_function * cancel_fn,
                                MPIX_Grequest_poll_function * poll_fn,
                                MPIX_Grequest_wait_function * wait_fn,
                                MPIX_Grequest_class * greq_class)
{
    struct tamio_grequest_class *class = malloc(sizeof(*class));

    if (class == NULL)
        return MPI_ERR_NO_MEM;
    *class = (struct tamio_grequest_class) {query_fn, free_fn, cancel_fn, poll_fn };
    *greq_class = class;
    return MPI_SUCCESS;
}

int PMPIX_Grequest_class_allocate(MPIX_Grequest_class greq_class, void *extra_state,
                                  MPI_Request * request)
{
    return start(greq_class, 1, extra_state, request);
}

int PMPIX_Grequest_start(MPI_Grequest_query_function * query_fn,
                         MPI_Grequest_free_function * free_fn,
                         MPI_Grequest_cancel_function * cancel_fn,
                         MPIX_Grequest_poll_function * poll_fn,
                         MPIX_Grequest_wait_function * wait_fn, void *extra_state,
                         MPI_Request * request)
{
    struct tamio_grequest_class class = { query_fn, free_fn, cancel_fn, poll_fn };

    return start(&class, 0, extra_state, request);
}

#endif /* OPEN_MPI */
