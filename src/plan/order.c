/*
 * The paper's orders. Scores are sums of integers, so that they do not depend on the order of
 * summation and ties are ties: a process on c positions weighs UNIT / c. UNIT is the least common
 * multiple of 1 .. 30, so that these are exact for counts up to 30, and as good as a double's for
 * larger ones; 2^64 / UNIT is 7.9 million processes on one position.
 */
#include "plan/order.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define UNIT 2329089562800u

struct scored {
    uint64_t score;
    uint64_t local;  /* and, where that is the same, the score of LW-MDF, */
    uint32_t degree; /* then how many processes touch it */
    uint32_t pos;
};

static int by_score(const void *x, const void *y)
{
    const struct scored *a = x, *b = y;

    if (a->score != b->score)
        return a->score > b->score ? -1 : 1;
    if (a->local != b->local)
        return a->local > b->local ? -1 : 1;
    if (a->degree != b->degree)
        return a->degree > b->degree ? -1 : 1;
    return a->pos < b->pos ? -1 : 1;
}

static uint64_t weight_of(uint32_t count)
{
    return (UNIT + count / 2) / count;
}

static void add_scores(const struct cio_pattern *p, const struct cio_pattern_row *row,
                       uint64_t weight, uint32_t *room, struct scored *s)
{
    const uint32_t *pos = cio_pattern_positions(p, row, room);
    uint64_t local = weight_of(row->count);

    for (uint32_t i = 0; i < row->count; i++) {
        s[pos[i]].score += weight;
        s[pos[i]].local += local;
        s[pos[i]].degree++;
    }
}

typedef uint64_t weight_fn(const struct cio_pattern_row *row, const uint32_t *busiest);

static int order_by_weight(const struct cio_pattern *p, weight_fn *weight, const uint32_t *busiest,
                           uint32_t *order)
{
    struct scored *s = calloc((size_t)p->npos + 1, sizeof(*s));
    uint32_t *room = malloc(((size_t)p->npos + 1) * sizeof(*room));
    int rc = s && room ? 0 : -ENOMEM;

    if (!rc) {
        for (uint32_t i = 0; i < p->npos; i++)
            s[i].pos = i;
        for (int i = 0; i < p->rows; i++)
            add_scores(p, &p->row[i], weight(&p->row[i], busiest), room, s);
        qsort(s, p->npos, sizeof(*s), by_score);
        for (uint32_t i = 0; i < p->npos; i++)
            order[i] = s[i].pos;
    }
    free(room);
    free(s);
    return rc;
}

static uint64_t equal_weight(const struct cio_pattern_row *row, const uint32_t *busiest)
{
    (void)row, (void)busiest;
    return 1;
}

static uint64_t local_weight(const struct cio_pattern_row *row, const uint32_t *busiest)
{
    (void)busiest;
    return weight_of(row->count);
}

static uint64_t global_weight(const struct cio_pattern_row *row, const uint32_t *busiest)
{
    uint32_t most = busiest[row->rank];

    return weight_of(most > row->count ? most : row->count);
}

int cio_order_mdf(const struct cio_pattern *p, uint32_t *order)
{
    return order_by_weight(p, equal_weight, NULL, order);
}

int cio_order_lw_mdf(const struct cio_pattern *p, uint32_t *order)
{
    return order_by_weight(p, local_weight, NULL, order);
}

int cio_order_gw_mdf(const struct cio_pattern *p, const uint32_t *busiest, uint32_t *order)
{
    return order_by_weight(p, global_weight, busiest, order);
}

void cio_order_busiest(const struct cio_pattern *p, uint32_t *busiest)
{
    for (int i = 0; i < p->rows; i++)
        if (p->row[i].count > busiest[p->row[i].rank])
            busiest[p->row[i].rank] = p->row[i].count;
}

/* What ranks that come one after the other put into an order. */
struct filling {
    char *placed;
    uint32_t *room, *order, n;
};

static void place_row(const struct cio_pattern *p, const struct cio_pattern_row *row,
                      struct filling *f)
{
    const uint32_t *pos = row ? cio_pattern_positions(p, row, f->room) : NULL;

    for (uint32_t i = 0; row && i < row->count; i++) {
        if (f->placed[pos[i]])
            continue;
        f->placed[pos[i]] = 1;
        f->order[f->n++] = pos[i];
    }
}

int cio_order_by_process(const struct cio_pattern *p, const uint32_t *ranking, uint32_t *order)
{
    struct filling f = {.order = order};
    int rc = 0;

    f.placed = calloc((size_t)p->npos + 1, 1);
    f.room = malloc(((size_t)p->npos + 1) * sizeof(*f.room));
    if (!f.placed || !f.room)
        rc = -ENOMEM;
    for (int i = 0; !rc && i < p->nranks; i++)
        place_row(p, cio_pattern_row_of(p, (int)ranking[i]), &f);
    for (uint32_t i = 0; !rc && i < p->npos; i++)
        if (!f.placed[i])
            order[f.n++] = i;
    free(f.room);
    free(f.placed);
    return rc;
}
