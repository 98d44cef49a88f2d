/*
 * A striped file system that is as slow as it is told to be, on any machine: so that overlap, and
 * who writes to which OST, can be measured where there is none.
 *
 * The file is striped round-robin over OSTs. What a transfer has in one stripe occupies the
 * stripe's OST for a latency and for its bytes at the OST's bandwidth, first come, first served;
 * and for longer if it writes a stripe that somebody else wrote last, for which Lustre would have
 * to take the lock from the other client. What lies on different OSTs goes on at the same time.
 * Nothing is transferred here: the caller is made to wait until the model says that it would be
 * done.
 *
 * The state is a file that all processes map, so that they share the OSTs. Whoever comes first
 * makes it; nobody removes it. It knows one file: several that share a state share its OSTs
 * rightly, but stripes of the same number count as one. So do stripes CIO_THROTTLE_STRIPES apart.
 *
 * All functions may be called from several threads at once. Errors are 0 or a negative errno.
 */
#ifndef CIO_PORT_THROTTLE_H
#define CIO_PORT_THROTTLE_H

#include <stddef.h>
#include <stdint.h>

#define CIO_THROTTLE_STRIPES (1 << 20)

struct cio_throttle;

struct cio_throttle_spec {
    int64_t osts;      /* 1 to 65536 (1) */
    int64_t stripe;    /* bytes (1 MiB) */
    int64_t bandwidth; /* of an OST, bytes per second; 0: unlimited (0) */
    int64_t latency;   /* of a transfer, nanoseconds (0) */
    int64_t switching; /* of a stripe to another writer, nanoseconds (0) */
    char state[256];   /* path of the file ("") */
};

/* Of all who share the state, since it was made. */
struct cio_throttle_counters {
    int64_t transfers; /* parts of transfers, each in one stripe */
    int64_t bytes;
    int64_t switches; /* writes to a stripe that another writer had written last */
};

/*
 * Reads a list such as `osts=8,stripe=1M,bandwidth=200M,latency=200us,switch=2ms,state=/dev/shm/x`:
 * bytes with K, M or G (of 1024), times with ns, us, ms or s. What is not named has its default.
 * -EINVAL: `error`, of `size` bytes, says what is wrong.
 */
int cio_throttle_parse(const char *text, struct cio_throttle_spec *spec, char *error, size_t size);

/*
 * The state in the file `path`, made if there is none; or, if `spec` is NULL, -ENOENT. -EINVAL if
 * it was made with another spec, or is no such file. Ends with cio_throttle_detach.
 */
int cio_throttle_attach(const char *path, const struct cio_throttle_spec *spec,
                        struct cio_throttle **out);
void cio_throttle_detach(struct cio_throttle *t);

/*
 * Enters a transfer that begins now, and returns when it will be done, for cio_throttle_sleep: so
 * that a real transfer can be made meanwhile, and its time is part of the model's. `writer` is any
 * number of 0 or more that tells those who share the state from each other.
 */
int64_t cio_throttle_enter(struct cio_throttle *t, int writer, int write, int64_t off, int64_t len);
void cio_throttle_sleep(int64_t until);

/* Both. */
void cio_throttle_transfer(struct cio_throttle *t, int writer, int write, int64_t off, int64_t len);

void cio_throttle_counters(const struct cio_throttle *t, struct cio_throttle_counters *counters);

#endif
