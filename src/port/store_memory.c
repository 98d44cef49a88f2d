/*
 * A file in memory: pages of 64 KiB in a table, made when first written. One lock for all of it,
 * since the threads of a pool may come at once.
 */
#include "port/store.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "port/map.h"
#include "port/ranges.h"

#define PAGE ((int64_t)64 << 10)

struct page {
    struct cio_map_entry entry;
    char data[PAGE];
};

struct memory_store {
    struct cio_store store;
    pthread_mutex_t mutex; /* of what follows */
    struct cio_map pages;
    int64_t size;
};

/* What of a transfer lies in one page. */
struct span {
    struct cio_map_key page;
    int64_t start, len;
};

static struct memory_store *memory_of(struct cio_store *s)
{
    return (struct memory_store *)s;
}

static int check_range(int64_t len, int64_t off)
{
    int64_t end;

    return off < 0 || len < 0 || __builtin_add_overflow(off, len, &end) ? -EINVAL : 0;
}

static struct span first_span(int64_t len, int64_t off)
{
    int64_t start = off % PAGE, room = PAGE - start;

    return (struct span){{(uint64_t)(off / PAGE), 0}, start, len < room ? len : room};
}

static struct page *page_find(const struct memory_store *m, struct cio_map_key key)
{
    return (struct page *)cio_map_find(&m->pages, key);
}

static struct page *page_make(struct memory_store *m, struct cio_map_key key)
{
    struct page *page = page_find(m, key);

    if (page != NULL)
        return page;
    page = calloc(1, sizeof(*page));
    if (page == NULL)
        return NULL;
    page->entry.key = key;
    cio_map_add(&m->pages, &page->entry);
    return page;
}

static void page_destroy(struct cio_map_entry *entry)
{
    free(entry);
}

static int put(struct memory_store *m, const char *from, int64_t len, int64_t off)
{
    struct span span;

    for (; len > 0; from += span.len, off += span.len, len -= span.len) {
        struct page *page;

        span = first_span(len, off);
        page = page_make(m, span.page);
        if (page == NULL)
            return -ENOMEM;
        memcpy(page->data + span.start, from, (size_t)span.len);
        if (off + span.len > m->size)
            m->size = off + span.len;
    }
    return 0;
}

static void get(struct memory_store *m, char *to, int64_t len, int64_t off)
{
    struct span span;

    for (; len > 0; to += span.len, off += span.len, len -= span.len) {
        const struct page *page;

        span = first_span(len, off);
        page = page_find(m, span.page);
        if (page != NULL)
            memcpy(to, page->data + span.start, (size_t)span.len);
        else
            memset(to, 0, (size_t)span.len);
    }
}

static int memory_write(struct cio_store *s, const void *buf, int64_t len, int64_t off)
{
    struct memory_store *m = memory_of(s);
    int rc = check_range(len, off);

    if (rc < 0)
        return rc;
    pthread_mutex_lock(&m->mutex);
    rc = put(m, buf, len, off);
    pthread_mutex_unlock(&m->mutex);
    return rc;
}

static int memory_read(struct cio_store *s, void *buf, int64_t len, int64_t off)
{
    struct memory_store *m = memory_of(s);
    int rc = check_range(len, off);

    if (rc < 0)
        return rc;
    pthread_mutex_lock(&m->mutex);
    get(m, buf, len, off);
    pthread_mutex_unlock(&m->mutex);
    return 0;
}

static struct cio_file_id identity(const struct cio_store *s)
{
    return (struct cio_file_id){CIO_FILE_NONE, (uintptr_t)s};
}

static int memory_lock(struct cio_store *s, int64_t off, int64_t len)
{
    int rc = check_range(len, off), alone;
    struct cio_range *r;

    if (rc < 0 || len == 0)
        return rc;
    return cio_range_take(identity(s), off, len, &alone, &r);
}

static void memory_unlock(struct cio_store *s, int64_t off, int64_t len)
{
    struct cio_range *r = cio_range_find(identity(s), off, len);

    if (r != NULL)
        cio_range_give(r);
}

static int64_t memory_size(struct cio_store *s)
{
    struct memory_store *m = memory_of(s);
    int64_t size;

    pthread_mutex_lock(&m->mutex);
    size = m->size;
    pthread_mutex_unlock(&m->mutex);
    return size;
}

static void memory_destroy(struct cio_store *s)
{
    struct memory_store *m = memory_of(s);

    cio_map_fini(&m->pages, page_destroy);
    pthread_mutex_destroy(&m->mutex);
    free(m);
}

static const struct cio_store_ops memory_ops = {
    .write = memory_write,
    .read = memory_read,
    .lock = memory_lock,
    .unlock = memory_unlock,
    .size = memory_size,
    .destroy = memory_destroy,
};

int cio_store_memory_create(struct cio_store **out)
{
    struct memory_store *m = calloc(1, sizeof(*m));

    if (m == NULL)
        return -ENOMEM;
    m->store.ops = &memory_ops;
    if (cio_map_init(&m->pages) < 0) {
        free(m);
        return -ENOMEM;
    }
    pthread_mutex_init(&m->mutex, NULL);
    *out = &m->store;
    return 0;
}

int64_t cio_store_memory_size(struct cio_store *s)
{
    return memory_size(s);
}
