/*
 * Flattened types: joining, cursors, searching, against byte-by-byte tables; owners; and how little
 * of a long one is looked at after it was made.
 */
#include "plan/flat.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

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

/* Memory may be walked backwards, or over and over. */
static void check_extents(void)
{
    const int64_t off[] = {0, 9, 18}, len[] = {4, 4, 4}, extents[] = {-64, -1, 0, 4};

    for (int e = 0; e < 4; e++) {
        struct cio_flat *f = make(off, len, 3, extents[e]);

        CHECK(!f->sorted && !f->dense && f->size == 12);
        for (int64_t s = 0; s < 100; s++) {
            struct cio_cursor c;

            cio_cursor_seek(&c, f, s);
            CHECK(cio_cursor_offset(&c) == s / 12 * extents[e] + s % 12 / 4 * 9 + s % 4);
        }
        cio_flat_destroy(f);
    }
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

/* Nothing but bounds at the ends: no reason to copy. */
static void check_bounds(void)
{
    int64_t off[] = {0, 4, 12, 40}, len[] = {0, 2, 3, 0}, inner[] = {0, 0, 3, 0};
    struct cio_flat *f;

    CHECK(cio_flat_borrow(off, len, 4, 40, &f) == 0);
    CHECK(f->own == NULL && f->off == off + 1 && f->n == 2 && f->size == 5 && f->sorted);
    cio_flat_destroy(f);
    CHECK(cio_flat_borrow(off, inner, 4, 40, &f) == 0);
    CHECK(f->n == 1 && f->off[0] == 12 && f->len[0] == 3);
    cio_flat_destroy(f);
}

static int equal_flats(const struct cio_flat *a, const struct cio_flat *b)
{
    size_t steps = (a->n - 1) / CIO_FLAT_STEP + 1;

    return a->extent == b->extent && a->size == b->size && a->n == b->n && a->sorted == b->sorted &&
           a->dense == b->dense && memcmp(a->off, b->off, a->n * sizeof(*a->off)) == 0 &&
           memcmp(a->len, b->len, a->n * sizeof(*a->len)) == 0 &&
           memcmp(a->start, b->start, steps * sizeof(*a->start)) == 0;
}

/* What lasts does so without the arrays that were borrowed, and is made once. */
static void check_owners(void)
{
    enum { N = 2 * CIO_FLAT_STEP + 1 };
    int64_t *off = malloc(N * sizeof(*off)), *len = malloc(N * sizeof(*len));
    struct cio_flat *f, *lasting = NULL, *again = NULL, *fresh;

    for (int i = 0; i < N; i++) {
        off[i] = 7 * i;
        len[i] = 1 + i % 5;
    }
    CHECK(cio_flat_borrow(off, len, N, 7 * N, &f) == 0 && f->own == NULL);
    CHECK(cio_flat_create(off, len, N, 7 * N, &fresh) == 0);
    CHECK(cio_flat_lasting(f, &lasting) == 0 && cio_flat_lasting(f, &again) == 0);
    CHECK(lasting == again && lasting->own != NULL);
    CHECK(equal_flats(f, lasting) && equal_flats(f, fresh));
    CHECK(cio_flat_share(f) == f);
    cio_flat_destroy(f);
    CHECK(f->off == off);
    cio_flat_destroy(f);
    free(off);
    free(len);
    cio_flat_destroy(again);
    CHECK(equal_flats(lasting, fresh));
    CHECK(cio_flat_lasting(fresh, &again) == 0 && again == fresh);
    cio_flat_destroy(again);
    cio_flat_destroy(lasting);
    cio_flat_destroy(fresh);
}

struct asker {
    pthread_t thread;
    pthread_barrier_t *start;
    struct cio_flat *f, *got;
};

static void *ask(void *arg)
{
    struct asker *a = arg;

    pthread_barrier_wait(a->start);
    if (cio_flat_lasting(a->f, &a->got) != 0)
        a->got = NULL;
    return NULL;
}

/* Threads that ask for it at once get the same one. */
static void check_threads(void)
{
    enum { THREADS = 4 };
    int64_t off[] = {0, 8}, len[] = {4, 4};
    struct asker a[THREADS];
    pthread_barrier_t start;
    struct cio_flat *f;

    pthread_barrier_init(&start, NULL, THREADS);
    for (int round = 0; round < 50; round++) {
        CHECK(cio_flat_borrow(off, len, 2, 16, &f) == 0);
        for (int i = 0; i < THREADS; i++) {
            a[i] = (struct asker){.start = &start, .f = f};
            pthread_create(&a[i].thread, NULL, ask, &a[i]);
        }
        for (int i = 0; i < THREADS; i++) {
            pthread_join(a[i].thread, NULL);
            CHECK(a[i].got != NULL && a[i].got == a[0].got);
        }
        for (int i = 0; i < THREADS; i++)
            cio_flat_destroy(a[i].got);
        cio_flat_destroy(f);
    }
    pthread_barrier_destroy(&start);
}

static int64_t linear_offset(const struct cio_flat *f, int64_t stream)
{
    int64_t at = stream / f->size * f->extent, left = stream % f->size;
    size_t b = 0;

    for (; left >= f->len[b]; b++)
        left -= f->len[b];
    return at + f->off[b] + left;
}

static int64_t linear_lower(const struct cio_flat *f, int64_t off)
{
    int64_t instance = cio_max64(off / f->extent - 1, 0), at = instance * f->size;

    for (;; instance++)
        for (size_t b = 0; b < f->n; b++) {
            int64_t end = instance * f->extent + f->off[b] + f->len[b];

            if (end > off)
                return at + cio_max64(f->len[b] - (end - off), 0);
            at += f->len[b];
        }
}

/* Places in types of many blocks, far into their repetitions. */
static void check_far_places(uint64_t seed)
{
    enum { N = 4 * CIO_FLAT_STEP };
    int64_t off[N], len[N];

    for (int round = 0; round < 200; round++) {
        size_t n = (size_t)check_between(&seed, 1, N);
        int64_t at = check_between(&seed, 0, 9);
        struct cio_flat *f;

        for (size_t i = 0; i < n; i++) {
            off[i] = at;
            len[i] = check_between(&seed, 1, 9);
            at += len[i] + check_between(&seed, 1, 9);
        }
        f = make(off, len, n, at + check_between(&seed, 0, 99));
        for (int i = 0; i < 50; i++) {
            int64_t s =
                check_between(&seed, 0, f->size * ((int64_t)1 << check_between(&seed, 0, 40)));
            struct cio_cursor c;

            cio_cursor_seek(&c, f, s);
            at = cio_cursor_offset(&c);
            CHECK(at == linear_offset(f, s));
            CHECK(cio_flat_lower(f, at) == s);
            at += check_between(&seed, -20, 20);
            CHECK(at < 0 || cio_flat_lower(f, at) == linear_lower(f, at));
        }
        cio_flat_destroy(f);
    }
}

/* Pages of the blocks that were looked at since hide(). */
static struct {
    char *at;
    size_t size, page;
    volatile size_t touched;
} blocks;

static void on_touch(int sig, siginfo_t *info, void *context)
{
    uintptr_t at = (uintptr_t)info->si_addr, begin = (uintptr_t)blocks.at;

    (void)context;
    if (at < begin || at >= begin + blocks.size)
        signal(sig, SIG_DFL); /* not ours: once more, in earnest */
    else
        mprotect((void *)(at & ~(blocks.page - 1)), blocks.page, PROT_READ);
    blocks.touched++;
}

static void hide(void)
{
    blocks.touched = 0;
    CHECK(mprotect(blocks.at, blocks.size, PROT_NONE) == 0);
}

/* A million blocks: making it looks at all of them, what comes later at a few. */
static void check_touches(uint64_t seed)
{
    enum { N = 1 << 20, FEW = 4, SEARCH = 2 * 12 + FEW };
    struct sigaction old, mine = {.sa_sigaction = on_touch, .sa_flags = SA_SIGINFO};
    struct cio_flat *f;
    struct cio_cursor c;
    int64_t *off, *len;

    blocks.page = (size_t)sysconf(_SC_PAGESIZE);
    blocks.size = 2 * N * sizeof(*off);
    blocks.at = mmap(NULL, blocks.size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (!CHECK(blocks.at != MAP_FAILED))
        return;
    off = (int64_t *)blocks.at;
    len = off + N;
    for (int64_t i = 0; i < N; i++) {
        off[i] = 16 * i;
        len[i] = 8;
    }
    sigaction(SIGSEGV, &mine, &old);
    hide();
    CHECK(cio_flat_borrow(off, len, N, (int64_t)16 * N, &f) == 0);
    CHECK(blocks.touched == blocks.size / blocks.page);
    for (int i = 0; i < 100; i++) {
        int64_t s = check_between(&seed, 0, 100 * f->size), lower;

        hide();
        cio_cursor_seek(&c, f, s);
        cio_cursor_offset(&c);
        cio_cursor_skip(&c, cio_cursor_run(&c, 8));
        CHECK(blocks.touched <= FEW);
        hide();
        CHECK(cio_flat_pieces(f, s, 8) <= 2);
        CHECK(blocks.touched <= FEW);
        hide();
        lower = cio_flat_lower(f, 2 * s);
        CHECK(blocks.touched <= SEARCH);
        CHECK(lower >= s - 8 && lower <= s + 8);
    }
    cio_flat_destroy(f);
    sigaction(SIGSEGV, &old, NULL);
    munmap(blocks.at, blocks.size);
}

int main(void)
{
    uint64_t seed = check_seed();

    check_refusals();
    check_joining();
    check_many();
    check_order();
    check_extents();
    check_random_types(seed);
    check_copies();
    check_bounds();
    check_owners();
    check_threads();
    check_far_places(seed);
    check_touches(seed);
    return check_done("flat");
}
