/*
 * What a process without the library sees: all of it after the last close in the job, and what was
 * there before each fsync. Two files at once, closed in another order by each rank.
 */
#include "check.h"

#define RECORD 777
#define RECORDS 100

static char data[RECORD];

static void look_from_outside(const char *what, const char *name)
{
    char command[5000], line[200] = "";
    FILE *pipe;

    snprintf(command, sizeof(command), "env -u LD_PRELOAD cksum <'%s'", name);
    pipe = popen(command, "r");
    if (pipe == NULL || fgets(line, sizeof(line), pipe) == NULL)
        strcpy(line, "nothing");
    pclose(pipe);
    note("%s: %s", what, line);
}

static void write_records(int fd, unsigned seed)
{
    for (int i = 0; i < RECORDS; i++) {
        fill(data, RECORD, seed + (unsigned)(i * size + rank));
        noted("pwrite", pwrite(fd, data, RECORD, ((off_t)i * size + rank) * RECORD));
    }
}

int main(int argc, char **argv)
{
    char other[4200];
    int fd, second;

    MPI_Init(&argc, &argv);
    begin(argc, argv);
    snprintf(other, sizeof(other), "%s.other", file);
    if (rank == 0) {
        close(creat(file, 0644));
        close(creat(other, 0644));
    }
    barrier();
    fd = open(file, O_RDWR);
    second = open(other, O_WRONLY);
    write_records(fd, 1);
    noted("fsync", fsync(fd));
    barrier();
    if (rank == size - 1)
        look_from_outside("after fsync", file);
    barrier();
    write_records(second, 2);
    write_records(fd, 3);
    for (int turn = 0; turn < size; turn++) {
        if (turn == rank)
            noted("close", close(fd));
        if (turn == size - 1 - rank)
            noted("close", close(second));
        barrier();
    }
    if (rank == 0) {
        look_from_outside("after the last close", file);
        look_from_outside("of the other", other);
    }
    barrier();
    return end();
}
