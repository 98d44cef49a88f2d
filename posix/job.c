/*
 * MPI_Init and MPI_Finalize of the program, by both their names: profiling tools and the Fortran
 * libraries of MPICH and Open MPI call one or the other. All of it goes to whatever is behind us:
 * a tool, or the MPI.
 */
#include "job.h"

#include <dlfcn.h>
#include <errno.h>
#include <mpi.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "calls.h"
#include "export.h"
#include "port/log.h"
#include "port/nodemem.h"
#include "port/onesided_mpi.h"
#include "stats.h"
#include "store.h"
#include "table.h"

static _Atomic(struct cio_space *) space;
static struct cio_space_settings settings;
static int rank, many_threads;
static pthread_t first_thread;

struct cio_space *job_space(void)
{
    return atomic_load_explicit(&space, memory_order_acquire);
}

const struct cio_space_settings *job_settings(void)
{
    return &settings;
}

int job_rank(void)
{
    return rank;
}

int job_thread_may_call(void)
{
    return many_threads || pthread_equal(first_thread, pthread_self());
}

void job_forget(void)
{
    atomic_store(&space, NULL);
}

/* Whose code it is. */

static const void *object_of(const void *address)
{
    Dl_info info;

    return address != NULL && dladdr(address, &info) != 0 ? info.dli_fbase : NULL;
}

/* Open MPI has its file access in plugins. */
static int is_plugin(const void *address)
{
    const char *base;
    Dl_info info;

    if (dladdr(address, &info) == 0 || info.dli_fname == NULL)
        return 0;
    base = strrchr(info.dli_fname, '/');
    base = base != NULL ? base + 1 : info.dli_fname;
    return strncmp(base, "mca_", 4) == 0 || strncmp(base, "libopen-pal", 11) == 0;
}

/* MPI_File_open may be of another library than the rest: a ROMIO that is preloaded. */
int job_is_mpi(const void *address)
{
    static const char *const names[] = {"PMPI_Comm_rank", "PMPI_File_open"};
    const void *object = object_of(address);

    for (int i = 0; object != NULL && i < 2; i++)
        if (object == object_of(dlsym(RTLD_DEFAULT, names[i])))
            return 1;
    return is_plugin(address);
}

/* The space. */

static int open_store(void *self, const char *path, struct cio_store **out)
{
    int write_only;

    (void)self;
    return path_store_open(path, &write_only, out);
}

static int64_t number_from(const char *name, int64_t otherwise)
{
    const char *text = getenv(name);
    char *end;
    int64_t value;

    if (text == NULL || *text == '\0')
        return otherwise;
    errno = 0;
    value = strtoll(text, &end, 10);
    if (*end == '\0' && errno == 0 && value > 0)
        return value;
    if (rank == 0)
        cio_log(CIO_LOG_NOTICE, "posix: %s=%s is no number above 0: %lld is taken", name, text,
                (long long)otherwise);
    return otherwise;
}

/* A thread in each process costs time where ranks have no core to themselves. */
static int wants_progress(void)
{
    const char *text = getenv("TAMIO_POSIX_PROGRESS");

    return text == NULL || strcmp(text, "0") != 0;
}

static void read_settings(void)
{
    cio_space_defaults(0, &settings);
    settings.segment_size = number_from("TAMIO_POSIX_SEGMENT_SIZE", settings.segment_size);
    settings.segments = number_from("TAMIO_POSIX_SEGMENTS", settings.segments);
    settings.progress_thread = many_threads && wants_progress();
    settings.open = open_store;
}

static MPI_Comm own = MPI_COMM_NULL; /* the space's */

static int create_space(struct cio_space **out)
{
    struct cio_onesided *os;
    int64_t bytes, exposed;
    int rc;

    read_settings();
    cio_space_region(&settings, &bytes, &exposed);
    if (PMPI_Comm_dup(MPI_COMM_WORLD, &own) != MPI_SUCCESS)
        return -EIO;
    (void)PMPI_Comm_set_errhandler(own, MPI_ERRORS_RETURN);
    rc = cio_onesided_mpi_create(own, bytes, exposed, &cio_nodemem_posix, &os);
    if (rc == 0)
        rc = cio_space_create(os, &settings, out);
    if (rc < 0)
        (void)PMPI_Comm_free(&own);
    return rc;
}

static void start(int level)
{
    struct cio_space *made;
    int rc;

    PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    first_thread = pthread_self();
    many_threads = level >= MPI_THREAD_MULTIPLE;
    rc = create_space(&made);
    if (rc < 0) {
        if (rank == 0)
            cio_log(CIO_LOG_NOTICE,
                    "posix: all files are passed through to the system: no buffers for them can "
                    "be had (TAMIO_POSIX_SEGMENT_SIZE %lld, TAMIO_POSIX_SEGMENTS %lld): %s",
                    (long long)settings.segment_size, (long long)settings.segments, strerror(-rc));
        return;
    }
    if (rank == 0)
        cio_log(CIO_LOG_DEBUG, "posix: files that match %s are taken, %s", getenv("TAMIO_POSIX"),
                settings.progress_thread ? "with a thread for progress"
                                         : "without a thread for progress");
    calls_begin();
    atomic_store(&space, made);
}

/* Under the lock: no file can be taken while this goes on. */
static void stop(void)
{
    struct cio_space *last = job_space();
    int rc, closed;

    if (!table_enter_any())
        return;
    closed = table_pass_all();
    rc = cio_space_flush(last);
    stats_end();
    atomic_store(&space, NULL);
    closed = closed == 0 ? rc : closed;
    cio_space_destroy(last);
    (void)PMPI_Comm_free(&own);
    file_forget_all();
    table_leave(0);
    if (closed < 0)
        cio_log(CIO_LOG_NOTICE, "posix: MPI_Finalize: not all that was written is in the files: %s",
                strerror(-closed));
}

/* Calls of the program. One may come from inside another: through a tool that is behind us. */

static __thread int calls;

static int wanted(void)
{
    const char *patterns = getenv("TAMIO_POSIX");

    return calls == 0 && patterns != NULL && *patterns != '\0' && job_space() == NULL;
}

static void *next(const char *name)
{
    void *function = dlsym(RTLD_NEXT, name);

    if (function == NULL) {
        cio_log(CIO_LOG_NOTICE, "posix: there is no MPI behind this library: %s", name);
        abort();
    }
    return function;
}

/* The program is told no more than it has asked for. */
static int init(const char *name, int *argc, char ***argv, int level, int *provided)
{
    int (*function)(int *, char ***, int, int *) = (int (*)(int *, char ***, int, int *))next(name);
    int ours = wanted(), given = level, rc;

    calls++;
    rc = function(argc, argv, ours ? MPI_THREAD_MULTIPLE : level, &given);
    calls--;
    if (rc != MPI_SUCCESS)
        return rc;
    if (ours)
        start(given);
    *provided = ours && given > level ? level : given;
    return rc;
}

static int init_plain(const char *name, const char *thread_name, int *argc, char ***argv)
{
    int provided;

    if (wanted())
        return init(thread_name, argc, argv, MPI_THREAD_SINGLE, &provided);
    return ((int (*)(int *, char ***))next(name))(argc, argv);
}

static int finalize(const char *name)
{
    stop();
    return ((int (*)(void))next(name))();
}

EXPORT int MPI_Init(int *argc, char ***argv)
{
    return init_plain("MPI_Init", "MPI_Init_thread", argc, argv);
}

EXPORT int PMPI_Init(int *argc, char ***argv)
{
    return init_plain("PMPI_Init", "PMPI_Init_thread", argc, argv);
}

EXPORT int MPI_Init_thread(int *argc, char ***argv, int level, int *provided)
{
    return init("MPI_Init_thread", argc, argv, level, provided);
}

EXPORT int PMPI_Init_thread(int *argc, char ***argv, int level, int *provided)
{
    return init("PMPI_Init_thread", argc, argv, level, provided);
}

EXPORT int MPI_Finalize(void)
{
    return finalize("MPI_Finalize");
}

EXPORT int PMPI_Finalize(void)
{
    return finalize("PMPI_Finalize");
}
