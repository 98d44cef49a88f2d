/* A space: its memory, its thread, and what all processes do together. */
#include "tcio/space.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "port/cores.h"
#include "tcio/state.h"

#define PAGE ((int64_t)4096)
#define RANKS_OF_A_NODE 4096 /* at most */
#define BLOCKS 8             /* of a ring */
#define LEAST_RING (32 << 10)
#define MOST_RING (1 << 20)
#define LEAST_LEVEL1 (16 << 10)
#define SHORT_NAP 100000 /* nanoseconds between looks of the thread, */
#define LONG_NAP 1000000
#define BUSY_LOOKS 16 /* before naps become longer */

_Static_assert(sizeof(struct cio_region) <= CIO_ONESIDED_WORDS, "one node has no more of it");

static int64_t pages(int64_t bytes)
{
    return (bytes + PAGE - 1) / PAGE * PAGE;
}

static int64_t ring_size(int64_t budget)
{
    int64_t ring = LEAST_RING;

    while (ring < MOST_RING && ring * 2 <= budget / 8)
        ring *= 2;
    return ring;
}

/* Everything of level 2 comes out of the budget; a slot is a segment and its bits. */
static struct cio_sizes sizes_of(const struct cio_space_settings *settings)
{
    int64_t segment = settings->segment_size, budget = settings->segments * segment;
    struct cio_sizes z = {.ring = ring_size(budget)};

    z.record = z.ring / BLOCKS;
    z.answer = z.ring / 2;
    z.staging = z.record;
    z.level1 = cio_max64(segment, LEAST_LEVEL1);
    z.slots = (budget - z.ring - 2 * z.answer - 2 * z.record) / (segment + segment / 8);
    z.slots = cio_max64(z.slots, 1);
    z.exposed = pages((int64_t)sizeof(struct cio_region) + z.ring +
                      (int64_t)sizeof(struct cio_answer) + z.answer);
    z.home = z.exposed;
    z.tails =
        z.home + (int64_t)(sizeof(struct cio_home) + (size_t)z.slots * sizeof(struct cio_slot));
    z.bits = pages(z.tails + RANKS_OF_A_NODE * (int64_t)sizeof(uint64_t));
    z.data = pages(z.bits + z.slots * (segment / 8));
    z.node = pages(z.data + z.slots * segment);
    z.region = pages(z.node + (int64_t)sizeof(struct cio_node));
    return z;
}

#define SEGMENT (1 << 20)
#define MOST_SEGMENT (16 << 20)
#define SEGMENTS 8

void cio_space_defaults(int64_t stripe, struct cio_space_settings *settings)
{
    int64_t segment = stripe & -stripe; /* the largest power of two in it */

    if (segment < PAGE || segment > MOST_SEGMENT)
        segment = SEGMENT;
    settings->segment_size = segment;
    settings->segments = SEGMENTS;
}

void cio_space_region(const struct cio_space_settings *settings, int64_t *bytes, int64_t *exposed)
{
    struct cio_sizes z = sizes_of(settings);

    *bytes = z.region;
    *exposed = z.exposed;
}

/* ---- the thread ---- */

static void nap(int idle)
{
    long ns = SHORT_NAP;

    for (int i = 0; i < idle / BUSY_LOOKS && ns < LONG_NAP; i++)
        ns *= 2;
    nanosleep(&(struct timespec){0, ns < LONG_NAP ? ns : LONG_NAP}, NULL);
}

static void *serve(void *arg)
{
    struct cio_space *s = arg;
    int idle = 0;

    while (!__atomic_load_n(&s->stop, __ATOMIC_ACQUIRE)) {
        if (s->settings.progress_thread)
            cio_onesided_progress(s->os);
        if (s->os->rank == s->first && cio_inbox_serve(s) > 0)
            idle = 0;
        else
            idle++;
        nap(idle);
    }
    return NULL;
}

/* Who is alone has nobody to serve. */
static int start_thread(struct cio_space *s)
{
    int rc;

    if (s->os->nodes == 1 || (s->os->rank != s->first && !s->settings.progress_thread))
        return 0;
    rc = pthread_create(&s->thread, NULL, serve, s);
    s->threaded = rc == 0;
    return -rc;
}

static void stop_thread(struct cio_space *s)
{
    __atomic_store_n(&s->stop, 1, __ATOMIC_RELEASE);
    if (s->threaded)
        pthread_join(s->thread, NULL);
    s->threaded = 0;
}

/* ---- making ---- */

int cio_space_agree(struct cio_space *s, int rc)
{
    int64_t word = -rc;
    int failed = cio_onesided_agree(s->os, &word, 1);

    return failed != 0 ? failed : -(int)word;
}

static int legal(const struct cio_space_settings *x)
{
    return x->segment_size >= PAGE && (x->segment_size & (x->segment_size - 1)) == 0 &&
           x->segment_size <= INT64_C(1) << 30 && x->segments >= 1 &&
           x->segments <= (INT64_C(1) << 46) / x->segment_size;
}

/* The same on all ranks, which have all got their memory. */
static int same_settings(struct cio_onesided *os, const struct cio_space_settings *x, int missing)
{
    int64_t word[] = {x->segment_size, -x->segment_size, x->segments, -x->segments,
                      x->immediate,    -x->immediate,    missing,     0};
    int n = (int)(sizeof word / sizeof *word), rc = cio_onesided_agree(os, word, n);

    if (rc == 0 && word[n - 2])
        return -ENOMEM;
    for (int i = 0; rc == 0 && i < n - 2; i += 2)
        if (word[i] != -word[i + 1])
            rc = -EINVAL;
    return rc;
}

/* The inbox of a node that this rank writes to is that of the rank in the same place there. */
static void find_neighbours(struct cio_space *s, int *count, int *seen)
{
    const struct cio_onesided *os = s->os;
    int mine = 0;

    s->node = os->node_of[os->rank];
    for (int r = 0; r < os->size; r++) {
        if (count[os->node_of[r]]++ == 0)
            s->first_of[os->node_of[r]] = r;
        if (r == os->rank)
            mine = s->here;
        if (os->node_of[r] == s->node)
            s->ranks_here[s->here++] = r;
    }
    s->first = s->first_of[s->node];
    for (int r = 0; r < os->size; r++) {
        int node = os->node_of[r];

        if (seen[node]++ == mine % count[node])
            s->proxy[node] = r;
    }
}

static int make_tables(struct cio_space *s)
{
    size_t nodes = (size_t)s->os->nodes;
    int *count = calloc(2 * nodes, sizeof *count);

    s->ranks_here = calloc((size_t)s->os->size, sizeof *s->ranks_here);
    s->first_of = calloc(nodes, sizeof *s->first_of);
    s->proxy = calloc(nodes, sizeof *s->proxy);
    s->head = calloc(nodes, sizeof *s->head);
    s->staging = malloc((size_t)s->sizes.staging);
    s->answer = malloc((size_t)s->sizes.answer);
    s->scratch = malloc((size_t)s->sizes.record);
    if (count == NULL || s->ranks_here == NULL || s->first_of == NULL || s->proxy == NULL ||
        s->head == NULL || s->staging == NULL || s->answer == NULL || s->scratch == NULL) {
        free(count);
        return -ENOMEM;
    }
    find_neighbours(s, count, count + nodes);
    free(count);
    return s->here <= RANKS_OF_A_NODE ? 0 : -EINVAL;
}

static void unmake(struct cio_space *s)
{
    stop_thread(s);
    cio_stores_destroy(s);
    pthread_mutex_destroy(&s->lock);
    cio_onesided_destroy(s->os);
    free(s->ranks_here);
    free(s->first_of);
    free(s->proxy);
    free(s->head);
    free(s->staging);
    free(s->answer);
    free(s->scratch);
    free(s);
}

/* Whether more ranks of the node may run on this rank's cores than these are. */
static int is_crowded(const struct cio_space *s, int64_t cores)
{
    uint64_t mine = cio_home_of(s, s->os->rank)->cores;
    int64_t n = 0;

    for (int i = 0; i < s->here; i++)
        n += cio_home_of(s, s->ranks_here[i])->cores == mine;
    return n > cores;
}

int cio_space_create(struct cio_onesided *os, const struct cio_space_settings *settings,
                     struct cio_space **out)
{
    struct cio_space *s = calloc(1, sizeof *s);
    int64_t cores = 0;
    int rc = same_settings(os, settings, s == NULL);

    if (rc == 0)
        rc = legal(settings) ? 0 : -EINVAL;
    if (rc != 0) {
        free(s);
        cio_onesided_destroy(os);
        return rc;
    }
    s->os = os;
    s->settings = *settings;
    s->sizes = sizes_of(settings);
    s->epoch = 1;
    pthread_mutex_init(&s->lock, NULL);
    rc = make_tables(s);
    if (rc == 0)
        rc = cio_slots_init(s);
    if (rc == 0)
        rc = start_thread(s);
    if (rc == 0)
        cores = cio_cores(&cio_home_of(s, s->os->rank)->cores);
    rc = cio_space_agree(s, rc);
    if (rc != 0) {
        unmake(s);
        return rc;
    }
    s->crowded = is_crowded(s, cores);
    *out = s;
    return 0;
}

/* ---- together ---- */

static int push_all(struct cio_space *s)
{
    int rc = 0;

    for (struct cio_tcio *f = s->files; f != NULL; f = f->next) {
        int failed = cio_tcio_push(f);

        rc = rc != 0 ? rc : failed;
    }
    return rc;
}

static void forget_ranges(struct cio_space *s)
{
    for (struct cio_tcio *f = s->files; f != NULL; f = f->next) {
        f->sent_lo = f->direct_lo = INT64_MAX;
        f->sent_hi = f->direct_hi = 0;
        f->look = 0;
    }
}

/* The errors that the node has kept so far: its first rank tells them, once. */
static int kept_errors(struct cio_space *s)
{
    struct cio_node *node = cio_node_of(s);
    int rc;

    if (s->os->rank != s->first)
        return 0;
    rc = __atomic_exchange_n(&node->lost, 0, __ATOMIC_SEQ_CST);
    for (int i = 0; i < CIO_TCIO_FILES; i++) {
        int late = node->entry[i].taken ? cio_entry_error(s, i) : 0;

        rc = rc != 0 ? rc : late;
    }
    return rc;
}

static void wait_for_inboxes(struct cio_space *s)
{
    struct cio_patience p;

    cio_patience_start(&p);
    while (!cio_inbox_empty(s))
        cio_patience_nap(s, &p);
    cio_patience_end(s, &p);
}

int cio_space_flush(struct cio_space *s)
{
    int rc = push_all(s), written, kept;
    int64_t word[] = {-rc, __atomic_load_n(&s->touched, __ATOMIC_RELAXED)};

    rc = cio_onesided_agree(s->os, word, 2);
    if (rc != 0)
        return rc;
    rc = -(int)word[0];
    if (word[1]) {
        wait_for_inboxes(s);
        kept = kept_errors(s);
        written = cio_slots_empty(s, &s->os->rank, 1, -1, CIO_EMPTY_QUIET);
        written = cio_space_agree(s, written != 0 ? written : kept);
        rc = rc != 0 ? rc : written;
    }
    s->epoch++;
    __atomic_store_n(&s->touched, rc != 0, __ATOMIC_RELAXED);
    forget_ranges(s);
    return rc;
}

void cio_space_destroy(struct cio_space *s)
{
    unmake(s);
}

void cio_space_stats(const struct cio_space *s, struct cio_tcio_stats *out)
{
    *out = s->stats;
}
