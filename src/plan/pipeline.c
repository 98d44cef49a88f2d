/*
 * Dividing cb_buffer_size. What helps most comes first: a second round, so that the file can be
 * accessed while the next one fills; then slots, down to a few; then the rounds that were asked
 * for, or, if it is not said how many, rounds and with each of them slots for its messages. Where
 * leaders have different parts of the file, there is one of them for each round, and without these
 * slots one would wait for the other.
 */
#include "plan/pipeline.h"

#include "plan/extent.h"

/* A leader's share of a round usually fits into one message. */
#define MESSAGE_DATA ((int64_t)256 << 10)
#define MESSAGE_LEAST ((int64_t)16 << 10)

/* Fewer slots than these make leaders wait for each other. */
#define SLOTS_LEAST 6

/* What is read before writing is read in parts of this size. */
#define SPARE ((int64_t)512 << 10)
#define SPARE_LEAST ((int64_t)16 << 10)

int64_t cio_pipeline_bits(int64_t unit, int write)
{
    return (unit + 63) / 64 * 8 * (write ? 1 : 2);
}

static int64_t round_bytes(const struct cio_pipeline_spec *s)
{
    return s->unit + cio_pipeline_bits(s->unit, s->write);
}

static int64_t in_words(int64_t bytes)
{
    return (bytes + 63) / 64 * 64;
}

static void add_up(const struct cio_pipeline_spec *s, struct cio_pipeline *p)
{
    p->slot = in_words(p->message + s->overhead);
    if (s->write)
        p->receive = p->slot;
    p->bytes = p->depth * round_bytes(s) + p->slots * p->receive + p->replies * p->slot + p->spare;
}

static int fits(const struct cio_pipeline_spec *s, struct cio_pipeline *p)
{
    add_up(s, p);
    return s->buffer == 0 || p->bytes <= s->buffer;
}

/* Everything but rounds, as small as it takes for these rounds to fit; 1 if they do. */
static int shrink(const struct cio_pipeline_spec *s, struct cio_pipeline *p)
{
    while (!fits(s, p)) {
        if (p->slots > SLOTS_LEAST)
            p->slots--;
        else if (!s->write && p->receive > in_words(s->overhead))
            p->receive = in_words(s->overhead);
        else if (s->message == 0 && p->message > MESSAGE_LEAST)
            p->message = cio_max64(p->message / 2, MESSAGE_LEAST);
        else if (p->spare > SPARE_LEAST)
            p->spare = cio_max64(p->spare / 2, SPARE_LEAST);
        else if (p->slots > 1)
            p->slots--;
        else if (p->replies > 1)
            p->replies--;
        else
            return 0;
    }
    return 1;
}

static void begin(const struct cio_pipeline_spec *s, struct cio_pipeline *p)
{
    int64_t share = 2 * s->unit / s->leaders;

    p->message = s->message > 0 ? s->message : cio_max64(MESSAGE_DATA, share);
    p->message = cio_min64(p->message, s->unit);
    p->slots = (int)cio_min64(s->leaders, CIO_SLOTS_MAX);
    p->replies = s->write ? 0 : (int)cio_min64(s->leaders, CIO_REPLIES_MAX);
    p->receive = in_words(s->request);
    p->spare = s->write ? cio_min64(s->unit, SPARE) : 0;
}

static int add_round(const struct cio_pipeline_spec *s, struct cio_pipeline *p)
{
    p->depth++;
    if (fits(s, p))
        return 1;
    p->depth--;
    return 0;
}

/* For a message of each leader to every round, as far as there is room. */
static void add_slots(const struct cio_pipeline_spec *s, struct cio_pipeline *p)
{
    int64_t most = cio_min64((int64_t)s->leaders * p->depth, CIO_SLOTS_MAX);

    while (s->buffer > 0 && p->slots < most) {
        p->slots++;
        if (!fits(s, p)) {
            p->slots--;
            return;
        }
    }
}

void cio_pipeline_plan(const struct cio_pipeline_spec *s, struct cio_pipeline *p)
{
    int most = s->depth > 0 ? (int)cio_min64(s->depth, CIO_DEPTH_MAX) : CIO_DEPTH_MAX;

    begin(s, p);
    p->depth = (int)cio_min64(most, 2);
    if (!shrink(s, p) && p->depth > 1) {
        begin(s, p);
        p->depth = 1;
        shrink(s, p);
    }
    while (p->depth < most && (s->buffer > 0 || s->depth > 0) && add_round(s, p))
        if (s->depth == 0)
            add_slots(s, p);
    add_slots(s, p);
    add_up(s, p);
}
