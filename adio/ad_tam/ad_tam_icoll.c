/*
 * ad_tam: nonblocking collectives. The engine's operation is handed to a generalized request whose
 * poll function makes it progress in MPI_Test and MPI_Wait.
 *
 * Several of them may be under way, and ranks wait for them in any order. Each has tags of its own,
 * which all ranks draw in the call itself, where the order is the same on all of them; and since MPI_Wait polls only the request that it waits for, every
 * poll makes all operations of this process progress. That list is the one thing here that is not
 * kept with a file. MPI calls poll functions of several threads at once: one of them does it for all.
 *
 * Blocking collective calls let them progress too while they wait, since other ranks may wait for
 * one of these before they come to the blocking call. An MPI may call poll functions whenever it is
 * called (adio/preload/grequest.c), in the middle of a blocking call too: then they do nothing.
 */

#include "ad_tam.h"
#include "port/comm_mpi.h"

#include <sched.h>
#include <sys/stat.h>
#include <time.h>

typedef struct ADIOI_TAM_Pending {
    struct ADIOI_TAM_Pending *next;
    ADIO_File fd;
    MPI_Request request;        /* what the program waits for */
    struct cio_comm *comm;
    struct cio_op *op;
    struct cio_segment segment; /* others may be under way */
    ADIOI_TAM_Grouping *grouping;       /* the file may have dropped it meanwhile */
    struct cio_request req;
    ADIOI_TAM_Call *call;       /* for the report */
    MPI_Count moved;            /* bytes, when it is done */
    struct cio_store *store;    /* where this rank serves it alone, */
    struct cio_batch batch;     /* and what of it is under way */
    struct cio_piece piece;
    int error;                  /* of its beginning */
    int error_code;
    int done;
} pending;

const size_t ADIOI_TAM_Pending_size = sizeof(pending);

/*
 * Whoever has the turn makes them progress, and takes off the list what is over. It is tried for
 * and never waited for: who has it calls MPI, whose own lock another thread may have. The list's
 * lock is held for a moment only, and not across calls of MPI.
 */
static pending *under_way;
static pthread_mutex_t list_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t turn = PTHREAD_MUTEX_INITIALIZER;
static __thread int blocking;   /* this thread is in a blocking call, which lets them progress */

static const char is_nonblocking[] = "it is nonblocking";

static void forget(pending * p)
{
    pending **link = &under_way;

    pthread_mutex_lock(&list_lock);
    while (*link != p)
        link = &(*link)->next;
    __atomic_store_n(link, p->next, __ATOMIC_RELEASE);
    pthread_mutex_unlock(&list_lock);
}

static void remember(pending * p)
{
    pthread_mutex_lock(&list_lock);
    p->next = under_way;
    __atomic_store_n(&under_way, p, __ATOMIC_RELEASE);
    pthread_mutex_unlock(&list_lock);
}

static int query(void *state, MPI_Status * status)
{
    pending *p = state;

    MPI_Status_set_elements_x(status, MPI_BYTE, p->error_code == MPI_SUCCESS ? p->moved : 0);
    MPI_Status_set_cancelled(status, 0);
    status->MPI_SOURCE = MPI_UNDEFINED;
    status->MPI_TAG = MPI_UNDEFINED;
    return p->error_code;
}

/* MPICH holds its lock meanwhile: no MPI call may be made here. */
static int release(void *state)
{
    ADIOI_Free(state);
    return MPI_SUCCESS;
}

static int cancel(void *state, int complete)
{
    (void) state;
    (void) complete;
    return MPI_SUCCESS;         /* collective I/O is not cancelled */
}

/*
 * Writes piece by piece, each under its lock, what others may be reading, modifying and writing back
 * meanwhile; and never what nobody asked to write.
 */
static int write_alone(struct cio_store *store, const struct cio_request *req)
{
    struct cio_cursor at, from;
    struct cio_piece piece;
    struct cio_batch batch = {.write = 1,.locked = 1,.piece = &piece,.n = 1 };

    cio_cursor_seek(&at, req->file, req->start);
    cio_cursor_seek(&from, req->mem, 0);
    for (int64_t left = req->bytes; left > 0 && batch.error == 0; left -= piece.len) {
        piece.len = cio_cursor_run(&from, cio_cursor_run(&at, left));
        piece.off = req->disp + cio_cursor_offset(&at);
        piece.buf = req->buf + cio_cursor_offset(&from);
        cio_store_start(store, &batch);
        cio_store_wait(store, &batch);
        cio_cursor_skip(&at, piece.len);
        cio_cursor_skip(&from, piece.len);
    }
    return batch.error;
}

static int read_alone(struct cio_store *store, const struct cio_request *req, int64_t * moved)
{
    struct cio_cursor at, to;
    const int64_t end = cio_store_size(store);
    int rc = 0;

    cio_cursor_seek(&at, req->file, req->start);
    cio_cursor_seek(&to, req->mem, 0);
    *moved = 0;
    for (int64_t left = req->bytes, n; left > 0 && rc == 0; left -= n) {
        int64_t off = req->disp + cio_cursor_offset(&at);

        n = cio_cursor_run(&to, cio_cursor_run(&at, left));
        rc = cio_store_read(store, req->buf + cio_cursor_offset(&to), n, off);
        if (off < end)
            *moved += cio_min64(n, end - off);
        cio_cursor_skip(&at, n);
        cio_cursor_skip(&to, n);
    }
    return rc;
}

/* What the engine leaves alone, each rank does by itself: that needs no other rank. */
static int open_alone(pending * p)
{
    int error_code = MPI_SUCCESS;

    if (p->req.error != 0 || p->req.bytes == 0)
        return p->req.error;
    if (!p->fd->is_open)
        ADIO_ImmediateOpen(p->fd, &error_code);
    return error_code == MPI_SUCCESS ? ADIOI_TAM_Store_create(p->fd, &p->store) : -EIO;
}

/* Bytes of a read that lie before the end of the file. */
static int64_t before_end(const pending * p)
{
    return cio_max64(cio_min64(cio_store_size(p->store) - p->piece.off, p->piece.len), 0);
}

static int finish_alone(pending * p)
{
    p->moved = p->req.bytes;
    if (p->store == NULL)
        return 0;
    if (p->batch.n == 0)
        return p->req.write ? write_alone(p->store, &p->req)
            : read_alone(p->store, &p->req, &p->moved);
    cio_store_wait(p->store, &p->batch);
    if (!p->req.write)
        p->moved = before_end(p);
    return p->batch.error;
}

static void access_alone(pending * p)
{
    int rc = p->error;

    if (rc == 0 && p->store == NULL)
        rc = open_alone(p);
    if (rc == 0)
        rc = finish_alone(p);
    cio_store_destroy(p->store);
    p->error_code = ADIOI_TAM_Error_code(p->fd, rc);
}

/* One piece is under way at once, as with ROMIO's own calls; more are transferred when somebody waits. */
static void begin_alone(pending * p)
{
    struct cio_cursor at, mem;

    p->error = open_alone(p);
    if (p->store == NULL)
        return;
    cio_cursor_seek(&at, p->req.file, p->req.start);
    cio_cursor_seek(&mem, p->req.mem, 0);
    if (cio_cursor_run(&mem, cio_cursor_run(&at, p->req.bytes)) < p->req.bytes)
        return;
    p->piece = (struct cio_piece) {
        .buf = p->req.buf + cio_cursor_offset(&mem),
        .len = p->req.bytes,
        .off = p->req.disp + cio_cursor_offset(&at)
    };
    p->batch = (struct cio_batch) {.write = p->req.write,.locked = p->req.write,
        .piece = &p->piece,.n = 1
    };
    cio_store_start(p->store, &p->batch);
}

/* Nonblocking calls are asked for, as the engine sees it, whatever the hint says. */
static void explain(ADIO_File fd, struct cio_stats *stats)
{
    const ADIOI_TAM_File *layer = ADIOI_TAM_File_of(fd);

    stats->alone = stats->declined;
    if (!stats->declined && !stats->small && stats->why != NULL && !ADIOI_TAM_Is_asked(layer))
        stats->why = is_nonblocking;
}

/* Gives back what the engine's operation had; whether it has served the call. */
static int end_operation(pending * p)
{
    struct cio_stats stats;
    int rc;

    ADIOI_TAM_Check(p->fd, p->op);
    p->moved = cio_op_moved(p->op);
    rc = cio_op_finish(p->op, &stats);
    p->error_code = ADIOI_TAM_Error_code(p->fd, rc);
    explain(p->fd, &stats);
    ADIOI_TAM_Keep(p->call, &stats);
    ADIOI_TAM_Show(p->fd, &stats);
    ADIOI_TAM_Comm_free(p->fd, p->comm);
    ADIOI_TAM_Segment_free(&p->segment);
    ADIOI_TAM_Grouping_drop(p->grouping);
    return !stats.declined;
}

/* The program may free it at once when it is complete. */
static void conclude(pending * p)
{
    MPI_Request request = p->request;
    int served = p->op != NULL && end_operation(p);

    forget(p);
    if (!served)
        access_alone(p);
    p->fd->dirty_write |= p->req.write;
    ADIOI_TAM_Request_free(&p->req);
    __atomic_sub_fetch(&p->fd->async_count, 1, __ATOMIC_RELAXED);
    __atomic_store_n(&p->done, 1, __ATOMIC_RELEASE);
    if (request != MPI_REQUEST_NULL)
        MPI_Grequest_complete(request);
}

/* One step; whether it is over. */
static int advance(pending * p)
{
    if (p->op == NULL)
        return p->batch.n == 0 || cio_store_test(p->store, &p->batch);
    cio_comm_poll(p->comm);
    return cio_op_progress(p->op);
}

int ADIOI_TAM_Progress(void)
{
    pending *next;
    int left = 0;

    if (__atomic_load_n(&under_way, __ATOMIC_ACQUIRE) == NULL)
        return 0;
    if (pthread_mutex_trylock(&turn) != 0)
        return 1;       /* another thread does */
    for (pending * p = __atomic_load_n(&under_way, __ATOMIC_ACQUIRE); p != NULL; p = next) {
        next = p->next;
        if (advance(p))
            conclude(p);
        else
            left++;
    }
    pthread_mutex_unlock(&turn);
    return left;
}

void ADIOI_TAM_Nap(void)
{
    const struct timespec pause = {.tv_nsec = 100000 };

    nanosleep(&pause, NULL);
}

void ADIOI_TAM_Begin_blocking(void)
{
    blocking++;
}

void ADIOI_TAM_End_blocking(void)
{
    blocking--;
}

/* The same file, by the same or another handle or name. */
int ADIOI_TAM_Is_same_file(ADIO_File one, ADIO_File other)
{
    struct stat a, b;

    if (one == other || strcmp(one->filename, other->filename) == 0)
        return 1;
    return stat(one->filename, &a) == 0 && stat(other->filename, &b) == 0 &&
        a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

int ADIOI_TAM_Is_outstanding(ADIO_File fd)
{
    int found = 0;

    if (__atomic_load_n(&under_way, __ATOMIC_ACQUIRE) == NULL)
        return 0;
    pthread_mutex_lock(&list_lock);
    for (pending * p = under_way; p != NULL && !found; p = p->next)
        found = ADIOI_TAM_Is_same_file(p->fd, fd);
    pthread_mutex_unlock(&list_lock);
    return found;
}

static int poll(void *state, MPI_Status * status)
{
    (void) state;
    (void) status;
    if (!blocking)
        ADIOI_TAM_Progress();
    return MPI_SUCCESS;
}

/* Whoever completes a request as another thread waits for it must have let go of it. */
static void await_done(pending * p)
{
    while (!__atomic_load_n(&p->done, __ATOMIC_ACQUIRE)) {
        ADIOI_TAM_Progress();
        sched_yield();
    }
    while (pthread_mutex_trylock(&turn) != 0)
        sched_yield();
    pthread_mutex_unlock(&turn);
}

static int wait_all(int count, void **states, double timeout, MPI_Status * status)
{
    (void) timeout;
    (void) status;
    for (int i = 0; i < count; i++)
        await_done(states[i]);
    return MPI_SUCCESS;
}

/* What must be agreed on has been: by an earlier call, which all ranks made too. */
static int is_ready(ADIO_File fd)
{
    int size;

    MPI_Comm_size(fd->comm, &size);
    return size == 1 || ADIOI_TAM_File_of(fd)->agreed;
}

/*
 * Why the engine cannot serve the call, though it should: to agree on hints, or to make groups, each
 * would have to wait for others. NULL: it can.
 */
static const char *unprepared(ADIO_File fd)
{
    if (!is_ready(fd))
        return "ranks have not agreed on hints yet";
    return ADIOI_TAM_File_of(fd)->grouping == NULL ? "groups have not been made yet" : NULL;
}

/* Why the driver below is to serve it. Before hints are agreed on, only for what all ranks know. */
static const char *refuse(ADIO_File fd, int write)
{
    if (is_ready(fd))
        return ADIOI_TAM_Refuse(fd, write);
    return fd->atomicity ? "atomic mode is on" : NULL;
}

static const char *call_name(int write)
{
    return write ? "iwrite" : "iread";
}

/* A call that the engine is not asked to serve. */
static void leave(ADIO_File fd, int write, const char *why)
{
    struct cio_stats stats = ADIOI_TAM_Left(fd, write, why);

    if (is_ready(fd))
        ADIOI_TAM_Keep(ADIOI_TAM_Promise(fd, call_name(write)), &stats);
    ADIOI_TAM_Show(fd, &stats);
}

/* A call that each rank will serve by itself. Reports need agreement, too. */
static void say_unprepared(ADIO_File fd, int write, const char *why)
{
    struct cio_stats stats = {.declined = 1,.alone = 1,.why = why };

    if (is_ready(fd))
        ADIOI_TAM_Keep(ADIOI_TAM_Promise(fd, call_name(write)), &stats);
    ADIOI_TAM_Show(fd, &stats);
}

static void start_operation(pending * p)
{
    ADIO_File fd = p->fd;

    p->grouping = ADIOI_TAM_Grouping_use(ADIOI_TAM_File_of(fd)->grouping);
    if (p->req.error == 0)
        p->req.error = ADIOI_TAM_Open_deferred(fd);
    p->call = ADIOI_TAM_Promise(fd, call_name(p->req.write));
    p->op = ADIOI_TAM_Start(fd, &p->req, &p->segment, &p->comm);
}

/* Hands it to the program as a request, under way from now on. */
static void launch(pending * p, ADIO_Request * request, int *error_code)
{
    __atomic_add_fetch(&p->fd->async_count, 1, __ATOMIC_RELAXED);
    *error_code = MPIX_Grequest_start(query, release, cancel, poll, wait_all, p, request);
    p->request = *error_code == MPI_SUCCESS ? *request : MPI_REQUEST_NULL;
    remember(p);
    if (*error_code != MPI_SUCCESS)
        await_done(p);  /* the others go on with it */
}

/*
 * Starts the engine; 0 if the driver below must serve the call. It must not where the engine is only
 * unprepared: ROMIO's own may write back what was not asked for, and what others write there
 * meanwhile would be lost.
 */
static int start(ADIO_File fd, void *buf, ADIOI_TAM_Count count, MPI_Datatype datatype,
                 int file_ptr_type, ADIO_Offset offset, int write, ADIO_Request * request,
                 int *error_code)
{
    const char *refusal, *why;
    pending *p;
    int rc;

    ADIOI_TAM_Pool_trim();
    ADIOI_TAM_Complete(fd);
    why = unprepared(fd);
    refusal = refuse(fd, write);
    if (refusal != NULL) {
        leave(fd, write, refusal);
        return 0;
    }
    p = ADIOI_TAM_Pending_get(fd);
    p->fd = fd;
    rc = ADIOI_TAM_Request_init(fd, buf, count, datatype, file_ptr_type, offset, 1, &p->req);
    p->req.error = rc;
    p->req.write = write;
    if (why == NULL)
        start_operation(p);
    else {
        say_unprepared(fd, write, why);
        begin_alone(p);
    }
    launch(p, request, error_code);
    return 1;
}

void ADIOI_TAM_IwriteStridedColl(ADIO_File fd, const void *buf, ADIOI_TAM_Count count,
                                 MPI_Datatype datatype, int file_ptr_type, ADIO_Offset offset,
                                 ADIO_Request * request, int *error_code)
{
    if (!start(fd, (void *) buf, count, datatype, file_ptr_type, offset, 1, request, error_code))
        (*ADIOI_TAM_File_of(fd)->below->ADIOI_xxx_IwriteStridedColl) (fd, buf, count, datatype,
                                                                     file_ptr_type, offset, request,
                                                                     error_code);
}

void ADIOI_TAM_IreadStridedColl(ADIO_File fd, void *buf, ADIOI_TAM_Count count,
                                MPI_Datatype datatype, int file_ptr_type, ADIO_Offset offset,
                                ADIO_Request * request, int *error_code)
{
    if (!start(fd, buf, count, datatype, file_ptr_type, offset, 0, request, error_code))
        (*ADIOI_TAM_File_of(fd)->below->ADIOI_xxx_IreadStridedColl) (fd, buf, count, datatype,
                                                                    file_ptr_type, offset, request,
                                                                    error_code);
}
