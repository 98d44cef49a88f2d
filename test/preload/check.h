/* What the programs of this folder share: CHECK, a scratch file, and the end with 0, 1 or 77. */

#ifndef CHECK_H_INCLUDED
#define CHECK_H_INCLUDED

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int failures;
static int rank, size;
static char path[1024];

#define CHECK(condition)                                                                   \
    do {                                                                                   \
        if (!(condition)) {                                                                \
            fprintf(stderr, "rank %d: %s:%d: %s\n", rank, __FILE__, __LINE__, #condition); \
            failures++;                                                                    \
        }                                                                                  \
    } while (0)

#define OK(call) CHECK((call) == MPI_SUCCESS)

static inline int class_of(int code)
{
    int error_class = -1;

    MPI_Error_class(code, &error_class);
    return error_class;
}

/* argv[1] is the scratch file. */
static inline void begin(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    snprintf(path, sizeof(path), "%s", argc > 1 ? argv[1] : "scratch");
}

static inline int end(void)
{
    int all = 0;

    MPI_Allreduce(&failures, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (rank == 0)
        remove(path);
    MPI_Finalize();
    return all != 0;
}

static inline MPI_File open_scratch(MPI_Comm comm)
{
    MPI_File file = MPI_FILE_NULL;

    OK(MPI_File_open(comm, path, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file));
    return file;
}

#endif /* CHECK_H_INCLUDED */
