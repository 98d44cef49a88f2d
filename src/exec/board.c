/* The layout of a group's board. */
#include "exec/board.h"

#include <errno.h>
#include <string.h>

/* Regions begin on pages, and are backed in steps of this size. */
#define PAGE ((int64_t)4096)
#define STEP ((int64_t)16 << 10)
#define SLACK ((int64_t)64 << 10)

static int64_t round_up(int64_t n, int64_t to)
{
    return (n + to - 1) / to * to;
}

int64_t cio_board_head_size(int k)
{
    return round_up((int64_t)sizeof(struct cio_board) + k * (int64_t)sizeof(struct cio_desc), PAGE);
}

static void reserve(struct cio_region *region, int64_t size, int64_t *at)
{
    *region = (struct cio_region){.at = *at, .size = round_up(size, PAGE)};
    *at += region->size;
}

/* A window's lists, code and data take the budget at most, and each of them all of it at worst. */
static int64_t lay_out(struct cio_board *b, struct cio_desc *desc, int k, int64_t budget, int naggr)
{
    int64_t at = cio_board_head_size(k), lists = budget / CIO_LIST_CHARGE + 8;
    struct cio_desc unused;

    for (int i = 0; i < k; i++) {
        struct cio_desc *d = desc != NULL ? &desc[i] : &unused;

        reserve(&d->lists, lists * (int64_t)sizeof(struct cio_list), &at);
        reserve(&d->meta, budget + SLACK, &at);
        reserve(&d->pos, budget + SLACK, &at);
        reserve(&d->bits, (CIO_MAX_UNITS + 64 * (int64_t)naggr) / 8, &at);
    }
    reserve(&b->order, 2 * CIO_MAX_ORDERED * (int64_t)sizeof(uint32_t), &at);
    reserve(&b->units, k * lists * (int64_t)sizeof(struct cio_unit), &at);
    reserve(&b->out, 2 * k * (budget + SLACK), &at);
    return at;
}

int64_t cio_board_size(int k, int64_t budget, int naggr)
{
    struct cio_board unused;

    return lay_out(&unused, NULL, k, budget, naggr);
}

/* Everybody lays out the same; only the first one may, since others may be at work already. */
void cio_board_init(struct cio_board *b, int k, int64_t budget, int naggr)
{
    lay_out(b, b->desc, k, budget, naggr);
    b->members = k;
}

int64_t cio_board_backed(const struct cio_board *b)
{
    int64_t bytes = cio_board_head_size((int)b->members);

    bytes += b->order.backed + b->units.backed + b->out.backed;

    for (int i = 0; i < b->members; i++) {
        const struct cio_desc *d = &b->desc[i];

        bytes += d->lists.backed + d->meta.backed + d->pos.backed + d->bits.backed;
    }
    return bytes;
}

void cio_area_at(struct cio_board *board, int member, struct cio_area *area)
{
    struct cio_desc *d = &board->desc[member];
    char *base = (char *)board;

    *area = (struct cio_area){.desc = d,
                              .list = (struct cio_list *)(base + d->lists.at),
                              .meta = (uint8_t *)base + d->meta.at,
                              .pos = (int64_t *)(base + d->pos.at),
                              .bits = (uint64_t *)(base + d->bits.at)};
}

/* Linux maps up to 64 KiB around a fault. */
#define AROUND ((int64_t)64 << 10)

void cio_board_touch(const void *base, int64_t from, int64_t to)
{
    for (; from < to; from = (from / AROUND + 1) * AROUND)
        (void)*((const volatile char *)base + from);
}

int cio_region_back(const struct cio_board_memory *m, struct cio_region *region, int64_t size)
{
    int64_t to;
    int rc;

    if (size <= region->backed)
        return 0;
    if (size > region->size)
        return -ENOSPC;
    to = cio_min64(round_up(size, STEP), region->size);
    rc = m->port.ops->back(m->port.self, m->mem, region->at + region->backed, region->at + to);
    if (rc != 0)
        return rc;
    cio_board_touch(m->mem->base, region->at + region->backed, region->at + to);
    region->backed = to;
    return 0;
}
