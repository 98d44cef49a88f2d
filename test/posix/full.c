/*
 * A limit that is found only when the data is written to the file: some call must tell at least one
 * rank, and what was below the limit is there.
 */
#include "check.h"

#include <signal.h>
#include <sys/resource.h>

#define SPACING 30000

static char data[100000];

int main(int argc, char **argv)
{
    struct rlimit limit;
    int fd, failed = 0, any, right = 1;

    MPI_Init(&argc, &argv);
    begin(argc, argv);
    signal(SIGXFSZ, SIG_IGN);
    limit.rlim_cur = limit.rlim_max = (rlim_t)SPACING * 10 * size;
    setrlimit(RLIMIT_FSIZE, &limit);
    if (rank == 0)
        close(creat(file, 0644));
    barrier();
    fd = open(file, O_RDWR);
    fill(data, sizeof(data), 7);
    for (int i = 0; i < 20; i++) /* the ranks' pieces in turn, the last half of them too far */
        failed |= pwrite(fd, data, 100, ((off_t)i * size + rank) * SPACING) != 100;
    failed |= fsync(fd) != 0;
    failed |= close(fd) != 0;
    MPI_Allreduce(&failed, &any, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    note("some call failed: %d", any);
    fd = open(file, O_RDONLY);
    for (int i = 0; i < 10 * size; i++) {
        char piece[100] = "";

        right &= pread(fd, piece, 100, (off_t)i * SPACING) == 100 && memcmp(piece, data, 100) == 0;
    }
    close(fd);
    note("below the limit: %d", right);
    barrier();
    return end();
}
