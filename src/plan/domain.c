/*
 * File domains in closed form. All four kinds are contiguous parts of whole grains; within a part
 * there is either one aggregator or a cycle of several.
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
           s->stripe <= CIO_DOMAIN_OFFSET_MAX && s->stripe_count >= 0;
}

static void init_cycle(const struct cio_domain_spec *spec, struct cio_domains *d)
{
    int64_t count = spec->stripe_count > 0 ? spec->stripe_count : spec->naggr;
    int groups = (int)(spec->naggr / count);

    if (groups == 0) {
        d->parts = 1;
        d->writers = spec->naggr;
        d->cycle = count;
    } else if (spec->kind == CIO_DOMAIN_CYCLIC) {
        d->parts = 1;
        d->writers = groups * (int)count;
        d->cycle = d->writers;
    } else {
        d->parts = groups;
        d->writers = (int)count;
        d->cycle = count;
    }
    d->rounds_per_grain = ceil_div(d->grain, d->unit);
}

int cio_domains_init(const struct cio_domain_spec *spec, struct cio_domains *d)
{
    int64_t grains;

    if (!spec_ok(spec))
        return -EINVAL;
    *d = (struct cio_domains){.lo = spec->lo, .hi = spec->hi};
    d->unit = cio_min64(spec->unit, CIO_DOMAIN_OFFSET_MAX);
    d->grain = spec->stripe > 0 ? spec->stripe : d->unit;
    d->parts = spec->naggr;
    switch (spec->kind) {
    case CIO_DOMAIN_EVEN:
        d->grain = 1;
        break;
    case CIO_DOMAIN_ALIGNED:
        d->aligned = 1;
        break;
    case CIO_DOMAIN_CYCLIC:
    case CIO_DOMAIN_GROUP_CYCLIC:
        init_cycle(spec, d);
        break;
    }
    d->first = d->lo / d->grain;
    grains = d->lo < d->hi ? ceil_div(d->hi, d->grain) - d->first : 0;
    d->part_grains = grains / d->parts;
    d->longer_parts = grains % d->parts;
    return 0;
}

static struct part get_part(const struct cio_domains *d, int j)
{
    int64_t n = d->part_grains + (j < d->longer_parts);
    int64_t first = d->first + j * d->part_grains + cio_min64(j, d->longer_parts);

    return (struct part){
        .first = first,
        .last = first + n - 1,
        .lo = cio_max64(d->lo, first * d->grain),
        .hi = n > 0 ? cio_min64(d->hi, (first + n) * d->grain) : 0,
    };
}

static int part_of(const struct cio_domains *d, int64_t grain)
{
    int64_t i = grain - d->first;
    int64_t longer = d->longer_parts * (d->part_grains + 1);

    if (i < longer)
        return (int)(i / (d->part_grains + 1));
    return (int)(d->longer_parts + (i - longer) / d->part_grains);
}

/* Where position 0 of a part without cycles begins; it may be before the part. */
static int64_t origin(const struct cio_domains *d, const struct part *p)
{
    return d->aligned ? p->lo - p->lo % d->unit : p->lo;
}

/* Grains of one whole cycle that go to writer w. */
static int64_t per_cycle(const struct cio_domains *d, int w)
{
    return d->cycle / d->writers + (w < d->cycle % d->writers);
}

/* Of the grains with cycle-relative index 0..last, how many go to writer w. */
static int64_t in_cycle_up_to(const struct cio_domains *d, int w, int64_t last)
{
    return last < w ? 0 : (last - w) / d->writers + 1;
}

static int64_t cyclic_positions(const struct cio_domains *d, const struct part *p, int w)
{
    int64_t cycles = p->last / d->cycle - p->first / d->cycle;

    return (cycles * per_cycle(d, w) + in_cycle_up_to(d, w, p->last % d->cycle)) *
           d->rounds_per_grain;
}

/* The grain of writer w that position pos belongs to. */
static int64_t cyclic_grain(const struct cio_domains *d, const struct part *p, int w, int64_t pos)
{
    int64_t i = pos / d->rounds_per_grain;
    int64_t cycle = p->first / d->cycle + i / per_cycle(d, w);

    return cycle * d->cycle + i % per_cycle(d, w) * d->writers + w;
}

int64_t cio_domains_positions(const struct cio_domains *d, int aggr)
{
    int j = d->writers ? aggr / d->writers : aggr;
    struct part p;

    if (j >= d->parts)
        return 0;
    p = get_part(d, j);
    if (p.lo >= p.hi)
        return 0;
    if (d->writers)
        return cyclic_positions(d, &p, aggr % d->writers);
    return ceil_div(p.hi - origin(d, &p), d->unit);
}

void cio_domains_range(const struct cio_domains *d, int aggr, int64_t pos, int64_t *off,
                       int64_t *len)
{
    struct part p = get_part(d, d->writers ? aggr / d->writers : aggr);
    int64_t start, end;
    cio_extent round;

    if (d->writers) {
        start = cyclic_grain(d, &p, aggr % d->writers, pos) * d->grain;
        end = start + d->grain;
        start += pos % d->rounds_per_grain * d->unit;
    } else {
        start = origin(d, &p) + pos * d->unit;
        end = p.hi;
    }
    round = cio_extent_clip((cio_extent){start, cio_min64(d->unit, end - start)}, p.lo, p.hi);
    *off = round.off;
    *len = round.len;
}

void cio_domains_locate(const struct cio_domains *d, int64_t off, int *aggr, int64_t *pos,
                        int64_t *end)
{
    int64_t s = off / d->grain;
    int j = part_of(d, s);
    struct part p = get_part(d, j);
    int64_t start = d->writers ? s * d->grain : origin(d, &p);
    int64_t limit = d->writers ? start + d->grain : p.hi;
    int64_t round = (off - start) / d->unit;

    *aggr = j;
    *pos = round;
    *end = cio_min64(p.hi, cio_min64(limit, start + (round + 1) * d->unit));
    if (d->writers) {
        int64_t i = s % d->cycle;
        int w = (int)(i % d->writers);
        int64_t cycles = s / d->cycle - p.first / d->cycle;

        *aggr = j * d->writers + w;
        *pos += (cycles * per_cycle(d, w) + i / d->writers) * d->rounds_per_grain;
    }
}
