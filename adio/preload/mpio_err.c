/*
 * Error codes and what happens with them. A code is the error class itself: MPI_Error_class and
 * MPI_Error_string of every MPI understand that.
 */

#include "mpioimpl.h"
#include "adio_extern.h"
#include "errhandler.h"

/* A layer that only knows "other" does not hide what a lower one knew. Nothing is fatal here: that
 * is for the file's error handler to say. */
int MPIO_Err_create_code(int lastcode, int fatal, const char fcname[], int line, int error_class,
                         const char generic_msg[], const char specific_msg[], ...)
{
    if (error_class == MPI_ERR_OTHER && lastcode != MPI_SUCCESS)
        PMPI_Error_class(lastcode, &error_class);
    return error_class;
}

static void end_program(MPI_File file, int error_code)
{
    char text[MPI_MAX_ERROR_STRING];
    int length;
    MPI_Comm comm = file == MPI_FILE_NULL ? MPI_COMM_WORLD : file->comm;

    PMPI_Error_string(error_code, text, &length);
    fprintf(stderr, "Fatal error in MPI-IO: %s%s%s\n", text,
            file == MPI_FILE_NULL ? "" : ", file ", file == MPI_FILE_NULL ? "" : file->filename);
    PMPI_Abort(comm, error_code);
}

/* Files that are no files have the handler of MPI_FILE_NULL (MPI 4.0, 14.7). */
static MPI_File valid_or_null(MPI_File file)
{
    if (file == NULL || file == MPI_FILE_NULL || file->cookie != ADIOI_FILE_COOKIE)
        return MPI_FILE_NULL;
    return file;
}

int MPIO_Err_return_file(MPI_File mpi_fh, int error_code)
{
    MPI_File file = valid_or_null(mpi_fh);
    MPI_File_errhandler_function *function;

    if (error_code == MPI_SUCCESS)
        return error_code;
    switch (tamio_errhandler_kind(file == MPI_FILE_NULL ? ADIOI_DFLT_ERR_HANDLER :
                                  file->err_handler, &function)) {
        case TAMIO_ERRHANDLER_IS_FATAL:
            end_program(file, error_code);
            break;
        case TAMIO_ERRHANDLER_CALLS:
            function(&file, &error_code);
            break;
        default:
            break;
    }
    return error_code;
}

int MPIO_Err_return_comm(MPI_Comm mpi_comm, int error_code)
{
    PMPI_Comm_call_errhandler(mpi_comm, error_code);
    return error_code;
}
