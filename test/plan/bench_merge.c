/*
 * Nanoseconds of processor time per piece of the merge and of the code of extents. Not a test.
 *
 *     bench_merge [pieces]            default 1000000
 */
#include "lists.h"

#include <string.h>

#include "plan/code.h"
#include "plan/merge.h"

enum { REPEATS = 5 };

struct bench {
    int k;
    size_t total;
    cio_extent *ext, *segs;
    int64_t *pos;
    struct cio_source *src;
    void *scratch;
    uint8_t *buf;
};

static double cpu_now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

/* k lists of 8..32-byte pieces, each irregular, all over the same range. */
static void fill_irregular(struct bench *b, size_t per_list)
{
    uint64_t rng = 42;

    for (int i = 0; i < b->k; i++) {
        cio_extent *e = b->ext + (size_t)i * per_list;
        int64_t at = 0;

        for (size_t j = 0; j < per_list; j++) {
            at += check_between(&rng, 1, 40 * b->k);
            e[j] = (cio_extent){at, check_between(&rng, 8, 32)};
            at = cio_extent_end(e[j]);
        }
    }
}

/* Piece j of list i is the block j * k + i of 16 bytes: they interleave without gaps. */
static void fill_strided(struct bench *b, size_t per_list)
{
    for (int i = 0; i < b->k; i++)
        for (size_t j = 0; j < per_list; j++)
            b->ext[(size_t)i * per_list + j] = (cio_extent){((int64_t)j * b->k + i) * 16, 16};
}

/* Each list has stretches of 1000 pieces to itself. */
static void fill_blocked(struct bench *b, size_t per_list)
{
    for (int i = 0; i < b->k; i++)
        for (size_t j = 0; j < per_list; j++)
            b->ext[(size_t)i * per_list + j] = (cio_extent){
                ((int64_t)(j / 1000 * 1000) * b->k + 1000 * i + (int64_t)(j % 1000)) * 20, 16};
}

static void bench_init(struct bench *b, int k, size_t pieces)
{
    size_t per_list = pieces / (size_t)k;

    b->k = k;
    b->total = per_list * (size_t)k;
    b->ext = malloc(b->total * sizeof(*b->ext));
    b->segs = malloc(b->total * sizeof(*b->segs));
    b->pos = malloc(b->total * sizeof(*b->pos));
    b->src = malloc((size_t)k * sizeof(*b->src));
    b->scratch = malloc(cio_merge_scratch(k));
    b->buf = malloc(cio_code_bound(b->total));
    memset(b->segs, 0, b->total * sizeof(*b->segs));
    memset(b->pos, 0, b->total * sizeof(*b->pos));
    memset(b->buf, 0, cio_code_bound(b->total));
    for (size_t i = 0; i < (size_t)k; i++)
        b->src[i] = (struct cio_source){b->ext + i * per_list, per_list, b->pos + i * per_list};
}

static void bench_free(struct bench *b)
{
    free(b->ext);
    free(b->segs);
    free(b->pos);
    free(b->src);
    free(b->scratch);
    free(b->buf);
}

/* Best of several; returns the number of segments. */
static size_t time_merge(struct bench *b, double *ns)
{
    size_t n = 0;
    int64_t bytes;

    *ns = 1e18;
    for (int r = 0; r < REPEATS; r++) {
        double t = cpu_now();

        if (cio_merge(b->src, b->k, b->scratch, b->segs, b->total, &n, &bytes))
            abort();
        t = cpu_now() - t;
        *ns = t < *ns ? t : *ns;
    }
    return n;
}

static size_t time_code(struct bench *b, const cio_extent *e, size_t n, double *enc, double *dec)
{
    size_t size = 0, m;

    *enc = *dec = 1e18;
    for (int r = 0; r < REPEATS; r++) {
        struct cio_decoder d;
        double t0 = cpu_now(), t1, t2;

        size = cio_code_encode(e, n, 0, b->buf);
        t1 = cpu_now();
        if (cio_decode_begin(&d, b->buf, size, 0, 0, INT64_MAX) ||
            cio_decode_all(&d, b->segs, n, &m))
            abort();
        t2 = cpu_now();
        *enc = t1 - t0 < *enc ? t1 - t0 : *enc;
        *dec = t2 - t1 < *dec ? t2 - t1 : *dec;
    }
    return size;
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*fill)(struct bench *, size_t);
    } kinds[] = {
        {"irregular", fill_irregular},
        {"strided", fill_strided},
        {"blocked", fill_blocked},
    };
    static const int ks[] = {1, 2, 4, 16, 64, 256};
    size_t pieces = argc > 1 ? (size_t)atoll(argv[1]) : 1000000;

    for (size_t i = 0; i < 3; i++) {
        for (size_t j = 0; j < 6; j++) {
            struct bench b;
            double ns, enc, dec;
            size_t n, size;

            bench_init(&b, ks[j], pieces);
            kinds[i].fill(&b, b.total / (size_t)b.k);
            n = time_merge(&b, &ns);
            size = time_code(&b, b.ext, b.src[0].n, &enc, &dec);
            printf("%-9s k=%-3d merge %5.1f ns/piece (%zu segments)   list 0: encode %4.1f decode "
                   "%4.1f ns/piece, %.2f bytes/piece\n",
                   kinds[i].name, b.k, ns / (double)b.total, n, enc / (double)b.src[0].n,
                   dec / (double)b.src[0].n, (double)size / (double)b.src[0].n);
            bench_free(&b);
        }
    }
    return 0;
}
