/* One write for each record, so that those of several ranks do not mix. */
#include "stats.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "job.h"
#include "port/log.h"
#include "real.h"
#include "store.h"
#include "tcio/report.h"

#define RECORD_MAX 16384 /* a path with many bytes escaped, and the rest */

static const char *wanted(void)
{
    const char *to = getenv("TAMIO_POSIX_STATS");

    return to != NULL && *to != '\0' ? to : NULL;
}

static void emit(const char *text, size_t len)
{
    const char *to = wanted();
    int fd = STDERR_FILENO;

    if (strcmp(to, "stderr") != 0)
        fd = real()->openat(AT_FDCWD, to, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
    if (fd < 0 || real()->write(fd, text, len) != (ssize_t)len)
        cio_log(CIO_LOG_NOTICE, "posix: TAMIO_POSIX_STATS: cannot write to %s: %s", to,
                strerror(errno));
    if (fd >= 0 && fd != STDERR_FILENO)
        real()->close(fd);
}

static void report(struct cio_tcio_report *r, const char *why)
{
    const struct cio_space_settings *settings = job_settings();
    char text[RECORD_MAX], more[256];
    int len;

    if (why != NULL)
        snprintf(more, sizeof(more), "\"rank\": %d, \"passed_through\": \"%s\"", job_rank(), why);
    else
        snprintf(more, sizeof(more), "\"rank\": %d, \"passed_through\": null", job_rank());
    r->ranks = 1;
    r->segment_size = settings->segment_size;
    r->segments = settings->segments;
    r->immediate = settings->immediate;
    r->more = more;
    len = cio_tcio_json(r, text, sizeof(text) - 1);
    if (len >= (int)sizeof(text) - 1)
        return;
    text[len] = '\n';
    emit(text, (size_t)len + 1);
}

void stats_file(const char *key, const struct cio_tcio *f, const char *why)
{
    int64_t count[CIO_TCIO_COUNTS];
    struct cio_tcio_report r = {.call = "close", .sum = count, .most = count};
    char *path;

    if (wanted() == NULL)
        return;
    path = strndup(key, path_store_path_length(key));
    if (path == NULL)
        return;
    r.file = path;
    cio_tcio_counts(job_space(), f, count, &r.waiting);
    report(&r, why);
    free(path);
}

void stats_end(void)
{
    int64_t count[CIO_TCIO_COUNTS];
    struct cio_tcio_report r = {.file = "*", .call = "MPI_Finalize", .sum = count, .most = count};

    if (wanted() == NULL)
        return;
    cio_space_counts(job_space(), count, &r.waiting);
    report(&r, NULL);
}
