/* The Mersenne Twister, as Python has it. */
#include "twister.h"

#include <math.h>

enum { N = TWISTER_WORDS, AHEAD = 397 };

static uint32_t stir(uint32_t before)
{
    return before ^ before >> 30;
}

/* One of the two passes over all words that spread the seed; the last word is also the first. */
static int spread(struct twister *t, int i, int turns, uint32_t factor, uint32_t plus, int minus)
{
    for (; turns > 0; turns--) {
        t->word[i] =
            (t->word[i] ^ stir(t->word[i - 1]) * factor) + plus - (minus ? (uint32_t)i : 0);
        if (++i == N) {
            t->word[0] = t->word[N - 1];
            i = 1;
        }
    }
    return i;
}

void twister_seed(struct twister *t, uint32_t seed)
{
    int i;

    t->word[0] = 19650218;
    for (i = 1; i < N; i++)
        t->word[i] = 1812433253 * stir(t->word[i - 1]) + (uint32_t)i;
    i = spread(t, 1, N, 1664525, seed, 0);
    spread(t, i, N - 1, 1566083941, 0, 1);
    t->word[0] = 0x80000000;
    t->used = N;
    t->has_spare = 0;
}

static void twist(struct twister *t)
{
    for (int i = 0; i < N; i++) {
        uint32_t mixed = (t->word[i] & 0x80000000) | (t->word[(i + 1) % N] & 0x7fffffff);

        t->word[i] = t->word[(i + AHEAD) % N] ^ mixed >> 1 ^ (mixed & 1 ? 0x9908b0df : 0);
    }
    t->used = 0;
}

static uint32_t next_word(struct twister *t)
{
    uint32_t w;

    if (t->used == N)
        twist(t);
    w = t->word[t->used++];
    w ^= w >> 11;
    w ^= w << 7 & 0x9d2c5680;
    w ^= w << 15 & 0xefc60000;
    return w ^ w >> 18;
}

double twister_random(struct twister *t)
{
    uint32_t high = next_word(t) >> 5, low = next_word(t) >> 6;

    return (high * 67108864.0 + low) / 9007199254740992.0;
}

int64_t twister_up_to(struct twister *t, uint32_t most)
{
    int bits = 32 - __builtin_clz(most);
    uint32_t drawn;

    do
        drawn = next_word(t) >> (32 - bits);
    while (drawn >= most);
    return (int64_t)drawn + 1;
}

double twister_gauss(struct twister *t, double mean, double sigma)
{
    double angle, radius;

    if (t->has_spare) {
        t->has_spare = 0;
        return mean + t->spare * sigma;
    }
    angle = 2 * M_PI * twister_random(t);
    radius = sqrt(-2 * log(1 - twister_random(t)));
    t->spare = sin(angle) * radius;
    t->has_spare = 1;
    return mean + cos(angle) * radius * sigma;
}
