/* The graph of processes and stripes, from the patterns of all aggregators. */
#include "plan/graph.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Cells and touches of one aggregator. */
static void count_rows(const struct cio_pattern *p, const struct cio_graph *g, uint64_t *cells,
                       uint64_t *touches)
{
    for (int i = 0; i < p->rows; i++)
        if (cio_graph_waits(g, (uint32_t)p->row[i].rank)) {
            (*cells)++;
            *touches += p->row[i].count;
        }
}

static int measure(struct cio_pattern *const *patterns, int n, struct cio_graph *g)
{
    uint64_t stripes = 0, touches = 0, cells = 0;

    for (int a = 0; a < n; a++) {
        if (patterns[a]->nranks != patterns[0]->nranks)
            return -EINVAL;
        stripes += patterns[a]->npos;
        count_rows(patterns[a], g, &cells, &touches);
        g->most = patterns[a]->npos > g->most ? patterns[a]->npos : g->most;
    }
    if (stripes >= UINT32_MAX || touches > CIO_GRAPH_TOUCHES)
        return -ENOMEM;
    g->nranks = (uint32_t)patterns[0]->nranks;
    for (uint32_t r = 0; r < g->nranks; r++)
        g->nwait += cio_graph_waits(g, r) ? 1 : 0;
    g->naggr = (uint32_t)n;
    g->nstripes = (uint32_t)stripes;
    g->ntouches = (uint32_t)touches;
    g->ncells = (uint32_t)cells;
    return 0;
}

static int allocate(struct cio_graph *g)
{
    g->first_cell = calloc((size_t)g->nranks + 2, sizeof(*g->first_cell));
    g->cells = malloc(((size_t)g->ncells + 1) * sizeof(*g->cells));
    g->stripe_of = malloc(((size_t)g->ntouches + 1) * sizeof(*g->stripe_of));
    g->first_touch = calloc((size_t)g->nstripes + 2, sizeof(*g->first_touch));
    g->cell_of = malloc(((size_t)g->ntouches + 1) * sizeof(*g->cell_of));
    if (!g->first_cell || !g->cells || !g->stripe_of || !g->first_touch || !g->cell_of)
        return -ENOMEM;
    return 0;
}

/* From counts at x[i + 2] of what i has: x[i + 1] is then where i begins. x[0] and x[1] are 0. */
static void accumulate(uint32_t *x, uint32_t n)
{
    for (uint32_t i = 1; i <= n; i++)
        x[i + 1] += x[i];
}

/* Cells of each process, by aggregator. Filling them in moves first_cell[p + 1] to the end of p. */
static void make_cells(struct cio_pattern *const *patterns, struct cio_graph *g)
{
    uint32_t touch = 0;

    for (uint32_t a = 0; a < g->naggr; a++)
        for (int i = 0; i < patterns[a]->rows; i++)
            if (cio_graph_waits(g, (uint32_t)patterns[a]->row[i].rank))
                g->first_cell[patterns[a]->row[i].rank + 2]++;
    accumulate(g->first_cell, g->nranks);
    for (uint32_t a = 0; a < g->naggr; a++)
        for (int i = 0; i < patterns[a]->rows; i++) {
            uint32_t rank = (uint32_t)patterns[a]->row[i].rank;

            if (!cio_graph_waits(g, rank))
                continue;
            g->cells[g->first_cell[rank + 1]++] =
                (struct cio_cell){.left = patterns[a]->row[i].count, .aggr = a, .rank = rank};
        }
    for (uint32_t c = 0; c < g->ncells; c++) {
        g->cells[c].first = touch;
        touch += g->cells[c].left;
    }
    g->cells[g->ncells].first = touch;
}

/* The stripes of every cell; at[p]: the cell of p at this aggregator. */
static void fill_stripes(struct cio_pattern *const *patterns, struct cio_graph *g, uint32_t *at,
                         uint32_t *room)
{
    uint32_t base = 0;

    memcpy(at, g->first_cell, g->nranks * sizeof(*at));
    for (uint32_t a = 0; a < g->naggr; a++) {
        for (int i = 0; i < patterns[a]->rows; i++) {
            const struct cio_pattern_row *row = &patterns[a]->row[i];
            const uint32_t *pos;
            uint32_t *to;

            if (!cio_graph_waits(g, (uint32_t)row->rank))
                continue;
            pos = cio_pattern_positions(patterns[a], row, room);
            to = g->stripe_of + g->cells[at[row->rank]++].first;
            for (uint32_t k = 0; k < row->count; k++) {
                to[k] = base + pos[k];
                g->first_touch[to[k] + 2]++;
            }
        }
        base += patterns[a]->npos;
    }
}

/* The other direction, in the same way as make_cells(). */
static void fill_touches(struct cio_graph *g)
{
    accumulate(g->first_touch, g->nstripes);
    for (uint32_t c = 0; c < g->ncells; c++)
        for (uint32_t i = g->cells[c].first; i < g->cells[c + 1].first; i++)
            g->cell_of[g->first_touch[g->stripe_of[i] + 1]++] = c;
}

static int fill(struct cio_pattern *const *patterns, struct cio_graph *g)
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

int cio_graph_create(struct cio_pattern *const *patterns, int n, const uint8_t *leaving,
                     struct cio_graph **out)
{
    struct cio_graph *g = calloc(1, sizeof(*g));
    int rc = -ENOMEM;

    if (g) {
        g->leaving = leaving;
        rc = measure(patterns, n, g);
    }
    if (!rc)
        rc = allocate(g);
    if (!rc)
        rc = fill(patterns, g);
    if (rc)
        cio_graph_destroy(g);
    else
        *out = g;
    return rc;
}

void cio_graph_destroy(struct cio_graph *g)
{
    if (!g)
        return;
    free(g->cell_of);
    free(g->first_touch);
    free(g->stripe_of);
    free(g->cells);
    free(g->first_cell);
    free(g);
}
