/*
 * first-finish, the ranking of processes.
 *
 * All patterns are brought together as a graph of processes and stripes. Stripes are numbered
 * through, aggregator by aggregator; a cell is what one process touches at one aggregator.
 *
 *     process   cells[first_cell[p] .. first_cell[p + 1])
 *     cell      stripe_of[cells[c].first .. cells[c + 1].first), of which .left are not yet placed
 *     stripe    cell_of[first_touch[s] .. first_touch[s + 1])
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
 */
#include "plan/order.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "plan/extent.h"

#define LOOKS (1 << 21)
#define LEAST_STEPS 64

struct cell {
    uint32_t first; /* of its stripes, in stripe_of */
    uint32_t left;
    uint32_t aggr, rank;
};

struct graph {
    uint32_t nranks, naggr, nstripes, ncells, ntouches;
    uint32_t most; /* positions of one aggregator */
    uint32_t *first_cell;
    struct cell *cells;
    uint32_t *stripe_of;
    uint32_t *first_touch;
    uint32_t *cell_of;
};

/* A process, and what comes before its rank in ties. */
struct company {
    float mean; /* number of processes on its stripes */
    uint32_t rank;
};

struct state {
    struct graph g;
    uint32_t *load;          /* per aggregator */
    uint8_t *placed;         /* per stripe */
    uint32_t *left;          /* per process, of all its cells */
    uint32_t *late;          /* per process: the cell at which it failed last */
    struct company *company; /* of all processes, most first */
    uint32_t *waiting;       /* processes not yet placed, in the order of company, */
    uint32_t nwaiting;
    uint32_t *turn; /* and in the order in which they are looked at */
    uint32_t *upto; /* for sorting: per number left, and two more */
};

/* ---- the graph ---- */

static int measure(struct cio_pattern *const *patterns, int n, struct graph *g)
{
    uint64_t stripes = 0, touches = 0, cells = 0;

    for (int a = 0; a < n; a++) {
        if (patterns[a]->nranks != patterns[0]->nranks)
            return -EINVAL;
        stripes += patterns[a]->npos;
        touches += (uint64_t)patterns[a]->touches;
        cells += (uint64_t)patterns[a]->rows;
        g->most = patterns[a]->npos > g->most ? patterns[a]->npos : g->most;
    }
    if (stripes >= UINT32_MAX || touches >= UINT32_MAX)
        return -EINVAL;
    g->nranks = (uint32_t)patterns[0]->nranks;
    g->naggr = (uint32_t)n;
    g->nstripes = (uint32_t)stripes;
    g->ntouches = (uint32_t)touches;
    g->ncells = (uint32_t)cells;
    return 0;
}

static int allocate(struct state *s)
{
    struct graph *g = &s->g;

    g->first_cell = calloc((size_t)g->nranks + 2, sizeof(*g->first_cell));
    g->cells = malloc(((size_t)g->ncells + 1) * sizeof(*g->cells));
    g->stripe_of = malloc(((size_t)g->ntouches + 1) * sizeof(*g->stripe_of));
    g->first_touch = calloc((size_t)g->nstripes + 2, sizeof(*g->first_touch));
    g->cell_of = malloc(((size_t)g->ntouches + 1) * sizeof(*g->cell_of));
    s->load = calloc(g->naggr, sizeof(*s->load));
    s->placed = calloc((size_t)g->nstripes + 1, sizeof(*s->placed));
    s->left = malloc(g->nranks * sizeof(*s->left));
    s->late = malloc(g->nranks * sizeof(*s->late));
    s->company = malloc(g->nranks * sizeof(*s->company));
    s->waiting = malloc(g->nranks * sizeof(*s->waiting));
    s->turn = malloc(g->nranks * sizeof(*s->turn));
    s->upto = malloc(((size_t)g->nstripes + 2) * sizeof(*s->upto));
    if (!g->first_cell || !g->cells || !g->stripe_of || !g->first_touch || !g->cell_of)
        return -ENOMEM;
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
    free(s->g.cell_of);
    free(s->g.first_touch);
    free(s->g.stripe_of);
    free(s->g.cells);
    free(s->g.first_cell);
}

/* From counts at x[i + 2] of what i has: x[i + 1] is then where i begins. x[0] and x[1] are 0. */
static void accumulate(uint32_t *x, uint32_t n)
{
    for (uint32_t i = 1; i <= n; i++)
        x[i + 1] += x[i];
}

/* Cells of each process, by aggregator. Filling them in moves first_cell[p + 1] to the end of p. */
static void make_cells(struct cio_pattern *const *patterns, struct graph *g)
{
    uint32_t touch = 0;

    for (uint32_t a = 0; a < g->naggr; a++)
        for (int i = 0; i < patterns[a]->rows; i++)
            g->first_cell[patterns[a]->row[i].rank + 2]++;
    accumulate(g->first_cell, g->nranks);
    for (uint32_t a = 0; a < g->naggr; a++)
        for (int i = 0; i < patterns[a]->rows; i++) {
            uint32_t rank = (uint32_t)patterns[a]->row[i].rank;

            g->cells[g->first_cell[rank + 1]++] =
                (struct cell){.left = patterns[a]->row[i].count, .aggr = a, .rank = rank};
        }
    for (uint32_t c = 0; c < g->ncells; c++) {
        g->cells[c].first = touch;
        touch += g->cells[c].left;
    }
    g->cells[g->ncells].first = touch;
}

/* The stripes of every cell; at[p]: the cell of p at this aggregator. */
static void fill_stripes(struct cio_pattern *const *patterns, struct graph *g, uint32_t *at,
                         uint32_t *room)
{
    uint32_t base = 0;

    memcpy(at, g->first_cell, g->nranks * sizeof(*at));
    for (uint32_t a = 0; a < g->naggr; a++) {
        for (int i = 0; i < patterns[a]->rows; i++) {
            const struct cio_pattern_row *row = &patterns[a]->row[i];
            const uint32_t *pos = cio_pattern_positions(patterns[a], row, room);
            uint32_t *to = g->stripe_of + g->cells[at[row->rank]++].first;

            for (uint32_t k = 0; k < row->count; k++) {
                to[k] = base + pos[k];
                g->first_touch[to[k] + 2]++;
            }
        }
        base += patterns[a]->npos;
    }
}

/* The other direction, in the same way as make_cells(). */
static void fill_touches(struct graph *g)
{
    accumulate(g->first_touch, g->nstripes);
    for (uint32_t c = 0; c < g->ncells; c++)
        for (uint32_t i = g->cells[c].first; i < g->cells[c + 1].first; i++)
            g->cell_of[g->first_touch[g->stripe_of[i] + 1]++] = c;
}

static int make_graph(struct cio_pattern *const *patterns, struct graph *g)
{
    uint32_t *at = malloc(g->nranks * sizeof(*at));
    uint32_t *room = malloc(((size_t)g->most + 1) * sizeof(*room));
    int rc = at && room ? 0 : -ENOMEM;

    if (!rc) {
        make_cells(patterns, g);
        fill_stripes(patterns, g, at, room);
        fill_touches(g);
    }
    free(room);
    free(at);
    return rc;
}

/* ---- ties ---- */

static float company_of(const struct graph *g, uint32_t from, uint32_t to)
{
    uint64_t sum = 0;

    for (uint32_t i = from; i < to; i++)
        sum += g->first_touch[g->stripe_of[i] + 1] - g->first_touch[g->stripe_of[i]];
    return to > from ? (float)sum / (float)(to - from) : 0;
}

static int by_company(const void *x, const void *y)
{
    const struct company *a = x, *b = y;

    if (a->mean > b->mean || a->mean < b->mean)
        return a->mean > b->mean ? -1 : 1;
    return a->rank < b->rank ? -1 : 1;
}

static void begin(struct state *s)
{
    const struct graph *g = &s->g;

    for (uint32_t r = 0; r < g->nranks; r++) {
        uint32_t from = g->cells[g->first_cell[r]].first;
        uint32_t to = g->cells[g->first_cell[r + 1]].first;

        s->left[r] = to - from;
        s->late[r] = g->first_cell[r];
        s->company[r] = (struct company){company_of(g, from, to), r};
    }
    qsort(s->company, g->nranks, sizeof(*s->company), by_company);
    for (uint32_t i = 0; i < g->nranks; i++)
        s->waiting[i] = s->company[i].rank;
    s->nwaiting = g->nranks;
}

/* A counting sort of those who wait, by what they have left; it keeps the order of company. */
static void sort_by_left(struct state *s)
{
    uint32_t most = 0;

    for (uint32_t i = 0; i < s->nwaiting; i++)
        most = s->left[s->waiting[i]] > most ? s->left[s->waiting[i]] : most;
    memset(s->upto, 0, ((size_t)most + 2) * sizeof(*s->upto));
    for (uint32_t i = 0; i < s->nwaiting; i++)
        s->upto[s->left[s->waiting[i]] + 1]++;
    for (uint32_t k = 0; k < most; k++)
        s->upto[k + 1] += s->upto[k];
    for (uint32_t i = 0; i < s->nwaiting; i++)
        s->turn[s->upto[s->left[s->waiting[i]]]++] = s->waiting[i];
}

/* ---- placing ---- */

static int is_late(const struct state *s, const struct cell *c, uint32_t now)
{
    return c->left > 0 && s->load[c->aggr] + c->left > now;
}

static int can_finish(struct state *s, uint32_t rank, uint32_t now)
{
    const struct graph *g = &s->g;

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
    s->placed[stripe] = 1;
    s->load[aggr]++;
    for (uint32_t i = s->g.first_touch[stripe]; i < s->g.first_touch[stripe + 1]; i++) {
        struct cell *c = &s->g.cells[s->g.cell_of[i]];

        c->left--;
        s->left[c->rank]--;
    }
}

static void place_process(struct state *s, uint32_t rank)
{
    const struct graph *g = &s->g;

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

/* From 0 on, since who touches nothing is finished then. */
static void rank_all(struct state *s, uint32_t *ranking)
{
    uint32_t steps = cio_order_steps(s->g.nranks, s->g.most), done = 0;

    begin(s);
    for (uint32_t now = 0; done < s->g.nranks; now += s->g.most / steps + 1)
        done += step(s, now, ranking + done);
}

int cio_order_first_finish(struct cio_pattern *const *patterns, int n, uint32_t *ranking)
{
    struct state s = {.g = {.nranks = 0}};
    int rc = measure(patterns, n, &s.g);

    if (rc)
        return rc;
    rc = allocate(&s);
    if (!rc)
        rc = make_graph(patterns, &s.g);
    if (!rc)
        rank_all(&s, ranking);
    release(&s);
    return rc;
}
