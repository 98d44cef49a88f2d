/* ad_tam, TCIO: one JSON line for each file, where romio_tam_stats says. */

#include "ad_tam_tcio.h"
#include "tcio/report.h"

/* The numbers of all ranks, as they are joined. */
typedef struct {
    int64_t sum[CIO_TCIO_COUNTS], most[CIO_TCIO_COUNTS];
    int64_t calls[ADIOI_TAM_TCIO_REASONS];
    double waiting;
} numbers;

static void join_numbers(void *into, const void *from, int bytes)
{
    numbers *all = into;
    const numbers *one = from;

    (void) bytes;
    for (int i = 0; i < CIO_TCIO_COUNTS; i++) {
        all->sum[i] += one->sum[i];
        all->most[i] = cio_max64(all->most[i], one->most[i]);
    }
    for (int i = 0; i < ADIOI_TAM_TCIO_REASONS; i++)
        all->calls[i] += one->calls[i];
    if (one->waiting > all->waiting)
        all->waiting = one->waiting;
}

static void count(const ADIOI_TAM_Tcio * t, numbers * n)
{
    memset(n, 0, sizeof(*n));
    memcpy(n->calls, t->calls, sizeof(n->calls));
    if (t->space != NULL)
        cio_tcio_counts(t->space, t->file, n->sum, &n->waiting);
    memcpy(n->most, n->sum, sizeof(n->most));
}

/* "taken": 12, "passed": {"it is collective": 3} */
static void describe_calls(const numbers * n, char *text, size_t size)
{
    const char *sep = "";
    size_t used;

    used = (size_t) snprintf(text, size, "\"taken\": %lld, \"passed\": {",
                             (long long) n->calls[ADIOI_TAM_TCIO_TAKEN]);
    for (int i = ADIOI_TAM_TCIO_TAKEN + 1; i < ADIOI_TAM_TCIO_REASONS; i++) {
        if (n->calls[i] == 0)
            continue;
        used += (size_t) snprintf(text + used, size - used, "%s\"%s\": %lld", sep,
                                  ADIOI_TAM_Tcio_why(i), (long long) n->calls[i]);
        sep = ", ";
    }
    snprintf(text + used, size - used, "}");
}

static void print(ADIO_File fd, const numbers * n)
{
    const struct cio_space_settings *set = &ADIOI_TAM_File_of(fd)->tcio->set;
    char line[8192], calls[1024];
    struct cio_tcio_report report = {.file = fd->filename,
        .call = "tcio",
        .segment_size = set->segment_size,
        .segments = set->segments,
        .immediate = set->immediate,
        .sum = n->sum,
        .most = n->most,
        .waiting = n->waiting,
        .more = calls
    };
    int length;

    MPI_Comm_size(fd->comm, &report.ranks);
    describe_calls(n, calls, sizeof(calls));
    length = cio_tcio_json(&report, line, sizeof(line) - 1);
    if (length > (int) sizeof(line) - 2)
        length = (int) sizeof(line) - 2;
    line[length++] = '\n';
    ADIOI_TAM_Append(fd, line, (size_t) length);
}

void ADIOI_TAM_Tcio_report(ADIO_File fd)
{
    const ADIOI_TAM_File *layer = ADIOI_TAM_File_of(fd);
    numbers n;
    int rank;

    if (layer->hints.stats[0] == '\0')
        return;
    count(layer->tcio, &n);
    ADIOI_TAM_Gather(fd, &n, sizeof(n), join_numbers);
    MPI_Comm_rank(fd->comm, &rank);
    if (rank == 0)
        print(fd, &n);
}
