/* Errors: what class one is of, and how all ranks come to the same. */
#include "internal.h"

#include "port/log.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static const struct {
    int error, class;
} classes[] = {
    {EACCES, MPI_ERR_ACCESS},
    {EPERM, MPI_ERR_ACCESS},
    {EROFS, MPI_ERR_READ_ONLY},
    {ENOENT, MPI_ERR_NO_SUCH_FILE},
    {EEXIST, MPI_ERR_FILE_EXISTS},
    {EISDIR, MPI_ERR_BAD_FILE},
    {ENOTDIR, MPI_ERR_BAD_FILE},
    {ENAMETOOLONG, MPI_ERR_BAD_FILE},
    {ELOOP, MPI_ERR_BAD_FILE},
    {ENOSPC, MPI_ERR_NO_SPACE},
    {EDQUOT, MPI_ERR_QUOTA},
    {EBUSY, MPI_ERR_FILE_IN_USE},
    {ETXTBSY, MPI_ERR_FILE_IN_USE},
    {ENOMEM, MPI_ERR_NO_MEM},
    {EINVAL, MPI_ERR_ARG},
    {EOVERFLOW, MPI_ERR_ARG},
    {ENOTSUP, MPI_ERR_UNSUPPORTED_OPERATION},
};

static const struct {
    int class;
    const char *words;
} words[] = {
    {MPI_SUCCESS, "no error"},
    {MPI_ERR_ACCESS, "permission denied, or the file was opened for writing only"},
    {MPI_ERR_AMODE, "access mode that makes no sense, or is not supported"},
    {MPI_ERR_ARG, "bad argument, or an offset before zero or past the largest"},
    {MPI_ERR_BAD_FILE, "bad file name"},
    {MPI_ERR_BUFFER, "no buffer"},
    {MPI_ERR_COMM, "bad communicator"},
    {MPI_ERR_COUNT, "negative count"},
    {MPI_ERR_FILE, "the file is not open"},
    {MPI_ERR_FILE_EXISTS, "the file exists"},
    {MPI_ERR_FILE_IN_USE, "the file is in use"},
    {MPI_ERR_INFO, "bad info"},
    {MPI_ERR_INFO_VALUE, "a hint has a value that cannot be used"},
    {MPI_ERR_IO, "input or output error"},
    {MPI_ERR_NOT_SAME, "ranks gave different names, access modes or hints"},
    {MPI_ERR_NO_MEM, "out of memory"},
    {MPI_ERR_NO_SPACE, "no space left"},
    {MPI_ERR_NO_SUCH_FILE, "no such file"},
    {MPI_ERR_QUOTA, "quota exceeded"},
    {MPI_ERR_READ_ONLY, "the file, or its file system, is for reading only"},
    {MPI_ERR_TYPE, "the datatype is null, or not committed"},
    {MPI_ERR_UNSUPPORTED_OPERATION, "not supported"},
};

#define LENGTH(array) (sizeof(array) / sizeof(array[0]))

int tcioi_class_of_errno(int error)
{
    if (error == 0)
        return MPI_SUCCESS;
    for (size_t i = 0; i < LENGTH(classes); i++)
        if (classes[i].error == -error)
            return classes[i].class;
    return MPI_ERR_IO;
}

int tcioi_class_of_mpi(int code)
{
    int class;

    if (code == MPI_SUCCESS)
        return MPI_SUCCESS;
    return MPI_Error_class(code, &class) == MPI_SUCCESS ? class : MPI_ERR_OTHER;
}

const char *tcio_strerror(int error)
{
    for (size_t i = 0; i < LENGTH(words); i++)
        if (words[i].class == error)
            return words[i].words;
    return "other error of the MPI";
}

/* FNV-1a */
uint64_t tcioi_hash_text(const char *s)
{
    uint64_t h = 14695981039346656037u;

    for (; *s != '\0'; s++)
        h = (h ^ (unsigned char)*s) * 1099511628211u;
    return h;
}

int tcioi_because(struct file *f, int class, const char *why, ...)
{
    va_list args;

    va_start(args, why);
    vsnprintf(f->why, sizeof(f->why), why, args);
    va_end(args);
    return class;
}

int tcioi_refuse(const struct file *f, int class, const char *why)
{
    if (f->rank == 0)
        cio_log(CIO_LOG_NOTICE, "file %s: %s", f->name, why);
    return class;
}

/*
 * One reduction for the class, with who says why (the first of those who have the worst), and for
 * what else is to be known.
 */
int tcioi_agree_on(struct file *f, int class, int64_t *word, int n)
{
    int64_t mine[1 + AGREE_WORDS] = {(int64_t) class << 32 | (INT32_MAX - f->rank)},
                     most[1 + AGREE_WORDS];
    int rc;

    memcpy(mine + 1, word, (size_t)n * sizeof(*word));
    rc = tcioi_class_of_mpi(MPI_Allreduce(mine, most, 1 + n, MPI_INT64_T, MPI_MAX, f->comm));
    if (rc != MPI_SUCCESS)
        return rc;
    memcpy(word, most + 1, (size_t)n * sizeof(*word));
    if (most[0] == mine[0] && f->why[0] != '\0')
        cio_log(CIO_LOG_NOTICE, "file %s: %s", f->name, f->why);
    f->why[0] = '\0';
    return (int)(most[0] >> 32);
}

int tcioi_agree(struct file *f, int class)
{
    int64_t none;

    return tcioi_agree_on(f, class, &none, 0);
}
