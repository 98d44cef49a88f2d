/* The hint table, and the one parser and printer that serve all of its rows. */
#include "plan/hints.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define FIELD(name) offsetof(struct cio_hints, name)
#define SWITCH_WORDS {"automatic", "enable", "disable"}

#define GIB ((int64_t)1 << 30)
#define MAX_BYTES ((int64_t)1 << 50)
#define TABLE_LENGTH (sizeof(table) / sizeof(table[0]))

/* clang-format off */
static const struct cio_hint table[] = {
    { .name = "romio_tam", .kind = CIO_HINT_CHOICE, .field = FIELD(tam),
      .words = SWITCH_WORDS, .initial = "automatic",
      .help = "two-layer aggregation: requests are merged inside a node before they leave it" },
    { .name = "romio_tam_aggrs_per_node", .kind = CIO_HINT_NUMBER, .field = FIELD(aggrs_per_node),
      .words = {"auto"}, .initial = "auto", .min = 1, .max = 1 << 20,
      .help = "local aggregators on each node" },
    { .name = "romio_tam_transport", .kind = CIO_HINT_CHOICE, .field = FIELD(transport),
      .words = {"auto", "shm", "p2p"}, .initial = "auto",
      .help = "how requests travel inside a node: POSIX shared memory or messages" },
    { .name = "romio_tam_memory_limit", .kind = CIO_HINT_NUMBER, .field = FIELD(memory_limit),
      .initial = "268435456", .min = 1 << 20, .max = MAX_BYTES,
      .help = "bytes of each rank for intra-node data; larger requests are served in rounds" },
    { .name = "romio_tam_stats", .kind = CIO_HINT_TEXT, .field = FIELD(stats),
      .words = {"stderr"}, .prefix = "",
      .help = "where one JSON line for each collective call is appended" },
    { .name = "cb_domain", .kind = CIO_HINT_CHOICE, .field = FIELD(domain),
      .words = {"auto", "even", "aligned", "cyclic", "group-cyclic"},
      .initial = "auto",
      .help = "how the file is divided among the aggregators" },
    { .name = "cb_pipeline", .kind = CIO_HINT_CHOICE, .field = FIELD(pipeline),
      .words = SWITCH_WORDS, .initial = "automatic",
      .help = "rounds of communication and file access overlap" },
    { .name = "cb_pipeline_unit", .kind = CIO_HINT_NUMBER, .field = FIELD(pipeline_unit),
      .words = {"stripe"}, .initial = "stripe", .min = 4096, .max = GIB,
      .help = "bytes of one sub-buffer, and so of one round" },
    { .name = "cb_pipeline_depth", .kind = CIO_HINT_NUMBER, .field = FIELD(pipeline_depth),
      .words = {"auto"}, .initial = "auto", .min = 1, .max = 4096,
      .help = "sub-buffers in use at once, as far as cb_buffer_size has room for them (64 at most)" },
    { .name = "cb_pipeline_io", .kind = CIO_HINT_CHOICE, .field = FIELD(pipeline_io),
      .words = {"auto", "blocking", "thread", "uring"}, .initial = "auto",
      .help = "how file access runs beside communication" },
    { .name = "cb_schedule", .kind = CIO_HINT_CHOICE, .field = FIELD(schedule),
      .words = {"offset", "automatic", "mdf", "lw-mdf", "gw-mdf", "first-finish"},
      .initial = "offset",
      .help = "the order in which an aggregator serves its stripes" },
    { .name = "cb_early_return", .kind = CIO_HINT_CHOICE, .field = FIELD(early_return),
      .words = SWITCH_WORDS, .initial = "automatic",
      .help = "a process returns as soon as its own part is done" },
    { .name = "cb_placement", .kind = CIO_HINT_CHOICE, .field = FIELD(placement),
      .words = {"spread", "romio", "cost"}, .initial = "spread",
      .help = "which ranks become global aggregators" },
    { .name = "cb_topology", .kind = CIO_HINT_TEXT, .field = FIELD(topology),
      .words = {"auto", "flat", "slurm"}, .prefix = "file:", .initial = "auto", .inert = "auto",
      .help = "where the shape of the network is known from" },
    { .name = "cb_tier", .kind = CIO_HINT_TEXT, .field = FIELD(tier),
      .words = {"auto", "dram", "hbm"}, .prefix = "file:", .initial = "auto", .inert = "auto",
      .help = "the kind of memory that holds aggregation buffers" },
    { .name = "cb_persistency", .kind = CIO_HINT_CHOICE, .field = FIELD(persistency),
      .words = {"none", "job"}, .initial = "none", .inert = "none",
      .help = "whether aggregated data outlives the call" },
    { .name = "romio_lustre_overstriping", .kind = CIO_HINT_NUMBER, .field = FIELD(overstriping),
      .initial = "1", .min = 1, .max = 2000,
      .help = "stripes on each OST of a file created on Lustre" },
    { .name = "romio_lustre_group_lock", .kind = CIO_HINT_CHOICE, .field = FIELD(group_lock),
      .words = {"disable", "enable"}, .initial = "disable",
      .help = "a Lustre group lock is held during a blocking collective write that is served here" },
    { .name = "romio_tcio", .kind = CIO_HINT_CHOICE, .field = FIELD(tcio),
      .words = {"disable", "enable"}, .initial = "disable",
      .help = "independent calls are turned into collective I/O" },
    { .name = "tcio_segment_size", .kind = CIO_HINT_NUMBER, .field = FIELD(tcio_segment_size),
      .words = {"stripe"}, .initial = "stripe", .min = 4096, .max = GIB, .power = 1,
      .help = "bytes of one second-level segment" },
    { .name = "tcio_segments", .kind = CIO_HINT_NUMBER, .field = FIELD(tcio_segments),
      .words = {"auto"}, .initial = "auto", .min = 1, .max = 1 << 20,
      .help = "second-level segments on each rank" },
    { .name = "tcio_visibility", .kind = CIO_HINT_CHOICE, .field = FIELD(tcio_visibility),
      .words = {"auto", "sync", "immediate"}, .initial = "auto",
      .help = "when other processes see a write: after a sync or close, or as soon as it returns" },
};
/* clang-format on */

const struct cio_hint *cio_hint_table(size_t *n)
{
    *n = TABLE_LENGTH;
    return table;
}

const char *cio_schedule_name(enum cio_schedule schedule)
{
    size_t i = 0;

    while (table[i].field != FIELD(schedule))
        i++;
    return table[i].words[schedule];
}

static int64_t *number_of(const struct cio_hint *hint, struct cio_hints *h)
{
    return (int64_t *)((char *)h + hint->field);
}

static int word_index(const struct cio_hint *hint, const char *value)
{
    for (int i = 0; hint->words[i] != NULL; i++)
        if (strcmp(hint->words[i], value) == 0)
            return i;
    return -1;
}

/* Digits and an optional K, M or G; -EINVAL for anything else, -ERANGE past 2^62. */
static int parse_number(const char *s, int64_t *out)
{
    const int64_t most = (int64_t)1 << 62;
    int64_t v = 0;

    if (!isdigit((unsigned char)*s))
        return -EINVAL;
    for (; isdigit((unsigned char)*s); s++) {
        if (v > (most - 9) / 10)
            return -ERANGE;
        v = v * 10 + (*s - '0');
    }
    int shift = *s == 'K' ? 10 : *s == 'M' ? 20 : *s == 'G' ? 30 : 0;
    if (shift)
        s++;
    if (*s != '\0')
        return -EINVAL;
    if (v > most >> shift)
        return -ERANGE;
    *out = v << shift;
    return 0;
}

/* The words, range or path form that a hint takes, as in "auto, shm, p2p". */
static void print_allowed(const struct cio_hint *hint, char *out, size_t size)
{
    const char *sep = "";
    int n = 0;

    for (int i = 0; hint->words[i] != NULL; i++, sep = ", ")
        n += snprintf(out + n, size - (size_t)n, "%s%s", sep, hint->words[i]);
    if (hint->kind == CIO_HINT_NUMBER)
        snprintf(out + n, size - (size_t)n, "%s%s%" PRId64 " to %" PRId64, sep,
                 hint->power ? "a power of two, " : "", hint->min, hint->max);
    else if (hint->kind == CIO_HINT_TEXT)
        snprintf(out + n, size - (size_t)n, "%s%sPATH", sep, hint->prefix);
}

static void explain(const struct cio_hint *hint, const char *value, char *why)
{
    char allowed[256];

    print_allowed(hint, allowed, sizeof(allowed));
    snprintf(why, CIO_HINT_VALUE_MAX, "hint %s: value \"%.64s%s\" ignored, expected %s", hint->name,
             value, strlen(value) > 64 ? "..." : "", allowed);
}

/* What `value` means for a number or a choice: the field's new content. */
static int parse_scalar(const struct cio_hint *hint, const char *value, int64_t *out)
{
    int word = word_index(hint, value);
    int64_t v;

    if (word >= 0) {
        *out = word;
        return 0;
    }
    if (hint->kind == CIO_HINT_CHOICE || parse_number(value, &v) != 0)
        return -EINVAL;
    if (v < hint->min || v > hint->max || (hint->power && (v & (v - 1)) != 0))
        return -EINVAL;
    *out = v;
    return 0;
}

static int check_text(const struct cio_hint *hint, const char *value)
{
    size_t n = strlen(hint->prefix);

    if (word_index(hint, value) >= 0)
        return 0;
    if (strncmp(value, hint->prefix, n) != 0 || value[n] == '\0')
        return -EINVAL;
    return strlen(value) < CIO_HINT_VALUE_MAX ? 0 : -EINVAL;
}

static void store_text(const struct cio_hint *hint, const char *value, struct cio_hints *h)
{
    char *field = (char *)h + hint->field;

    memset(field, 0, CIO_HINT_VALUE_MAX);
    memcpy(field, value, strlen(value));
}

int cio_hint_parse(const struct cio_hint *hint, const char *value, struct cio_hints *h, char *why)
{
    int64_t v = 0;
    int rc = hint->kind == CIO_HINT_TEXT ? check_text(hint, value) : parse_scalar(hint, value, &v);

    if (rc != 0) {
        explain(hint, value, why);
        return rc;
    }
    if (hint->inert != NULL)
        return 0;
    if (hint->kind == CIO_HINT_TEXT)
        store_text(hint, value, h);
    else
        *number_of(hint, h) = v;
    return 0;
}

void cio_hints_init(struct cio_hints *h)
{
    memset(h, 0, sizeof(*h));
    for (size_t i = 0; i < TABLE_LENGTH; i++) {
        const char *value = table[i].inert != NULL ? table[i].inert : table[i].initial;

        if (value == NULL || (table[i].words[0] != NULL && table[i].kind != CIO_HINT_TEXT &&
                              strcmp(value, table[i].words[0]) == 0))
            continue; /* which is 0 */
        if (table[i].kind == CIO_HINT_TEXT)
            store_text(&table[i], value, h);
        else
            parse_scalar(&table[i], value, number_of(&table[i], h));
    }
}

const char *cio_hint_text(const struct cio_hint *hint, const struct cio_hints *h, char *room)
{
    const char *field = (const char *)h + hint->field;
    int64_t v;

    if (hint->kind == CIO_HINT_TEXT)
        return field[0] != '\0' ? field : NULL;
    memcpy(&v, field, sizeof(v));
    if (hint->kind == CIO_HINT_CHOICE || (v == 0 && hint->words[0] != NULL))
        return hint->words[v];
    snprintf(room, CIO_HINT_NUMBER_MAX, "%" PRId64, v);
    return room;
}

/* FNV-1a, a step for each byte. */
static uint64_t digest_bytes(uint64_t digest, const void *bytes, size_t n)
{
    const unsigned char *p = bytes;

    for (size_t i = 0; i < n; i++)
        digest = (digest ^ p[i]) * 1099511628211u;
    return digest;
}

uint64_t cio_hints_digest(const struct cio_hints *h)
{
    uint64_t digest = 14695981039346656037u;

    for (size_t i = 0; i < TABLE_LENGTH; i++) {
        const char *field = (const char *)h + table[i].field;

        digest = digest_bytes(digest, field,
                              table[i].kind == CIO_HINT_TEXT ? strlen(field) + 1 : sizeof(int64_t));
    }
    return digest;
}
