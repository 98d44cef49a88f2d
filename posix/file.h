/*
 * Files that this process has open and takes. Everything is under the lock of table.h. Errors are 0
 * or a negative errno.
 *
 * All processes of the job count who has a file open, in a word of the space: whoever closes it
 * last drains it, so that it is complete on disk.
 */
#ifndef TAMIO_POSIX_FILE_H
#define TAMIO_POSIX_FILE_H

#include <sys/stat.h>

#include "tcio/space.h"

struct file {
    struct file *next;
    dev_t device;
    ino_t inode;
    char *key; /* path and inode (store.h) */
    struct cio_store *store;
    struct cio_tcio *tcio;
    int handles; /* opens by this process; 0: borrowed, and not counted */
    int error;   /* of the engine, that no call has returned yet */
};

struct file *file_find(const struct stat *st);

/*
 * One more open. The path is the real one. NULL, and a line that says why, if the file is passed
 * through.
 */
struct file *file_open(const char *path, const struct stat *st, int truncates);

/* One open less: what was written is in level 2, or in the file if nobody has it open any more. */
int file_close(struct file *f);

/*
 * A file by its name, for a moment: open here, or opened now if others in the job have it open.
 * NULL: nobody has, or it is not taken.
 */
struct file *file_borrow(int dir, const char *name, int follow);
void file_return(struct file *f);

/* What was written is in the file. An error is also kept, for file_sync(). */
int file_settle(struct file *f);

/* The same; tells what was kept. Reads see what others have closed before. */
int file_sync(struct file *f);

/* If the file becomes shorter by it, settled before, and what level 2 has is dropped. */
int file_truncate(struct file *f, int (*truncate)(void *self), void *self, int64_t length);

/*
 * From here on the file is the system's in this process, with all that was written before; also if
 * it is opened again. One line says so, and why.
 */
int file_pass(struct file *f, const char *why);

/*
 * The same for a file that is opened as one of the system's: what others of the job have pushed is
 * in it, or dropped if this open `truncates`.
 */
void file_refuse(const char *path, const struct stat *st, int truncates, const char *why);

/* For the end: everything open. */
struct file *file_first(void);

/* All files are closed, and no more will be opened. */
void file_forget_all(void);

#endif
