/*
 * first-finish, the ranking of processes, over their graph (graph.h).
 *
 * A process can be finished at the latest of its cells, which is at load + left: what its
 * aggregator has to serve before, and what is left of the cell. The schedule goes on in steps of
 * time. At each, those who can be finished by then are placed, in the order of ties; each of them
 * adds to loads, so that few of many may find room. While others are placed, no cell comes earlier,
 * since each stripe of it that is placed is one more of the load: so who could not be finished is
 * first looked at again where it failed.
 *
 * A step is one stripe-time, which is exact, as long as that makes no more looks than LOOKS. Beyond
 * that steps are longer, but at least LEAST_STEPS: doc/scheduling.md shows how little that matters.
 * Steps at which nobody could be finished are left out.
 */
#include "plan/finish.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "plan/extent.h"
#include "plan/order.h"

#define LOOKS (1 << 21)
#define LEAST_STEPS 64

/*
 * A stripe, of which processes have shares: without remainder for up to 16, so that ties are ties.
 * Sums of them are told apart to between a 512th and a 1024th of the most that anybody has left.
 */
#define SHARE 720720
#define SHARE_KEYS 1024

/* A process, and what comes before its rank in ties. */
struct company {
    float mean; /* number of processes on its stripes */
    uint32_t rank;
};

struct state {
    struct cio_graph *g;
    enum cio_finish_ties ties;
    uint32_t *load;          /* per aggregator */
    uint8_t *placed;         /* per stripe */
    uint64_t *left;          /* per process, of all its cells: sum of weigh() */
    uint32_t *late;          /* per process: the cell at which it failed last */
    struct company *company; /* of all processes, most first */
    uint32_t *waiting;       /* processes not yet placed, in the order of company, */
    uint32_t nwaiting;
    uint32_t *turn; /* and in the order in which they are looked at */
    uint32_t *upto; /* for sorting: per what is left, in `keys` steps, and two more */
    uint64_t keys;
};

static int allocate(struct state *s)
{
    const struct cio_graph *g = s->g;

    s->load = calloc(g->naggr, sizeof(*s->load));
    s->placed = calloc((size_t)g->nstripes + 1, sizeof(*s->placed));
    s->left = malloc(g->nranks * sizeof(*s->left));
    s->late = malloc(g->nranks * sizeof(*s->late));
    s->company = malloc(g->nranks * sizeof(*s->company));
    s->waiting = malloc(g->nranks * sizeof(*s->waiting));
    s->turn = malloc(g->nranks * sizeof(*s->turn));
    s->keys = s->ties == CIO_FINISH_SHARES ? SHARE_KEYS : (uint64_t)g->nstripes + 1;
    s->upto = malloc((s->keys + 1) * sizeof(*s->upto));
    if (!s->load || !s->placed || !s->left || !s->late || !s->company)
        return -ENOMEM;
    return s->waiting && s->turn && s->upto ? 0 : -ENOMEM;
}

static void release(struct state *s)
{
    free(s->upto);
    free(s->turn);
    free(s->waiting);
    free(s->company);
    free(s->late);
    free(s->left);
    free(s->placed);
    free(s->load);
}

/* ---- ties ---- */

static float company_of(const struct cio_graph *g, uint32_t from, uint32_t to)
{
    uint64_t sum = 0;

    for (uint32_t i = from; i < to; i++)
        sum += cio_graph_company(g, g->stripe_of[i]);
    return to > from ? (float)sum / (float)(to - from) : 0;
}

static int by_company(const void *x, const void *y)
{
    const struct company *a = x, *b = y;

    if (a->mean > b->mean || a->mean < b->mean)
        return a->mean > b->mean ? -1 : 1;
    return a->rank < b->rank ? -1 : 1;
}

static uint64_t weigh(const struct state *s, uint32_t stripe)
{
    uint32_t n;

    if (s->ties == CIO_FINISH_STRIPES)
        return 1;
    n = cio_graph_company(s->g, stripe);
    return n < SHARE ? SHARE / n : 1;
}

static void begin(struct state *s)
{
    const struct cio_graph *g = s->g;

    for (uint32_t r = 0; r < g->nranks; r++) {
        uint32_t from = g->cells[g->first_cell[r]].first;
        uint32_t to = g->cells[g->first_cell[r + 1]].first;

        s->left[r] = s->ties == CIO_FINISH_STRIPES ? to - from : 0;
        for (uint32_t i = from; s->ties == CIO_FINISH_SHARES && i < to; i++)
            s->left[r] += weigh(s, g->stripe_of[i]);
        s->late[r] = g->first_cell[r];
        s->company[r] = (struct company){company_of(g, from, to), r};
    }
    qsort(s->company, g->nranks, sizeof(*s->company), by_company);
    for (uint32_t i = 0; i < g->nranks; i++)
        if (cio_graph_waits(g, s->company[i].rank))
            s->waiting[s->nwaiting++] = s->company[i].rank;
}

/* A counting sort of those who wait, by what they have left; it keeps the order of company. */
static void sort_by_left(struct state *s)
{
    uint64_t most = 0;
    uint32_t shift = 0;

    for (uint32_t i = 0; i < s->nwaiting; i++)
        most = s->left[s->waiting[i]] > most ? s->left[s->waiting[i]] : most;
    while (most >> shift >= s->keys)
        shift++;
    most >>= shift;
    memset(s->upto, 0, (most + 2) * sizeof(*s->upto));
    for (uint32_t i = 0; i < s->nwaiting; i++)
        s->upto[(s->left[s->waiting[i]] >> shift) + 1]++;
    for (uint64_t k = 0; k < most; k++)
        s->upto[k + 1] += s->upto[k];
    for (uint32_t i = 0; i < s->nwaiting; i++)
        s->turn[s->upto[s->left[s->waiting[i]] >> shift]++] = s->waiting[i];
}

/* ---- placing ---- */

static int is_late(const struct state *s, const struct cio_cell *c, uint32_t now)
{
    return c->left > 0 && s->load[c->aggr] + c->left > now;
}

static int can_finish(struct state *s, uint32_t rank, uint32_t now)
{
    const struct cio_graph *g = s->g;

    if (s->left[rank] == 0)
        return 1;
    if (is_late(s, &g->cells[s->late[rank]], now))
        return 0;
    for (uint32_t c = g->first_cell[rank]; c < g->first_cell[rank + 1]; c++)
        if (is_late(s, &g->cells[c], now)) {
            s->late[rank] = c;
            return 0;
        }
    return 1;
}

static void place_stripe(struct state *s, uint32_t stripe, uint32_t aggr)
{
    uint64_t weight = weigh(s, stripe);

    s->placed[stripe] = 1;
    s->load[aggr]++;
    for (uint32_t i = s->g->first_touch[stripe]; i < s->g->first_touch[stripe + 1]; i++) {
        struct cio_cell *c = &s->g->cells[s->g->cell_of[i]];

        c->left--;
        s->left[c->rank] -= weight;
    }
}

static void place_process(struct state *s, uint32_t rank)
{
    const struct cio_graph *g = s->g;

    for (uint32_t c = g->first_cell[rank]; c < g->first_cell[rank + 1]; c++)
        for (uint32_t i = g->cells[c].first; g->cells[c].left > 0; i++)
            if (!s->placed[g->stripe_of[i]])
                place_stripe(s, g->stripe_of[i], g->cells[c].aggr);
}

#define PLACED UINT32_MAX /* late[rank] of who waits no longer */

static void drop_placed(struct state *s)
{
    uint32_t n = 0;

    for (uint32_t i = 0; i < s->nwaiting; i++)
        if (s->late[s->waiting[i]] != PLACED)
            s->waiting[n++] = s->waiting[i];
    s->nwaiting = n;
}

/* Place all who can be finished by now. Returns how many were put into the ranking. */
static uint32_t step(struct state *s, uint32_t now, uint32_t *ranking)
{
    uint32_t n = 0;

    sort_by_left(s);
    for (uint32_t i = 0; i < s->nwaiting; i++) {
        uint32_t rank = s->turn[i];

        if (!can_finish(s, rank, now))
            continue;
        place_process(s, rank);
        s->late[rank] = PLACED;
        ranking[n++] = rank;
    }
    drop_placed(s);
    return n;
}

uint32_t cio_order_steps(int64_t nranks, int64_t most)
{
    int64_t steps = cio_max64(LOOKS / nranks, LEAST_STEPS);

    return (uint32_t)cio_min64(steps, most + 1);
}

/* Nobody who waits can be finished before this: no cell comes earlier than it is now. */
static uint32_t soonest(const struct state *s)
{
    uint32_t least = UINT32_MAX;

    for (uint32_t i = 0; i < s->nwaiting; i++) {
        const struct cio_cell *c = &s->g->cells[s->late[s->waiting[i]]];
        uint32_t at = c->left > 0 ? s->load[c->aggr] + c->left : 0;

        least = at < least ? at : least;
    }
    return least;
}

/* From 0 on, since who touches nothing is finished then. */
static void rank_all(struct state *s, uint32_t *ranking)
{
    uint32_t steps = cio_order_steps(s->g->nranks, s->g->most), done = 0;
    uint32_t length = s->g->most / steps + 1;

    begin(s);
    for (uint32_t now = 0; s->nwaiting > 0; now += length) {
        uint32_t n = step(s, now, ranking + done);
        uint32_t next = n == 0 ? soonest(s) : 0;

        done += n;
        if (next > now + length)
            now += (next - now - 1) / length * length;
    }
    for (uint32_t r = 0; r < s->g->nranks; r++)
        if (!cio_graph_waits(s->g, r))
            ranking[done++] = r;
}

int cio_finish_rank(struct cio_graph *g, enum cio_finish_ties ties, uint32_t *ranking)
{
    struct state s = {.g = g, .ties = ties};
    int rc = allocate(&s);

    if (!rc)
        rank_all(&s, ranking);
    release(&s);
    return rc;
}

int cio_order_first_finish(struct cio_pattern *const *patterns, int n, const uint8_t *leaving,
                           uint32_t *ranking)
{
    struct cio_graph *g;
    int rc = cio_graph_create(patterns, n, leaving, &g);

    if (rc)
        return rc;
    rc = cio_finish_rank(g, CIO_FINISH_STRIPES, ranking);
    cio_graph_destroy(g);
    return rc;
}

int cio_order_may_rank(int64_t touches)
{
    return touches <= CIO_GRAPH_TOUCHES;
}
