/*
 * A group's board: what its members describe of their pieces, window by window, and the messages
 * that are made of it.
 *
 * It lies in shared memory, or in the leader's own where there is none. Its room is laid out for
 * the most that a window may take, but only what is used gets backed by memory. Offsets are
 * relative to the base, which differs from rank to rank.
 *
 *   board | area of member 0 | ... | area of member k-1 | order | units | out
 *   area:  lists, their code, positions of their pieces (if merged), set of positions touched
 *   order: that of every aggregator, where it is not by offset (schedule.c)
 *   out:   for each unit: head, parts, coded lists, data
 *
 * Leader and members talk through two counters: `told` counts the leader's words to all, `arrived`
 * the answers. Whoever waits sleeps on its counter, and after a while inside MPI, where others can
 * reach it for what has nothing to do with this call: then `inside` asks for a message. Where
 * members may return from a read one by one, each of them sleeps on a word of its own in the end,
 * `landed`. So does one that may return and has nothing to do with the windows that follow: it
 * hears none of the words, and the leader answers for it; `settled` is what it has missed.
 */
#ifndef CIO_EXEC_BOARD_H
#define CIO_EXEC_BOARD_H

#include "exec/rounds.h"
#include "exec/wire.h"
#include "plan/extent.h"
#include "port/comm.h"
#include "port/nodemem.h"

/* Pieces of one member in one unit, in rising order; several lists of one unit follow each other.
 */
struct cio_list {
    int64_t t;
    int64_t meta, coded; /* its code: where in the member's, and how many bytes */
    int64_t pieces, bytes;
    int64_t first;   /* index of its first piece among the member's */
    int64_t stream;  /* where its bytes begin in the member's request: they are consecutive */
    int64_t to_meta; /* where its code goes (not merged), */
    int64_t to_data; /* and its data; merged: where the unit's data begins */
};

/* A region of the board, and how much of it is backed. */
struct cio_region {
    int64_t at, size, backed;
};

struct cio_desc {
    struct cio_region lists, meta, pos, bits;
    int64_t nlists, coded, pieces; /* what there is */
    struct cio_ctl up;             /* the member's last answer */
    uint32_t landed;               /* enum cio_landed, after FOLLOW or when it is through */
    uint32_t inside;               /* it sleeps inside MPI until a message comes */
    struct cio_reduction words;    /* its part of a reduction */
} __attribute__((aligned(64)));

/*
 * What a member waits for by itself: in a read, its bytes, which it takes as soon as it has all of
 * them; or, when it is through before the last window, the outcome.
 */
enum cio_landed {
    CIO_LANDED_NOT, /* they are not all on the board yet */
    CIO_LANDED_ALL,
    CIO_LANDED_SOME,   /* nothing more will come, but something failed */
    CIO_LANDED_OUTCOME /* it is the leader's last word */
};

/* What a unit of the window became. */
struct cio_unit {
    int64_t t;
    int64_t lists, pieces; /* of the members, */
    int64_t bytes;
    int64_t parts, parts_cap; /* and of its messages */
    int64_t segments;
    int64_t at; /* offset of the head; the parts follow */
    int64_t meta, meta_bytes;
    int64_t data, data_bytes;
    int64_t stream; /* a lone member's bytes begin here in its request */
    int32_t error;
    int32_t last;   /* no window after this one has any of it */
    int64_t flying; /* messages that are on their way; only the leader's */
};

/* What was decided about the order in which aggregators serve their positions. */
struct cio_decision {
    int32_t kind;     /* enum cio_schedule, never automatic */
    int32_t why;      /* schedule.c */
    int32_t permuted; /* any aggregator's order is not by offset */
    int32_t known;    /* what follows is: the mean response of ranks, in stripe-times, */
    double offset;    /* by offset, */
    double chosen;    /* and in this order */
};

/* So many aggregators of a node at most read and write the boards of its groups directly. */
#define CIO_NEAR_MAX 64

struct cio_board {
    uint32_t joined __attribute__((aligned(64))); /* ranks that have mapped it */
    uint32_t told __attribute__((aligned(64)));
    uint32_t arrived __attribute__((aligned(64)));
    uint32_t settled;           /* answers up to the outcome */
    uint32_t ninside;           /* ranks that sleep inside MPI */
    uint32_t nnear;             /* aggregators of the node that have mapped it too: */
    int32_t near[CIO_NEAR_MAX]; /* these, counted from 1 */
    struct cio_ctl down __attribute__((aligned(64))); /* the leader's last word */
    struct cio_reduction words;                       /* what a reduction has yielded */
    int64_t members;
    int64_t elsewhere; /* data is sent from and received in the only member's memory */
    int64_t nunits;
    struct cio_decision decision;
    struct cio_region order, units, out;
    int64_t out_used;       /* to where the window reaches in it */
    struct cio_desc desc[]; /* one per member */
};

/* One member's area, resolved to addresses. */
struct cio_area {
    struct cio_desc *desc;
    struct cio_list *list;
    uint8_t *meta;
    int64_t *pos;
    uint64_t *bits;
};

/*
 * A member describes as much in one window as takes `budget` bytes of memory, counting what its
 * leader and it will need for that all along the way.
 */
#define CIO_BUDGET_MIN ((int64_t)4 << 10)
#define CIO_BUDGET_MAX ((int64_t)64 << 20)
#define CIO_PIECE_CHARGE 28 /* position, code, code of the merged piece */
#define CIO_LIST_CHARGE 512 /* the list, its part, its share of a unit's head */

/* Positions beyond this many would cost more to keep track of than they bring. */
#define CIO_MAX_UNITS ((int64_t)1 << 24)

/* Beyond this many, all positions are served by offset. */
#define CIO_MAX_ORDERED ((int64_t)1 << 18)

/* Size of a board for k members, all of whose regions are reserved, none of them backed. */
int64_t cio_board_size(int k, int64_t budget, int naggr);

/* Lays out the board at `base`, which is zeroed memory of that size with its head backed. */
void cio_board_init(struct cio_board *board, int k, int64_t budget, int naggr);
int64_t cio_board_head_size(int k);

/* Bytes of it that are backed. */
int64_t cio_board_backed(const struct cio_board *board);

void cio_area_at(struct cio_board *board, int member, struct cio_area *area);

static inline struct cio_unit *cio_board_units(struct cio_board *board)
{
    return (struct cio_unit *)((char *)board + board->units.at);
}

/* A board in memory of some kind. */
struct cio_board_memory {
    struct cio_node_memory port;
    struct cio_nodemem *mem;
};

/*
 * Reads a byte here and there of [from, to), which is backed: where the kernel maps the pages
 * around a read fault too, writing to each of them later costs no fault of its own.
 */
void cio_board_touch(const void *base, int64_t from, int64_t to);

/* Backs the first `size` bytes of a region: 0, or why they cannot be had. */
int cio_region_back(const struct cio_board_memory *m, struct cio_region *region, int64_t size);

#endif
