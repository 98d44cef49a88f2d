/* The order in which aggregators serve their positions, agreed on before an operation begins. */
#ifndef CIO_EXEC_SCHEDULE_H
#define CIO_EXEC_SCHEDULE_H

#include "exec/internal.h"

/* Why an order was chosen. */
enum cio_why {
    CIO_WHY_ASKED,
    CIO_WHY_BEST,
    CIO_WHY_FEW,
    CIO_WHY_MANY,
    CIO_WHY_LATE,
    CIO_WHY_SOON,
    CIO_WHY_COST,
    CIO_WHY_NO_GAIN,
    CIO_WHY_MEMORY,
    CIO_WHYS
};

/* What is known of it from the reduction, the same on every rank. */
struct cio_prospect {
    int64_t touches;   /* pairs of a rank and a position it touches, about */
    int64_t stripe_ns; /* what a position took in earlier operations; 0: not known */
    int64_t charge;    /* what any rank's request takes of its budget for a window, at most */
};

/* What must be there before the ranks agree to begin: 0 or -ENOMEM. By offset needs nothing. */
int cio_schedule_create(struct cio_op *op);
void cio_schedule_finish(struct cio_op *op);

/* How many positions this rank touches, about, within so many bytes of the file. */
int64_t cio_schedule_touches(const struct cio_op *op, int64_t span);

/* Whether an order is to be found, which progress does: 1 when it has. The same on every rank. */
int cio_schedule_begin(struct cio_op *op, const struct cio_prospect *p);
int cio_schedule_progress(struct cio_op *op);
void cio_schedule_needs(struct cio_op *op, struct cio_needs *needs);

#endif
