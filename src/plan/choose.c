/* The automatic choices. doc/tuning.md shows the measurements behind the constants. */
#include "plan/choose.h"

#include <stddef.h>

#include "plan/extent.h"

/* Pieces from this size on travel well by themselves: merging them saves nothing. */
#define LARGE_PIECE (64 << 10)

/* With fewer ranks on a node there are few messages to save, except where pieces are tiny. */
#define FEW_RANKS 8
#define TINY_PIECE 64

/* Ranks in a group: more of them coalesce better and talk less, */
#define GROUP 32

/* but a leader that has more than this to send for them had better share that work, */
#define GROUP_BYTES ((int64_t)64 << 20)
#define GROUP_LEAST 8

/* as long as an aggregator is not crowded by leaders (TAM paper, section 4.3: 512). */
#define LEADERS 512

static struct cio_choice leave(const char *why)
{
    return (struct cio_choice){.tam = 0, .why = why};
}

static struct cio_choice serve(const char *why)
{
    return (struct cio_choice){.tam = 1, .why = why};
}

struct cio_choice cio_choose(const struct cio_totals *t, enum cio_switch tam)
{
    if (t->unsorted > 0)
        return leave("a file view does not rise");
    if (tam == CIO_ENABLE)
        return serve("it was asked for");
    if (t->bytes == 0)
        return serve("there is nothing to transfer");
    if (t->spans <= t->hi - t->lo)
        return (struct cio_choice){.alone = t->bytes / t->pieces >= LARGE_PIECE,
                                   .why = "ranks do not interleave"};
    if (t->node_ranks == 1)
        return leave("every node has one rank");
    if (t->bytes / t->pieces >= LARGE_PIECE)
        return leave("pieces are large");
    if (t->bytes / t->pieces < TINY_PIECE)
        return serve("pieces are tiny");
    if (t->node_ranks < FEW_RANKS)
        return leave("ranks on a node are few");
    return serve("ranks on a node are many and interleave");
}

int cio_choose_groups(const struct cio_group_spec *s)
{
    int64_t few = (s->node_ranks + GROUP - 1) / GROUP;
    int64_t many = (s->node_ranks + GROUP_LEAST - 1) / GROUP_LEAST;
    int64_t c = s->bytes / s->nodes / GROUP_BYTES;

    c = cio_min64(cio_max64(c, few), many);
    return (int)cio_max64(cio_min64(c, LEADERS / s->nodes), 1);
}

static int largest_divisor(int n, int limit)
{
    while (n % limit != 0)
        limit--;
    return limit;
}

int cio_choose_aggregators(const struct cio_layout *layout, int usual, int limit)
{
    int targets = cio_layout_targets(layout);
    int busiest, even, balanced;

    if (targets == 0)
        return usual;
    if (targets <= usual)
        return usual / targets * targets;
    if (targets <= limit)
        return targets;
    busiest = (targets + limit - 1) / limit;
    balanced = (targets + busiest - 1) / busiest;
    even = largest_divisor(targets, limit);
    return 2 * even <= balanced ? balanced : even;
}
