/*
 * How a file lies on its storage targets: a sequence of components, each striped in its own way.
 *
 * A plain file has one component, from 0 to the end of any file; a progressive one (Lustre's PFL)
 * has several, one after the other. Stripe s of a component is the bytes [s * stripe, s * stripe +
 * stripe) of the file, counted from the file's beginning, not the component's, and is object
 * s mod count. An overstriped component has several objects on each target: object i lies on target
 * i mod targets.
 *
 * The struct is plain data of fixed size: it may be copied, compared and sent as it is, if it was
 * made by the functions here, which leave no byte undefined.
 */
#ifndef CIO_PLAN_LAYOUT_H
#define CIO_PLAN_LAYOUT_H

#include <stddef.h>
#include <stdint.h>

#define CIO_LAYOUT_COMPONENTS 32
#define CIO_LAYOUT_EOF INT64_MAX
#define CIO_LAYOUT_STRIPE_MAX ((int64_t)1 << 40)
#define CIO_LAYOUT_COUNT_MAX (1 << 16)

/* Room for a layout as text. */
#define CIO_LAYOUT_TEXT_MAX 1024

enum cio_layout_source { CIO_LAYOUT_NONE, CIO_LAYOUT_HINTS, CIO_LAYOUT_LUSTRE };

struct cio_component {
    int64_t start, end; /* bytes of the file; CIO_LAYOUT_EOF: without end */
    int64_t stripe;     /* bytes */
    int32_t count;      /* stripes in a cycle, which is objects; 0: unknown */
    int32_t targets;    /* that they lie on, count or fewer; 0 if and only if count is 0 */
};

struct cio_layout {
    int32_t source;   /* enum cio_layout_source */
    int32_t n;        /* components; 0: nothing is known */
    uint64_t pending; /* bit i: component i has no objects yet, and its numbers are expected ones */
    struct cio_component component[CIO_LAYOUT_COMPONENTS];
};

/* Nothing known. */
void cio_layout_init(struct cio_layout *l);

/*
 * Appends a component. NULL, or why it cannot be: too many, a gap, an overlap, a size or a number
 * out of bounds. The layout is then as it was.
 */
const char *cio_layout_add(struct cio_layout *l, const struct cio_component *c);

/*
 * What a component without objects will have: objects and targets, from what was asked for and the
 * number of targets of the file system. Numbers out of bounds become 0: unknown.
 */
struct cio_expected {
    int64_t count;   /* objects, or 0: */
    int64_t each;    /* so many on every target */
    int share;       /* several may lie on one target */
    int64_t targets; /* of the file system; 0: unknown */
};
void cio_layout_expect(const struct cio_expected *e, struct cio_component *c);

/* Whether a component that bytes of [lo, hi) lie in has no objects yet. */
int cio_layout_is_pending(const struct cio_layout *l, int64_t lo, int64_t hi);

/* Whether two layouts are the same, but for what is pending. */
int cio_layout_is_same(const struct cio_layout *a, const struct cio_layout *b);

/* Whether stripes, and components, begin at multiples of so many bytes. n > 0. */
int cio_layout_is_multiple(const struct cio_layout *l, int64_t bytes);

/* NULL if all components would pass cio_layout_add() one after the other; else why not. */
const char *cio_layout_check(const struct cio_layout *l);

/* One component without end, as hints describe it; source NONE if they do not. */
struct cio_hinted_stripes {
    int64_t stripe;  /* bytes; 0 or less: unknown */
    int64_t targets; /* 0 or less: unknown */
    int64_t over;    /* stripes on each target, >= 1 */
};
void cio_layout_from_hints(const struct cio_hinted_stripes *hints, struct cio_layout *l);

/* Index of the component with the byte at off; beyond the last one, the last. O(log n). n > 0. */
int cio_layout_find(const struct cio_layout *l, int64_t off);

/* The last component, in which most of a large file lies; NULL if there is none. */
const struct cio_component *cio_layout_last(const struct cio_layout *l);

/* The largest of the components' stripes, in bytes; the largest number of targets. 0: unknown. */
int64_t cio_layout_stripe(const struct cio_layout *l);
int cio_layout_targets(const struct cio_layout *l);

/* "none", "hints", "lustre". */
const char *cio_layout_source_text(const struct cio_layout *l);

/*
 * Components as "0-4M:1Mx1,4M-eof:4Mx8/4": range, size of a stripe, stripes in a cycle ("?" if
 * unknown), and targets if they are fewer. Ends with ",..." if it does not fit into size bytes.
 */
void cio_layout_text(const struct cio_layout *l, char *out, size_t size);

#endif
