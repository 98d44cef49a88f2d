/*
 * Times collective writes and reads of one pattern, and checks what was read.
 *
 * Usage: mpiexec -n RANKS pattern NAME FILE REPEATS [HINT=VALUE,... ...]
 *
 * Each further argument is one set of hints ("-" for none); all sets are timed in turn, REPEATS
 * times, in this one run. Every time is that of the slowest rank, in seconds from a start in common
 * (all ranks must be on one machine):
 *   result NAME SET write T T T ...
 *   result NAME SET read T T T ...
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "patterns.h"

#define MAX_REPEATS 100
#define MARGIN 0.1 /* seconds; a rank that hears of the start too late begins at once */

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

    MPI_Barrier(MPI_COMM_WORLD);
    start = MPI_Wtime() + MARGIN;
    MPI_Bcast(&start, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
    left = start - MPI_Wtime();
    if (left > 0)
        usleep((useconds_t)(left * 1e6));
    return start;
}

/* Time from the common start until the slowest rank has done its transfer. */
static double transfer(const struct pattern *p, const char *path, MPI_Info info, char *buf,
                       int write)
{
    int mode = write ? MPI_MODE_CREATE | MPI_MODE_RDWR : MPI_MODE_RDONLY;
    MPI_File file;
    double start, mine, slowest;

    check(MPI_File_open(MPI_COMM_WORLD, path, mode, info, &file), "open");
    check(MPI_File_set_view(file, 0, MPI_BYTE, p->view, "native", MPI_INFO_NULL), "set_view");
    start = begin_together();
    if (write)
        check(MPI_File_write_all(file, buf, 1, p->memory, MPI_STATUS_IGNORE), "write_all");
    else
        check(MPI_File_read_all(file, buf, 1, p->memory, MPI_STATUS_IGNORE), "read_all");
    mine = MPI_Wtime() - start;
    MPI_Allreduce(&mine, &slowest, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    check(MPI_File_close(&file), "close");
    return slowest;
}

static void print_times(const char *name, const char *set, const char *what, const double *t, int n)
{
    printf("result %s %s %s", name, set, what);
    for (int i = 0; i < n; i++)
        printf(" %.5f", t[i]);
    printf("\n");
}

int main(int argc, char **argv)
{
    static const char *none[] = {"-"};
    double writes[8][MAX_REPEATS], reads[8][MAX_REPEATS];
    long long wrong = 0, all_wrong;
    struct pattern p;
    int rank, ranks;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    int repeats = argc > 3 ? atoi(argv[3]) : 0, sets = argc > 4 ? argc - 4 : 1;
    if (repeats < 1 || repeats > MAX_REPEATS || sets > 8 ||
        pattern_create(argv[1], rank, ranks, &p) != 0) {
        for (int i = 0; rank == 0 && pattern_list[i].name != NULL; i++)
            fprintf(stderr, "%-12s %s\n", pattern_list[i].name, pattern_list[i].help);
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    const char *const *set = argc > 4 ? (const char *const *)argv + 4 : none;
    char *buf = malloc((size_t)p.room + 1);
    if (buf == NULL)
        MPI_Abort(MPI_COMM_WORLD, 1);
    for (int r = 0; r < repeats; r++) {
        for (int s = 0; s < sets; s++) {
            MPI_Info info = parse_hints(set[s]);

            if (rank == 0)
                MPI_File_delete(argv[2], MPI_INFO_NULL);
            pattern_fill(&p, rank, buf);
            MPI_Barrier(MPI_COMM_WORLD);
            writes[s][r] = transfer(&p, argv[2], info, buf, 1);
            memset(buf, 0, (size_t)p.room);
            reads[s][r] = transfer(&p, argv[2], info, buf, 0);
            wrong += pattern_wrong(&p, rank, buf);
            if (info != MPI_INFO_NULL)
                MPI_Info_free(&info);
        }
    }
    MPI_Allreduce(&wrong, &all_wrong, 1, MPI_LONG_LONG, MPI_SUM, MPI_COMM_WORLD);
    for (int s = 0; rank == 0 && s < sets; s++) {
        print_times(p.name, set[s], "write", writes[s], repeats);
        print_times(p.name, set[s], "read", reads[s], repeats);
    }
    if (rank == 0)
        printf("wrong %lld\n", all_wrong);
    free(buf);
    pattern_destroy(&p);
    MPI_Finalize();
    return all_wrong != 0;
}
