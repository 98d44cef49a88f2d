/*
 * Layouts: what is accepted and what is refused with a reason, which component a byte lies in, the
 * numbers that defaults are made of, and the text.
 */
#include "check.h"

#include <string.h>

#include "plan/layout.h"

#define MIB ((int64_t)1 << 20)
#define GIB ((int64_t)1 << 30)

static const struct cio_component pfl[] = {{0, 4 * MIB, 1 * MIB, 1, 1},
                                           {4 * MIB, 64 * MIB, 1 * MIB, 4, 4},
                                           {64 * MIB, GIB, 4 * MIB, 7, 7},
                                           {GIB, 16 * GIB, 16 * MIB, 16, 8},
                                           {16 * GIB, CIO_LAYOUT_EOF, 64 * MIB, 0, 0}};

static struct cio_layout make(const struct cio_component *c, int n)
{
    struct cio_layout l;

    cio_layout_init(&l);
    for (int i = 0; i < n; i++)
        CHECK(cio_layout_add(&l, &c[i]) == NULL);
    return l;
}

static void test_find(void)
{
    struct cio_layout l = make(pfl, 5);

    CHECK(cio_layout_check(&l) == NULL);
    CHECK(cio_layout_find(&l, 0) == 0);
    for (int i = 0; i < 4; i++) {
        CHECK(cio_layout_find(&l, pfl[i].end - 1) == i);
        CHECK(cio_layout_find(&l, pfl[i].end) == i + 1);
    }
    CHECK(cio_layout_find(&l, INT64_MAX) == 4);
    l = make(pfl, 2); /* which ends at 64 MiB */
    CHECK(cio_layout_find(&l, GIB) == 1);
    for (int n = 1; n <= CIO_LAYOUT_COMPONENTS; n++) {
        cio_layout_init(&l);
        for (int i = 0; i < n; i++)
            CHECK(!cio_layout_add(&l, &(struct cio_component){10 * i, 10 * i + 10, 5, 1, 1}));
        for (int off = 0; off < 10 * n; off++)
            CHECK(cio_layout_find(&l, off) == off / 10);
    }
}

static void test_numbers(void)
{
    struct cio_layout l = make(pfl, 5), none;

    CHECK(cio_layout_stripe(&l) == 64 * MIB);
    CHECK(cio_layout_targets(&l) == 8);
    CHECK(cio_layout_last(&l) == &l.component[4]);
    cio_layout_init(&none);
    CHECK(cio_layout_check(&none) == NULL);
    CHECK(cio_layout_stripe(&none) == 0 && cio_layout_targets(&none) == 0);
    CHECK(cio_layout_last(&none) == NULL);
}

/* A bad second component is refused, and leaves the layout as it was. */
static void refused(struct cio_component c, const char *word)
{
    struct cio_layout l = make(pfl, 1), before = l;
    const char *why = cio_layout_add(&l, &c);

    CHECK(why != NULL && strstr(why, word) != NULL);
    CHECK(memcmp(&l, &before, sizeof(l)) == 0);
    l.component[l.n++] = c;
    CHECK(cio_layout_check(&l) == why);
}

static void test_refusals(void)
{
    struct cio_layout l;

    refused((struct cio_component){5 * MIB, 6 * MIB, MIB, 1, 1}, "gap");
    refused((struct cio_component){3 * MIB, 6 * MIB, MIB, 1, 1}, "order");
    refused((struct cio_component){4 * MIB, 4 * MIB, MIB, 1, 1}, "empty");
    refused((struct cio_component){4 * MIB, 3 * MIB, MIB, 1, 1}, "empty");
    refused((struct cio_component){4 * MIB, 6 * MIB, 0, 1, 1}, "stripe size");
    refused((struct cio_component){4 * MIB, 6 * MIB, -1, 1, 1}, "stripe size");
    refused((struct cio_component){4 * MIB, 6 * MIB, CIO_LAYOUT_STRIPE_MAX + 1, 1, 1}, "stripe");
    refused((struct cio_component){4 * MIB, 6 * MIB, MIB, -1, 0}, "stripe count");
    refused((struct cio_component){4 * MIB, 6 * MIB, MIB, CIO_LAYOUT_COUNT_MAX + 1, 1}, "count");
    refused((struct cio_component){4 * MIB, 6 * MIB, MIB, 2, 3}, "targets");
    refused((struct cio_component){4 * MIB, 6 * MIB, MIB, 2, 0}, "targets");
    refused((struct cio_component){4 * MIB, 6 * MIB, MIB, 0, 1}, "targets");

    cio_layout_init(&l);
    CHECK(cio_layout_add(&l, &pfl[1]) != NULL); /* nothing before it */
    for (int i = 0; i < CIO_LAYOUT_COMPONENTS; i++)
        CHECK(!cio_layout_add(&l, &(struct cio_component){i, i + 1, 1, 1, 1}));
    CHECK(cio_layout_add(&l, &(struct cio_component){l.n, l.n + 1, 1, 1, 1}) != NULL);
    CHECK(cio_layout_check(&l) == NULL);
    l.n++;
    CHECK(cio_layout_check(&l) != NULL);
}

static void hinted(int64_t stripe, int64_t targets, int64_t over, const char *expected)
{
    struct cio_hinted_stripes h = {stripe, targets, over};
    char text[CIO_LAYOUT_TEXT_MAX];
    struct cio_layout l;

    memset(&l, 0xff, sizeof(l));
    cio_layout_from_hints(&h, &l);
    cio_layout_text(&l, text, sizeof(text));
    if (!CHECK(strcmp(text, expected) == 0))
        fprintf(stderr, "\"%s\" instead of \"%s\"\n", text, expected);
    CHECK(l.n == (expected[0] != '\0'));
    CHECK(strcmp(cio_layout_source_text(&l), l.n ? "hints" : "none") == 0);
    CHECK(cio_layout_check(&l) == NULL);
}

static void test_hints(void)
{
    hinted(MIB, 4, 1, "0-eof:1Mx4");
    hinted(MIB, 4, 3, "0-eof:1Mx12/4");
    hinted(65536, 0, 1, "0-eof:64Kx?");
    hinted(65536, -1, 2, "0-eof:64Kx?");
    hinted(1000, 1, 1, "0-eof:1000x1");
    hinted(0, 4, 1, "");
    hinted(-5, 4, 1, "");
    hinted(MIB, CIO_LAYOUT_COUNT_MAX, 1, "0-eof:1Mx65536");
    hinted(MIB, CIO_LAYOUT_COUNT_MAX, 2, "0-eof:1Mx?");
    hinted(MIB, INT64_MAX, 2000, "0-eof:1Mx?");
    hinted(CIO_LAYOUT_STRIPE_MAX + 1, 4, 1, "");
}

static void expected(struct cio_expected e, int32_t count, int32_t targets)
{
    struct cio_component c = {0, MIB, MIB, 77, 77};

    cio_layout_expect(&e, &c);
    if (!CHECK(c.count == count && c.targets == targets))
        fprintf(stderr, "%d on %d, instead of %d on %d\n", c.count, c.targets, count, targets);
    CHECK(c.stripe == MIB && c.end == MIB);
}

static void test_expected(void)
{
    expected((struct cio_expected){.each = 1, .targets = 4}, 4, 4);
    expected((struct cio_expected){.each = 3, .share = 1, .targets = 4}, 12, 4);
    expected((struct cio_expected){.each = 1}, 0, 0);
    expected((struct cio_expected){.count = 8, .share = 1, .targets = 3}, 8, 3);
    expected((struct cio_expected){.count = 2, .share = 1, .targets = 3}, 2, 2);
    expected((struct cio_expected){.count = 8, .share = 1}, 8, 8);
    expected((struct cio_expected){.count = 8, .targets = 3}, 3, 3);
    expected((struct cio_expected){.count = 8}, 8, 8);
    expected((struct cio_expected){.count = INT64_MAX, .share = 1, .targets = 3}, 0, 0);
    expected((struct cio_expected){.each = 2, .share = 1, .targets = CIO_LAYOUT_COUNT_MAX}, 0, 0);
}

static void test_pending(void)
{
    struct cio_layout l = make(pfl, 5), other = l;

    CHECK(!cio_layout_is_pending(&l, 0, INT64_MAX));
    l.pending = 1 << 2 | 1 << 4;
    CHECK(cio_layout_is_same(&l, &other) && cio_layout_is_same(&other, &l));
    CHECK(!cio_layout_is_pending(&l, 0, 64 * MIB));
    CHECK(cio_layout_is_pending(&l, 0, 64 * MIB + 1));
    CHECK(cio_layout_is_pending(&l, GIB - 1, GIB));
    CHECK(!cio_layout_is_pending(&l, GIB, 16 * GIB));
    CHECK(cio_layout_is_pending(&l, 16 * GIB, INT64_MAX));
    CHECK(!cio_layout_is_pending(&l, INT64_MAX, INT64_MIN + 1)); /* nobody touches anything */
    CHECK(!cio_layout_is_pending(&l, 64 * MIB, 64 * MIB));
    other.component[4].count = other.component[4].targets = 4;
    CHECK(!cio_layout_is_same(&l, &other));
    other = make(pfl, 4);
    CHECK(!cio_layout_is_same(&l, &other));
}

static void test_multiple(void)
{
    struct cio_layout l = make(pfl, 5);

    CHECK(cio_layout_is_multiple(&l, MIB) && cio_layout_is_multiple(&l, 65536));
    CHECK(!cio_layout_is_multiple(&l, 2 * MIB));
    l.component[2].start += 512;
    CHECK(!cio_layout_is_multiple(&l, 65536) && cio_layout_is_multiple(&l, 512));
}

static void test_text(void)
{
    static const char all[] = "0-4M:1Mx1,4M-64M:1Mx4,64M-1G:4Mx7,1G-16G:16Mx16/8,16G-eof:64Mx?";
    struct cio_layout l = make(pfl, 5);
    char text[CIO_LAYOUT_TEXT_MAX];

    cio_layout_text(&l, text, sizeof(text));
    CHECK(strcmp(text, all) == 0);
    for (size_t size = 8; size <= sizeof(all); size++) {
        memset(text, 'x', sizeof(text));
        cio_layout_text(&l, text, size);
        CHECK(strlen(text) < size && text[size] == 'x');
        if (size == sizeof(all))
            CHECK(strcmp(text, all) == 0);
        else
            CHECK(strcmp(text + strlen(text) - 3, "...") == 0 &&
                  strncmp(text, all, strlen(text) - 3) == 0);
    }
}

int main(void)
{
    test_find();
    test_numbers();
    test_refusals();
    test_hints();
    test_expected();
    test_pending();
    test_multiple();
    test_text();
    return check_done("test_layout");
}
