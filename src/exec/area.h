/*
 * A group's window: the pieces of its members that are merged and sent together.
 *
 * The segment lies in shared memory, or in the leader's own where there is none; offsets in it are
 * relative to its base, which differs from rank to rank.
 *
 *   board | area of member 0 | ... | area of member k-1 | units | out
 *   area:  dir entries, pieces, positions, set of positions touched
 *   out:   for each unit: head, coded segments, data
 */
#ifndef CIO_EXEC_AREA_H
#define CIO_EXEC_AREA_H

#include "exec/op.h"
#include "exec/wire.h"
#include "plan/merge.h"

/* The pieces of one member in one unit. */
struct cio_dir {
    int64_t t;      /* the unit */
    int64_t first;  /* index of its first piece; they end where the next entry's begin */
    int64_t stream; /* where their bytes begin in the member's request, where they are consecutive */
    int64_t bytes;
};

/* How much a member needs, or has. */
struct cio_room {
    int64_t ext;  /* pieces */
    int64_t dir;  /* units */
    int64_t data; /* bytes */
};

struct cio_desc {
    int64_t at;          /* offset of the area */
    struct cio_room cap; /* what fits, */
    int64_t ndir, next;  /* and what there is */
};

/* What a unit of the window became. */
struct cio_unit {
    int64_t t;
    int64_t pieces;
    int64_t head, meta_cap; /* offset of head and coded segments */
    int64_t data, data_cap; /* offset of the data; room for a head lies before it */
    int64_t meta_bytes, data_bytes, segments;
    int64_t stream;         /* a lone member's bytes begin here in its request */
    int32_t error;
    int32_t last;           /* the window reaches the unit's end, */
    int32_t part;           /* and earlier ones had this many parts of it */
};

struct cio_board {
    int64_t members, words; /* words of each member's set */
    int64_t units_at, units_cap, nunits;
    int64_t out_at, out_size;
    int64_t size;           /* of the whole segment */
    struct cio_desc desc[]; /* one per member */
};

/* One member's area, resolved to addresses. */
struct cio_area {
    struct cio_desc *desc;
    struct cio_dir *dir; /* cap.dir + 1 entries: the last one only ends the one before */
    cio_extent *ext;
    int64_t *pos;
    uint64_t *bits;
};

/* The rounds of the file, as all ranks compute them. */
struct cio_rounds {
    struct cio_domains domains;
    int naggr;
    int64_t positions; /* the most that any aggregator has, */
    int64_t slice;     /* rounded up to whole words of bits: aggregator a has bits a * slice ... */
    int64_t units;     /* positions * naggr */
};

void cio_rounds_init(const struct cio_domains *d, int naggr, struct cio_rounds *r);

/* File range of unit t. */
static inline void cio_rounds_range(const struct cio_rounds *r, int64_t t, int64_t *off,
                                    int64_t *len)
{
    int aggr = (int)(t % r->naggr);
    int64_t pos = t / r->naggr;

    *off = *len = 0;
    if (pos < cio_domains_positions(&r->domains, aggr))
        cio_domains_range(&r->domains, aggr, pos, off, len);
}

static inline size_t cio_rounds_words(const struct cio_rounds *r)
{
    return (size_t)(r->slice / 64) * (size_t)r->naggr;
}

/* What a request needs in all, and what of it fits into `limit` bytes. */
void cio_room_needed(const struct cio_request *req, const struct cio_rounds *r, struct cio_room *room);
void cio_room_limit(struct cio_room *room, int64_t unit, int64_t limit);

/* Size of one area; of a board with k members whose rooms are given. */
int64_t cio_area_size(const struct cio_room *cap, int64_t words);
int64_t cio_board_size(const struct cio_room *cap, int k, const struct cio_rounds *r);

/* Lays a board out in memory at `base`, of cio_board_size bytes. */
void cio_board_init(void *base, const struct cio_room *cap, int k, const struct cio_rounds *r);

void cio_area_at(struct cio_board *board, int member, struct cio_area *area);
/* An area by itself: `desc` and memory of cio_area_size bytes. */
void cio_area_alone(struct cio_desc *desc, void *base, struct cio_area *area);

static inline struct cio_unit *cio_board_units(struct cio_board *board)
{
    return (struct cio_unit *)((char *)board + board->units_at);
}

/* Marks in area->bits every position that the request touches. */
void cio_area_mark(const struct cio_area *area, const struct cio_request *req,
                   const struct cio_rounds *r);

/* Describes the pieces from `from` on, as many as fit; returns the place that was reached. */
struct cio_place cio_area_describe(const struct cio_area *area, const struct cio_request *req,
                                   const struct cio_rounds *r, struct cio_place from);

/* Forgets what lies at `end` or behind it; a piece across it is cut. */
void cio_area_truncate(const struct cio_area *area, struct cio_place end);

/* Bytes described. */
int64_t cio_area_bytes(const struct cio_area *area);

/* Truncates all areas at `end` and lists the units that they touch. */
void cio_board_list(struct cio_board *board, const struct cio_rounds *r, struct cio_place end);

/* Merges the units u with u mod members == member: segments are coded, pieces get positions. */
void cio_board_merge(struct cio_board *board, const struct cio_rounds *r, int member,
                     struct cio_alloc alloc);

/*
 * Copies the bytes of an area between the units' data and memory: that of the member's request, or
 * (stream != NULL) a plain buffer that holds just the window's bytes in the order of the area.
 */
void cio_board_copy(struct cio_board *board, const struct cio_area *area,
                    const struct cio_request *req, char *stream, int write);

/* The same without a board: between the member's memory and a plain buffer. */
void cio_area_stream(const struct cio_area *area, const struct cio_request *req, char *stream,
                     int write);

#endif
