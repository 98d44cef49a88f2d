/*
 * Rounds in the order in which they are served: every byte is in exactly one of them, where it is
 * said to be, whether aggregators begin at the same place or not.
 */
#include "exec/rounds.h"

#include <stdio.h>
#include <stdlib.h>

#include "../plan/check.h"

static void check_unit(const struct cio_rounds *r, int64_t t, int64_t *bytes)
{
    int64_t off, len, begin, end;

    cio_rounds_range(r, t, &off, &len);
    *bytes += len;
    if (len == 0)
        return;
    CHECK(cio_rounds_locate(r, off, &begin, &end) == t);
    CHECK(begin == off && end == off + len);
    CHECK(cio_rounds_locate(r, off + len - 1, &begin, &end) == t);
    CHECK(begin == off && end == off + len);
}

static void check_rounds(const struct cio_domain_spec *spec, int skip)
{
    struct cio_domains d;
    struct cio_rounds r;
    int64_t bytes = 0;

    CHECK(cio_domains_init(spec, &d) == 0);
    cio_rounds_init(&d, spec->naggr, &r);
    r.staggered = skip >= 0;
    r.skip = skip >= 0 ? skip : 0;
    for (int64_t t = 0; t < r.units; t++)
        check_unit(&r, t, &bytes);
    CHECK(bytes == spec->hi - spec->lo);
}

static void every_byte_has_its_place(uint64_t *rnd)
{
    for (int i = 0; i < 3000; i++) {
        struct cio_domain_spec spec = {.kind = (enum cio_domain_kind)check_between(
                                           rnd, CIO_DOMAIN_EVEN, CIO_DOMAIN_GROUP_CYCLIC),
                                       .lo = check_between(rnd, 0, 500),
                                       .naggr = (int)check_between(rnd, 1, 9),
                                       .stripe = check_between(rnd, 1, 64),
                                       .stripe_count = check_between(rnd, 0, 11),
                                       .unit = check_between(rnd, 1, 64)};

        spec.hi = spec.lo + check_between(rnd, 0, 2000);
        check_rounds(&spec, (int)check_between(rnd, -1, 10));
    }
}

/* Units whose bit is set, one after the other. */
static void units_are_found(uint64_t *rnd)
{
    for (int i = 0; i < 300; i++) {
        struct cio_domain_spec spec = {.kind = CIO_DOMAIN_CYCLIC,
                                       .naggr = (int)check_between(rnd, 1, 9),
                                       .stripe = 10,
                                       .unit = 10};
        int64_t rare = check_between(rnd, 1, 500), t = 0;
        struct cio_domains d;
        struct cio_rounds r;
        uint64_t *bits;

        spec.hi = check_between(rnd, 1, 30000);
        CHECK(cio_domains_init(&spec, &d) == 0);
        cio_rounds_init(&d, spec.naggr, &r);
        bits = calloc(cio_rounds_words(&r), sizeof(*bits));
        for (int64_t u = 0; u < r.units; u++)
            if (check_between(rnd, 0, rare) == 0)
                cio_bits_set(bits, cio_rounds_bit(&r, u));
        for (int64_t u = 0; u < r.units; u++)
            if (cio_bits_test(bits, cio_rounds_bit(&r, u))) {
                CHECK(cio_rounds_next(&r, bits, t) == u);
                t = u + 1;
            }
        CHECK(cio_rounds_next(&r, bits, t) == r.units);
        free(bits);
    }
}

/* Which stripe an aggregator serves first. */
static int64_t first_stripe(const struct cio_rounds *r, int aggr)
{
    int64_t off, len;

    cio_rounds_range(r, aggr, &off, &len);
    return off / 10;
}

/* The picture in rounds.h: 32 stripes, 4 aggregators. */
static void aggregators_begin_apart(void)
{
    struct cio_domain_spec spec = {.kind = CIO_DOMAIN_CYCLIC,
                                   .hi = 320,
                                   .naggr = 4,
                                   .stripe = 10,
                                   .stripe_count = 4,
                                   .unit = 10};
    struct cio_domains d;
    struct cio_rounds r;

    CHECK(cio_domains_init(&spec, &d) == 0 && cio_domains_is_cyclic(&d));
    cio_rounds_init(&d, 4, &r);
    for (int a = 0; a < 4; a++)
        CHECK(first_stripe(&r, a) == a);
    r.staggered = 1;
    for (int a = 0; a < 4; a++)
        CHECK(first_stripe(&r, a) == 2 * a * 4 + a);
    r.skip = 1;
    for (int a = 0; a < 4; a++)
        CHECK(first_stripe(&r, a) == 2 * ((a + 1) % 4) * 4 + a);
    spec.kind = CIO_DOMAIN_ALIGNED;
    CHECK(cio_domains_init(&spec, &d) == 0 && !cio_domains_is_cyclic(&d));
}

int main(int argc, char **argv)
{
    uint64_t seed = argc > 1 ? strtoull(argv[1], NULL, 10) : 1, rnd = seed;

    printf("seed %llu\n", (unsigned long long)seed);
    every_byte_has_its_place(&rnd);
    units_are_found(&rnd);
    aggregators_begin_apart();
    return check_done("rounds");
}
