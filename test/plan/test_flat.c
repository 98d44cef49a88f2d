/* Flattened types: joining, cursors, searching, against byte-by-byte tables. */
#include "plan/flat.h"

#include <errno.h>
#include <string.h>

#include "check.h"

/* Copied and borrowed in turn: callers' arrays outlive what is made of them. */
static struct cio_flat *make(const int64_t *off, const int64_t *len, size_t n, int64_t extent)
{
    static int calls;
    struct cio_flat *f = NULL;
    int borrow = calls++ % 2;

    CHECK((borrow ? cio_flat_borrow : cio_flat_create)(off, len, n, extent, &f) == 0);
    CHECK(borrow || f->own != NULL);
    return f;
}

static void check_refusals(void)
{
    int64_t off[] = {0, 8}, len[] = {0, 0}, bad[] = {4, -1};
    struct cio_flat *f;

    CHECK(cio_flat_create(off, len, 2, 16, &f) == -EINVAL); /* nothing but bounds */
    CHECK(cio_flat_create(off, bad, 2, 16, &f) == -EINVAL);
    CHECK(cio_flat_create(off, bad, 1, 0, &f) == -EINVAL);
    CHECK(cio_flat_borrow(off, len, 2, 16, &f) == -EINVAL);
    CHECK(cio_flat_borrow(off, bad, 2, 16, &f) == -EINVAL);
}

static void check_joining(void)
{
    int64_t off[] = {0, 0, 4, 8, 20}, len[] = {0, 4, 4, 2, 0};
    struct cio_flat *f = make(off, len, 5, 20);

    CHECK(f->n == 1 && f->off[0] == 0 && f->len[0] == 10);
    CHECK(f->size == 10 && f->sorted && !f->dense);
    cio_flat_destroy(f);
    f = make(off, len, 4, 10);
    CHECK(f->dense && f->sorted);
    CHECK(cio_flat_pieces(f, 3, 1000) == 1);
    CHECK(cio_flat_lower(f, 12345) == 12345);
    cio_flat_destroy(f);
}

/* More blocks than one step of the index, found by position and by offset. */
static void check_many(void)
{
    enum { N = 5 * CIO_FLAT_STEP + 3 };
    int64_t off[N], len[N], at = 0;
    struct cio_flat *f;
    struct cio_cursor c;

    for (int i = 0; i < N; i++) {
        off[i] = 10 * i;
        len[i] = 1 + i % 9;
    }
    CHECK(cio_flat_borrow(off, len, N, 10 * N, &f) == 0);
    CHECK(f->own == NULL && f->off == off);
    for (int i = 0; i < N; i++) {
        CHECK(cio_flat_lower(f, off[i]) == at &&
              cio_flat_lower(f, off[i] + 10 * N) == f->size + at);
        cio_cursor_seek(&c, f, at + len[i] - 1);
        CHECK(cio_cursor_offset(&c) == off[i] + len[i] - 1);
        CHECK(cio_flat_pieces(f, 0, at + 1) == i + 1);
        at += len[i];
    }
    CHECK(at == f->size);
    cio_flat_destroy(f);
}

static void check_order(void)
{
    int64_t falling[] = {8, 0}, rising[] = {0, 8}, four[] = {4, 4}, early[] = {-4, 8};
    struct cio_flat *f = make(falling, four, 2, 16);

    CHECK(!f->sorted);
    cio_flat_destroy(f);
    f = make(rising, four, 2, 10); /* the next instance begins before this one ends */
    CHECK(!f->sorted);
    cio_flat_destroy(f);
    f = make(early, four, 2, 16);
    CHECK(!f->sorted);
    cio_flat_destroy(f);
}

/* offset[s]: where byte s of the stream lies, by walking block after block. */
static void table_of(const struct cio_flat *f, int64_t *offset, int64_t bytes)
{
    int64_t s = 0;

    for (int64_t shift = 0; s < bytes; shift += f->extent)
        for (size_t b = 0; b < f->n; b++)
            for (int64_t i = 0; i < f->len[b] && s < bytes; i++)
                offset[s++] = shift + f->off[b] + i;
}

static int64_t pieces_in(const int64_t *offset, int64_t from, int64_t bytes)
{
    int64_t pieces = bytes > 0;

    for (int64_t s = from + 1; s < from + bytes; s++)
        pieces += offset[s] != offset[s - 1] + 1;
    return pieces;
}

static int64_t lower_in(const int64_t *offset, int64_t n, int64_t off)
{
    int64_t s = 0;

    while (s < n && offset[s] < off)
        s++;
    return s;
}

static void check_walk(const struct cio_flat *f, const int64_t *offset, int64_t from, int64_t bytes)
{
    struct cio_cursor c;

    cio_cursor_seek(&c, f, from);
    for (int64_t s = from; s < from + bytes;) {
        int64_t run = cio_cursor_run(&c, from + bytes - s);

        CHECK(run > 0 && cio_cursor_offset(&c) == offset[s]);
        CHECK(offset[s + run - 1] == offset[s] + run - 1);
        cio_cursor_skip(&c, run);
        s += run;
    }
}

static void check_random_types(uint64_t seed)
{
    enum { BYTES = 600 };
    int64_t off[6], len[6], offset[BYTES + 100];

    for (int round = 0; round < 2000; round++) {
        size_t n = (size_t)check_between(&seed, 1, 6);
        int64_t at = check_between(&seed, 0, 5), from, bytes;

        for (size_t i = 0; i < n; i++) {
            off[i] = at;
            len[i] = check_between(&seed, i > 0 ? 0 : 1, 9);
            at += len[i] + check_between(&seed, 0, 4);
        }
        struct cio_flat *f = make(off, len, n, at - off[0] + check_between(&seed, 0, 3));
        table_of(f, offset, BYTES);
        from = check_between(&seed, 0, BYTES / 2);
        bytes = check_between(&seed, 0, BYTES / 2);
        CHECK(f->sorted);
        check_walk(f, offset, from, bytes);
        CHECK(cio_flat_pieces(f, from, bytes) >= pieces_in(offset, from, bytes));
        CHECK(cio_flat_lower(f, offset[from]) == from);
        CHECK(cio_flat_lower(f, offset[from] + 1) == lower_in(offset, BYTES, offset[from] + 1));
        cio_flat_destroy(f);
    }
}

static void check_copies(void)
{
    int64_t off[] = {6, -2}, len[] = {3, 2};
    struct cio_flat *f = make(off, len, 2, 20);
    char memory[64], stream[16] = "abcdefghij", back[16] = "";
    struct cio_cursor c;

    memset(memory, '.', sizeof(memory));
    cio_cursor_seek(&c, f, 1);
    cio_cursor_copy_in(&c, memory + 4, 7, stream);
    CHECK(memcmp(memory,
                 "..cd......"
                 ".ab.......",
                 13) == 0);
    CHECK(memcmp(memory + 22, "..", 2) == 0 && memory[30] == 'e');
    cio_cursor_seek(&c, f, 1);
    cio_cursor_copy_out(&c, memory + 4, 7, back);
    CHECK(strcmp(back, "abcdefg") == 0);
    cio_flat_destroy(f);
}

int main(void)
{
    check_refusals();
    check_joining();
    check_many();
    check_order();
    check_random_types(check_seed());
    check_copies();
    return check_done("flat");
}
