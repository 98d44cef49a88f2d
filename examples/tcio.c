/*
 * Program 3 of the paper: two arrays of each rank, interleaved in one file, one call for each piece
 * (TCIO). The numbers are those of the paper's lines; ocio.c is program 2.
 *
 * The paper's line 3.b.i gives SIZE_access elements as so many bytes, which is not enough for any
 * type but char: here as many bytes as its line 3.b.ii moves on by.
 *
 * Usage: mpiexec -n RANKS tcio FILE [LEN_array [SIZE_access]]
 */
#include "paper.h"
#include "tcio_paper.h"

static void write_arrays(const char *file_name, const char *const *array)
{
    int mode = MPI_MODE_CREATE | MPI_MODE_WRONLY;
    tcio_file *handle;
    MPI_Offset pos;
    int i, j, rc;

    /* 1 */
    block_size = (int)(sizeof(int) + sizeof(double)) * SIZE_access;
    /* 2 */
    handle = tcio_open(file_name, mode);
    if (handle == NULL)
        stop(MPI_ERR_OTHER, "open", file_name);
    /* 3: the paper's i, in blocks */
    for (i = 0; i < LEN_array; i += SIZE_access) {
        /* a */
        pos = (MPI_Offset)my_rank * block_size +
              (MPI_Offset)(i / SIZE_access) * block_size * num_procs;
        /* b */
        for (j = 0; j < NUM_ARRAY; j++) {
            /* i */
            tcio_write_at(handle, pos, array[j] + (size_t)i * (size_t)type_size[j],
                          SIZE_access * type_size[j], MPI_BYTE);
            /* ii */
            pos += type_size[j] * SIZE_access;
        }
    }
    /* 4: where an error of writing comes */
    rc = tcio_close(handle);
    stop(rc, "close", tcio_strerror(rc));
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
