/* Response times in stripe-times, exactly. */
#include "plan/respond.h"

#include <errno.h>
#include <stdlib.h>

/* Marks the positions that anybody touches. */
static void mark_touched(const struct cio_pattern *p, uint32_t *room, uint32_t *touched)
{
    for (int r = 0; r < p->rows; r++) {
        const uint32_t *pos = cio_pattern_positions(p, &p->row[r], room);

        for (uint32_t i = 0; i < p->row[r].count; i++)
            touched[pos[i]] = 1;
    }
}

/* Turns marks into the time at which each position has been served. */
static void serve(uint32_t npos, const uint32_t *order, uint32_t *time)
{
    uint32_t now = 0;

    for (uint32_t i = 0; i < npos; i++) {
        uint32_t pos = order ? order[i] : i;

        now += time[pos];
        time[pos] = now;
    }
}

static void raise_responses(const struct cio_pattern *p, const uint32_t *time, uint32_t *room,
                            uint32_t *response)
{
    for (int r = 0; r < p->rows; r++) {
        const struct cio_pattern_row *row = &p->row[r];
        const uint32_t *pos = cio_pattern_positions(p, row, room);
        uint32_t latest = response[row->rank];

        for (uint32_t i = 0; i < row->count; i++)
            latest = time[pos[i]] > latest ? time[pos[i]] : latest;
        response[row->rank] = latest;
    }
}

int cio_respond(const struct cio_pattern *p, const uint32_t *order, uint32_t *response)
{
    uint32_t *time = calloc((size_t)p->npos + 1, sizeof(*time));
    uint32_t *room = malloc(((size_t)p->npos + 1) * sizeof(*room));
    int rc = time && room ? 0 : -ENOMEM;

    if (!rc) {
        mark_touched(p, room, time);
        serve(p->npos, order, time);
        raise_responses(p, time, room, response);
    }
    free(room);
    free(time);
    return rc;
}

struct cio_response cio_response_of(const uint32_t *response, int nranks)
{
    struct cio_response out = {0, 0};

    for (int r = 0; r < nranks; r++) {
        out.mean += response[r];
        out.max = response[r] > out.max ? response[r] : out.max;
    }
    out.mean /= nranks;
    return out;
}
