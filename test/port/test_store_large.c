/* Pieces larger than any one request may be, and than what its length can tell. */
#include "../plan/check.h"

#include <fcntl.h>
#include <sys/mman.h>

#include "batches.h"

/* /dev/null takes it all, and reads none of it: what is mapped need not be there. */
static void test_kind(enum cio_store_kind kind)
{
    int64_t len = ((int64_t)5 << 30) + 5;
    int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, fd = open("/dev/null", O_WRONLY);
    char *space = mmap(NULL, (size_t)len, PROT_READ, flags, -1, 0);
    struct cio_piece piece[] = {{space, len, 0}, {space, len, len}};
    struct cio_store *s;

    CHECK(space != MAP_FAILED);
    CHECK(cio_store_open(fd, kind, &s) == 0);
    CHECK(run_batch(s, 1, piece, 2) == 0);
    cio_store_destroy(s);
    munmap(space, (size_t)len);
    close(fd);
}

int main(void)
{
    test_kind(CIO_STORE_BLOCKING);
    test_kind(CIO_STORE_THREAD);
    test_kind(CIO_STORE_URING);
    return check_done("test_store_large");
}
