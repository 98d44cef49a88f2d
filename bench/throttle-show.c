/*
 * Prints what a throttle has counted:
 *
 *   cc -Isrc bench/throttle-show.c src/port/throttle.c -o throttle-show
 *   throttle-show /dev/shm/x
 *   transfers 128 bytes 134217728 switches 0
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "port/throttle.h"

int main(int argc, char **argv)
{
    struct cio_throttle_counters c;
    struct cio_throttle *t;
    int rc;

    if (argc != 2) {
        fprintf(stderr, "usage: throttle-show STATE\n");
        return 1;
    }
    rc = cio_throttle_attach(argv[1], NULL, &t);
    if (rc < 0) {
        fprintf(stderr, "%s: %s\n", argv[1], strerror(-rc));
        return 1;
    }
    cio_throttle_counters(t, &c);
    printf("transfers %" PRId64 " bytes %" PRId64 " switches %" PRId64 "\n", c.transfers, c.bytes,
           c.switches);
    cio_throttle_detach(t);
    return 0;
}
