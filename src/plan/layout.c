/* Layouts of files: components in a row. */
#include "plan/layout.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "plan/extent.h"

/* Room for a size and for a component as text. */
enum { SIZE_TEXT = 24, COMPONENT_TEXT = 128 };

void cio_layout_init(struct cio_layout *l)
{
    memset(l, 0, sizeof(*l));
}

static const char *judge(const struct cio_component *c, int64_t expected_start)
{
    if (c->start != expected_start)
        return c->start > expected_start ? "there is a gap between components"
                                         : "components overlap or are out of order";
    if (c->end <= c->start)
        return "a component is empty";
    if (c->stripe < 1 || c->stripe > CIO_LAYOUT_STRIPE_MAX)
        return "the stripe size of a component is unknown or out of bounds";
    if (c->count < 0 || c->count > CIO_LAYOUT_COUNT_MAX)
        return "the stripe count of a component is out of bounds";
    if (c->targets < (c->count > 0) || c->targets > c->count)
        return "the number of targets of a component is out of bounds";
    return NULL;
}

const char *cio_layout_add(struct cio_layout *l, const struct cio_component *c)
{
    const char *why = judge(c, l->n > 0 ? l->component[l->n - 1].end : 0);

    if (why != NULL)
        return why;
    if (l->n == CIO_LAYOUT_COMPONENTS)
        return "it has too many components";
    l->component[l->n++] = *c;
    return NULL;
}

const char *cio_layout_check(const struct cio_layout *l)
{
    int64_t expected = 0;

    if (l->n < 0 || l->n > CIO_LAYOUT_COMPONENTS)
        return "it has too many components";
    for (int i = 0; i < l->n; i++) {
        const char *why = judge(&l->component[i], expected);

        if (why != NULL)
            return why;
        expected = l->component[i].end;
    }
    return NULL;
}

void cio_layout_from_hints(const struct cio_hinted_stripes *hints, struct cio_layout *l)
{
    int64_t most = CIO_LAYOUT_COUNT_MAX / cio_max64(hints->over, 1);
    int known = hints->targets > 0 && hints->targets <= most;
    struct cio_component c = {.end = CIO_LAYOUT_EOF, .stripe = hints->stripe};

    if (known) {
        c.targets = (int32_t)hints->targets;
        c.count = (int32_t)(hints->targets * cio_max64(hints->over, 1));
    }
    cio_layout_init(l);
    if (cio_layout_add(l, &c) == NULL)
        l->source = CIO_LAYOUT_HINTS;
}

static int32_t bounded(int64_t n)
{
    return n > 0 && n <= CIO_LAYOUT_COUNT_MAX ? (int32_t)n : 0;
}

void cio_layout_expect(const struct cio_expected *e, struct cio_component *c)
{
    int64_t count = e->count > 0 ? e->count : e->each * e->targets;

    if (!e->share && e->targets > 0)
        count = cio_min64(count, e->targets);
    c->count = bounded(count);
    c->targets = e->targets > 0 ? bounded(cio_min64(c->count, e->targets)) : c->count;
}

int cio_layout_is_pending(const struct cio_layout *l, int64_t lo, int64_t hi)
{
    if (l->pending == 0 || l->n == 0 || lo >= hi)
        return 0;
    for (int i = cio_layout_find(l, lo); i <= cio_layout_find(l, hi - 1); i++)
        if (l->pending >> i & 1)
            return 1;
    return 0;
}

int cio_layout_is_same(const struct cio_layout *a, const struct cio_layout *b)
{
    return a->source == b->source && a->n == b->n &&
           memcmp(a->component, b->component, sizeof(a->component)) == 0;
}

int cio_layout_is_multiple(const struct cio_layout *l, int64_t bytes)
{
    for (int i = 0; i < l->n; i++)
        if (l->component[i].stripe % bytes != 0 || l->component[i].start % bytes != 0)
            return 0;
    return 1;
}

int cio_layout_find(const struct cio_layout *l, int64_t off)
{
    int lo = 0, hi = l->n - 1;

    while (lo < hi) {
        int mid = lo + (hi - lo) / 2;

        if (off < l->component[mid].end)
            hi = mid;
        else
            lo = mid + 1;
    }
    return lo;
}

const struct cio_component *cio_layout_last(const struct cio_layout *l)
{
    return l->n > 0 ? &l->component[l->n - 1] : NULL;
}

int64_t cio_layout_stripe(const struct cio_layout *l)
{
    int64_t most = 0;

    for (int i = 0; i < l->n; i++)
        most = cio_max64(most, l->component[i].stripe);
    return most;
}

int cio_layout_targets(const struct cio_layout *l)
{
    int most = 0;

    for (int i = 0; i < l->n; i++)
        most = l->component[i].targets > most ? l->component[i].targets : most;
    return most;
}

const char *cio_layout_source_text(const struct cio_layout *l)
{
    static const char *const names[] = {"none", "hints", "lustre"};

    return names[l->source];
}

/* Exactly, with a suffix where that is shorter. */
static const char *size_text(int64_t bytes, char *out)
{
    static const char suffix[] = {'\0', 'K', 'M', 'G', 'T'};
    int i = 0;

    if (bytes == CIO_LAYOUT_EOF)
        return "eof";
    for (; bytes != 0 && bytes % 1024 == 0 && i < 4; i++)
        bytes /= 1024;
    snprintf(out, SIZE_TEXT, "%" PRId64 "%.1s", bytes, &suffix[i]);
    return out;
}

static void component_text(const struct cio_component *c, char *out)
{
    char start[SIZE_TEXT], end[SIZE_TEXT], stripe[SIZE_TEXT], count[SIZE_TEXT] = "?";
    char targets[SIZE_TEXT] = "";

    if (c->count > 0)
        snprintf(count, sizeof(count), "%" PRId32, c->count);
    if (c->targets < c->count)
        snprintf(targets, sizeof(targets), "/%" PRId32, c->targets);
    snprintf(out, COMPONENT_TEXT, "%s-%s:%sx%s%s", size_text(c->start, start),
             size_text(c->end, end), size_text(c->stripe, stripe), count, targets);
}

void cio_layout_text(const struct cio_layout *l, char *out, size_t size)
{
    static const char cut[] = ",...";
    char text[COMPONENT_TEXT];
    size_t used = 0;

    out[0] = '\0';
    for (int i = 0; i < l->n; i++) {
        size_t more;

        component_text(&l->component[i], text);
        more = strlen(text) + (i > 0);
        if (used + more + (i < l->n - 1 ? strlen(cut) : 0) >= size) {
            snprintf(out + used, size - used, "%s", i > 0 ? cut : "...");
            return;
        }
        used += (size_t)snprintf(out + used, size - used, "%s%s", i > 0 ? "," : "", text);
    }
}
