/*
 * The Mersenne Twister (Matsumoto and Nishimura, 1998), seeded and used as Python's `random` does:
 * so that a workload drawn by a few lines of Python can be had here, number by number.
 */
#ifndef TAMIO_BENCH_TWISTER_H
#define TAMIO_BENCH_TWISTER_H

#include <stdint.h>

#define TWISTER_WORDS 624

struct twister {
    uint32_t word[TWISTER_WORDS];
    int used;
    int has_spare; /* gauss makes two at a time */
    double spare;
};

/* Random(seed) */
void twister_seed(struct twister *t, uint32_t seed);

/* random(): in [0, 1) */
double twister_random(struct twister *t);

/* randint(1, most) */
int64_t twister_up_to(struct twister *t, uint32_t most);

/* gauss(mean, sigma) */
double twister_gauss(struct twister *t, double mean, double sigma);

#endif
