/* Node memory for ranks of one process: segments are plain memory, found by name or by address. */
#include "port/nodemem.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct segment {
    struct segment *next;
    char name[CIO_NODEMEM_NAME_MAX];
    void *base;
    int64_t size;
    int linked, maps;
};

struct cio_nodemem_loop {
    struct segment *segments;
    unsigned long made;
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

static void succeed(struct cio_nodemem_loop *loop, const struct segment *s, struct cio_nodemem *m)
{
    if (loop->fail_error != 0)
        loop->fail_after--;
    m->base = s->base;
    m->size = s->size;
}

static struct segment *find_name(const struct cio_nodemem_loop *loop, const char *name)
{
    struct segment *s = loop->segments;

    while (s != NULL && (!s->linked || strcmp(s->name, name) != 0))
        s = s->next;
    return s;
}

static struct segment *find_base(const struct cio_nodemem_loop *loop, const void *base)
{
    struct segment *s = loop->segments;

    while (s != NULL && s->base != base)
        s = s->next;
    return s;
}

static void segment_free(struct segment *s)
{
    free(s->base);
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

static int loop_create(void *self, int64_t size, struct cio_nodemem *m)
{
    struct cio_nodemem_loop *loop = self;
    struct segment *s;
    int rc = size <= 0 ? -EINVAL : ordered_error(loop);

    if (rc < 0)
        return rc;
    s = calloc(1, sizeof(*s));
    if (s == NULL)
        return -ENOMEM;
    s->base = calloc(1, (size_t)size);
    if (s->base == NULL) {
        free(s);
        return -ENOMEM;
    }
    s->size = size;
    s->linked = s->maps = 1;
    snprintf(s->name, sizeof(s->name), "/loop-%lu", loop->made++);
    s->next = loop->segments;
    loop->segments = s;
    succeed(loop, s, m);
    memcpy(m->name, s->name, sizeof(m->name));
    return 0;
}

static int loop_attach(void *self, const char *name, int64_t size, struct cio_nodemem *m)
{
    struct cio_nodemem_loop *loop = self;
    struct segment *s;
    int rc = ordered_error(loop);

    if (rc < 0)
        return rc;
    s = find_name(loop, name);
    if (s == NULL)
        return -ENOENT;
    if (size <= 0 || size > s->size)
        return -EINVAL;
    s->maps++;
    succeed(loop, s, m);
    m->size = size;
    m->name[0] = '\0';
    return 0;
}

static void loop_unlink(void *self, struct cio_nodemem *m)
{
    struct cio_nodemem_loop *loop = self;
    struct segment *s = find_name(loop, m->name);

    m->name[0] = '\0';
    if (s == NULL)
        return;
    s->linked = 0;
    remove_unused(loop, s);
}

static void loop_detach(void *self, struct cio_nodemem *m)
{
    struct cio_nodemem_loop *loop = self;
    struct segment *s;

    loop_unlink(loop, m);
    s = find_base(loop, m->base);
    m->base = NULL;
    m->size = 0;
    if (s == NULL)
        return;
    s->maps--;
    remove_unused(loop, s);
}

static const struct cio_nodemem_ops loop_ops = {
    .create = loop_create,
    .attach = loop_attach,
    .unlink = loop_unlink,
    .detach = loop_detach,
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
