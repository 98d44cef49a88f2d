/*
 * Better rankings than that of first-finish (plan/order.h), where they cost little.
 *
 * First, another one: by the same greedy, with ties by shares of stripes (finish.h). Neither kind
 * of ties is always the better one. Then the better of the two is swept: of each WINDOW processes
 * that follow one another, the best order is found, given what has been placed for those before;
 * HOP of them are placed, and the window moves on. When the last of a set of processes is finished
 * depends on the set only, so for every set of them: the best over who is last in it (as in
 * test/plan/instances.h). Where several are, the first of the window goes last: what is as good as
 * before is turned round, and later windows find more than if it stayed.
 *
 * A sweep hardly ever makes a ranking worse, but it can, by moving stripes under processes that
 * have nothing left. So the sum of responses is counted after each, and the least kept.
 *
 * To know when sets are finished, members are added to loads and taken off again, in such an order
 * that all who are in a set already come before:
 *
 *     {0} {0,1} {0,1,2} {0,2} {1} {1,2} {2}
 *
 * A part is what one of them adds at one aggregator: so many stripes that nobody before it in the
 * window touches, and the others, which count if none of their `owners` is in the set. Most parts
 * need not be looked at: those at aggregators which, with all of the window, have served their
 * stripes before any of those who wait for them could be finished anyway.
 */
#include "plan/order.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "plan/finish.h"
#include "plan/graph.h"

#define MOST_SIZE (1 << 16) /* ranks and touches */
#define SWEEPS 2
#define WINDOW 8
#define HOP (WINDOW / 2)
#define SETS (1 << WINDOW)

/* Stripes, one after the other, that the same members of the window touch. */
struct run {
    uint8_t owners; /* a bit for each of them, but for those from the one at hand on */
    uint32_t count;
};

struct part {
    uint32_t aggr, alone;
    uint32_t runs, end; /* its others: these of all runs */
    uint32_t added;     /* to the load, as long as its member is in the set */
};

struct window {
    int n;
    uint32_t first_part[WINDOW + 1];
    uint32_t soonest[WINDOW]; /* when each could be finished if it were the first */
    uint32_t finish[SETS];    /* of the last of a set, */
    uint64_t least[SETS];     /* the least sum of the finishes of all its members, */
    uint8_t last[SETS];       /* and who is last then */
};

struct sweep {
    const struct cio_graph *g;
    uint32_t *load;  /* per aggregator */
    uint32_t *time;  /* per stripe: when it is served, 0: not placed */
    uint8_t *member; /* per stripe: who of the window touches it, a bit each */
    struct part *parts;
    struct run *runs;
    uint32_t *last;    /* per aggregator: its load with all of the window, */
    uint32_t *soonest; /* and the least soonest of those who wait for it */
    struct window w;
};

static int allocate(const struct cio_graph *g, struct sweep *s)
{
    *s = (struct sweep){.g = g};
    s->load = malloc(g->naggr * sizeof(*s->load));
    s->time = malloc(((size_t)g->nstripes + 1) * sizeof(*s->time));
    s->member = calloc((size_t)g->nstripes + 1, sizeof(*s->member));
    s->parts = malloc(((size_t)g->ncells + 2) * sizeof(*s->parts));
    s->runs = malloc(((size_t)g->ntouches + 1) * sizeof(*s->runs));
    s->last = malloc(g->naggr * sizeof(*s->last));
    s->soonest = malloc(g->naggr * sizeof(*s->soonest));
    if (!s->load || !s->time || !s->member || !s->parts)
        return -ENOMEM;
    return s->runs && s->last && s->soonest ? 0 : -ENOMEM;
}

static void release(struct sweep *s)
{
    free(s->soonest);
    free(s->last);
    free(s->runs);
    free(s->parts);
    free(s->member);
    free(s->time);
    free(s->load);
}

static uint32_t max32(uint32_t a, uint32_t b)
{
    return a > b ? a : b;
}

/* ---- placing ---- */

static void begin(struct sweep *s)
{
    memset(s->load, 0, s->g->naggr * sizeof(*s->load));
    memset(s->time, 0, s->g->nstripes * sizeof(*s->time));
}

/* Returns when the process is finished. */
static uint32_t place(struct sweep *s, uint32_t rank)
{
    const struct cio_graph *g = s->g;
    uint32_t latest = 0;

    for (uint32_t c = g->first_cell[rank]; c < g->first_cell[rank + 1]; c++)
        for (uint32_t i = g->cells[c].first; i < g->cells[c + 1].first; i++) {
            uint32_t *time = &s->time[g->stripe_of[i]];

            if (*time == 0)
                *time = ++s->load[g->cells[c].aggr];
            latest = max32(latest, *time);
        }
    return latest;
}

/* The sum of the responses of those in a ranking who wait; the others are the last of it. */
static uint64_t respond(struct sweep *s, const uint32_t *ranking)
{
    uint64_t sum = 0;

    begin(s);
    for (uint32_t i = 0; i < s->g->nwait; i++)
        sum += place(s, ranking[i]);
    return sum;
}

/* ---- the window ---- */

/* Set or clear the bits of all members, at the stripes that are not placed. */
static void mark(struct sweep *s, const uint32_t *ranks, int on)
{
    const struct cio_graph *g = s->g;

    for (int x = 0; x < s->w.n; x++) {
        uint32_t from = g->cells[g->first_cell[ranks[x]]].first;
        uint32_t to = g->cells[g->first_cell[ranks[x] + 1]].first;

        for (uint32_t i = from; i < to; i++)
            if (s->time[g->stripe_of[i]] == 0)
                s->member[g->stripe_of[i]] =
                    on ? (uint8_t)(s->member[g->stripe_of[i]] | 1u << x) : 0;
    }
}

/* What member x adds at the aggregator of a cell, in *p. Returns how many stripes in all. */
static uint32_t make_part(struct sweep *s, const struct cio_cell *cell, int x, struct part *p)
{
    uint32_t others = 0, owners = 0, before = (1u << x) - 1;

    for (uint32_t i = cell->first; i < cell[1].first; i++) {
        uint32_t stripe = s->g->stripe_of[i];

        if (s->time[stripe] > 0)
            continue;
        if (!(s->member[stripe] & before)) {
            p->alone++;
            continue;
        }
        others++;
        if (p->end == p->runs || owners != (s->member[stripe] & before)) {
            owners = s->member[stripe] & before;
            s->runs[p->end++] = (struct run){.owners = (uint8_t)owners};
        }
        s->runs[p->end - 1].count++;
    }
    return p->alone + others;
}

static void make_parts(struct sweep *s, const uint32_t *ranks)
{
    const struct cio_graph *g = s->g;
    uint32_t n = 0, runs = 0;

    memcpy(s->last, s->load, g->naggr * sizeof(*s->last));
    for (int x = 0; x < s->w.n; x++) {
        s->w.first_part[x] = n;
        s->w.soonest[x] = 0;
        for (uint32_t c = g->first_cell[ranks[x]]; c < g->first_cell[ranks[x] + 1]; c++) {
            uint32_t a = g->cells[c].aggr, all;

            s->parts[n] = (struct part){.aggr = a, .runs = runs, .end = runs};
            all = make_part(s, &g->cells[c], x, &s->parts[n]);
            if (all == 0)
                continue;
            s->w.soonest[x] = max32(s->w.soonest[x], s->load[a] + all);
            s->last[a] += s->parts[n].alone;
            runs = s->parts[n++].end;
        }
    }
    s->w.first_part[s->w.n] = n;
}

/* Leave out the parts that never tell when a set is finished. */
static void drop_parts(struct sweep *s)
{
    uint32_t n = 0, i = 0;

    memset(s->soonest, 0xff, s->g->naggr * sizeof(*s->soonest));
    for (int x = 0; x < s->w.n; x++)
        for (; i < s->w.first_part[x + 1]; i++) {
            uint32_t *soonest = &s->soonest[s->parts[i].aggr];

            *soonest = *soonest < s->w.soonest[x] ? *soonest : s->w.soonest[x];
        }
    i = 0;
    for (int x = 0; x < s->w.n; x++) {
        uint32_t end = s->w.first_part[x + 1];

        s->w.first_part[x] = n;
        for (; i < end; i++)
            if (s->last[s->parts[i].aggr] > s->soonest[s->parts[i].aggr])
                s->parts[n++] = s->parts[i];
    }
    s->w.first_part[s->w.n] = n;
}

/* What a part adds to its aggregator after a set of others. */
static uint32_t added_after(const struct sweep *s, const struct part *p, uint32_t set)
{
    uint32_t sum = p->alone;

    for (uint32_t k = p->runs; k < p->end; k++)
        sum += s->runs[k].owners & set ? 0 : s->runs[k].count;
    return sum;
}

/* When a set, which has been added to loads, is finished with member x. */
static uint32_t finish_with(const struct sweep *s, uint32_t set, int x)
{
    uint32_t latest = max32(s->w.finish[set], s->w.soonest[x]);

    for (uint32_t i = s->w.first_part[x]; i < s->w.first_part[x + 1]; i++) {
        uint32_t added = added_after(s, &s->parts[i], set);

        latest = max32(latest, added > 0 ? s->load[s->parts[i].aggr] + added : 0);
    }
    return latest;
}

static void add_member(struct sweep *s, uint32_t set, int x)
{
    for (uint32_t i = s->w.first_part[x]; i < s->w.first_part[x + 1]; i++) {
        s->parts[i].added = added_after(s, &s->parts[i], set);
        s->load[s->parts[i].aggr] += s->parts[i].added;
    }
}

static void remove_member(struct sweep *s, int x)
{
    for (uint32_t i = s->w.first_part[x]; i < s->w.first_part[x + 1]; i++)
        s->load[s->parts[i].aggr] -= s->parts[i].added;
}

/* When all sets are finished that have these members, and others from x on. */
static void finish_sets(struct sweep *s, uint32_t set, int x)
{
    for (; x < s->w.n; x++) {
        uint32_t more = set | 1u << x;

        s->w.finish[more] = finish_with(s, set, x);
        if (x + 1 == s->w.n)
            return;
        add_member(s, set, x);
        finish_sets(s, more, x + 1);
        remove_member(s, x);
    }
}

/* Sums and who is last are compared as one number, which is quicker. */
static void find_last(struct window *w, uint32_t set)
{
    uint64_t best = UINT64_MAX;

    for (uint32_t rest = set; rest; rest &= rest - 1) {
        uint32_t x = (uint32_t)__builtin_ctz(rest);
        uint64_t sum = w->least[set ^ 1u << x] * WINDOW + x;

        best = sum < best ? sum : best;
    }
    w->last[set] = best % WINDOW;
    w->least[set] = best / WINDOW + w->finish[set];
}

/* Bring the processes of the window into their best order. */
static void order_window(struct sweep *s, uint32_t *ranks)
{
    uint32_t old[WINDOW], all = (1u << s->w.n) - 1;

    mark(s, ranks, 1);
    make_parts(s, ranks);
    mark(s, ranks, 0);
    drop_parts(s);
    finish_sets(s, 0, 0);
    for (uint32_t set = 1; set <= all; set++)
        find_last(&s->w, set);
    memcpy(old, ranks, (size_t)s->w.n * sizeof(*old));
    for (int i = s->w.n - 1; i >= 0; i--) {
        ranks[i] = old[s->w.last[all]];
        all ^= 1u << s->w.last[all];
    }
}

static void sweep(struct sweep *s, uint32_t *ranking)
{
    uint32_t n = s->g->nwait;

    begin(s);
    for (uint32_t at = 0; at < n; at += HOP) {
        s->w.n = (int)(n - at < WINDOW ? n - at : WINDOW);
        order_window(s, ranking + at);
        for (int i = 0; i < HOP && i < s->w.n; i++)
            place(s, ranking[at + (uint32_t)i]);
    }
}

/* ---- both ---- */

/* Let `best` be the other ranking, if that is better. Returns the sum of responses of the best. */
static uint64_t keep_better(struct sweep *s, uint32_t *best, uint64_t sum, const uint32_t *other)
{
    uint64_t found = respond(s, other);

    if (found >= sum)
        return sum;
    memcpy(best, other, s->g->nranks * sizeof(*best));
    return found;
}

static int refine(struct cio_graph *g, struct sweep *s, uint32_t *ranking, uint32_t *other)
{
    uint64_t sum = respond(s, ranking);
    int rc = cio_finish_rank(g, CIO_FINISH_SHARES, other);

    if (rc)
        return rc;
    sum = keep_better(s, ranking, sum, other);
    memcpy(other, ranking, g->nranks * sizeof(*other));
    for (int i = 0; i < SWEEPS; i++) {
        sweep(s, other);
        sum = keep_better(s, ranking, sum, other);
    }
    return 0;
}

int cio_order_may_refine(int64_t nranks, int64_t touches)
{
    return nranks + touches <= MOST_SIZE;
}

int cio_order_refine(struct cio_pattern *const *patterns, int n, const uint8_t *leaving,
                     uint32_t *ranking)
{
    struct cio_graph *g;
    struct sweep s;
    uint32_t *other;
    int rc = cio_graph_create(patterns, n, leaving, &g);

    if (rc)
        return rc;
    other = malloc(g->nranks * sizeof(*other));
    rc = allocate(g, &s);
    if (!other)
        rc = -ENOMEM;
    if (!rc)
        rc = refine(g, &s, ranking, other);
    release(&s);
    free(other);
    cio_graph_destroy(g);
    return rc;
}
