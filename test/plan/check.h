/*
 * What the tests of plan/ share: a check that counts and reports, and seeded random numbers.
 * A test ends with `return check_done("name");`.
 */
#ifndef CIO_TEST_CHECK_H
#define CIO_TEST_CHECK_H

#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static long check_count, check_failures;

#define CHECK(cond) check_that(!!(cond), #cond, __FILE__, __LINE__)

static inline int check_that(int ok, const char *what, const char *file, int line)
{
    check_count++;
    if (!ok && check_failures++ < 20)
        fprintf(stderr, "%s:%d: not true: %s\n", file, line, what);
    return ok;
}

static inline int check_done(const char *name)
{
    if (check_failures)
        fprintf(stderr, "%s: %ld of %ld checks failed\n", name, check_failures, check_count);
    else
        printf("%s: %ld checks\n", name, check_count);
    return check_failures ? 1 : 0;
}

/* The seed of this run, printed: CIO_TEST_SEED, or else the time. */
static inline uint64_t check_seed(void)
{
    const char *s = getenv("CIO_TEST_SEED");
    uint64_t seed = s ? strtoull(s, NULL, 0) : (uint64_t)time(NULL);

    printf("CIO_TEST_SEED=%" PRIu64 "\n", seed);
    return seed;
}

/* splitmix64 */
static inline uint64_t check_random(uint64_t *state)
{
    uint64_t z = *state += 0x9e3779b97f4a7c15u;

    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

/* One of lo..hi, both included. */
static inline int64_t check_between(uint64_t *state, int64_t lo, int64_t hi)
{
    return lo + (int64_t)(check_random(state) % (uint64_t)(hi - lo + 1));
}

#endif
