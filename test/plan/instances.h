/*
 * Small scheduling problems for the tests of plan/order.h: who touches what as one word of bits for
 * each process and aggregator, the patterns made of that, and the best schedule there is.
 */
#ifndef CIO_TEST_INSTANCES_H
#define CIO_TEST_INSTANCES_H

#include "check.h"

#include <string.h>

#include "plan/order.h"
#include "plan/respond.h"

enum { INSTANCE_RANKS = 48, INSTANCE_AGGRS = 4 };

struct instance {
    int ranks, aggrs;
    int npos[INSTANCE_AGGRS];
    uint64_t touch[INSTANCE_RANKS][INSTANCE_AGGRS];
    struct cio_pattern *patterns[INSTANCE_AGGRS];
};

/* Patterns from the bits; ranks come in no particular order. */
static inline void instance_begin(struct instance *in)
{
    for (int a = 0; a < in->aggrs; a++) {
        CHECK(cio_pattern_create(in->ranks, in->npos[a], &in->patterns[a]) == 0);
        for (int i = 0; i < in->ranks; i++) {
            int r = in->ranks % 7 ? (i * 7 + 3) % in->ranks : i;

            CHECK(cio_pattern_add(in->patterns[a], r, &in->touch[r][a]) == 0);
        }
    }
}

static inline void instance_end(struct instance *in)
{
    for (int a = 0; a < in->aggrs; a++)
        cio_pattern_destroy(in->patterns[a]);
}

/* Each process touches each position with a probability of its own. */
static inline void instance_random(struct instance *in, uint64_t *rng, int ranks, int aggrs,
                                   int npos)
{
    *in = (struct instance){.ranks = ranks, .aggrs = aggrs};
    for (int a = 0; a < aggrs; a++)
        in->npos[a] = npos;
    for (int r = 0; r < ranks; r++) {
        int percent = (int)check_between(rng, 0, 60);

        for (int a = 0; a < aggrs; a++)
            for (int i = 0; i < npos; i++)
                if (check_between(rng, 0, 99) < percent)
                    in->touch[r][a] |= (uint64_t)1 << i;
    }
    instance_begin(in);
}

/* Consecutive runs of stripes, as of arrays cut into parts: stripe s is at aggregator s mod aggrs.
 */
static inline void instance_parts(struct instance *in, uint64_t *rng, int ranks, int aggrs,
                                  int npos)
{
    *in = (struct instance){.ranks = ranks, .aggrs = aggrs};
    for (int a = 0; a < aggrs; a++)
        in->npos[a] = npos;
    for (int r = 0; r < ranks; r++)
        for (int64_t k = check_between(rng, 1, 3); k > 0; k--) {
            int64_t s = check_between(rng, 0, npos * aggrs - 1);

            for (int64_t len = check_between(rng, 1, 5); len > 0 && s < npos * aggrs; len--, s++)
                in->touch[r][s % aggrs] |= (uint64_t)1 << s / aggrs;
        }
    instance_begin(in);
}

/*
 * Least sum of responses, over all schedules. Serving stripes in the order in which the best
 * schedule finishes processes is as good, so that it is enough to look for the best order of
 * processes; and when the last of a set of them is finished depends on the set only. So for every
 * set: the best over who is last in it.
 */
static inline int64_t instance_optimum(const struct instance *in)
{
    size_t sets = (size_t)1 << in->ranks;
    int64_t *best = malloc(sets * sizeof(*best)), out;

    best[0] = 0;
    for (size_t set = 1; set < sets; set++) {
        int64_t before = INT64_MAX, latest = 0;

        for (int a = 0; a < in->aggrs; a++) {
            uint64_t served = 0;

            for (int r = 0; r < in->ranks; r++)
                served |= set >> r & 1 ? in->touch[r][a] : 0;
            if (__builtin_popcountll(served) > latest)
                latest = __builtin_popcountll(served);
        }
        for (int r = 0; r < in->ranks; r++)
            if (set >> r & 1 && best[set ^ (size_t)1 << r] < before)
                before = best[set ^ (size_t)1 << r];
        best[set] = before + latest;
    }
    out = best[sets - 1];
    free(best);
    return out;
}

#endif
