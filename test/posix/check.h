/* What the programs share: results that are compared with those of a run without the library. */
#ifndef TEST_POSIX_CHECK_H
#define TEST_POSIX_CHECK_H

#include <errno.h>
#include <fcntl.h>
#include <mpi.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

static int rank, size;
static const char *file; /* matches the pattern */
static FILE *results;    /* does not */

/* ARGUMENTS: FILE RESULTS. Results of a rank go into RESULTS.RANK. */
static inline void begin(int argc, char **argv)
{
    char name[4096];

    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (argc < 3) {
        fprintf(stderr, "usage: %s FILE RESULTS\n", argv[0]);
        exit(1);
    }
    file = argv[1];
    snprintf(name, sizeof(name), "%s.%d", argv[2], rank);
    results = fopen(name, "w");
    if (results == NULL) {
        perror(name);
        exit(1);
    }
}

/* A file of this rank only, which matches as well. */
static inline const char *own_file(void)
{
    static char name[4096];

    snprintf(name, sizeof(name), "%s.own%d", file, rank);
    return name;
}

static inline void note(const char *format, ...) __attribute__((format(printf, 1, 2)));
static inline void note(const char *format, ...)
{
    va_list args;

    va_start(args, format);
    vfprintf(results, format, args);
    va_end(args);
    fputc('\n', results);
}

/* A call's result with its errno if it failed. */
static inline long long noted(const char *what, long long result)
{
    int error = result < 0 ? errno : 0;

    note("%s: %lld %s", what, result, error != 0 ? strerror(error) : "");
    return result;
}

static inline uint64_t hash_of(const void *data, size_t len)
{
    const unsigned char *p = data;
    uint64_t h = 14695981039346656037u;

    while (len-- > 0)
        h = (h ^ *p++) * 1099511628211u;
    return h;
}

/* What a read gave. */
static inline void note_data(const char *what, const void *data, long long n)
{
    note("%s: %lld %016llx", what, n, n > 0 ? (unsigned long long)hash_of(data, (size_t)n) : 0ull);
}

static inline void fill(void *data, size_t len, unsigned seed)
{
    unsigned char *p = data;

    for (size_t i = 0; i < len; i++)
        p[i] = (unsigned char)((i * 31 + seed * 131 + (seed >> 8)) % 251);
}

static inline void barrier(void)
{
    MPI_Barrier(MPI_COMM_WORLD);
}

static inline int end(void)
{
    fclose(results);
    MPI_Finalize();
    return 0;
}

#endif
