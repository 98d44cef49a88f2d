/* The files that a node knows, by their paths, and the stores that a process has for them. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "port/log.h"
#include "tcio/state.h"

#define HASH_START 14695981039346656037u /* FNV-1a */
#define HASH_FACTOR 1099511628211u

uint64_t cio_path_hash(const char *path)
{
    uint64_t h = HASH_START;

    for (; *path != '\0'; path++)
        h = (h ^ (unsigned char)*path) * HASH_FACTOR;
    return h;
}

static int search(const struct cio_node *node, const char *path, uint64_t hash, int *unused)
{
    *unused = -ENFILE;
    for (int i = 0; i < CIO_TCIO_FILES; i++) {
        const struct cio_tcio_entry *e = &node->entry[i];

        if (e->taken && e->hash == hash && strcmp(e->path, path) == 0)
            return i;
        if (!e->taken && *unused < 0)
            *unused = i;
    }
    return -ENOENT;
}

static void take(struct cio_tcio_entry *e, const char *path, uint64_t hash)
{
    e->hash = hash;
    e->error = 0;
    e->deposits = 0;
    e->opens = 0;
    e->forgotten = 0;
    strcpy(e->path, path);
    e->generation++;
    e->taken = 1;
}

static int find(struct cio_space *s, const char *path, int make, int opens, int *out)
{
    struct cio_node *node = cio_node_of(s);
    uint64_t hash = cio_path_hash(path);
    int i, unused;

    if (strlen(path) >= CIO_TCIO_PATH)
        return -ENAMETOOLONG;
    pthread_mutex_lock(&node->files);
    i = search(node, path, hash, &unused);
    if (i < 0 && make) {
        i = unused;
        if (i >= 0)
            take(&node->entry[i], path, hash);
    }
    if (i >= 0 && make)
        node->entry[i].forgotten = 0;
    if (i >= 0)
        node->entry[i].opens += opens;
    pthread_mutex_unlock(&node->files);
    if (i < 0)
        return i;
    *out = i;
    return 0;
}

int cio_entry_find(struct cio_space *s, const char *path, int make, int *out)
{
    return find(s, path, make, 0, out);
}

int cio_entry_open(struct cio_space *s, const char *path, int *out)
{
    return find(s, path, 1, 1, out);
}

/* With the lock held. An error that nobody has been told yet keeps it. */
static void let_go(struct cio_space *s, int entry)
{
    struct cio_tcio_entry *e = &cio_node_of(s)->entry[entry];

    if (e->forgotten && e->opens == 0 && e->error == 0 && !cio_slots_have(s, entry))
        e->taken = 0;
}

void cio_entry_close(struct cio_space *s, int entry)
{
    struct cio_node *node = cio_node_of(s);

    pthread_mutex_lock(&node->files);
    node->entry[entry].opens--;
    let_go(s, entry);
    pthread_mutex_unlock(&node->files);
}

void cio_entry_forget(struct cio_space *s, int entry)
{
    struct cio_node *node = cio_node_of(s);

    pthread_mutex_lock(&node->files);
    node->entry[entry].forgotten = 1;
    let_go(s, entry);
    pthread_mutex_unlock(&node->files);
}

void cio_entry_say(struct cio_space *s, int entry, int error, int64_t lo, int64_t hi)
{
    cio_log(CIO_LOG_NOTICE, "TCIO: %s: bytes %lld to %lld cannot be written: %s",
            cio_node_of(s)->entry[entry].path, (long long)lo, (long long)hi - 1, strerror(-error));
}

void cio_entry_fail(struct cio_space *s, int entry, int error, int64_t lo, int64_t hi)
{
    int32_t *kept = &cio_node_of(s)->entry[entry].error, none = 0;

    if (__atomic_compare_exchange_n(kept, &none, error, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST))
        cio_entry_say(s, entry, error, lo, hi);
}

int cio_entry_error(struct cio_space *s, int entry)
{
    return __atomic_exchange_n(&cio_node_of(s)->entry[entry].error, 0, __ATOMIC_SEQ_CST);
}

static void drop_store(struct cio_tcio_store *t)
{
    if (t->owned)
        cio_store_destroy(t->store);
    t->store = NULL;
    t->owned = 0;
}

/* With the lock held. A store of a file that had this entry before is of no use. */
static int open_store(struct cio_space *s, int entry)
{
    const struct cio_tcio_entry *e = &cio_node_of(s)->entry[entry];
    struct cio_tcio_store *t = &s->store[entry];
    int rc;

    if (t->store != NULL && t->generation != e->generation && t->busy == 0)
        drop_store(t);
    if (t->store != NULL)
        return 0;
    if (s->settings.open == NULL)
        return -EBADF;
    rc = s->settings.open(s->settings.self, e->path, &t->store);
    if (rc != 0)
        return rc;
    t->owned = 1;
    t->flags = 0;
    t->generation = e->generation;
    return 0;
}

int cio_entry_store(struct cio_space *s, int entry, struct cio_store **out, unsigned *flags)
{
    int rc;

    pthread_mutex_lock(&s->lock);
    rc = open_store(s, entry);
    if (rc == 0) {
        s->store[entry].busy++;
        *out = s->store[entry].store;
        *flags = s->store[entry].flags;
    }
    pthread_mutex_unlock(&s->lock);
    return rc;
}

void cio_entry_store_put(struct cio_space *s, int entry)
{
    pthread_mutex_lock(&s->lock);
    s->store[entry].busy--;
    pthread_mutex_unlock(&s->lock);
}

/* Waits until nobody uses the store that there is, and takes it away; with the lock held. */
static void wait_and_drop(struct cio_space *s, int entry)
{
    const struct timespec nap = {0, 50000};

    while (s->store[entry].busy > 0) {
        pthread_mutex_unlock(&s->lock);
        nanosleep(&nap, NULL);
        pthread_mutex_lock(&s->lock);
    }
    drop_store(&s->store[entry]);
}

void cio_entry_register(struct cio_space *s, int entry, struct cio_store *store, unsigned flags)
{
    pthread_mutex_lock(&s->lock);
    wait_and_drop(s, entry);
    s->store[entry] = (struct cio_tcio_store){
        .store = store, .generation = cio_node_of(s)->entry[entry].generation, .flags = flags};
    pthread_mutex_unlock(&s->lock);
}

void cio_entry_unregister(struct cio_space *s, int entry)
{
    pthread_mutex_lock(&s->lock);
    wait_and_drop(s, entry);
    pthread_mutex_unlock(&s->lock);
}

void cio_stores_destroy(struct cio_space *s)
{
    for (int i = 0; i < CIO_TCIO_FILES; i++)
        drop_store(&s->store[i]);
}
