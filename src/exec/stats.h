/*
 * What one collective call did: counts and times, as in the figures of the TAM paper.
 *
 * Every rank counts for itself. For a report the ranks' numbers are joined: counts are summed, and
 * the largest of any rank is kept beside; of times the largest counts.
 */
#ifndef CIO_EXEC_STATS_H
#define CIO_EXEC_STATS_H

#include <stddef.h>
#include <stdint.h>

#include "plan/hints.h"

enum cio_count {
    CIO_COUNT_BYTES,          /* asked for */
    CIO_COUNT_PIECES,         /* contiguous pieces asked for, */
    CIO_COUNT_SEGMENTS,       /* and after merging and coalescing in the groups */
    CIO_COUNT_METADATA_BYTES, /* their code */
    CIO_COUNT_WINDOWS,        /* intra-node rounds */
    CIO_COUNT_MESSAGES,       /* between leaders and aggregators, */
    CIO_COUNT_MESSAGE_BYTES,
    CIO_COUNT_INTER_MESSAGES, /* and those of them that left the node */
    CIO_COUNT_INTER_BYTES,
    CIO_COUNT_INTER_DATA,     /* of these bytes: the data, */
    CIO_COUNT_INTER_META,     /* and all else */
    CIO_COUNT_RECEIVES,       /* data messages at aggregators, */
    CIO_COUNT_ROUND_RECEIVES, /* the most in one round (only the largest means something) */
    CIO_COUNT_ROUNDS,
    CIO_COUNT_TOUCHES,    /* pairs of a rank and a round that it touches, */
    CIO_COUNT_DEGREE,     /* and the most ranks of one round; both only where an order was sought */
    CIO_COUNT_DEPTH,      /* rounds that an aggregator may serve at once */
    CIO_COUNT_FILE_CALLS, /* transfers, */
    CIO_COUNT_FILE_LOCKS, /* and locks and unlocks beside */
    CIO_COUNT_FILE_BYTES,
    CIO_COUNT_COPIED_BYTES,  /* between user memory and messages, by members, */
    CIO_COUNT_PLACED_BYTES,  /* and to or from rounds, by aggregators */
    CIO_COUNT_EARLY,         /* ranks that returned before the end */
    CIO_COUNT_SHARED,        /* ranks that used shared memory */
    CIO_COUNT_PEAK_BYTES,    /* buffers, not those in shared memory */
    CIO_COUNT_SEGMENT_BYTES, /* shared memory */
    CIO_COUNTS
};

enum cio_time {
    CIO_TIME_SETUP,     /* until all ranks have agreed */
    CIO_TIME_SCHEDULE,  /* agreeing on the order of rounds, */
    CIO_TIME_FLATTEN,   /* intra-node: metadata, */
    CIO_TIME_MERGE,     /* merge, */
    CIO_TIME_COPY,      /* copy */
    CIO_TIME_POSITIONS, /* inter-node: metadata, until an aggregator knows who touches what, */
    CIO_TIME_EXCHANGE,  /* data: a leader's messages, with their lists, on their way, */
    CIO_TIME_PLACE,     /* merge: decoding lists and laying data in place at aggregators */
    CIO_TIME_FILE,      /* file access */
    CIO_TIME_SERVING,   /* from an aggregator's first round to the end of its last */
    CIO_TIME_RESPONSE,  /* until the rank could return */
    CIO_TIME_TOTAL,
    CIO_TIMES
};

struct cio_stats {
    int64_t count[CIO_COUNTS];
    double time[CIO_TIMES];     /* seconds */
    int declined;               /* the call was left to others, */
    int alone;                  /* and each rank had best access the file by itself; */
    int beside;                 /* or must, since other operations on the file are under way */
    int small;                  /* one rank has served it with the first messages */
    const char *why;            /* why it was, or was not; NULL: there was nothing to decide */
    enum cio_schedule schedule; /* in which order rounds were served, */
    const char *schedule_why;   /* and why; NULL: it did not come to that */
    double predicted_offset;    /* mean response of ranks by offset, in rounds, if it is known: */
    double predicted;           /* and in that order; else -1 */
};

static inline void cio_count_add(struct cio_stats *s, enum cio_count c, int64_t n)
{
    s->count[c] += n;
}

static inline void cio_count_most(struct cio_stats *s, enum cio_count c, int64_t n)
{
    if (s->count[c] < n)
        s->count[c] = n;
}

/* What a report says besides the numbers. */
struct cio_report {
    const char *file;
    const char *call;      /* "write" or "read"; "iwrite" or "iread" */
    const char *hint;      /* what romio_tam says */
    const char *transport; /* inside nodes */
    int ranks, nodes, groups_per_node, leaders, aggregators;
    int64_t unit;
    double response_min, response_mean; /* of all ranks, in seconds; the longest is in `most` */
};

/*
 * Mean response of ranks in rounds, as `predicted` is: in what aggregators took for a round, in the
 * mean of all rounds. It counts from the beginning of the call, and whoever had to stay to its end.
 * -1, if there were no rounds.
 */
double cio_stats_achieved(const struct cio_report *report, const struct cio_stats *sum);

/*
 * One line of JSON, without the newline, into `line`; returns what snprintf would. `sum` and `most`
 * are the joined numbers of all ranks.
 */
int cio_stats_json(const struct cio_report *report, const struct cio_stats *sum,
                   const struct cio_stats *most, char *line, size_t size);

#endif
