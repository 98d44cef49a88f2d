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
 * Numbers are as C reads them; -1 is the end of any file; no OSTs: they are not chosen yet, which
 * they are once the file is longer than START. A file without such a file beside it has no layout.
 * As with the real library, a creation whose layout cannot be set leaves an empty file behind, and
 * what fails is also said on standard error, unless a callback takes it.
 *
 *     FAKE_LUSTRE_FAIL      NAME=ERRNO: that function fails ("set": within
 *                           llapi_layout_file_create, with the file there already)
 *     FAKE_LUSTRE_LOG       a file to which looks at layouts, creations and group locks are
 *                           appended: what, process, group, size of the file
 *     FAKE_LUSTRE_OSTS      how many there are (8), or their numbers: 0,2,5
 *     FAKE_LUSTRE_FULL      the number of one that is not chosen for what is written later
 *     FAKE_LUSTRE_VERSION   of the library (2.17): overstriping from 2.13 on, on all OSTs from 2.16
 * on, where names of OSTs come without gaps, too
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdarg.h>
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
#define INIT 0x10u
#define EXTENSION 0x40u

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

/* ---- messages ---- */

typedef void (*callback)(unsigned level, int error, const char *format, va_list args);

static void print_message(unsigned level, int error, const char *format, va_list args)
{
    (void)level;
    fprintf(stderr, "%s: ", program_invocation_short_name);
    vfprintf(stderr, format, args);
    fprintf(stderr, ": %s (%d)\n", strerror(error), error);
}

static callback message = print_message;

callback llapi_error_callback_set(callback wanted)
{
    callback before = message;

    message = wanted != NULL ? wanted : print_message;
    return before;
}

__attribute__((format(printf, 2, 3))) static int complain(int error, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    message(2, error, format, args);
    va_end(args);
    return -error;
}

/* ---- the file system ---- */

/* 216 for 2.16. */
static int version(void)
{
    const char *s = getenv("FAKE_LUSTRE_VERSION"), *dot = s != NULL ? strchr(s, '.') : NULL;

    return dot == NULL ? 217 : atoi(s) * 100 + atoi(dot + 1);
}

/* How many OSTs there are, and their numbers. */
static int osts(uint64_t *number)
{
    const char *s = getenv("FAKE_LUSTRE_OSTS");
    int n = 0;

    if (s != NULL && strchr(s, ',') != NULL) {
        for (char *end; n < STRIPES; s = end + 1) {
            number[n++] = strtoull(s, &end, 10);
            if (*end != ',')
                return n;
        }
    }
    for (int most = s != NULL ? atoi(s) : 8; n < most; n++)
        number[n] = (uint64_t)n;
    return n;
}

static int find_ost(const uint64_t *number, int n, uint64_t wanted)
{
    int i = 0;

    while (i < n && number[i] != wanted)
        i++;
    return i;
}

/* Room for a name, as in the real one: struct obd_uuid. */
typedef struct {
    char text[40];
} name;

/* Older ones leave room in front of a gap's end, and count as if there were none. */
int llapi_lov_get_uuids(int fd, name *names, int *count)
{
    uint64_t number[STRIPES];
    int n = osts(number), at = 0;

    (void)fd;
    if (fails("llapi_lov_get_uuids"))
        return complain(errno, "error: opening 'target_obd'");
    for (int i = 0; i < n; i++) {
        if (names != NULL && at < *count)
            snprintf(names[at].text, sizeof(names[at].text), "fake-OST%04x_UUID", (int)number[i]);
        at = version() < 216 ? (int)number[i] + 1 : at + 1;
    }
    if (names != NULL && at > *count)
        return -EOVERFLOW;
    *count = at;
    return 0;
}

/* One more than the last number. */
int llapi_get_obd_count(char *folder, int *count, int is_mdt)
{
    uint64_t number[STRIPES];
    struct stat st;

    if (fails("llapi_get_obd_count") || is_mdt || stat(folder, &st) != 0 || !S_ISDIR(st.st_mode))
        return complain(errno, "open %s failed", folder);
    *count = (int)number[osts(number) - 1] + 1;
    return 0;
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

/* Chooses OSTs where nobody did, one after the other, and fills in what was left open. */
static void instantiate(struct component *c, const uint64_t *number, int n)
{
    int first = c->objects > 0 ? find_ost(number, n, c->ost[0]) : 0;

    if (c->size == DEFAULT)
        c->size = 1 << 20;
    if (IS_WIDE(c->count))
        c->count = (uint64_t)n * (c->count - WIDE + 1);
    if (c->count == DEFAULT)
        c->count = 1;
    if ((c->pattern & ~SPECIFIC) != OVERSTRIPING && c->count > (uint64_t)n)
        c->count = (uint64_t)n;
    for (uint64_t i = c->pattern & SPECIFIC ? (uint64_t)c->objects : 0; first < n && i < c->count;
         i++)
        c->ost[i] = number[((uint64_t)first + i) % (uint64_t)n];
    c->objects = (int)c->count;
    c->pattern = (c->pattern & ~SPECIFIC) == OVERSTRIPING ? OVERSTRIPING : 0;
}

/* Components of which something has been written. */
static void instantiate_written(struct llapi_layout *l, int fd)
{
    const char *full = getenv("FAKE_LUSTRE_FULL");
    uint64_t number[STRIPES];
    int n = osts(number), out = full != NULL ? find_ost(number, n, strtoull(full, NULL, 10)) : n;
    struct stat st;

    if (fstat(fd, &st) != 0)
        return;
    for (n -= out < n; out < n; out++)
        number[out] = number[out + 1];
    for (int i = 0; i < l->n; i++) {
        struct component *c = &l->component[i];

        if (c->objects > 0 || (c->flags & (INIT | EXTENSION)) || (uint64_t)st.st_size <= c->start ||
            (c->pattern != 0 && c->pattern != OVERSTRIPING))
            continue;
        instantiate(c, number, n);
        c->flags |= INIT;
    }
}

static struct llapi_layout *read_layout(int fd, const char *side)
{
    FILE *f = fopen(side, "re");
    struct llapi_layout *l;

    if (f == NULL)
        return llapi_layout_alloc();
    l = calloc(1, sizeof(*l));
    if (l != NULL && parse(f, l) != 0) {
        free(l);
        l = NULL;
    }
    fclose(f);
    if (l != NULL)
        instantiate_written(l, fd);
    return l;
}

struct llapi_layout *llapi_layout_get_by_fd(int fd, int flags)
{
    char link[64], path[PATH_MAX], side[PATH_MAX];
    ssize_t n;

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
    log_line("look", fd, 0);
    return read_layout(fd, side);
}

static int set_layout(const char *path, const struct llapi_layout *l)
{
    struct component c = l->component[0];
    uint64_t number[STRIPES];
    int n = osts(number);
    char side[PATH_MAX];
    FILE *f;

    if (fails("set"))
        return -1;
    instantiate(&c, number, n);
    for (int i = 0; i < c.objects; i++)
        if (find_ost(number, n, c.ost[i]) == n)
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
    if (current(l)->flags & EXTENSION) /* an extension has another size */
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
    if (pattern != 0 && (pattern != OVERSTRIPING || version() < 213))
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
    if (count == 0 || (count > STRIPES && !IS_WIDE(count)) || (count > WIDE && version() < 216))
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
        return complain(errno, "cannot get group lock");
    log_line("lock", fd, group);
    return group > 0 ? 0 : -EINVAL;
}

int llapi_group_unlock(int fd, int group)
{
    if (fails("llapi_group_unlock"))
        return complain(errno, "cannot put group lock");
    log_line("unlock", fd, group);
    return group > 0 ? 0 : -EINVAL;
}
