/* Equations (1) to (3) of the TCIO paper, on its own example and everywhere else. */
#include "../plan/check.h"
#include "tcio/place.h"

/* Figure 4: two processes, two segments of 3 pairs of an int and a double. */
static void the_example(void)
{
    const int64_t pair = 12, segment = 3 * pair;

    for (int64_t i = 0; i < 6; i++) {
        struct cio_place p = cio_place_of(i * pair, segment, 2);

        CHECK(p.rank == (int)(i / 3) && p.id == 0 && p.within == i % 3 * pair);
    }
}

static void every_byte_has_one_place(int ranks, int64_t segment)
{
    for (int64_t off = 0; off < 5 * ranks * segment; off++) {
        struct cio_place p = cio_place_of(off, segment, ranks);

        CHECK(p.rank >= 0 && p.rank < ranks && p.within >= 0 && p.within < segment);
        CHECK(p.number == p.id * ranks + p.rank);
        CHECK(p.number * segment + p.within == off);
    }
}

int main(void)
{
    struct cio_place far = cio_place_of(INT64_MAX, 1 << 20, 3);

    the_example();
    every_byte_has_one_place(1, 7);
    every_byte_has_one_place(3, 4);
    every_byte_has_one_place(64, 16);
    CHECK(far.number == INT64_MAX >> 20 && far.within == (1 << 20) - 1);
    return check_done("test_place");
}
