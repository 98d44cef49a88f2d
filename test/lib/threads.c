/* MPI_THREAD_MULTIPLE: each thread has files of its own, over communicators of its own. */
#include "common.h"

#include <pthread.h>

#define THREADS 2
#define N 3000

struct job {
    MPI_Comm comm;
    int number, wrong;
    char name[1100];
};

static void write_and_read(struct job *j)
{
    int *in = calloc((size_t)(N * size), sizeof(int)), value;
    MPI_Info info = hints("tcio_segment_size", "4096", "tcio_segments", "2", NULL);
    tcio_file *fh = NULL;

    j->wrong +=
        tcio_open(j->comm, j->name, CREATE | MPI_MODE_DELETE_ON_CLOSE, info, &fh) != MPI_SUCCESS;
    MPI_Info_free(&info);
    for (int i = 0; i < N; i++) {
        value = (i * size + rank) * 3 + j->number;
        j->wrong +=
            tcio_write_at(fh, 4 * (MPI_Offset)(i * size + rank), &value, 1, MPI_INT) != MPI_SUCCESS;
    }
    j->wrong += tcio_flush(fh) != MPI_SUCCESS;
    for (int i = 0; i < N * size; i++)
        j->wrong += tcio_read_at(fh, 4 * (MPI_Offset)i, &in[i], 1, MPI_INT) != MPI_SUCCESS;
    j->wrong += tcio_close(fh) != MPI_SUCCESS;
    for (int i = 0; i < N * size; i++)
        j->wrong += in[i] != i * 3 + j->number;
    free(in);
}

static void *run(void *job)
{
    for (int i = 0; i < 3; i++)
        write_and_read(job);
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
    for (int i = 0; i < THREADS; i++) {
        job[i] = (struct job){.number = i};
        MPI_Comm_dup(MPI_COMM_WORLD, &job[i].comm);
        snprintf(job[i].name, sizeof(job[i].name), "%s.%d", path, i);
    }
    for (int i = 0; i < THREADS; i++)
        CHECK(pthread_create(&thread[i], NULL, run, &job[i]) == 0);
    for (int i = 0; i < THREADS; i++) {
        pthread_join(thread[i], NULL);
        CHECK(job[i].wrong == 0);
        MPI_Comm_free(&job[i].comm);
    }
    MPI_Allreduce(&failures, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    MPI_Finalize();
    return all != 0;
}
