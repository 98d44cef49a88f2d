/* A group's window: layout, description of pieces, merging and copying. */
#include "exec/area.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "plan/bits.h"
#include "plan/code.h"

/* Bytes of an area for each piece: its extent, its position, and its part of the coded segments. */
#define PIECE_BYTES ((int64_t)(sizeof(cio_extent) + sizeof(int64_t)))

static int64_t align(int64_t n)
{
    return (n + 63) / 64 * 64;
}

void cio_rounds_init(const struct cio_domains *d, int naggr, struct cio_rounds *r)
{
    r->domains = *d;
    r->naggr = naggr;
    r->positions = 0;
    for (int a = 0; a < naggr; a++)
        r->positions = cio_max64(r->positions, cio_domains_positions(d, a));
    r->slice = (r->positions + 63) / 64 * 64;
    r->units = r->positions * naggr;
}

void cio_room_needed(const struct cio_request *req, const struct cio_rounds *r,
                     struct cio_room *room)
{
    memset(room, 0, sizeof(*room));
    if (req->bytes == 0)
        return;
    int64_t pieces = cio_flat_pieces(req->file, req->start, req->bytes);
    int64_t rounds = cio_min64(r->units, req->bytes);

    room->ext = pieces + cio_min64(rounds, req->bytes / r->domains.unit + pieces + 1);
    room->dir = cio_min64(rounds, room->ext);
    room->data = req->bytes;
}

void cio_room_limit(struct cio_room *room, int64_t unit, int64_t limit)
{
    int64_t meta = (int64_t)cio_code_bound_range(1, unit);
    double need = (double)room->ext * (double)(PIECE_BYTES + meta) + (double)room->data +
                  (double)room->dir * (double)(sizeof(struct cio_dir) + sizeof(struct cio_unit));

    if (need <= (double)limit)
        return;
    room->ext = cio_max64((int64_t)((double)room->ext * (double)limit / need), 64);
    room->dir = cio_max64((int64_t)((double)room->dir * (double)limit / need), 4);
    room->data = cio_max64((int64_t)((double)room->data * (double)limit / need), 4096);
}

static int64_t dir_size(const struct cio_room *cap)
{
    return align((cap->dir + 1) * (int64_t)sizeof(struct cio_dir));
}

static int64_t ext_size(const struct cio_room *cap)
{
    return align(cap->ext * (int64_t)sizeof(cio_extent));
}

static int64_t pos_size(const struct cio_room *cap)
{
    return align(cap->ext * (int64_t)sizeof(int64_t));
}

int64_t cio_area_size(const struct cio_room *cap, int64_t words)
{
    return dir_size(cap) + ext_size(cap) + pos_size(cap) + align(words * (int64_t)sizeof(uint64_t));
}

static int64_t desc_size(int k)
{
    return align((int64_t)sizeof(struct cio_board) + k * (int64_t)sizeof(struct cio_desc));
}

static struct cio_room sum_rooms(const struct cio_room *cap, int k)
{
    struct cio_room sum = {0, 0, 0};

    for (int i = 0; i < k; i++) {
        sum.ext += cap[i].ext;
        sum.dir += cap[i].dir;
        sum.data += cap[i].data;
    }
    return sum;
}

static int64_t units_cap(const struct cio_room *sum, const struct cio_rounds *r)
{
    return cio_min64(sum->dir, r->units);
}

/* Out: a head before the segments and one before the data of each unit, rounded up. */
static int64_t out_size(const struct cio_room *sum, const struct cio_rounds *r)
{
    int64_t per_unit = 2 * align((int64_t)sizeof(struct cio_head)) + 2 * 64 +
                       (int64_t)cio_code_bound_range(0, r->domains.unit);

    return (int64_t)cio_code_bound_range((size_t)sum->ext, r->domains.unit) + sum->data +
           per_unit * (units_cap(sum, r) + 1);
}

int64_t cio_board_size(const struct cio_room *cap, int k, const struct cio_rounds *r)
{
    struct cio_room sum = sum_rooms(cap, k);
    int64_t size = desc_size(k);

    for (int i = 0; i < k; i++)
        size += cio_area_size(&cap[i], (int64_t)cio_rounds_words(r));
    return size + align(units_cap(&sum, r) * (int64_t)sizeof(struct cio_unit)) +
           align(out_size(&sum, r));
}

void cio_board_init(void *base, const struct cio_room *cap, int k, const struct cio_rounds *r)
{
    struct cio_board *b = base;
    struct cio_room sum = sum_rooms(cap, k);
    int64_t at = desc_size(k);

    b->members = k;
    b->words = (int64_t)cio_rounds_words(r);
    for (int i = 0; i < k; i++) {
        b->desc[i] = (struct cio_desc){.at = at, .cap = cap[i]};
        at += cio_area_size(&cap[i], b->words);
    }
    b->units_at = at;
    b->units_cap = units_cap(&sum, r);
    b->nunits = 0;
    b->out_at = at + align(b->units_cap * (int64_t)sizeof(struct cio_unit));
    b->out_size = out_size(&sum, r);
    b->size = b->out_at + align(b->out_size);
}

void cio_area_alone(struct cio_desc *desc, void *base, struct cio_area *area)
{
    char *p = base;

    area->desc = desc;
    area->dir = (struct cio_dir *)p;
    p += dir_size(&desc->cap);
    area->ext = (cio_extent *)p;
    p += ext_size(&desc->cap);
    area->pos = (int64_t *)p;
    p += pos_size(&desc->cap);
    area->bits = (uint64_t *)p;
}

void cio_area_at(struct cio_board *board, int member, struct cio_area *area)
{
    struct cio_desc *desc = &board->desc[member];

    cio_area_alone(desc, (char *)board + desc->at, area);
}

/* ---- describing ---- */

void cio_area_mark(const struct cio_area *area, const struct cio_request *req,
                   const struct cio_rounds *r)
{
    struct cio_cursor c;
    int64_t left = req->bytes, end = 0;

    memset(area->bits, 0, cio_rounds_words(r) * sizeof(uint64_t));
    if (left == 0)
        return;
    cio_cursor_seek(&c, req->file, req->start);
    while (left > 0) {
        int64_t run = cio_cursor_run(&c, left);
        int64_t off = req->disp + cio_cursor_offset(&c);

        cio_cursor_skip(&c, run);
        left -= run;
        while (end < off + run) {
            int64_t pos;
            int aggr;

            cio_domains_locate(&r->domains, cio_max64(off, end), &aggr, &pos, &end);
            cio_bits_set(area->bits, aggr * r->slice + pos);
        }
    }
}

/* Where a description stands. */
struct writer {
    const struct cio_area *area;
    const struct cio_request *req;
    int64_t bytes; /* described so far */
};

static int is_full(const struct writer *w)
{
    const struct cio_desc *d = w->area->desc;

    return d->next == d->cap.ext || w->bytes >= d->cap.data;
}

/*
 * Adds the pieces of unit t from file offset `from` to `end`. Returns where it had to stop, or end.
 */
static int64_t describe_unit(struct writer *w, int64_t t, int64_t from, int64_t end)
{
    struct cio_desc *d = w->area->desc;
    const struct cio_request *req = w->req;
    int64_t stream = cio_max64(cio_flat_lower(req->file, from - req->disp), req->start);
    int64_t left = req->start + req->bytes - stream;
    struct cio_dir *dir = &w->area->dir[d->ndir];
    struct cio_cursor c;

    *dir = (struct cio_dir){.t = t, .first = d->next, .stream = stream - req->start};
    cio_cursor_seek(&c, req->file, stream);
    while (left > 0) {
        int64_t off = req->disp + cio_cursor_offset(&c);
        int64_t run = cio_cursor_run(&c, left);

        if (off >= end)
            break;
        if (is_full(w)) {
            end = off;
            break;
        }
        run = cio_min64(cio_min64(run, end - off), d->cap.data - w->bytes);
        w->area->ext[d->next++] = (cio_extent){off, run};
        w->bytes += run;
        dir->bytes += run;
        cio_cursor_skip(&c, run);
        left -= run;
    }
    if (d->next > dir->first)
        w->area->dir[++d->ndir].first = d->next;
    return end;
}

struct cio_place cio_area_describe(const struct cio_area *area, const struct cio_request *req,
                                   const struct cio_rounds *r, struct cio_place from)
{
    struct writer w = {.area = area, .req = req};

    area->desc->ndir = area->desc->next = 0;
    area->dir[0].first = 0;
    for (int64_t t = from.t; req->bytes > 0 && t < r->units; t++) {
        int64_t off, len, start, reached;

        if (!cio_bits_test(area->bits, t % r->naggr * r->slice + t / r->naggr))
            continue;
        cio_rounds_range(r, t, &off, &len);
        start = t == from.t ? cio_max64(off, from.off) : off;
        if (area->desc->ndir == area->desc->cap.dir)
            return (struct cio_place){t, start};
        reached = describe_unit(&w, t, start, off + len);
        if (reached < off + len)
            return (struct cio_place){t, reached};
    }
    return (struct cio_place){r->units, 0};
}

/* Index of the first dir entry for unit t or a later one. */
static int64_t find_dir(const struct cio_area *area, int64_t t)
{
    int64_t lo = 0, hi = area->desc->ndir;

    while (lo < hi) {
        int64_t mid = lo + (hi - lo) / 2;

        if (area->dir[mid].t < t)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo;
}

static void truncate_unit(const struct cio_area *area, struct cio_dir *dir, int64_t off)
{
    struct cio_desc *d = area->desc;

    while (d->next > dir->first && area->ext[d->next - 1].off >= off)
        dir->bytes -= area->ext[--d->next].len;
    if (d->next > dir->first && cio_extent_end(area->ext[d->next - 1]) > off) {
        cio_extent *last = &area->ext[d->next - 1];

        dir->bytes -= cio_extent_end(*last) - off;
        last->len = off - last->off;
    }
}

void cio_area_truncate(const struct cio_area *area, struct cio_place end)
{
    struct cio_desc *d = area->desc;
    int64_t i = find_dir(area, end.t);

    if (i == d->ndir)
        return;
    d->next = i + 1 < d->ndir ? area->dir[i + 1].first : d->next;
    d->ndir = i;
    if (area->dir[i].t == end.t) {
        truncate_unit(area, &area->dir[i], end.off);
        if (d->next > area->dir[i].first)
            d->ndir = i + 1;
    } else {
        d->next = area->dir[i].first;
    }
    area->dir[d->ndir].first = d->next;
}

int64_t cio_area_bytes(const struct cio_area *area)
{
    int64_t bytes = 0;

    for (int64_t i = 0; i < area->desc->ndir; i++)
        bytes += area->dir[i].bytes;
    return bytes;
}

/* ---- the board ---- */

/* The least unit that any member has at its mark, and what they have of it; INT64_MAX at the end. */
static int64_t next_unit(struct cio_board *b, int64_t *mark, struct cio_unit *unit)
{
    int64_t t = INT64_MAX;
    struct cio_area area;

    unit->pieces = unit->data_cap = 0;
    for (int i = 0; i < b->members; i++) {
        cio_area_at(b, i, &area);
        if (mark[i] < area.desc->ndir)
            t = cio_min64(t, area.dir[mark[i]].t);
    }
    for (int i = 0; t != INT64_MAX && i < b->members; i++) {
        cio_area_at(b, i, &area);
        if (mark[i] == area.desc->ndir || area.dir[mark[i]].t != t)
            continue;
        unit->pieces += area.dir[mark[i] + 1].first - area.dir[mark[i]].first;
        unit->data_cap += area.dir[mark[i]].bytes;
        unit->stream = area.dir[mark[i]].stream;
        mark[i]++;
    }
    unit->t = t;
    return t;
}

static void place_unit(struct cio_unit *u, int64_t unit_size, int64_t *at)
{
    u->head = *at;
    u->meta_cap = (int64_t)cio_code_bound_range((size_t)u->pieces, unit_size);
    u->data = align(u->head + (int64_t)sizeof(struct cio_head) + u->meta_cap) +
              align((int64_t)sizeof(struct cio_head));
    *at = align(u->data + u->data_cap);
    u->meta_bytes = u->data_bytes = u->segments = 0;
    u->error = 0;
    u->part = 0;
}

void cio_board_list(struct cio_board *b, const struct cio_rounds *r, struct cio_place end)
{
    struct cio_unit *units = cio_board_units(b);
    int64_t mark[b->members];
    int64_t at = b->out_at;
    struct cio_area area;

    for (int i = 0; i < b->members; i++) {
        cio_area_at(b, i, &area);
        cio_area_truncate(&area, end);
        mark[i] = 0;
    }
    b->nunits = 0;
    while (next_unit(b, mark, &units[b->nunits]) != INT64_MAX) {
        struct cio_unit *u = &units[b->nunits++];

        place_unit(u, r->domains.unit, &at);
        u->last = u->t < end.t;
        if (b->nunits == b->units_cap)
            break;
    }
}

/* Gathers the members' pieces of a unit as sources for the merge; returns how many have some. */
static int unit_sources(struct cio_board *b, int64_t t, struct cio_source *src)
{
    struct cio_area area;
    int k = 0;

    for (int i = 0; i < b->members; i++) {
        cio_area_at(b, i, &area);
        int64_t d = find_dir(&area, t);

        if (d == area.desc->ndir || area.dir[d].t != t)
            continue;
        src[k++] = (struct cio_source){.ext = area.ext + area.dir[d].first,
                                       .n = (size_t)(area.dir[d + 1].first - area.dir[d].first),
                                       .pos = area.pos + area.dir[d].first};
    }
    return k;
}

struct merge_space {
    void *scratch;
    cio_extent *segs;
    struct cio_source *src;
};

static void merge_unit(struct cio_board *b, const struct cio_rounds *r, struct cio_unit *u,
                       const struct merge_space *space)
{
    int k = unit_sources(b, u->t, space->src);
    size_t nsegs = 0;
    int64_t bytes = 0, base, len;
    int rc = cio_merge(space->src, k, space->scratch, space->segs, (size_t)u->pieces, &nsegs, &bytes);

    if (rc != 0) {
        u->error = rc;
        return;
    }
    cio_rounds_range(r, u->t, &base, &len);
    u->segments = (int64_t)nsegs;
    u->data_bytes = bytes;
    u->meta_bytes = (int64_t)cio_code_encode(space->segs, nsegs, base,
                                             (char *)b + u->head + sizeof(struct cio_head));
}

static int64_t most_pieces(struct cio_board *b, int member)
{
    int64_t most = 0;

    for (int64_t i = member; i < b->nunits; i += b->members)
        most = cio_max64(most, cio_board_units(b)[i].pieces);
    return most;
}

void cio_board_merge(struct cio_board *b, const struct cio_rounds *r, int member,
                     struct cio_alloc alloc)
{
    size_t scratch = (cio_merge_scratch((int)b->members) + 15) / 16 * 16;
    size_t segs = (size_t)most_pieces(b, member) * sizeof(cio_extent);
    size_t src = (size_t)b->members * sizeof(struct cio_source);
    char *p = alloc.get(alloc.self, scratch + segs + src);
    struct merge_space space = {p, (cio_extent *)(p + scratch),
                                (struct cio_source *)(p + scratch + segs)};

    for (int64_t i = member; i < b->nunits; i += b->members) {
        struct cio_unit *u = &cio_board_units(b)[i];

        if (p == NULL)
            u->error = -ENOMEM;
        else
            merge_unit(b, r, u, &space);
    }
    free(p);
}

/* ---- copying ---- */

/* One side of a copy: the memory type of a request, or a plain buffer. */
struct memory {
    struct cio_cursor c;
    char *base;
    int plain;
};

static void memory_open(struct memory *m, const struct cio_request *req, char *stream)
{
    m->plain = stream != NULL || req->mem->dense;
    m->base = stream;
    if (stream == NULL)
        m->base = req->buf;
}

static void memory_seek(struct memory *m, const struct cio_request *req, char *stream, int64_t at)
{
    if (stream != NULL)
        return; /* consecutive */
    if (m->plain)
        m->base = req->buf + req->mem->block[0].off + at;
    else
        cio_cursor_seek(&m->c, req->mem, at);
}

static inline void memory_out(struct memory *m, char *to, int64_t n)
{
    if (m->plain) {
        memcpy(to, m->base, (size_t)n);
        m->base += n;
    } else {
        cio_cursor_copy_out(&m->c, m->base, n, to);
    }
}

static inline void memory_in(struct memory *m, const char *from, int64_t n)
{
    if (m->plain) {
        memcpy(m->base, from, (size_t)n);
        m->base += n;
    } else {
        cio_cursor_copy_in(&m->c, m->base, n, from);
    }
}

static void copy_pieces(const struct cio_area *area, const struct cio_dir *dir, struct memory *m,
                        char *data, int write)
{
    for (int64_t i = dir[0].first; i < dir[1].first; i++) {
        if (write)
            memory_out(m, data + area->pos[i], area->ext[i].len);
        else
            memory_in(m, data + area->pos[i], area->ext[i].len);
    }
}

void cio_board_copy(struct cio_board *b, const struct cio_area *area,
                    const struct cio_request *req, char *stream, int write)
{
    struct cio_unit *u = cio_board_units(b);
    struct memory m;

    if (area->desc->ndir == 0)
        return;
    memory_open(&m, req, stream);
    for (int64_t i = 0; i < area->desc->ndir; i++) {
        const struct cio_dir *dir = &area->dir[i];

        while (u->t < dir->t)
            u++;
        memory_seek(&m, req, stream, dir->stream);
        if (u->error == 0)
            copy_pieces(area, dir, &m, (char *)b + u->data, write);
        else if (stream != NULL)
            m.base += dir->bytes;
    }
}

void cio_area_stream(const struct cio_area *area, const struct cio_request *req, char *stream,
                     int write)
{
    struct memory m;

    if (area->desc->ndir == 0)
        return;
    memory_open(&m, req, NULL);
    for (int64_t i = 0; i < area->desc->ndir; i++) {
        memory_seek(&m, req, NULL, area->dir[i].stream);
        if (write)
            memory_out(&m, stream, area->dir[i].bytes);
        else
            memory_in(&m, stream, area->dir[i].bytes);
        stream += area->dir[i].bytes;
    }
}
