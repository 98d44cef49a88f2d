/*
 * The calls of tcio.h as the paper has them (program 1): tcio_open(name, mode) opens for all ranks,
 * without hints, and gives the handle, or NULL. The other calls take the same arguments, with any
 * count. The mode is that of MPI_File_open.
 */
#ifndef TCIO_PAPER_H
#define TCIO_PAPER_H

#include <tcio.h>

static inline tcio_file *tcio_paper_open(const char *name, int mode)
{
    tcio_file *handle = NULL;

    return tcio_open(MPI_COMM_WORLD, name, mode, MPI_INFO_NULL, &handle) == MPI_SUCCESS ? handle
                                                                                        : NULL;
}

#define tcio_open(name, mode) tcio_paper_open(name, mode)

#endif
