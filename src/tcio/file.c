/*
 * A file of a space, in one process: opening, writing, and what makes it visible.
 *
 * What may go around the buffers: pieces that are large by themselves, as long as nothing of this
 * process in level 2 could be written over them later. `sent` is the range of which level 2 may
 * have bytes of this process, `direct` that of which the file has some that a slot may not know.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "tcio/deal.h"
#include "tcio/state.h"

#define NODES_ASKED 32   /* at most */
#define TIME_ASKED 5e-3  /* seconds until a node counts as busy */
#define LOG_MOST 4       /* segments that a log may take then */
#define LARGE (64 << 10) /* goes around the buffers, if the one before it ended where it begins */

static int meets(int64_t lo, int64_t hi, int64_t off, int64_t len)
{
    return off < hi && off + len > lo;
}

static void widen(int64_t *lo, int64_t *hi, int64_t off, int64_t len)
{
    *lo = cio_min64(*lo, off);
    *hi = cio_max64(*hi, off + len);
}

/* ---- opening and closing ---- */

/* A counter of the path; `which` of the two halves. */
static int count(struct cio_tcio *f, int which, int64_t by, int64_t *now)
{
    struct cio_space *s = f->space;
    uint64_t hash = cio_path_hash(f->path), old;
    int half = CIO_TCIO_COUNTERS / 2, rank = (int)(hash % (uint64_t)s->os->size);
    uint64_t i = (uint64_t)(which * half) + hash / (uint64_t)s->os->size % (uint64_t)half;
    int64_t at = (int64_t)(offsetof(struct cio_region, counter) + i * sizeof(uint64_t));
    int rc = cio_onesided_add(s->os, (uint64_t)by, rank, at, &old);

    if (rc == 0)
        rc = cio_onesided_flush(s->os, rank);
    if (rc == 0)
        *now = (int64_t)old + by;
    return rc;
}

int cio_tcio_count(struct cio_tcio *f, int64_t by, int64_t *now)
{
    return count(f, 0, by, now);
}

int cio_tcio_refresh(struct cio_tcio *f)
{
    int64_t marks = 0;
    int rc = f->space->settings.open != NULL ? count(f, 1, 0, &marks) : 0;

    f->look = marks != 0;
    f->window_len = 0;
    return rc;
}

static void release(struct cio_tcio *f)
{
    cio_wlog_destroy(&f->log);
    free(f->wish);
    free(f->window);
    free(f->path);
    free(f);
}

static int make(struct cio_space *space, const char *path, struct cio_store *store,
                struct cio_tcio **out)
{
    struct cio_tcio *f = calloc(1, sizeof *f);
    int rc;

    if (f == NULL)
        return -ENOMEM;
    f->space = space;
    f->store = store;
    f->path = strdup(path);
    f->sent_lo = f->direct_lo = f->wish_lo = INT64_MAX;
    f->read_at = f->wrote_at = -1;
    rc = f->path == NULL ? -ENOMEM : cio_wlog_create(space->sizes.level1, &f->log);
    if (rc == 0)
        rc = cio_entry_open(space, path, &f->entry);
    if (rc == 0)
        *out = f;
    else
        release(f);
    return rc;
}

static void unmake(struct cio_tcio *f)
{
    cio_entry_unregister(f->space, f->entry);
    cio_entry_close(f->space, f->entry);
    release(f);
}

int cio_tcio_open(struct cio_space *space, const char *path, struct cio_store *store,
                  unsigned flags, struct cio_tcio **out)
{
    struct cio_tcio *f = NULL;
    int rc = make(space, path, store, &f), all;

    if (rc == 0) {
        cio_entry_register(space, f->entry, store, flags);
        rc = cio_tcio_refresh(f);
    }
    all = space->settings.open == NULL ? cio_space_agree(space, rc) : rc;
    if (all != 0) {
        if (f != NULL)
            unmake(f);
        return all;
    }
    f->next = space->files;
    space->files = f;
    *out = f;
    return 0;
}

int cio_tcio_close(struct cio_tcio *f)
{
    struct cio_space *s = f->space;
    struct cio_tcio **link = &s->files;
    int rc = cio_tcio_fetch(f), late = cio_tcio_push(f);

    if (s->settings.open != NULL && f->direct_hi > 0)
        late = late != 0 ? late : cio_tcio_drain(f, 0);
    while (*link != f)
        link = &(*link)->next;
    *link = f->next;
    if (s->settings.open != NULL)
        cio_entry_unregister(s, f->entry);
    cio_entry_close(s, f->entry);
    release(f);
    return rc != 0 ? rc : late;
}

/* ---- writing ---- */

int cio_tcio_in_use(const struct cio_tcio *f)
{
    const struct cio_space *s = f->space;
    const uint64_t *used = &cio_region_of(s, s->first)->used;

    return s->announced == s->epoch || __atomic_load_n(used, __ATOMIC_ACQUIRE) == s->epoch;
}

static int goes_around(const struct cio_tcio *f, int64_t off, int64_t len)
{
    const struct cio_space *s = f->space;

    if (len < LARGE || (len < s->settings.segment_size && off != f->wrote_at))
        return 0;
    if (s->settings.immediate)
        return !cio_tcio_in_use(f);
    return !f->look && !meets(f->sent_lo, f->sent_hi, off, len);
}

static int write_around(struct cio_tcio *f, int64_t off, const void *buf, int64_t len)
{
    int rc = 0;

    if (cio_wlog_touches(&f->log, off, len))
        rc = cio_tcio_push(f);
    if (rc == 0 && meets(f->sent_lo, f->sent_hi, off, len))
        rc = cio_tcio_drain(f, 0);
    if (rc != 0)
        return rc;
    f->stats.direct_writes++;
    cio_tally(&f->space->stats.file_writes, 1);
    cio_tally(&f->space->stats.file_bytes, len);
    widen(&f->direct_lo, &f->direct_hi, off, len);
    return cio_write_locked(f->store, buf, len, off);
}

/*
 * Whether the nodes respond, or do so soon. Where one does not, because its ranks compute, the log
 * takes more instead, so that nobody waits before he must.
 */
static int nodes_respond(struct cio_space *s)
{
    struct cio_patience p;
    int n = 0;

    if (s->os->nodes > NODES_ASKED)
        return 1;
    cio_patience_start(&p);
    while (n < s->os->nodes && cio_patience_spent(&p) < TIME_ASKED) {
        if (n == s->node || cio_onesided_responds(s->os, s->proxy[n]))
            n++;
        else
            cio_patience_nap(s, &p);
    }
    cio_patience_end(s, &p);
    return n == s->os->nodes;
}

static int make_room(struct cio_tcio *f)
{
    int64_t level1 = f->space->sizes.level1;
    int rc;

    if (f->log.room < LOG_MOST * level1 && !nodes_respond(f->space) &&
        cio_wlog_resize(&f->log, f->log.room + level1) == 0)
        return 0;
    rc = cio_tcio_push(f);
    if (f->log.room > level1)
        (void)cio_wlog_resize(&f->log, level1);
    return rc;
}

static int log_all(struct cio_tcio *f, int64_t off, const char *buf, int64_t len)
{
    while (len > 0) {
        int64_t n = cio_wlog_add(&f->log, off, buf, len);

        if (n < 0)
            return (int)n;
        if (n == 0) {
            int rc = make_room(f);

            if (rc != 0)
                return rc;
        }
        off += n;
        buf += n;
        len -= n;
    }
    return 0;
}

int cio_tcio_write(struct cio_tcio *f, int64_t off, const void *buf, int64_t len)
{
    int rc;

    if (off < 0 || len < 0)
        return -EINVAL;
    if (len > INT64_MAX - off)
        return -EFBIG;
    if (f->wishes > 0 && meets(f->wish_lo, f->wish_hi, off, len) && (rc = cio_tcio_fetch(f)) != 0)
        return rc;
    f->stats.writes++;
    f->stats.bytes_written += len;
    f->window_len = 0;
    rc = len >= LARGE && goes_around(f, off, len) ? write_around(f, off, buf, len)
                                                  : log_all(f, off, buf, len);
    f->wrote_at = off + len;
    if (rc == 0 && f->space->settings.immediate && !f->holding)
        rc = cio_tcio_push(f);
    return rc;
}

void cio_tcio_hold(struct cio_tcio *f)
{
    f->holding = 1;
}

int cio_tcio_release(struct cio_tcio *f)
{
    f->holding = 0;
    return f->space->settings.immediate ? cio_tcio_push(f) : 0;
}

/* ---- level 1 to level 2 ---- */

/*
 * Every node learns that level 2 is in use, before anything is there: until then reads and large
 * writes go straight to the file, and ask nobody.
 */
static int announce(struct cio_tcio *f)
{
    struct cio_space *s = f->space;
    int64_t at = (int64_t)offsetof(struct cio_region, used);
    int rc = 0;

    if (!s->settings.immediate || cio_tcio_in_use(f))
        return 0;
    for (int n = 0; rc == 0 && n < s->os->nodes; n++)
        rc = cio_onesided_store(s->os, s->epoch, s->first_of[n], at);
    for (int n = 0; rc == 0 && n < s->os->nodes; n++)
        rc = cio_onesided_flush(s->os, s->first_of[n]);
    if (rc == 0)
        s->announced = s->epoch;
    return rc;
}

/* Where files are opened by themselves, those who open one later learn that level 2 has some. */
static int mark(struct cio_tcio *f)
{
    struct cio_tcio_entry *e = &cio_node_of(f->space)->entry[f->entry];
    int64_t marks;
    int rc;

    if (f->marked || f->space->settings.open == NULL)
        return 0;
    rc = count(f, 1, 1, &marks);
    if (rc != 0)
        return rc;
    f->marked = 1;
    __atomic_fetch_add(&e->deposits, 1, __ATOMIC_SEQ_CST);
    return 0;
}

/* Long runs of the log that need not go to others, written straight to the file. */
static int write_runs(struct cio_tcio *f)
{
    struct cio_wlog *log = &f->log;
    int64_t kept = 0;
    int rc = 0;

    for (int64_t i = 0; i < log->n; i++) {
        struct cio_block b = log->block[i];

        if (rc == 0 && b.len >= LARGE && !f->space->settings.immediate && !f->look &&
            !meets(f->sent_lo, f->sent_hi, b.off, b.len))
            rc = write_around(f, b.off, log->data + b.at, b.len);
        else
            log->block[kept++] = b;
    }
    log->n = kept;
    return rc;
}

static int deposit(struct cio_tcio *f)
{
    struct cio_wlog *log = &f->log;
    int rc = announce(f);

    if (rc == 0)
        rc = mark(f);
    if (rc != 0)
        return rc;
    widen(&f->sent_lo, &f->sent_hi, log->block[0].off,
          log->block[log->n - 1].off + log->block[log->n - 1].len - log->block[0].off);
    f->stats.blocks += log->n;
    return cio_deal_writes(f);
}

int cio_tcio_push(struct cio_tcio *f)
{
    int64_t lo = f->log.lo, hi = f->log.hi;
    int rc;

    if (f->log.n == 0)
        return 0;
    f->stats.pushes++;
    rc = cio_wlog_resolve(&f->log);
    if (rc != 0)
        return rc;                        /* nothing is lost: the log stays */
    f->log.lo = INT64_MAX, f->log.hi = 0; /* write_around() is not to push again */
    rc = write_runs(f);
    if (rc == 0 && f->log.n > 0)
        rc = deposit(f);
    if (rc != 0)
        cio_entry_fail(f->space, f->entry, rc, lo, hi);
    cio_wlog_clear(&f->log);
    return rc;
}

/* ---- to the file ---- */

/* Asks all nodes; the sum, or the largest, of what they tell. */
static int ask_nodes(struct cio_tcio *f, enum cio_record_kind kind, int64_t *sum, int64_t *most)
{
    struct cio_space *s = f->space;
    int rc = cio_node_ask(s, kind, f->path, sum);

    *most = *sum;
    for (int n = 0; n < s->os->nodes; n++) {
        struct cio_answer answer = {0};
        int failed;

        if (n == s->node)
            continue;
        (void)cio_record_begin(s, kind, f->path);
        failed = cio_record_ask(s, n, &answer);
        rc = rc != 0 ? rc : failed;
        *sum += answer.bytes;
        *most = cio_max64(*most, answer.bytes);
    }
    return rc;
}

static int drain_nodes(struct cio_tcio *f, enum cio_record_kind kind)
{
    int64_t marks = 0, most, now;
    int rc = ask_nodes(f, kind, &marks, &most);

    if (rc == 0 && kind == CIO_RECORD_FORGET && marks > 0)
        rc = count(f, 1, -marks, &now);
    f->sent_lo = f->direct_lo = INT64_MAX;
    f->sent_hi = f->direct_hi = 0;
    f->window_len = 0;
    if (kind == CIO_RECORD_FORGET)
        f->marked = 0;
    return rc;
}

int cio_tcio_drain(struct cio_tcio *f, int forget)
{
    int rc = cio_tcio_push(f);
    int late = drain_nodes(f, forget ? CIO_RECORD_FORGET : CIO_RECORD_DRAIN);

    return rc != 0 ? rc : late;
}

int cio_tcio_discard(struct cio_tcio *f)
{
    int rc = cio_tcio_push(f);
    int late = drain_nodes(f, CIO_RECORD_DISCARD);

    return rc != 0 ? rc : late;
}

int cio_tcio_size(struct cio_tcio *f, int64_t *size)
{
    struct cio_space *s = f->space;
    int idle = f->log.n == 0 && f->sent_hi == 0 && !f->look;
    int64_t sum, end = 0;
    int rc = 0;

    if (!idle || (s->settings.immediate && cio_tcio_in_use(f))) {
        rc = cio_tcio_push(f);
        if (rc == 0)
            rc = ask_nodes(f, CIO_RECORD_END, &sum, &end);
    }
    if (rc == 0)
        *size = cio_max64(end, cio_store_size(f->store));
    return rc;
}

/* ---- what was done ---- */

void cio_tcio_stats(const struct cio_tcio *f, struct cio_tcio_stats *out)
{
    const struct cio_tcio_stats *all = &f->space->stats;

    *out = f->stats;
    out->local_transfers = all->local_transfers;
    out->remote_transfers = all->remote_transfers;
    out->remote_bytes = all->remote_bytes;
    out->file_writes = all->file_writes;
    out->file_bytes = all->file_bytes;
    out->file_reads = all->file_reads;
    out->evictions = all->evictions;
    out->waiting = all->waiting;
}

int64_t cio_tcio_memory(const struct cio_tcio *f)
{
    const struct cio_sizes *z = &f->space->sizes;
    int64_t blocks = f->log.allocated * (int64_t)sizeof *f->log.block +
                     f->wishes_allocated * (int64_t)sizeof *f->wish;

    return z->region + z->record + z->staging + z->answer + f->log.room + blocks +
           (f->window != NULL ? CIO_TCIO_WINDOW : 0);
}

int64_t cio_tcio_level1(const struct cio_tcio *f)
{
    return f->log.room;
}
