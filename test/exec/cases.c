/* Random requests and their oracle. */
#include "cases.h"

#include "../plan/check.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void *must(void *p)
{
    if (p == NULL)
        abort();
    return p;
}

char case_byte(int rank, int64_t off)
{
    uint64_t z = (uint64_t)off * 0x9e3779b97f4a7c15u + (uint64_t)rank * 0xd1b54a32d192ed03u;

    return (char)(z >> 40);
}

char case_before(int64_t off)
{
    return case_byte(-1, off);
}

/* ---- making ---- */

static void make_nodes(uint64_t *rnd, int size, int *node_of)
{
    int nodes = (int)check_between(rnd, 1, size < 5 ? size : 5);
    int cyclic = (int)check_between(rnd, 0, 2), map[8], seen = 0;

    for (int i = 0; i < 8; i++)
        map[i] = -1;
    for (int r = 0; r < size; r++) {
        int n = cyclic == 0   ? r * nodes / size
                : cyclic == 1 ? r % nodes
                              : (int)check_between(rnd, 0, nodes - 1);

        if (map[n] < 0)
            map[n] = seen++;
        node_of[r] = map[n];
    }
}

static void make_settings(uint64_t *rnd, struct cio_settings *s)
{
    static const int64_t units[] = {1, 7, 64, 100, 512, 4096, 65536};

    s->domain = (enum cio_domain_kind)check_between(rnd, 0, 3);
    s->unit = units[check_between(rnd, 1, 6)];
    s->stripe = check_between(rnd, 0, 2) == 0 ? 0 : check_between(rnd, 1, 3 * s->unit);
    s->stripe_count = check_between(rnd, 0, 1) == 0 ? 0 : check_between(rnd, 1, 13);
    s->memory_limit = check_between(rnd, 0, 2) == 0 ? 1 : check_between(rnd, 1, 1 << 20);
    s->transport = (enum cio_transport)check_between(rnd, 0, 2);
    s->sieve_write = (enum cio_switch)check_between(rnd, 0, 2);
    s->sieve_read = (enum cio_switch)check_between(rnd, 0, 2);
    s->message = check_between(rnd, 0, 1) == 0 ? 0 : check_between(rnd, 1, 2 * s->unit);
    s->merge = (enum cio_switch)check_between(rnd, 0, 2);
    s->depth = (int)check_between(rnd, 0, 5);
    s->buffer = check_between(rnd, 0, 1) == 0 ? 0 : check_between(rnd, 1, 1 << 20);
    s->tag = 100;
}

/* A memory type: blocks in any order that do not overlap, possibly at negative offsets. */
static struct cio_flat *make_memory(uint64_t *rnd)
{
    int64_t off[4], len[4], at = check_between(rnd, -20, 20), first = at;
    size_t n = (size_t)check_between(rnd, 1, 4);
    struct cio_flat *f;

    for (size_t i = 0; i < n; i++) {
        off[i] = at;
        len[i] = check_between(rnd, 1, 50);
        at += len[i] + check_between(rnd, 0, 10);
    }
    if (check_between(rnd, 0, 1) && n > 1) {
        int64_t o = off[0], l = len[0];

        off[0] = off[n - 1], len[0] = len[n - 1];
        off[n - 1] = o, len[n - 1] = l;
    }
    if (cio_flat_create(off, len, n, at - first + check_between(rnd, 0, 5), &f) != 0)
        abort();
    return f;
}

/* Blocks of one rank in a tile that all ranks share: each slot of it belongs to one rank. */
static struct cio_flat *make_view(const int *owner, const int64_t *start, int slots, int rank,
                                  int64_t tile)
{
    int64_t *off = must(malloc((size_t)slots * sizeof(*off)));
    int64_t *len = must(malloc((size_t)slots * sizeof(*len)));
    struct cio_flat *f = NULL;
    size_t n = 0;

    for (int i = 0; i < slots; i++) {
        if (owner[i] != rank)
            continue;
        off[n] = start[i];
        len[n++] = start[i + 1] - start[i];
    }
    if (n > 0 && cio_flat_create(off, len, n, tile, &f) != 0)
        abort();
    free(len);
    free(off);
    return f;
}

static void make_buffer(struct test_case *c, int r, int64_t bytes)
{
    struct cio_request *req = &c->world.request[r];
    struct cio_cursor cur;
    int64_t lo = 0, hi = 0;

    cio_cursor_seek(&cur, req->mem, 0);
    for (int64_t left = bytes; left > 0;) {
        int64_t run = cio_cursor_run(&cur, left), off = cio_cursor_offset(&cur);

        lo = off < lo ? off : lo;
        hi = off + run > hi ? off + run : hi;
        cio_cursor_skip(&cur, run);
        left -= run;
    }
    c->buf_base[r] = -lo;
    c->buf_size[r] = hi - lo;
    c->buf[r] = must(malloc((size_t)(hi - lo) + 1));
    req->buf = c->buf[r] - lo;
}

static void make_request(struct test_case *c, uint64_t *rnd, int r, int64_t disp)
{
    struct cio_request *req = &c->world.request[r];
    int64_t most = check_between(rnd, 1, 3) * c->file[r]->size;
    struct cio_cursor cur;

    c->mem[r] = make_memory(rnd);
    req->file = c->file[r];
    req->mem = c->mem[r];
    req->disp = disp;
    req->start = check_between(rnd, 0, 2 * c->file[r]->size);
    req->bytes =
        check_between(rnd, 0, 4) == 0 ? check_between(rnd, 1, 3) : check_between(rnd, 1, most);
    make_buffer(c, r, req->bytes);
    cio_cursor_seek(&cur, req->file, req->start + req->bytes - 1);
    c->span = cio_max64(c->span, disp + cio_cursor_offset(&cur) + 1);
}

/* In every other case a layout, of up to five components that begin within what is accessed. */
static void make_layout(struct test_case *c, uint64_t seed)
{
    uint64_t rnd = seed ^ 0x6c61796f7574u;
    int n = (int)check_between(&rnd, 1, 5);
    int64_t at = 0, first = case_first(c), width = c->span - first;

    if (check_between(&rnd, 0, 1) == 0)
        return;
    cio_layout_init(&c->layout);
    for (int i = 0; i < n; i++) {
        int targets = (int)check_between(&rnd, 0, 13);
        int64_t end = (i == 0 ? first : at) + check_between(&rnd, 1, 1 + width / n);
        struct cio_component part = {.start = at,
                                     .end = end,
                                     .stripe = check_between(&rnd, 1, 1 + width / 8),
                                     .count = targets * (int)check_between(&rnd, 1, 2),
                                     .targets = targets};

        if (cio_layout_add(&c->layout, &part) != NULL)
            abort();
        at = end;
    }
    c->world.settings.layout = &c->layout;
}

static void judge_release(struct world *w, int r);

/* In three of four cases another order than by offset. */
static void make_schedule(struct test_case *c, uint64_t seed)
{
    struct cio_settings *s = &c->world.settings;
    uint64_t rnd = seed ^ 0x6f72646572u;
    int slow;

    if (check_between(&rnd, 0, 3) == 0)
        return;
    s->schedule =
        (enum cio_schedule)check_between(&rnd, CIO_SCHEDULE_AUTOMATIC, CIO_SCHEDULE_FIRST_FINISH);
    s->explain = (int)check_between(&rnd, 0, 1);
    s->early = check_between(&rnd, 0, 3) != 0;
    slow = check_between(&rnd, 0, 1) != 0;
    for (int r = 0; slow && r < c->world.size; r++)
        c->world.pace[r] = (struct cio_pace){.ns = {(int64_t)1 << 40, (int64_t)1 << 40}};
}

void case_create(struct test_case *c, uint64_t seed, int overlap)
{
    uint64_t rnd = seed;
    int size = (int)check_between(&rnd, 1, check_between(&rnd, 0, 3) == 0 ? 40 : 9), node_of[40];
    int groups, naggr; /* not drawn in arguments, of which compilers take any first */
    int slots = (int)check_between(&rnd, 1, 200), owner[200];
    int64_t start[201], longest = check_between(&rnd, 0, 2) == 0 ? 2000 : 40;
    int64_t disp =
        check_between(&rnd, 0, 3) == 0 ? ((int64_t)5 << 30) + 3 : check_between(&rnd, 0, 100);

    memset(c, 0, sizeof(*c));
    make_nodes(&rnd, size, node_of);
    naggr = (int)check_between(&rnd, 1, size);
    groups = (int)check_between(&rnd, 1, size);
    world_create(&c->world, size, node_of, groups, naggr, seed);
    make_settings(&rnd, &c->world.settings);
    if (check_between(&rnd, 0, 1) == 0 && c->world.settings.transport != CIO_TRANSPORT_P2P)
        world_share(&c->world);
    c->world.slow = check_between(&rnd, 0, 2) > 0 ? seed : 0;
    start[0] = check_between(&rnd, 0, 30);
    for (int i = 0; i < slots; i++) {
        start[i + 1] = start[i] + check_between(&rnd, 1, longest);
        owner[i] = (int)check_between(&rnd, -1, size - 1);
    }
    c->file = must(calloc((size_t)size, sizeof(*c->file)));
    c->mem = must(calloc((size_t)size, sizeof(*c->mem)));
    c->buf = must(calloc((size_t)size, sizeof(*c->buf)));
    c->buf_size = must(calloc((size_t)size, sizeof(*c->buf_size)));
    c->buf_base = must(calloc((size_t)size, sizeof(*c->buf_base)));
    for (int r = 0; r < size; r++) {
        int as = overlap ? (int)check_between(&rnd, 0, size - 1) : r;

        c->file[r] = make_view(owner, start, slots, as, start[slots] + 7);
        if (c->file[r] != NULL && check_between(&rnd, 0, 5) != 0)
            make_request(c, &rnd, r, disp);
    }
    make_layout(c, seed);
    make_schedule(c, seed);
    c->world.settings.direct = seed % 3 == 0 ? 0 : (int64_t)(seed / 3 % 40) + 1;
    c->world.on_release = judge_release;
}

void case_destroy(struct test_case *c)
{
    for (int r = 0; r < c->world.size; r++) {
        free(c->buf[r]);
        cio_flat_destroy(c->mem[r]);
        cio_flat_destroy(c->file[r]);
    }
    free(c->buf_base);
    free(c->buf_size);
    free(c->buf);
    free(c->mem);
    free(c->file);
    world_destroy(&c->world);
}

/* ---- the oracle: byte by byte ---- */

/* Calls `visit` for every byte of a rank's request: its file offset and its place in memory. */
static int64_t each_byte(struct test_case *c, int r,
                         int64_t (*visit)(struct test_case *c, int r, int64_t off, char *at))
{
    struct cio_request *req = &c->world.request[r];
    struct cio_cursor f, m;
    int64_t result = 0;

    if (req->bytes == 0)
        return 0;
    cio_cursor_seek(&f, req->file, req->start);
    cio_cursor_seek(&m, req->mem, 0);
    for (int64_t i = 0; i < req->bytes; i++) {
        result += visit(c, r, req->disp + cio_cursor_offset(&f), req->buf + cio_cursor_offset(&m));
        cio_cursor_skip(&f, 1);
        cio_cursor_skip(&m, 1);
    }
    return result;
}

static int64_t put_byte(struct test_case *c, int r, int64_t off, char *at)
{
    (void)c;
    *at = case_byte(r, off);
    return 0;
}

static int64_t compare_byte(struct test_case *c, int r, int64_t off, char *at)
{
    (void)c;
    (void)r;
    return *at != case_before(off);
}

void case_prepare(struct test_case *c, int write)
{
    for (int r = 0; r < c->world.size; r++) {
        c->world.request[r].write = write;
        if (c->buf[r] == NULL)
            continue;
        memset(c->buf[r], 0x5a, (size_t)c->buf_size[r]);
        if (write)
            each_byte(c, r, put_byte);
    }
}

/*
 * A rank that returns early: what it has read is there, all of it, and what it has written is not
 * needed any more. (The world is the first member of its case.)
 */
static void judge_release(struct world *w, int r)
{
    struct test_case *c = (struct test_case *)w;

    if (c->buf[r] == NULL)
        return;
    if (!w->request[r].write)
        c->wrong_at_release += each_byte(c, r, compare_byte);
    else
        memset(c->buf[r], 0x77, (size_t)c->buf_size[r]);
}

int64_t case_first(const struct test_case *c)
{
    int64_t first = c->span;

    for (int r = 0; r < c->world.size; r++)
        if (c->world.request[r].bytes > 0)
            first = cio_min64(first, c->world.request[r].disp);
    return first;
}

void case_fill_until(struct test_case *c, int64_t end)
{
    int64_t first = case_first(c), n = end - first;
    char *data = must(malloc((size_t)n + 1));

    for (int64_t i = 0; i < n; i++)
        data[i] = case_before(first + i);
    if (n > 0 && cio_store_write(c->world.store, data, n, first) != 0)
        abort();
    free(data);
}

void case_fill_store(struct test_case *c)
{
    case_fill_until(c, c->span);
}

/* For each byte of the file: 0 if nobody wrote it, 1 if not yet seen right, 2 if somebody's. */
struct file_check {
    int64_t first;
    char *now, *state;
};

static void judge(struct test_case *c, int r, struct file_check *k)
{
    struct cio_request *req = &c->world.request[r];
    struct cio_cursor f;

    if (req->bytes == 0)
        return;
    cio_cursor_seek(&f, req->file, req->start);
    for (int64_t i = 0; i < req->bytes; i++) {
        int64_t off = req->disp + cio_cursor_offset(&f), at = off - k->first;

        if (k->state[at] != 2)
            k->state[at] = k->now[at] == case_byte(r, off) ? 2 : 1;
        cio_cursor_skip(&f, 1);
    }
}

int64_t case_wrong_file(struct test_case *c)
{
    int64_t first = case_first(c), n = c->span - first, wrong = 0;
    struct file_check k = {first, must(malloc((size_t)n + 1)), must(calloc(1, (size_t)n + 1))};

    if (n > 0 && cio_store_read(c->world.store, k.now, n, first) != 0)
        abort();
    for (int r = 0; r < c->world.size; r++)
        judge(c, r, &k);
    for (int64_t i = 0; i < n; i++)
        wrong += k.state[i] == 1 || (k.state[i] == 0 && k.now[i] != case_before(first + i));
    free(k.state);
    free(k.now);
    return wrong;
}

int64_t case_wrong_buffers(struct test_case *c)
{
    int64_t wrong = c->wrong_at_release;

    for (int r = 0; r < c->world.size; r++)
        wrong += each_byte(c, r, compare_byte);
    return wrong;
}

int case_released(const struct test_case *c)
{
    int n = 0;

    for (int r = 0; r < c->world.size; r++)
        n += c->world.released[r] && c->world.request[r].bytes > 0;
    return n;
}

void case_print(const struct test_case *c, const char *what, uint64_t seed)
{
    const struct cio_settings *s = &c->world.settings;
    char layout[CIO_LAYOUT_TEXT_MAX];

    cio_layout_text(&c->layout, layout, sizeof(layout));
    printf("%s: seed %llu: %d ranks, %d nodes, %d leaders, %d aggregators, domain %d, unit %lld, "
           "stripe %lld x %lld, limit %lld, transport %d, merge %d, message %lld, depth %d, "
           "buffer %lld, slow %d, order %s, explain %d, early %d, layout %s\n",
           what, (unsigned long long)seed, c->world.size, c->world.nodes->nnodes,
           c->world.team[0]->nleaders, c->world.naggr, s->domain, (long long)s->unit,
           (long long)s->stripe, (long long)s->stripe_count, (long long)s->memory_limit,
           s->transport, s->merge, (long long)s->message, s->depth, (long long)s->buffer,
           c->world.slow != 0, cio_schedule_name(s->schedule), s->explain, s->early, layout);
}
