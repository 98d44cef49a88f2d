/*
 * Nanoseconds of processor time per extent of what the metadata code costs on irregular lists, the
 * best of several runs. Not a test.
 *
 *     bench_code [extents]            default 3200000; 200000 stay in the cache
 *
 * As in a collective call, 32 lists of small pieces are cut at rounds of 1 MiB; each part is one
 * message. The loop of an aggregator decodes it, marks what it covers and puts the data in place.
 */
#include "lists.h"

#include <string.h>

#include "plan/bits.h"
#include "plan/code.h"
#include "plan/copy.h"

enum { LISTS = 32, ROUND = 1 << 20, CAP = 256, REPEATS = 9 };

struct part {
    int64_t base;
    cio_extent *e;
    size_t n;
    uint8_t *code;
    size_t size;
    const char *data;
};

struct bench {
    size_t extents, parts;
    cio_extent *e;
    struct part *part;
    uint8_t *codes;
    char *data, *buf;
    uint64_t *cover;
};

static int64_t sink; /* keeps the compiler from dropping what is timed */

static double cpu_now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

/* Extents of 8, 16, 24 or 32 bytes in one round, from the next free place of e on. */
static size_t fill_part(uint64_t *rng, cio_extent *e, size_t most, int64_t base, int64_t mean_gap)
{
    int64_t at = base;
    size_t n = 0;

    while (n < most) {
        int64_t off = at + check_between(rng, 1, 2 * mean_gap - 1);
        int64_t len = 8 * check_between(rng, 1, 4);

        if (off + len > base + ROUND)
            break;
        e[n++] = (cio_extent){off, len};
        at = off + len;
    }
    return n;
}

static void *allocate(size_t size)
{
    void *p = malloc(size);

    if (!p)
        abort();
    return memset(p, 1, size);
}

/* Round by round, one part of each list. */
static void bench_init(struct bench *b, size_t extents, int64_t mean_gap)
{
    size_t most_parts = extents + LISTS, done = 0;
    uint64_t rng = 42;

    *b = (struct bench){.e = allocate(extents * sizeof(*b->e)),
                        .part = malloc(most_parts * sizeof(*b->part)),
                        .codes = allocate(cio_code_bound(extents)),
                        .data = allocate(extents * 32),
                        .buf = allocate(ROUND),
                        .cover = allocate(ROUND / 8)};
    for (int64_t base = 0; done < extents; base += ROUND) {
        for (int i = 0; i < LISTS && done < extents; i++) {
            struct part *p = &b->part[b->parts++];

            *p = (struct part){.base = base, .e = b->e + done, .data = b->data + 32 * done};
            p->n = fill_part(&rng, p->e, extents - done, base, mean_gap);
            done += p->n;
        }
    }
    b->extents = done;
}

static void bench_free(struct bench *b)
{
    free(b->e);
    free(b->part);
    free(b->codes);
    free(b->data);
    free(b->buf);
    free(b->cover);
}

static void run_encode(struct bench *b)
{
    uint8_t *to = b->codes;

    for (size_t i = 0; i < b->parts; i++) {
        struct part *p = &b->part[i];

        p->code = to;
        p->size = cio_code_encode(p->e, p->n, p->base, to);
        to += p->size;
    }
}

static struct cio_decoder begin(const struct part *p)
{
    struct cio_decoder d;

    if (cio_decode_begin(&d, p->code, p->size, p->base, p->base, p->base + ROUND))
        abort();
    return d;
}

static void run_decode_next(struct bench *b)
{
    for (size_t i = 0; i < b->parts; i++) {
        struct cio_decoder d = begin(&b->part[i]);
        cio_extent e;

        while (cio_decode_next(&d, &e) > 0)
            sink += e.off;
    }
}

static void run_decode_some(struct bench *b)
{
    for (size_t i = 0; i < b->parts; i++) {
        struct cio_decoder d = begin(&b->part[i]);
        cio_extent e[CAP];
        int n;

        while ((n = cio_decode_some(&d, e, CAP)) > 0)
            sink += e[n - 1].off;
    }
}

static void run_aggregator(struct bench *b)
{
    for (size_t i = 0; i < b->parts; i++) {
        struct cio_decoder d = begin(&b->part[i]);
        const char *data = b->part[i].data;
        cio_extent e[CAP];
        int n;

        while ((n = cio_decode_some(&d, e, CAP)) > 0) {
            for (int k = 0; k < n; k++) {
                int64_t at = e[k].off - b->part[i].base;

                cio_bits_set_range(b->cover, at, at + e[k].len);
                cio_copy_small(b->buf + at, data, e[k].len);
                data += e[k].len;
            }
        }
    }
}

/* The same without what is made for many small pieces. */
static void run_one_by_one(struct bench *b)
{
    for (size_t i = 0; i < b->parts; i++) {
        struct cio_decoder d = begin(&b->part[i]);
        const char *data = b->part[i].data;
        cio_extent e;

        while (cio_decode_next(&d, &e) > 0) {
            int64_t at = e.off - b->part[i].base;

            cio_bits_set_range(b->cover, at, at + e.len);
            memcpy(b->buf + at, data, (size_t)e.len);
            data += e.len;
        }
    }
}

static const struct {
    const char *name;
    void (*run)(struct bench *);
} steps[] = {
    {"encode", run_encode},
    {"decode_next", run_decode_next},
    {"next+set_range+memcpy", run_one_by_one},
    {"decode_some", run_decode_some},
    {"some+set_range+copy_small", run_aggregator},
};

static double time_step(struct bench *b, void (*run)(struct bench *))
{
    double best = 1e18;

    for (int r = 0; r < REPEATS; r++) {
        double t = cpu_now();

        run(b);
        t = cpu_now() - t;
        best = t < best ? t : best;
    }
    return best / (double)b->extents;
}

int main(int argc, char **argv)
{
    static const int64_t gaps[] = {640, 5000};
    size_t extents = argc > 1 ? (size_t)atoll(argv[1]) : 3200000;

    for (size_t g = 0; g < sizeof(gaps) / sizeof(*gaps); g++) {
        struct bench b;

        bench_init(&b, extents, gaps[g]);
        for (size_t s = 0; s < sizeof(steps) / sizeof(*steps); s++)
            printf("gap %-5" PRId64 "%-28s%6.2f ns/extent\n", gaps[g], steps[s].name,
                   time_step(&b, steps[s].run));
        bench_free(&b);
    }
    return sink == 1;
}
