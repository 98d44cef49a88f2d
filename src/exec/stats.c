/* Statistics as one line of JSON. */
#include "exec/stats.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

static const char *const count_name[CIO_COUNTS] = {
    [CIO_COUNT_BYTES] = "bytes",
    [CIO_COUNT_PIECES] = "pieces",
    [CIO_COUNT_SEGMENTS] = "segments",
    [CIO_COUNT_METADATA_BYTES] = "metadata_bytes",
    [CIO_COUNT_WINDOWS] = "windows",
    [CIO_COUNT_MESSAGES] = "messages",
    [CIO_COUNT_MESSAGE_BYTES] = "message_bytes",
    [CIO_COUNT_INTER_MESSAGES] = "inter_node_messages",
    [CIO_COUNT_INTER_BYTES] = "inter_node_bytes",
    [CIO_COUNT_INTER_DATA] = "inter_node_data_bytes",
    [CIO_COUNT_INTER_META] = "inter_node_metadata_bytes",
    [CIO_COUNT_RECEIVES] = "receives",
    [CIO_COUNT_ROUND_RECEIVES] = "receives_per_round",
    [CIO_COUNT_ROUNDS] = "rounds",
    [CIO_COUNT_TOUCHES] = "touches",
    [CIO_COUNT_DEGREE] = "degree",
    [CIO_COUNT_DEPTH] = "depth",
    [CIO_COUNT_FILE_CALLS] = "file_calls",
    [CIO_COUNT_FILE_LOCKS] = "file_locks",
    [CIO_COUNT_FILE_BYTES] = "file_bytes",
    [CIO_COUNT_COPIED_BYTES] = "copied_bytes",
    [CIO_COUNT_PLACED_BYTES] = "placed_bytes",
    [CIO_COUNT_EARLY] = "early_ranks",
    [CIO_COUNT_SHARED] = "sharing_ranks",
    [CIO_COUNT_PEAK_BYTES] = "peak_bytes",
    [CIO_COUNT_SEGMENT_BYTES] = "segment_bytes",
};

static const char *const time_name[CIO_TIMES] = {
    [CIO_TIME_SETUP] = "setup",
    [CIO_TIME_SCHEDULE] = "schedule",
    [CIO_TIME_FLATTEN] = "intra_metadata",
    [CIO_TIME_MERGE] = "intra_merge",
    [CIO_TIME_COPY] = "intra_copy",
    [CIO_TIME_POSITIONS] = "inter_metadata",
    [CIO_TIME_EXCHANGE] = "inter_data",
    [CIO_TIME_PLACE] = "inter_merge",
    [CIO_TIME_FILE] = "file",
    [CIO_TIME_SERVING] = "serving",
    [CIO_TIME_RESPONSE] = "response",
    [CIO_TIME_TOTAL] = "total",
};

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

/* A string with what JSON does not take as it is escaped. */
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

double cio_stats_achieved(const struct cio_report *r, const struct cio_stats *sum)
{
    double serving = sum->time[CIO_TIME_SERVING];

    return serving > 0 ? r->response_mean * (double)sum->count[CIO_COUNT_ROUNDS] / serving : -1;
}

static void put_schedule(struct out *o, const struct cio_report *r, const struct cio_stats *s)
{
    double achieved = cio_stats_achieved(r, s);

    if (s->schedule_why == NULL)
        return;
    put(o, ", \"schedule\": {\"order\": \"%s\", \"why\": \"%s\"", cio_schedule_name(s->schedule),
        s->schedule_why);
    if (s->predicted >= 0)
        put(o, ", \"predicted_by_offset\": %.3f, \"predicted\": %.3f", s->predicted_offset,
            s->predicted);
    if (achieved >= 0)
        put(o, ", \"achieved\": %.3f", achieved);
    put(o, "}");
}

int cio_stats_json(const struct cio_report *r, const struct cio_stats *sum,
                   const struct cio_stats *most, char *line, size_t size)
{
    struct out o = {line, size, 0};

    put(&o, "{\"file\": \"");
    put_text(&o, r->file);
    put(&o, "\", \"call\": \"%s\", \"ranks\": %d, \"nodes\": %d, ", r->call, r->ranks, r->nodes);
    put(&o,
        "\"groups_per_node\": %d, \"leaders\": %d, \"aggregators\": %d, \"unit\": %" PRId64 ", ",
        r->groups_per_node, r->leaders, r->aggregators, r->unit);
    put(&o, "\"transport\": \"%s\", \"hint\": \"%s\", \"chosen\": \"%s\"", r->transport, r->hint,
        sum->declined ? "below" : "tam");
    if (sum->why != NULL)
        put(&o, ", \"why\": \"%s\"", sum->why);
    put(&o, ", \"sum\": {");
    for (int i = 0; i < CIO_COUNTS; i++)
        put(&o, "%s\"%s\": %" PRId64, i > 0 ? ", " : "", count_name[i], sum->count[i]);
    put(&o, "}, \"max\": {");
    for (int i = 0; i < CIO_COUNTS; i++)
        put(&o, "%s\"%s\": %" PRId64, i > 0 ? ", " : "", count_name[i], most->count[i]);
    put(&o, "}, \"seconds\": {");
    for (int i = 0; i < CIO_TIMES; i++)
        put(&o, "%s\"%s\": %.6f", i > 0 ? ", " : "", time_name[i], most->time[i]);
    put(&o, "}, \"response\": {\"min\": %.6f, \"mean\": %.6f, \"max\": %.6f}", r->response_min,
        r->response_mean, most->time[CIO_TIME_RESPONSE]);
    put_schedule(&o, r, sum);
    put(&o, "}");
    return (int)o.used;
}
