/* What goes wrong is the error of its batch and of no other; short and interrupted calls are not.
 */
#include "../plan/check.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/wait.h>

#include "batches.h"

enum { PIECES = 200, LEN = 64 };

static char bytes[PIECES * LEN];

static void make_pieces(struct cio_piece *piece)
{
    for (int i = 0; i < PIECES; i++)
        piece[i] = (struct cio_piece){bytes + i * LEN, LEN, i * LEN};
}

/* The store under test, which takes the other: 0 blocking, else so many threads. */
static struct cio_store *over(struct cio_store *below, int threads)
{
    struct cio_store *s = below;

    if (threads > 0)
        CHECK(cio_store_thread_create(below, threads, &s) == 0);
    return s;
}

/* A batch of which one piece fails, with one before and one after it. */
static void test_fault(int threads, int write)
{
    struct cio_fault fault = {.write_at = PIECES + 90, .read_at = PIECES + 90, .error = -ENOSPC};
    struct cio_piece piece[PIECES];
    struct cio_store *memory, *faulty, *s;
    int64_t *calls = write ? &fault.writes : &fault.reads;

    make_pieces(piece);
    CHECK(cio_store_memory_create(&memory) == 0);
    CHECK(cio_store_faulty_create(memory, &fault, &faulty) == 0);
    s = over(faulty, threads);
    CHECK(run_batch(s, write, piece, PIECES) == 0 && *calls == PIECES);
    CHECK(run_batch(s, write, piece, PIECES) == -ENOSPC);
    CHECK(*calls > PIECES + 90 && *calls <= 2 * PIECES);
    *calls = 0;
    CHECK(run_batch(s, write, piece, PIECES) == 0 && *calls == PIECES);
    cio_store_destroy(s);
    cio_store_destroy(memory);
}

/* Many batches, all of which fail: none is forgotten. */
static void test_all_fail(int threads)
{
    struct cio_fault fault = {.write_at = 0, .read_at = -1, .error = -EDQUOT, .sticky = 1};
    struct cio_piece piece[PIECES];
    struct cio_batch batch[50];
    struct cio_store *memory, *faulty, *s;

    make_pieces(piece);
    CHECK(cio_store_memory_create(&memory) == 0);
    CHECK(cio_store_faulty_create(memory, &fault, &faulty) == 0);
    s = over(faulty, threads);
    for (int i = 0; i < 50; i++) {
        batch[i] = (struct cio_batch){.write = 1, .piece = piece, .n = PIECES};
        cio_store_start(s, &batch[i]);
    }
    for (int i = 49; i >= 0; i--) {
        cio_store_wait(s, &batch[i]);
        CHECK(batch[i].error == -EDQUOT);
    }
    CHECK(cio_store_memory_size(memory) == 0);
    cio_store_destroy(s);
    cio_store_destroy(memory);
}

/* System calls that do half of what they are asked, or are interrupted. */
struct shy {
    int fd;
    int calls;
};

static int64_t shy_pwrite(void *self, const void *buf, size_t len, int64_t off)
{
    struct shy *shy = self;

    errno = EINTR;
    return __atomic_fetch_add(&shy->calls, 1, __ATOMIC_RELAXED) % 3 == 0
               ? -1
               : pwrite(shy->fd, buf, (len + 1) / 2, off);
}

static void test_short(int threads)
{
    struct shy shy = {temporary_file(), 0};
    struct cio_posix_calls calls = {shy_pwrite, NULL, &shy.fd};
    struct cio_piece piece[PIECES];
    struct cio_store *below, *s;
    char got[sizeof(bytes)];

    make_pieces(piece);
    CHECK(cio_store_calls_create(&calls, &below) == 0);
    s = over(below, threads);
    CHECK(run_batch(s, 1, piece, PIECES) == 0);
    CHECK(shy.calls > 3 * PIECES);
    CHECK(cio_store_read(s, got, sizeof(got), 0) == 0);
    CHECK(memcmp(got, bytes, sizeof(got)) == 0);
    cio_store_destroy(s);
    close(shy.fd);
}

/* A descriptor that cannot be written, a bad offset, and the end of the file. */
static void test_file(struct cio_store *(*make)(int fd))
{
    int fd = temporary_file();
    char zeros[LEN] = {0}, got[2 * LEN], name[64];
    struct cio_piece bad = {got, LEN, -1}, end = {got, 2 * LEN, 1000}, nothing = {NULL, 0, 0};
    struct cio_store *s = make(fd);

    if (s == NULL)
        return;
    memset(got, 'x', sizeof(got));
    CHECK(run_batch(s, 0, &bad, 1) == -EINVAL && run_batch(s, 1, &bad, 1) == -EINVAL);
    CHECK(run_batch(s, 1, (struct cio_piece[]){{bytes, LEN, 1000}, nothing}, 2) == 0);
    CHECK(run_batch(s, 0, (struct cio_piece[]){nothing, end, nothing}, 3) == 0);
    CHECK(memcmp(got, bytes, LEN) == 0 && memcmp(got + LEN, zeros, LEN) == 0);
    end.off = (int64_t)1 << 40;
    CHECK(run_batch(s, 0, &end, 1) == 0 && memcmp(got, zeros, LEN) == 0);
    CHECK(run_batch(s, 0, NULL, 0) == 0);
    cio_store_destroy(s);
    snprintf(name, sizeof(name), "/proc/self/fd/%d", fd);
    for (int write = 0; write < 2; write++) {
        int other = open(name, write ? O_WRONLY : O_RDONLY);
        struct cio_piece piece = {bytes, LEN, 0};

        s = make(other);
        CHECK(run_batch(s, write, &piece, 1) == 0);
        CHECK(run_batch(s, !write, &piece, 1) == -EBADF);
        cio_store_destroy(s);
        close(other);
    }
    close(fd);
}

static struct cio_store *make_posix(int fd)
{
    struct cio_store *s = NULL;

    CHECK(cio_store_posix_create(fd, &s) == 0);
    return s;
}

static struct cio_store *make_thread(int fd)
{
    return over(make_posix(fd), 2);
}

static struct cio_store *make_uring(int fd)
{
    struct cio_store *s = NULL;
    int rc = cio_store_uring_create(fd, &s);

    CHECK(rc == 0 || rc == -ENOSYS || rc == -EPERM);
    return s;
}

/* A pipe gives what it has, which is less than what is asked, and in the end nothing. */
static void test_uring_short(void)
{
    char got[sizeof(bytes) + 100], zeros[100] = {0};
    struct cio_piece piece = {got, sizeof(got), 0};
    struct cio_store *s;
    int ends[2];
    pid_t child;

    CHECK(pipe(ends) == 0);
    s = make_uring(ends[0]);
    if (s == NULL)
        return;
    child = fork();
    if (child == 0) {
        for (size_t i = 0; i < sizeof(bytes); i += 100) {
            size_t n = sizeof(bytes) - i < 100 ? sizeof(bytes) - i : 100;

            if (write(ends[1], bytes + i, n) != (ssize_t)n)
                _exit(1);
            usleep(100);
        }
        _exit(0);
    }
    close(ends[1]);
    memset(got, 'x', sizeof(got));
    CHECK(run_batch(s, 0, &piece, 1) == 0);
    CHECK(memcmp(got, bytes, sizeof(bytes)) == 0);
    CHECK(memcmp(got + sizeof(bytes), zeros, sizeof(zeros)) == 0);
    CHECK(waitpid(child, NULL, 0) == child);
    cio_store_destroy(s);
    close(ends[0]);
}

/* A child shares the ring's memory, and must not touch it. */
static void test_uring_fork(void)
{
    int fd = temporary_file(), status;
    struct cio_store *s = make_uring(fd);
    struct cio_piece piece = {bytes, sizeof(bytes), 0};
    pid_t child;

    if (s == NULL)
        return;
    CHECK(run_batch(s, 1, &piece, 1) == 0);
    child = fork();
    if (child == 0) {
        struct cio_batch b = {.write = 1, .piece = &piece, .n = 1};
        int ok;

        cio_store_start(s, &b);
        ok = b.done && b.error == 0;
        cio_store_destroy(s);
        _exit(!ok);
    }
    CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0);
    for (int i = 0; i < 100; i++)
        CHECK(run_batch(s, i % 2, &piece, 1) == 0);
    cio_store_destroy(s);
    close(fd);
}

int main(void)
{
    uint64_t rng = check_seed();

    for (size_t i = 0; i < sizeof(bytes); i++)
        bytes[i] = (char)check_between(&rng, 1, 255);
    for (int threads = 0; threads <= 3; threads++) {
        test_fault(threads, 0);
        test_fault(threads, 1);
        test_all_fail(threads);
        test_short(threads);
    }
    test_file(make_posix);
    test_file(make_thread);
    test_file(make_uring);
    test_uring_short();
    test_uring_fork();
    return check_done("test_store_errors");
}
