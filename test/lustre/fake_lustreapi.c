/*
 * A stand-in for liblustreapi, for tests on any file system: the functions that ad_lustre_pipe
 * uses, with the signatures and the ways of failing of the real ones. It is loaded as the real one
 * is (TAMIO_LUSTREAPI names it, TAMIO_LUSTRE_ASSUME=1 takes any file system for Lustre).
 *
 * The layout of FILE is kept beside it, in FILE.layout, as text that tests may write themselves:
 *
 *     mirrors 1
 *     component START END STRIPE_SIZE STRIPE_COUNT PATTERN FLAGS [OST...]
 *
 * Numbers are as C reads them; -1 is the end of any file; no OSTs: they are not chosen yet. A file
 * without such a file beside it has no layout. As with the real library, a creation whose layout
 * cannot be set leaves an empty file behind.
 *
 *     FAKE_LUSTRE_FAIL   NAME=ERRNO: that function fails (also "set", within
 * llapi_layout_file_create) FAKE_LUSTRE_LOG    a file to which creations and group locks are
 * appended: what, process, group, size of the file FAKE_LUSTRE_OSTS   how many there are (8)
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

#define DEFAULT 0x1000000000000002ULL
#define WIDE 0x1000000000000003ULL
#define IS_WIDE(count) ((count) >= WIDE && (count) < WIDE + 32)
#define OVERSTRIPING 0x4ULL
#define SPECIFIC 0x2000000000000000ULL

enum { COMPONENTS = 64, STRIPES = 2000, LINE_MAX_BYTES = 16384 };

struct component {
    uint64_t start, end, size, count, pattern;
    uint32_t flags;
    int objects; /* whose OSTs are known */
    uint64_t ost[STRIPES];
};

struct llapi_layout {
    uint16_t mirrors;
    int n, current;
    struct component component[COMPONENTS];
};

/* Whether a function is to fail; errno is set then. */
static int fails(const char *name)
{
    const char *wanted = getenv("FAKE_LUSTRE_FAIL");
    size_t n = strlen(name);

    if (wanted == NULL || strncmp(wanted, name, n) != 0 || wanted[n] != '=')
        return 0;
    errno = atoi(wanted + n + 1);
    return 1;
}

static int refuse(int error)
{
    errno = error;
    return -1;
}

static void log_line(const char *what, int fd, int group)
{
    const char *path = getenv("FAKE_LUSTRE_LOG");
    char line[128];
    struct stat st = {0};
    int n, out;

    if (path == NULL)
        return;
    fstat(fd, &st);
    n = snprintf(line, sizeof(line), "%s %d %d %lld\n", what, (int)getpid(), group,
                 (long long)st.st_size);
    out = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
    if (out < 0 || write(out, line, (size_t)n) != n)
        abort();
    close(out);
}

static uint64_t osts(void)
{
    const char *s = getenv("FAKE_LUSTRE_OSTS");

    return s != NULL ? strtoull(s, NULL, 0) : 8;
}

static const struct component *current(const struct llapi_layout *l)
{
    return &l->component[l->current];
}

struct llapi_layout *llapi_layout_alloc(void)
{
    struct llapi_layout *l;

    if (fails("llapi_layout_alloc") || (l = calloc(1, sizeof(*l))) == NULL)
        return NULL;
    l->n = 1;
    l->component[0] = (struct component){
        .end = UINT64_MAX, .size = DEFAULT, .count = DEFAULT, .pattern = DEFAULT};
    return l;
}

void llapi_layout_free(struct llapi_layout *l)
{
    free(l);
}

/* ---- the file beside the file ---- */

static void side_path(const char *path, char *out)
{
    snprintf(out, PATH_MAX, "%.4000s.layout", path);
}

static int parse_component(char *text, struct component *c)
{
    uint64_t *field[] = {&c->start, &c->end, &c->size, &c->count, &c->pattern};
    char *end;

    for (int i = 0; i < 5; i++, text = end) {
        *field[i] = (uint64_t)strtoll(text, &end, 0);
        if (end == text)
            return refuse(EBADSLT);
    }
    c->flags = (uint32_t)strtoul(text, &end, 0);
    for (text = end; c->objects < STRIPES; text = end) {
        c->ost[c->objects] = strtoull(text, &end, 0);
        if (end == text)
            break;
        c->objects++;
    }
    return 0;
}

static int parse(FILE *f, struct llapi_layout *l)
{
    char line[LINE_MAX_BYTES];

    while (fgets(line, sizeof(line), f) != NULL) {
        if (strncmp(line, "mirrors ", 8) == 0)
            l->mirrors = (uint16_t)atoi(line + 8);
        else if (strncmp(line, "component ", 10) != 0 || l->n == COMPONENTS)
            return refuse(EBADSLT);
        else if (parse_component(line + 10, &l->component[l->n++]) != 0)
            return -1;
    }
    return 0;
}

struct llapi_layout *llapi_layout_get_by_fd(int fd, int flags)
{
    char link[64], path[PATH_MAX], side[PATH_MAX];
    struct llapi_layout *l;
    ssize_t n;
    FILE *f;

    (void)flags;
    if (fails("llapi_layout_get_by_fd"))
        return NULL;
    snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
    n = readlink(link, path, sizeof(path) - 1);
    if (n < 0) {
        errno = EBADF;
        return NULL;
    }
    path[n] = '\0';
    side_path(path, side);
    f = fopen(side, "re");
    if (f == NULL)
        return llapi_layout_alloc();
    l = calloc(1, sizeof(*l));
    if (l != NULL && parse(f, l) != 0) {
        free(l);
        l = NULL;
    }
    fclose(f);
    return l;
}

/* Chooses OSTs where nobody did, one after the other, and fills in what was left open. */
static void instantiate(struct component *c)
{
    uint64_t start = c->objects > 0 ? c->ost[0] : 0;

    if (c->size == DEFAULT)
        c->size = 1 << 20;
    if (IS_WIDE(c->count))
        c->count = osts() * (c->count - WIDE + 1);
    if (c->count == DEFAULT)
        c->count = 1;
    if ((c->pattern & ~SPECIFIC) != OVERSTRIPING && c->count > osts())
        c->count = osts();
    for (uint64_t i = c->pattern & SPECIFIC ? (uint64_t)c->objects : 0; i < c->count; i++)
        c->ost[i] = (start + i) % osts();
    c->objects = (int)c->count;
    c->pattern = (c->pattern & ~SPECIFIC) == OVERSTRIPING ? OVERSTRIPING : 0;
}

static int set_layout(const char *path, const struct llapi_layout *l)
{
    struct component c = l->component[0];
    char side[PATH_MAX];
    FILE *f;

    if (fails("set"))
        return -1;
    instantiate(&c);
    for (int i = 0; i < c.objects; i++)
        if (c.ost[i] >= osts())
            return refuse(EINVAL);
    side_path(path, side);
    f = fopen(side, "we");
    if (f == NULL)
        return -1;
    fprintf(f, "mirrors 1\ncomponent 0 -1 %" PRIu64 " %" PRIu64 " %" PRIu64 " 0", c.size, c.count,
            c.pattern);
    for (int i = 0; i < c.objects; i++)
        fprintf(f, " %" PRIu64, c.ost[i]);
    fprintf(f, "\n");
    return fclose(f);
}

int llapi_layout_file_create(const char *path, int flags, int mode, const struct llapi_layout *l)
{
    int fd;

    if (fails("llapi_layout_file_create"))
        return -1;
    fd = open(path, flags | O_CREAT | O_EXCL, (mode_t)mode);
    if (fd < 0)
        return -1;
    if (set_layout(path, l) != 0) {
        int error = errno;

        close(fd);
        return refuse(error);
    }
    log_line("create", fd, 0);
    return fd;
}

/* ---- what a layout says ---- */

int llapi_layout_mirror_count_get(struct llapi_layout *l, uint16_t *count)
{
    if (fails("llapi_layout_mirror_count_get"))
        return -1;
    *count = l->mirrors;
    return 0;
}

int llapi_layout_comp_use(struct llapi_layout *l, int which)
{
    if (fails("llapi_layout_comp_use"))
        return -1;
    if (which != 1 && which != 3)
        return refuse(EINVAL);
    if (which == 1)
        l->current = 0;
    else if (l->current == l->n - 1)
        return 1;
    else
        l->current++;
    return 0;
}

int llapi_layout_comp_extent_get(const struct llapi_layout *l, uint64_t *start, uint64_t *end)
{
    if (fails("llapi_layout_comp_extent_get"))
        return -1;
    *start = current(l)->start;
    *end = current(l)->end;
    return 0;
}

int llapi_layout_comp_flags_get(const struct llapi_layout *l, uint32_t *flags)
{
    if (fails("llapi_layout_comp_flags_get"))
        return -1;
    *flags = current(l)->flags;
    return 0;
}

int llapi_layout_pattern_get(const struct llapi_layout *l, uint64_t *pattern)
{
    if (fails("llapi_layout_pattern_get"))
        return -1;
    *pattern = current(l)->pattern;
    return 0;
}

int llapi_layout_stripe_size_get(const struct llapi_layout *l, uint64_t *size)
{
    if (fails("llapi_layout_stripe_size_get"))
        return -1;
    if (current(l)->flags & 0x40) /* an extension has another size */
        return refuse(EINVAL);
    *size = current(l)->size;
    return 0;
}

int llapi_layout_stripe_count_get(const struct llapi_layout *l, uint64_t *count)
{
    if (fails("llapi_layout_stripe_count_get"))
        return -1;
    *count = current(l)->count;
    return 0;
}

int llapi_layout_ost_index_get(const struct llapi_layout *l, uint64_t stripe, uint64_t *index)
{
    if (fails("llapi_layout_ost_index_get"))
        return -1;
    if (stripe >= (uint64_t)current(l)->objects)
        return refuse(EINVAL);
    *index = current(l)->ost[stripe];
    return 0;
}

/* ---- and what it is to say ---- */

int llapi_layout_pattern_set(struct llapi_layout *l, uint64_t pattern)
{
    if (fails("llapi_layout_pattern_set"))
        return -1;
    if (pattern != 0 && pattern != OVERSTRIPING)
        return refuse(EOPNOTSUPP);
    l->component[0].pattern = pattern;
    return 0;
}

int llapi_layout_stripe_size_set(struct llapi_layout *l, uint64_t size)
{
    if (fails("llapi_layout_stripe_size_set"))
        return -1;
    if (size == 0 || size % 65536 != 0)
        return refuse(EINVAL);
    l->component[0].size = size;
    return 0;
}

int llapi_layout_stripe_count_set(struct llapi_layout *l, uint64_t count)
{
    if (fails("llapi_layout_stripe_count_set"))
        return -1;
    if (count == 0 || (count > STRIPES && !IS_WIDE(count)))
        return refuse(EINVAL);
    l->component[0].count = count;
    return 0;
}

int llapi_layout_ost_index_set(struct llapi_layout *l, int stripe, uint64_t index)
{
    struct component *c = &l->component[0];

    if (fails("llapi_layout_ost_index_set"))
        return -1;
    if (stripe < 0 || stripe >= STRIPES)
        return refuse(EINVAL);
    c->ost[stripe] = index;
    if (c->objects <= stripe)
        c->objects = stripe + 1;
    if (stripe > 0)
        c->pattern |= SPECIFIC;
    return 0;
}

int llapi_group_lock(int fd, int group)
{
    if (fails("llapi_group_lock"))
        return -errno;
    log_line("lock", fd, group);
    return group > 0 ? 0 : -EINVAL;
}

int llapi_group_unlock(int fd, int group)
{
    if (fails("llapi_group_unlock"))
        return -errno;
    log_line("unlock", fd, group);
    return group > 0 ? 0 : -EINVAL;
}
