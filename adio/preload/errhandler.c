/*
 * MPI_File_{create,set,get,call}_errhandler and MPI_Errhandler_free (see errhandler.h).
 *
 * A handler lives until the user has freed it and no file uses it; references count both. One that
 * was ever the default (set on MPI_FILE_NULL) is kept for good, because ROMIO gives it to files
 * without telling.
 */

#include "mpioimpl.h"
#include "adio_extern.h"
#include "errhandler.h"

#include <dlfcn.h>
#include <pthread.h>

struct handler {
    MPI_Errhandler handle;
    MPI_File_errhandler_function *function;
    int references;
    int kept;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct handler *handlers;
static int n_handlers;

typedef int free_function(MPI_Errhandler *);

static int free_in_mpi(MPI_Errhandler * errhandler)
{
    free_function *next = (free_function *) dlsym(RTLD_NEXT, "PMPI_Errhandler_free");

    return next != NULL ? next(errhandler) : MPI_ERR_INTERN;
}

static struct handler *find(MPI_Errhandler handle)
{
    for (int i = 0; i < n_handlers; i++)
        if (handlers[i].handle == handle)
            return &handlers[i];
    return NULL;
}

static int add(MPI_Errhandler handle, MPI_File_errhandler_function * function)
{
    struct handler *more = realloc(handlers, (n_handlers + 1) * sizeof(*handlers));

    if (more == NULL)
        return MPI_ERR_NO_MEM;
    handlers = more;
    handlers[n_handlers++] = (struct handler) {.handle = handle,.function = function,.references = 1 };
    return MPI_SUCCESS;
}

static void reference(MPI_Errhandler handle)
{
    struct handler *h;

    pthread_mutex_lock(&lock);
    h = find(handle);
    if (h != NULL)
        h->references++;
    pthread_mutex_unlock(&lock);
}

/* Whether the handle was ours; frees it in the MPI with the last reference. */
static int release(MPI_Errhandler handle)
{
    struct handler *h;
    int ours, last = 0;

    pthread_mutex_lock(&lock);
    h = find(handle);
    ours = h != NULL;
    if (ours && --h->references <= 0 && !h->kept) {
        *h = handlers[--n_handlers];
        last = 1;
    }
    pthread_mutex_unlock(&lock);
    if (last)
        free_in_mpi(&handle);
    return ours;
}

static void keep(MPI_Errhandler handle)
{
    struct handler *h;

    pthread_mutex_lock(&lock);
    h = find(handle);
    if (h != NULL)
        h->kept = 1;
    pthread_mutex_unlock(&lock);
}

static int returns(MPI_Errhandler errhandler)
{
#ifdef MPIR_ERRORS_THROW_EXCEPTIONS
    if (errhandler == MPIR_ERRORS_THROW_EXCEPTIONS)
        return 1;       /* MPICH's C++ binding throws when the call has returned */
#endif
    return errhandler == MPI_ERRORS_RETURN;
}

static int is_fatal(MPI_Errhandler errhandler)
{
#if MPI_VERSION >= 4
    if (errhandler == MPI_ERRORS_ABORT)
        return 1;
#endif
    return errhandler == MPI_ERRORS_ARE_FATAL;
}

enum tamio_errhandler_kind tamio_errhandler_kind(MPI_Errhandler errhandler,
                                                 MPI_File_errhandler_function ** function)
{
    struct handler *h;

    if (returns(errhandler))
        return TAMIO_ERRHANDLER_RETURNS;
    if (is_fatal(errhandler))
        return TAMIO_ERRHANDLER_IS_FATAL;
    pthread_mutex_lock(&lock);
    h = find(errhandler);
    if (h != NULL)
        *function = h->function;
    pthread_mutex_unlock(&lock);
    return h != NULL ? TAMIO_ERRHANDLER_CALLS : TAMIO_ERRHANDLER_UNKNOWN;
}

/* The MPI wants a function for its handle; it is the table's that is called. */
static void never_called(MPI_Comm * comm, int *error_code, ...)
{
}

int PMPI_File_create_errhandler(MPI_File_errhandler_function * function,
                                MPI_Errhandler * errhandler)
{
    MPI_Errhandler handle;
    int error_code = PMPI_Comm_create_errhandler(never_called, &handle);

    if (error_code != MPI_SUCCESS)
        return error_code;
    pthread_mutex_lock(&lock);
    error_code = add(handle, function);
    pthread_mutex_unlock(&lock);
    if (error_code != MPI_SUCCESS) {
        free_in_mpi(&handle);
        return MPIO_Err_return_file(MPI_FILE_NULL, error_code);
    }
    *errhandler = handle;
    return MPI_SUCCESS;
}

TAMIO_ALIAS(File_create_errhandler);

int PMPI_Errhandler_free(MPI_Errhandler * errhandler)
{
    if (!release(*errhandler))
        return free_in_mpi(errhandler);
    *errhandler = MPI_ERRHANDLER_NULL;
    return MPI_SUCCESS;
}

TAMIO_ALIAS(Errhandler_free);

/* Where the handler of a file, or of MPI_FILE_NULL, is kept; NULL if this is not a file. */
static MPI_Errhandler *handler_of(MPI_File file)
{
    if (file == MPI_FILE_NULL)
        return &ADIOI_DFLT_ERR_HANDLER;
    if (file == NULL || file->cookie != ADIOI_FILE_COOKIE)
        return NULL;
    return &file->err_handler;
}

static int not_a_file(void)
{
    return MPIO_Err_return_file(MPI_FILE_NULL, MPI_ERR_FILE);
}

static int not_a_file_handler(MPI_File file)
{
    fprintf(stderr, "tamio preload: MPI_File_set_errhandler: this error handler was not made with "
            "MPI_File_create_errhandler (or in Fortran with Open MPI, which is not supported)\n");
    return MPIO_Err_return_file(file, MPI_ERR_ARG);
}

int PMPI_File_set_errhandler(MPI_File file, MPI_Errhandler errhandler)
{
    MPI_Errhandler *slot = handler_of(file), old;
    MPI_File_errhandler_function *function;

    if (slot == NULL)
        return not_a_file();
    if (tamio_errhandler_kind(errhandler, &function) == TAMIO_ERRHANDLER_UNKNOWN)
        return not_a_file_handler(file);
    reference(errhandler);
    if (file == MPI_FILE_NULL)
        keep(errhandler);
    old = *slot;
    *slot = errhandler;
    release(old);
    return MPI_SUCCESS;
}

TAMIO_ALIAS(File_set_errhandler);

int PMPI_File_get_errhandler(MPI_File file, MPI_Errhandler * errhandler)
{
    MPI_Errhandler *slot = handler_of(file);

    if (slot == NULL)
        return not_a_file();
    reference(*slot);
    *errhandler = *slot;
    return MPI_SUCCESS;
}

TAMIO_ALIAS(File_get_errhandler);

int PMPI_File_call_errhandler(MPI_File file, int error_code)
{
    if (handler_of(file) == NULL)
        return not_a_file();
    MPIO_Err_return_file(file, error_code);
    return MPI_SUCCESS;
}

TAMIO_ALIAS(File_call_errhandler);
