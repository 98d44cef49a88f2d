/*
 * tcio: collective I/O for programs that only make independent calls.
 *
 * Each piece is written or read where it belongs, one call a piece; the pieces of all processes
 * are put together in buffers, and reach the file in few large accesses. doc/tcio.md says how.
 *
 * Every call returns an MPI error class (MPI_SUCCESS, MPI_ERR_NO_SPACE, ...), and never calls an
 * error handler. Collective calls return the same on all ranks. A call that fails has changed
 * nothing, unless it says so. An error of a write that was accepted comes with the next
 * tcio_flush() or tcio_close().
 *
 * What was written is in the file, and seen by all, after tcio_flush() or tcio_close(). A process
 * always reads what it has written itself, and where others write the same bytes between two
 * flushes, it is not said whose remain. With the hint tcio_visibility=immediate, others also see
 * every write as soon as it has returned.
 *
 * A file is used by one thread at a time; several files by several threads, if the MPI was started
 * with MPI_THREAD_MULTIPLE. But one thread opens and closes at a time, in the same order on all
 * ranks, as MPI_File_open wants it with ROMIO.
 */
#ifndef TCIO_H
#define TCIO_H

#include <mpi.h>
#include <stdio.h> /* SEEK_SET, SEEK_CUR, SEEK_END */

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tcio_file tcio_file;

/*
 * Collective. `amode` is that of MPI_File_open; `name`, too, with or without ROMIO's prefix. The
 * file is made, cut into stripes and checked by MPI_File_open. Hints (doc/tcio.md) come from
 * `info`, or the file that the environment variable ROMIO_HINTS names, and are the same on all
 * ranks. MPI_ERR_NOT_SAME: ranks gave different names, modes or hints. MPI_ERR_INFO_VALUE: the
 * segment size is no power of two, or no multiple of the file system's block.
 */
int tcio_open(MPI_Comm comm, const char *name, int amode, MPI_Info info, tcio_file **fh);

/*
 * At the file's own position of this process, which moves on; and at an offset in bytes. `data` may
 * be used again at once. MPI_ERR_READ_ONLY: the file was opened for reading.
 */
int tcio_write(tcio_file *fh, const void *data, MPI_Count count, MPI_Datatype type);
int tcio_write_at(tcio_file *fh, MPI_Offset offset, const void *data, MPI_Count count,
                  MPI_Datatype type);

/*
 * Lazy: `data` is not touched by the program, and what it will be is not known, until tcio_fetch(),
 * tcio_flush() or tcio_close() has returned. Bytes that nobody has written, or that lie beyond the
 * end of the file, are zero. MPI_ERR_ACCESS: the file was opened for writing only.
 */
int tcio_read(tcio_file *fh, void *data, MPI_Count count, MPI_Datatype type);
int tcio_read_at(tcio_file *fh, MPI_Offset offset, void *data, MPI_Count count, MPI_Datatype type);

/*
 * Local, like tell. Of SEEK_SET, SEEK_CUR and SEEK_END, the last counts from where the file ends
 * now, with what this process has written; what others have written counts once they have flushed.
 * MPI_ERR_ARG: before zero.
 */
int tcio_seek(tcio_file *fh, MPI_Offset offset, int whence);
int tcio_tell(tcio_file *fh, MPI_Offset *offset);

/* Local. What was read so far is in its place. After an error, what was read is undefined. */
int tcio_fetch(tcio_file *fh);

/*
 * Collective. Everything that any process wrote is in the file; fetches, too. After an error
 * (MPI_ERR_NO_SPACE, ...) a line on standard error says which bytes could not be written. They are
 * kept, and tried again by the next flush or close.
 */
int tcio_flush(tcio_file *fh);

/*
 * Collective. Flushes, and closes also after an error. The handle is not to be used any more; what
 * could not be written is lost.
 */
int tcio_close(tcio_file *fh);

/* Hints and their effective values, and counts of this process (doc/tcio.md). To be freed. */
int tcio_get_info(tcio_file *fh, MPI_Info *info);

/* An error class in plain words. */
const char *tcio_strerror(int error);

#ifdef __cplusplus
}
#endif

#endif
