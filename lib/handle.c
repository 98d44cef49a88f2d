/*
 * Handles are addresses in one table, which is never freed: so whether one is open can be told
 * without touching memory that is gone. Slots are used in turn, so that the handle of a file that
 * was closed is not soon that of another. The table is of the process: a handle names no
 * communicator that could have it.
 */
#include "internal.h"

#include <pthread.h>

#define HANDLES 1024 /* MPIs have no more communicators than twice that */

struct tcio_file {
    struct file *file; /* NULL: closed */
};

static struct tcio_file table[HANDLES];
static int next;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static struct tcio_file *take_slot(struct file *f)
{
    for (int i = 0; i < HANDLES; i++) {
        struct tcio_file *fh = &table[next];

        next = (next + 1) % HANDLES;
        if (fh->file == NULL) {
            __atomic_store_n(&fh->file, f, __ATOMIC_RELEASE);
            return fh;
        }
    }
    return NULL;
}

int tcioi_handle_create(struct file *f, tcio_file **out)
{
    struct tcio_file *fh;

    pthread_mutex_lock(&lock);
    fh = take_slot(f);
    pthread_mutex_unlock(&lock);
    if (fh == NULL)
        return MPI_ERR_NO_MEM;
    *out = fh;
    return MPI_SUCCESS;
}

void tcioi_handle_destroy(tcio_file *fh)
{
    pthread_mutex_lock(&lock);
    __atomic_store_n(&fh->file, NULL, __ATOMIC_RELEASE);
    pthread_mutex_unlock(&lock);
}

struct file *tcioi_handle_file(const tcio_file *fh)
{
    uintptr_t at = (uintptr_t)fh, first = (uintptr_t)table;

    if (at < first || at >= first + sizeof(table) || (at - first) % sizeof(*table) != 0)
        return NULL;
    return __atomic_load_n(&fh->file, __ATOMIC_ACQUIRE);
}
