/*
 * What the orders of src/plan/order.h bring, exact in stripe-times, and what they cost. Without MPI
 * and without files: a workload is a list of pieces, each of one rank, cut into stripes that go
 * round the aggregators. bench/schedule compiles and runs this; its --help says what the options
 * are.
 */
#include <getopt.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#include "plan/bits.h"
#include "plan/domain.h"
#include "plan/extent.h"
#include "plan/order.h"
#include "plan/schedule.h"
#include "workloads.h"

static void *need(void *p)
{
    if (!p) {
        fprintf(stderr, "schedule: out of memory\n");
        exit(1);
    }
    return p;
}

/* ---- patterns of the aggregators ---- */

struct layout {
    struct cio_domains d;
    int n;
    struct cio_pattern **patterns;
    struct cio_bits **bits; /* of the rank at hand */
    uint8_t *leaving;       /* enum cio_leaving of each rank, or NULL */
};

static int by_rank(const void *x, const void *y)
{
    const struct workload_piece *a = x, *b = y;

    if (a->rank != b->rank)
        return a->rank < b->rank ? -1 : 1;
    return a->off < b->off ? -1 : 1;
}

static void mark(struct layout *l, cio_extent e)
{
    while (e.len > 0) {
        int64_t pos, end;
        int a;

        cio_domains_locate(&l->d, e.off, &a, &pos, &end);
        cio_bits_set(l->bits[a]->w, pos);
        cio_extent_take(&e, end);
    }
}

static void must(int rc, const char *what)
{
    if (rc) {
        fprintf(stderr, "schedule: %s: %s\n", what, strerror(-rc));
        exit(1);
    }
}

static void add_rank(struct layout *l, int rank)
{
    for (int a = 0; a < l->n; a++) {
        must(cio_pattern_add(l->patterns[a], rank, l->bits[a]->w), "pattern");
        memset(l->bits[a]->w, 0, cio_bits_words(l->bits[a]->nbits) * sizeof(uint64_t));
    }
}

static void make_layout(struct workload *w, int64_t stripe, struct layout *l)
{
    const struct workload_piece *last = &w->p[w->n - 1];
    struct cio_domain_spec spec = {.kind = CIO_DOMAIN_CYCLIC,
                                   .hi = last->off + last->len,
                                   .naggr = w->aggrs,
                                   .stripe = stripe,
                                   .unit = stripe};

    must(cio_domains_init(&spec, &l->d), "domains");
    l->n = w->aggrs;
    l->patterns = need(malloc((size_t)l->n * sizeof(struct cio_pattern *)));
    l->bits = need(malloc((size_t)l->n * sizeof(struct cio_bits *)));
    for (int a = 0; a < l->n; a++) {
        int64_t npos = cio_domains_positions(&l->d, a);

        must(cio_pattern_create(w->ranks, npos, &l->patterns[a]), "pattern");
        must(cio_bits_create(npos, &l->bits[a]), "bits");
    }
    qsort(w->p, w->n, sizeof(*w->p), by_rank);
    for (size_t i = 0; i < w->n; i++) {
        mark(l, (cio_extent){w->p[i].off, w->p[i].len});
        if (i + 1 == w->n || w->p[i + 1].rank != w->p[i].rank)
            add_rank(l, w->p[i].rank);
    }
}

/* Aggregators, spread evenly over the ranks, are there to the end. */
static void let_stay(const struct workload *w, struct layout *l)
{
    l->leaving = need(calloc((size_t)w->ranks, 1));
    for (int a = 0; a < w->aggrs; a++)
        l->leaving[(int64_t)a * w->ranks / w->aggrs] = CIO_LEAVES_LAST;
}

static void free_layout(struct layout *l)
{
    for (int a = 0; a < l->n; a++) {
        cio_pattern_destroy(l->patterns[a]);
        cio_bits_destroy(l->bits[a]);
    }
    free(l->leaving);
    free(l->bits);
    free(l->patterns);
}

/* ---- tables ---- */

static const enum cio_schedule kinds[] = {CIO_SCHEDULE_OFFSET,       CIO_SCHEDULE_MDF,
                                          CIO_SCHEDULE_LW_MDF,       CIO_SCHEDULE_GW_MDF,
                                          CIO_SCHEDULE_FIRST_FINISH, CIO_SCHEDULE_AUTOMATIC};

enum { KINDS = sizeof(kinds) / sizeof(kinds[0]) };

static const char *const kind_names[] = {
    [CIO_SCHEDULE_OFFSET] = "offset", [CIO_SCHEDULE_AUTOMATIC] = "automatic",
    [CIO_SCHEDULE_MDF] = "mdf",       [CIO_SCHEDULE_LW_MDF] = "lw-mdf",
    [CIO_SCHEDULE_GW_MDF] = "gw-mdf", [CIO_SCHEDULE_FIRST_FINISH] = "first-finish",
};

struct settings {
    int64_t stripe;
    double seconds; /* per stripe */
    int repeats;
    int draws; /* of random workloads */
    uint64_t seed;
    int costs;
    int stay; /* aggregators do */
};

/* What is printed of a workload, summed over its draws. */
struct result {
    double offset;      /* mean response in stripe-times, */
    double mean[KINDS]; /* and over that of offset, */
    double square[KINDS];
    double slowest;   /* response of the slowest rank, over offset's, at most */
    int taken[KINDS]; /* what automatic takes: how often */
};

static void print_head(int costs)
{
    printf("%-14s", costs ? "cost, ms" : "workload");
    for (int k = 0; k < KINDS; k++)
        printf(" %12s", kind_names[kinds[k]]);
    printf(" %s\n", costs ? "" : "  slowest  automatic takes");
}

static void add_responses(const struct layout *l, const struct settings *set, struct result *res)
{
    for (int k = 0; k < KINDS; k++) {
        struct cio_schedule_case known = {
            .hint = kinds[k], .stripe = set->seconds, .leaving = l->leaving};
        struct cio_schedule_plan plan;

        must(cio_schedule_choose(l->patterns, l->n, &known, &plan), "choose");
        res->offset += kinds[k] == CIO_SCHEDULE_OFFSET ? plan.chosen.mean : 0;
        res->mean[k] += plan.chosen.mean / plan.offset.mean;
        res->square[k] += pow(plan.chosen.mean / plan.offset.mean, 2);
        res->slowest = fmax(res->slowest, (double)plan.chosen.max / plan.offset.max);
        for (int i = 0; i < KINDS; i++)
            res->taken[i] += kinds[k] == CIO_SCHEDULE_AUTOMATIC && plan.kind == kinds[i];
        cio_schedule_release(&plan);
    }
}

/* Mean response in stripe-times by offset, and how far below it the others are. */
static void print_responses(const char *name, const struct result *res, int draws)
{
    printf("%-14s %11.2ft", name, res->offset / draws);
    for (int k = 1; k < KINDS; k++)
        printf(" %11.2f%%", 100 * (1 - res->mean[k] / draws));
    printf(" %9.3f ", res->slowest);
    for (int k = 0; k < KINDS; k++)
        if (res->taken[k])
            printf(" %s", kind_names[kinds[k]]);
    printf("\n");
}

/* How far single draws are from what is printed of them all: the standard deviation. */
static void print_spread(const struct result *res, int draws)
{
    printf("%-14s %12s", "  +-", "");
    for (int k = 1; k < KINDS; k++) {
        double mean = res->mean[k] / draws, apart = res->square[k] - draws * mean * mean;

        printf(" %11.2f%%", 100 * sqrt(fmax(apart, 0) / (draws - 1)));
    }
    printf("\n");
}

static double cpu_now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Best of several: seconds for the orders of all aggregators and their response, nothing else. */
static double time_kind(const struct layout *l, enum cio_schedule kind, const struct settings *set)
{
    struct cio_schedule_case known = {.hint = kind, .stripe = set->seconds, .leaving = l->leaving};
    double best = 1e9;

    for (int i = 0; i < set->repeats; i++) {
        struct cio_schedule_plan plan;
        double t = cpu_now();

        must(cio_schedule_choose(l->patterns, l->n, &known, &plan), "choose");
        best = fmin(best, cpu_now() - t);
        cio_schedule_release(&plan);
    }
    return best;
}

static double time_wire(const struct layout *l, size_t *bytes)
{
    double seconds = 0;

    *bytes = 0;
    for (int a = 0; a < l->n; a++) {
        void *buf = need(malloc(cio_pattern_bound(l->patterns[a])));
        int64_t size = cio_pattern_encode(l->patterns[a], buf);
        struct cio_pattern *copy;
        double t = cpu_now();

        must(size < 0 ? (int)size : 0, "encode");
        must(cio_pattern_create(l->patterns[a]->nranks, l->patterns[a]->npos, &copy), "create");
        must(cio_pattern_decode(buf, (size_t)size, copy), "decode");
        seconds += cpu_now() - t;
        *bytes += (size_t)size;
        cio_pattern_destroy(copy);
        free(buf);
    }
    return seconds;
}

static double modelled(enum cio_schedule kind, const struct cio_schedule_size *size)
{
    double refine = kind == CIO_SCHEDULE_FIRST_FINISH ? cio_schedule_refine_cost(size) : 0;

    return cio_schedule_cost(kind, size) + refine;
}

static void print_costs(const struct workload *w, const struct layout *l,
                        const struct settings *set)
{
    struct cio_schedule_size size;
    struct rusage usage;
    size_t wire, kept = 0;
    double decode = time_wire(l, &wire), offset = 0;

    cio_schedule_size_of(l->patterns, l->n, &size);
    printf("%-14s", w->name);
    for (int k = 0; k < KINDS; k++) {
        double t = time_kind(l, kinds[k], set);

        offset = k == 0 ? t : offset;
        if (k == 0 || kinds[k] == CIO_SCHEDULE_AUTOMATIC)
            printf(" %12.1f", 1e3 * (t + decode));
        else
            printf(" %12.1f", 1e3 * (t - offset));
    }
    printf("\n%-14s", "  modelled");
    for (int k = 0; k + 1 < KINDS; k++)
        printf(" %12.1f", 1e3 * modelled(kinds[k], &size));
    for (int a = 0; a < l->n; a++)
        kept += l->patterns[a]->used * sizeof(uint64_t) +
                (size_t)l->patterns[a]->rows * sizeof(struct cio_pattern_row) +
                (size_t)w->ranks * sizeof(int);
    getrusage(RUSAGE_SELF, &usage);
    printf("\n  %" PRId64 " ranks, %d aggregators, %" PRId64 " stripes, %" PRId64 " rows, %" PRId64
           " touches; patterns %.1f MB, on the wire %.1f MB, decoded in %.1f ms; "
           "peak so far %.0f MB\n",
           size.ranks, l->n, size.positions, size.rows, size.touches, 1e-6 * (double)kept,
           1e-6 * (double)wire, 1e3 * decode, 1e-3 * (double)usage.ru_maxrss);
}

/* ---- which workloads ---- */

static void begin_workload(struct workload *w, const struct settings *set, uint64_t seed,
                           struct layout *l)
{
    workload_fill(w, seed);
    make_layout(w, set->stripe, l);
    l->leaving = NULL;
    if (set->stay)
        let_stay(w, l);
}

static void run_costs_of(struct workload *w, const struct settings *set)
{
    struct layout l;

    begin_workload(w, set, set->seed, &l);
    print_costs(w, &l, set);
    fflush(stdout);
    free_layout(&l);
    free(w->p);
}

static void run_responses_of(struct workload *w, const struct settings *set)
{
    int draws = w->fill == workload_random ? set->draws : 1;
    struct result res = {.offset = 0};

    for (int i = 0; i < draws; i++) {
        struct layout l;

        begin_workload(w, set, set->seed + (uint64_t)i, &l);
        add_responses(&l, set, &res);
        free_layout(&l);
    }
    print_responses(w->name, &res, draws);
    if (draws > 1)
        print_spread(&res, draws);
    fflush(stdout);
    free(w->p);
}

/* The same shapes at another scale: so many stripes in all, whatever part a rank has of them. */
static int scaled(int i, int ranks, int aggrs, int64_t bytes, struct workload *w)
{
    static const struct workload shapes[] = {
        {"fixed", .fill = workload_fixed},
        {"random-30", .fill = workload_random, .most = WORKLOAD_MIB, .sigma = 0.3},
        {"random-fine", .fill = workload_random, .most = 32 * WORKLOAD_KIB, .sigma = 0.3},
        {"gcrm", .fill = workload_climate, .variables = 11, .small = {0, 2},
         .small_all = 40 * WORKLOAD_MIB},
    };

    if ((size_t)i >= sizeof(shapes) / sizeof(shapes[0]))
        return 0;
    *w = shapes[i];
    w->ranks = ranks;
    w->aggrs = aggrs;
    w->bytes = bytes;
    w->pieces = cio_max64(1, bytes / (ranks * (3 * WORKLOAD_MIB / 16)));
    w->part = cio_max64(1, (bytes - 2 * w->small_all) / (9 * (int64_t)ranks));
    return 1;
}

struct scale {
    int64_t ranks, aggrs, stripes;
};

static void run_costs(const struct settings *set, const struct scale *s)
{
    struct workload w;

    print_head(1);
    for (int i = 0; scaled(i, (int)s->ranks, (int)s->aggrs, s->stripes * set->stripe, &w); i++)
        run_costs_of(&w, set);
}

static int is_named(const char *name, char **names, int n)
{
    for (int i = 0; i < n; i++)
        if (!strcmp(names[i], name))
            return 1;
    return n == 0;
}

static void run_responses(const struct settings *set, char **names, int n)
{
    print_head(0);
    for (int i = 0; workload_list[i].name; i++) {
        struct workload w = workload_list[i];

        if (is_named(w.name, names, n))
            run_responses_of(&w, set);
    }
}

static void list_workloads(void)
{
    for (const struct workload *w = workload_list; w->name; w++)
        printf("%-11s %d ranks, %d aggregators: %s\n", w->name, w->ranks, w->aggrs, w->help);
}

static int64_t number(const char *name, const char *s)
{
    char *end;
    long long v = strtoll(s, &end, 0);

    if (*end || end == s || v < 1 || v > INT32_MAX) {
        fprintf(stderr, "schedule: --%s: not a number from 1 on: %s\n", name, s);
        exit(1);
    }
    return v;
}

static void check_names(char **names, int n)
{
    struct workload w;

    for (int i = 0; i < n; i++)
        if (workload_find(names[i], &w) != 0) {
            fprintf(stderr, "schedule: no workload %s (see --list)\n", names[i]);
            exit(1);
        }
}

int main(int argc, char **argv)
{
    static const struct option options[] = {
        {"stripe", 1, NULL, 's'},  {"microseconds", 1, NULL, 'u'}, {"seed", 1, NULL, 'e'},
        {"repeats", 1, NULL, 'n'}, {"draws", 1, NULL, 'd'},        {"costs", 0, NULL, 'c'},
        {"ranks", 1, NULL, 'r'},   {"aggregators", 1, NULL, 'a'},  {"stripes", 1, NULL, 't'},
        {"list", 0, NULL, 'l'},    {"stay", 0, NULL, 'y'},         {NULL, 0, NULL, 0},
    };
    struct settings set = {
        .stripe = WORKLOAD_MIB, .seconds = 1e-3, .repeats = 5, .draws = 15, .seed = 1};
    struct scale scale = {.ranks = 16384, .aggrs = 56, .stripes = 100000};
    int opt, index;

    while ((opt = getopt_long(argc, argv, "", options, &index)) != -1) {
        const char *name = opt == '?' ? "" : options[index].name;

        switch (opt) {
        case 's':
            set.stripe = number(name, optarg);
            break;
        case 'u':
            set.seconds = 1e-6 * (double)number(name, optarg);
            break;
        case 'e':
            set.seed = (uint64_t)number(name, optarg);
            break;
        case 'd':
            set.draws = (int)number(name, optarg);
            break;
        case 'n':
            set.repeats = (int)number(name, optarg);
            break;
        case 'c':
            set.costs = 1;
            break;
        case 'r':
            scale.ranks = number(name, optarg);
            break;
        case 'a':
            scale.aggrs = number(name, optarg);
            break;
        case 't':
            scale.stripes = number(name, optarg);
            break;
        case 'y':
            set.stay = 1;
            break;
        case 'l':
            list_workloads();
            return 0;
        default:
            return 1;
        }
    }
    check_names(argv + optind, argc - optind);
    if (set.costs)
        run_costs(&set, &scale);
    else
        run_responses(&set, argv + optind, argc - optind);
    return 0;
}
