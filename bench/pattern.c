/*
 * Times collective writes and reads of one pattern, and checks what was read.
 *
 * Usage: mpiexec -n RANKS pattern [-w | -r | -k] NAME FILE REPEATS [HINT=VALUE,... ...]
 *
 * With -w it only writes, and leaves the file to be compared; with -r it only reads a file that an
 * earlier run has written. With -k each set of hints has the file open all the time, so that its
 * calls know what earlier ones have found out; a first turn of all sets is not timed, and a call
 * from which the host of a virtual machine took processor time is made again: the least disturbed
 * of up to TRIES counts, or of up to LOUD_TRIES, with pauses, if it took so much that the time
 * says nothing.
 *
 * Each further argument is one set of hints ("-" for none); all sets are timed in turn, REPEATS
 * times, in this one run. Every time is in seconds from a start in common (all ranks must be on one
 * machine): that of the slowest rank, and the mean of all. Beside them, what the host took away
 * meanwhile, in parts of all processor time.
 *   result NAME SET write T T T ...
 *   mean NAME SET write T T T ...
 *   stolen NAME SET write PART PART PART ...
 *   and the same with `read`
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "patterns.h"

#define MAX_REPEATS 100
#define MAX_SETS 8
/* Seconds, and for each rank; one that hears of the start too late begins at once. */
#define MARGIN 0.1
#define MARGIN_EACH 1e-3
/* Of all processor time, what may be taken away from a call that counts at once. */
#define QUIET 0.05
#define TRIES 3
/* What makes its time useless; such times last for minutes. */
#define LOUD 0.20
#define LOUD_TRIES 12
#define PAUSE 10 /* seconds */

static void check(int rc, const char *what)
{
    char text[MPI_MAX_ERROR_STRING];
    int length;

    if (rc == MPI_SUCCESS)
        return;
    MPI_Error_string(rc, text, &length);
    fprintf(stderr, "pattern: %s: %s\n", what, text);
    MPI_Abort(MPI_COMM_WORLD, 1);
}

static MPI_Info parse_hints(const char *set)
{
    char *copy = strdup(set), *rest = copy, *item;
    MPI_Info info = MPI_INFO_NULL;

    if (copy == NULL || strcmp(set, "-") == 0) {
        free(copy);
        return info;
    }
    MPI_Info_create(&info);
    while ((item = strsep(&rest, ",")) != NULL) {
        char *value = strchr(item, '=');

        if (value == NULL) {
            fprintf(stderr, "pattern: %s is not HINT=VALUE\n", item);
            MPI_Abort(MPI_COMM_WORLD, 2);
        }
        *value++ = '\0';
        MPI_Info_set(info, item, value);
    }
    free(copy);
    return info;
}

/*
 * All ranks begin at once: rank 0 names a moment that all of them sleep up to, on the clock that
 * the ranks of one machine share. From a barrier they come out one after the other, which on a few
 * cores takes as long as a good part of what is to be measured.
 */
static double begin_together(void)
{
    double start, left;
    int ranks;

    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    MPI_Barrier(MPI_COMM_WORLD);
    start = MPI_Wtime() + MARGIN + MARGIN_EACH * ranks;
    MPI_Bcast(&start, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
    left = start - MPI_Wtime();
    if (left > 0)
        usleep((useconds_t)(left * 1e6));
    return start;
}

/* Seconds from the common start until ranks have done their transfer; the part that was stolen. */
struct seconds {
    double slowest, mean, stolen;
};

/* Processor time, in ticks: all of it, and what the host of a virtual machine has used itself. */
struct ticks {
    double all, stolen;
};

/* None where the system does not tell, and but for rank 0. */
static struct ticks read_ticks(void)
{
    double kind[8] = {0}; /* user, nice, system, idle, iowait, irq, softirq, steal */
    struct ticks t = {0};
    FILE *f;
    int rank;

    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    f = rank == 0 ? fopen("/proc/stat", "r") : NULL;
    if (f == NULL)
        return t;
    if (fscanf(f, "cpu %lf %lf %lf %lf %lf %lf %lf %lf", &kind[0], &kind[1], &kind[2], &kind[3],
               &kind[4], &kind[5], &kind[6], &kind[7]) == 8) {
        for (int i = 0; i < 8; i++)
            t.all += kind[i];
        t.stolen = kind[7];
    }
    fclose(f);
    return t;
}

/* What rank 0 finds, for all. */
static double stolen_since(struct ticks before)
{
    struct ticks now = read_ticks();
    double part = now.all > before.all ? (now.stolen - before.stolen) / (now.all - before.all) : 0;

    MPI_Bcast(&part, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
    return part;
}

static MPI_File open_file(const char *path, int mode, MPI_Info info)
{
    MPI_File file;

    check(MPI_File_open(MPI_COMM_WORLD, path, mode, info, &file), "open");
    return file;
}

static struct seconds transfer(const struct pattern *p, MPI_File file, char *buf, int write)
{
    double start, mine, sum;
    struct ticks before;
    struct seconds t;
    int ranks;

    check(MPI_File_set_view(file, 0, MPI_BYTE, p->view, "native", MPI_INFO_NULL), "set_view");
    start = begin_together();
    before = read_ticks();
    if (write)
        check(MPI_File_write_all(file, buf, 1, p->memory, MPI_STATUS_IGNORE), "write_all");
    else
        check(MPI_File_read_all(file, buf, 1, p->memory, MPI_STATUS_IGNORE), "read_all");
    mine = MPI_Wtime() - start;
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    MPI_Allreduce(&mine, &t.slowest, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    MPI_Allreduce(&mine, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    t.mean = sum / ranks;
    t.stolen = stolen_since(before);
    return t;
}

static void print_times(const char *name, const char *set, const char *what,
                        const struct seconds *t, int n)
{
    printf("result %s %s %s", name, set, what);
    for (int i = 0; i < n; i++)
        printf(" %.5f", t[i].slowest);
    printf("\nmean %s %s %s", name, set, what);
    for (int i = 0; i < n; i++)
        printf(" %.5f", t[i].mean);
    printf("\nstolen %s %s %s", name, set, what);
    for (int i = 0; i < n; i++)
        printf(" %.3f", t[i].stolen);
    printf("\n");
}

/* What is timed, how often, and with which hints. */
struct task {
    const char *name, *file;
    int write, read, keep, repeats, sets;
    const char *const *set;
    MPI_File open[MAX_SETS]; /* if they are kept */
    struct seconds writes[MAX_SETS][MAX_REPEATS], reads[MAX_SETS][MAX_REPEATS];
    long long wrong; /* bytes read */
};

static int parse_arguments(int argc, char **argv, struct task *t)
{
    static const char *const none[] = {"-"};
    const char *only = argc > 1 && argv[1][0] == '-' ? argv[1] : "";
    char **arg = argv + (only[0] != '\0');

    argc -= only[0] != '\0';
    if (argc < 4 || argc - 4 > MAX_SETS)
        return -1;
    t->write = strcmp(only, "-r") != 0;
    t->read = strcmp(only, "-w") != 0;
    t->keep = strcmp(only, "-k") == 0;
    t->name = arg[1];
    t->file = arg[2];
    t->repeats = atoi(arg[3]);
    t->sets = argc > 4 ? argc - 4 : 1;
    t->set = argc > 4 ? (const char *const *)arg + 4 : none;
    return t->repeats < 1 || t->repeats > MAX_REPEATS ? -1 : 0;
}

static void end_info(MPI_Info *info)
{
    if (*info != MPI_INFO_NULL)
        MPI_Info_free(info);
}

static void open_all(struct task *t)
{
    for (int s = 0; s < t->sets; s++) {
        MPI_Info info = parse_hints(t->set[s]);

        t->open[s] = open_file(t->file, MPI_MODE_CREATE | MPI_MODE_RDWR, info);
        end_info(&info);
    }
}

static void close_all(struct task *t)
{
    for (int s = 0; s < t->sets; s++)
        check(MPI_File_close(&t->open[s]), "close");
}

/* With the file that the set has open, or else one that is open for this only. */
static struct seconds time_call(struct task *t, const struct pattern *p, char *buf, int s,
                                int write)
{
    int mode = write ? MPI_MODE_CREATE | MPI_MODE_RDWR : MPI_MODE_RDONLY;
    struct seconds seconds;
    MPI_File file;
    MPI_Info info;

    if (!write)
        memset(buf, 0, (size_t)p->room);
    if (t->keep)
        return transfer(p, t->open[s], buf, write);
    info = parse_hints(t->set[s]);
    file = open_file(t->file, mode, info);
    seconds = transfer(p, file, buf, write);
    check(MPI_File_close(&file), "close");
    end_info(&info);
    return seconds;
}

/* A call from which so much was taken away is made again after so many of them. */
static int is_made_again(double stolen, int calls)
{
    return (stolen > QUIET && calls < TRIES) || (stolen > LOUD && calls < LOUD_TRIES);
}

static struct seconds time_quietly(struct task *t, const struct pattern *p, char *buf, int s,
                                   int write)
{
    struct seconds best = time_call(t, p, buf, s, write);

    for (int calls = 1; is_made_again(best.stolen, calls); calls++) {
        struct seconds next;

        if (best.stolen > LOUD)
            sleep(PAUSE);
        next = time_call(t, p, buf, s, write);
        if (next.stolen < best.stolen)
            best = next;
    }
    return best;
}

static struct seconds time_either(struct task *t, const struct pattern *p, char *buf, int s, int r,
                                  int write)
{
    return t->keep && r >= 0 ? time_quietly(t, p, buf, s, write) : time_call(t, p, buf, s, write);
}

/* Turn -1 does not count: its place is that of turn 0, which follows. */
static void time_one(struct task *t, const struct pattern *p, int rank, char *buf, int s, int r)
{
    int at = r < 0 ? 0 : r;

    if (rank == 0 && t->write && !t->keep)
        MPI_File_delete(t->file, MPI_INFO_NULL);
    if (t->write) {
        pattern_fill(p, rank, buf);
        MPI_Barrier(MPI_COMM_WORLD);
        t->writes[s][at] = time_either(t, p, buf, s, r, 1);
    }
    if (t->read) {
        t->reads[s][at] = time_either(t, p, buf, s, r, 0);
        t->wrong += pattern_wrong(p, rank, buf);
    }
}

/* All sets in turn. What a first turn has found out stays with the files that are kept open. */
static void time_all(struct task *t, const struct pattern *p, int rank, char *buf)
{
    if (t->keep)
        open_all(t);
    for (int r = t->keep ? -1 : 0; r < t->repeats; r++)
        for (int s = 0; s < t->sets; s++)
            time_one(t, p, rank, buf, s, r);
    if (t->keep)
        close_all(t);
}

static void print_results(const struct task *t, long long wrong)
{
    for (int s = 0; s < t->sets; s++) {
        if (t->write)
            print_times(t->name, t->set[s], "write", t->writes[s], t->repeats);
        if (t->read)
            print_times(t->name, t->set[s], "read", t->reads[s], t->repeats);
    }
    printf("wrong %lld\n", wrong);
}

static struct task task;

int main(int argc, char **argv)
{
    struct pattern p;
    long long wrong;
    int rank, ranks;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    if (parse_arguments(argc, argv, &task) != 0 ||
        pattern_create(task.name, rank, ranks, &p) != 0) {
        for (int i = 0; rank == 0 && pattern_list[i].name != NULL; i++)
            fprintf(stderr, "%-12s %s\n", pattern_list[i].name, pattern_list[i].help);
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    char *buf = malloc((size_t)p.room + 1);
    if (buf == NULL)
        MPI_Abort(MPI_COMM_WORLD, 1);
    time_all(&task, &p, rank, buf);
    MPI_Allreduce(&task.wrong, &wrong, 1, MPI_LONG_LONG, MPI_SUM, MPI_COMM_WORLD);
    if (rank == 0)
        print_results(&task, wrong);
    free(buf);
    pattern_destroy(&p);
    MPI_Finalize();
    return wrong != 0;
}
