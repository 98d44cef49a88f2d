/*
 * What each store leaves to the caller, on the file system of a path:
 *
 *   cc -O2 -D_FILE_OFFSET_BITS=64 -Isrc bench/stores.c src/port/store*.c src/port/map.c \
 *      src/port/throttle.c -o stores -lpthread
 *   stores PATH [dsync]
 *
 * Writes and then reads 96 MiB in batches of 4 MiB with up to four under way, by each kind of store
 * in turn, several times. Prints for each the median time, and the median of the CPU time of the
 * caller's thread, which is what it cannot use for communication; both as ratios to blocking. CPU
 * time tells even where other programs leave no core free. With dsync every write waits for the
 * device, so that time tells what overlaps.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "port/store.h"

enum { BATCHES = 24, SIZE = 4 << 20, UNDER_WAY = 4, RUNS = 9, KINDS = 3 };

static const enum cio_store_kind kinds[KINDS] = {CIO_STORE_BLOCKING, CIO_STORE_THREAD,
                                                 CIO_STORE_URING};

struct run {
    double time, cpu;
};

static double seconds(clockid_t clock)
{
    struct timespec t;

    clock_gettime(clock, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static _Noreturn void fail(const char *what)
{
    fprintf(stderr, "stores: %s\n", what);
    exit(1);
}

static void end_batch(struct cio_store *s, struct cio_batch *b)
{
    cio_store_wait(s, b);
    if (b->error != 0)
        fail(strerror(-b->error));
}

static void transfer(struct cio_store *s, int write, char *buf)
{
    struct cio_piece piece[UNDER_WAY];
    struct cio_batch batch[UNDER_WAY];

    for (int i = 0; i < BATCHES; i++) {
        int k = i % UNDER_WAY;

        if (i >= UNDER_WAY)
            end_batch(s, &batch[k]);
        piece[k] = (struct cio_piece){buf + (size_t)k * SIZE, SIZE, (int64_t)i * SIZE};
        batch[k] = (struct cio_batch){.write = write, .piece = &piece[k], .n = 1};
        cio_store_start(s, &batch[k]);
    }
    for (int k = 0; k < UNDER_WAY; k++)
        end_batch(s, &batch[k]);
}

static struct run measure(const char *path, enum cio_store_kind kind, int write, int flags)
{
    static char buf[UNDER_WAY * SIZE];
    int fd = open(path, flags | (write ? O_TRUNC : 0), 0600);
    struct cio_store *s;
    struct run r;

    if (fd < 0 || cio_store_open(fd, kind, &s) < 0)
        fail(path);
    memset(buf, 1, sizeof(buf));
    r = (struct run){seconds(CLOCK_MONOTONIC), seconds(CLOCK_THREAD_CPUTIME_ID)};
    transfer(s, write, buf);
    r = (struct run){seconds(CLOCK_MONOTONIC) - r.time, seconds(CLOCK_THREAD_CPUTIME_ID) - r.cpu};
    cio_store_destroy(s);
    close(fd);
    return r;
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

static struct run median(const struct run *runs)
{
    double time[RUNS], cpu[RUNS];

    for (int i = 0; i < RUNS; i++) {
        time[i] = runs[i].time;
        cpu[i] = runs[i].cpu;
    }
    qsort(time, RUNS, sizeof(double), by_value);
    qsort(cpu, RUNS, sizeof(double), by_value);
    return (struct run){time[RUNS / 2], cpu[RUNS / 2]};
}

static void compare(const char *path, int write, int flags)
{
    static const char *const names[KINDS] = {"blocking", "thread", "uring"};
    struct run runs[KINDS][RUNS], m[KINDS];

    for (int i = 0; i < RUNS; i++)
        for (int k = 0; k < KINDS; k++)
            runs[k][i] = measure(path, kinds[k], write, flags);
    for (int k = 0; k < KINDS; k++) {
        m[k] = median(runs[k]);
        printf("%-5s  %-8s  %6.1f ms %5.2f  caller's CPU %6.2f ms %5.2f\n",
               write ? "write" : "read", names[k], m[k].time * 1e3, m[k].time / m[0].time,
               m[k].cpu * 1e3, m[k].cpu / m[0].cpu);
    }
}

int main(int argc, char **argv)
{
    int dsync = argc == 3 && strcmp(argv[2], "dsync") == 0;
    int flags = O_RDWR | O_CREAT | (dsync ? O_DSYNC : 0);

    if (argc < 2 || (argc > 2 && !dsync))
        fail("usage: stores PATH [dsync]");
    compare(argv[1], 1, flags);
    compare(argv[1], 0, flags);
    unlink(argv[1]);
    return 0;
}
