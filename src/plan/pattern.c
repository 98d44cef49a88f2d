/*
 * Rows of an access pattern and their code. Every field but coded bits is a varint (varint.h).
 *
 *     message   | nranks | npos | row | row | ...             rows of rising ranks up to the end
 *
 *     row       | gap * 4 + kind | ...                        gap ranks without a row, then this
 * one kind 0    same     | more |                           as the row before; and `more` ranks
 *                                                             after it, too
 *       kind 1    list     | count - 1 | gap | gap | ...      gap positions, then one touched
 *       kind 2    bits     | size | code |                    of plan/bits.h
 *
 * Lists are quicker to read, and most rows are short: the place where all patterns are gathered
 * reads one for each rank and aggregator.
 */
#include "plan/pattern.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "plan/bits.h"
#include "plan/varint.h"

enum row_kind { ROW_SAME, ROW_LIST, ROW_BITS };

#define LIST_MAX 16 /* positions of a row that is sent as a list */

static size_t list_words(uint32_t count)
{
    return ((size_t)count + 1) / 2;
}

static int is_bitmap(const struct cio_pattern *p, uint32_t count)
{
    return list_words(count) >= cio_bits_words(p->npos);
}

static size_t kept_words(const struct cio_pattern *p, uint32_t count)
{
    return is_bitmap(p, count) ? cio_bits_words(p->npos) : list_words(count);
}

int cio_pattern_create(int nranks, int64_t npos, struct cio_pattern **out)
{
    struct cio_pattern *p;

    if (nranks < 1 || npos < 0 || npos > INT32_MAX)
        return -EINVAL;
    p = calloc(1, sizeof(*p));
    if (!p)
        return -ENOMEM;
    p->row_of = calloc((size_t)nranks, sizeof(*p->row_of));
    if (!p->row_of) {
        free(p);
        return -ENOMEM;
    }
    p->nranks = nranks;
    p->npos = (uint32_t)npos;
    *out = p;
    return 0;
}

void cio_pattern_destroy(struct cio_pattern *p)
{
    if (!p)
        return;
    free(p->store);
    free(p->row);
    free(p->row_of);
    free(p);
}

static int reserve_store(struct cio_pattern *p, size_t words)
{
    size_t room = p->room ? p->room : 64;
    uint64_t *store;

    while (room < p->used + words)
        room *= 2;
    if (room == p->room)
        return 0;
    store = realloc(p->store, room * sizeof(*store));
    if (!store)
        return -ENOMEM;
    p->store = store;
    p->room = room;
    return 0;
}

static int reserve_rows(struct cio_pattern *p, int rows)
{
    int room = p->row_room ? p->row_room : 16;
    struct cio_pattern_row *row;

    while (room < p->rows + rows)
        room = room > p->nranks / 2 ? p->nranks : 2 * room;
    if (room == p->row_room)
        return 0;
    row = realloc(p->row, (size_t)room * sizeof(*row));
    if (!row)
        return -ENOMEM;
    p->row = row;
    p->row_room = room;
    return 0;
}

/* Room for one more row of so many positions. */
static int reserve(struct cio_pattern *p, uint32_t count)
{
    int rc = reserve_rows(p, 1);

    return rc ? rc : reserve_store(p, kept_words(p, count));
}

static int check_rank(const struct cio_pattern *p, int rank)
{
    if (rank < 0 || rank >= p->nranks)
        return -EINVAL;
    return p->row_of[rank] ? -EEXIST : 0;
}

static void append_row(struct cio_pattern *p, struct cio_pattern_row row)
{
    p->row[p->rows++] = row;
    p->row_of[row.rank] = p->rows;
    p->touches += row.count;
}

/* Take the row that was put behind the used part of the store; keep it once if the last is equal.
 */
static void commit(struct cio_pattern *p, int rank, uint32_t count)
{
    const struct cio_pattern_row *last = p->rows > 0 ? &p->row[p->rows - 1] : NULL;
    struct cio_pattern_row row = {rank, count, p->used};
    size_t words = kept_words(p, count);

    if (last && last->count == count &&
        !memcmp(p->store + last->at, p->store + p->used, words * sizeof(*p->store)))
        row.at = last->at;
    else
        p->used += words;
    append_row(p, row);
}

static uint32_t list_bits(const uint64_t *w, size_t words, uint32_t *list)
{
    uint32_t n = 0;

    for (size_t k = 0; k < words; k++)
        for (uint64_t x = w[k]; x; x &= x - 1)
            list[n++] = (uint32_t)(k * CIO_BITS_PER_WORD) + (uint32_t)__builtin_ctzll(x);
    return n;
}

int cio_pattern_add(struct cio_pattern *p, int rank, const uint64_t *bits)
{
    size_t words = cio_bits_words(p->npos);
    uint32_t count;
    int rc = check_rank(p, rank);

    if (rc)
        return rc;
    count = (uint32_t)cio_bits_count(bits, p->npos);
    if (count == 0)
        return 0;
    rc = reserve(p, count);
    if (rc)
        return rc;
    p->store[p->used + kept_words(p, count) - 1] = 0;
    if (is_bitmap(p, count))
        memcpy(p->store + p->used, bits, words * sizeof(*bits));
    else
        list_bits(bits, words, (uint32_t *)(p->store + p->used));
    commit(p, rank, count);
    return 0;
}

int cio_pattern_add_code(struct cio_pattern *p, int rank, const void *code, size_t size)
{
    struct cio_bits *bits;
    int rc = cio_bits_create(p->npos, &bits);

    if (rc)
        return rc;
    rc = cio_bits_decode_or(code, size, p->npos, bits->w);
    if (!rc)
        rc = cio_pattern_add(p, rank, bits->w);
    cio_bits_destroy(bits);
    return rc;
}

const uint32_t *cio_pattern_positions(const struct cio_pattern *p,
                                      const struct cio_pattern_row *row, uint32_t *room)
{
    if (!is_bitmap(p, row->count))
        return (const uint32_t *)(p->store + row->at);
    list_bits(p->store + row->at, cio_bits_words(p->npos), room);
    return room;
}

size_t cio_pattern_bound(const struct cio_pattern *p)
{
    size_t row = cio_bits_bound(p->npos);

    if (row < (LIST_MAX + 1) * CIO_VARINT_MAX)
        row = (LIST_MAX + 1) * CIO_VARINT_MAX;
    return 2 * CIO_VARINT_MAX + (size_t)p->rows * (row + 2 * CIO_VARINT_MAX);
}

static enum row_kind kind_of(const struct cio_pattern *p, uint32_t count)
{
    return is_bitmap(p, count) || count > LIST_MAX ? ROW_BITS : ROW_LIST;
}

static int same_row(const struct cio_pattern_row *a, const struct cio_pattern_row *b)
{
    return a && b && a->count == b->count && a->at == b->at;
}

static uint8_t *put_list(uint8_t *q, const uint32_t *list, uint32_t count)
{
    uint32_t at = 0;

    q = cio_varint_put(q, count - 1);
    for (uint32_t i = 0; i < count; i++) {
        q = cio_varint_put(q, list[i] - at);
        at = list[i] + 1;
    }
    return q;
}

/* The code comes behind room for its size, and is then moved up to it. */
static uint8_t *put_bits(uint8_t *q, const uint64_t *w, uint32_t npos)
{
    uint8_t *code = q + CIO_VARINT_MAX;
    size_t size = cio_bits_encode(w, npos, code);

    q = cio_varint_put(q, size);
    memmove(q, code, size);
    return q + size;
}

/* One row; bits is empty, and left so. */
static uint8_t *put_row(uint8_t *q, const struct cio_pattern *p, const struct cio_pattern_row *r,
                        struct cio_bits *bits)
{
    const uint32_t *list = (const uint32_t *)(p->store + r->at);

    if (is_bitmap(p, r->count))
        return put_bits(q, p->store + r->at, p->npos);
    if (r->count <= LIST_MAX)
        return put_list(q, list, r->count);
    for (uint32_t i = 0; i < r->count; i++)
        cio_bits_set(bits->w, list[i]);
    q = put_bits(q, bits->w, p->npos);
    memset(bits->w, 0, cio_bits_words(p->npos) * sizeof(bits->w[0]));
    return q;
}

static int next_rank(const struct cio_pattern *p, int rank)
{
    while (rank < p->nranks && !p->row_of[rank])
        rank++;
    return rank;
}

/* How many ranks from this one on have that row. */
static int same_ranks(const struct cio_pattern *p, int rank, const struct cio_pattern_row *row)
{
    int n = 0;

    while (rank + n < p->nranks && same_row(cio_pattern_row_of(p, rank + n), row))
        n++;
    return n;
}

int64_t cio_pattern_encode(const struct cio_pattern *p, void *buf)
{
    uint8_t *q = cio_varint_put(buf, (uint64_t)p->nranks);
    const struct cio_pattern_row *row, *before = NULL;
    struct cio_bits *bits;
    int at = 0, n, rc = cio_bits_create(p->npos, &bits);

    if (rc)
        return rc;
    q = cio_varint_put(q, p->npos);
    for (int r = next_rank(p, 0); r < p->nranks; r = next_rank(p, at)) {
        uint64_t gap = (uint64_t)(r - at) << 2;

        row = cio_pattern_row_of(p, r);
        n = same_ranks(p, r, before);
        at = r + (n ? n : 1);
        q = cio_varint_put(q, gap | (n ? ROW_SAME : kind_of(p, row->count)));
        q = n ? cio_varint_put(q, (uint64_t)n - 1) : put_row(q, p, row, bits);
        before = row;
    }
    cio_bits_destroy(bits);
    return q - (uint8_t *)buf;
}

struct reader {
    const uint8_t *p, *end;
    int at;   /* first rank not yet read */
    int rows; /* that were there before */
};

/* Move on by `skip` ranks. Returns the rank there, or -EBADMSG if there is none. */
static int advance(struct reader *r, uint64_t skip, int nranks)
{
    if (skip >= (uint64_t)(nranks - r->at))
        return -EBADMSG;
    r->at += (int)skip + 1;
    return r->at - 1;
}

static int get(struct reader *r, uint64_t *v)
{
    r->p = cio_varint_get(r->p, r->end, v);
    return r->p ? 0 : -EBADMSG;
}

static int read_same(struct cio_pattern *p, struct reader *r, int rank)
{
    struct cio_pattern_row row;
    uint64_t more;
    int rc;

    if (p->rows == r->rows || get(r, &more) || more > (uint64_t)(p->nranks - rank - 1) ||
        more >= (uint64_t)(p->nranks - p->rows))
        return -EBADMSG;
    rc = reserve_rows(p, (int)more + 1);
    if (rc)
        return rc;
    row = p->row[p->rows - 1];
    for (row.rank = rank; row.rank <= rank + (int)more; row.rank++) {
        if (p->row_of[row.rank])
            return -EBADMSG;
        append_row(p, row);
    }
    r->at = row.rank;
    return 0;
}

static int read_list(struct cio_pattern *p, struct reader *r, int rank)
{
    uint64_t count, gap, at = 0;
    uint32_t list[LIST_MAX + 1] = {0};
    int rc;

    if (get(r, &count) || count >= LIST_MAX || is_bitmap(p, (uint32_t)++count))
        return -EBADMSG;
    for (uint64_t i = 0; i < count; i++) {
        if (get(r, &gap) || gap >= p->npos - at)
            return -EBADMSG;
        list[i] = (uint32_t)(at + gap);
        at += gap + 1;
    }
    rc = reserve(p, (uint32_t)count);
    if (rc)
        return rc;
    memcpy(p->store + p->used, list, list_words((uint32_t)count) * sizeof(*p->store));
    commit(p, rank, (uint32_t)count);
    return 0;
}

static int read_bits(struct cio_pattern *p, struct reader *r, int rank)
{
    uint64_t size;
    int rc;

    if (get(r, &size) || size > (uint64_t)(r->end - r->p))
        return -EBADMSG;
    rc = cio_pattern_add_code(p, rank, r->p, (size_t)size);
    r->p += size;
    return !rc && !p->row_of[rank] ? -EBADMSG : rc;
}

static int read_row(struct cio_pattern *p, struct reader *r)
{
    uint64_t head;
    int rank;

    if (get(r, &head))
        return -EBADMSG;
    rank = advance(r, head >> 2, p->nranks);
    if (rank < 0 || p->row_of[rank])
        return -EBADMSG;
    switch (head & 3) {
    case ROW_SAME:
        return read_same(p, r, rank);
    case ROW_LIST:
        return read_list(p, r, rank);
    case ROW_BITS:
        return read_bits(p, r, rank);
    default:
        return -EBADMSG;
    }
}

int cio_pattern_decode(const void *buf, size_t size, struct cio_pattern *p)
{
    struct reader r = {.p = buf, .end = (const uint8_t *)buf + size, .rows = p->rows};
    uint64_t n, npos;
    int rc = 0;

    if (get(&r, &n) || n != (uint64_t)p->nranks || get(&r, &npos) || npos != p->npos)
        return -EBADMSG;
    while (!rc && r.p < r.end)
        rc = read_row(p, &r);
    return rc;
}
