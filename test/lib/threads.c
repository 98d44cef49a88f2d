/*
 * MPI_THREAD_MULTIPLE: each thread uses a file of its own, over a communicator of its own. They are
 * opened and closed by one thread: ROMIO has one lock for all files, and holds it while it waits
 * for other ranks.
 */
#include "common.h"

#include <pthread.h>

#define THREADS 2
#define N 3000

struct job {
    MPI_Comm comm;
    tcio_file *fh;
    int number, wrong;
};

static void open_job(struct job *j, int number)
{
    char name[1100];

    *j = (struct job){.number = number};
    MPI_Comm_dup(MPI_COMM_WORLD, &j->comm);
    snprintf(name, sizeof(name), "%s.%d", path, number);
    OK(open_in(j->comm, name, CREATE | MPI_MODE_DELETE_ON_CLOSE,
               hints("tcio_segment_size", "4096", "tcio_segments", "2", NULL), &j->fh));
}

static void close_job(struct job *j)
{
    OK(tcio_close(j->fh));
    CHECK(j->wrong == 0);
    MPI_Comm_free(&j->comm);
}

static void write_and_read(struct job *j, int round)
{
    int *in = calloc((size_t)(N * size), sizeof(int)), value;

    for (int i = 0; i < N; i++) {
        MPI_Offset at = i * size + rank;

        value = (int)at * 3 + j->number + round;
        j->wrong += tcio_write_at(j->fh, 4 * at, &value, 1, MPI_INT) != MPI_SUCCESS;
    }
    j->wrong += tcio_flush(j->fh) != MPI_SUCCESS;
    for (int i = 0; i < N * size; i++)
        j->wrong += tcio_read_at(j->fh, 4 * (MPI_Offset)i, &in[i], 1, MPI_INT) != MPI_SUCCESS;
    j->wrong += tcio_fetch(j->fh) != MPI_SUCCESS;
    j->wrong += tcio_flush(j->fh) != MPI_SUCCESS; /* all have read */
    for (int i = 0; i < N * size; i++)
        j->wrong += in[i] != i * 3 + j->number + round;
    free(in);
}

static void *run(void *job)
{
    for (int i = 0; i < 5; i++)
        write_and_read(job, i);
    return NULL;
}

int main(int argc, char **argv)
{
    struct job job[THREADS];
    pthread_t thread[THREADS];
    int level, all = 0;

    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    snprintf(path, sizeof(path), "%s", argc > 1 ? argv[1] : "scratch");
    if (level < MPI_THREAD_MULTIPLE) {
        MPI_Finalize();
        puts("the MPI has no MPI_THREAD_MULTIPLE");
        return 77;
    }
    for (int i = 0; i < THREADS; i++)
        open_job(&job[i], i);
    for (int i = 0; i < THREADS; i++)
        CHECK(pthread_create(&thread[i], NULL, run, &job[i]) == 0);
    for (int i = 0; i < THREADS; i++)
        pthread_join(thread[i], NULL);
    for (int i = 0; i < THREADS; i++)
        close_job(&job[i]);
    MPI_Allreduce(&failures, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    MPI_Finalize();
    return all != 0;
}
