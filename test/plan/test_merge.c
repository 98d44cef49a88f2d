/* The k-way merge: segments, stream positions and refusals, against a bitmap of the file. */
#include "check.h"

#include <errno.h>
#include <string.h>

#include "plan/merge.h"

enum { LISTS = 70, PIECES = 60, FILE_SIZE = 4000 };

struct lists {
    int k;
    struct cio_source src[LISTS];
    cio_extent ext[LISTS][PIECES];
    int64_t pos[LISTS][PIECES];
};

static int merge(const struct cio_source *src, int k, cio_extent *segs, size_t cap, size_t *n,
                 int64_t *bytes)
{
    void *scratch = malloc(cio_merge_scratch(k));
    int rc = cio_merge(src, k, scratch, segs, cap, n, bytes);

    free(scratch);
    return rc;
}

static void test_drawing(void)
{
    cio_extent a[] = {{10, 4}, {30, 2}}, b[] = {{14, 4}, {40, 4}}, segs[4];
    int64_t pa[2], pb[2], bytes = -1;
    struct cio_source src[] = {{a, 2, pa}, {b, 2, pb}};
    size_t n = 99;

    CHECK(merge(src, 2, segs, 4, &n, &bytes) == 0);
    CHECK(n == 3 && bytes == 14);
    CHECK(segs[0].off == 10 && segs[0].len == 8);
    CHECK(pa[0] == 0 && pb[0] == 4 && pa[1] == 8 && pb[1] == 10);
    n = 99;
    CHECK(merge(src, 2, segs, 2, &n, &bytes) == -ENOSPC && n == 99);
    CHECK(merge(src, 2, segs, 3, &n, &bytes) == 0 && n == 3);
}

static void test_edges(void)
{
    cio_extent zero[] = {{0, 3}, {50, 0}, {60, 1}};
    cio_extent top[] = {{0, 1}, {INT64_MAX - 5, 5}};
    cio_extent segs[8];
    int64_t pos[3], bytes = -1;
    struct cio_source src[] = {{zero, 3, pos}, {NULL, 0, NULL}, {top, 2, NULL}, {top, 2, pos}};
    size_t n = 99;

    CHECK(merge(src, 0, segs, 0, &n, &bytes) == 0 && n == 0 && bytes == 0);
    CHECK(merge(src + 1, 1, NULL, 0, &n, &bytes) == 0 && n == 0 && bytes == 0);
    CHECK(merge(src, 2, segs, 8, &n, &bytes) == 0 && n == 2 && bytes == 4 && pos[2] == 3);
    for (int k = 2; k <= 3; k++) {
        CHECK(merge(src + 4 - k, k, segs, 8, &n, &bytes) == 0 && n == 2 && bytes == 6);
        CHECK(segs[1].off == INT64_MAX - 5 && segs[1].len == 5 && pos[1] == 1);
    }
    CHECK(merge(src, -1, segs, 8, &n, &bytes) == -EINVAL);
}

static void test_refusals(void)
{
    cio_extent fine[] = {{0, 1}, {5, 1}, {9, 1}, {200, 5}};
    cio_extent bad[][2] = {
        {{100, 1}, {7, 1}},           {{-4, 2}, {7, 1}},
        {{INT64_MIN, 2}, {7, 1}},     {{3, -1}, {7, 1}},
        {{8, 1}, {INT64_MAX - 1, 2}}, {{8, 1}, {INT64_MAX, 1}},
    };
    cio_extent segs[14];
    struct cio_source src[3] = {{fine, 4, NULL}, {NULL, 2, NULL}, {fine, 4, NULL}};
    int64_t bytes = -7;
    size_t n = 99;

    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        src[1].ext = bad[i];
        for (int k = 1; k <= 3; k++)
            CHECK(merge(src + (k == 1), k, segs, 14, &n, &bytes) == -EINVAL);
    }
    CHECK(n == 99 && bytes == -7);
}

/* Pieces of all kinds: tiny and long, touching, overlapping, empty; lists of any length. */
static size_t random_lists(uint64_t *rng, struct lists *l)
{
    size_t total = 0;
    int64_t spread = check_between(rng, 1, 150), most = check_between(rng, 1, 40);

    l->k = (int)check_between(rng, 0, check_between(rng, 1, LISTS));
    for (int i = 0; i < l->k; i++) {
        int64_t off = check_between(rng, 0, 200);
        size_t n = (size_t)check_between(rng, 0, PIECES), j = 0;

        for (; j < n && off < FILE_SIZE - 50; j++) {
            l->ext[i][j] = (cio_extent){off, check_between(rng, 0, most)};
            off += check_between(rng, 0, spread);
        }
        l->src[i] = (struct cio_source){l->ext[i], j, check_random(rng) % 8 ? l->pos[i] : NULL};
        total += j;
    }
    return total;
}

/* rank[b]: stream position of byte b, -1 if it is not in the union. Returns the segments. */
static size_t oracle(const struct lists *l, int64_t *rank, int64_t *bytes)
{
    static char used[FILE_SIZE];
    size_t nsegs = 0;

    memset(used, 0, sizeof(used));
    for (int i = 0; i < l->k; i++)
        for (size_t j = 0; j < l->src[i].n; j++)
            memset(used + l->ext[i][j].off, 1, (size_t)l->ext[i][j].len);
    *bytes = 0;
    for (int b = 0; b < FILE_SIZE; b++) {
        nsegs += used[b] && (b == 0 || !used[b - 1]);
        rank[b] = used[b] ? (*bytes)++ : -1;
    }
    return nsegs;
}

static void test_random(uint64_t *rng)
{
    static struct lists l;
    static int64_t rank[FILE_SIZE];
    size_t total = random_lists(rng, &l), nsegs = 0, want;
    cio_extent *segs = malloc((total + 1) * sizeof(*segs));
    int64_t bytes = 0, want_bytes;

    want = oracle(&l, rank, &want_bytes);
    CHECK(merge(l.src, l.k, segs, want, &nsegs, &bytes) == 0);
    CHECK(nsegs == want && bytes == want_bytes);
    CHECK(cio_extents_check(segs, nsegs, FILE_SIZE) == 0);
    CHECK(cio_extents_bytes(segs, nsegs) == bytes);
    for (size_t i = 0; i < nsegs; i++)
        CHECK(rank[segs[i].off] >= 0 && (segs[i].off == 0 || rank[segs[i].off - 1] < 0));
    for (int i = 0; i < l.k; i++)
        for (size_t j = 0; j < l.src[i].n; j++)
            if (l.src[i].pos && l.ext[i][j].len > 0)
                CHECK(l.pos[i][j] == rank[l.ext[i][j].off]);
    if (want > 0)
        CHECK(merge(l.src, l.k, segs, want - 1, &nsegs, &bytes) == -ENOSPC);
    free(segs);
}

int main(void)
{
    uint64_t rng = check_seed();

    test_drawing();
    test_edges();
    test_refusals();
    for (int i = 0; i < 1500; i++)
        test_random(&rng);
    return check_done("test_merge");
}
