/*
 * Records for other nodes. Each process writes to the inbox of one rank of each node, a ring of
 * BLOCKS blocks, one for each record:
 *
 *            head                scanned          tail
 *   ring  ...|done|asked| written | reserved ... |          positions only rise; modulo its size
 *
 *   1  add a block to tail: where it was, the record goes, once head is near enough
 *   2  put it there, all but its mark; flush
 *   3  store the mark, which is its position + 1: nothing that lay there before can be that, since
 *      a record that is done is made zeros
 *
 * Whoever of the node has `serve` carries records out, in their order; those that ask wait until
 * the answer before was taken (`consumed`). Writes behind them need not wait: a process that asks
 * sends nothing more until it has its answer. A question is answered once all that may have been
 * sent to any inbox of the node, when it was first seen, has been carried out: it may have been
 * sent by somebody who heard of that. What was reserved but had no room yet is not waited for: its
 * room may be what the question itself takes up. That is known for each position, since all
 * blocks are equal.
 *
 * Nobody waits while he serves; and who waits for room, with questions of his own that may have
 * been answered, takes these answers, since others may wait for that.
 */
#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "plan/code.h"
#include "tcio/state.h"

enum record_state { RECORD_NEW, RECORD_SEEN, RECORD_ANSWERED, RECORD_DONE };

#define SOME 256         /* extents decoded at a time */
#define FIRST_PAUSE 1e-4 /* seconds between looks at another node, at first */
#define LAST_PAUSE 4e-3
#define FIRST_NAP 200000 /* nanoseconds between looks around here */
#define LAST_NAP 3200000
#define LOOKS 1000 /* without a nap, where each rank has a core */

/* ---- waiting ---- */

static double now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

void cio_patience_start(struct cio_patience *p)
{
    *p = (struct cio_patience){.since = now(), .pause = FIRST_PAUSE};
}

int cio_patience_due(struct cio_patience *p)
{
    double t = now();

    if (t < p->due)
        return 0;
    p->due = t + p->pause;
    if (p->pause < LAST_PAUSE)
        p->pause *= 2;
    return 1;
}

/* Where ranks share cores, whoever looks keeps those from it that he waits for. */
void cio_patience_nap(struct cio_space *s, struct cio_patience *p)
{
    long ns = FIRST_NAP;

    cio_onesided_progress(s->os);
    if (cio_inbox_serve(s) > 0)
        p->turns = 0;
    else if (p->turns++ < LOOKS && !s->crowded)
        sched_yield();
    else {
        for (int i = 0; i < p->turns / 4 && ns < LAST_NAP; i++)
            ns *= 2;
        nanosleep(&(struct timespec){0, ns}, NULL);
    }
}

double cio_patience_spent(const struct cio_patience *p)
{
    return now() - p->since;
}

void cio_patience_end(struct cio_space *s, struct cio_patience *p)
{
    s->stats.waiting += cio_patience_spent(p);
}

/* ---- sending ---- */

static int64_t at_word(size_t member)
{
    return (int64_t)member;
}
#define WORD(member) at_word(offsetof(struct cio_region, member))

static int64_t ring_at(void)
{
    return (int64_t)sizeof(struct cio_region);
}

char *cio_record_begin(struct cio_space *s, enum cio_record_kind kind, const char *path)
{
    struct cio_record *r = (void *)s->staging;
    int64_t n = (int64_t)strlen(path) + 1;

    *r = (struct cio_record){.kind = kind, .path = n};
    memcpy(r + 1, path, (size_t)n);
    return (char *)(r + 1) + n;
}

static int wait_for_room(struct cio_space *s, int node, uint64_t end)
{
    struct cio_patience p;
    int target = s->proxy[node], rc = 0;
    uint64_t ring = (uint64_t)s->sizes.ring;

    cio_patience_start(&p);
    while (rc == 0 && end - s->head[node] > ring) {
        cio_patience_nap(s, &p);
        rc = s->meanwhile != NULL ? s->meanwhile(s->meanwhile_self) : 0;
        if (rc != 0 || !cio_patience_due(&p))
            continue;
        rc = cio_onesided_get(s->os, &s->head[node], sizeof s->head[node], target, WORD(head));
        if (rc == 0)
            rc = cio_onesided_flush(s->os, target);
    }
    if (p.turns > 0)
        cio_patience_end(s, &p);
    return rc;
}

/* Where the record goes; and how far the ring is free. */
static int reserve(struct cio_space *s, int node, uint64_t length, uint64_t *pos)
{
    int target = s->proxy[node];
    int rc = cio_onesided_add(s->os, length, target, WORD(tail), pos);

    if (rc == 0)
        rc = cio_onesided_get(s->os, &s->head[node], sizeof s->head[node], target, WORD(head));
    if (rc == 0)
        rc = cio_onesided_flush(s->os, target);
    return rc == 0 ? wait_for_room(s, node, *pos + length) : rc;
}

/* Bytes [from, to) of the record, which may go round the end of the ring. */
static int put_part(struct cio_space *s, int target, uint64_t pos, int64_t from, int64_t to)
{
    int rc = 0;

    for (int64_t n, at; rc == 0 && from < to; from += n) {
        at = (int64_t)((pos + (uint64_t)from) % (uint64_t)s->sizes.ring);
        n = cio_min64(to - from, s->sizes.ring - at);
        rc = cio_onesided_put(s->os, s->staging + from, n, target, ring_at() + at);
    }
    return rc;
}

int cio_record_send(struct cio_space *s, int node, uint64_t *id)
{
    struct cio_record *r = (void *)s->staging;
    int64_t length = (int64_t)sizeof *r + r->path + r->code + r->data;
    int target = s->proxy[node], rc;
    uint64_t pos;

    length = (length + 7) / 8 * 8;
    r->length = (uint64_t)length;
    rc = reserve(s, node, (uint64_t)s->sizes.record, &pos);
    if (rc == 0)
        rc = put_part(s, target, pos, (int64_t)sizeof r->mark, length);
    if (rc == 0)
        rc = cio_onesided_flush(s->os, target);
    if (rc == 0)
        rc = cio_onesided_store(s->os, pos + 1, target,
                                ring_at() + (int64_t)(pos % (uint64_t)s->sizes.ring));
    __atomic_store_n(&s->touched, 1, __ATOMIC_RELAXED);
    cio_tally(&s->stats.remote_transfers, 1);
    cio_tally(&s->stats.remote_bytes, length);
    *id = pos + 1;
    return rc;
}

int cio_records_flush(struct cio_space *s, int node)
{
    return cio_onesided_flush(s->os, s->proxy[node]);
}

int cio_answer_ready(struct cio_space *s, int node, uint64_t id, struct cio_patience *p, int *ready)
{
    int target = s->proxy[node], rc;
    uint64_t seen = 0;

    *ready = 0;
    if (!cio_patience_due(p))
        return 0;
    rc = cio_onesided_get(s->os, &seen, sizeof seen, target, WORD(answer));
    if (rc == 0)
        rc = cio_onesided_flush(s->os, target);
    *ready = seen == id;
    return rc;
}

int cio_answer_take(struct cio_space *s, int node, uint64_t id, struct cio_answer *answer, char *to,
                    int64_t most)
{
    int target = s->proxy[node];
    int64_t at = ring_at() + s->sizes.ring;
    int rc = cio_onesided_get(s->os, answer, sizeof *answer, target, at);

    if (rc == 0 && most > 0)
        rc = cio_onesided_get(s->os, to, most, target, at + (int64_t)sizeof *answer);
    if (rc == 0)
        rc = cio_onesided_flush(s->os, target);
    if (rc == 0)
        rc = cio_onesided_store(s->os, id, target, WORD(consumed));
    if (rc == 0)
        rc = cio_onesided_flush(s->os, target);
    return rc != 0 ? rc : (int)answer->error;
}

int cio_record_ask(struct cio_space *s, int node, struct cio_answer *answer)
{
    struct cio_patience p;
    uint64_t id;
    int ready = 0, rc = cio_record_send(s, node, &id);

    if (rc == 0)
        rc = cio_records_flush(s, node);
    cio_patience_start(&p);
    while (rc == 0 && !ready) {
        cio_patience_nap(s, &p);
        rc = cio_answer_ready(s, node, id, &p, &ready);
    }
    cio_patience_end(s, &p);
    return rc != 0 ? rc : cio_answer_take(s, node, id, answer, NULL, 0);
}

/* ---- an inbox ---- */

struct inbox {
    struct cio_region *region;
    struct cio_home *home;
    char *ring;
    uint64_t size, block;
};

static struct inbox inbox_of(const struct cio_space *s, int rank)
{
    struct cio_region *r = cio_region_of(s, rank);

    return (struct inbox){.region = r,
                          .home = cio_home_of(s, rank),
                          .ring = (char *)r + ring_at(),
                          .size = (uint64_t)s->sizes.ring,
                          .block = (uint64_t)s->sizes.record};
}

/* Copies bytes of the ring, which may go round its end; with `to` NULL they become zeros. */
static void take_bytes(const struct inbox *in, uint64_t pos, char *to, uint64_t len)
{
    for (uint64_t n, at; len > 0; pos += n, len -= n) {
        at = pos % in->size;
        n = len < in->size - at ? len : in->size - at;
        if (to != NULL) {
            memcpy(to, in->ring + at, n);
            to += n;
        } else {
            memset(in->ring + at, 0, n);
        }
    }
}

static struct cio_record head_of(const struct inbox *in, uint64_t pos)
{
    struct cio_record r;

    take_bytes(in, pos, (char *)&r, sizeof r);
    return r;
}

static void set_state(const struct inbox *in, uint64_t pos, uint32_t state)
{
    uint64_t at = (pos + offsetof(struct cio_record, state)) % in->size;

    memcpy(in->ring + at, &state, sizeof state);
}

static int is_marked(const struct inbox *in, uint64_t pos)
{
    uint64_t *mark = (void *)(in->ring + pos % in->size);

    return __atomic_load_n(mark, __ATOMIC_ACQUIRE) == pos + 1;
}

/* Gives back what is done at the beginning. */
static void retire(const struct inbox *in)
{
    uint64_t pos = in->region->head;

    while (pos < in->home->scanned) {
        struct cio_record r = head_of(in, pos);

        if (r.state != RECORD_DONE)
            break;
        take_bytes(in, pos, NULL, r.length);
        pos += in->block;
        __atomic_store_n(&in->region->head, pos, __ATOMIC_RELEASE);
    }
}

/* ---- carrying out ---- */

struct parts {
    const char *path, *code, *data;
};

static struct parts parts_of(const struct cio_record *r, const char *scratch)
{
    const char *path = scratch + sizeof *r;

    return (struct parts){path, path + r->path, path + r->path + r->code};
}

static void lose(struct cio_space *s, int error)
{
    int32_t none = 0;

    (void)__atomic_compare_exchange_n(&cio_node_of(s)->lost, &none, error, 0, __ATOMIC_SEQ_CST,
                                      __ATOMIC_SEQ_CST);
}

static int fill_all(struct cio_walk *w, struct cio_decoder *d, const char *data)
{
    cio_extent e[SOME];
    int n, rc = 0;

    while (rc == 0 && (n = cio_decode_some(d, e, SOME)) != 0) {
        if (n < 0)
            return n;
        for (int i = 0; rc == 0 && i < n; i++) {
            rc = cio_walk_fill(w, e[i].off, data, e[i].len);
            data += e[i].len;
        }
    }
    return rc;
}

/*
 * A walk through the segments of a path. If the node knows as many files as it can, this one's
 * bytes go to and from the file itself.
 */
static int begin_walk(struct cio_space *s, const char *path, struct cio_walk *w)
{
    struct cio_store *store;
    int entry, rc = cio_entry_find(s, path, 1, &entry);

    if (rc == 0) {
        cio_walk_begin(s, entry, w);
        return 0;
    }
    if (rc != -ENFILE || s->settings.open == NULL)
        return rc;
    rc = s->settings.open(s->settings.self, path, &store);
    if (rc == 0) {
        cio_walk_begin(s, -1, w);
        w->store = store;
    }
    return rc;
}

static void end_walk(struct cio_walk *w)
{
    cio_walk_end(w);
    if (w->entry < 0)
        cio_store_destroy(w->store);
}

static void carry_out_write(struct cio_space *s, const struct cio_record *r)
{
    struct parts p = parts_of(r, s->scratch);
    struct cio_decoder d;
    struct cio_walk w;
    int rc = cio_decode_begin(&d, p.code, (size_t)r->code, r->base, r->base, INT64_MAX);

    if (rc == 0 && d.bytes != r->data)
        rc = -EBADMSG;
    if (rc == 0)
        rc = begin_walk(s, p.path, &w);
    if (rc != 0) {
        lose(s, rc);
        return;
    }
    rc = fill_all(&w, &d, p.data);
    end_walk(&w);
    if (rc != 0 && (w.entry < 0 || rc == -EBADMSG))
        lose(s, rc);
}

static int read_all(struct cio_walk *w, struct cio_decoder *d, char *to, int64_t *cut)
{
    cio_extent e[SOME];
    int n, rc = 0;

    while (rc == 0 && (n = cio_decode_some(d, e, SOME)) != 0) {
        if (n < 0)
            return n;
        for (int i = 0; rc == 0 && i < n; i++) {
            rc = cio_walk_read(w, e[i].off, to, e[i].len, cut);
            to += e[i].len;
        }
    }
    return rc;
}

static int carry_out_read(struct cio_space *s, const struct cio_record *r,
                          struct cio_answer *answer)
{
    struct parts p = parts_of(r, s->scratch);
    struct cio_decoder d;
    struct cio_walk w;
    int rc = cio_decode_begin(&d, p.code, (size_t)r->code, r->base, r->base, INT64_MAX);

    if (rc == 0 && d.bytes > s->sizes.answer)
        rc = -EBADMSG;
    if (rc == 0)
        rc = begin_walk(s, p.path, &w);
    if (rc != 0)
        return rc;
    answer->bytes = d.bytes;
    cio_walk_expect(&w, r->span, (int64_t)d.extents, d.bytes);
    rc = read_all(&w, &d, (char *)(answer + 1), &answer->cut);
    end_walk(&w);
    return rc;
}

static int empty_node(struct cio_space *s, enum cio_record_kind kind, int entry, int64_t *told)
{
    int rc = cio_slots_empty(s, s->ranks_here, s->here, entry,
                             kind == CIO_RECORD_DISCARD ? CIO_EMPTY_DROP : CIO_EMPTY_WRITE);
    int late = cio_entry_error(s, entry);

    if (kind == CIO_RECORD_FORGET && rc == 0) {
        *told = __atomic_exchange_n(&cio_node_of(s)->entry[entry].deposits, 0, __ATOMIC_SEQ_CST);
        cio_entry_forget(s, entry);
    }
    return rc != 0 ? rc : late;
}

static int carry_out(struct cio_space *s, enum cio_record_kind kind, const char *path,
                     int64_t *told)
{
    int lost = 0, rc, entry;

    *told = 0;
    if (kind != CIO_RECORD_END)
        lost = __atomic_exchange_n(&cio_node_of(s)->lost, 0, __ATOMIC_SEQ_CST);
    rc = cio_entry_find(s, path, 0, &entry);
    if (rc == 0 && kind == CIO_RECORD_END)
        *told = cio_slots_end(s, entry);
    else if (rc == 0)
        rc = empty_node(s, kind, entry, told);
    rc = rc == -ENOENT ? 0 : rc;
    return rc != 0 ? rc : lost;
}

static void answer_record(struct cio_space *s, const struct inbox *in, uint64_t pos,
                          const struct cio_record *r)
{
    struct cio_answer *answer = (void *)(in->ring + in->size);

    take_bytes(in, pos, s->scratch, r->length);
    answer->bytes = 0;
    answer->cut = 0;
    if (r->kind == CIO_RECORD_READ)
        answer->error = carry_out_read(s, r, answer);
    else
        answer->error = carry_out(s, r->kind, parts_of(r, s->scratch).path, &answer->bytes);
    set_state(in, pos, RECORD_ANSWERED);
    __atomic_store_n(&in->region->answer, pos + 1, __ATOMIC_RELEASE);
}

/* Carries out the writes among the records that have come, and passes over the others. */
static int scan(struct cio_space *s, const struct inbox *in)
{
    int n = 0;

    for (uint64_t pos; pos = in->home->scanned, is_marked(in, pos); n++) {
        struct cio_record r = head_of(in, pos);

        if (r.kind == CIO_RECORD_WRITE) {
            take_bytes(in, pos, s->scratch, r.length);
            set_state(in, pos, RECORD_DONE);
            if (pos == in->region->head) {
                take_bytes(in, pos, NULL, r.length);
                __atomic_store_n(&in->region->head, pos + in->block, __ATOMIC_RELEASE);
            }
            carry_out_write(s, &r);
        }
        __atomic_store_n(&in->home->scanned, pos + in->block, __ATOMIC_RELEASE);
    }
    return n;
}

static uint64_t tail_of(const struct inbox *in)
{
    return __atomic_load_n(&in->region->tail, __ATOMIC_ACQUIRE);
}

static uint64_t scanned_of(const struct inbox *in)
{
    return __atomic_load_n(&in->home->scanned, __ATOMIC_ACQUIRE);
}

/* How far what was sent to each inbox of the node reached, when the question in this was seen. */
static uint64_t *snapshot_of(const struct cio_space *s, const struct inbox *in)
{
    return (void *)((char *)in->region + s->sizes.tails);
}

static void take_snapshot(const struct cio_space *s, uint64_t *tail)
{
    for (int i = 0; i < s->here; i++) {
        struct inbox in = inbox_of(s, s->ranks_here[i]);
        uint64_t room;

        tail[i] = tail_of(&in);
        room = __atomic_load_n(&in.region->head, __ATOMIC_ACQUIRE) + in.size;
        tail[i] = tail[i] < room ? tail[i] : room;
    }
}

static int has_passed(const struct cio_space *s, const uint64_t *tail)
{
    for (int i = 0; i < s->here; i++) {
        struct inbox in = inbox_of(s, s->ranks_here[i]);

        if (scanned_of(&in) < tail[i])
            return 0;
    }
    return 1;
}

/* The first question that is not done goes one step further. */
static int step_question(struct cio_space *s, const struct inbox *in, uint64_t pos,
                         const struct cio_record *r)
{
    uint64_t *tail = snapshot_of(s, in);

    switch (r->state) {
    case RECORD_NEW:
        take_snapshot(s, tail);
        set_state(in, pos, RECORD_SEEN);
        return 1;
    case RECORD_SEEN:
        if (!has_passed(s, tail))
            return 0;
        answer_record(s, in, pos, r);
        return 1;
    case RECORD_ANSWERED:
        if (__atomic_load_n(&in->region->consumed, __ATOMIC_ACQUIRE) != pos + 1)
            return 0;
        set_state(in, pos, RECORD_DONE);
        return 1;
    }
    return 0;
}

static int answer_questions(struct cio_space *s, const struct inbox *in)
{
    int steps = 0;

    for (uint64_t pos = in->region->head; pos < in->home->scanned;) {
        struct cio_record r = head_of(in, pos);

        if (r.state == RECORD_DONE)
            pos += in->block;
        else if (step_question(s, in, pos, &r))
            steps++;
        else
            break;
    }
    return steps;
}

static int anything(const struct cio_space *s)
{
    for (int i = 0; i < s->here; i++) {
        struct inbox in = inbox_of(s, s->ranks_here[i]);

        if (tail_of(&in) != __atomic_load_n(&in.region->head, __ATOMIC_ACQUIRE) ||
            tail_of(&in) != scanned_of(&in))
            return 1;
    }
    return 0;
}

int cio_inbox_empty(const struct cio_space *s)
{
    return s->os->nodes == 1 || !anything(s);
}

int cio_inbox_serve(struct cio_space *s)
{
    struct cio_node *node = cio_node_of(s);
    int n = 0;

    if (cio_inbox_empty(s) || pthread_mutex_trylock(&node->serve) != 0)
        return 0;
    for (int i = 0; i < s->here; i++) {
        struct inbox in = inbox_of(s, s->ranks_here[i]);

        n += scan(s, &in);
    }
    for (int i = 0; i < s->here; i++) {
        struct inbox in = inbox_of(s, s->ranks_here[i]);

        n += answer_questions(s, &in);
        retire(&in);
    }
    pthread_mutex_unlock(&node->serve);
    return n;
}

void cio_inbox_settle(struct cio_space *s)
{
    struct cio_patience p;
    uint64_t *tail;

    if (cio_inbox_empty(s))
        return;
    tail = malloc((size_t)s->here * sizeof *tail);
    cio_patience_start(&p);
    if (tail != NULL)
        take_snapshot(s, tail);
    while (tail != NULL ? !has_passed(s, tail) : !cio_inbox_empty(s))
        cio_patience_nap(s, &p);
    cio_patience_end(s, &p);
    free(tail);
}

int cio_node_ask(struct cio_space *s, enum cio_record_kind kind, const char *path, int64_t *told)
{
    struct cio_node *node = cio_node_of(s);
    struct cio_patience p;
    int rc;

    cio_inbox_settle(s);
    cio_patience_start(&p);
    while (pthread_mutex_trylock(&node->serve) != 0)
        cio_patience_nap(s, &p);
    cio_patience_end(s, &p);
    rc = carry_out(s, kind, path, told);
    pthread_mutex_unlock(&node->serve);
    return rc;
}
