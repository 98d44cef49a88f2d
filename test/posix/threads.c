/* Threads of a rank on one descriptor and one stream, with others that have files of their own. */
#include "check.h"

#include <pthread.h>

#define THREADS 4
#define RECORDS 200
#define RECORD 1000

static int fd;
static FILE *stream;
static char told[THREADS][100];

static void *work(void *argument)
{
    int me = (int)(intptr_t)argument;
    char data[RECORD], name[4200], own[20] = "";
    int bad = 0, mine;

    snprintf(name, sizeof(name), "%s.thread%d", own_file(), me);
    mine = open(name, O_RDWR | O_CREAT | O_TRUNC, 0644);
    for (int i = 0; i < RECORDS; i++) {
        off_t at = ((off_t)(i * size + rank) * THREADS + me) * RECORD;

        fill(data, RECORD, (unsigned)at);
        bad += pwrite(fd, data, RECORD, at) != RECORD;
        fprintf(stream, "thread\n");
        snprintf(own, sizeof(own), "%07d\n", i);
        bad += write(mine, own, 8) != 8;
        bad += pread(mine, own, 8, 8 * (i / 2)) != 8 || atoi(own) != i / 2;
    }
    bad += close(mine) != 0;
    snprintf(told[me], sizeof(told[me]), "thread %d: %d went wrong", me, bad);
    return NULL;
}

int main(int argc, char **argv)
{
    pthread_t thread[THREADS];
    int provided;
    char name[4200];

    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    begin(argc, argv);
    note("provided: %d", provided);
    if (rank == 0)
        close(creat(file, 0644));
    barrier();
    fd = open(file, O_RDWR);
    snprintf(name, sizeof(name), "%s.lines", own_file());
    stream = fopen(name, "w");
    for (int i = 0; i < THREADS; i++)
        pthread_create(&thread[i], NULL, work, (void *)(intptr_t)i);
    for (int i = 0; i < THREADS; i++)
        pthread_join(thread[i], NULL);
    for (int i = 0; i < THREADS; i++)
        note("%s", told[i]);
    noted("fclose", fclose(stream));
    noted("close", close(fd));
    barrier();
    return end();
}
