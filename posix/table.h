/*
 * The descriptors of the program that are taken.
 *
 *   descriptor ──▶ handle: position, access   (one for each open; copies by dup share it)
 *                    └──▶ file (file.h)       (one for each file that this process has open)
 *
 * That a descriptor is in no table, and so the system's, is found out without a lock. Everything
 * else is under one lock, since a space belongs to one thread at a time. While a thread holds it,
 * whatever it calls (the engine, the MPI) finds nothing of the program's here.
 *
 * Errors are 0 or a negative errno.
 */
#ifndef TAMIO_POSIX_TABLE_H
#define TAMIO_POSIX_TABLE_H

#include "file.h"

#define TABLE_DESCRIPTORS 65536 /* those beyond are never taken */

struct handle {
    struct file *file;
    int64_t position;
    int readable, writable;
    int descriptors; /* that share it */
};

/* Takes the lock if the descriptor is taken; else NULL, and no lock. */
struct handle *table_enter(int fd);

/* Takes the lock; 0 if no files are taken now, or this thread has it already. */
int table_enter_any(void);

/* Under the lock: a descriptor's handle, or NULL. */
struct handle *table_find(int fd);

/* Gives the lock back. Returns `result`, or if that is negative, sets errno and returns -1. */
int64_t table_leave(int64_t result);

/*
 * Without the lock: openat(2), and the descriptor is taken if it should be. `from` is the code that
 * called open.
 */
int table_open(int dir, const char *name, int flags, mode_t mode, const void *from);

/* Without the lock: whether a file of that name may be taken at all. */
int table_may_take(const char *name);

/* Without the lock: a descriptor that is not taken, whatever its name. Keeps errno. */
void table_not_taken(int fd, const char *name, const char *why);

/* Under the lock: the second is a copy of the first, made by the system. */
int table_share(int fd, int copy);

/* Under the lock, before a descriptor is closed: what went wrong with the file until now. */
int table_release(int fd);

/* Under the lock: the file, and all descriptors of it, are the system's from here on. */
int table_pass(struct file *f, const char *why);

/* Under the lock: so are all files. For MPI_Finalize. */
int table_pass_all(void);

#endif
