/*
 * The state, as it lies in the file:
 *
 *   struct state | when each OST becomes free, ns | the last writer of each stripe, 1 + its number
 *
 * All of it changes by single atomic operations, and nobody holds anything while sleeping. Times
 * are those of CLOCK_MONOTONIC, which is one for all processes of a machine.
 */
#include "port/throttle.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define MAGIC 0x7468726f74746c31 /* "throttl1" */
#define OSTS_MAX 65536
#define SECOND 1000000000

struct state {
    int64_t magic;
    struct cio_throttle_spec spec;
    struct cio_throttle_counters counters;
};

struct cio_throttle {
    struct state *state;
    int64_t *free_at;
    int32_t *last_writer;
    size_t size;
};

/* The text. */

struct unit {
    const char *name;
    int64_t factor;
};

static const struct unit no_units[] = {{"", 1}, {NULL, 0}};
static const struct unit byte_units[] = {
    {"", 1}, {"K", 1 << 10}, {"M", 1 << 20}, {"G", 1 << 30}, {NULL, 0}};
static const struct unit time_units[] = {
    {"ns", 1}, {"us", 1000}, {"ms", 1000000}, {"s", SECOND}, {NULL, 0}};

static const struct key {
    const char *name;
    size_t field;
    const struct unit *units;
    int64_t least, most;
} keys[] = {
    {"osts", offsetof(struct cio_throttle_spec, osts), no_units, 1, OSTS_MAX},
    {"stripe", offsetof(struct cio_throttle_spec, stripe), byte_units, 1, INT64_MAX},
    {"bandwidth", offsetof(struct cio_throttle_spec, bandwidth), byte_units, 0, INT64_MAX},
    {"latency", offsetof(struct cio_throttle_spec, latency), time_units, 0, INT64_MAX},
    {"switch", offsetof(struct cio_throttle_spec, switching), time_units, 0, INT64_MAX},
};

static int parse_number(const char *text, const struct key *key, int64_t *out)
{
    const struct unit *u = key->units;
    int64_t value;
    char *end;

    errno = 0;
    value = strtoll(text, &end, 10);
    if (errno != 0 || end == text)
        return -EINVAL;
    while (u->name != NULL && strcmp(u->name, end) != 0)
        u++;
    if (u->name == NULL || __builtin_mul_overflow(value, u->factor, &value))
        return -EINVAL;
    if (value < key->least || value > key->most)
        return -EINVAL;
    *out = value;
    return 0;
}

static int parse_item(const char *name, const char *value, struct cio_throttle_spec *spec)
{
    if (value != NULL && strcmp(name, "state") == 0) {
        size_t len = strlen(value);

        if (len >= sizeof(spec->state))
            return -EINVAL;
        memcpy(spec->state, value, len + 1);
        return 0;
    }
    for (size_t i = 0; value != NULL && i < sizeof(keys) / sizeof(keys[0]); i++)
        if (strcmp(name, keys[i].name) == 0)
            return parse_number(value, &keys[i], (int64_t *)((char *)spec + keys[i].field));
    return -EINVAL;
}

int cio_throttle_parse(const char *text, struct cio_throttle_spec *spec, char *error, size_t size)
{
    struct cio_throttle_spec read = {.osts = 1, .stripe = 1 << 20};
    char *copy = strdup(text), *rest = copy, *name;

    if (copy == NULL)
        return -ENOMEM;
    while ((name = strsep(&rest, ",")) != NULL) {
        char *value = name;

        strsep(&value, "=");
        if (parse_item(name, value, &read) < 0) {
            snprintf(error, size, "%s%s%s: not understood", name, value ? "=" : "",
                     value ? value : "");
            free(copy);
            return -EINVAL;
        }
    }
    free(copy);
    *spec = read;
    return 0;
}

/* The file. */

static int valid(const struct cio_throttle_spec *spec)
{
    return spec->osts >= 1 && spec->osts <= OSTS_MAX && spec->stripe >= 1 && spec->bandwidth >= 0 &&
           spec->latency >= 0 && spec->switching >= 0;
}

static int same(const struct cio_throttle_spec *a, const struct cio_throttle_spec *b)
{
    return a->osts == b->osts && a->stripe == b->stripe && a->bandwidth == b->bandwidth &&
           a->latency == b->latency && a->switching == b->switching;
}

static size_t state_size(int64_t osts)
{
    return sizeof(struct state) + (size_t)osts * sizeof(int64_t) +
           CIO_THROTTLE_STRIPES * sizeof(int32_t);
}

static int map_file(int fd, size_t size, struct cio_throttle *t)
{
    t->state = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (t->state == MAP_FAILED)
        return -errno;
    t->size = size;
    return 0;
}

/* Of a file that somebody has made, the size tells the number of OSTs. */
static int join(int fd, size_t size, const struct cio_throttle_spec *spec, struct cio_throttle *t)
{
    int rc = size > state_size(0) ? map_file(fd, size, t) : -EINVAL;

    if (rc < 0)
        return rc;
    if (t->state->magic == MAGIC && valid(&t->state->spec) &&
        size == state_size(t->state->spec.osts) && (spec == NULL || same(spec, &t->state->spec)))
        return 0;
    munmap(t->state, size);
    return -EINVAL;
}

static int make(int fd, const struct cio_throttle_spec *spec, struct cio_throttle *t)
{
    int rc;

    if (spec == NULL || !valid(spec))
        return -EINVAL;
    if (ftruncate(fd, (off_t)state_size(spec->osts)) < 0)
        return -errno;
    rc = map_file(fd, state_size(spec->osts), t);
    if (rc < 0)
        return rc;
    t->state->spec = *spec;
    t->state->magic = MAGIC;
    return 0;
}

/* One at a time: who finds the file empty makes it. */
static int make_or_join(int fd, const struct cio_throttle_spec *spec, struct cio_throttle *t)
{
    struct stat st;
    int rc;

    if (flock(fd, LOCK_EX) < 0 || fstat(fd, &st) < 0)
        return -errno;
    rc = st.st_size == 0 ? make(fd, spec, t) : join(fd, (size_t)st.st_size, spec, t);
    flock(fd, LOCK_UN);
    return rc;
}

int cio_throttle_attach(const char *path, const struct cio_throttle_spec *spec,
                        struct cio_throttle **out)
{
    int fd = open(path, O_RDWR | O_CLOEXEC | (spec != NULL ? O_CREAT : 0), 0600);
    struct cio_throttle *t;
    int rc = -ENOMEM;

    if (fd < 0)
        return -errno;
    t = malloc(sizeof(*t));
    if (t != NULL)
        rc = make_or_join(fd, spec, t);
    close(fd);
    if (rc < 0) {
        free(t);
        return rc;
    }
    t->free_at = (int64_t *)(t->state + 1);
    t->last_writer = (int32_t *)(t->free_at + t->state->spec.osts);
    *out = t;
    return 0;
}

void cio_throttle_detach(struct cio_throttle *t)
{
    if (t == NULL)
        return;
    munmap(t->state, t->size);
    free(t);
}

/* The model. */

static int64_t now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * SECOND + t.tv_nsec;
}

static void add(int64_t *counter, int64_t n)
{
    __atomic_fetch_add(counter, n, __ATOMIC_RELAXED);
}

static int64_t transfer_time(const struct cio_throttle_spec *spec, int64_t len)
{
    if (spec->bandwidth == 0)
        return 0;
    return (int64_t)((double)len / (double)spec->bandwidth * SECOND);
}

/* Whether somebody else wrote the stripe last. */
static int switches(struct cio_throttle *t, int writer, int64_t stripe)
{
    int32_t *last = &t->last_writer[stripe % CIO_THROTTLE_STRIPES];
    int32_t before = __atomic_exchange_n(last, writer + 1, __ATOMIC_RELAXED);

    return before != 0 && before != writer + 1;
}

/* Appends to what the OST has to do, and returns when that will be done. */
static int64_t occupy(int64_t *free_at, int64_t start, int64_t cost)
{
    int64_t before = __atomic_load_n(free_at, __ATOMIC_RELAXED), end;

    do {
        end = (before > start ? before : start) + cost;
    } while (
        !__atomic_compare_exchange_n(free_at, &before, end, 1, __ATOMIC_RELAXED, __ATOMIC_RELAXED));
    return end;
}

static int64_t enter_stripe(struct cio_throttle *t, int64_t start, int64_t stripe, int64_t len,
                            int switched)
{
    const struct cio_throttle_spec *spec = &t->state->spec;
    struct cio_throttle_counters *c = &t->state->counters;
    int64_t cost = spec->latency + transfer_time(spec, len) + (switched ? spec->switching : 0);

    add(&c->transfers, 1);
    add(&c->bytes, len);
    add(&c->switches, switched);
    return occupy(&t->free_at[stripe % spec->osts], start, cost);
}

int64_t cio_throttle_enter(struct cio_throttle *t, int writer, int write, int64_t off, int64_t len)
{
    int64_t start = now(), last = start, size = t->state->spec.stripe;

    while (off >= 0 && len > 0) {
        int64_t stripe = off / size, room = size - off % size, n = len < room ? len : room;
        int64_t end = enter_stripe(t, start, stripe, n, write && switches(t, writer, stripe));

        last = end > last ? end : last;
        off += n;
        len -= n;
    }
    return last;
}

void cio_throttle_sleep(int64_t until)
{
    struct timespec t = {(time_t)(until / SECOND), (long)(until % SECOND)};

    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL) == EINTR)
        ;
}

void cio_throttle_transfer(struct cio_throttle *t, int writer, int write, int64_t off, int64_t len)
{
    cio_throttle_sleep(cio_throttle_enter(t, writer, write, off, len));
}

void cio_throttle_counters(const struct cio_throttle *t, struct cio_throttle_counters *counters)
{
    const struct cio_throttle_counters *c = &t->state->counters;

    counters->transfers = __atomic_load_n(&c->transfers, __ATOMIC_RELAXED);
    counters->bytes = __atomic_load_n(&c->bytes, __ATOMIC_RELAXED);
    counters->switches = __atomic_load_n(&c->switches, __ATOMIC_RELAXED);
}
