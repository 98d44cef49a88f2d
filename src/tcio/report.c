/* What was done with a file, as one line of JSON. */
#include "tcio/report.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

const char *const cio_tcio_count_name[CIO_TCIO_COUNTS] = {
    "writes",        "reads",          "bytes_written", "bytes_read",
    "blocks",        "direct_writes",  "direct_reads",  "pushes",
    "local_batches", "remote_records", "remote_bytes",  "file_writes",
    "file_bytes",    "file_reads",     "evictions",     "memory",
};

static void number(const struct cio_tcio_stats *file, const struct cio_tcio_stats *part,
                   int64_t memory, int64_t count[CIO_TCIO_COUNTS])
{
    const int64_t all[CIO_TCIO_COUNTS] = {
        file->writes,          file->reads,
        file->bytes_written,   file->bytes_read,
        file->blocks,          file->direct_writes,
        file->direct_reads,    file->pushes,
        file->local_transfers, file->remote_transfers,
        file->remote_bytes,    part->file_writes,
        part->file_bytes,      part->file_reads,
        part->evictions,       memory,
    };

    for (int i = 0; i < CIO_TCIO_COUNTS; i++)
        count[i] = all[i];
}

void cio_tcio_counts(const struct cio_space *space, const struct cio_tcio *f,
                     int64_t count[CIO_TCIO_COUNTS], double *waiting)
{
    struct cio_tcio_stats file, part;

    cio_tcio_stats(f, &file);
    cio_space_stats(space, &part);
    number(&file, &part, cio_tcio_memory(f), count);
    *waiting = part.waiting;
}

void cio_space_counts(const struct cio_space *space, int64_t count[CIO_TCIO_COUNTS],
                      double *waiting)
{
    const struct cio_tcio_stats nothing = {0};
    struct cio_tcio_stats part;

    cio_space_stats(space, &part);
    number(&nothing, &part, 0, count);
    *waiting = part.waiting;
}

struct out {
    char *p;
    size_t size, used;
};

__attribute__((format(printf, 2, 3))) static void put(struct out *o, const char *format, ...)
{
    size_t left = o->used < o->size ? o->size - o->used : 0;
    va_list args;

    va_start(args, format);
    o->used += (size_t)vsnprintf(o->p + (left > 0 ? o->used : 0), left, format, args);
    va_end(args);
}

static void put_text(struct out *o, const char *s)
{
    for (; *s != '\0'; s++) {
        if (*s == '"' || *s == '\\')
            put(o, "\\%c", *s);
        else if ((unsigned char)*s < 0x20)
            put(o, "\\u%04x", (unsigned char)*s);
        else
            put(o, "%c", *s);
    }
}

static void put_counts(struct out *o, const char *name, const int64_t *count)
{
    put(o, ", \"%s\": {", name);
    for (int i = 0; i < CIO_TCIO_COUNTS; i++)
        put(o, "%s\"%s\": %" PRId64, i > 0 ? ", " : "", cio_tcio_count_name[i], count[i]);
    put(o, "}");
}

int cio_tcio_json(const struct cio_tcio_report *r, char *line, size_t size)
{
    struct out o = {line, size, 0};

    put(&o, "{\"file\": \"");
    put_text(&o, r->file);
    put(&o, "\", \"call\": \"%s\", \"ranks\": %d, \"chosen\": \"tcio\"", r->call, r->ranks);
    put(&o, ", \"segment_size\": %" PRId64 ", \"segments\": %" PRId64 ", \"visibility\": \"%s\"",
        r->segment_size, r->segments, r->immediate ? "immediate" : "sync");
    put_counts(&o, "sum", r->sum);
    put_counts(&o, "max", r->most);
    put(&o, ", \"seconds\": {\"waiting\": %.6f}", r->waiting);
    if (r->more != NULL)
        put(&o, ", %s", r->more);
    put(&o, "}");
    return (int)o.used;
}
