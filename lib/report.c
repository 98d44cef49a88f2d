/* What was done with a file: keys of its info, and a line of JSON when it is closed. */
#include "internal.h"

#include "port/log.h"
#include "tcio/report.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

static void set_number(MPI_Info info, const char *key, int64_t n)
{
    char text[CIO_HINT_NUMBER_MAX];

    snprintf(text, sizeof(text), "%" PRId64, n);
    MPI_Info_set(info, key, text);
}

static void set_counts(struct file *f, MPI_Info info)
{
    int64_t count[CIO_TCIO_COUNTS];
    char key[64];
    double waiting;

    cio_tcio_counts(f->space, f->tcio, count, &waiting);
    for (int i = 0; i < CIO_TCIO_COUNTS; i++) {
        snprintf(key, sizeof(key), "tamio_tcio_%s", cio_tcio_count_name[i]);
        set_number(info, key, count[i]);
    }
}

int tcioi_report_info(struct file *f, MPI_Info *out)
{
    int immediate = f->settings.immediate;
    MPI_Info info;
    int rc = tcioi_class_of_mpi(MPI_File_get_info(f->file, &info));

    if (rc != MPI_SUCCESS)
        return rc;
    set_number(info, "tcio_segment_size", f->settings.segment_size);
    set_number(info, "tcio_segments", f->settings.segments);
    MPI_Info_set(info, "tcio_visibility", immediate ? "immediate" : "sync");
    MPI_Info_set(info, "romio_visibility_immediate", immediate ? "true" : "false");
    set_counts(f, info);
    *out = info;
    return MPI_SUCCESS;
}

static void append(const struct file *f, const char *line, size_t length)
{
    const char *path = f->hints.stats;
    int to_stderr = strcmp(path, "stderr") == 0;
    int out =
        to_stderr ? STDERR_FILENO : open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);

    if (out < 0 || write(out, line, length) != (ssize_t)length)
        cio_log(CIO_LOG_NOTICE, "file %s: hint romio_tam_stats: cannot write to %s: %s", f->name,
                path, strerror(errno));
    if (out >= 0 && !to_stderr)
        close(out);
}

static void print(const struct file *f, const struct cio_tcio_report *report)
{
    char line[16384];
    int n = cio_tcio_json(report, line, sizeof(line) - 1);

    if (n > (int)sizeof(line) - 2)
        n = (int)sizeof(line) - 2;
    line[n++] = '\n';
    append(f, line, (size_t)n);
}

void tcioi_report_stats(struct file *f)
{
    int64_t mine[CIO_TCIO_COUNTS], sum[CIO_TCIO_COUNTS], most[CIO_TCIO_COUNTS];
    struct cio_tcio_report report = {.file = f->name,
                                     .call = "tcio_close",
                                     .ranks = f->size,
                                     .segment_size = f->settings.segment_size,
                                     .segments = f->settings.segments,
                                     .immediate = f->settings.immediate,
                                     .sum = sum,
                                     .most = most};
    double waiting;

    if (f->hints.stats[0] == '\0')
        return;
    cio_tcio_counts(f->space, f->tcio, mine, &waiting);
    if (MPI_Reduce(mine, sum, CIO_TCIO_COUNTS, MPI_INT64_T, MPI_SUM, 0, f->comm) == MPI_SUCCESS &&
        MPI_Reduce(mine, most, CIO_TCIO_COUNTS, MPI_INT64_T, MPI_MAX, 0, f->comm) == MPI_SUCCESS &&
        MPI_Reduce(&waiting, &report.waiting, 1, MPI_DOUBLE, MPI_MAX, 0, f->comm) == MPI_SUCCESS &&
        f->rank == 0)
        print(f, &report);
}
