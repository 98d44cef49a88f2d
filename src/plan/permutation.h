/*
 * The order of one aggregator's positions (plan/order.h) on its way to those who must follow it,
 * and its inverse. Positions that nobody touches come last and rising, so only what comes before
 * the last rising run is sent, in runs of equal steps: a byte or two for each run.
 */
#ifndef CIO_PLAN_PERMUTATION_H
#define CIO_PLAN_PERMUTATION_H

#include <stddef.h>
#include <stdint.h>

/* Bytes that the code of an order of n positions needs at worst. */
size_t cio_permutation_bound(uint32_t n);

/* Encode into buf, which holds cio_permutation_bound(n) bytes. Returns the bytes used. */
size_t cio_permutation_encode(const uint32_t *order, uint32_t n, void *buf);

/*
 * order[i] becomes the position that is served as number i, index[order[i]] becomes i; both hold n
 * entries. -EBADMSG if the code is malformed or not an order of n positions; both are then
 * undefined. Safe on any bytes.
 */
int cio_permutation_decode(const void *buf, size_t size, uint32_t n, uint32_t *order,
                           uint32_t *index);

#endif
