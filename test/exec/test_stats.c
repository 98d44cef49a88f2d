/*
 * What an operation counts, on a pattern whose numbers are known, and the line that tells it.
 *
 *   node 0: ranks 0, 1, and the only aggregator     node 1: ranks 2, 3
 */
#include <stdlib.h>
#include <string.h>

#include "../plan/check.h"
#include "world.h"

enum { RANKS = 4, PIECE = 8, PIECES = 100 };

static void make_request(struct world *w, int rank, int write)
{
    int64_t off = (int64_t)rank * PIECE, len = PIECE, zero = 0, size = PIECE * PIECES;
    struct cio_flat *view, *mem;

    if (cio_flat_create(&off, &len, 1, RANKS * PIECE, &view) != 0 ||
        cio_flat_create(&zero, &size, 1, size, &mem) != 0)
        exit(1);
    w->request[rank] = (struct cio_request){
        .write = write, .file = view, .mem = mem, .bytes = size, .buf = calloc(1, (size_t)size)};
}

static void free_request(const struct cio_request *req)
{
    cio_flat_destroy((struct cio_flat *)req->file);
    cio_flat_destroy((struct cio_flat *)req->mem);
    free(req->buf);
}

static int64_t sum(const struct world *w, enum cio_count c)
{
    int64_t n = 0;

    for (int r = 0; r < w->size; r++)
        n += w->stats[r].count[c];
    return n;
}

/* Half of the data crosses over, whatever the direction; the rest of what does is metadata. */
static void check_counts(const struct world *w)
{
    int64_t half = RANKS / 2 * PIECE * PIECES;

    CHECK(sum(w, CIO_COUNT_BYTES) == 2 * half);
    CHECK(sum(w, CIO_COUNT_PIECES) == RANKS * PIECES);
    CHECK(sum(w, CIO_COUNT_SEGMENTS) == 2 * PIECES);
    CHECK(sum(w, CIO_COUNT_INTER_DATA) == half);
    CHECK(sum(w, CIO_COUNT_INTER_META) > 0 && sum(w, CIO_COUNT_INTER_META) < half / 2);
    CHECK(sum(w, CIO_COUNT_INTER_DATA) + sum(w, CIO_COUNT_INTER_META) ==
          sum(w, CIO_COUNT_INTER_BYTES));
    CHECK(sum(w, CIO_COUNT_FILE_CALLS) == 1 && sum(w, CIO_COUNT_FILE_LOCKS) == 0);
    CHECK(!w->stats[0].declined && strcmp(w->stats[0].why, "it was asked for") == 0);
}

static int run(struct world *w, int write)
{
    for (int r = 0; r < RANKS; r++)
        make_request(w, r, write);
    int rc = world_run(w);
    for (int r = 0; r < RANKS; r++)
        free_request(&w->request[r]);
    return rc;
}

/* Left alone, because the ranks do not interleave. */
static void check_declined(struct world *w)
{
    struct cio_request *req = &w->request[0];

    memset(w->request, 0, RANKS * sizeof(*req));
    make_request(w, 0, 1);
    w->settings.tam = CIO_AUTOMATIC;
    CHECK(world_run(w) == 0);
    free_request(req);
    for (int r = 0; r < RANKS; r++) {
        CHECK(w->stats[r].declined);
        CHECK(strcmp(w->stats[r].why, "ranks do not interleave") == 0);
        CHECK(w->moved[r] == 0);
    }
}

static int tells(const struct world *w, const char *text)
{
    struct cio_report report = {.file = "a\"b\n",
                                .call = "iread",
                                .hint = "automatic",
                                .transport = "shm",
                                .ranks = RANKS,
                                .nodes = 2,
                                .groups_per_node = 3,
                                .unit = 4096};
    char line[8192];
    int n = cio_stats_json(&report, &w->stats[0], &w->stats[0], line, sizeof(line));

    return n == (int)strlen(line) && strstr(line, text) != NULL;
}

/* 2 s for 4 rounds of all aggregators: half a second each; ranks took 1.25 s in the mean. */
static void check_achieved(void)
{
    struct cio_report report = {
        .file = "", .call = "", .hint = "", .transport = "", .response_mean = 1.25};
    struct cio_stats sum = {.schedule_why = "so", .predicted_offset = 4, .predicted = 2};
    char line[8192];

    CHECK(cio_stats_achieved(&report, &sum) < 0);
    cio_stats_json(&report, &sum, &sum, line, sizeof(line));
    CHECK(strstr(line, "achieved") == NULL);
    sum.count[CIO_COUNT_ROUNDS] = 4;
    sum.time[CIO_TIME_SERVING] = 2;
    cio_stats_json(&report, &sum, &sum, line, sizeof(line));
    CHECK(strstr(line, "\"schedule\": {\"order\": \"offset\", \"why\": \"so\", "
                       "\"predicted_by_offset\": 4.000, \"predicted\": 2.000, "
                       "\"achieved\": 2.500}") != NULL);
    CHECK(strstr(line, "\"serving\": 2.000000") != NULL);
}

/* Only the aggregator serves. */
static void check_serving(const struct world *w)
{
    for (int r = 0; r < RANKS; r++)
        CHECK((w->stats[r].time[CIO_TIME_SERVING] > 0) ==
              (w->stats[r].count[CIO_COUNT_ROUNDS] > 0));
}

int main(void)
{
    int node_of[RANKS] = {0, 0, 1, 1};
    struct world w;

    world_create(&w, RANKS, node_of, 1, 1, 1);
    w.settings.merge = CIO_ENABLE;
    for (int write = 1; write >= 0; write--) {
        CHECK(run(&w, write) == 0);
        check_counts(&w);
        check_serving(&w);
    }
    check_achieved();
    CHECK(tells(&w, "{\"file\": \"a\\\"b\\u000a\", \"call\": \"iread\", "));
    CHECK(tells(&w, "\"groups_per_node\": 3, "));
    CHECK(tells(&w, "\"transport\": \"shm\", \"hint\": \"automatic\", \"chosen\": \"tam\", "
                    "\"why\": \"it was asked for\""));
    CHECK(tells(&w, "\"inter_node_data_bytes\": ") && tells(&w, "\"inter_metadata\": "));
    check_declined(&w);
    CHECK(tells(&w, "\"chosen\": \"below\", \"why\": \"ranks do not interleave\""));
    world_destroy(&w);
    return check_done("stats");
}
