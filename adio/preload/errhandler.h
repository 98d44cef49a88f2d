/*
 * Error handlers of files. The MPI's own cannot be used: it would look for them in its own files.
 *
 * A handler made with MPI_File_create_errhandler is a handle of the MPI (so that every call that
 * takes an MPI_Errhandler accepts it) and an entry in a table with the user's function.
 */

#ifndef TAMIO_PRELOAD_ERRHANDLER_H_INCLUDED
#define TAMIO_PRELOAD_ERRHANDLER_H_INCLUDED

/* What an error handler does. */
enum tamio_errhandler_kind {
    TAMIO_ERRHANDLER_RETURNS,
    TAMIO_ERRHANDLER_IS_FATAL,
    TAMIO_ERRHANDLER_CALLS,     /* a function */
    TAMIO_ERRHANDLER_UNKNOWN    /* not made here */
};

/* *function is set if the kind is TAMIO_ERRHANDLER_CALLS. */
enum tamio_errhandler_kind tamio_errhandler_kind(MPI_Errhandler errhandler,
                                                 MPI_File_errhandler_function ** function);

/* Makes MPI_name the weak alias of PMPI_name, as every MPI does. ROMIO's headers have macros that
 * turn MPI_name into PMPI_name, so the name is given to the assembler. */
#define TAMIO_ALIAS(name) extern __typeof__(PMPI_##name) tamio_##name \
    __asm__("MPI_" #name) __attribute__ ((weak, alias("PMPI_" #name)))

#endif /* TAMIO_PRELOAD_ERRHANDLER_H_INCLUDED */
