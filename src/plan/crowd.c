/* Ranks that share cores: they follow each other once they are sorted by node and set. */
#include "plan/crowd.h"

#include <stdlib.h>

static int by_set(const void *a, const void *b)
{
    const struct cio_bound *x = a, *y = b;

    if (x->node != y->node)
        return x->node < y->node ? -1 : 1;
    if (x->set != y->set)
        return x->set < y->set ? -1 : 1;
    return (x->cores > y->cores) - (x->cores < y->cores);
}

void cio_find_crowded(struct cio_bound *ranks, int n, char *crowded)
{
    int end;

    qsort(ranks, (size_t)n, sizeof(*ranks), by_set);
    for (int i = 0; i < n; i = end) {
        for (end = i + 1; end < n; end++)
            if (ranks[end].node != ranks[i].node || ranks[end].set != ranks[i].set)
                break;
        for (int k = i; k < end; k++)
            crowded[ranks[k].rank] = end - i > ranks[i].cores;
    }
}
