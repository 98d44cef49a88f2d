/* The cores that a process may run on follow its affinity mask. */
#define _GNU_SOURCE /* sched_setaffinity */
#include "port/cores.h"

#include <sched.h>
#include <stdio.h>

#include "../plan/check.h"

static int64_t bind_to(int cpu, uint64_t *set)
{
    cpu_set_t mask;

    CPU_ZERO(&mask);
    CPU_SET(cpu, &mask);
    return sched_setaffinity(0, sizeof(mask), &mask) == 0 ? cio_cores(set) : -1;
}

int main(void)
{
    uint64_t all = 0, first = 0, again = 0, second = 0;
    int64_t cores = cio_cores(&all);
    int cpu[2], n = 0;
    cpu_set_t mask;

    CPU_ZERO(&mask);
    if (sched_getaffinity(0, sizeof(mask), &mask) < 0 || CPU_COUNT(&mask) < 2) {
        printf("test_cores: needs two cores\n");
        return 77;
    }
    for (int i = 0; n < 2; i++)
        if (CPU_ISSET(i, &mask))
            cpu[n++] = i;
    CHECK(cores >= 1 && cores <= CPU_COUNT(&mask));
    CHECK(cio_cores(&again) == cores && again == all);
    CHECK(bind_to(cpu[0], &first) == 1 && first != all);
    CHECK(bind_to(cpu[1], &second) == 1 && second != first);
    CHECK(bind_to(cpu[0], &again) == 1 && again == first);
    return check_done("cores");
}
