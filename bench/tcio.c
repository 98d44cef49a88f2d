/*
 * The program of bench/tcio: transfers a workload (tcio_work.h) in one of several ways
 * (tcio_method.h), as often as it is told to, and prints how long that took:
 *
 *     result METHOD write|read BYTES PIECES PEAK SECONDS...
 *     held   METHOD write|read BYTES                   largest share of memory before the close
 *     parts  METHOD write|read OPENED MOVED CLOSED     slowest rank of the last transfer
 *     told   METHOD write|read KEY VALUE               information of the file, on rank 0
 *
 * Seconds are those of the slowest rank, from before the file is opened until after it is closed,
 * so that nothing is left out that is written behind. The first transfer is not timed: connections
 * are made in it, and PEAK (bytes, the largest of all ranks) is what memory of a process grew by in
 * it at most; BYTES counts memory that n processes share as an nth of it. Each write makes the file
 * anew. What was read is compared with what should be there.
 *
 * Parameters of the paper's table I: --method, --arrays, --types, --length, --access.
 */
#include <getopt.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tcio_method.h"
#include "tcio_work.h"

struct options {
    const char *work;
    const struct method *method;
    const char *file;
    struct work_sizes sizes;
    int arrays; /* 0: as many as types */
    int write, read, repeats, verify;
    int reference;   /* ranks of a reference file to be written by this process alone, or 0 */
    int64_t warm_up; /* calls, or -1 */
    const char *hints;
};

static const char *const help =
    "usage: tcio [options] --file NAME        a program for mpiexec\n"
    "  --work NAME      synthetic, art, ior-hard, contiguous (default synthetic)\n"
    "  --method M       name or number of the way (default independent):\n"
    "%s"
    "  --arrays N       NUM_array (default: as many as types)\n"
    "  --types LIST     TYPE_array: c, s, i, f, d, separated by commas (default i,d)\n"
    "  --length N       LEN_array, elements (default 3)\n"
    "  --access N       SIZE_access, elements of a call (default 1)\n"
    "  --segments N     art (default 1024)\n"
    "  --share N        art: one of N of the paper's trees (default 16)\n"
    "  --calls N        ior-hard, contiguous: of a rank (default 16)\n"
    "  --call BYTES     of each (default 47008)\n"
    "  --write, --read  one of them or both\n"
    "  --no-verify      do not compare what was read\n"
    "  --repeats N      timed transfers, after one that is not (default 3; 0: that one only)\n"
    "  --warm-up N      no more than N calls in the first one (default: all)\n"
    "  --hints SET      KEY=VALUE,...\n"
    "  --reference P    write the file that P ranks should leave, as one process, and end\n";

static void die(const char *what, const char *why)
{
    int running;

    fprintf(stderr, "tcio: %s: %s (see --help)\n", what, why);
    MPI_Initialized(&running);
    if (running)
        MPI_Abort(MPI_COMM_WORLD, 2);
    exit(2);
}

/* ---- options -------------------------------------------------------------------------------- */

static void print_help(void)
{
    char methods[1000] = "";
    size_t used = 0;

    for (int i = 0; method_list[i].name != NULL; i++)
        used += (size_t)snprintf(methods + used, sizeof(methods) - used, "      %d %-12s %s\n", i,
                                 method_list[i].name, method_list[i].help);
    printf(help, methods);
}

static int64_t number_from(int64_t least, const char *what, const char *text)
{
    char *end;
    long long n = strtoll(text, &end, 10);

    if (*text == '\0' || *end != '\0' || n < least)
        die(what, "a number is needed, of 1 or more");
    return n;
}

static int64_t number(const char *what, const char *text)
{
    return number_from(1, what, text);
}

static void parse_types(const char *text, char types[WORK_ARRAYS + 1])
{
    int n = 0;

    for (; *text != '\0'; text += 1 + (text[1] == ',')) {
        if (n == WORK_ARRAYS)
            die("types", "too many");
        types[n++] = *text;
    }
    types[n] = '\0';
}

static const struct option names[] = {
    {"help", 0, NULL, 'h'},      {"work", 1, NULL, 'W'},    {"method", 1, NULL, 'm'},
    {"arrays", 1, NULL, 'n'},    {"types", 1, NULL, 't'},   {"length", 1, NULL, 'l'},
    {"warm-up", 1, NULL, 'u'},   {"share", 1, NULL, 'S'},   {"access", 1, NULL, 'a'},
    {"segments", 1, NULL, 's'},  {"calls", 1, NULL, 'k'},   {"call", 1, NULL, 'b'},
    {"file", 1, NULL, 'f'},      {"write", 0, NULL, 'w'},   {"read", 0, NULL, 'r'},
    {"no-verify", 0, NULL, 'v'}, {"repeats", 1, NULL, 'R'}, {"hints", 1, NULL, 'H'},
    {"reference", 1, NULL, 'x'}, {NULL, 0, NULL, 0},
};

static void parse_size(int option, struct options *o)
{
    switch (option) {
    case 'n':
        o->arrays = (int)number("arrays", optarg);
        break;
    case 't':
        parse_types(optarg, o->sizes.types);
        break;
    case 'l':
        o->sizes.length = number("length", optarg);
        break;
    case 'a':
        o->sizes.access = number("access", optarg);
        break;
    case 's':
        o->sizes.segments = number("segments", optarg);
        break;
    case 'S':
        o->sizes.share = number("share", optarg);
        break;
    case 'k':
        o->sizes.calls = number("calls", optarg);
        break;
    case 'b':
        o->sizes.call = number("call", optarg);
        break;
    case 'R':
        o->repeats = (int)number_from(0, "repeats", optarg);
        break;
    case 'u':
        o->warm_up = number("warm-up", optarg);
        break;
    case 'x':
        o->reference = (int)number("reference", optarg);
        break;
    default:
        exit(2);
    }
}

static void parse_option(int option, struct options *o)
{
    switch (option) {
    case 'h':
        print_help();
        exit(0);
    case 'W':
        o->work = optarg;
        break;
    case 'm':
        o->method = method_find(optarg);
        if (o->method == NULL)
            die(optarg, "no such method");
        break;
    case 'f':
        o->file = optarg;
        break;
    case 'w':
        o->write = 1;
        break;
    case 'r':
        o->read = 1;
        break;
    case 'v':
        o->verify = 0;
        break;
    case 'H':
        o->hints = optarg;
        break;
    default:
        parse_size(option, o);
    }
}

static void parse(int argc, char **argv, struct options *o)
{
    int option;

    *o = (struct options){
        .work = "synthetic",
        .method = method_find("independent"),
        .sizes = {.types = "id",
                  .length = 3,
                  .access = 1,
                  .segments = 1024,
                  .share = 16,
                  .calls = 16,
                  .call = 47008},
        .repeats = 3,
        .verify = 1,
        .warm_up = -1,
    };
    while ((option = getopt_long(argc, argv, "", names, NULL)) >= 0)
        parse_option(option, o);
    if (o->file == NULL)
        die("--file", "missing");
    if (!o->write && !o->read && o->reference == 0)
        die("--write, --read", "one of them is needed");
    if (o->arrays > 0 && o->arrays != (int)strlen(o->sizes.types))
        die("--arrays", "not the number of types");
}

static MPI_Info parse_hints(const char *set)
{
    MPI_Info info;
    char *copy, *rest, *pair;

    if (set == NULL || *set == '\0')
        return MPI_INFO_NULL;
    copy = strdup(set);
    MPI_Info_create(&info);
    for (pair = strtok_r(copy, ",", &rest); pair != NULL; pair = strtok_r(NULL, ",", &rest)) {
        char *value = strchr(pair, '=');

        if (value == NULL)
            die(pair, "a hint needs a value");
        *value++ = '\0';
        MPI_Info_set(info, pair, value);
    }
    free(copy);
    return info;
}

static void create_work(const struct options *o, int rank, int ranks, struct work *w, char **memory)
{
    const char *why = work_create(o->work, &o->sizes, rank, ranks, w);

    if (why != NULL)
        die(o->work, why);
    *memory = malloc((size_t)w->room + 1);
    if (*memory == NULL)
        die(o->work, "no memory");
    work_fill(w, *memory);
}

/* ---- the reference -------------------------------------------------------------------------- */

struct picture {
    char *file, *memory;
};

static int draw(void *arg, const struct work_piece *p)
{
    struct picture *x = arg;

    memcpy(x->file + p->off, x->memory + p->at, (size_t)p->bytes);
    return 0;
}

static void write_reference(const struct options *o)
{
    struct picture x = {NULL, NULL};
    struct work w;
    int64_t bytes = 0;
    FILE *f;

    for (int rank = 0; rank < o->reference; rank++) {
        create_work(o, rank, o->reference, &w, &x.memory);
        bytes = w.file_bytes;
        if (x.file == NULL)
            x.file = calloc((size_t)bytes, 1);
        if (x.file == NULL)
            die(o->file, "no memory");
        work_walk(&w, draw, &x);
        free(x.memory);
        work_destroy(&w);
    }
    f = fopen(o->file, "w");
    if (f == NULL || fwrite(x.file, 1, (size_t)bytes, f) != (size_t)bytes || fclose(f) != 0)
        die(o->file, "cannot be written");
    free(x.file);
}

/* ---- memory of this process ----------------------------------------------------------------- */

static long long kernel_bytes(const char *file, const char *key)
{
    char line[256];
    long long kib = 0;
    size_t n = strlen(key);
    FILE *f = fopen(file, "r");

    while (f != NULL && fgets(line, sizeof(line), f) != NULL)
        if (strncmp(line, key, n) == 0)
            kib = strtoll(line + n, NULL, 10);
    if (f != NULL)
        fclose(f);
    return kib << 10;
}

static long long status_bytes(const char *key)
{
    return kernel_bytes("/proc/self/status", key);
}

/* Without files that are mapped, as libraries are. */
static long long share(void)
{
    return kernel_bytes("/proc/self/smaps_rollup", "Pss_Anon:") +
           kernel_bytes("/proc/self/smaps_rollup", "Pss_Shmem:");
}

/* From now on, VmHWM is the most since now. */
static void forget_peak(void)
{
    FILE *f = fopen("/proc/self/clear_refs", "w");

    if (f != NULL) {
        fputs("5", f);
        fclose(f);
    }
}

/* ---- timing --------------------------------------------------------------------------------- */

struct bench {
    const struct options *o;
    struct transfer t;
    int rank;
    long long resident, share; /* before any transfer */
    long long held;            /* share before the first close */
};

/* All ranks hold what they have at the same time. */
static void look_at_memory(void *arg)
{
    struct bench *b = arg;

    MPI_Barrier(MPI_COMM_WORLD);
    b->held = share() - b->share;
    MPI_Barrier(MPI_COMM_WORLD);
}

static double run(struct bench *b)
{
    double start, seconds, slowest;

    if (b->t.write && b->rank == 0)
        unlink(b->o->file);
    if (!b->t.write && b->o->verify)
        memset(b->t.memory, 0x55, (size_t)b->t.work->room);
    MPI_Barrier(MPI_COMM_WORLD);
    start = MPI_Wtime();
    b->o->method->transfer(&b->t);
    seconds = MPI_Wtime() - start;
    MPI_Allreduce(&seconds, &slowest, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    return slowest;
}

struct comparison {
    const char *expected, *found;
};

static int compare(void *arg, const struct work_piece *p)
{
    struct comparison *c = arg;

    return memcmp(c->expected + p->at, c->found + p->at, (size_t)p->bytes) != 0;
}

/* Ends the job if what was read is not what should be there. */
static void check_memory(const struct bench *b)
{
    char *expected = malloc((size_t)b->t.work->room + 1);
    struct comparison c = {expected, b->t.memory};

    if (expected == NULL)
        die("comparison", "no memory");
    work_fill(b->t.work, expected);
    if (work_walk(b->t.work, compare, &c) != 0)
        die(b->o->method->name, "what was read is wrong");
    free(expected);
}

static void forget_told(struct bench *b)
{
    if (b->t.told != MPI_INFO_NULL)
        MPI_Info_free(&b->t.told);
    b->t.told = MPI_INFO_NULL;
}

static void print_told(const struct bench *b, const char *what)
{
    char key[MPI_MAX_INFO_KEY + 1], value[MPI_MAX_INFO_VAL + 1];
    int n = 0, found;

    if (b->t.told != MPI_INFO_NULL)
        MPI_Info_get_nkeys(b->t.told, &n);
    for (int i = 0; i < n; i++) {
        MPI_Info_get_nthkey(b->t.told, i, key);
        MPI_Info_get(b->t.told, key, MPI_MAX_INFO_VAL, value, &found);
        printf("told %s %s %s %s\n", b->o->method->name, what, key, value);
    }
}

static void print_parts(const struct bench *b, const char *what)
{
    double mine[3] = {b->t.opened, b->t.moved, b->t.closed}, most[3];

    MPI_Reduce(mine, most, 3, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
    if (b->rank == 0)
        printf("parts %s %s %.5f %.5f %.5f\n", b->o->method->name, what, most[0], most[1], most[2]);
}

/* The transfer that is not timed. */
static void warm_up(struct bench *b, const char *what)
{
    long long mine[2], most[2], sum[2] = {b->t.work->bytes, b->t.work->pieces}, all[2];

    b->t.most = b->o->warm_up;
    b->t.before_close = look_at_memory;
    b->t.arg = b;
    forget_peak();
    run(b);
    mine[0] = status_bytes("VmHWM:") - b->resident;
    mine[1] = b->held;
    b->t.most = -1;
    b->t.before_close = NULL;
    MPI_Reduce(mine, most, 2, MPI_LONG_LONG, MPI_MAX, 0, MPI_COMM_WORLD);
    MPI_Reduce(sum, all, 2, MPI_LONG_LONG, MPI_SUM, 0, MPI_COMM_WORLD);
    if (b->rank == 0) {
        printf("held %s %s %lld\n", b->o->method->name, what, most[1]);
        printf("result %s %s %lld %lld %lld", b->o->method->name, what, all[0], all[1], most[0]);
    }
}

static void measure(struct bench *b, int write)
{
    const char *what = write ? "write" : "read";

    b->t.write = write;
    warm_up(b, what);
    for (int i = 0; i < b->o->repeats; i++) {
        forget_told(b);
        double seconds = run(b);

        if (b->rank == 0)
            printf(" %.5f", seconds);
        if (!write && b->o->verify)
            check_memory(b);
    }
    if (b->rank == 0) {
        printf("\n");
        print_told(b, what);
    }
    print_parts(b, what);
    forget_told(b);
}

int main(int argc, char **argv)
{
    struct options o;
    struct bench b = {.o = &o, .t.told = MPI_INFO_NULL};
    struct work w;
    int ranks;

    parse(argc, argv, &o);
    if (o.reference > 0) {
        write_reference(&o);
        return 0;
    }
    MPI_Init(NULL, NULL);
    MPI_Comm_rank(MPI_COMM_WORLD, &b.rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    create_work(&o, b.rank, ranks, &w, &b.t.memory);
    b.t.work = &w;
    b.t.file = o.file;
    b.t.hints = parse_hints(o.hints);
    MPI_Barrier(MPI_COMM_WORLD);
    b.share = share();
    b.resident = status_bytes("VmRSS:");
    if (o.write)
        measure(&b, 1);
    if (o.read)
        measure(&b, 0);
    if (b.t.hints != MPI_INFO_NULL)
        MPI_Info_free(&b.t.hints);
    free(b.t.memory);
    work_destroy(&w);
    MPI_Finalize();
    return 0;
}
