/*
 * One file of all ranks: records of 47,008 bytes in turn, written in random order by each rank,
 * pieces of them again, and read by all after close. What others wrote is seen after close.
 */
#include "check.h"

#define RECORD 47008
#define RECORDS 12 /* of each rank */

static char data[RECORD];

static off_t place(int i, int of)
{
    return ((off_t)i * size + of) * RECORD;
}

static void write_records(int fd)
{
    for (int i = 0; i < RECORDS; i++) {
        int k = i * 7 % RECORDS;

        fill(data, RECORD, (unsigned)(k * size + rank));
        if (i % 2 == 0)
            noted("pwrite", pwrite(fd, data, RECORD, place(k, rank)));
        else if (noted("lseek", lseek(fd, place(k, rank), SEEK_SET)) >= 0)
            noted("write", write(fd, data, RECORD));
        noted("again", pwrite(fd, "again", 5, place(k, rank) + 17 * i));
        note_data("own", data, pread(fd, data, RECORD, place(k, rank)));
    }
}

static void read_records(int fd, int from)
{
    for (int i = 0; i < RECORDS; i++)
        note_data("record", data, pread(fd, data, RECORD, place(i, from % size)));
}

static int open_all(int flags)
{
    int fd;

    if (rank == 0)
        close(open(file, flags | O_CREAT, 0644));
    barrier();
    fd = open(file, flags);
    noted("open", fd >= 0);
    return fd;
}

/*
 * Rank 0 has the file open until the others have closed, so that what they wrote is in no file yet.
 * Who opens it after that sees it.
 */
static void close_before_last(void)
{
    int fd = open_all(O_RDWR), again;

    barrier();
    if (rank > 0) {
        fill(data, 1000, (unsigned)rank);
        noted("pwrite", pwrite(fd, data, 1000, 1000 * rank));
        noted("close", close(fd));
    }
    barrier();
    again = open(file, O_RDONLY);
    for (int i = 1; i < size; i++)
        note_data("of a closed one", data, pread(again, data, 1000, 1000 * i));
    barrier();
    noted("close", close(again));
    if (rank == 0)
        noted("fsync", fsync(fd));
    for (int i = 1; rank == 0 && i < size; i++)
        note_data("through the first", data, pread(fd, data, 1000, 1000 * i));
    noted("close", rank == 0 ? close(fd) : 0);
}

static void sync_is_enough(void)
{
    int fd = open_all(O_RDWR);

    fill(data, 500, (unsigned)rank + 77);
    noted("pwrite", pwrite(fd, data, 500, 30000 + 500 * rank));
    noted("fsync", fsync(fd));
    barrier();
    for (int i = 0; i < size; i++)
        note_data("of one that synced", data, pread(fd, data, 500, 30000 + 500 * i));
    barrier();
    noted("close", close(fd));
}

/* What has been pushed is in the size that others are told. */
static void size_for_all(void)
{
    struct stat st;
    int fd = open_all(O_RDWR);

    noted("pwrite", pwrite(fd, "end", 3, 50000000 + 3 * rank));
    noted("fsync", fsync(fd));
    barrier();
    noted("end", lseek(fd, 0, SEEK_END));
    noted("stat", stat(file, &st));
    noted("size", st.st_size);
    barrier();
    noted("close", close(fd));
    barrier();
    noted("stat", stat(file, &st));
    noted("size", st.st_size);
}

/* Some rank shortens the file while all have it open, and writes beyond. */
static void shorter_for_all(void)
{
    int fd = open_all(O_RDWR);

    barrier();
    if (rank == size - 1)
        noted("ftruncate", ftruncate(fd, 40000));
    barrier();
    note_data("beyond", data, pread(fd, data, 1000, 45000));
    noted("end", lseek(fd, 0, SEEK_END));
    barrier();
    noted("pwrite", pwrite(fd, "after", 5, 60000 + 5 * rank));
    noted("close", close(fd));
}

int main(int argc, char **argv)
{
    int fd;

    MPI_Init(&argc, &argv);
    begin(argc, argv);
    fd = open_all(O_RDWR);
    write_records(fd);
    noted("close", close(fd));
    barrier();
    fd = open_all(O_RDONLY);
    for (int i = 1; i <= 3; i++)
        read_records(fd, rank + i);
    barrier();
    noted("close", close(fd));
    close_before_last();
    sync_is_enough();
    size_for_all();
    shorter_for_all();
    return end();
}
