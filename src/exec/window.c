/* Listing, merging and copying one window of a group. */
#include "exec/window.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "exec/describe.h"
#include "plan/code.h"
#include "plan/copy.h"
#include "plan/merge.h"

/* A sample of about this many pieces tells whether merging pays. */
#define SAMPLE_PIECES 4096

static int64_t align(int64_t n)
{
    return (n + 63) / 64 * 64;
}

/* ---- units ---- */

/* The least unit that any member has at its mark; INT64_MAX at the end. */
static int64_t least_unit(struct cio_board *b, const int64_t *mark)
{
    int64_t t = INT64_MAX;
    struct cio_area area;

    for (int i = 0; i < b->members; i++) {
        cio_area_at(b, i, &area);
        if (mark[i] < area.desc->nlists)
            t = cio_min64(t, area.list[mark[i]].t);
    }
    return t;
}

/* Adds up what all members have of unit t, and moves their marks behind it. */
static void add_lists(struct cio_board *b, int64_t *mark, struct cio_unit *u)
{
    struct cio_area area;

    for (int i = 0; i < b->members; i++) {
        cio_area_at(b, i, &area);
        for (; mark[i] < area.desc->nlists && area.list[mark[i]].t == u->t; mark[i]++) {
            const struct cio_list *list = &area.list[mark[i]];

            if (u->lists == 0)
                u->stream = list->stream;
            u->lists++;
            u->pieces += list->pieces;
            u->bytes += list->bytes;
            u->meta_bytes += list->coded;
        }
    }
}

/* Where head, parts, code and data of a unit lie; *at moves behind them. */
static void place_unit(struct cio_unit *u, int64_t parts, int64_t meta, int64_t data, int64_t *at)
{
    u->at = *at;
    u->parts_cap = parts;
    u->meta = u->at + (int64_t)sizeof(struct cio_head) + parts * (int64_t)sizeof(struct cio_part);
    u->data = u->meta + meta;
    *at = align(u->data + data);
}

/* Lists the units; where the last one's room in `out` ends, or an error. */
static int64_t list_units(struct cio_board *b, const struct cio_board_memory *m, int64_t end)
{
    int64_t mark[b->members], at = b->out.at, t;

    memset(mark, 0, sizeof(mark));
    b->nunits = 0;
    while ((t = least_unit(b, mark)) <= end && t != INT64_MAX) {
        struct cio_unit *u = &cio_board_units(b)[b->nunits];
        int rc = cio_region_back(m, &b->units, (b->nunits + 1) * (int64_t)sizeof(*u));

        if (rc != 0)
            return rc;
        *u = (struct cio_unit){.t = t};
        add_lists(b, mark, u);
        u->segments = u->pieces;
        u->data_bytes = u->bytes;
        u->parts = u->lists;
        place_unit(u, u->lists, u->meta_bytes, b->elsewhere ? 0 : u->bytes, &at);
        b->nunits++;
    }
    return at;
}

/* Tells every list of a unit, member by member, where it goes. */
static void place_lists(struct cio_board *b, int64_t *mark, const struct cio_unit *u)
{
    struct cio_part *part = cio_unit_parts(b, u);
    int64_t meta = u->meta, data = u->data;
    struct cio_area area;

    for (int i = 0; i < b->members; i++) {
        cio_area_at(b, i, &area);
        for (; mark[i] < area.desc->nlists && area.list[mark[i]].t == u->t; mark[i]++) {
            struct cio_list *list = &area.list[mark[i]];

            *part++ = (struct cio_part){(int32_t)list->coded, (int32_t)list->bytes};
            list->to_meta = meta;
            list->to_data = data;
            meta += list->coded;
            data += list->bytes;
        }
    }
}

int cio_window_list(struct cio_board *b, const struct cio_board_memory *m, int64_t end)
{
    int64_t mark[b->members], at = list_units(b, m, end);
    int rc = at < 0 ? (int)at : cio_region_back(m, &b->out, at - b->out.at);

    b->out_used = at;
    memset(mark, 0, sizeof(mark));
    for (int64_t i = 0; rc == 0 && i < b->nunits; i++)
        place_lists(b, mark, &cio_board_units(b)[i]);
    return rc;
}

/* ---- merging ---- */

struct merge_space {
    void *scratch;
    struct cio_source *src;
    cio_extent *pieces; /* of all members, */
    cio_extent *segs;   /* and what they become */
};

static size_t aligned_size(size_t n)
{
    return (n + 63) / 64 * 64;
}

/* Memory for merging units of at most that many pieces; NULL if there is none. */
static void *make_space(int64_t members, int64_t pieces, struct cio_alloc alloc,
                        struct merge_space *s)
{
    size_t scratch = aligned_size(cio_merge_scratch((int)members));
    size_t src = aligned_size((size_t)members * sizeof(struct cio_source));
    size_t list = aligned_size((size_t)pieces * sizeof(cio_extent));
    char *p = alloc.get(alloc.self, scratch + src + 2 * list);

    *s = (struct merge_space){p, NULL, NULL, NULL};
    if (p == NULL)
        return NULL;
    s->src = (struct cio_source *)(p + scratch);
    s->pieces = (cio_extent *)(p + scratch + src);
    s->segs = (cio_extent *)(p + scratch + src + list);
    return p;
}

/* Decodes a member's lists of unit t; how many pieces, or -EBADMSG. */
static int64_t decode_lists(const struct cio_area *area, int64_t t, int64_t base, int64_t len,
                            cio_extent *pieces, int64_t *first)
{
    int64_t n = 0;

    *first = cio_area_lists(area, t - 1);
    for (int64_t i = *first; i < area->desc->nlists && area->list[i].t == t; i++) {
        const struct cio_list *list = &area->list[i];
        struct cio_decoder d;
        int got;

        if (cio_decode_begin(&d, area->meta + list->meta, (size_t)list->coded, base, base,
                             base + len) != 0)
            return -EBADMSG;
        while ((got = cio_decode_some(&d, pieces + n, (int)list->pieces)) > 0)
            n += got;
        if (got < 0)
            return got;
    }
    return n;
}

/* All members' pieces of a unit as sources of a merge; how many have some, or -EBADMSG. */
static int unit_sources(struct cio_board *b, const struct cio_rounds *r, int64_t t,
                        const struct merge_space *s, int positions)
{
    int64_t base, len, at = 0, first;
    struct cio_area area;
    int k = 0;

    cio_rounds_range(r, t, &base, &len);
    for (int i = 0; i < b->members; i++) {
        cio_area_at(b, i, &area);
        int64_t n = decode_lists(&area, t, base, len, s->pieces + at, &first);

        if (n < 0)
            return (int)n;
        if (n == 0)
            continue;
        s->src[k++] =
            (struct cio_source){.ext = s->pieces + at,
                                .n = (size_t)n,
                                .pos = positions ? area.pos + area.list[first].first : NULL};
        at += n;
    }
    return k;
}

int cio_window_sample(struct cio_board *b, const struct cio_rounds *r, struct cio_alloc alloc)
{
    const struct cio_unit *u = cio_board_units(b), *best = NULL;
    struct merge_space s;
    size_t segments = 0;
    int64_t bytes;
    int k = -1;

    for (int64_t i = 0; i < b->nunits; i++)
        if (u[i].lists > 1 &&
            (best == NULL || (best->pieces < SAMPLE_PIECES && u[i].pieces > best->pieces)))
            best = &u[i];
    if (best == NULL || make_space(b->members, best->pieces, alloc, &s) == NULL)
        return 1000;
    k = unit_sources(b, r, best->t, &s, 0);
    if (k > 0)
        k = cio_merge(s.src, k, s.scratch, s.segs, (size_t)best->pieces, &segments, &bytes);
    free(s.scratch);
    return k < 0 ? 1000 : (int)((int64_t)segments * 1000 / best->pieces);
}

/* Lists end when they have enough pieces, or enough bytes. */
static int64_t most_parts(const struct cio_unit *u, int64_t list_bytes)
{
    return u->pieces / CIO_LIST_PIECES + u->bytes / list_bytes + 2;
}

/* Positions of the pieces of all lists, and room for the merged code. */
int cio_window_plan_merge(struct cio_board *b, const struct cio_board_memory *m,
                          const struct cio_rounds *r, int64_t list_bytes)
{
    struct cio_unit *u = cio_board_units(b);
    int64_t at = b->out.at;
    int rc = 0;

    for (int i = 0; rc == 0 && i < b->members; i++)
        rc = cio_region_back(m, &b->desc[i].pos, b->desc[i].pieces * (int64_t)sizeof(int64_t));
    for (int64_t i = 0; i < b->nunits; i++) {
        int64_t parts = most_parts(&u[i], list_bytes);
        int64_t meta =
            (int64_t)cio_code_bound_range((size_t)u[i].pieces, r->domains.unit) + parts * 64;

        place_unit(&u[i], parts, align(meta), u[i].bytes, &at);
    }
    b->out_used = at;
    return rc != 0 ? rc : cio_region_back(m, &b->out, at - b->out.at);
}

/* How many of n segments make one list; what the last one has too much is cut off. */
static size_t take_segments(cio_extent *segs, size_t n, int64_t most, int64_t *bytes, int64_t *cut)
{
    size_t i = 0;

    *bytes = *cut = 0;
    while (i < n && i < CIO_LIST_PIECES && *bytes < most)
        *bytes += segs[i++].len;
    if (*bytes > most) {
        *cut = *bytes - most;
        segs[i - 1].len -= *cut;
        *bytes = most;
    }
    return i;
}

/* Codes the segments as lists of the unit's messages. */
static void code_segments(struct cio_board *b, struct cio_unit *u, cio_extent *segs, size_t n,
                          int64_t base, int64_t list_bytes)
{
    struct cio_part *part = cio_unit_parts(b, u);
    int64_t at = u->meta, bytes, cut;

    for (; n > 0; part++) {
        size_t some = take_segments(segs, n, list_bytes, &bytes, &cut);

        part->coded = (int32_t)cio_code_encode(segs, some, base, (char *)b + at);
        part->data = (int32_t)bytes;
        at += part->coded;
        segs += some;
        n -= some;
        if (cut > 0) {
            segs--, n++;
            *segs = (cio_extent){cio_extent_end(*segs), cut};
        }
    }
    u->parts = part - cio_unit_parts(b, u);
    u->meta_bytes = at - u->meta;
}

static void point_lists(struct cio_board *b, const struct cio_unit *u)
{
    struct cio_area area;

    for (int i = 0; i < b->members; i++) {
        cio_area_at(b, i, &area);
        for (int64_t j = cio_area_lists(&area, u->t - 1);
             j < area.desc->nlists && area.list[j].t == u->t; j++)
            area.list[j].to_data = u->data;
    }
}

static int merge_unit(struct cio_board *b, const struct cio_rounds *r, struct cio_unit *u,
                      int64_t list_bytes, const struct merge_space *s)
{
    int64_t base, len;
    size_t n = 0;
    int rc = unit_sources(b, r, u->t, s, 1);

    if (rc >= 0)
        rc = cio_merge(s->src, rc, s->scratch, s->segs, (size_t)u->pieces, &n, &u->data_bytes);
    if (rc != 0)
        return rc;
    cio_rounds_range(r, u->t, &base, &len);
    u->segments = (int64_t)n;
    code_segments(b, u, s->segs, n, base, list_bytes);
    point_lists(b, u);
    return 0;
}

void cio_window_merge(struct cio_board *b, const struct cio_rounds *r, int member,
                      int64_t list_bytes, struct cio_alloc alloc)
{
    struct cio_unit *u = cio_board_units(b);
    struct merge_space s;
    int64_t most = 0;

    for (int64_t i = member; i < b->nunits; i += b->members)
        most = cio_max64(most, u[i].pieces);
    if (most == 0)
        return;
    make_space(b->members, most, alloc, &s);
    for (int64_t i = member; i < b->nunits; i += b->members)
        u[i].error = s.scratch == NULL ? -ENOMEM : merge_unit(b, r, &u[i], list_bytes, &s);
    free(s.scratch);
}

/* ---- copying ---- */

/* One side of a copy: the memory type of a request, or a plain buffer. */
struct memory {
    struct cio_cursor c;
    const struct cio_request *req;
    char *base;
    int plain, stream;
};

static void memory_open(struct memory *m, const struct cio_request *req, char *stream)
{
    m->req = req;
    m->stream = stream != NULL;
    m->plain = m->stream || req->mem->dense;
    m->base = m->stream ? stream : req->buf;
}

static void memory_seek(struct memory *m, int64_t at)
{
    if (m->stream)
        return; /* consecutive */
    if (m->plain)
        m->base = m->req->buf + m->req->mem->off[0] + at;
    else
        cio_cursor_seek(&m->c, m->req->mem, at);
}

/* Copies n bytes between memory and a message. */
static inline void memory_copy(struct memory *m, char *data, int64_t n, int write)
{
    if (!m->plain) {
        if (write)
            cio_cursor_copy_out(&m->c, m->base, n, data);
        else
            cio_cursor_copy_in(&m->c, m->base, n, data);
        return;
    }
    if (write)
        cio_copy_small(data, m->base, n);
    else
        cio_copy_small(m->base, data, n);
    m->base += n;
}

void cio_copy_code(const struct cio_copy *c)
{
    for (int64_t i = 0; !c->merged && i < c->lists; i++) {
        const struct cio_list *list = &c->area.list[i];

        memcpy((char *)c->board + list->to_meta, c->area.meta + list->meta, (size_t)list->coded);
    }
}

/* Piece by piece, since the pieces of others lie between them. */
static void copy_pieces(const struct cio_copy *c, const struct cio_list *list, struct memory *m)
{
    const int64_t *pos = c->area.pos + list->first;
    char *data = (char *)c->board + list->to_data;
    cio_extent piece[256];
    struct cio_decoder d;
    int64_t base, len;
    int n;

    cio_rounds_range(c->rounds, list->t, &base, &len);
    if (cio_decode_begin(&d, c->area.meta + list->meta, (size_t)list->coded, base, base,
                         base + len) != 0)
        return;
    while ((n = cio_decode_some(&d, piece, 256)) > 0)
        for (int i = 0; i < n; i++)
            memory_copy(m, data + *pos++, piece[i].len, c->write);
}

void cio_copy_data(const struct cio_copy *c)
{
    const struct cio_unit *u = cio_board_units(c->board);
    struct memory m;

    if (c->lists == 0)
        return;
    memory_open(&m, c->req, c->stream);
    for (int64_t i = 0; i < c->lists; i++) {
        const struct cio_list *list = &c->area.list[i];

        while (u->t < list->t)
            u++;
        memory_seek(&m, list->stream);
        if (u->error != 0)
            m.base += m.stream ? list->bytes : 0;
        else if (c->merged)
            copy_pieces(c, list, &m);
        else
            memory_copy(&m, (char *)c->board + list->to_data, list->bytes, c->write);
    }
}

void cio_copy_stream(const struct cio_area *area, int64_t lists, const struct cio_request *req,
                     char *stream, int write)
{
    struct memory m;

    if (lists == 0)
        return;
    memory_open(&m, req, NULL);
    for (int64_t i = 0; i < lists; i++) {
        memory_seek(&m, area->list[i].stream);
        memory_copy(&m, stream, area->list[i].bytes, write);
        stream += area->list[i].bytes;
    }
}
