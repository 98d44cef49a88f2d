/*
 * Describing pieces. A request that fits into one window is walked once in the order of the file,
 * and its lists are sorted afterwards. A larger one is first walked to see what it touches, and
 * then described unit by unit, in the order in which units are served.
 */
#include "exec/describe.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "plan/bits.h"
#include "plan/code.h"

/* The list in the making. */
struct writer {
    struct cio_describer *d;
    int64_t t, base; /* its unit, and where that begins in the file */
    int64_t stream;  /* of its first byte */
    int64_t bytes;
    int n;          /* pieces in the chunk */
    int64_t charge; /* of all lists so far */
    int all;        /* everything must fit: -E2BIG if it does not */
    int error;
    cio_extent chunk[CIO_LIST_PIECES];
};

static void begin_list(struct writer *w, int64_t t, int64_t base, int64_t stream)
{
    w->t = t;
    w->base = base;
    w->stream = stream;
    w->bytes = 0;
    w->n = 0;
}

/* Its chunk, which is most of it, is not cleared. */
static void begin(struct writer *w, struct cio_describer *d, int64_t charge, int all)
{
    w->d = d;
    w->charge = charge;
    w->all = all;
    w->error = 0;
    begin_list(w, 0, 0, 0);
}

static int back_list(struct cio_describer *d)
{
    struct cio_desc *desc = d->area.desc;
    int rc = cio_region_back(&d->memory, &desc->lists,
                             (desc->nlists + 1) * (int64_t)sizeof(struct cio_list));

    return rc != 0 ? rc : cio_region_back(&d->memory, &desc->meta, desc->coded + CIO_LIST_CODED);
}

/* Codes the pieces of the chunk as one list, and begins the next one of the same unit. */
static void end_list(struct writer *w)
{
    struct cio_describer *d = w->d;
    struct cio_desc *desc = d->area.desc;
    struct cio_list *list = &d->area.list[desc->nlists];

    if (w->n == 0 || w->error != 0)
        return;
    w->error = w->all && w->charge + CIO_LIST_CHARGE > d->budget ? -E2BIG : back_list(d);
    if (w->error != 0) {
        begin_list(w, w->t, w->base, w->stream);
        return;
    }
    *list = (struct cio_list){.t = w->t,
                              .meta = desc->coded,
                              .pieces = w->n,
                              .bytes = w->bytes,
                              .first = desc->pieces,
                              .stream = w->stream - d->req->start};
    list->coded =
        (int64_t)cio_code_encode(w->chunk, (size_t)w->n, w->base, d->area.meta + desc->coded);
    desc->coded += list->coded;
    desc->pieces += w->n;
    desc->nlists++;
    w->charge += CIO_LIST_CHARGE;
    begin_list(w, w->t, w->base, w->stream + w->bytes);
}

/* Adds a piece, or as much of it as one list may have; how much. */
static inline int64_t add_piece(struct writer *w, int64_t off, int64_t len)
{
    if (w->n == CIO_LIST_PIECES || w->bytes == w->d->list_bytes)
        end_list(w);
    len = cio_min64(len, w->d->list_bytes - w->bytes);
    w->chunk[w->n++] = (cio_extent){off, len};
    w->bytes += len;
    return len;
}

/* ---- all at once ---- */

/* What describing all of the request takes, but for its lists, whose number is not known before. */
static double whole_charge(const struct cio_describer *d)
{
    const struct cio_request *req = d->req;

    return (double)cio_flat_pieces(req->file, req->start, req->bytes) * CIO_PIECE_CHARGE +
           (double)req->bytes;
}

static int by_unit(const void *a, const void *b)
{
    const struct cio_list *x = a, *y = b;

    if (x->t != y->t)
        return x->t < y->t ? -1 : 1;
    return x->first < y->first ? -1 : x->first > y->first;
}

/* The lists, made in the order of the file, in that of the units; and which of these there are. */
static void sort_lists(struct cio_describer *d)
{
    struct cio_list *list = d->area.list;
    int64_t n = d->area.desc->nlists, sorted = 1;

    for (int64_t i = 0; i < n; i++) {
        cio_bits_set(d->area.bits, cio_rounds_bit(d->rounds, list[i].t));
        sorted &= i == 0 || list[i - 1].t <= list[i].t;
    }
    if (!sorted)
        qsort(list, (size_t)n, sizeof(*list), by_unit);
}

/* -E2BIG: not all of it fits into one window. */
static int describe_all(struct cio_describer *d)
{
    const struct cio_request *req = d->req;
    struct writer w;
    int64_t stream = req->start, last = req->start + req->bytes, end = INT64_MIN;
    struct cio_cursor c;

    begin(&w, d, (int64_t)whole_charge(d), 1);
    cio_cursor_seek(&c, req->file, stream);
    while (stream < last && w.error == 0) {
        int64_t off = req->disp + cio_cursor_offset(&c);
        int64_t run = cio_cursor_run(&c, last - stream);

        if (off >= end) {
            int64_t begin, t = cio_rounds_locate(d->rounds, off, &begin, &end);

            end_list(&w);
            begin_list(&w, t, begin, stream);
            w.charge += CIO_PIECE_CHARGE;
        }
        run = add_piece(&w, off, cio_min64(run, end - off));
        cio_cursor_skip(&c, run);
        stream += run;
    }
    end_list(&w);
    if (w.error == 0)
        sort_lists(d);
    return w.error;
}

/* ---- window by window ---- */

void cio_describe_positions(const struct cio_request *req, const struct cio_rounds *rounds,
                            uint64_t *bits)
{
    int64_t left = req->bytes, end = INT64_MIN;
    struct cio_cursor c;

    if (left == 0)
        return;
    cio_cursor_seek(&c, req->file, req->start);
    while (left > 0) {
        int64_t run = cio_cursor_run(&c, left);
        int64_t off = req->disp + cio_cursor_offset(&c);

        cio_cursor_skip(&c, run);
        left -= run;
        while (end < off + run) {
            int64_t begin;
            int64_t t = cio_rounds_locate(rounds, cio_max64(off, end), &begin, &end);

            cio_bits_set(bits, cio_rounds_bit(rounds, t));
        }
    }
}

/* Adds the pieces of unit t from file offset `from` to `end`; returns where it stopped, or `end`.
 */
static int64_t describe_unit(struct writer *w, int64_t t, int64_t base, int64_t from, int64_t end)
{
    const struct cio_describer *d = w->d;
    const struct cio_request *req = d->req;
    int64_t stream = cio_max64(cio_flat_lower(req->file, from - req->disp), req->start);
    int64_t last = req->start + req->bytes;
    struct cio_cursor c;

    begin_list(w, t, base, stream);
    cio_cursor_seek(&c, req->file, stream);
    while (stream < last && w->error == 0) {
        int64_t off = req->disp + cio_cursor_offset(&c);
        int64_t run = cio_cursor_run(&c, last - stream);
        int64_t room = d->budget - w->charge - CIO_PIECE_CHARGE - CIO_LIST_CHARGE;

        if (off >= end)
            break;
        if (room <= 0) {
            end = off;
            break;
        }
        run = add_piece(w, off, cio_min64(cio_min64(run, end - off), room));
        w->charge += CIO_PIECE_CHARGE + run;
        cio_cursor_skip(&c, run);
        stream += run;
    }
    end_list(w);
    return end;
}

static int describe_some(struct cio_describer *d, struct cio_place *place)
{
    const struct cio_rounds *r = d->rounds;
    struct cio_place from = *place;
    struct writer w;

    begin(&w, d, 0, 0);
    for (int64_t t = cio_rounds_next(r, d->area.bits, from.t); t < r->units && w.error == 0;
         t = cio_rounds_next(r, d->area.bits, t + 1)) {
        int64_t off, len, start, reached;

        cio_rounds_range(r, t, &off, &len);
        start = t == from.t ? cio_max64(off, from.off) : off;
        reached = describe_unit(&w, t, off, start, off + len);
        if (reached < off + len) {
            *place = (struct cio_place){t, reached};
            return w.error;
        }
    }
    *place = (struct cio_place){r->units, 0};
    return w.error;
}

static int prepare_bits(struct cio_describer *d)
{
    int64_t size = (int64_t)(cio_rounds_words(d->rounds) * sizeof(uint64_t));
    int rc = cio_region_back(&d->memory, &d->area.desc->bits, size);

    if (rc == 0)
        memset(d->area.bits, 0, (size_t)size);
    return rc;
}

static void clear(struct cio_desc *desc)
{
    desc->nlists = desc->coded = desc->pieces = 0;
}

int cio_describe(struct cio_describer *d, struct cio_place *place)
{
    struct cio_desc *desc = d->area.desc;
    int fresh = !d->marked, rc = 0;

    clear(desc);
    if (fresh)
        rc = prepare_bits(d);
    if (rc != 0)
        return rc;
    d->marked = 1;
    if (d->req->bytes == 0 || place->t >= d->rounds->units) {
        *place = (struct cio_place){d->rounds->units, 0};
        return 0;
    }
    if (fresh && place->t == 0 && place->off == 0 && whole_charge(d) <= (double)d->budget) {
        rc = describe_all(d);
        if (rc != -E2BIG) {
            *place = (struct cio_place){d->rounds->units, 0};
            return rc;
        }
        clear(desc);
    }
    if (fresh)
        cio_describe_positions(d->req, d->rounds, d->area.bits);
    return describe_some(d, place);
}

int64_t cio_area_lists(const struct cio_area *area, int64_t t)
{
    int64_t lo = 0, hi = area->desc->nlists;

    while (lo < hi) {
        int64_t mid = lo + (hi - lo) / 2;

        if (area->list[mid].t <= t)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo;
}

int64_t cio_area_bytes(const struct cio_area *area, int64_t lists)
{
    int64_t bytes = 0;

    for (int64_t i = 0; i < lists; i++)
        bytes += area->list[i].bytes;
    return bytes;
}
