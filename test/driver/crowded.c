/*
 * Whether ranks that wait for their leader look for a while before they sleep, which they do where
 * no others share their cores: such a look lets others run, and is counted here.
 *
 * Usage: crowded FILE CPU,CPU,... looks|sleeps
 *
 * Rank r binds itself to the r-th of these sets of processors ("0", "0-1"), or the last.
 */
#define _GNU_SOURCE
#include "gather.h"

#include <sched.h>
#include <unistd.h>

static int looks;

/* In the place of the C library's. */
int sched_yield(void)
{
    looks++;
    return 0;
}

static void bind_to(const char *sets)
{
    int first = 0, last, n;
    cpu_set_t mask;

    for (int r = 0; r < rank && strchr(sets, ',') != NULL; r++)
        sets = strchr(sets, ',') + 1;
    n = sscanf(sets, "%d-%d", &first, &last);
    CPU_ZERO(&mask);
    for (int i = first; i <= (n == 2 ? last : first); i++)
        CPU_SET(i, &mask);
    CHECK(sched_setaffinity(0, sizeof(mask), &mask) == 0);
}

static void write_piece(MPI_File file, int i)
{
    char buf[100];

    memset(buf, 'a' + rank, sizeof(buf));
    OK(MPI_File_write_at_all(file, (MPI_Offset)(i * size + rank) * 100, buf, 100, MPI_BYTE,
                             MPI_STATUS_IGNORE));
}

int main(int argc, char **argv)
{
    MPI_File file;
    int member;

    begin(argc, argv);
    bind_to(argv[2]);
    file = open_scratch(MPI_COMM_WORLD);
    write_piece(file, 0);
    looks = 0;
    if (rank == 0)
        usleep(300000);
    write_piece(file, 1);
    member = rank == 0 ? 1 : looks > 10;
    print_ranks("looks", "%d", looks);
    CHECK(rank == 0 || member == (strcmp(argv[3], "looks") == 0));
    OK(MPI_File_close(&file));
    return end();
}
