/* The copy of small pieces: every length and alignment, and nothing outside is touched. */
#include "check.h"

#include <sys/mman.h>
#include <unistd.h>

#include "plan/copy.h"

enum { LONGEST = 200, ALIGNMENTS = 16, GUARD = 64, SIZE = LONGEST + ALIGNMENTS + 2 * GUARD };

static void fill(uint64_t *rng, char *p, size_t n)
{
    for (size_t i = 0; i < n; i++)
        p[i] = (char)check_random(rng);
}

/* n bytes at each alignment of both sides; the bytes around the destination stay. */
static void test_alignments(uint64_t *rng, int n)
{
    _Alignas(64) char from[SIZE], before[SIZE], to[SIZE], want[SIZE];

    fill(rng, from, SIZE);
    fill(rng, before, SIZE);
    for (int a = 0; a < ALIGNMENTS; a++) {
        for (int b = 0; b < ALIGNMENTS; b++) {
            memcpy(to, before, SIZE);
            memcpy(want, before, SIZE);
            for (int i = 0; i < n; i++)
                want[GUARD + a + i] = from[GUARD + b + i];
            cio_copy_small(to + GUARD + a, from + GUARD + b, n);
            CHECK(!memcmp(to, want, SIZE));
        }
    }
}

/* A page between two that must not be touched. */
static char *guarded_page(size_t page)
{
    char *p = mmap(NULL, 3 * page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    if (p == MAP_FAILED || mprotect(p + page, page, PROT_READ | PROT_WRITE))
        abort();
    return p + page;
}

/* From and to the very begin and end of what may be touched. */
static void test_edges(uint64_t *rng)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    char *from = guarded_page(page), *to = guarded_page(page);

    for (size_t n = 0; n <= LONGEST; n++) {
        for (int i = 0; i < 4; i++) {
            char *source = i & 1 ? from : from + page - n, *dest = i & 2 ? to : to + page - n;

            fill(rng, source, n);
            cio_copy_small(dest, source, (int64_t)n);
            CHECK(!memcmp(dest, source, n));
        }
    }
    munmap(from - page, 3 * page);
    munmap(to - page, 3 * page);
}

int main(void)
{
    uint64_t rng = check_seed();

    for (int n = 0; n <= LONGEST; n++)
        test_alignments(&rng, n);
    test_edges(&rng);
    return check_done("test_copy");
}
