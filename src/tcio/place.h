/*
 * Where a byte of the file lies in level 2: equations (1) to (3) of the TCIO paper.
 *
 *   offset / size   =  0   1   2   3   4   5 ...     a segment's number in the file
 *   rank            =  0   1   2   0   1   2         with 3 processes
 *   id              =  0   0   0   1   1   1         which one it is of that rank's
 */
#ifndef CIO_TCIO_PLACE_H
#define CIO_TCIO_PLACE_H

#include <stdint.h>

struct cio_place {
    int64_t number; /* of the segment in the file */
    int rank;       /* whose it is: equation 1, */
    int64_t id;     /* and which one of its own: equation 2 */
    int64_t within; /* distance from its beginning: equation 3 */
};

static inline struct cio_place cio_place_of(int64_t off, int64_t segment_size, int ranks)
{
    int64_t number = off / segment_size;

    return (struct cio_place){.number = number,
                              .rank = (int)(number % ranks),
                              .id = number / ranks,
                              .within = off % segment_size};
}

#endif
