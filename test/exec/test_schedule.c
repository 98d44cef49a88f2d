/*
 * With every order of stripes: aggregators access the file in the order that plan/schedule.h says,
 * computed here from the requests; what is predicted and counted is what is told; and `automatic`
 * takes an order where waiting is worth it, and none where it is not. Usage: [CASES [SEED]]
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../plan/check.h"
#include "plan/bits.h"
#include "plan/schedule.h"
#include "world.h"

enum { STRIPE = 256, MOST_STRIPES = 80, MOST_RANKS = 12, PIECE = STRIPE / MOST_RANKS };

struct scene {
    struct world world;
    int ranks, naggr, stripes;
    char touches[MOST_RANKS][MOST_STRIPES];
    struct cio_pattern *pattern[MOST_RANKS]; /* per aggregator */
    uint32_t npos;
};

/* ---- a store that notes which stripes are accessed, one after the other at each aggregator ----
 */

struct recorder {
    struct cio_store store;
    struct cio_store *below;
    int naggr;
    int n[MOST_RANKS];
    int64_t stripe[MOST_RANKS][MOST_STRIPES];
};

static void note(struct cio_store *s, int64_t off)
{
    struct recorder *r = (struct recorder *)s;
    int64_t stripe = off / STRIPE;
    int a = (int)(stripe % r->naggr);

    if (r->n[a] > 0 && r->stripe[a][r->n[a] - 1] == stripe)
        return;
    if (CHECK(r->n[a] < MOST_STRIPES))
        r->stripe[a][r->n[a]++] = stripe;
}

static int recorder_write(struct cio_store *s, const void *buf, int64_t len, int64_t off)
{
    note(s, off);
    return cio_store_write(((struct recorder *)s)->below, buf, len, off);
}

static int recorder_read(struct cio_store *s, void *buf, int64_t len, int64_t off)
{
    note(s, off);
    return cio_store_read(((struct recorder *)s)->below, buf, len, off);
}

static int recorder_lock(struct cio_store *s, int64_t off, int64_t len)
{
    return cio_store_lock(((struct recorder *)s)->below, off, len);
}

static void recorder_unlock(struct cio_store *s, int64_t off, int64_t len)
{
    cio_store_unlock(((struct recorder *)s)->below, off, len);
}

static const struct cio_store_ops recorder_ops = {.write = recorder_write,
                                                  .read = recorder_read,
                                                  .lock = recorder_lock,
                                                  .unlock = recorder_unlock};

/* ---- requests: a rank has a piece of its own in every stripe that it touches ---- */

static void make_touches(struct scene *s, uint64_t *rnd)
{
    for (int r = 0; r < s->ranks; r++) {
        int64_t often = check_between(rnd, 0, 5);

        for (int i = 0; i < s->stripes; i++)
            s->touches[r][i] = check_between(rnd, 0, 9) < often;
    }
    s->touches[0][0] = s->touches[s->ranks - 1][s->stripes - 1] = 1;
}

static void make_request(struct scene *s, int r, int write)
{
    int64_t off[MOST_STRIPES], len[MOST_STRIPES], zero = 0, size = 0;
    struct cio_flat *view, *mem;
    size_t n = 0;

    s->world.request[r] = (struct cio_request){.write = write};
    for (int i = 0; i < s->stripes; i++) {
        if (!s->touches[r][i])
            continue;
        off[n] = (int64_t)i * STRIPE + r * PIECE;
        len[n++] = PIECE;
        size += PIECE;
    }
    if (n == 0)
        return;
    if (cio_flat_create(off, len, n, (int64_t)s->stripes * STRIPE, &view) != 0 ||
        cio_flat_create(&zero, &size, 1, size, &mem) != 0)
        exit(1);
    s->world.request[r] = (struct cio_request){
        .write = write, .file = view, .mem = mem, .bytes = size, .buf = calloc(1, (size_t)size)};
    memset(s->world.request[r].buf, r + 1, (size_t)size);
}

static void free_requests(struct scene *s)
{
    for (int r = 0; r < s->ranks; r++) {
        cio_flat_destroy((struct cio_flat *)s->world.request[r].file);
        cio_flat_destroy((struct cio_flat *)s->world.request[r].mem);
        free(s->world.request[r].buf);
    }
}

static void make_patterns(struct scene *s)
{
    s->npos = (uint32_t)((s->stripes + s->naggr - 1) / s->naggr);
    for (int a = 0; a < s->naggr; a++) {
        CHECK(cio_pattern_create(s->ranks, s->npos, &s->pattern[a]) == 0);
        for (int r = 0; r < s->ranks; r++) {
            uint64_t bits[MOST_STRIPES / 64 + 1] = {0};

            for (int i = a; i < s->stripes; i += s->naggr)
                if (s->touches[r][i])
                    cio_bits_set(bits, i / s->naggr);
            CHECK(cio_pattern_add(s->pattern[a], r, bits) == 0);
        }
    }
}

static void scene_create(struct scene *s, uint64_t seed)
{
    uint64_t rnd = seed;
    int node_of[MOST_RANKS], nodes, groups, naggr;

    memset(s, 0, sizeof(*s));
    s->ranks = (int)check_between(&rnd, 1, MOST_RANKS);
    s->stripes = (int)check_between(&rnd, 1, MOST_STRIPES);
    nodes = (int)check_between(&rnd, 1, s->ranks < 3 ? s->ranks : 3);
    for (int r = 0; r < s->ranks; r++)
        node_of[r] = r * nodes / s->ranks;
    groups = (int)check_between(&rnd, 1, 3);
    naggr = (int)check_between(&rnd, 1, s->ranks);
    world_create(&s->world, s->ranks, node_of, groups, naggr, seed);
    s->naggr = s->world.naggr;
    s->world.settings.domain = CIO_DOMAIN_CYCLIC;
    s->world.settings.unit = s->world.settings.stripe = STRIPE;
    s->world.settings.depth = 1;
    s->world.settings.early = 1;
    s->world.settings.transport = (enum cio_transport)check_between(&rnd, 0, 2);
    s->world.settings.tag = 100;
    s->world.settings.memory_limit = check_between(&rnd, 0, 1) == 0 ? 1 : 1 << 20;
    make_touches(s, &rnd);
    make_patterns(s);
}

static void scene_destroy(struct scene *s)
{
    for (int a = 0; a < s->naggr; a++)
        cio_pattern_destroy(s->pattern[a]);
    world_destroy(&s->world);
}

/* ---- what must come out ---- */

static int is_touched(const struct scene *s, int64_t stripe)
{
    for (int r = 0; stripe < s->stripes && r < s->ranks; r++)
        if (s->touches[r][stripe])
            return 1;
    return 0;
}

/* Whether an aggregator had the order of a plan. */
static int has_order(const struct scene *s, const struct recorder *rec, int a,
                     const struct cio_schedule_plan *plan)
{
    uint32_t order[MOST_STRIPES];
    int n = 0, same = 1;

    CHECK(cio_schedule_order(plan, s->pattern[a], order) == 0);
    for (uint32_t i = 0; i < s->npos; i++) {
        int64_t stripe = (int64_t)order[i] * s->naggr + a;

        if (!is_touched(s, stripe))
            continue;
        same &= n < rec->n[a] && rec->stripe[a][n] == stripe;
        n++;
    }
    return same && n == rec->n[a];
}

static int64_t sum(const struct world *w, enum cio_count c)
{
    int64_t n = 0;

    for (int r = 0; r < w->size; r++)
        n += w->stats[r].count[c];
    return n;
}

static int is_about(double x, double y)
{
    return x > y - 1e-9 && x < y + 1e-9;
}

/* Whether all ranks tell of this plan. */
static int is_told(const struct scene *s, const struct cio_schedule_plan *plan)
{
    int explained =
        s->world.settings.explain || s->world.settings.schedule == CIO_SCHEDULE_AUTOMATIC;

    for (int r = 0; r < s->ranks; r++) {
        const struct cio_stats *stats = &s->world.stats[r];

        if (stats->schedule != plan->kind || stats->schedule_why == NULL)
            return 0;
        if (explained && (!is_about(stats->predicted, plan->chosen.mean) ||
                          !is_about(stats->predicted_offset, plan->offset.mean)))
            return 0;
    }
    return 1;
}

static void check_touches(const struct scene *s)
{
    int64_t touches = 0;

    for (int a = 0; a < s->naggr; a++)
        touches += s->pattern[a]->touches;
    CHECK(sum(&s->world, CIO_COUNT_TOUCHES) == touches);
}

/* How many ranks touch one stripe, at most. */
static void check_degree(const struct scene *s)
{
    int64_t most = 0, told = 0;

    for (int i = 0; i < s->stripes; i++) {
        int64_t degree = 0;

        for (int r = 0; r < s->ranks; r++)
            degree += s->touches[r][i] != 0;
        most = cio_max64(most, degree);
    }
    for (int r = 0; r < s->ranks; r++)
        told = cio_max64(told, s->world.stats[r].count[CIO_COUNT_DEGREE]);
    CHECK(told == most);
}

static int run(struct scene *s, struct recorder *rec, int write)
{
    struct cio_store *real = s->world.store;
    int rc;

    *rec = (struct recorder){.store = {.ops = &recorder_ops}, .below = real, .naggr = s->naggr};
    for (int r = 0; r < s->ranks; r++)
        make_request(s, r, write);
    s->world.store = &rec->store;
    rc = world_run(&s->world);
    s->world.store = real;
    free_requests(s);
    for (int r = 0; rc == 0 && r < s->ranks; r++)
        rc = s->world.error[r];
    return rc;
}

/* A pace at which every order is worth its cost, or none is. */
static void set_pace(struct world *w, int64_t ns)
{
    for (int r = 0; r < w->size; r++)
        w->pace[r] = (struct cio_pace){.ns = {ns, ns}};
}

#define SLOW ((int64_t)1 << 45)

/* Whether the last run was what the planner says, members of groups leaving at once or not. */
static int is_as_planned(struct scene *s, const struct recorder *rec, enum cio_schedule kind,
                         int soon)
{
    uint8_t leaving[MOST_RANKS];
    struct cio_schedule_case known = {.hint = kind, .stripe = 1e-9 * SLOW, .leaving = leaving};
    struct cio_schedule_plan plan;
    int same = 1;

    cio_team_find_leaving(s->world.team[0], soon, leaving);
    if (!CHECK(cio_schedule_choose(s->pattern, s->naggr, &known, &plan) == 0))
        exit(1);
    if (!s->world.settings.early) {
        plan.offset.mean = plan.offset.max;
        plan.chosen.mean = plan.chosen.max;
    }
    for (int a = 0; a < s->naggr; a++)
        same &= has_order(s, rec, a, &plan);
    if (s->npos > 1 && kind != CIO_SCHEDULE_OFFSET)
        same &= is_told(s, &plan);
    cio_schedule_release(&plan);
    return same;
}

/* With a small limit of memory it depends on the request whether it goes in windows. */
static void check_kind(struct scene *s, enum cio_schedule kind, int write)
{
    int small = s->world.settings.memory_limit == 1;
    struct recorder rec;

    s->world.settings.schedule = kind;
    set_pace(&s->world, SLOW);
    if (!CHECK(run(s, &rec, write) == 0))
        exit(1);
    if (kind == CIO_SCHEDULE_AUTOMATIC && s->world.stats[0].schedule == CIO_SCHEDULE_OFFSET)
        kind = CIO_SCHEDULE_OFFSET; /* left alone: check_soon */
    if (!s->world.settings.early && kind == CIO_SCHEDULE_OFFSET)
        return; /* staggered: test_rounds */
    CHECK(is_as_planned(s, &rec, kind, write) ||
          (write && small && is_as_planned(s, &rec, kind, 0)));
    if (s->npos < 2 || kind == CIO_SCHEDULE_OFFSET)
        return;
    check_touches(s);
    if (s->world.settings.explain)
        check_degree(s);
}

static void run_case(uint64_t seed)
{
    struct scene s;

    scene_create(&s, seed);
    for (int kind = CIO_SCHEDULE_OFFSET; kind <= CIO_SCHEDULE_FIRST_FINISH; kind++)
        for (int write = 1; write >= 0; write--) {
            s.world.settings.explain = (int)(seed + (uint64_t)kind) % 2;
            s.world.settings.early = seed % 4 != 0;
            check_kind(&s, (enum cio_schedule)kind, write);
        }
    scene_destroy(&s);
}

/* ---- what automatic leaves alone ---- */

static const char cheap[] = "choosing an order would cost more than it could bring";
static const char soon[] = "ranks return before the file is accessed, whatever the order";
static const char late[] = "no rank may return before the others";

static int64_t messages(struct scene *s, enum cio_schedule kind)
{
    struct recorder rec;

    s->world.settings.schedule = kind;
    set_pace(&s->world, 1);
    CHECK(run(s, &rec, 1) == 0);
    for (int r = 0; r < s->ranks; r++)
        CHECK(s->world.stats[r].schedule == CIO_SCHEDULE_OFFSET);
    return sum(&s->world, CIO_COUNT_MESSAGES);
}

/* Where a stripe takes no time, nothing is even asked: no message more than by offset. */
static void check_cheap(uint64_t seed)
{
    struct scene s;

    scene_create(&s, seed);
    int64_t automatic = messages(&s, CIO_SCHEDULE_AUTOMATIC);
    const char *why = s.world.stats[0].schedule_why;

    CHECK(s.npos < 2 || strcmp(why, cheap) == 0 || strcmp(why, soon) == 0 ||
          strcmp(why, late) == 0);
    CHECK(automatic == messages(&s, CIO_SCHEDULE_OFFSET));
    CHECK(strcmp(s.world.stats[0].schedule_why, "it was asked for") == 0);
    scene_destroy(&s);
}

/* Four ranks and 40 stripes, of which nobody touches any yet. */
static void begin_small(struct scene *s, const int *node_of, int groups, int naggr)
{
    *s = (struct scene){.ranks = 4, .stripes = 40};
    world_create(&s->world, s->ranks, node_of, groups, naggr, 1);
    s->naggr = s->world.naggr;
    s->world.settings.domain = CIO_DOMAIN_CYCLIC;
    s->world.settings.unit = s->world.settings.stripe = STRIPE;
    s->world.settings.depth = 1;
    s->world.settings.early = 1;
    s->world.settings.tag = 100;
    s->world.settings.memory_limit = 1 << 20;
    s->world.settings.schedule = CIO_SCHEDULE_AUTOMATIC;
    set_pace(&s->world, SLOW);
}

/*
 * A write of groups whose bytes their leaders can take at once is left alone, however slow stripes
 * are; one of ranks by themselves, or one that goes in windows, is not, nor is a read. If all
 * aggregate, nobody returns before the others. `why` is NULL if it is not left alone.
 */
static void check_soon(int groups, int naggr, int64_t limit, int write, const char *why)
{
    int node_of[4] = {0, 0, 0, 0};
    struct recorder rec;
    struct scene s;

    begin_small(&s, node_of, groups, naggr);
    s.world.settings.memory_limit = limit;
    for (int r = 0; r < s.ranks; r++)
        for (int i = 0; i < s.stripes; i++)
            s.touches[r][i] = i % s.ranks == r || i == 0;
    CHECK(run(&s, &rec, write) == 0);
    for (int r = 0; r < s.ranks; r++) {
        CHECK(why == NULL || strcmp(s.world.stats[r].schedule_why, why) == 0);
        CHECK((s.world.stats[r].schedule == CIO_SCHEDULE_OFFSET) == (why != NULL));
    }
    world_destroy(&s.world);
}

/*
 * Three ranks on one node, whose leader takes what they have at once, and one by itself: only that
 * one waits, so it is served first. Each has ten stripes, one after the other.
 */
static void check_lone(void)
{
    int node_of[4] = {0, 0, 0, 1};
    struct recorder rec;
    struct scene s;

    begin_small(&s, node_of, 1, 1);
    for (int r = 0; r < s.ranks; r++)
        memset(&s.touches[r][10 * r], 1, 10);
    CHECK(run(&s, &rec, 1) == 0);
    CHECK(s.world.stats[3].schedule == CIO_SCHEDULE_FIRST_FINISH);
    CHECK(rec.stripe[0][0] == 30 && rec.stripe[0][9] == 39);
    CHECK(is_about(s.world.stats[0].predicted_offset, (40 + 0 + 0 + 40) / 4.0));
    CHECK(is_about(s.world.stats[0].predicted, (40 + 0 + 0 + 10) / 4.0));
    world_destroy(&s.world);
}

/*
 * What GW-MDF costs beside LW-MDF: a message of each aggregator to the planner, and one back. Other
 * ranks have no part in it.
 */
static void check_exchange(void)
{
    int node_of[4] = {0, 0, 1, 1};
    int64_t before[4];
    struct recorder rec;
    struct scene s;

    begin_small(&s, node_of, 2, 2);
    for (int r = 0; r < s.ranks; r++)
        memset(&s.touches[r][8 * r], 1, 16);
    s.world.settings.schedule = CIO_SCHEDULE_LW_MDF;
    CHECK(run(&s, &rec, 0) == 0);
    for (int r = 0; r < s.ranks; r++)
        before[r] = s.world.stats[r].count[CIO_COUNT_MESSAGES];
    s.world.settings.schedule = CIO_SCHEDULE_GW_MDF;
    CHECK(run(&s, &rec, 0) == 0);
    for (int r = 0; r < s.ranks; r++) {
        int reports = s.world.team[r]->my_aggr >= 0;
        int plans = s.world.team[r]->my_aggr == 0 ? s.naggr : 0;

        CHECK(s.world.stats[r].schedule == CIO_SCHEDULE_GW_MDF);
        CHECK(s.world.stats[r].count[CIO_COUNT_MESSAGES] - before[r] == reports + plans);
    }
    world_destroy(&s.world);
}

/* Where nobody returns early automatic is by offset, and aggregators begin at different places. */
static void check_staggered(void)
{
    int node_of[4] = {0, 0, 0, 0}, places = 0;
    struct recorder by_offset, automatic;
    struct scene s;

    begin_small(&s, node_of, 1, 4);
    s.world.settings.early = 0;
    s.world.settings.schedule = CIO_SCHEDULE_OFFSET;
    memset(s.touches, 1, sizeof(s.touches));
    CHECK(run(&s, &by_offset, 1) == 0);
    s.world.settings.schedule = CIO_SCHEDULE_AUTOMATIC;
    CHECK(run(&s, &automatic, 1) == 0);
    CHECK(strcmp(s.world.stats[0].schedule_why, late) == 0);
    for (int a = 0; a < s.naggr; a++) {
        CHECK(memcmp(by_offset.stripe[a], automatic.stripe[a], sizeof(automatic.stripe[a])) == 0);
        places += automatic.stripe[a][0] != a;
    }
    CHECK(places == s.naggr - 1);
    world_destroy(&s.world);
}

/* The pace is measured by the aggregators themselves. */
static void check_pace(uint64_t seed)
{
    struct scene s;
    struct recorder rec;

    scene_create(&s, seed);
    CHECK(run(&s, &rec, 1) == 0);
    for (int r = 0; r < s.ranks; r++)
        CHECK((s.world.pace[r].ns[1] > 0) == (s.world.stats[r].count[CIO_COUNT_ROUNDS] > 0) &&
              s.world.pace[r].ns[0] == 0);
    scene_destroy(&s);
}

/* ---- many stripes: what travels takes several messages ---- */

enum { LONG_RANKS = 3, LONG_STRIPES = 70000, LONG_UNIT = 4 };

/* A byte of its own in every stripe that it touches; `owners` has a bit for each rank. */
static void make_long_request(struct world *w, int r, const char *owners)
{
    int64_t *off = malloc(2 * LONG_STRIPES * sizeof(*off)), *len = off + LONG_STRIPES;
    int64_t zero = 0, n = 0;
    struct cio_flat *view, *mem;

    for (int i = 0; i < LONG_STRIPES; i++) {
        if (!(owners[i] & 1 << r))
            continue;
        off[n] = (int64_t)i * LONG_UNIT + r;
        len[n++] = 1;
    }
    if (cio_flat_create(off, len, (size_t)n, (int64_t)LONG_STRIPES * LONG_UNIT, &view) != 0 ||
        cio_flat_create(&zero, &n, 1, n, &mem) != 0)
        exit(1);
    free(off);
    w->request[r] = (struct cio_request){
        .write = 1, .file = view, .mem = mem, .bytes = n, .buf = malloc((size_t)n)};
    memset(w->request[r].buf, r + 1, (size_t)n);
}

static int64_t wrong_bytes(struct world *w, const char *owners)
{
    int64_t size = (int64_t)LONG_STRIPES * LONG_UNIT, wrong = 0;
    char *now = malloc((size_t)size);

    CHECK(cio_store_read(w->store, now, size, 0) == 0);
    for (int64_t i = 0; i < size; i++) {
        int r = (int)(i % LONG_UNIT);

        wrong += now[i] != (r < LONG_RANKS && owners[i / LONG_UNIT] & 1 << r ? r + 1 : 0);
    }
    free(now);
    return wrong;
}

static void run_long(struct world *w, const char *owners, const char *why)
{
    for (int r = 0; r < LONG_RANKS; r++)
        make_long_request(w, r, owners);
    if (!CHECK(world_run(w) == 0))
        exit(1);
    CHECK(wrong_bytes(w, owners) == 0);
    for (int r = 0; r < LONG_RANKS; r++) {
        CHECK(w->error[r] == 0 && strcmp(w->stats[r].schedule_why, why) == 0);
        cio_flat_destroy((struct cio_flat *)w->request[r].file);
        cio_flat_destroy((struct cio_flat *)w->request[r].mem);
        free(w->request[r].buf);
    }
}

static void check_long(enum cio_transport transport, int64_t unit, const char *why)
{
    int node_of[LONG_RANKS] = {0, 0, 0};
    char *owners = malloc(LONG_STRIPES);
    uint64_t rnd = 1;
    struct world w;

    for (int i = 0; i < LONG_STRIPES; i++)
        owners[i] = (char)check_between(&rnd, 0, 7);
    owners[0] = owners[LONG_STRIPES - 1] = 7;
    world_create(&w, LONG_RANKS, node_of, 1, 1, 1);
    w.settings.unit = unit;
    w.settings.transport = transport;
    w.settings.schedule = CIO_SCHEDULE_FIRST_FINISH;
    w.settings.tag = 100;
    run_long(&w, owners, why);
    world_destroy(&w);
    free(owners);
}

int main(int argc, char **argv)
{
    int cases = argc > 1 ? atoi(argv[1]) : 60;
    uint64_t seed = argc > 2 ? strtoull(argv[2], NULL, 0) : 1;

    for (int i = 0; i < cases; i++) {
        run_case(seed + (uint64_t)i);
        check_cheap(seed + (uint64_t)i);
        check_pace(seed + (uint64_t)i);
    }
    check_soon(1, 1, 1 << 20, 1, soon);
    check_soon(2, 1, 1 << 20, 1, soon);
    check_soon(3, 1, 1 << 20, 1, NULL); /* two are by themselves */
    check_soon(4, 1, 1 << 20, 1, NULL);
    check_soon(1, 1, 1, 1, NULL);
    check_soon(1, 1, 1 << 20, 0, NULL);
    check_soon(1, 4, 1 << 20, 1, late);
    check_soon(4, 4, 1 << 20, 0, late);
    check_lone();
    check_exchange();
    check_staggered();
    check_long(CIO_TRANSPORT_AUTO, LONG_UNIT, "it was asked for");
    check_long(CIO_TRANSPORT_P2P, LONG_UNIT, "it was asked for");
    check_long(CIO_TRANSPORT_AUTO, 1, "there are too many stripes");
    return check_done("schedule");
}
