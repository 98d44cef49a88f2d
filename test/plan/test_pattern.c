/* Access patterns: what was added is there, on the wire too; malformed messages are refused. */
#include "check.h"

#include <errno.h>
#include <string.h>

#include "plan/bits.h"
#include "plan/maxima.h"
#include "plan/pattern.h"

enum { MAX_RANKS = 100, MAX_POS = 600, MAX_WORDS = MAX_POS / 64 + 1 };

struct truth {
    int nranks;
    int64_t npos;
    uint64_t bits[MAX_RANKS][MAX_WORDS];
};

/* Empty, sparse, dense, periodic and repeated rows. */
static void random_truth(uint64_t *rng, struct truth *t)
{
    memset(t, 0, sizeof(*t));
    t->nranks = (int)check_between(rng, 1, MAX_RANKS);
    t->npos = check_between(rng, 0, check_between(rng, 0, MAX_POS));
    for (int r = 0; r < t->nranks; r++) {
        int64_t kind = check_between(rng, 0, 4), period = check_between(rng, 1, 90);

        if (kind == 0 || t->npos == 0)
            continue;
        if (kind == 1 && r > 0)
            memcpy(t->bits[r], t->bits[r - 1], sizeof(t->bits[r]));
        else if (kind == 2)
            for (int64_t i = check_between(rng, 0, 30); i > 0; i--)
                cio_bits_set(t->bits[r], check_between(rng, 0, t->npos - 1));
        else
            for (int64_t i = check_between(rng, 0, period); i < t->npos; i++)
                if (kind == 3 ? i % period == 0 : check_random(rng) % 4 != 0)
                    cio_bits_set(t->bits[r], i);
    }
}

static int64_t row_count(const struct truth *t, int r)
{
    return cio_bits_count(t->bits[r], t->npos);
}

static void check_same(const struct cio_pattern *p, const struct truth *t)
{
    uint32_t room[MAX_POS + 1];
    int64_t rows = 0, touches = 0;

    CHECK(p->nranks == t->nranks && p->npos == t->npos);
    for (int r = 0; r < t->nranks; r++) {
        const struct cio_pattern_row *row = cio_pattern_row_of(p, r);
        const uint32_t *pos;
        int64_t at = -1;

        rows += row_count(t, r) > 0;
        touches += row_count(t, r);
        if (!CHECK(!row == !row_count(t, r)) || !row)
            continue;
        pos = cio_pattern_positions(p, row, room);
        CHECK(row->rank == r && row->count == row_count(t, r));
        for (uint32_t i = 0; i < row->count; i++) {
            at = cio_bits_next(t->bits[r], t->npos, at + 1);
            CHECK(pos[i] == at);
        }
    }
    CHECK(p->rows == rows && p->touches == touches);
}

/* Every second rank comes in the code that ranks send; they come in some order, but all. */
static struct cio_pattern *make_pattern(const struct truth *t)
{
    uint8_t code[8192];
    struct cio_pattern *p;
    int step = t->nranks % 13 ? 13 : 1;

    CHECK(cio_pattern_create(t->nranks, t->npos, &p) == 0);
    for (int i = 0; i < t->nranks; i++) {
        int r = i * step % t->nranks;
        size_t size = cio_bits_encode(t->bits[r], t->npos, code);

        CHECK((r % 2 ? cio_pattern_add(p, r, t->bits[r])
                     : cio_pattern_add_code(p, r, code, size)) == 0);
        CHECK(cio_pattern_add(p, r, t->bits[r]) == (row_count(t, r) ? -EEXIST : 0));
    }
    return p;
}

/* A decoded pattern is in order, whatever bytes it came from. */
static void check_sane(const struct cio_pattern *p)
{
    uint32_t *room = malloc((p->npos + (size_t)1) * sizeof(*room));
    int64_t touches = 0;

    for (int i = 0; i < p->rows; i++) {
        const uint32_t *pos = cio_pattern_positions(p, &p->row[i], room);

        CHECK(cio_pattern_row_of(p, p->row[i].rank) == &p->row[i]);
        CHECK(p->row[i].count > 0 && pos[p->row[i].count - 1] < p->npos);
        for (uint32_t k = 1; k < p->row[i].count; k++)
            CHECK(pos[k - 1] < pos[k]);
        touches += p->row[i].count;
    }
    CHECK(touches == p->touches);
    free(room);
}

/* Into a pattern that has a row of rank 0 already, as the message may, too. */
static void try_decode(const uint8_t *buf, size_t size, const struct truth *t)
{
    uint8_t *exact = malloc(size + !size);
    struct cio_pattern *p;
    int rc;

    memcpy(exact, buf, size);
    CHECK(cio_pattern_create(t->nranks, t->npos, &p) == 0);
    CHECK(cio_pattern_add(p, 0, t->bits[t->nranks / 2]) == 0);
    rc = cio_pattern_decode(exact, size, p);
    CHECK(rc == 0 || rc == -EBADMSG);
    check_sane(p);
    cio_pattern_destroy(p);
    free(exact);
}

static int decode_as(const uint8_t *buf, int64_t size, int nranks, int64_t npos)
{
    struct cio_pattern *p;
    int rc;

    CHECK(cio_pattern_create(nranks, npos, &p) == 0);
    rc = cio_pattern_decode(buf, (size_t)size, p);
    cio_pattern_destroy(p);
    return rc;
}

static void test_wire(uint64_t *rng, const struct truth *t, const struct cio_pattern *p)
{
    size_t bound = cio_pattern_bound(p);
    uint8_t *buf = malloc(bound);
    int64_t size = cio_pattern_encode(p, buf);
    struct cio_pattern *got;

    if (!CHECK(size > 0 && (size_t)size <= bound))
        return;
    CHECK(cio_pattern_create(t->nranks, t->npos, &got) == 0);
    CHECK(cio_pattern_decode(buf, (size_t)size, got) == 0);
    check_same(got, t);
    CHECK(cio_pattern_decode(buf, (size_t)size, got) == (got->rows > 0 ? -EBADMSG : 0));
    check_same(got, t);
    cio_pattern_destroy(got);
    CHECK(decode_as(buf, size, t->nranks + 1, t->npos) == -EBADMSG);
    CHECK(decode_as(buf, size, t->nranks, t->npos + 1) == -EBADMSG);
    for (int i = 0; i < 20; i++)
        try_decode(buf, (size_t)check_between(rng, 0, size), t);
    for (int i = 0; i < 50; i++) {
        buf[check_between(rng, 0, size - 1)] = (uint8_t)check_random(rng);
        try_decode(buf, (size_t)size, t);
    }
    free(buf);
}

/* A pattern that comes in parts, of ranks in turn, is the same. */
static void test_parts(uint64_t *rng, const struct truth *t)
{
    enum { PARTS = 3 };
    struct cio_pattern *part[PARTS], *whole;

    CHECK(cio_pattern_create(t->nranks, t->npos, &whole) == 0);
    for (int i = 0; i < PARTS; i++)
        CHECK(cio_pattern_create(t->nranks, t->npos, &part[i]) == 0);
    for (int r = 0; r < t->nranks; r++)
        CHECK(cio_pattern_add(part[check_between(rng, 0, PARTS - 1)], r, t->bits[r]) == 0);
    for (int i = 0; i < PARTS; i++) {
        uint8_t *buf = malloc(cio_pattern_bound(part[i]));

        CHECK(cio_pattern_decode(buf, (size_t)cio_pattern_encode(part[i], buf), whole) == 0);
        free(buf);
        cio_pattern_destroy(part[i]);
    }
    check_same(whole, t);
    cio_pattern_destroy(whole);
}

static int refused(const char *bytes, size_t size)
{
    return decode_as((const uint8_t *)bytes, (int64_t)size, 4, 200) == -EBADMSG;
}

#define REFUSED(bytes) refused(bytes, sizeof(bytes) - 1)

static void test_messages(void)
{
    static const char good[] = "\4\xc8\1" /* 4 ranks, 200 positions */
                               "\1\1\5\0" /* rank 0: 5, 6 */
                               "\4\1" /* rank 2: the same, and rank 3 */;
    struct cio_pattern *p;
    uint32_t room[200];

    CHECK(cio_pattern_create(4, 200, &p) == 0);
    CHECK(cio_pattern_decode(good, sizeof(good) - 1, p) == 0);
    CHECK(p->rows == 3 && p->touches == 6 && !cio_pattern_row_of(p, 1));
    CHECK(cio_pattern_positions(p, cio_pattern_row_of(p, 3), room)[1] == 6);
    CHECK(cio_pattern_decode("\4\xc8\1\4\0", 5, p) == -EBADMSG);       /* the same as which? */
    CHECK(cio_pattern_decode("\4\xc8\1\5\0\5\0\0", 8, p) == -EBADMSG); /* rank 2 again */
    CHECK(p->rows == 4 && cio_pattern_row_of(p, 1)->count == 1);
    cio_pattern_destroy(p);

    CHECK(REFUSED(""));
    CHECK(REFUSED("\4"));
    CHECK(REFUSED("\4\xc9\1"));             /* 201 positions */
    CHECK(REFUSED("\4\xc8\1\0\0"));         /* the same as which? */
    CHECK(REFUSED("\4\xc8\1\1\0\5\0\3"));   /* four ranks after the first */
    CHECK(REFUSED("\4\xc8\1\x11\0\5"));     /* rank 4 */
    CHECK(REFUSED("\4\xc8\1\1\0\xc8\1"));   /* position 200 */
    CHECK(REFUSED("\4\xc8\1\1\1\xc7\1\0")); /* 199, 200 */
    CHECK(REFUSED("\4\xc8\1\1\1\5"));       /* one position is missing */
    CHECK(REFUSED("\4\xc8\1\3\1\5"));       /* no such kind */
    CHECK(REFUSED("\4\xc8\1\2\3\xc8\1"));   /* bits are cut short */
    CHECK(REFUSED("\4\xc8\1\2\2\xc8\1"));   /* bits without a one */
    CHECK(REFUSED("\4\xc8\1\1\x10"
                  "0123456789abcdefg")); /* too long for a list */
}

static void test_arguments(void)
{
    uint64_t bits = 1;
    struct cio_pattern *p;

    CHECK(cio_pattern_create(0, 1, &p) == -EINVAL);
    CHECK(cio_pattern_create(1, -1, &p) == -EINVAL);
    CHECK(cio_pattern_create(1, (int64_t)INT32_MAX + 1, &p) == -EINVAL);
    CHECK(cio_pattern_create(2, 10, &p) == 0);
    CHECK(cio_pattern_add(p, -1, &bits) == -EINVAL);
    CHECK(cio_pattern_add(p, 2, &bits) == -EINVAL);
    CHECK(cio_pattern_add_code(p, 0, "\xb\0", 2) == -EBADMSG); /* of 11 bits */
    CHECK(p->rows == 0);
    cio_pattern_destroy(p);
    cio_pattern_destroy(NULL);
}

/* However dense: the bitmap, and a row for each rank; where all are equal, one of them. */
static void test_memory(uint64_t *rng)
{
    enum { RANKS = 512, NPOS = 1800, WORDS = NPOS / 64 + 1 };
    struct cio_pattern *p;
    uint64_t bits[WORDS] = {0};
    uint8_t *buf;

    CHECK(cio_pattern_create(RANKS, NPOS, &p) == 0);
    for (int r = 0; r < RANKS; r++) {
        for (int i = 0; i < WORDS - 1; i++)
            bits[i] = check_random(rng);
        CHECK(cio_pattern_add(p, r, bits) == 0);
    }
    CHECK(p->used <= RANKS * WORDS);
    cio_pattern_destroy(p);

    CHECK(cio_pattern_create(RANKS, NPOS, &p) == 0);
    for (int r = 0; r < RANKS; r++)
        CHECK(cio_pattern_add(p, r, bits) == 0);
    CHECK(p->used == WORDS && p->rows == RANKS);
    buf = malloc(cio_pattern_bound(p));
    CHECK(cio_pattern_encode(p, buf) < WORDS * 10 + 20);
    free(buf);
    cio_pattern_destroy(p);
}

static void test_maxima(uint64_t *rng)
{
    uint32_t v[200], dst[200], expected[200];
    uint8_t *buf = malloc(cio_maxima_bound(200));
    int n = (int)check_between(rng, 1, 200);
    uint32_t value = 0;
    size_t size;

    for (int i = 0; i < n; i++) {
        value =
            check_random(rng) % 3 ? value : (uint32_t)check_random(rng) >> check_random(rng) % 32;
        v[i] = value;
        dst[i] = (uint32_t)check_random(rng) >> check_random(rng) % 32;
        expected[i] = v[i] > dst[i] ? v[i] : dst[i];
    }
    size = cio_maxima_encode(v, n, buf);
    CHECK(size <= cio_maxima_bound(n));
    CHECK(cio_maxima_decode_combine(buf, size, n + 1, dst) == -EBADMSG);
    CHECK(cio_maxima_decode_combine(buf, size - 1, n, dst) == -EBADMSG);
    CHECK(cio_maxima_decode_combine(buf, size, n, dst) == 0);
    CHECK(!memcmp(dst, expected, (size_t)n * sizeof(*dst)));
    for (int i = 0; i < 20; i++) {
        int rc;

        buf[check_between(rng, 0, (int64_t)size - 1)] = (uint8_t)check_random(rng);
        rc = cio_maxima_decode_combine(buf, size, n, dst);
        CHECK(rc == 0 || rc == -EBADMSG);
    }
    free(buf);
}

int main(void)
{
    static struct truth t;
    uint64_t rng = check_seed();

    test_messages();
    test_arguments();
    test_memory(&rng);
    for (int i = 0; i < 500; i++) {
        struct cio_pattern *p;

        random_truth(&rng, &t);
        p = make_pattern(&t);
        check_same(p, &t);
        test_wire(&rng, &t, p);
        test_parts(&rng, &t);
        cio_pattern_destroy(p);
        test_maxima(&rng);
    }
    return check_done("test_pattern");
}
