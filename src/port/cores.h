/* The cores that this process may run on. */
#ifndef CIO_PORT_CORES_H
#define CIO_PORT_CORES_H

#include <stdint.h>

/*
 * How many: those of its affinity mask (taskset, a launcher's binding, a cpuset), but no more than
 * a container's quota of time pays for. *set is the same for processes of one machine with the same
 * mask, and hardly ever for others. Where masks are not known, all that are online, and 0.
 */
int64_t cio_cores(uint64_t *set);

#endif
