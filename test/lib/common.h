/* What the programs of this folder share: opening with hints, bytes that tell where they belong. */
#ifndef TEST_LIB_COMMON_H
#define TEST_LIB_COMMON_H

#include "../preload/check.h"

#include <stdarg.h>
#include <stdint.h>
#include <sys/stat.h>
#include <tcio.h>

#define CREATE (MPI_MODE_CREATE | MPI_MODE_RDWR)

/* An info of "NAME", "VALUE" pairs, up to NULL. */
static inline MPI_Info hints(const char *name, ...)
{
    MPI_Info info;
    va_list args;

    MPI_Info_create(&info);
    va_start(args, name);
    for (; name != NULL; name = va_arg(args, const char *))
        MPI_Info_set(info, name, va_arg(args, const char *));
    va_end(args);
    return info;
}

static inline int open_in(MPI_Comm comm, const char *name, int amode, MPI_Info info, tcio_file **fh)
{
    int rc = tcio_open(comm, name, amode, info, fh);

    if (info != MPI_INFO_NULL)
        MPI_Info_free(&info);
    return rc;
}

static inline tcio_file *open_file(int amode, MPI_Info info)
{
    tcio_file *fh = NULL;

    OK(open_in(MPI_COMM_WORLD, path, amode, info, &fh));
    return fh;
}

/* A file name of this test's own. */
static inline const char *beside(const char *suffix)
{
    static char name[1100];

    snprintf(name, sizeof(name), "%s.%s", path, suffix);
    return name;
}

static inline void remove_scratch(const char *name)
{
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0)
        remove(name);
    MPI_Barrier(MPI_COMM_WORLD);
}

static inline long long file_size(const char *name)
{
    struct stat st;

    return stat(name, &st) == 0 ? (long long)st.st_size : -1;
}

/* What the file has, read without TCIO; beyond its end it is `fill`. */
static inline void read_plain(const char *name, long long from, void *to, size_t n, int fill)
{
    FILE *in = fopen(name, "rb");

    memset(to, fill, n);
    CHECK(in != NULL && fseek(in, from, SEEK_SET) == 0);
    if (in != NULL) {
        if (fread(to, 1, n, in) < n)
            clearerr(in);
        fclose(in);
    }
}

/* The value of a key of the info; "" if there is none. */
static inline const char *info_of(tcio_file *fh, const char *key)
{
    static char value[MPI_MAX_INFO_VAL + 1];
    MPI_Info info;
    int found = 0;

    value[0] = '\0';
    OK(tcio_get_info(fh, &info));
    OK(MPI_Info_get(info, key, MPI_MAX_INFO_VAL, value, &found));
    MPI_Info_free(&info);
    return found ? value : "";
}

#endif
