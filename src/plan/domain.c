/*
 * File domains in closed form. All four kinds divide a component into contiguous parts of whole
 * grains; within a part there is either one aggregator or a cycle of several.
 */
#include "plan/domain.h"

#include <errno.h>

#include "plan/extent.h"

struct part {
    int64_t first, last; /* grains, last included */
    int64_t lo, hi;      /* bytes, within the whole's [lo, hi); lo >= hi: none */
};

static int64_t ceil_div(int64_t a, int64_t b)
{
    return a / b + (a % b != 0);
}

static int spec_ok(const struct cio_domain_spec *s)
{
    return (unsigned)s->kind <= CIO_DOMAIN_GROUP_CYCLIC && s->naggr >= 1 && s->unit >= 1 &&
           s->lo >= 0 && s->lo <= s->hi && s->hi <= CIO_DOMAIN_OFFSET_MAX && s->stripe >= 0 &&
           s->stripe <= CIO_DOMAIN_OFFSET_MAX && s->stripe_count >= 0 &&
           (s->layout == NULL || cio_layout_check(s->layout) == NULL);
}

/* What one division is made of. */
struct piece {
    int64_t lo, hi;
    int64_t stripe; /* 0: unknown */
    int64_t count;  /* targets, >= 1 */
    int64_t cycle;  /* stripes until targets come in the same order again: count, or objects */
    int64_t most;   /* the largest count of all components */
    int shift;
};

/* Groups of `count` writers; 0: there are not enough for one. */
static int groups_of(int naggr, int64_t count, int64_t most)
{
    if (naggr < count)
        return 0;
    return (int)cio_max64(1, naggr / most);
}

static int is_cyclic(enum cio_domain_kind kind)
{
    return kind == CIO_DOMAIN_CYCLIC || kind == CIO_DOMAIN_GROUP_CYCLIC;
}

static void init_cycle(const struct cio_domain_spec *spec, const struct piece *piece,
                       struct cio_division *v)
{
    int groups = groups_of(spec->naggr, piece->count, piece->most);

    if (groups == 0) {
        v->parts = 1;
        v->writers = spec->naggr;
        v->cycle = piece->cycle;
    } else if (spec->kind == CIO_DOMAIN_CYCLIC && piece->cycle == piece->count) {
        v->parts = 1;
        v->writers = groups * (int)piece->count;
        v->cycle = v->writers;
    } else {
        v->parts = spec->kind == CIO_DOMAIN_CYCLIC ? 1 : groups;
        v->writers = (int)piece->count;
        v->cycle = piece->cycle;
    }
    v->rounds_per_grain = ceil_div(v->grain, v->unit);
}

static void init_division(const struct cio_domain_spec *spec, const struct piece *piece,
                          struct cio_division *v)
{
    int64_t grains;

    *v = (struct cio_division){.lo = piece->lo, .hi = piece->hi, .naggr = spec->naggr};
    v->unit = cio_min64(spec->unit, CIO_DOMAIN_OFFSET_MAX);
    v->grain = piece->stripe > 0 ? piece->stripe : v->unit;
    v->parts = spec->naggr;
    if (is_cyclic(spec->kind)) {
        v->shift = piece->shift;
        init_cycle(spec, piece, v);
    } else if (spec->kind == CIO_DOMAIN_EVEN) {
        v->grain = 1;
    } else {
        v->aligned = 1;
    }
    v->first = v->lo / v->grain;
    grains = v->lo < v->hi ? ceil_div(v->hi, v->grain) - v->first : 0;
    v->part_grains = grains / v->parts;
    v->longer_parts = grains % v->parts;
}

static struct part get_part(const struct cio_division *v, int j)
{
    int64_t n = v->part_grains + (j < v->longer_parts);
    int64_t first = v->first + j * v->part_grains + cio_min64(j, v->longer_parts);

    return (struct part){
        .first = first,
        .last = first + n - 1,
        .lo = cio_max64(v->lo, first * v->grain),
        .hi = n > 0 ? cio_min64(v->hi, (first + n) * v->grain) : 0,
    };
}

static int part_of(const struct cio_division *v, int64_t grain)
{
    int64_t i = grain - v->first;
    int64_t longer = v->longer_parts * (v->part_grains + 1);

    if (i < longer)
        return (int)(i / (v->part_grains + 1));
    return (int)(v->longer_parts + (i - longer) / v->part_grains);
}

/* Where position 0 of a part without cycles begins; it may be before the part. */
static int64_t origin(const struct cio_division *v, const struct part *p)
{
    return v->aligned ? p->lo - p->lo % v->unit : p->lo;
}

/* Grains of one whole cycle that go to writer w. */
static int64_t per_cycle(const struct cio_division *v, int w)
{
    return v->cycle / v->writers + (w < v->cycle % v->writers);
}

/* Of the grains with cycle-relative index 0..last, how many go to writer w. */
static int64_t in_cycle_up_to(const struct cio_division *v, int w, int64_t last)
{
    return last < w ? 0 : (last - w) / v->writers + 1;
}

static int64_t cyclic_positions(const struct cio_division *v, const struct part *p, int w)
{
    int64_t cycles = p->last / v->cycle - p->first / v->cycle;

    return (cycles * per_cycle(v, w) + in_cycle_up_to(v, w, p->last % v->cycle)) *
           v->rounds_per_grain;
}

/* The grain of writer w that position pos belongs to. */
static int64_t cyclic_grain(const struct cio_division *v, const struct part *p, int w, int64_t pos)
{
    int64_t i = pos / v->rounds_per_grain;
    int64_t cycle = p->first / v->cycle + i / per_cycle(v, w);

    return cycle * v->cycle + i % per_cycle(v, w) * v->writers + w;
}

static int64_t local_positions(const struct cio_division *v, int index)
{
    int j = v->writers ? index / v->writers : index;
    struct part p;

    if (j >= v->parts)
        return 0;
    p = get_part(v, j);
    if (p.lo >= p.hi)
        return 0;
    if (v->writers)
        return cyclic_positions(v, &p, index % v->writers);
    return ceil_div(p.hi - origin(v, &p), v->unit);
}

/* Not less than local_positions() of any index; in one cyclic part, that of the first writer. */
static int64_t most_positions(const struct cio_division *v)
{
    int64_t longest = v->part_grains + (v->longer_parts > 0);

    if (v->writers && v->parts == 1)
        return local_positions(v, 0);
    if (v->writers)
        return (longest / v->cycle + 2) * per_cycle(v, 0) * v->rounds_per_grain;
    return ceil_div(longest * v->grain, v->unit) + v->aligned;
}

static void local_range(const struct cio_division *v, int index, int64_t pos, int64_t *off,
                        int64_t *len)
{
    struct part p = get_part(v, v->writers ? index / v->writers : index);
    int64_t start, end;
    cio_extent round;

    if (v->writers) {
        start = cyclic_grain(v, &p, index % v->writers, pos) * v->grain;
        end = start + v->grain;
        start += pos % v->rounds_per_grain * v->unit;
    } else {
        start = origin(v, &p) + pos * v->unit;
        end = p.hi;
    }
    round = cio_extent_clip((cio_extent){start, cio_min64(v->unit, end - start)}, p.lo, p.hi);
    *off = round.off;
    *len = round.len;
}

static void local_locate(const struct cio_division *v, int64_t off, int *index, int64_t *pos,
                         int64_t *end)
{
    int64_t s = off / v->grain;
    int j = part_of(v, s);
    struct part p = get_part(v, j);
    int64_t start = v->writers ? s * v->grain : origin(v, &p);
    int64_t limit = v->writers ? start + v->grain : p.hi;
    int64_t round = (off - start) / v->unit;

    *index = j;
    *pos = round;
    *end = cio_min64(p.hi, cio_min64(limit, start + (round + 1) * v->unit));
    if (v->writers) {
        int64_t i = s % v->cycle;
        int w = (int)(i % v->writers);
        int64_t cycles = s / v->cycle - p.first / v->cycle;

        *index = j * v->writers + w;
        *pos += (cycles * per_cycle(v, w) + i / v->writers) * v->rounds_per_grain;
    }
}

/* Stripes in a cycle, as far as writers are concerned. */
static int64_t count_of(const struct cio_domain_spec *spec, int i)
{
    int64_t count = spec->layout->component[i].targets;

    return count > 0 ? count : spec->naggr;
}

/* Where there are several objects on some targets, and one less on others. */
static int64_t cycle_of(const struct cio_domain_spec *spec, int i)
{
    const struct cio_component *c = &spec->layout->component[i];

    return c->count > 0 && c->count % c->targets != 0 ? c->count : count_of(spec, i);
}

static int64_t end_of(const struct cio_layout *l, int i)
{
    return i == l->n - 1 ? CIO_DOMAIN_OFFSET_MAX : l->component[i].end;
}

/* Aggregators that a component has to itself before the next one's follow, in turn. */
static int writers_of(const struct cio_domain_spec *spec, const struct piece *piece)
{
    int groups = groups_of(spec->naggr, piece->count, piece->most);

    return groups == 0 ? spec->naggr : groups * (int)piece->count;
}

static void add_division(const struct cio_domain_spec *spec, const struct piece *piece,
                         struct cio_domains *d)
{
    struct cio_division *v = &d->division[d->n++];

    init_division(spec, piece, v);
    v->base = d->positions;
    d->positions += most_positions(v);
}

static void init_components(const struct cio_domain_spec *spec, struct cio_domains *d)
{
    const struct cio_layout *l = spec->layout;
    int first = cio_layout_find(l, spec->lo);
    int last = cio_layout_find(l, cio_max64(spec->lo, spec->hi - 1));
    struct piece piece = {.lo = spec->lo, .hi = spec->lo};

    for (int i = 0; i < l->n; i++)
        piece.most = cio_max64(piece.most, count_of(spec, i));
    for (int i = 0; i <= last; i++) {
        piece.stripe = l->component[i].stripe;
        piece.count = count_of(spec, i);
        piece.cycle = cycle_of(spec, i);
        if (i >= first) {
            piece.lo = piece.hi;
            piece.hi = cio_min64(spec->hi, end_of(l, i));
            add_division(spec, &piece, d);
        }
        piece.shift = (int)(((int64_t)piece.shift + writers_of(spec, &piece)) % spec->naggr);
    }
}

static void init_plain(const struct cio_domain_spec *spec, struct cio_domains *d)
{
    int64_t count = spec->stripe_count > 0 ? spec->stripe_count : spec->naggr;
    struct piece piece = {.lo = spec->lo,
                          .hi = spec->hi,
                          .stripe = spec->stripe,
                          .count = count,
                          .cycle = count,
                          .most = count};

    init_division(spec, &piece, &d->division[0]);
    d->n = 1;
}

int cio_domains_init(const struct cio_domain_spec *spec, struct cio_domains *d)
{
    if (!spec_ok(spec))
        return -EINVAL;
    d->unit = cio_min64(spec->unit, CIO_DOMAIN_OFFSET_MAX);
    d->n = 0;
    d->positions = 0;
    if (spec->layout != NULL && spec->layout->n > 0)
        init_components(spec, d);
    else
        init_plain(spec, d);
    return 0;
}

int cio_domains_is_cyclic(const struct cio_domains *d)
{
    return d->n == 1 && d->division[0].writers > 1;
}

static int index_of(const struct cio_division *v, int aggr)
{
    return aggr >= v->shift ? aggr - v->shift : aggr + (v->naggr - v->shift);
}

static const struct cio_division *division_of_position(const struct cio_domains *d, int64_t pos)
{
    int lo = 0, hi = d->n - 1;

    while (lo < hi) {
        int mid = lo + (hi - lo + 1) / 2;

        if (d->division[mid].base <= pos)
            lo = mid;
        else
            hi = mid - 1;
    }
    return &d->division[lo];
}

static const struct cio_division *division_of_offset(const struct cio_domains *d, int64_t off)
{
    int lo = 0, hi = d->n - 1;

    while (lo < hi) {
        int mid = lo + (hi - lo) / 2;

        if (off < d->division[mid].hi)
            hi = mid;
        else
            lo = mid + 1;
    }
    return &d->division[lo];
}

int64_t cio_domains_positions(const struct cio_domains *d, int aggr)
{
    if (d->n > 1)
        return d->positions;
    return local_positions(&d->division[0], index_of(&d->division[0], aggr));
}

void cio_domains_range(const struct cio_domains *d, int aggr, int64_t pos, int64_t *off,
                       int64_t *len)
{
    const struct cio_division *v = division_of_position(d, pos);
    int index = index_of(v, aggr);

    pos -= v->base;
    if (d->n > 1 && pos >= local_positions(v, index)) {
        *off = v->hi;
        *len = 0;
        return;
    }
    local_range(v, index, pos, off, len);
}

void cio_domains_locate(const struct cio_domains *d, int64_t off, int *aggr, int64_t *pos,
                        int64_t *end)
{
    const struct cio_division *v = division_of_offset(d, off);
    int index;

    local_locate(v, off, &index, pos, end);
    *aggr = index < v->naggr - v->shift ? index + v->shift : index - (v->naggr - v->shift);
    *pos += v->base;
}
