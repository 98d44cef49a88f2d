/* Random requests for a world, and the oracle: every rank's pieces applied one by one. */
#ifndef CIO_TEST_EXEC_CASES_H
#define CIO_TEST_EXEC_CASES_H

#include "world.h"

/* One case: a world with a file view, memory type and buffer for every rank. */
struct test_case {
    struct world world;
    struct cio_flat **file, **mem; /* per rank; NULL: nothing to do */
    char **buf;                    /* per rank, */
    int64_t *buf_size;             /* of that many bytes, */
    int64_t *buf_base;             /* whose byte 0 of the memory type lies here */
    int64_t span;                  /* all offsets are below this */
    int64_t wrong_at_release;      /* bytes of reads, when ranks returned before the end */
    struct cio_layout layout;      /* which the settings name in every other case */
};

/* `overlap`: ranks may touch the same bytes. */
void case_create(struct test_case *c, uint64_t seed, int overlap);
void case_destroy(struct test_case *c);

/* The byte that rank r writes at a file offset; what was in the file before. */
char case_byte(int rank, int64_t off);
char case_before(int64_t off);

/* Fills the buffers for a write (every byte of a piece is case_byte) or clears them for a read. */
void case_prepare(struct test_case *c, int write);

/* No request has a byte before this offset. */
int64_t case_first(const struct test_case *c);

/* Puts case_before into the store: all of it, or up to an offset. */
void case_fill_store(struct test_case *c);
void case_fill_until(struct test_case *c, int64_t end);

/* Number of wrong bytes in the file after a write; in the buffers after a read of the file. */
int64_t case_wrong_file(struct test_case *c);
int64_t case_wrong_buffers(struct test_case *c);

/* Ranks with anything to do that returned before the end of the last run. */
int case_released(const struct test_case *c);

/* One line that tells the case. */
void case_print(const struct test_case *c, const char *what, uint64_t seed);

#endif
