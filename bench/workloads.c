/* The pieces of the workloads for cb_schedule. */
#include "workloads.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "twister.h"

static void *need(void *p)
{
    if (!p) {
        fprintf(stderr, "workload: out of memory\n");
        exit(1);
    }
    return p;
}

static void add_piece(struct workload *w, int rank, int64_t *at, int64_t len)
{
    if (w->n == w->room) {
        w->room = w->room ? 2 * w->room : 1024;
        w->p = need(realloc(w->p, w->room * sizeof(*w->p)));
    }
    if (len > 0)
        w->p[w->n++] = (struct workload_piece){rank, *at, len};
    *at += len;
}

/* splitmix64, as the tests have it: the same numbers on every machine */
static uint64_t next_random(uint64_t *state)
{
    uint64_t z = *state += 0x9e3779b97f4a7c15u;

    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

/* In (0, 1]. */
static double uniform(uint64_t *state)
{
    return ((double)(next_random(state) >> 11) + 1) / 9007199254740992.0;
}

static double gaussian(uint64_t *state)
{
    double r = sqrt(-2 * log(uniform(state)));

    return r * cos(2 * M_PI * uniform(state));
}

/* Every rank has so many pieces, 1/4 MiB in the first half of the ranks and 1/8 MiB in the other.
 */
void workload_fixed(struct workload *w)
{
    int64_t at = 0;

    for (int64_t i = 0; i < w->pieces; i++)
        for (int r = 0; r < w->ranks; r++)
            add_piece(w, r, &at, r < w->ranks / 2 ? WORKLOAD_MIB / 4 : WORKLOAD_MIB / 8);
}

/* Pieces of uniform length; who is drawn beyond the first or last rank is that rank. */
void workload_random(struct workload *w)
{
    uint64_t rng = w->seed;
    int64_t at = 0;

    while (at < w->bytes) {
        int64_t len = (int64_t)ceil(uniform(&rng) * (double)w->most);
        double who = floor(w->ranks * (0.5 + w->sigma * gaussian(&rng)));

        who = fmin(fmax(who, 0), w->ranks - 1);
        add_piece(w, (int)who, &at, len < w->bytes - at ? len : w->bytes - at);
    }
}

/* The same as a few lines of Python draw it. */
void workload_python(struct workload *w)
{
    int64_t at = 0;
    struct twister t;

    twister_seed(&t, (uint32_t)w->seed);
    while (at < w->bytes) {
        int64_t len = twister_up_to(&t, (uint32_t)w->most);
        double who = trunc(twister_gauss(&t, w->ranks / 2.0, w->sigma * w->ranks));

        who = fmin(fmax(who, 0), w->ranks - 1);
        add_piece(w, (int)who, &at, len < w->bytes - at ? len : w->bytes - at);
    }
}

static int64_t small_part(const struct workload *w, int rank)
{
    int ranks = w->small_ranks ? w->small_ranks : w->ranks;

    return rank < ranks ? w->small_all * (rank + 1) / ranks - w->small_all * rank / ranks : 0;
}

static int64_t large_part(const struct workload *w, int rank)
{
    if (!w->aligned_parts)
        return w->part;
    return (rank + 1) * 6 * WORKLOAD_MIB / 5 - rank * 6 * WORKLOAD_MIB / 5;
}

/* Variables one after the other, each in parts of the ranks in turn. */
void workload_climate(struct workload *w)
{
    int64_t at = 0;

    for (int v = 0; v < w->variables; v++)
        for (int r = 0; r < w->ranks; r++)
            add_piece(w, r, &at,
                      v == w->small[0] || v == w->small[1] ? small_part(w, r) : large_part(w, r));
}

#define CLIMATE                                                                                    \
    .fill = workload_climate, .ranks = 640, .aggrs = 40, .variables = 11,                          \
    .small_all = 40 * WORKLOAD_MIB, .part = 12 * WORKLOAD_MIB / 10

const struct workload workload_list[] = {
    {"fixed", "every rank 160 pieces, 1/4 MiB (first half of the ranks) or 1/8 MiB, interleaved",
     .fill = workload_fixed, .ranks = 128, .aggrs = 8, .pieces = 160},
    {"random-10", "2 GiB in pieces up to 1 MiB, owner Gaussian, sigma 1/10 of the ranks",
     .fill = workload_random, .ranks = 128, .aggrs = 8, .bytes = 2048 * WORKLOAD_MIB,
     .most = WORKLOAD_MIB, .sigma = 0.1},
    {"random-30", "the same, 3/10", .fill = workload_random, .ranks = 128, .aggrs = 8,
     .bytes = 2048 * WORKLOAD_MIB, .most = WORKLOAD_MIB, .sigma = 0.3},
    {"python-10", "random-10 with the numbers of Python's Random(seed)", .fill = workload_python,
     .ranks = 128, .aggrs = 8, .bytes = 2048 * WORKLOAD_MIB, .most = WORKLOAD_MIB, .sigma = 0.1},
    {"python-30", "random-30 with these", .fill = workload_python, .ranks = 128, .aggrs = 8,
     .bytes = 2048 * WORKLOAD_MIB, .most = WORKLOAD_MIB, .sigma = 0.3},
    {"gcrm", "11 variables, parts of 1258291 bytes a rank; the 1st and 3rd are 40 MiB in all",
     CLIMATE, .small = {0, 2}},
    {"gcrm-exact", "the same with parts of 1.2 MiB exactly, so that 5 of them are 6 stripes",
     CLIMATE, .small = {0, 2}, .aligned_parts = 1},
    {"gcrm-first", "the small variables are the first two", CLIMATE, .small = {0, 1}},
    {"gcrm-last", "the small variables are the last two", CLIMATE, .small = {9, 10}},
    {"gcrm-few", "only 40 ranks have parts of the small variables", CLIMATE, .small = {0, 2},
     .small_ranks = 40},
    {.name = NULL},
};

int workload_find(const char *name, struct workload *w)
{
    for (int i = 0; workload_list[i].name; i++)
        if (!strcmp(workload_list[i].name, name)) {
            *w = workload_list[i];
            return 0;
        }
    return -1;
}

void workload_fill(struct workload *w, uint64_t seed)
{
    w->seed = seed;
    w->n = 0;
    w->fill(w);
}
