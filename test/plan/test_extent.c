/* Extents: checking, coalescing, searching, clipping, splitting. */
#include "check.h"

#include <errno.h>
#include <string.h>

#include "plan/extent.h"

enum { FILE_SIZE = 64, MAX = 24 };

static void test_check(void)
{
    cio_extent good[] = {{0, 4}, {4, 1}, {9, 2}};
    cio_extent overlap[] = {{0, 4}, {3, 4}};
    cio_extent nested[] = {{0, 9}, {2, 1}, {4, 9}};
    cio_extent falling[] = {{5, 1}, {2, 1}};
    cio_extent empty[] = {{5, 0}};
    cio_extent negative[] = {{-1, 4}};
    cio_extent huge[] = {{INT64_MAX - 3, 3}, {INT64_MAX - 1, 2}};

    CHECK(cio_extents_check(NULL, 0, 0) == 0);
    CHECK(cio_extents_check(good, 3, 11) == 0);
    CHECK(cio_extents_check(good, 3, 10) == -EINVAL);
    CHECK(cio_extents_check(overlap, 2, 100) == -EINVAL);
    CHECK(cio_extents_check_flags(overlap, 2, 100, CIO_EXTENTS_OVERLAP) == 0);
    CHECK(cio_extents_check_flags(nested, 3, 13, CIO_EXTENTS_OVERLAP) == 0);
    CHECK(cio_extents_check_flags(falling, 2, 100, CIO_EXTENTS_OVERLAP) == -EINVAL);
    CHECK(cio_extents_check(empty, 1, 100) == -EINVAL);
    CHECK(cio_extents_check(negative, 1, 100) == -EINVAL);
    CHECK(cio_extents_check(huge, 1, INT64_MAX) == 0);
    CHECK(cio_extents_check_flags(huge, 2, INT64_MAX, CIO_EXTENTS_OVERLAP) == -EINVAL);
    CHECK(cio_extents_bytes(good, 3) == 7);
}

static void test_take(void)
{
    cio_extent rest = {10, 5};
    cio_extent head = cio_extent_take(&rest, 12);

    CHECK(head.off == 10 && head.len == 2 && rest.off == 12 && rest.len == 3);
    head = cio_extent_take(&rest, 12);
    CHECK(head.len == 0 && rest.off == 12 && rest.len == 3);
    head = cio_extent_take(&rest, 100);
    CHECK(head.off == 12 && head.len == 3 && rest.len == 0);
}

static size_t random_list(uint64_t *rng, cio_extent *e, int disjoint)
{
    size_t n = (size_t)check_between(rng, 0, MAX), m = 0;
    int64_t off = check_between(rng, 0, 3);

    for (; m < n && off < FILE_SIZE - 8; m++) {
        e[m] = (cio_extent){off, check_between(rng, disjoint, 7)};
        off = (disjoint ? cio_extent_end(e[m]) : off) + check_between(rng, 0, 4);
    }
    return m;
}

static void paint(const cio_extent *e, size_t n, int64_t lo, int64_t hi, char *map)
{
    memset(map, 0, FILE_SIZE);
    for (size_t i = 0; i < n; i++)
        for (int64_t b = e[i].off; b < cio_extent_end(e[i]); b++)
            map[b] = b >= lo && b < hi;
}

static void test_against_map(uint64_t *rng)
{
    char want[FILE_SIZE], got[FILE_SIZE];
    cio_extent e[MAX], out[MAX];
    size_t n = random_list(rng, e, 0), m;
    int64_t lo = check_between(rng, 0, FILE_SIZE), hi = check_between(rng, lo, FILE_SIZE);

    paint(e, n, lo, hi, want);
    m = cio_extents_clip(e, n, lo, hi, out);
    paint(out, m, 0, FILE_SIZE, got);
    CHECK(!memcmp(want, got, FILE_SIZE));

    paint(e, n, 0, FILE_SIZE, want);
    m = cio_extents_coalesce(e, n);
    paint(e, m, 0, FILE_SIZE, got);
    CHECK(!memcmp(want, got, FILE_SIZE));
    CHECK(cio_extents_check(e, m, FILE_SIZE) == 0);
    for (size_t i = 1; i < m; i++)
        CHECK(e[i].off > cio_extent_end(e[i - 1]));
}

static void test_find(uint64_t *rng)
{
    cio_extent e[MAX];
    size_t n = random_list(rng, e, 1);

    for (int64_t off = 0; off < FILE_SIZE; off++) {
        size_t i = 0;

        while (i < n && cio_extent_end(e[i]) <= off)
            i++;
        CHECK(cio_extents_find(e, n, off) == i);
    }
}

int main(void)
{
    uint64_t rng = check_seed();

    test_check();
    test_take();
    for (int i = 0; i < 2000; i++) {
        test_against_map(&rng);
        test_find(&rng);
    }
    return check_done("test_extent");
}
