/* Threads of one rank with a file each, at once, under MPI_THREAD_MULTIPLE. */

#include "check.h"

#include <pthread.h>

#define THREADS 4
#define WRITES 200

static void *write_and_read(void *argument)
{
    const int number = *(const int *) argument;
    char name[1100];
    MPI_File file;
    int value;

    snprintf(name, sizeof(name), "%s.%d.%d", path, rank, number);
    OK(MPI_File_open(MPI_COMM_SELF, name, MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE,
                     MPI_INFO_NULL, &file));
    for (int i = 0; i < WRITES; i++) {
        value = number * WRITES + i;
        OK(MPI_File_write(file, &value, 1, MPI_INT, MPI_STATUS_IGNORE));
    }
    for (int i = 0; i < WRITES; i++) {
        OK(MPI_File_read_at(file, i * sizeof(int), &value, 1, MPI_INT, MPI_STATUS_IGNORE));
        CHECK(value == number * WRITES + i);
    }
    OK(MPI_File_close(&file));
    return NULL;
}

int main(int argc, char **argv)
{
    pthread_t threads[THREADS];
    int numbers[THREADS], provided;

    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    snprintf(path, sizeof(path), "%s", argv[1]);
    if (provided < MPI_THREAD_MULTIPLE) {
        printf("this MPI has no MPI_THREAD_MULTIPLE\n");
        MPI_Finalize();
        return 77;
    }
    for (int i = 0; i < THREADS; i++) {
        numbers[i] = i;
        pthread_create(&threads[i], NULL, write_and_read, &numbers[i]);
    }
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    return end();
}
