/* Several threads in one store, and in stores of one file; batches that pass from one to another.
 */
#include "../plan/check.h"

#include <fcntl.h>
#include <pthread.h>
#include <string.h>
#include <time.h>

#include "batches.h"

enum { THREADS = 4, PART = 8192, PIECES = 5, FLIGHT = 3, ROUNDS = 60, COUNTS = 200, PASSES = 200 };

static void nap(void)
{
    nanosleep(&(struct timespec){0, 200000}, NULL);
}

/* Checks are counted by the main thread only. */
struct worker {
    struct cio_store *s;
    int number, errors;
    uint64_t rng;
    pthread_t thread;
};

static void run_workers(struct cio_store *const *s, int n, void *(*body)(void *), uint64_t *rng)
{
    struct worker w[THREADS];

    for (int i = 0; i < THREADS; i++) {
        w[i] = (struct worker){.s = s[i % n], .number = i, .rng = check_random(rng)};
        CHECK(pthread_create(&w[i].thread, NULL, body, &w[i]) == 0);
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(w[i].thread, NULL);
        CHECK(w[i].errors == 0);
    }
}

/* ---- each thread has a part of the file, and some batches under way ---- */

struct flight {
    struct cio_batch batch;
    struct cio_piece piece[PIECES];
};

static void make_batch(struct flight *f, char *buf, int64_t base, int write, uint64_t *rng)
{
    int64_t len = PART / FLIGHT / PIECES;
    int locked = (int)check_between(rng, 0, 1);

    f->batch = (struct cio_batch){
        .write = write, .locked = write && locked, .piece = f->piece, .n = PIECES};
    for (int i = 0; i < PIECES; i++)
        f->piece[i] = (struct cio_piece){buf + i * len, check_between(rng, 0, len), base + i * len};
}

static void end_batch(struct cio_store *s, struct cio_batch *b, uint64_t *rng)
{
    int polls = (int)check_between(rng, 0, 1);

    while (polls && !cio_store_test(s, b))
        nap();
    cio_store_wait(s, b);
}

static void write_and_read(struct worker *w, char *bytes, char *got)
{
    struct flight f[FLIGHT];
    int64_t base = (int64_t)w->number * PART, step = PART / FLIGHT;

    memset(bytes, (int)check_between(&w->rng, 1, 255), PART);
    for (int write = 1; write >= 0; write--) {
        uint64_t same = w->rng;

        for (int i = 0; i < FLIGHT; i++) {
            make_batch(&f[i], (write ? bytes : got) + i * step, base + i * step, write, &same);
            cio_store_start(w->s, &f[i].batch);
        }
        for (int i = FLIGHT - 1; i >= 0; i--) {
            end_batch(w->s, &f[i].batch, &same);
            w->errors += f[i].batch.error != 0;
        }
    }
    for (int i = 0; i < FLIGHT * PIECES; i++) {
        const struct cio_piece *p = &f[i / PIECES].piece[i % PIECES];

        w->errors += p->len > 0 && memcmp(p->buf, bytes, (size_t)p->len) != 0;
    }
}

static void *own_part(void *arg)
{
    struct worker *w = arg;
    char *bytes = malloc(PART), *got = malloc(PART);

    for (int i = 0; i < ROUNDS; i++) {
        uint64_t next = check_random(&w->rng);

        write_and_read(w, bytes, got);
        w->rng = next;
    }
    free(got);
    free(bytes);
    return NULL;
}

/* ---- all count up one number, in the file ---- */

static void *count_up(void *arg)
{
    struct worker *w = arg;

    for (int i = 0; i < COUNTS; i++) {
        int32_t n;
        struct cio_piece p = {(char *)&n, sizeof(n), 100};

        w->errors += cio_store_lock(w->s, 90, 20 + w->number) != 0;
        w->errors += run_batch(w->s, 0, &p, 1) != 0;
        n++;
        w->errors += run_batch(w->s, 1, &p, 1) != 0;
        cio_store_unlock(w->s, 90, 20 + w->number);
    }
    return NULL;
}

static void check_count_up(struct cio_store *const *s, int n, uint64_t *rng)
{
    int32_t zero = 0, count;

    CHECK(cio_store_write(s[0], &zero, sizeof(zero), 100) == 0);
    run_workers(s, n, count_up, rng);
    CHECK(cio_store_read(s[0], &count, sizeof(count), 100) == 0);
    CHECK(count == THREADS * COUNTS);
}

/* ---- who starts a batch, who tests it, who waits for it ---- */

struct pass {
    struct cio_store *s;
    struct flight f;
    char bytes[PIECES * 8];
    int turn; /* of the thread that does not wait: the batch is to be started, or has been */
    int errors;
    pthread_mutex_t mutex;
    pthread_cond_t turned;
};

static void take_turn(struct pass *p, int from, int to)
{
    pthread_mutex_lock(&p->mutex);
    while (p->turn != from)
        pthread_cond_wait(&p->turned, &p->mutex);
    p->turn = to;
    pthread_cond_broadcast(&p->turned);
    pthread_mutex_unlock(&p->mutex);
}

static void *start_passed(void *arg)
{
    struct pass *p = arg;

    for (int i = 0; i < PASSES; i++) {
        p->f.batch = (struct cio_batch){
            .write = i % 2, .locked = i % 4 == 1, .piece = p->f.piece, .n = PIECES};
        cio_store_start(p->s, &p->f.batch);
        take_turn(p, 0, 1);
        take_turn(p, 3, 0);
    }
    return NULL;
}

static void *test_passed(void *arg)
{
    struct pass *p = arg;

    for (int i = 0; i < PASSES; i++) {
        take_turn(p, 1, 4);
        cio_store_test(p->s, &p->f.batch);
        take_turn(p, 4, 2);
    }
    return NULL;
}

static void *wait_passed(void *arg)
{
    struct pass *p = arg;

    for (int i = 0; i < PASSES; i++) {
        take_turn(p, 2, 5);
        cio_store_wait(p->s, &p->f.batch);
        p->errors += p->f.batch.error != 0;
        take_turn(p, 5, 3);
    }
    return NULL;
}

static void check_passing(struct cio_store *s)
{
    void *(*const body[])(void *) = {start_passed, test_passed, wait_passed};
    struct pass p = {.s = s};
    pthread_t thread[3];

    pthread_mutex_init(&p.mutex, NULL);
    pthread_cond_init(&p.turned, NULL);
    for (int i = 0; i < PIECES; i++)
        p.f.piece[i] = (struct cio_piece){p.bytes + 8 * i, 8, 100 * i};
    for (int i = 0; i < 3; i++)
        CHECK(pthread_create(&thread[i], NULL, body[i], &p) == 0);
    for (int i = 0; i < 3; i++)
        pthread_join(thread[i], NULL);
    CHECK(p.errors == 0);
    pthread_cond_destroy(&p.turned);
    pthread_mutex_destroy(&p.mutex);
}

/* ---- one sleeps, one looks, and sees first what the other waits for ---- */

struct looker {
    struct cio_store *s;
    int stop;
};

static void *look_on(void *arg)
{
    struct looker *l = arg;
    char c = 0;
    struct cio_piece piece = {&c, 1, 5000};

    while (!__atomic_load_n(&l->stop, __ATOMIC_ACQUIRE)) {
        struct cio_batch b = {.piece = &piece, .n = 1};

        cio_store_start(l->s, &b);
        while (!cio_store_test(l->s, &b))
            ;
    }
    return NULL;
}

static void check_looking(struct cio_store *s)
{
    struct looker l = {.s = s};
    char bytes[100] = {0};
    struct cio_piece piece = {bytes, 100, 0};
    pthread_t thread;

    CHECK(pthread_create(&thread, NULL, look_on, &l) == 0);
    for (int i = 0; i < 200; i++)
        CHECK(run_batch(s, i % 2, &piece, 1) == 0);
    __atomic_store_n(&l.stop, 1, __ATOMIC_RELEASE);
    pthread_join(thread, NULL);
}

/* ---- all of it, for every store ---- */

/* Takes the store. */
static void check_store(struct cio_store *s, uint64_t *rng)
{
    run_workers(&s, 1, own_part, rng);
    check_count_up(&s, 1, rng);
    check_passing(s);
    check_looking(s);
    cio_store_destroy(s);
}

static struct cio_store *pool_over(struct cio_store *below, int threads)
{
    struct cio_store *s = NULL;

    CHECK(cio_store_thread_create(below, threads, &s) == 0);
    return s;
}

static void test_one_store(uint64_t *rng)
{
    const struct cio_uring_limits small = {2, 500, NULL};
    int fd = temporary_file();
    struct cio_store *s;

    CHECK(cio_store_memory_create(&s) == 0);
    check_store(s, rng);
    CHECK(cio_store_memory_create(&s) == 0);
    check_store(pool_over(s, 2), rng);
    for (int kind = CIO_STORE_BLOCKING; kind <= CIO_STORE_URING; kind++) {
        CHECK(cio_store_open(fd, (enum cio_store_kind)kind, &s) == 0);
        printf("%s\n", cio_store_name(s));
        check_store(s, rng);
    }
    if (cio_store_uring_create_limited(fd, &small, &s) == 0)
        check_store(s, rng);
    close(fd);
}

/* One of each kind, on two descriptors. */
static void test_one_file(uint64_t *rng)
{
    int fd = temporary_file(), other;
    char name[64];
    struct cio_store *s[THREADS];

    snprintf(name, sizeof(name), "/proc/self/fd/%d", fd);
    other = open(name, O_RDWR);
    CHECK(other >= 0);
    for (int i = 0; i < THREADS; i++)
        CHECK(cio_store_open(i % 2 ? fd : other, (enum cio_store_kind)i, &s[i]) == 0);
    run_workers(s, THREADS, own_part, rng);
    check_count_up(s, THREADS, rng);
    for (int i = 0; i < THREADS; i++)
        cio_store_destroy(s[i]);
    close(other);
    close(fd);
}

int main(void)
{
    uint64_t rng = check_seed();

    alarm(240);
    test_one_store(&rng);
    test_one_file(&rng);
    return check_done("test_store_shared");
}
