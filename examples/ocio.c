/*
 * Program 2 of the paper: two arrays of each rank, interleaved in one file, by a buffer, a file
 * view and one collective call (OCIO). The numbers are those of the paper's lines; tcio.c is
 * program 3.
 *
 * Usage: mpiexec -n RANKS ocio FILE [LEN_array [SIZE_access]]
 */
#include "paper.h"

static void stop_mpi(int rc, const char *what)
{
    char text[MPI_MAX_ERROR_STRING] = "";
    int length;

    if (rc != MPI_SUCCESS)
        MPI_Error_string(rc, text, &length);
    stop(rc, what, text);
}

static void write_arrays(const char *file_name, const char *const *array)
{
    int mode = MPI_MODE_CREATE | MPI_MODE_WRONLY;
    MPI_Datatype eType, fileType;
    MPI_Offset disp;
    MPI_Status status;
    MPI_File handle;
    int i, j;

    /* 1 */
    char *buffer = malloc((size_t)(LEN_array / SIZE_access) * (size_t)block_size), *end = buffer;

    if (buffer == NULL)
        stop(MPI_ERR_NO_MEM, "buffer", "out of memory");
    /* 2 */
    for (i = 0; i < LEN_array; i += SIZE_access) {
        for (j = 0; j < NUM_ARRAY; j++) {
            memcpy(end, array[j] + (size_t)i * (size_t)type_size[j],
                   (size_t)(SIZE_access * type_size[j]));
            end += SIZE_access * type_size[j];
        }
    }
    /* 3 */
    stop_mpi(MPI_File_open(MPI_COMM_WORLD, file_name, mode, MPI_INFO_NULL, &handle), "open");
    /* 4 */
    block_size = (int)(sizeof(int) + sizeof(double)) * SIZE_access;
    /* 5 */
    disp = (MPI_Offset)my_rank * block_size;
    /* 6 */
    MPI_Type_contiguous(block_size, MPI_BYTE, &eType);
    /* 7 */
    MPI_Type_commit(&eType);
    /* 8 */
    MPI_Type_vector(LEN_array / SIZE_access, 1, num_procs, eType, &fileType);
    /* 9 */
    MPI_Type_commit(&fileType);
    /* 10 */
    stop_mpi(MPI_File_set_view(handle, disp, eType, fileType, "native", MPI_INFO_NULL), "set_view");
    /* 11 */
    stop_mpi(
        MPI_File_write_all(handle, buffer, LEN_array / SIZE_access * block_size, MPI_BYTE, &status),
        "write_all");
    /* 12 */
    stop_mpi(MPI_File_close(&handle), "close");
    /* 13 */
    free(buffer);
    MPI_Type_free(&fileType);
    MPI_Type_free(&eType);
}

int main(int argc, char **argv)
{
    int *ints;
    double *doubles, seconds;

    begin(argc, argv);
    ints = malloc((size_t)LEN_array * sizeof(*ints));
    doubles = malloc((size_t)LEN_array * sizeof(*doubles));
    if (ints == NULL || doubles == NULL)
        stop(MPI_ERR_NO_MEM, "arrays", "out of memory");
    fill(my_rank, ints, doubles);
    seconds = MPI_Wtime();
    write_arrays(argv[1], (const char *const[NUM_ARRAY]){(char *)ints, (char *)doubles});
    seconds = MPI_Wtime() - seconds;
    free(ints);
    free(doubles);
    return end(argv[1], seconds);
}
