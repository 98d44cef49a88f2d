/* Dividing cb_buffer_size: everything fits, leaders and aggregators agree, more rounds if possible.
 */
#include "plan/pipeline.h"

#include "check.h"

#define MIB ((int64_t)1 << 20)
#define OVERHEAD 23616
#define REQUEST 40000

static struct cio_pipeline plan(int64_t buffer, int64_t unit, int depth, int leaders, int write)
{
    struct cio_pipeline_spec s = {.buffer = buffer,
                                  .unit = unit,
                                  .depth = depth,
                                  .overhead = OVERHEAD,
                                  .request = REQUEST,
                                  .leaders = leaders,
                                  .write = write};
    struct cio_pipeline p;

    cio_pipeline_plan(&s, &p);
    return p;
}

/* What the parts add up to, counted once more. */
static int64_t total(const struct cio_pipeline *p, int64_t unit, int write)
{
    int64_t bits = (unit + 63) / 64 * 8, message = (p->message + OVERHEAD + 63) / 64 * 64;

    CHECK(p->receive == (write ? message : REQUEST) || (!write && p->receive == 23616));
    return p->depth * (unit + (write ? bits : 2 * bits)) + p->slots * p->receive +
           p->replies * message + p->spare;
}

static void everything_fits(void)
{
    for (int64_t buffer = 4 * MIB; buffer <= 256 * MIB; buffer *= 2)
        for (int64_t unit = 64 << 10; unit <= buffer / 4; unit *= 2)
            for (int leaders = 1; leaders <= 4096; leaders *= 4)
                for (int write = 0; write < 2; write++) {
                    struct cio_pipeline p = plan(buffer, unit, 0, leaders, write);

                    CHECK(p.bytes == total(&p, unit, write));
                    CHECK(p.bytes <= buffer);
                    CHECK(p.depth >= 2 && p.depth <= CIO_DEPTH_MAX);
                    CHECK(p.slots >= 1 && p.slots <= CIO_SLOTS_MAX);
                    CHECK(p.slots <= (int64_t)leaders * p.depth);
                    CHECK(write ? p.replies == 0 && p.spare > 0 : p.replies > 0 && p.spare == 0);
                    CHECK(p.message >= 1 && p.message <= unit && p.slot >= p.message + OVERHEAD);
                    CHECK(p.depth == CIO_DEPTH_MAX || p.bytes + unit * 5 / 4 > buffer);
                }
}

static void depth_is_heeded(void)
{
    CHECK(plan(16 * MIB, MIB, 1, 32, 1).depth == 1);
    CHECK(plan(16 * MIB, MIB, 3, 32, 1).depth == 3);
    CHECK(plan(16 * MIB, 4 * MIB, 100, 32, 1).depth < 4); /* as many as fit */
    CHECK(plan(2 * MIB, 256 << 10, 5, 1, 1).depth == 5);  /* before slots */
    CHECK(plan(0, MIB, 5, 32, 1).depth == 5);
    CHECK(plan(0, MIB, 0, 32, 1).depth == 2);
    CHECK(plan(0, MIB, 1000, 32, 0).depth == CIO_DEPTH_MAX);
}

/* One leader, or one after the other, keeps all rounds busy. */
static void rounds_have_slots(void)
{
    for (int leaders = 1; leaders <= 8; leaders++)
        for (int write = 0; write < 2; write++) {
            struct cio_pipeline p = plan(16 * MIB, MIB, 0, leaders, write);

            CHECK(p.slots >= p.depth - 1 && p.depth >= 4);
        }
    CHECK(plan(16 * MIB, MIB, 1, 4, 1).slots == 4);
    CHECK(plan(240 << 10, 64 << 10, 0, 1, 1).depth == 2); /* less to read before writing */
    CHECK(plan(240 << 10, 64 << 10, 0, 4, 0).depth == 2); /* smaller requests */
}

static void small_buffers_still_work(void)
{
    struct cio_pipeline p = plan(1, 4096, 0, 9, 1);

    CHECK(p.depth == 1 && p.slots == 1 && p.message >= 1);
    p = plan(1, 1, 0, 1, 0);
    CHECK(p.depth == 1 && p.slots == 1 && p.replies == 1 && p.message == 1);
}

static void messages_are_as_asked(void)
{
    struct cio_pipeline_spec s = {
        .buffer = 16 * MIB, .unit = MIB, .message = 1000, .overhead = 10, .leaders = 4, .write = 1};
    struct cio_pipeline p;

    cio_pipeline_plan(&s, &p);
    CHECK(p.message == 1000 && p.slot == 1024);
    s.message = 2 * MIB;
    cio_pipeline_plan(&s, &p);
    CHECK(p.message == MIB);
}

int main(void)
{
    everything_fits();
    depth_is_heeded();
    rounds_have_slots();
    small_buffers_still_work();
    messages_are_as_asked();
    return check_done("pipeline");
}
