/*
 * One number for each rank, of which the largest over all aggregators counts: how many stripes it
 * touches at its busiest aggregator (GW-MDF's least weight is one over it), or when the last
 * aggregator has served it. Aggregators exchange such vectors among themselves, in runs of equal
 * numbers.
 */
#ifndef CIO_PLAN_MAXIMA_H
#define CIO_PLAN_MAXIMA_H

#include <stddef.h>
#include <stdint.h>

/* dst[i] becomes the larger of the two. */
void cio_maxima_combine(uint32_t *dst, const uint32_t *src, int n);

/* Bytes that n numbers need at worst. */
size_t cio_maxima_bound(int n);

/* Encode into buf, which holds cio_maxima_bound(n) bytes. Returns the bytes used. */
size_t cio_maxima_encode(const uint32_t *v, int n, void *buf);

/*
 * cio_maxima_combine() with a coded vector. -EBADMSG if it is malformed or not of n numbers; dst is
 * then as it was. Safe on any bytes.
 */
int cio_maxima_decode_combine(const void *buf, size_t size, int n, uint32_t *dst);

#endif
