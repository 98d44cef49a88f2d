/*
 * ad_tam: one JSON line for each blocking collective call, where romio_tam_stats says. Joining the
 * ranks' numbers is collective, so nonblocking calls, which may not be, are not reported.
 */

#include "ad_tam.h"
#include "port/log.h"

#include <fcntl.h>
#include <unistd.h>

static void append(ADIO_File fd, const char *path, const char *line, size_t length)
{
    int out = strcmp(path, "stderr") == 0 ? STDERR_FILENO :
        open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);

    if (out < 0 || write(out, line, length) != (ssize_t) length)
        cio_log(CIO_LOG_NOTICE, "file %s: hint romio_tam_stats: cannot write to %s: %s",
                fd->filename, path, strerror(errno));
    if (out >= 0 && out != STDERR_FILENO)
        close(out);
}

void ADIOI_TAM_Report(ADIO_File fd, const struct cio_stats *stats, int write, int64_t unit)
{
    ADIOI_TAM_File *layer = ADIOI_TAM_File_of(fd);
    const struct cio_team *team = layer->grouping->team;
    struct cio_stats sum = *stats, most = *stats;
    struct cio_report report = {.file = fd->filename,
        .call = write ? "write" : "read",
        .ranks = layer->nodes->nranks,
        .nodes = layer->nodes->nnodes,
        .leaders = team->nleaders,
        .aggregators = team->naggr,
        .unit = unit
    };
    char line[8192];
    int n, rank;

    if (layer->hints.stats[0] == '\0')
        return;
    MPI_Comm_rank(fd->comm, &rank);
    MPI_Reduce(stats->count, sum.count, CIO_COUNTS, MPI_INT64_T, MPI_SUM, 0, fd->comm);
    MPI_Reduce(stats->count, most.count, CIO_COUNTS, MPI_INT64_T, MPI_MAX, 0, fd->comm);
    MPI_Reduce(stats->time, most.time, CIO_TIMES, MPI_DOUBLE, MPI_MAX, 0, fd->comm);
    if (rank != 0)
        return;
    n = cio_stats_json(&report, &sum, &most, line, sizeof(line) - 1);
    if (n > (int) sizeof(line) - 2)
        n = (int) sizeof(line) - 2;
    line[n++] = '\n';
    append(fd, layer->hints.stats, line, (size_t) n);
}
