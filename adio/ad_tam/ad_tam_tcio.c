/* ad_tam, TCIO: when a file has a space, and what must be written out of it before what. */

#include "ad_tam_tcio.h"
#include "port/log.h"
#include "port/nodemem.h"
#include "port/onesided_mpi.h"

#include <fcntl.h>

/* Segments of a rank may become so few where memory is short. */
#define FEWEST_SEGMENTS 2

#define VISIBILITY_KEY "romio_visibility_immediate"

/* This thread is in a call that was passed: what comes again from below is a part of it. */
static __thread int passing;

const char *ADIOI_TAM_Tcio_why(ADIOI_TAM_Tcio_reason reason)
{
    static const char *const words[] = {
        [ADIOI_TAM_TCIO_TAKEN] = "taken",
        [ADIOI_TAM_TCIO_COLLECTIVE] = "it is collective",
        [ADIOI_TAM_TCIO_ATOMIC] = "atomic mode is on",
        [ADIOI_TAM_TCIO_DEFERRED] = "romio_no_indep_rw says that there are no independent calls",
        [ADIOI_TAM_TCIO_DRIVER] = "the driver below does not make plain POSIX calls",
        [ADIOI_TAM_TCIO_UNDER_WAY] = "nonblocking calls were under way",
        [ADIOI_TAM_TCIO_NO_SPACE] = "there is no memory for it"
    };

    return words[reason];
}

static ADIOI_TAM_Tcio *tcio_of(ADIO_File fd)
{
    return ADIOI_TAM_File_of(fd)->tcio;
}

static int is_on(ADIO_File fd)
{
    return tcio_of(fd)->space != NULL && !fd->atomicity && !passing;
}

int ADIOI_TAM_Tcio_takes(ADIO_File fd)
{
    ADIOI_TAM_Tcio *t = tcio_of(fd);
    ADIOI_TAM_Tcio_reason reason = fd->atomicity ? ADIOI_TAM_TCIO_ATOMIC : t->without;

    if (passing == 0)
        t->calls[reason]++;
    if (passing > 0 || reason != ADIOI_TAM_TCIO_TAKEN) {
        passing++;
        return 0;
    }
    ADIOI_TAM_Complete(fd);     /* what was left through another handle of the file */
    return 1;
}

void ADIOI_TAM_Tcio_passed(void)
{
    passing--;
}

static int flush_space(ADIO_File fd)
{
    ADIOI_TAM_Tcio *t = tcio_of(fd);
    int rc;

    pthread_mutex_lock(&t->lock);
    rc = cio_space_flush(t->space);
    t->used = rc == 0 ? 0 : ADIOI_TAM_TCIO_WROTE;
    pthread_mutex_unlock(&t->lock);
    return rc;
}

int ADIOI_TAM_Tcio_settle(ADIO_File fd, int used)
{
    int mine = tcio_of(fd)->used;
    int64_t clean[] = { !(mine & used), !(mine & ADIOI_TAM_TCIO_WROTE) };

    ADIOI_TAM_Least(fd, clean, 2);
    if (clean[0])
        return 0;
    fd->dirty_write |= !clean[1];
    return flush_space(fd);
}

/* ---- calls that are about the whole file ---- */

/* What was found when the space was emptied comes after what the call itself has found. */
static void deliver(ADIO_File fd, int rc, int *error_code)
{
    if (*error_code == MPI_SUCCESS)
        *error_code = ADIOI_TAM_Error_code(fd, rc);
}

static int empty(ADIO_File fd)
{
    return is_on(fd) ? ADIOI_TAM_Tcio_settle(fd, ADIOI_TAM_TCIO_WROTE | ADIOI_TAM_TCIO_LOOKED) : 0;
}

static void flush(ADIO_File fd, int *error_code)
{
    int rc = empty(fd);

    (*tcio_of(fd)->plain.ADIOI_xxx_Flush) (fd, error_code);
    deliver(fd, rc, error_code);
}

static void resize(ADIO_File fd, ADIO_Offset size, int *error_code)
{
    int rc = empty(fd);

    (*tcio_of(fd)->plain.ADIOI_xxx_Resize) (fd, size, error_code);
    deliver(fd, rc, error_code);
}

/* What this rank knows of is in the file; and where that ends. */
static int drain(ADIO_File fd, int64_t * size)
{
    ADIOI_TAM_Tcio *t = tcio_of(fd);
    int rc;

    pthread_mutex_lock(&t->lock);
    rc = size != NULL ? cio_tcio_size(t->file, size) : cio_tcio_drain(t->file, 0);
    pthread_mutex_unlock(&t->lock);
    return rc;
}

static void get_size(ADIO_File fd, ADIO_Fcntl_t * fcntl_struct, int *error_code)
{
    int64_t size = 0;

    *error_code = ADIOI_TAM_Error_code(fd, drain(fd, &size));
    fcntl_struct->fsize = size;
}

/* Rank 0's work, while all others wait for it. */
static void preallocate(ADIO_File fd, ADIO_Fcntl_t * fcntl_struct, int *error_code)
{
    int rc = drain(fd, NULL);

    passing++;
    (*tcio_of(fd)->plain.ADIOI_xxx_Fcntl) (fd, ADIO_FCNTL_SET_DISKSPACE, fcntl_struct, error_code);
    passing--;
    deliver(fd, rc, error_code);
}

/* Nobody's calls of the one mode meet those of the other: settling lets nobody out before all came. */
static void set_atomicity(ADIO_File fd, ADIO_Fcntl_t * fcntl_struct, int *error_code)
{
    int rc = ADIOI_TAM_Tcio_settle(fd, ADIOI_TAM_TCIO_WROTE | ADIOI_TAM_TCIO_LOOKED);

    (*tcio_of(fd)->plain.ADIOI_xxx_Fcntl) (fd, ADIO_FCNTL_SET_ATOMICITY, fcntl_struct, error_code);
    deliver(fd, rc, error_code);
}

static void control(ADIO_File fd, int flag, ADIO_Fcntl_t * fcntl_struct, int *error_code)
{
    if (flag == ADIO_FCNTL_SET_ATOMICITY && tcio_of(fd)->space != NULL)
        set_atomicity(fd, fcntl_struct, error_code);
    else if (flag == ADIO_FCNTL_GET_FSIZE && is_on(fd))
        get_size(fd, fcntl_struct, error_code);
    else if (flag == ADIO_FCNTL_SET_DISKSPACE && is_on(fd))
        preallocate(fd, fcntl_struct, error_code);
    else
        (*tcio_of(fd)->plain.ADIOI_xxx_Fcntl) (fd, flag, fcntl_struct, error_code);
}

/* ---- blocking collective access, which is the engine's or ROMIO's ---- */

static void write_all(ADIO_File fd, const void *buf, ADIOI_TAM_Count count, MPI_Datatype datatype,
                      int file_ptr_type, ADIO_Offset offset, ADIO_Status * status, int *error_code)
{
    ADIOI_TAM_Tcio *t = tcio_of(fd);
    int on = is_on(fd), rc = empty(fd);
    int64_t all = 0;

    t->calls[ADIOI_TAM_TCIO_COLLECTIVE]++;
    passing++;
    (*t->plain.ADIOI_xxx_WriteStridedColl) (fd, buf, count, datatype, file_ptr_type, offset, status,
                                            error_code);
    passing--;
    if (on)
        ADIOI_TAM_Least(fd, &all, 1);
    deliver(fd, rc, error_code);
}

static void read_all(ADIO_File fd, void *buf, ADIOI_TAM_Count count, MPI_Datatype datatype,
                     int file_ptr_type, ADIO_Offset offset, ADIO_Status * status, int *error_code)
{
    ADIOI_TAM_Tcio *t = tcio_of(fd);
    int rc = is_on(fd) ? ADIOI_TAM_Tcio_settle(fd, ADIOI_TAM_TCIO_WROTE) : 0;

    t->calls[ADIOI_TAM_TCIO_COLLECTIVE]++;
    passing++;
    (*t->plain.ADIOI_xxx_ReadStridedColl) (fd, buf, count, datatype, file_ptr_type, offset, status,
                                           error_code);
    passing--;
    deliver(fd, rc, error_code);
}

/* ---- the space of a file ---- */

/* Of what all ranks have: of errors, the least_of; of yes and no, whether all say yes. */
static int least_of(ADIO_File fd, int rc)
{
    int64_t least = rc;

    ADIOI_TAM_Least(fd, &least, 1);
    return (int) least;
}

/* Whether a thread of each rank may call MPI, so that others need not wait for a rank that computes. */
static int has_threads(ADIO_File fd)
{
    int provided;

    PMPI_Query_thread(&provided);
    return least_of(fd, provided == MPI_THREAD_MULTIPLE);
}

static void choose_settings(ADIO_File fd, struct cio_space_settings *set)
{
    const ADIOI_TAM_File *layer = ADIOI_TAM_File_of(fd);
    const struct cio_hints *h = &layer->hints;

    memset(set, 0, sizeof(*set));
    cio_space_defaults(cio_layout_stripe(&layer->layout), set);
    if (h->tcio_segment_size != 0)
        set->segment_size = h->tcio_segment_size;
    if (h->tcio_segments != 0)
        set->segments = h->tcio_segments;
    set->immediate = h->tcio_visibility != CIO_VISIBILITY_SYNC;
    set->progress_thread = has_threads(fd);
}

static int try_space(MPI_Comm comm, const struct cio_space_settings *set, struct cio_space **space)
{
    struct cio_onesided *os;
    int64_t bytes, exposed;
    int rc;

    cio_space_region(set, &bytes, &exposed);
    rc = cio_onesided_mpi_create(comm, bytes, exposed, &cio_nodemem_posix, &os);
    return rc == 0 ? cio_space_create(os, set, space) : rc;
}

/* With fewer segments where memory is short, unless the user says how many. */
static int make_space(ADIO_File fd, ADIOI_TAM_Tcio * t)
{
    int given = t->asked.tcio_segments != 0, rc;

    MPI_Comm_dup(fd->comm, &t->comm);
    MPI_Comm_set_errhandler(t->comm, MPI_ERRORS_RETURN);
    do
        rc = try_space(t->comm, &t->set, &t->space);
    while ((rc == -ENOMEM || rc == -ENOSPC) && !given && (t->set.segments /= 2) >= FEWEST_SEGMENTS);
    return rc;
}

static int is_write_only(ADIO_File fd)
{
    int flags = fcntl(fd->fd_sys, F_GETFL);

    return flags >= 0 && (flags & O_ACCMODE) == O_WRONLY;
}

/* As much of the file's name as the space takes: there is one file in it. */
static const char *name_of(ADIO_File fd)
{
    size_t length = strlen(fd->filename);

    return fd->filename + (length < CIO_TCIO_PATH ? 0 : length - (CIO_TCIO_PATH - 1));
}

/* Also of what was made in part. */
static void close_space(ADIOI_TAM_Tcio * t)
{
    if (t->file != NULL)
        cio_tcio_close(t->file);
    if (t->space != NULL)
        cio_space_destroy(t->space);
    cio_store_destroy(t->store);
    MPI_Comm_free(&t->comm);
    t->space = NULL;
    t->file = NULL;
    t->store = NULL;
}

static int open_space(ADIO_File fd, ADIOI_TAM_Tcio * t)
{
    int rc = make_space(fd, t);

    if (rc == 0)
        rc = least_of(fd, cio_store_open(fd->fd_sys, CIO_STORE_BLOCKING, &t->store));
    if (rc == 0)
        rc = least_of(fd, cio_tcio_open(t->space, name_of(fd), t->store,
                                        is_write_only(fd) ? CIO_TCIO_WRITE_ONLY : 0, &t->file));
    if (rc != 0)
        close_space(t);
    return rc;
}

/* Why it need not be tried. The same on all ranks. */
static ADIOI_TAM_Tcio_reason refuse(ADIO_File fd)
{
    if (fd->hints->deferred_open)
        return ADIOI_TAM_TCIO_DEFERRED;
    if (!ADIOI_TAM_Is_posix(fd))
        return ADIOI_TAM_TCIO_DRIVER;
    return least_of(fd, -ADIOI_TAM_Is_outstanding(fd)) != 0 ? ADIOI_TAM_TCIO_UNDER_WAY :
        ADIOI_TAM_TCIO_TAKEN;
}

static void say(ADIO_File fd, const char *why)
{
    int rank;

    MPI_Comm_rank(fd->comm, &rank);
    if (rank == 0)
        cio_log(CIO_LOG_NOTICE, "file %s: hint romio_tcio: independent calls are passed to the "
                "driver below: %s", fd->filename, why);
}

static void try_to_open(ADIO_File fd, ADIOI_TAM_Tcio * t)
{
    int rc;

    t->without = refuse(fd);
    if (t->without != ADIOI_TAM_TCIO_TAKEN) {
        say(fd, ADIOI_TAM_Tcio_why(t->without));
        return;
    }
    choose_settings(fd, &t->set);
    rc = open_space(fd, t);
    if (rc == 0)
        return;
    t->without = ADIOI_TAM_TCIO_NO_SPACE;
    say(fd, strerror(-rc));
}

/* ---- what is told of it ---- */

static void publish(ADIO_File fd)
{
    const ADIOI_TAM_Tcio *t = tcio_of(fd);
    char text[MPI_MAX_INFO_VAL];

    if (t->without != ADIOI_TAM_TCIO_TAKEN)
        snprintf(text, sizeof(text), "passed: %s", ADIOI_TAM_Tcio_why(t->without));
    else
        snprintf(text, sizeof(text), "enabled: %s, %lld segments of %lld bytes",
                 t->set.immediate ? "immediate" : "sync", (long long) t->set.segments,
                 (long long) t->set.segment_size);
    ADIOI_Info_set(fd->info, "tamio_tcio", text);
}

/* ROMIO says whether others see a write at once (from MPICH 4.1 on). With `sync` they do not. */
static void hide_visibility(ADIO_File fd, ADIOI_TAM_Tcio * t)
{
    char value[MPI_MAX_INFO_VAL + 1];
    int found = 0;

    if (t->space == NULL || t->set.immediate)
        return;
    ADIOI_Info_get(fd->info, VISIBILITY_KEY, MPI_MAX_INFO_VAL, value, &found);
    t->visibility = ADIOI_Strdup(found ? value : "");
    ADIOI_Info_set(fd->info, VISIBILITY_KEY, "false");
}

static void restore_visibility(ADIO_File fd, ADIOI_TAM_Tcio * t)
{
    if (t->visibility == NULL)
        return;
    if (t->visibility[0] != '\0')
        ADIOI_Info_set(fd->info, VISIBILITY_KEY, t->visibility);
    else
        MPI_Info_delete(fd->info, VISIBILITY_KEY);
    ADIOI_Free(t->visibility);
}

/* ---- on and off ---- */

/* Everything that was written is in the file then. */
static int take_off(ADIO_File fd)
{
    ADIOI_TAM_File *layer = ADIOI_TAM_File_of(fd);
    ADIOI_TAM_Tcio *t = layer->tcio;
    int rc = 0;

    if (t->space != NULL) {
        rc = ADIOI_TAM_Tcio_settle(fd, ADIOI_TAM_TCIO_WROTE | ADIOI_TAM_TCIO_LOOKED);
        ADIOI_TAM_Tcio_report(fd);
        close_space(t);
    } else
        ADIOI_TAM_Tcio_report(fd);
    layer->fns = t->plain;
    layer->tcio = NULL;
    restore_visibility(fd, t);
    if (fd->info != MPI_INFO_NULL)
        MPI_Info_delete(fd->info, "tamio_tcio");
    pthread_mutex_destroy(&t->lock);
    ADIOI_Free(t);
    return rc;
}

static void close_file(ADIO_File fd, int *error_code)
{
    int rc = take_off(fd);

    (*fd->fns->ADIOI_xxx_Close) (fd, error_code);
    deliver(fd, rc, error_code);
}

static void put_on(ADIO_File fd)
{
    ADIOI_TAM_File *layer = ADIOI_TAM_File_of(fd);
    ADIOI_TAM_Tcio *t = ADIOI_Calloc(1, sizeof(*t));

    t->plain = layer->fns;
    t->asked = layer->hints;
    pthread_mutex_init(&t->lock, NULL);
    try_to_open(fd, t);
    layer->tcio = t;
    ADIOI_TAM_Tcio_slots(&layer->fns);
    layer->fns.ADIOI_xxx_Flush = flush;
    layer->fns.ADIOI_xxx_Resize = resize;
    layer->fns.ADIOI_xxx_Fcntl = control;
    layer->fns.ADIOI_xxx_Close = close_file;
    layer->fns.ADIOI_xxx_WriteStridedColl = write_all;
    layer->fns.ADIOI_xxx_ReadStridedColl = read_all;
    hide_visibility(fd, t);
    publish(fd);
}

static int is_as_asked(const struct cio_hints *a, const struct cio_hints *b)
{
    return a->tcio == b->tcio && a->tcio_segment_size == b->tcio_segment_size &&
        a->tcio_segments == b->tcio_segments && a->tcio_visibility == b->tcio_visibility;
}

int ADIOI_TAM_Tcio_take_hints(ADIO_File fd)
{
    ADIOI_TAM_File *layer = ADIOI_TAM_File_of(fd);
    int rc = 0;

    if (layer->tcio != NULL && !is_as_asked(&layer->tcio->asked, &layer->hints))
        rc = take_off(fd);
    if (layer->tcio == NULL && layer->hints.tcio)
        put_on(fd);
    return rc;
}

/*
 * Rank 0 tells whether it has the hint: one message to each rank, for which nobody waits longer than
 * for ROMIO's own reduction of errors, which follows. Only then all ranks talk.
 */
void ADIOI_TAM_Tcio_at_open(ADIO_File fd, int error_code)
{
    int wanted = ADIOI_TAM_File_of(fd)->hints.tcio != 0;

    ADIOI_TAM_Spread(fd, &wanted, sizeof(wanted));
    if (!wanted || least_of(fd, error_code == MPI_SUCCESS) == 0)
        return;
    ADIOI_TAM_Agree(fd);
    ADIOI_TAM_Tcio_take_hints(fd);
}
