/* The automatic choices, at the numbers where they change. */
#include "plan/choose.h"

#include <stddef.h>
#include <string.h>

#include "check.h"

/* A choice always has a reason. */
static int is_served(const struct cio_totals *t, enum cio_switch tam)
{
    struct cio_choice choice = cio_choose(t, tam);

    CHECK(choice.why != NULL && choice.why[0] != '\0');
    return choice.tam;
}

int main(void)
{
    /* 4 ranks that interleave pieces of 64 bytes over the same megabyte */
    struct cio_totals t = {
        .lo = 0, .hi = 1 << 20, .bytes = 1 << 20, .pieces = 1 << 14, .node_ranks = 4};

    t.spans = 4 << 20;
    CHECK(!is_served(&t, CIO_AUTOMATIC));
    CHECK(is_served(&t, CIO_ENABLE));
    t.node_ranks = 8;
    CHECK(is_served(&t, CIO_AUTOMATIC));
    t.node_ranks = 4;
    CHECK(strstr(cio_choose(&t, CIO_AUTOMATIC).why, "few") != NULL);
    t.pieces = 1 << 15; /* of 32 bytes */
    CHECK(is_served(&t, CIO_AUTOMATIC));
    CHECK(strstr(cio_choose(&t, CIO_AUTOMATIC).why, "tiny") != NULL);
    CHECK(strstr(cio_choose(&t, CIO_ENABLE).why, "asked") != NULL);
    t.node_ranks = 8;
    t.pieces = 1 << 14;
    t.spans = 1 << 20; /* side by side */
    CHECK(!is_served(&t, CIO_AUTOMATIC));
    CHECK(is_served(&t, CIO_ENABLE));
    t.spans = 4 << 20;
    t.pieces = 8; /* of 128 KiB */
    CHECK(!is_served(&t, CIO_AUTOMATIC));
    CHECK(is_served(&t, CIO_ENABLE));
    t.unsorted = 1;
    CHECK(!is_served(&t, CIO_ENABLE));
    t = (struct cio_totals){.lo = INT64_MAX, .hi = INT64_MIN};
    CHECK(is_served(&t, CIO_AUTOMATIC)); /* nothing to do ends by itself */
    CHECK(cio_choose_groups(1) == 1);
    CHECK(cio_choose_groups(8) == 1);
    CHECK(cio_choose_groups(9) == 2);
    CHECK(cio_choose_groups(64) == 8);
    return check_done("choose");
}
