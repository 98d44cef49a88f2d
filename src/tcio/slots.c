/*
 * Level 2: the segments that the ranks of a node hold. A slot has the bytes of one segment of one
 * file, and a bit for each byte that is newer than the file.
 *
 * Which slot has a segment is looked up under the table's lock; a slot that somebody has pinned
 * keeps its segment. What makes room is, if there is one, a slot that is clean; else the first
 * segment of the file that is complete, since nobody will come back to it; else the first.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "plan/bits.h"
#include "tcio/state.h"

#define CHUNK 32768 /* read at a time to fill gaps */
#define FEW_RUNS 8  /* written one by one */
#define LONG_RUN 32768
#define AROUND 65536 /* bytes that a page fault for reading maps */

static struct cio_held held(struct cio_space *s, int rank, int i)
{
    const struct cio_sizes *z = &s->sizes;
    char *region = cio_onesided_local(s->os, rank);
    int64_t segment = s->settings.segment_size;
    struct cio_home *home = cio_home_of(s, rank);

    return (struct cio_held){.slot = &home->slot[i],
                             .home = home,
                             .bits = (void *)(region + z->bits + i * (segment / 8)),
                             .data = region + z->data + i * segment};
}

static void init_lock(pthread_mutex_t *m)
{
    pthread_mutexattr_t a;

    pthread_mutexattr_init(&a);
    pthread_mutexattr_setpshared(&a, PTHREAD_PROCESS_SHARED);
    pthread_mutex_init(m, &a);
    pthread_mutexattr_destroy(&a);
}

/* Bits and bytes of a slot; a slot without them is not used. */
static int back(struct cio_space *s, int rank, struct cio_held *h, int i)
{
    const struct cio_sizes *z = &s->sizes;
    int64_t segment = s->settings.segment_size, bits = z->bits + i * (segment / 8);
    int64_t data = z->data + i * segment;
    int rc = cio_onesided_back(s->os, rank, bits, bits + segment / 8);

    if (rc == 0)
        rc = cio_onesided_back(s->os, rank, data, data + segment);
    h->slot->backed = rc == 0 ? 1 : -1;
    return rc;
}

int cio_slots_init(struct cio_space *s)
{
    struct cio_home *home = cio_home_of(s, s->os->rank);
    int64_t from = s->sizes.home, to = s->sizes.tails + s->here * (int64_t)sizeof(uint64_t);
    int rc = cio_onesided_back(s->os, s->os->rank, from, to);

    if (rc == 0 && s->os->rank == s->first) {
        from = s->sizes.node;
        rc = cio_onesided_back(s->os, s->first, from, from + (int64_t)sizeof(struct cio_node));
    }
    if (rc != 0)
        return rc;
    init_lock(&home->table);
    for (int64_t i = 0; i < s->sizes.slots; i++) {
        init_lock(&home->slot[i].lock);
        home->slot[i].entry = -1;
    }
    if (s->os->rank == s->first) {
        init_lock(&cio_node_of(s)->serve);
        init_lock(&cio_node_of(s)->files);
    }
    return 0;
}

/* ---- writing out ---- */

/* The next run of bytes that are dirty, from *at on: [*at, *end). 0: there is none. */
static int next_run(const struct cio_held *h, int64_t segment, int64_t *at, int64_t *end)
{
    int64_t a = cio_bits_next(h->bits, segment, *at), b;

    if (a < 0)
        return 0;
    for (b = a; b < segment && b % CIO_BITS_PER_WORD != 0 && cio_bits_test(h->bits, b); b++)
        ;
    while (b % CIO_BITS_PER_WORD == 0 && b + CIO_BITS_PER_WORD <= segment &&
           h->bits[b / CIO_BITS_PER_WORD] == ~(uint64_t)0)
        b += CIO_BITS_PER_WORD;
    while (b < segment && cio_bits_test(h->bits, b))
        b++;
    *at = a;
    *end = b;
    return 1;
}

struct span {
    int64_t lo, hi, runs;
};

static struct span dirty_span(const struct cio_held *h, int64_t segment)
{
    struct span sp = {0};
    int64_t at = 0, end;

    for (; next_run(h, segment, &at, &end); at = end) {
        sp.lo = sp.runs++ == 0 ? at : sp.lo;
        sp.hi = end;
    }
    return sp;
}

static int write_run(struct cio_space *s, const struct cio_held *h, struct cio_store *store,
                     int64_t lo, int64_t hi)
{
    cio_tally(&s->stats.file_writes, 1);
    cio_tally(&s->stats.file_bytes, hi - lo);
    return cio_store_write(store, h->data + lo, hi - lo, h->base + lo);
}

static int write_runs(struct cio_space *s, const struct cio_held *h, struct cio_store *store)
{
    int64_t segment = s->settings.segment_size, at = 0, end;
    int rc = 0;

    for (; rc == 0 && next_run(h, segment, &at, &end); at = end)
        rc = write_run(s, h, store, at, end);
    return rc;
}

static void copy_gaps(const struct cio_held *h, const char *chunk, int64_t lo, int64_t hi)
{
    for (int64_t at = lo, run, end; at < hi; at = end) {
        run = at;
        if (!next_run(h, hi, &run, &end))
            run = end = hi;
        memcpy(h->data + at, chunk + at - lo, (size_t)(run - at));
    }
}

/* Bytes of [lo, hi) that are not dirty become the file's. */
static int fill_gaps(struct cio_space *s, const struct cio_held *h, struct cio_store *store,
                     int64_t lo, int64_t hi)
{
    char *chunk = malloc(CHUNK);
    int rc = chunk == NULL ? -ENOMEM : 0;

    for (int64_t at = lo, n; rc == 0 && at < hi; at += n) {
        n = cio_min64(CHUNK, hi - at);
        cio_tally(&s->stats.file_reads, 1);
        rc = cio_store_read(store, chunk, n, h->base + at);
        if (rc == 0)
            copy_gaps(h, chunk, at, at + n);
    }
    free(chunk);
    return rc;
}

int cio_write_locked(struct cio_store *store, const void *buf, int64_t len, int64_t off)
{
    int locked = cio_store_lock(store, off, len) == 0;
    int rc = cio_store_write(store, buf, len, off);

    if (locked)
        cio_store_unlock(store, off, len);
    return rc;
}

static int is_worth_filling(struct span sp, unsigned flags)
{
    return sp.runs > FEW_RUNS && (sp.hi - sp.lo) / sp.runs < LONG_RUN &&
           !(flags & CIO_TCIO_WRITE_ONLY);
}

/*
 * Under the lock of all that is dirty: somebody else may write in the gaps, through another space
 * or around this one, and what he writes may be read, modified and written back here, or the other
 * way round.
 */
static int write_dirty(struct cio_space *s, const struct cio_held *h, struct cio_store *store,
                       unsigned flags)
{
    struct span sp = dirty_span(h, s->settings.segment_size);
    int locked = cio_store_lock(store, h->base + sp.lo, sp.hi - sp.lo) == 0;
    int filled = locked && is_worth_filling(sp, flags) && fill_gaps(s, h, store, sp.lo, sp.hi) == 0;
    int rc = filled ? write_run(s, h, store, sp.lo, sp.hi) : write_runs(s, h, store);

    if (locked)
        cio_store_unlock(store, h->base + sp.lo, sp.hi - sp.lo);
    return rc;
}

static void clean(struct cio_space *s, struct cio_held *h)
{
    if (h->slot->dirty)
        memset(h->bits, 0, (size_t)s->settings.segment_size / 8);
    h->slot->dirty = 0;
    h->slot->filled = 0;
    h->slot->loaded = 0;
}

/* With the slot locked. After an error the bytes stay. */
static int write_out(struct cio_space *s, struct cio_held *h)
{
    struct cio_store *store;
    unsigned flags;
    int rc;

    if (!h->slot->dirty)
        return 0;
    rc = cio_entry_store(s, h->slot->entry, &store, &flags);
    if (rc == 0) {
        rc = write_dirty(s, h, store, flags);
        cio_entry_store_put(s, h->slot->entry);
    }
    if (rc == 0)
        clean(s, h);
    return rc;
}

/* ---- which slot ---- */

static int find(const struct cio_home *home, int slots, int entry, int64_t number)
{
    for (int i = 0; i < slots; i++)
        if (home->slot[i].entry == entry && home->slot[i].number == number)
            return i;
    return -1;
}

/* Whether a is the better one to make room. */
static int rather(const struct cio_slot *a, const struct cio_slot *b, int64_t segment)
{
    int full_a = a->filled >= segment, full_b = b->filled >= segment;

    if (a->dirty != b->dirty)
        return !a->dirty;
    if (!a->dirty)
        return (a->entry < 0) != (b->entry < 0) ? a->entry < 0 : a->looked < b->looked;
    if (full_a != full_b)
        return full_a;
    return a->entry != b->entry ? a->entry < b->entry : a->number < b->number;
}

/* -1: all that have memory are in use; -2: none has, nor can get any. */
static int victim(const struct cio_home *home, int slots, int64_t segment)
{
    int best = -2;

    for (int i = 0; i < slots; i++) {
        const struct cio_slot *x = &home->slot[i];

        if (x->backed < 0)
            continue;
        if (x->pins > 0) {
            best = best == -2 ? -1 : best;
            continue;
        }
        if (best < 0 || rather(x, &home->slot[best], segment))
            best = i;
    }
    return best;
}

static void unpin(struct cio_held *h)
{
    pthread_mutex_lock(&h->home->table);
    h->slot->pins--;
    pthread_mutex_unlock(&h->home->table);
}

void cio_slot_release(struct cio_held *h)
{
    pthread_mutex_unlock(&h->slot->lock);
    unpin(h);
}

/* With the table locked, which it gives back: the slot gets memory and the segment's name. */
static int give(struct cio_space *s, struct cio_held *h, int rank, int entry, int64_t number)
{
    struct cio_slot *x = h->slot;
    int rc = 0;

    if (!x->backed)
        rc = back(s, rank, h, (int)(x - h->home->slot));
    if (rc == 0) {
        x->entry = entry;
        x->number = number;
        x->loaded = 0;
        x->pins = 1;
    }
    pthread_mutex_unlock(&h->home->table);
    if (rc == 0)
        pthread_mutex_lock(&x->lock);
    return rc;
}

/* With the table locked, which it gives back. */
static int evict(struct cio_space *s, struct cio_held *h)
{
    int rc;

    h->slot->pins++;
    pthread_mutex_unlock(&h->home->table);
    pthread_mutex_lock(&h->slot->lock);
    h->base = h->slot->number * s->settings.segment_size;
    cio_tally(&s->stats.evictions, h->slot->dirty);
    rc = write_out(s, h);
    if (rc != 0)
        cio_entry_fail(s, h->slot->entry, rc, h->base, h->base + s->settings.segment_size);
    pthread_mutex_unlock(&h->slot->lock);
    unpin(h);
    return rc;
}

/*
 * One try: 1 if it must be tried again, since room was made, or all slots are in use.
 */
static int try_take(struct cio_space *s, int rank, int entry, int64_t number, int make,
                    struct cio_held *h)
{
    const struct timespec nap = {0, 20000};
    struct cio_home *home = cio_home_of(s, rank);
    int slots = (int)s->sizes.slots, i, rc;

    pthread_mutex_lock(&home->table);
    i = find(home, slots, entry, number);
    if (i < 0 && !make) {
        pthread_mutex_unlock(&home->table);
        return -ENOENT;
    }
    if (i >= 0) {
        *h = held(s, rank, i);
        h->slot->pins++;
        h->slot->looked = ++home->clock;
        pthread_mutex_unlock(&home->table);
        pthread_mutex_lock(&h->slot->lock);
        return 0;
    }
    i = victim(home, slots, s->settings.segment_size);
    if (i < 0) {
        pthread_mutex_unlock(&home->table);
        if (i == -2)
            return -ENOMEM;
        nanosleep(&nap, NULL);
        return 1;
    }
    *h = held(s, rank, i);
    if (h->slot->dirty) {
        rc = evict(s, h);
        return rc == 0 ? 1 : rc;
    }
    h->slot->looked = ++home->clock;
    rc = give(s, h, rank, entry, number);
    return rc == -ENOSPC ? 1 : rc;
}

/*
 * Maps the pages of a slot. A page fault for reading maps those around it, too, where there is
 * memory; one for writing would map one.
 */
static void map_pages(const struct cio_space *s, const struct cio_held *h)
{
    int64_t segment = s->settings.segment_size;

    for (int64_t at = 0; at < segment; at += AROUND)
        (void)*(volatile const char *)(h->data + at);
    for (int64_t at = 0; at < segment / 8; at += AROUND)
        (void)*((volatile const char *)h->bits + at);
}

int cio_slot_take(struct cio_space *s, int entry, int64_t number, int make, struct cio_held *out)
{
    int rank = (int)(number % s->os->size), rc;
    struct cio_held h;

    do
        rc = try_take(s, rank, entry, number, make, &h);
    while (rc == 1);
    if (rc != 0)
        return rc;
    map_pages(s, &h);
    h.base = number * s->settings.segment_size;
    if (make)
        __atomic_store_n(&s->touched, 1, __ATOMIC_RELAXED);
    *out = h;
    return 0;
}

/* ---- bytes ---- */

void cio_slot_fill(struct cio_space *s, struct cio_held *h, int64_t off, const char *from,
                   int64_t len)
{
    struct cio_slot *x = h->slot;
    int64_t at = off - h->base, segment = s->settings.segment_size;

    cio_copy_small(h->data + at, from, len);
    cio_bits_set_range(h->bits, at, at + len);
    x->dirty = 1;
    x->filled += len;
    if (x->filled >= segment && x->filled < segment + len)
        x->filled = cio_bits_count(h->bits, segment);
}

int cio_slot_load(struct cio_space *s, struct cio_held *h)
{
    int64_t segment = s->settings.segment_size;
    struct cio_store *store;
    unsigned flags;
    int rc;

    if (h->slot->loaded)
        return 0;
    rc = cio_entry_store(s, h->slot->entry, &store, &flags);
    if (rc != 0)
        return rc;
    if (h->slot->dirty) {
        rc = fill_gaps(s, h, store, 0, segment);
    } else {
        cio_tally(&s->stats.file_reads, 1);
        rc = cio_store_read(store, h->data, segment, h->base);
    }
    if (rc == 0) {
        h->slot->end = cio_store_size(store);
        h->slot->loaded = 1;
    }
    cio_entry_store_put(s, h->slot->entry);
    return rc;
}

int cio_slot_has(const struct cio_held *h, int64_t off, int64_t len)
{
    int64_t at = off - h->base, end;

    if (!h->slot->dirty)
        return 0;
    return next_run(h, at + len, &at, &end) && at == off - h->base && end >= at + len;
}

void cio_slot_overlay(const struct cio_held *h, int64_t off, int64_t len, char *to)
{
    int64_t start = off - h->base, at = start, end;

    for (; h->slot->dirty && next_run(h, start + len, &at, &end); at = end)
        memcpy(to + at - start, h->data + at, (size_t)(end - at));
}

/* ---- emptying ---- */

struct place {
    int entry, rank, slot;
    int64_t number;
};

static int by_place(const void *a, const void *b)
{
    const struct place *x = a, *y = b;

    if (x->entry != y->entry)
        return x->entry < y->entry ? -1 : 1;
    return x->number < y->number ? -1 : x->number > y->number;
}

/* What these ranks hold of a file, in the order of the file. */
static int64_t list_places(struct cio_space *s, const int *rank, int ranks, int entry,
                           struct place *out)
{
    int64_t n = 0;

    for (int r = 0; r < ranks; r++) {
        struct cio_home *home = cio_home_of(s, rank[r]);

        pthread_mutex_lock(&home->table);
        for (int i = 0; i < (int)s->sizes.slots; i++)
            if (home->slot[i].entry >= 0 && (entry < 0 || home->slot[i].entry == entry))
                out[n++] = (struct place){home->slot[i].entry, rank[r], i, home->slot[i].number};
        pthread_mutex_unlock(&home->table);
    }
    qsort(out, (size_t)n, sizeof *out, by_place);
    return n;
}

/* Whether slots of the node have anything of the file; the last such segment before another one. */
static int64_t last_number(struct cio_space *s, int entry, int64_t before, int *any)
{
    int64_t last = -1;

    *any = 0;
    for (int r = 0; r < s->here; r++) {
        struct cio_home *home = cio_home_of(s, s->ranks_here[r]);

        pthread_mutex_lock(&home->table);
        for (int i = 0; i < (int)s->sizes.slots; i++) {
            const struct cio_slot *x = &home->slot[i];

            if (x->entry != entry)
                continue;
            *any = 1;
            if ((x->pins > 0 || x->dirty) && x->number < before)
                last = cio_max64(last, x->number);
        }
        pthread_mutex_unlock(&home->table);
    }
    return last;
}

int cio_slots_have(struct cio_space *s, int entry)
{
    int any;

    (void)last_number(s, entry, INT64_MAX, &any);
    return any;
}

int64_t cio_slots_end(struct cio_space *s, int entry)
{
    int64_t segment = s->settings.segment_size, number = INT64_MAX, last, end;
    struct cio_held h;
    int any;

    while ((number = last_number(s, entry, number, &any)) >= 0) {
        if (cio_slot_take(s, entry, number, 0, &h) != 0)
            continue;
        last = h.slot->dirty ? cio_bits_last(h.bits, segment) : -1;
        end = h.base + last + 1;
        cio_slot_release(&h);
        if (last >= 0)
            return end;
    }
    return 0;
}

static int empty_one(struct cio_space *s, struct place p, enum cio_empty how)
{
    struct cio_held h = held(s, p.rank, p.slot);
    int rc = 0, there;

    pthread_mutex_lock(&h.home->table);
    there = h.slot->entry == p.entry && h.slot->number == p.number;
    h.slot->pins += there;
    pthread_mutex_unlock(&h.home->table);
    if (!there)
        return 0;
    pthread_mutex_lock(&h.slot->lock);
    h.base = p.number * s->settings.segment_size;
    if (how == CIO_EMPTY_DROP)
        clean(s, &h);
    else
        rc = write_out(s, &h);
    if (rc != 0 && how == CIO_EMPTY_WRITE)
        cio_entry_fail(s, p.entry, rc, h.base, h.base + s->settings.segment_size);
    h.slot->loaded = 0;
    pthread_mutex_unlock(&h.slot->lock);
    pthread_mutex_lock(&h.home->table);
    if (--h.slot->pins == 0 && !h.slot->dirty)
        h.slot->entry = -1;
    pthread_mutex_unlock(&h.home->table);
    return rc;
}

int cio_slots_empty(struct cio_space *s, const int *rank, int ranks, int entry, enum cio_empty how)
{
    struct place *p = malloc((size_t)ranks * (size_t)s->sizes.slots * sizeof *p);
    int64_t n;
    int rc = 0;

    if (p == NULL)
        return -ENOMEM;
    n = list_places(s, rank, ranks, entry, p);
    for (int64_t i = 0; i < n; i++) {
        int failed = empty_one(s, p[i], how);

        if (failed != 0 && rc == 0 && how == CIO_EMPTY_QUIET)
            cio_entry_say(s, p[i].entry, failed, p[i].number * s->settings.segment_size,
                          (p[i].number + 1) * s->settings.segment_size);
        rc = rc != 0 ? rc : failed;
    }
    free(p);
    return rc;
}
