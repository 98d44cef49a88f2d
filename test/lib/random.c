/*
 * Random mixes of writes and reads of all ranks, compared with an oracle.
 *
 * Usage: random FILE [CASES [SEED]]
 *
 * A case opens the file with random hints, and has some phases, each of which ends with a flush. In
 * a phase every byte belongs to one rank, in runs of a random length; a rank's calls go anywhere,
 * in any order, over each other, and write the bytes that are its own. All ranks know all calls, so
 * each knows what the file has after the flush, and what a read must find before: its own bytes,
 * and those that nobody else writes in the phase.
 */
#include "common.h"

#define SPAN (600 << 10) /* the file, at most */
#define LONGEST (40 << 10)
#define CALLS 50

static uint64_t mix(uint64_t x)
{
    x += 0x9e3779b97f4a7c15u;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

static uint64_t state;

static int64_t below(int64_t n)
{
    state = mix(state);
    return (int64_t)((state >> 11) % (uint64_t)n);
}

struct settings {
    char segment[24], segments[24];
    const char *visibility;
    int64_t span, run; /* of bytes of one rank */
    int calls, random_order;
};

static uint64_t case_seed;
static unsigned char now[SPAN];     /* after the last flush */
static unsigned char after[SPAN];   /* the next one */
static unsigned char mine[SPAN];    /* as this rank must see it */
static unsigned char touched[SPAN]; /* in this phase, by rank + 1 */
static int64_t end_of_file;
static long checked;

static int owner(const struct settings *s, int phase, int64_t off)
{
    return (int)(mix(case_seed ^ mix((uint64_t)phase * 1000003 + (uint64_t)(off / s->run))) %
                 (uint64_t)size);
}

static struct settings choose(void)
{
    struct settings s;

    snprintf(s.segment, sizeof(s.segment), "%d", 4096 << below(4));
    snprintf(s.segments, sizeof(s.segments), below(4) == 0 ? "auto" : "%d", 1 + (int)below(4));
    s.visibility = below(3) == 0 ? "immediate" : "sync";
    s.span = 1 + below(below(3) == 0 ? 2000 : SPAN - LONGEST);
    s.run = 1 + below(below(2) ? 60 : 30000);
    s.calls = (int)below(CALLS);
    s.random_order = below(3) != 0;
    return s;
}

/* ---- the calls of one rank in one phase, the same whoever asks ---- */

struct call {
    int64_t off, len;
    int write, spaced, fetch;
    unsigned char value; /* of its first byte */
};

static int64_t length(void)
{
    switch (below(8)) {
    case 0:
        return 1 + below(LONGEST);
    case 1:
        return 1 + below(5000);
    default:
        return 1 + below(100);
    }
}

static int list_calls(const struct settings *s, int phase, int of, struct call *call)
{
    uint64_t saved = state;
    int64_t at = 0;

    state = mix(case_seed + (uint64_t)phase * 131 + (uint64_t)of * 7919);
    for (int i = 0; i < s->calls; i++) {
        struct call *c = &call[i];

        c->len = length();
        c->off = s->random_order ? below(s->span) : at % s->span;
        at += c->len + below(200);
        c->write = below(3) != 0;
        c->spaced = below(6) == 0;
        c->fetch = below(8) == 0;
        c->value = (unsigned char)below(256);
    }
    state = saved;
    return s->calls;
}

static unsigned char value(const struct call *c, int64_t off)
{
    return (unsigned char)(c->value + (off - c->off) * 7);
}

/* ---- the oracle ---- */

static void apply(const struct settings *s, int phase, int of)
{
    struct call call[CALLS];
    int n = list_calls(s, phase, of, call);

    for (int i = 0; i < n; i++) {
        for (int64_t off = call[i].off; call[i].write && off < call[i].off + call[i].len; off++) {
            if (owner(s, phase, off) != of)
                continue;
            after[off] = value(&call[i], off);
            touched[off] = (unsigned char)(of + 1);
            if (off >= end_of_file)
                end_of_file = off + 1;
        }
    }
}

/* ---- what this rank does ---- */

/* One byte of two. */
static MPI_Datatype spaced_type(int64_t n)
{
    MPI_Datatype type;

    MPI_Type_vector((int)n, 1, 2, MPI_BYTE, &type);
    MPI_Type_commit(&type);
    return type;
}

static void write_run(tcio_file *fh, const struct call *c, int64_t off, int64_t n)
{
    int step = c->spaced ? 2 : 1;
    char *data = malloc((size_t)(n * step));
    MPI_Datatype type;

    for (int64_t i = 0; i < n; i++) {
        data[i * step] = (char)value(c, off + i);
        mine[off + i] = value(c, off + i);
    }
    if (c->spaced) {
        type = spaced_type(n);
        OK(tcio_write_at(fh, off, data, 1, type));
        MPI_Type_free(&type);
    } else {
        OK(tcio_write_at(fh, off, data, n, MPI_BYTE));
    }
    free(data);
}

static void write_owned(tcio_file *fh, const struct settings *s, int phase, const struct call *c)
{
    int64_t from = c->off, end = c->off + c->len;

    while (from < end) {
        int64_t to = from;

        while (to < end && owner(s, phase, to) == rank)
            to++;
        if (to > from)
            write_run(fh, c, from, to - from);
        from = to > from ? to : from + 1;
    }
}

/* A read that was not checked yet. */
struct wanted {
    struct call call;
    char *data;
    unsigned char *expected, *known;
};

static struct wanted wanted[CALLS];
static int waiting;

static void start_read(tcio_file *fh, const struct call *c)
{
    struct wanted *w = &wanted[waiting++];
    int step = c->spaced ? 2 : 1;
    MPI_Datatype type;

    w->call = *c;
    w->data = malloc((size_t)(c->len * step));
    w->expected = malloc((size_t)c->len);
    w->known = malloc((size_t)c->len);
    memset(w->data, 0x5a, (size_t)(c->len * step));
    memcpy(w->expected, mine + c->off, (size_t)c->len);
    for (int64_t i = 0; i < c->len; i++)
        w->known[i] = touched[c->off + i] == 0 || touched[c->off + i] == rank + 1;
    if (c->spaced) {
        type = spaced_type(c->len);
        OK(tcio_read_at(fh, c->off, w->data, 1, type));
        MPI_Type_free(&type);
    } else {
        OK(tcio_read_at(fh, c->off, w->data, c->len, MPI_BYTE));
    }
}

static void check_read(struct wanted *w)
{
    int step = w->call.spaced ? 2 : 1;
    int64_t wrong = 0, first = -1;

    for (int64_t i = 0; i < w->call.len; i++) {
        if (!w->known[i] || (unsigned char)w->data[i * step] == w->expected[i])
            continue;
        wrong++;
        first = first < 0 ? w->call.off + i : first;
    }
    if (wrong > 0)
        fprintf(stderr, "rank %d: read of %lld at %lld: %lld wrong, the first at %lld\n", rank,
                (long long)w->call.len, (long long)w->call.off, (long long)wrong, (long long)first);
    CHECK(wrong == 0);
    checked += w->call.len;
    free(w->data);
    free(w->expected);
    free(w->known);
}

static void check_reads(void)
{
    for (int i = 0; i < waiting; i++)
        check_read(&wanted[i]);
    waiting = 0;
}

static void run_phase(tcio_file *fh, const struct settings *s, int phase)
{
    struct call call[CALLS];
    int n = list_calls(s, phase, rank, call);

    memcpy(after, now, SPAN);
    memcpy(mine, now, SPAN);
    memset(touched, 0, SPAN);
    for (int r = 0; r < size; r++)
        apply(s, phase, r);
    for (int i = 0; i < n; i++) {
        if (call[i].write)
            write_owned(fh, s, phase, &call[i]);
        else
            start_read(fh, &call[i]);
        if (call[i].fetch) {
            OK(tcio_fetch(fh));
            check_reads();
        }
    }
    OK(tcio_flush(fh));
    check_reads();
    memcpy(now, after, SPAN);
}

static void check_file(void)
{
    static unsigned char got[SPAN];

    CHECK(file_size(path) == end_of_file);
    read_plain(path, 0, got, SPAN, 0);
    CHECK(memcmp(got, now, SPAN) == 0);
}

/* All of it, by every rank, in another order. */
static void read_back(const struct settings *s)
{
    tcio_file *fh = open_file(MPI_MODE_RDONLY, hints("tcio_segment_size", s->segment,
                                                     "tcio_segments", s->segments, NULL));
    struct call call[CALLS];
    int n = list_calls(s, 99, rank, call);

    memcpy(mine, now, SPAN);
    memset(touched, 0, SPAN);
    for (int i = 0; i < n; i++)
        start_read(fh, &call[i]);
    OK(tcio_close(fh));
    check_reads();
}

static void begin_case(void)
{
    if (below(2))
        return; /* on top of the last one */
    remove_scratch(path);
    memset(now, 0, SPAN);
    end_of_file = 0;
}

static void run_case(uint64_t seed)
{
    struct settings s;
    tcio_file *fh;
    int phases, before = failures;

    state = case_seed = mix(seed);
    s = choose();
    phases = 1 + (int)below(3);
    begin_case();
    fh = open_file(CREATE, hints("tcio_segment_size", s.segment, "tcio_segments", s.segments,
                                 "tcio_visibility", s.visibility, NULL));
    for (int phase = 0; phase < phases; phase++)
        run_phase(fh, &s, phase);
    OK(tcio_close(fh));
    if (rank == 0)
        check_file();
    MPI_Barrier(MPI_COMM_WORLD);
    read_back(&s);
    if (failures != before)
        fprintf(stderr,
                "rank %d: seed %llu: segment %s x %s, %s, span %lld, runs of %lld, %d calls\n",
                rank, (unsigned long long)seed, s.segment, s.segments, s.visibility,
                (long long)s.span, (long long)s.run, s.calls);
}

int main(int argc, char **argv)
{
    int cases = argc > 2 ? atoi(argv[2]) : 40;
    uint64_t seed = argc > 3 ? strtoull(argv[3], NULL, 10) : 1;
    long all = 0;

    begin(argc, argv);
    for (int i = 0; i < cases; i++)
        run_case(seed + (uint64_t)i);
    MPI_Reduce(&checked, &all, 1, MPI_LONG, MPI_SUM, 0, MPI_COMM_WORLD);
    if (rank == 0)
        printf("%d ranks, %d cases from seed %llu, %ld bytes read\n", size, cases,
               (unsigned long long)seed, all);
    CHECK(rank != 0 || cases == 0 || all > 0);
    return end();
}
