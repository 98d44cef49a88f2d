/*
 * k-way merge by a loser tree.
 *
 * Leaf i of the tree is cursor i; inner node j (1 <= j < k) holds the loser of the match played
 * there, key and leaf inline, and its parent is j / 2. Replacing the winner's key replays one path
 * without a hard-to-predict branch. When a list wins twice in a row it is galloped along: its
 * pieces are taken without touching the tree until one exceeds the runner-up.
 */
#include "plan/merge.h"

#include <errno.h>

#define KEY_DONE INT64_MAX /* an exhausted list; no piece can start there */
#define KEY_NONE INT64_MIN /* before every piece */
#define PREFETCH 16        /* pieces read ahead in each list */

struct cursor {
    const cio_extent *ext, *end;
    int64_t *pos;
};

struct node {
    int64_t key;
    int64_t leaf;
};

/*
 * The stream so far. A byte at file offset x of the last segment lies at x - gaps. It begins
 * with an empty segment at offset -1, where no piece touches it.
 */
struct stream {
    struct cio_segs segs;
    int64_t start, end; /* last segment */
    int64_t gaps;       /* bytes of the file left out before it */
    int bad;
};

size_t cio_merge_scratch(int k)
{
    return (size_t)(k > 0 ? k : 1) * (sizeof(struct node) + sizeof(struct cursor));
}

/*
 * Add a piece; returns its position. Whether it begins a segment is anyone's guess, so that is a
 * mask and not a branch.
 */
static inline int64_t place(struct stream *s, int64_t off, int64_t len)
{
    int64_t end, fresh;

    if (len <= 0 || off < s->start || __builtin_add_overflow(off, len, &end)) {
        s->bad |= len != 0;
        return 0;
    }
    fresh = -(int64_t)(off > s->end);
    s->gaps += (off - s->end) & fresh;
    s->start ^= (s->start ^ off) & fresh;
    s->segs.n -= (size_t)fresh;
    s->end = cio_max64(s->end, end);
    if (s->segs.n <= s->segs.cap)
        s->segs.e[s->segs.n - 1] = (cio_extent){s->start, s->end - s->start};
    return off - s->gaps;
}

/* Take one piece, and more while they start no later than bound. Returns the list's next key. */
static inline int64_t take(struct stream *s, struct cursor *c, int64_t bound)
{
    const cio_extent *x = c->ext;

    do {
        int64_t pos = place(s, x->off, x->len);

        if (c->pos)
            *c->pos++ = pos;
        x++;
    } while (x < c->end && x->off <= bound);
    __builtin_prefetch(x + PREFETCH);
    c->ext = x;
    return x < c->end ? x->off : KEY_DONE;
}

static void merge_two(struct stream *s, struct cursor *a, struct cursor *b)
{
    do {
        if (a->ext->off > b->ext->off) {
            struct cursor *t = a;
            a = b;
            b = t;
        }
    } while (take(s, a, b->ext->off) != KEY_DONE);
}

/* Play x from its leaf up, changing places with whoever beats it; returns the winner. */
static inline struct node replay(struct node *tree, int k, struct node x)
{
    for (int64_t j = (x.leaf + k) / 2; j > 0; j /= 2) {
        int64_t lost = -(int64_t)(tree[j].key < x.key);
        int64_t key = (tree[j].key ^ x.key) & lost;
        int64_t leaf = (tree[j].leaf ^ x.leaf) & lost;

        tree[j].key ^= key;
        tree[j].leaf ^= leaf;
        x.key ^= key;
        x.leaf ^= leaf;
    }
    return x;
}

/* Every leaf pushes one KEY_NONE out of the tree; that is why no key may be like it here. */
static struct node build(struct node *tree, int k, const struct cursor *cur)
{
    struct node winner = {KEY_NONE, 0};

    for (int j = 0; j < k; j++)
        tree[j] = (struct node){KEY_NONE, 0};
    for (int i = 0; i < k; i++)
        winner = replay(tree, k, (struct node){cio_max64(cur[i].ext->off, 0), i});
    return winner;
}

/* The least key among those the winner has beaten. */
static int64_t runner_up(const struct node *tree, int k, struct node winner)
{
    int64_t key = KEY_DONE;

    for (int64_t j = (winner.leaf + k) / 2; j > 0; j /= 2)
        key = cio_min64(key, tree[j].key);
    return key;
}

static void merge_many(struct stream *out, struct cursor *cur, struct node *tree, int k)
{
    struct stream s = *out; /* a copy whose fields can live in registers */
    struct node winner = build(tree, k, cur);
    int64_t bound = KEY_NONE;

    while (winner.key != KEY_DONE) {
        int64_t key = take(&s, &cur[winner.leaf], bound);
        struct node next = replay(tree, k, (struct node){key, winner.leaf});

        bound = next.leaf == winner.leaf ? runner_up(tree, k, next) : KEY_NONE;
        winner = next;
    }
    *out = s;
}

static int cursors_init(struct cursor *cur, const struct cio_source *src, int k)
{
    int live = 0;

    for (int i = 0; i < k; i++)
        if (src[i].n > 0)
            cur[live++] = (struct cursor){src[i].ext, src[i].ext + src[i].n, src[i].pos};
    return live;
}

int cio_merge(const struct cio_source *src, int k, void *scratch, cio_extent *segs, size_t segs_cap,
              size_t *nsegs, int64_t *bytes)
{
    struct stream s = {.segs = {.e = segs, .cap = segs_cap}, .end = -1, .gaps = -1};
    struct node *tree = scratch;
    struct cursor *cur;
    int live;

    if (k < 0)
        return -EINVAL;
    cur = (struct cursor *)(tree + k);
    live = cursors_init(cur, src, k);
    if (live == 2)
        merge_two(&s, &cur[0], &cur[1]);
    else if (live > 2)
        merge_many(&s, cur, tree, live);
    for (int i = 0; i < live; i++)
        if (cur[i].ext < cur[i].end)
            take(&s, &cur[i], KEY_DONE);

    if (s.bad)
        return -EINVAL;
    if (s.segs.n > s.segs.cap)
        return -ENOSPC;
    *nsegs = s.segs.n;
    *bytes = s.end - s.gaps;
    return 0;
}
