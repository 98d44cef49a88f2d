/*
 * ad_tam: one JSON line for each collective call, where romio_tam_stats says.
 *
 * Joining the ranks' numbers is collective and blocks. A blocking call does so at its end.
 * Nonblocking ones may not, and are over in another order on every rank; so each leaves its numbers
 * in a list, in the order of the calls, which is the same on all ranks. What is over everywhere is
 * reported at the next blocking call, set_view or set_info, and at the latest when the file is
 * closed: then all is.
 */

#include "ad_tam.h"
#include "port/log.h"

#include <fcntl.h>
#include <unistd.h>

void ADIOI_TAM_Append(ADIO_File fd, const char *line, size_t length)
{
    const char *path = ADIOI_TAM_File_of(fd)->hints.stats;
    int out = strcmp(path, "stderr") == 0 ? STDERR_FILENO :
        open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);

    if (out < 0 || write(out, line, length) != (ssize_t) length)
        cio_log(CIO_LOG_NOTICE, "file %s: hint romio_tam_stats: cannot write to %s: %s",
                fd->filename, path, strerror(errno));
    if (out >= 0 && out != STDERR_FILENO)
        close(out);
}

static int is_wanted(const ADIOI_TAM_File * layer)
{
    return layer->hints.stats[0] != '\0';
}

/* How requests went from ranks to the leaders of their groups. */
static const char *transport_used(const ADIOI_TAM_Call * call, const struct cio_stats *sum)
{
    if (sum->count[CIO_COUNT_SHARED] > 0)
        return "shm";
    if (sum->declined || call->grouping->team->nleaders == call->grouping->team->nodes->nranks)
        return "none";
    return "p2p";
}

static void print(ADIO_File fd, const ADIOI_TAM_Call * call, const struct cio_stats *sum,
                  const struct cio_stats *most, double least)
{
    ADIOI_TAM_File *layer = ADIOI_TAM_File_of(fd);
    struct cio_report report = {.file = fd->filename,
        .call = call->name,
        .hint = layer->forced ? "tam:" : ADIOI_TAM_Mode_word(layer),
        .transport = transport_used(call, sum),
        .nodes = layer->nodes != NULL ? layer->nodes->nnodes : 1,
        .unit = call->unit,
        .response_min = least
    };
    char line[8192];
    int n;

    MPI_Comm_size(fd->comm, &report.ranks);
    report.response_mean = sum->time[CIO_TIME_RESPONSE] / report.ranks;
    if (call->grouping != NULL) {
        report.groups_per_node = call->grouping->per_node;
        report.leaders = call->grouping->team->nleaders;
        report.aggregators = call->grouping->team->naggr;
    }
    n = cio_stats_json(&report, sum, most, line, sizeof(line) - 1);
    if (n > (int) sizeof(line) - 2)
        n = (int) sizeof(line) - 2;
    line[n++] = '\n';
    ADIOI_TAM_Append(fd, line, (size_t) n);
}

/* The numbers of all ranks, as they are joined. */
typedef struct {
    int64_t count_sum[CIO_COUNTS], count_most[CIO_COUNTS];
    double time_sum[CIO_TIMES], time_most[CIO_TIMES];
    double least;               /* of the response times */
} numbers;

static void join_numbers(void *into, const void *from, int bytes)
{
    numbers *all = into;
    const numbers *one = from;

    (void) bytes;
    for (int i = 0; i < CIO_COUNTS; i++) {
        all->count_sum[i] += one->count_sum[i];
        all->count_most[i] = cio_max64(all->count_most[i], one->count_most[i]);
    }
    for (int i = 0; i < CIO_TIMES; i++) {
        all->time_sum[i] += one->time_sum[i];
        if (one->time_most[i] > all->time_most[i])
            all->time_most[i] = one->time_most[i];
    }
    if (one->least < all->least)
        all->least = one->least;
}

/* Joins the ranks' numbers on rank 0, which prints them. */
static void report(ADIO_File fd, const ADIOI_TAM_Call * call)
{
    struct cio_stats sum = call->stats, most = call->stats;
    numbers n = {.least = sum.time[CIO_TIME_RESPONSE] };
    int rank;

    memcpy(n.count_sum, sum.count, sizeof(sum.count));
    memcpy(n.count_most, sum.count, sizeof(sum.count));
    memcpy(n.time_sum, sum.time, sizeof(sum.time));
    memcpy(n.time_most, sum.time, sizeof(sum.time));
    ADIOI_TAM_Gather(fd, &n, sizeof(n), join_numbers);
    MPI_Comm_rank(fd->comm, &rank);
    if (rank != 0)
        return;
    memcpy(sum.count, n.count_sum, sizeof(sum.count));
    memcpy(most.count, n.count_most, sizeof(most.count));
    memcpy(sum.time, n.time_sum, sizeof(sum.time));
    memcpy(most.time, n.time_most, sizeof(most.time));
    print(fd, call, &sum, &most, n.least);
}

static ADIOI_TAM_Call describe(ADIO_File fd, const char *name)
{
    return (ADIOI_TAM_Call) {.name = name,
        .grouping = ADIOI_TAM_File_of(fd)->grouping,
        .unit = ADIOI_TAM_Unit(fd)
    };
}

void ADIOI_TAM_Report(ADIO_File fd, const struct cio_stats *stats, int write)
{
    ADIOI_TAM_Call call;

    ADIOI_TAM_Report_kept(fd);
    if (!is_wanted(ADIOI_TAM_File_of(fd)))
        return;
    call = describe(fd, write ? "write" : "read");
    call.stats = *stats;
    report(fd, &call);
}

ADIOI_TAM_Call *ADIOI_TAM_Promise(ADIO_File fd, const char *name)
{
    ADIOI_TAM_File *layer = ADIOI_TAM_File_of(fd);
    ADIOI_TAM_Call *call;

    if (!is_wanted(layer))
        return NULL;
    call = ADIOI_TAM_Note_get(fd);
    *call = describe(fd, name);
    if (call->grouping != NULL)
        ADIOI_TAM_Grouping_use(call->grouping);
    if (layer->unreported == NULL)
        layer->unreported = call;
    else
        layer->last_unreported->next = call;
    layer->last_unreported = call;
    return call;
}

void ADIOI_TAM_Keep(ADIOI_TAM_Call * call, const struct cio_stats *stats)
{
    if (call == NULL)
        return;
    call->stats = *stats;
    __atomic_store_n(&call->over, 1, __ATOMIC_RELEASE); /* maybe by another thread */
}

/* The lists of all ranks have the same calls, but not the same ones of them are over. */
static int count_over(ADIO_File fd)
{
    int64_t over = 0;

    for (ADIOI_TAM_Call * c = ADIOI_TAM_File_of(fd)->unreported;
         c != NULL && __atomic_load_n(&c->over, __ATOMIC_ACQUIRE); c = c->next)
        over++;
    ADIOI_TAM_Least(fd, &over, 1);
    return (int) over;
}

void ADIOI_TAM_Report_kept(ADIO_File fd)
{
    ADIOI_TAM_File *layer = ADIOI_TAM_File_of(fd);

    if (layer->unreported == NULL)
        return;
    for (int n = count_over(fd); n > 0; n--) {
        ADIOI_TAM_Call *call = layer->unreported;

        report(fd, call);
        layer->unreported = call->next;
        if (call->grouping != NULL)
            ADIOI_TAM_Grouping_drop(call->grouping);
        ADIOI_Free(call);
    }
}
