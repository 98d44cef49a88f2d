/*
 * What examples/ocio.c and examples/tcio.c share: arrays of the types that were asked for, as in
 * table I of the paper, and the file as it must be.
 *
 * Element i of array j on rank r lies, with SIZE_access elements at a time, as in
 *
 *   |  rank 0             |  rank 1             | ...
 *   | array 0 | array 1   | array 0 | array 1   |        elements 0 .. SIZE_access - 1
 *   | array 0 | array 1   | array 0 | array 1   |        the next ones
 */
#ifndef PAPER_H
#define PAPER_H

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NUM_ARRAY 2

static const int type_size[NUM_ARRAY] = {sizeof(int), sizeof(double)};
static int my_rank, num_procs;
static int LEN_array, SIZE_access, block_size;

static int number_at(int rank, int i)
{
    return rank * 1000003 + i;
}

/* Both arrays of a rank. */
static void fill(int rank, int *ints, double *doubles)
{
    for (int i = 0; i < LEN_array; i++) {
        ints[i] = number_at(rank, i);
        doubles[i] = number_at(rank, i) + 0.25;
    }
}

/* mpiexec -n RANKS PROGRAM FILE [LEN_array [SIZE_access]] */
static void begin(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &my_rank);
    MPI_Comm_size(MPI_COMM_WORLD, &num_procs);
    LEN_array = argc > 2 ? atoi(argv[2]) : 10000;
    SIZE_access = argc > 3 ? atoi(argv[3]) : 1;
    if (argc < 2 || SIZE_access < 1 || LEN_array < 1 || LEN_array % SIZE_access != 0) {
        fprintf(stderr, "usage: %s FILE [LEN_array [SIZE_access, which divides it]]\n", argv[0]);
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    block_size = (type_size[0] + type_size[1]) * SIZE_access;
    if (my_rank == 0)
        remove(argv[1]);
    MPI_Barrier(MPI_COMM_WORLD);
}

static void stop(int rc, const char *what, const char *why)
{
    if (rc == MPI_SUCCESS)
        return;
    fprintf(stderr, "rank %d: %s: %s\n", my_rank, what, why);
    MPI_Abort(MPI_COMM_WORLD, 1);
}

/* What the file holds for a rank, at element i, SIZE_access elements of each array. */
static int wrong_block(const char *block, int rank, int i)
{
    int wrong = 0;

    for (int k = 0; k < SIZE_access; k++) {
        int a = number_at(rank, i + k);
        double b = number_at(rank, i + k) + 0.25;

        wrong += memcmp(block + k * (int)sizeof(int), &a, sizeof(a)) != 0;
        wrong += memcmp(block + SIZE_access * (int)sizeof(int) + k * (int)sizeof(double), &b,
                        sizeof(b)) != 0;
    }
    return wrong;
}

/* Rank 0 reads the file, with the C library, and compares each byte. */
static int check_file(const char *name)
{
    FILE *in = my_rank == 0 ? fopen(name, "rb") : NULL;
    char *block = malloc((size_t)block_size);
    int wrong = my_rank == 0 && in == NULL;

    for (int i = 0; in != NULL && i < LEN_array; i += SIZE_access)
        for (int r = 0; r < num_procs; r++)
            wrong += fread(block, 1, (size_t)block_size, in) != (size_t)block_size ||
                     wrong_block(block, r, i) != 0;
    if (in != NULL) {
        wrong += fgetc(in) != EOF;
        fclose(in);
    }
    free(block);
    MPI_Bcast(&wrong, 1, MPI_INT, 0, MPI_COMM_WORLD);
    return wrong;
}

static int end(const char *name, double seconds)
{
    int wrong = check_file(name);
    double slowest;

    MPI_Reduce(&seconds, &slowest, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
    if (my_rank == 0)
        printf("%d ranks, %d x %d elements: write %.4f s, %d wrong\n", num_procs, NUM_ARRAY,
               LEN_array, slowest, wrong);
    MPI_Finalize();
    return wrong != 0;
}

#endif
