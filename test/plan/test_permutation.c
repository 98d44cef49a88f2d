/* Coded orders: there and back, their size, and bytes that are no code. Usage: [SEED] */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "plan/permutation.h"

enum { MOST = 300 };

static size_t code_of(const uint32_t *order, uint32_t n, uint8_t *code)
{
    size_t used = cio_permutation_encode(order, n, code);

    CHECK(used <= cio_permutation_bound(n));
    return used;
}

static void check_same(const uint32_t *order, uint32_t n)
{
    uint8_t code[10 * MOST + 16];
    uint32_t back[MOST], index[MOST];
    size_t used = code_of(order, n, code);

    CHECK(cio_permutation_decode(code, used, n, back, index) == 0);
    CHECK(n == 0 || memcmp(order, back, n * sizeof(*order)) == 0);
    for (uint32_t i = 0; i < n; i++)
        CHECK(index[order[i]] == i);
    for (size_t cut = 0; cut < used; cut++)
        CHECK(cio_permutation_decode(code, cut, n, back, index) == -EBADMSG);
    code[used] = 0;
    CHECK(cio_permutation_decode(code, used + 1, n, back, index) == -EBADMSG);
}

static void check_shuffled(uint64_t *rnd)
{
    uint32_t order[MOST], n = (uint32_t)check_between(rnd, 0, MOST);
    uint32_t mixed = (uint32_t)check_between(rnd, 0, n);

    for (uint32_t i = 0; i < n; i++)
        order[i] = i;
    for (uint32_t i = 0; i < mixed; i++) {
        uint32_t j = (uint32_t)check_between(rnd, i, n - 1), was = order[i];

        order[i] = order[j];
        order[j] = was;
    }
    check_same(order, n);
}

/* What is periodic takes few bytes, what is by offset one. */
static void check_sizes(void)
{
    uint32_t order[MOST];
    uint8_t code[10 * MOST + 16];

    for (uint32_t i = 0; i < MOST; i++)
        order[i] = i;
    CHECK(code_of(order, MOST, code) == 1);
    for (uint32_t i = 0; i < MOST; i++)
        order[i] = MOST - 1 - i;
    CHECK(code_of(order, MOST, code) <= 10);
    for (uint32_t i = 0; i < MOST; i++)
        order[i] = i < MOST / 2 ? 2 * i + 1 : 2 * (i - MOST / 2);
    CHECK(code_of(order, MOST, code) <= 10);
}

/* Never an order with a position missing or twice, whatever the bytes. */
static void check_noise(uint64_t *rnd)
{
    uint8_t code[24];
    uint32_t order[20], index[20], n = (uint32_t)check_between(rnd, 0, 20);
    size_t size = (size_t)check_between(rnd, 0, sizeof(code));
    uint64_t seen = 0;

    for (size_t i = 0; i < size; i++)
        code[i] = (uint8_t)check_between(rnd, 0, check_between(rnd, 0, 3) == 0 ? 255 : 12);
    if (cio_permutation_decode(code, size, n, order, index) != 0)
        return;
    for (uint32_t i = 0; i < n; i++) {
        CHECK(order[i] < n && index[order[i]] == i);
        seen |= (uint64_t)1 << order[i];
    }
    CHECK(seen == ((uint64_t)1 << n) - 1);
}

int main(int argc, char **argv)
{
    uint64_t seed = argc > 1 ? strtoull(argv[1], NULL, 0) : 1, rnd = seed;

    printf("seed %llu\n", (unsigned long long)seed);
    for (int i = 0; i < 2000; i++)
        check_shuffled(&rnd);
    for (int i = 0; i < 200000; i++)
        check_noise(&rnd);
    check_sizes();
    return check_done("permutation");
}
