/*
 * Node memory for ranks of one process: segments are plain memory, reserved only, as they are large
 * and little of them is touched. A rank finds its segment again by a number that no other segment
 * ever has; addresses come back once they are unmapped.
 */
#include "port/nodemem.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

struct segment {
    struct segment *next;
    char name[CIO_NODEMEM_NAME_MAX];
    void *base;
    int64_t size;
    int number; /* in the place of a file descriptor */
    int linked, maps;
};

struct cio_nodemem_loop {
    struct segment *segments;
    int made;
    int fail_after, fail_error; /* no failure is ordered while the error is 0 */
};

/* Whether the call that asks is the one to fail. */
static int ordered_error(struct cio_nodemem_loop *loop)
{
    int error = loop->fail_error;

    if (error == 0 || loop->fail_after > 0)
        return 0;
    loop->fail_error = 0;
    return error;
}

static void count_success(struct cio_nodemem_loop *loop)
{
    if (loop->fail_error != 0)
        loop->fail_after--;
}

static struct segment *find_name(const struct cio_nodemem_loop *loop, const char *name)
{
    struct segment *s = loop->segments;

    while (s != NULL && (!s->linked || strcmp(s->name, name) != 0))
        s = s->next;
    return s;
}

static struct segment *find_number(const struct cio_nodemem_loop *loop, int number)
{
    struct segment *s = loop->segments;

    while (s != NULL && s->number != number)
        s = s->next;
    return s;
}

static void segment_free(struct segment *s)
{
    munmap(s->base, (size_t)s->size);
    free(s);
}

static void remove_unused(struct cio_nodemem_loop *loop, struct segment *s)
{
    struct segment **at = &loop->segments;

    if (s->linked || s->maps > 0)
        return;
    while (*at != s)
        at = &(*at)->next;
    *at = s->next;
    segment_free(s);
}

static int make_segment(struct cio_nodemem_loop *loop, const char *name, int64_t size,
                        struct segment **out)
{
    struct segment *s = calloc(1, sizeof(*s));

    if (s == NULL)
        return -ENOMEM;
    s->base = mmap(NULL, (size_t)size, PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (s->base == MAP_FAILED) {
        free(s);
        return -ENOMEM;
    }
    strcpy(s->name, name);
    s->size = size;
    s->number = loop->made++;
    s->linked = 1;
    s->next = loop->segments;
    loop->segments = s;
    *out = s;
    return 0;
}

static int find_or_make(struct cio_nodemem_loop *loop, const char *name, int64_t size,
                        struct segment **out)
{
    struct segment *s = find_name(loop, name);

    if (s == NULL)
        return make_segment(loop, name, size, out);
    if (size != s->size)
        return -EINVAL;
    *out = s;
    return 0;
}

static int check_request(const char *name, int64_t size)
{
    if (size <= 0 || name[0] == '\0')
        return -EINVAL;
    return strlen(name) < CIO_NODEMEM_NAME_MAX ? 0 : -ENAMETOOLONG;
}

static int loop_join(void *self, const char *name, int64_t size, struct cio_nodemem *m)
{
    struct cio_nodemem_loop *loop = self;
    struct segment *s = NULL;
    int rc = check_request(name, size);

    if (rc == 0)
        rc = ordered_error(loop);
    if (rc == 0)
        rc = find_or_make(loop, name, size, &s);
    if (rc < 0)
        return rc;
    s->maps++;
    m->base = s->base;
    m->size = s->size;
    m->fd = s->number;
    memcpy(m->name, s->name, sizeof(m->name));
    count_success(loop);
    return 0;
}

static int loop_back(void *self, struct cio_nodemem *m, int64_t from, int64_t to)
{
    struct cio_nodemem_loop *loop = self;
    int rc = ordered_error(loop);

    (void)m, (void)from, (void)to;
    if (rc == 0)
        count_success(loop);
    return rc;
}

static void loop_forget(void *self, struct cio_nodemem *m)
{
    struct cio_nodemem_loop *loop = self;
    struct segment *s = find_name(loop, m->name);

    m->name[0] = '\0';
    if (s == NULL)
        return;
    s->linked = 0;
    remove_unused(loop, s);
}

static void loop_leave(void *self, struct cio_nodemem *m)
{
    struct cio_nodemem_loop *loop = self;
    struct segment *s = m->base != NULL ? find_number(loop, m->fd) : NULL;

    m->base = NULL;
    m->size = 0;
    m->fd = -1;
    if (s == NULL)
        return;
    s->maps--;
    remove_unused(loop, s);
}

static void loop_wait(void *self, const uint32_t *word, uint32_t seen, int usec)
{
    (void)self, (void)word, (void)seen, (void)usec;
}

static void loop_wake(void *self, uint32_t *word)
{
    (void)self, (void)word;
}

static const struct cio_nodemem_ops loop_ops = {
    .join = loop_join,
    .back = loop_back,
    .forget = loop_forget,
    .leave = loop_leave,
    .wait = loop_wait,
    .wake = loop_wake,
};

int cio_nodemem_loop_create(struct cio_nodemem_loop **out)
{
    struct cio_nodemem_loop *loop = calloc(1, sizeof(*loop));

    if (loop == NULL)
        return -ENOMEM;
    *out = loop;
    return 0;
}

void cio_nodemem_loop_destroy(struct cio_nodemem_loop *loop)
{
    if (loop == NULL)
        return;
    for (struct segment *s = loop->segments, *next; s != NULL; s = next) {
        next = s->next;
        segment_free(s);
    }
    free(loop);
}

struct cio_node_memory cio_nodemem_loop_port(struct cio_nodemem_loop *loop)
{
    return (struct cio_node_memory){&loop_ops, loop};
}

void cio_nodemem_loop_fail(struct cio_nodemem_loop *loop, int after, int error)
{
    loop->fail_after = after;
    loop->fail_error = error;
}

int cio_nodemem_loop_mapped(const struct cio_nodemem_loop *loop)
{
    int n = 0;

    for (const struct segment *s = loop->segments; s != NULL; s = s->next)
        n += s->maps > 0;
    return n;
}

int cio_nodemem_loop_linked(const struct cio_nodemem_loop *loop)
{
    int n = 0;

    for (const struct segment *s = loop->segments; s != NULL; s = s->next)
        n += s->linked;
    return n;
}
