/* Affinity masks and quotas, as Linux has them. */
#define _GNU_SOURCE /* sched_getaffinity */
#include "port/cores.h"

#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define WORDS 1024 /* the mask of 65,536 processors */

#ifdef __linux__

/* A word of it at a time: FNV-1a. 0: it cannot be had. */
static int64_t count_mask(uint64_t *set)
{
    uint64_t mask[WORDS] = {0}, h = 14695981039346656037u;
    int64_t n = 0;

    if (sched_getaffinity(0, sizeof(mask), (cpu_set_t *)mask) < 0)
        return 0;
    for (int i = 0; i < WORDS; i++) {
        n += __builtin_popcountll(mask[i]);
        h = (h ^ mask[i]) * 1099511628211u;
    }
    *set = h;
    return n;
}

/* "200000 100000": two cores' time; "max 100000", or no such file: no limit. */
static int64_t quota(void)
{
    FILE *file = fopen("/sys/fs/cgroup/cpu.max", "re");
    long long time = 0, period = 0;
    int found = file != NULL ? fscanf(file, "%lld %lld", &time, &period) : 0;

    if (file != NULL)
        fclose(file);
    return found == 2 && time > 0 && period > 0 ? (time + period - 1) / period : INT64_MAX;
}

#else

static int64_t count_mask(uint64_t *set)
{
    (void)set;
    return 0;
}

static int64_t quota(void)
{
    return INT64_MAX;
}

#endif

int64_t cio_cores(uint64_t *set)
{
    int64_t most = quota(), n;

    *set = 0;
    n = count_mask(set);
    if (n == 0)
        n = sysconf(_SC_NPROCESSORS_ONLN);
    return n < most ? n : most;
}
