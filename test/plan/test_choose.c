/* The automatic choices, at the numbers where they change. */
#include "plan/choose.h"

#include <stddef.h>

#include "check.h"

int main(void)
{
    /* 4 ranks that interleave pieces of 64 bytes over the same megabyte */
    struct cio_totals t = {.lo = 0, .hi = 1 << 20, .bytes = 1 << 20, .pieces = 1 << 14,
                           .node_ranks = 4};

    t.spans = 4 << 20;
    CHECK(cio_choose(&t, CIO_AUTOMATIC) != NULL);
    CHECK(cio_choose(&t, CIO_ENABLE) == NULL);
    t.node_ranks = 8;
    CHECK(cio_choose(&t, CIO_AUTOMATIC) == NULL);
    t.node_ranks = 4;
    t.pieces = 1 << 15; /* of 32 bytes */
    CHECK(cio_choose(&t, CIO_AUTOMATIC) == NULL);
    t.node_ranks = 8;
    t.pieces = 1 << 14;
    t.spans = 1 << 20; /* side by side */
    CHECK(cio_choose(&t, CIO_AUTOMATIC) != NULL);
    CHECK(cio_choose(&t, CIO_ENABLE) == NULL);
    t.spans = 4 << 20;
    t.pieces = 8; /* of 128 KiB */
    CHECK(cio_choose(&t, CIO_AUTOMATIC) != NULL);
    CHECK(cio_choose(&t, CIO_ENABLE) == NULL);
    t.unsorted = 1;
    CHECK(cio_choose(&t, CIO_ENABLE) != NULL);
    t = (struct cio_totals){.lo = INT64_MAX, .hi = INT64_MIN};
    CHECK(cio_choose(&t, CIO_AUTOMATIC) == NULL); /* nothing to do ends by itself */
    CHECK(cio_choose_groups(1) == 1);
    CHECK(cio_choose_groups(8) == 1);
    CHECK(cio_choose_groups(9) == 2);
    CHECK(cio_choose_groups(64) == 8);
    return check_done("choose");
}
