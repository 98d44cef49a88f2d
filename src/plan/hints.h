/*
 * The one table of hints: name, default, range, help and field of every hint that tamio adds to
 * ROMIO's own. Parsing, printing, documentation (doc/hints.md) and tests come from it.
 *
 * Errors are 0 or a negative errno. Nothing here allocates.
 */
#ifndef CIO_PLAN_HINTS_H
#define CIO_PLAN_HINTS_H

#include <stddef.h>
#include <stdint.h>

/* Room for any value, the final zero included; what MPICH allows in an MPI_Info. */
#define CIO_HINT_VALUE_MAX 1024

/* Room for any number as text. */
#define CIO_HINT_NUMBER_MAX 24

enum cio_switch { CIO_AUTOMATIC, CIO_ENABLE, CIO_DISABLE };
enum cio_transport { CIO_TRANSPORT_AUTO, CIO_TRANSPORT_SHM, CIO_TRANSPORT_P2P };
enum cio_domain_hint {
    CIO_DOMAIN_HINT_AUTO,
    CIO_DOMAIN_HINT_EVEN,
    CIO_DOMAIN_HINT_ALIGNED,
    CIO_DOMAIN_HINT_CYCLIC,
    CIO_DOMAIN_HINT_GROUP_CYCLIC
};
enum cio_io { CIO_IO_AUTO, CIO_IO_BLOCKING, CIO_IO_THREAD, CIO_IO_URING };
enum cio_schedule {
    CIO_SCHEDULE_OFFSET,
    CIO_SCHEDULE_AUTOMATIC,
    CIO_SCHEDULE_MDF,
    CIO_SCHEDULE_LW_MDF,
    CIO_SCHEDULE_GW_MDF,
    CIO_SCHEDULE_FIRST_FINISH
};

/* The word of the hint for an order. */
const char *cio_schedule_name(enum cio_schedule schedule);

enum cio_placement { CIO_PLACEMENT_SPREAD, CIO_PLACEMENT_ROMIO, CIO_PLACEMENT_COST };
enum cio_persistency { CIO_PERSISTENCY_NONE, CIO_PERSISTENCY_JOB };
enum cio_visibility { CIO_VISIBILITY_AUTO, CIO_VISIBILITY_SYNC, CIO_VISIBILITY_IMMEDIATE };

/* Effective values. A number of 0 stands for the word in the hint's table row (auto, stripe). */
struct cio_hints {
    int64_t tam;
    int64_t aggrs_per_node;
    int64_t transport;
    int64_t memory_limit;
    int64_t domain;
    int64_t pipeline;
    int64_t pipeline_unit;
    int64_t pipeline_depth;
    int64_t pipeline_io;
    int64_t schedule;
    int64_t early_return;
    int64_t placement;
    int64_t persistency;
    int64_t overstriping;
    int64_t group_lock;
    int64_t tcio;
    int64_t tcio_segment_size;
    int64_t tcio_segments;
    int64_t tcio_visibility;
    char stats[CIO_HINT_VALUE_MAX];
    char topology[CIO_HINT_VALUE_MAX];
    char tier[CIO_HINT_VALUE_MAX];
};

enum cio_hint_kind {
    CIO_HINT_CHOICE, /* one of the words */
    CIO_HINT_NUMBER, /* min..max, or the first word, which stands for 0 */
    CIO_HINT_TEXT    /* one of the words, or `prefix` and a path (a bare path if prefix is "") */
};

struct cio_hint {
    const char *name;
    enum cio_hint_kind kind;
    size_t field;         /* offset in struct cio_hints */
    const char *words[7]; /* ends with NULL */
    const char *initial;  /* default; NULL means unset */
    const char *inert;    /* what it reports while it has no effect; NULL once it has one */
    int64_t min, max;     /* CIO_HINT_NUMBER */
    int power;            /* of two, and nothing else */
    const char *prefix;   /* CIO_HINT_TEXT */
    const char *help;
};

/* The table and its length. */
const struct cio_hint *cio_hint_table(size_t *n);

/* Sets every field to its default. */
void cio_hints_init(struct cio_hints *h);

/*
 * Parses `value` for `hint`. -EINVAL leaves the field as it was; `why` (of CIO_HINT_VALUE_MAX
 * bytes) then says what was wrong and what is allowed. Numbers take the suffixes K, M and G
 * (powers of 1024). A hint without effect yet is checked, and keeps its inert value.
 */
int cio_hint_parse(const struct cio_hint *hint, const char *value, struct cio_hints *h, char *why);

/*
 * The effective value as text; NULL if unset. It lies in the table, in `h`, or, a number, in `room`
 * (CIO_HINT_NUMBER_MAX bytes).
 */
const char *cio_hint_text(const struct cio_hint *hint, const struct cio_hints *h, char *room);

/* A digest of all effective values: two ranks whose digests differ have different hints. */
uint64_t cio_hints_digest(const struct cio_hints *h);

#endif
