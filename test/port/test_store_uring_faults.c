/* io_uring that fails, at every call: nothing waits for ever, no byte and no error is lost. */
#include "../plan/check.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>

#include "batches.h"

#ifndef SYS_io_uring_setup

int main(void)
{
    printf("no io_uring here\n");
    return 77;
}

#else

enum { PIECES = 50, LEN = 300, TRANSIENT = 5, EVER = 1 << 30 };

/* What the kernel is made to do. Calls of enter from `from` to before `until` give `error`. */
struct fault {
    int setup, map; /* an errno, or how many maps succeed before one does not; 0, -1: never */
    int from, until, error;
    int at_once;                /* requests taken by one call; 0: all */
    int most;                   /* bytes that a result may tell of; 0: all */
    int spoil, spoilt, spoiled; /* results that are to be, which is what, and how many have been */
    int maps, enters, cancelled;
};

static int fault_setup(void *self, unsigned entries, void *params)
{
    const struct fault *f = self;
    int rc = f->setup != 0 ? f->setup : (int)syscall(SYS_io_uring_setup, entries, params);

    return rc == -1 && f->setup == 0 ? -errno : rc;
}

static int fault_enter(void *self, int ring, unsigned submit)
{
    struct fault *f = self;
    int call = f->enters++, rc;

    if (call >= f->from && call < f->until)
        return f->error;
    if (f->at_once > 0 && submit > (unsigned)f->at_once)
        submit = (unsigned)f->at_once;
    rc = (int)syscall(SYS_io_uring_enter, ring, submit, 0, 0, NULL, 0);
    return rc < 0 ? -errno : rc;
}

static void *fault_map(void *self, int ring, size_t len, int64_t off)
{
    struct fault *f = self;
    void *p;

    if (f->maps++ == f->map) {
        errno = ENOMEM;
        return NULL;
    }
    p = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, ring, off);
    return p == MAP_FAILED ? NULL : p;
}

static int fault_result(void *self, int result)
{
    struct fault *f = self;

    f->cancelled += result == -ECANCELED;
    if (f->spoiled < f->spoil) {
        f->spoiled++;
        return f->spoilt;
    }
    return f->most > 0 && result > f->most ? f->most : result;
}

static const struct fault sound = {.map = -1};

static int create(int fd, int entries, struct fault *f, struct cio_store **s)
{
    struct cio_uring_calls calls = {fault_setup, fault_enter, fault_map, fault_result, f};
    struct cio_uring_limits limits = {entries, 1 << 30, &calls};

    return cio_store_uring_create_limited(fd, &limits, s);
}

static int descriptors(void)
{
    DIR *dir = opendir("/proc/self/fd");
    int n = 0;

    for (struct dirent *d; dir != NULL && (d = readdir(dir)) != NULL;)
        n += d->d_name[0] != '.';
    if (dir != NULL)
        closedir(dir);
    return n;
}

/* Mapped rings. */
static int maps(void)
{
    FILE *f = fopen("/proc/self/maps", "r");
    char line[512];
    int n = 0;

    while (f != NULL && fgets(line, sizeof(line), f) != NULL)
        n += strstr(line, "io_uring") != NULL;
    if (f != NULL)
        fclose(f);
    return n;
}

static int64_t now_ms(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static void nap(void)
{
    nanosleep(&(struct timespec){0, 1000000}, NULL);
}

/* ---- creation ---- */

static void fails_to_create(struct fault f, int want)
{
    int fd = temporary_file(), before = descriptors();
    struct cio_store *s = NULL;
    int64_t start = now_ms();

    CHECK(create(fd, 8, &f, &s) == want && s == NULL);
    CHECK(descriptors() == before && maps() == 0 && now_ms() - start < 10000);
    close(fd);
}

static void test_creation(void)
{
    static const int lasting[] = {-EPERM, -EBADF, -EAGAIN, -EBUSY, -ENOMEM, -EINTR};

    fails_to_create((struct fault){.setup = -EPERM, .map = -1}, -EPERM);
    fails_to_create((struct fault){.setup = -ENOMEM, .map = -1}, -ENOMEM);
    fails_to_create((struct fault){.map = 0}, -ENOMEM);
    fails_to_create((struct fault){.map = 1}, -ENOMEM);
    for (int i = 0; i < 6; i++)
        fails_to_create((struct fault){.map = -1, .until = EVER, .error = lasting[i]}, lasting[i]);
    fails_to_create((struct fault){.map = -1, .until = EVER}, -EIO);
    fails_to_create((struct fault){.map = -1, .spoil = EVER, .spoilt = -EINVAL}, -EINVAL);
}

/* ---- transfers ---- */

static char bytes[PIECES * LEN], got[PIECES * LEN];

static void make_pieces(struct cio_piece *piece, char *buf)
{
    for (int i = 0; i < PIECES; i++)
        piece[i] = (struct cio_piece){buf + i * LEN, LEN, 2 * i * LEN};
}

static void end_batch(struct cio_store *s, struct cio_batch *b, int poll)
{
    while (poll && !cio_store_test(s, b))
        nap();
    cio_store_wait(s, b);
}

/* Two batches under way at once, and then what they have written is read. */
static void transfer(struct cio_store *s, int poll)
{
    struct cio_piece piece[PIECES], back[PIECES];
    struct cio_batch b[2] = {{.write = 1, .piece = piece, .n = PIECES / 2},
                             {.write = 1, .piece = piece + PIECES / 2, .n = PIECES / 2}};

    memset(got, 0, sizeof(got));
    make_pieces(piece, bytes);
    make_pieces(back, got);
    cio_store_start(s, &b[0]);
    cio_store_start(s, &b[1]);
    end_batch(s, &b[1], poll);
    end_batch(s, &b[0], poll);
    CHECK(b[0].error == 0 && b[1].error == 0);
    CHECK(run_batch(s, 0, back, PIECES) == 0);
    CHECK(memcmp(got, bytes, sizeof(bytes)) == 0);
}

/* The fault is there once the store is. Returns how often the kernel was called after it. */
static int survives(struct fault f, int entries, int poll)
{
    int fd = temporary_file(), before;
    struct fault live = sound;
    struct cio_store *s;
    int64_t start = now_ms();

    CHECK(create(fd, entries, &live, &s) == 0);
    f.from += live.enters;
    f.until += f.until < EVER ? live.enters : 0;
    f.enters = live.enters;
    live = f;
    transfer(s, poll);
    before = live.enters;
    transfer(s, poll);
    CHECK(now_ms() - start < 10000);
    cio_store_destroy(s);
    close(fd);
    return live.enters - before;
}

/* For a while: the ring stays in use. For good: it is not asked any more. From any call on. */
static void test_enter(void)
{
    static const int passing[] = {-EINTR, -EAGAIN, -EBUSY, -ENOMEM, 0};
    static const int lasting[] = {-EINTR, -EAGAIN, -EBUSY, -ENOMEM, 0, -EBADF, -EPERM, -EINVAL};

    for (int entries = 4; entries <= 64; entries *= 16) {
        for (int poll = 0; poll < 2; poll++) {
            for (int i = 0; i < 5; i++)
                CHECK(survives((struct fault){.map = -1, .until = TRANSIENT, .error = passing[i]},
                               entries, poll) > 0);
            for (int i = 0; i < 8; i++)
                for (int from = 1; from < 3; from++)
                    survives(
                        (struct fault){.map = -1, .from = from, .until = EVER, .error = lasting[i]},
                        entries, poll);
            for (int i = 0; i < 8; i++)
                CHECK(survives((struct fault){.map = -1, .until = EVER, .error = lasting[i]},
                               entries, poll) == 0);
            CHECK(survives((struct fault){.map = -1, .at_once = 1}, entries, poll) > 0);
        }
    }
}

/* Requests that come back undone, or done in part. */
static void test_results(void)
{
    static const int undone[] = {-EINTR, -EAGAIN, -ECANCELED};

    for (int entries = 4; entries <= 64; entries *= 16) {
        for (int i = 0; i < 3; i++) {
            survives((struct fault){.map = -1, .spoil = 70, .spoilt = undone[i]}, entries, i % 2);
            survives((struct fault){.map = -1, .spoil = EVER, .spoilt = undone[i]}, entries, i % 2);
        }
        survives((struct fault){.map = -1, .most = 7}, entries, 0);
        survives((struct fault){.map = -1, .most = 50}, entries, 1);
    }
}

/* An error is its batch's, also if the calling thread comes upon it; the next one is none. */
static void test_errors(void)
{
    static const int errors[] = {-ENOSPC, -EIO, -EDQUOT};
    struct cio_piece piece[PIECES];
    char name[64];
    int fd = temporary_file(), other;
    struct fault f = sound;
    struct cio_store *s;

    make_pieces(piece, bytes);
    CHECK(create(fd, 8, &f, &s) == 0);
    for (int i = 0; i < 3; i++) {
        f.spoil = 1;
        f.spoiled = 0;
        f.spoilt = errors[i];
        CHECK(run_batch(s, 1, piece, PIECES) == errors[i]);
        CHECK(run_batch(s, 1, piece, PIECES) == 0);
    }
    f.spoiled = 0;
    f.spoilt = 0;
    CHECK(run_batch(s, 1, piece, PIECES) == -EIO);
    cio_store_destroy(s);
    snprintf(name, sizeof(name), "/proc/self/fd/%d", fd);
    other = open(name, O_RDONLY);
    f = sound;
    CHECK(create(other, 8, &f, &s) == 0);
    f.until = EVER;
    f.error = -EPERM;
    CHECK(run_batch(s, 1, piece, PIECES) == -EBADF);
    CHECK(run_batch(s, 1, piece, PIECES) == -EBADF);
    CHECK(run_batch(s, 0, piece, PIECES) == 0);
    cio_store_destroy(s);
    close(other);
    close(fd);
}

/*
 * What the kernel has is waited for, when it takes no more. What would not be otherwise the next
 * time is not tried again. By hand, a pipe has no offsets.
 */
static void test_under_way(int error, int lasting)
{
    char first[4] = {0}, second[4];
    struct cio_piece a = {first, 4, 0}, b = {second, 4, 0};
    struct cio_batch has = {.piece = &a, .n = 1}, refused = {.piece = &b, .n = 1};
    struct fault f = sound;
    struct cio_store *s = NULL;
    int ends[2], before;

    CHECK(pipe(ends) == 0 && create(ends[0], 8, &f, &s) == 0);
    cio_store_start(s, &has);
    CHECK(maps() > 0);
    before = f.enters;
    f.from = 0;
    f.until = EVER;
    f.error = error;
    cio_store_start(s, &refused);
    cio_store_wait(s, &refused);
    CHECK(lasting ? f.enters == before + 1 : f.enters > before + 1);
    CHECK(refused.error == -ESPIPE);
    CHECK(cio_store_test(s, &has) == 0);
    CHECK(write(ends[1], "abcd", 4) == 4);
    cio_store_wait(s, &has);
    CHECK(has.error == 0 && memcmp(first, "abcd", 4) == 0);
    cio_store_destroy(s);
    close(ends[0]);
    close(ends[1]);
}

struct starter {
    struct cio_store *s;
    struct cio_batch *b;
};

static void *start_it(void *arg)
{
    const struct starter *st = arg;

    cio_store_start(st->s, st->b);
    return NULL;
}

/* A thread starts a batch and is gone before it is done: some kernels cancel it. */
static void test_exited_thread(void)
{
    char first[4] = {0};
    struct cio_piece a = {first, 4, 0};
    struct cio_batch b = {.piece = &a, .n = 1};
    struct fault f = sound;
    struct starter st = {.b = &b};
    pthread_t thread;
    int ends[2];

    CHECK(pipe(ends) == 0 && create(ends[0], 8, &f, &st.s) == 0);
    CHECK(pthread_create(&thread, NULL, start_it, &st) == 0 && pthread_join(thread, NULL) == 0);
    for (int i = 0; i < 50; i++) {
        CHECK(cio_store_test(st.s, &b) == 0);
        nap();
    }
    CHECK(write(ends[1], "abcd", 4) == 4);
    cio_store_wait(st.s, &b);
    CHECK(b.error == 0 && memcmp(first, "abcd", 4) == 0);
    printf("a thread's exit cancelled %d requests\n", f.cancelled);
    cio_store_destroy(st.s);
    close(ends[0]);
    close(ends[1]);
}

/* The ring's descriptor is gone, as in a program that closes all it does not know. */
static void test_closed(void)
{
    int fd = temporary_file(), ring = dup(fd);
    struct fault f = sound;
    struct cio_store *s;

    close(ring); /* the number that the ring will have */
    CHECK(create(fd, 8, &f, &s) == 0);
    transfer(s, 0);
    close(ring);
    transfer(s, 0);
    transfer(s, 1);
    cio_store_destroy(s);
    close(fd);
}

int main(void)
{
    uint64_t rng = check_seed();
    int fd = temporary_file(), rc;
    struct fault f = sound;
    struct cio_store *s;

    alarm(240);
    rc = create(fd, 8, &f, &s);
    close(fd);
    if (rc == -ENOSYS || rc == -EPERM) {
        printf("no io_uring here: error %d\n", rc);
        return 77;
    }
    CHECK(rc == 0);
    cio_store_destroy(s);
    for (size_t i = 0; i < sizeof(bytes); i++)
        bytes[i] = (char)check_between(&rng, 1, 255);
    test_creation();
    test_enter();
    test_results();
    test_errors();
    test_under_way(-EPERM, 1);
    test_under_way(-EAGAIN, 0);
    test_exited_thread();
    test_closed();
    return check_done("test_store_uring_faults");
}

#endif
