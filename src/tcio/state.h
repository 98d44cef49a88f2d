/*
 * What the files of this folder share: the memory of a rank, and what a process keeps of a space.
 *
 * The region of a rank (level 2), of which others reach what is exposed:
 *
 *   exposed  | counters | inbox, a ring | answer |
 *            | home: locks, slots | tails | bits of each slot | segment of each slot |
 *            | node: locks, files |     only used in the region of a node's first rank
 *
 * Processes of a node share all of their regions. Locks are taken in this order, and none is held
 * while MPI is called: serve (who empties inboxes; one at a time on a node), files, slot (the bytes
 * of one segment), table (which segments a rank's slots hold), and the process's own.
 */
#ifndef CIO_TCIO_STATE_H
#define CIO_TCIO_STATE_H

#include <pthread.h>
#include <stdint.h>

#include "port/onesided.h"
#include "port/store.h"
#include "tcio/level1.h"
#include "tcio/place.h"
#include "tcio/space.h"

#define CIO_TCIO_COUNTERS 4096

/* The beginning of each region. Who writes a word: others by add, others by store, or the node. */
struct cio_region {
    uint64_t tail;                       /* add: bytes of the ring that were reserved, ever */
    uint64_t consumed;                   /* store: the last answer that was taken */
    uint64_t used;                       /* store: the epoch in which level 2 was used last */
    uint64_t head;                       /* node: bytes of the ring that are free again, ever */
    uint64_t answer;                     /* node: the record that the answer belongs to */
    uint64_t counter[CIO_TCIO_COUNTERS]; /* add: cio_tcio_count() */
};

/* An answer: the bytes asked for follow. */
struct cio_answer {
    int64_t error, bytes;
    int64_t cut; /* some of the bytes lie behind the end of the file */
};

/* A file, as a node knows it. */
struct cio_tcio_entry {
    uint32_t taken, generation;
    int32_t opens;     /* processes of this node that have it open */
    int32_t forgotten; /* it may go, once none has */
    int32_t error;     /* of a write that was accepted before */
    int64_t deposits;  /* processes of this node that marked the file as being in level 2 */
    uint64_t hash;
    char path[CIO_TCIO_PATH];
};

struct cio_slot {
    pthread_mutex_t lock;
    int entry;      /* the file, -1: none */
    int backed;     /* by memory; -1: there is none */
    int pins;       /* who has it in use */
    int dirty;      /* some bits are set: bytes that are to be written */
    int loaded;     /* all other bytes are the file's, which ended at `end` then */
    int64_t number; /* of the segment in the file */
    int64_t filled; /* bits that are set, at most */
    int64_t end;
    uint64_t looked; /* when it was last used */
};

struct cio_home {
    uint64_t cores; /* the set that the rank may run on, as of cio_cores() */
    pthread_mutex_t table;
    uint64_t clock;
    uint64_t scanned; /* bytes of the ring that were looked at, ever; under serve */
    struct cio_slot slot[];
};

struct cio_node {
    pthread_mutex_t serve, files;
    int32_t lost; /* the error of data that no file could be found for */
    struct cio_tcio_entry entry[CIO_TCIO_FILES];
};

/* A process's store for an entry. */
struct cio_tcio_store {
    struct cio_store *store;
    uint32_t generation;
    int owned; /* made by settings.open */
    int busy;  /* in use by so many threads */
    unsigned flags;
};

struct cio_sizes {
    int64_t ring, answer, record;          /* bytes; the largest record */
    int64_t slots;                         /* of each rank */
    int64_t home, tails, bits, data, node; /* where these begin in a region */
    int64_t exposed, region;               /* how long both are */
    int64_t level1, staging;               /* of each process */
};

struct cio_space {
    struct cio_onesided *os;
    struct cio_space_settings settings;
    struct cio_sizes sizes;
    int node, here, first; /* this node: how many ranks, and the first */
    int crowded;           /* ranks of this node outnumber the cores */
    int *ranks_here;
    int *first_of;      /* each node's first rank */
    int *proxy;         /* for each node, the rank whose inbox this process writes to */
    uint64_t *head;     /* of that rank's ring, as last seen */
    uint64_t epoch;     /* flushes, from 1 */
    uint64_t announced; /* the epoch in which this process last said that level 2 is in use */
    int touched;        /* level 2 has something of this process, since the last flush */
    char *staging;      /* a record to be sent */
    char *answer;       /* an answer that was taken */
    int (*meanwhile)(void *self); /* goes on while a question waits for room: takes answers */
    void *meanwhile_self;
    char *scratch;        /* a record of an inbox that is being served */
    pthread_mutex_t lock; /* stores */
    struct cio_tcio_store store[CIO_TCIO_FILES];
    struct cio_tcio *files;
    struct cio_tcio_stats stats;
    pthread_t thread;
    int threaded, stop;
};

/* A lazy read. */
struct cio_wish {
    int64_t off, len;
    char *buf;
};

struct cio_tcio {
    struct cio_space *space;
    struct cio_tcio *next;
    struct cio_store *store;
    char *path;
    int entry;
    struct cio_wlog log;
    struct cio_wish *wish;
    int64_t wishes, wishes_allocated, wished; /* their number and bytes */
    int64_t wish_lo, wish_hi;
    int64_t sent_lo, sent_hi;     /* what went to level 2 since the last flush or drain */
    int64_t direct_lo, direct_hi; /* what went around it */
    int64_t read_at, wrote_at;    /* where the last read and write ended */
    int holding;                  /* cio_tcio_hold() */
    int look;                     /* level 2 may have what others wrote and closed */
    int marked;                   /* this process has said that level 2 has something of it */
    char *window;                 /* of the file, for reads that follow each other */
    int64_t window_off, window_len;
    uint64_t window_epoch;
    struct cio_tcio_stats stats;
};

static inline struct cio_region *cio_region_of(const struct cio_space *s, int rank)
{
    return cio_onesided_local(s->os, rank);
}

static inline struct cio_home *cio_home_of(const struct cio_space *s, int rank)
{
    return (void *)((char *)cio_onesided_local(s->os, rank) + s->sizes.home);
}

static inline struct cio_node *cio_node_of(const struct cio_space *s)
{
    return (void *)((char *)cio_onesided_local(s->os, s->first) + s->sizes.node);
}

static inline int cio_is_here(const struct cio_space *s, int rank)
{
    return s->os->node_of[rank] == s->node;
}

/* Counters are added to by the service thread, too. */
static inline void cio_tally(int64_t *counter, int64_t by)
{
    __atomic_fetch_add(counter, by, __ATOMIC_RELAXED);
}

/* space.c: the worst error of any rank; collective, also a barrier */
int cio_space_agree(struct cio_space *s, int rc);

/* files.c: the files that a node knows, and this process's stores for them */

uint64_t cio_path_hash(const char *path);
/* The entry of a path, made if `make`. -ENOENT, -ENFILE, -ENAMETOOLONG. */
int cio_entry_find(struct cio_space *s, const char *path, int make, int *out);
/* The same for one process more that has it open, until it has closed it. */
int cio_entry_open(struct cio_space *s, const char *path, int *out);
void cio_entry_close(struct cio_space *s, int entry);
/* It goes, now or when the last process of the node closes it, unless something comes for it. */
void cio_entry_forget(struct cio_space *s, int entry);
/* Says that a range could not be written; and keeps the first error of a file. */
void cio_entry_say(struct cio_space *s, int entry, int error, int64_t lo, int64_t hi);
void cio_entry_fail(struct cio_space *s, int entry, int error, int64_t lo, int64_t hi);
/* The error that was kept, once. */
int cio_entry_error(struct cio_space *s, int entry);
/* This process's store for an entry, until it is put back. */
int cio_entry_store(struct cio_space *s, int entry, struct cio_store **out, unsigned *flags);
void cio_entry_store_put(struct cio_space *s, int entry);
void cio_entry_register(struct cio_space *s, int entry, struct cio_store *store, unsigned flags);
void cio_entry_unregister(struct cio_space *s, int entry);
void cio_stores_destroy(struct cio_space *s);

/* slots.c: the segments that a rank of this node holds */

struct cio_held {
    struct cio_slot *slot;
    struct cio_home *home;
    uint64_t *bits;
    char *data;
    int64_t base; /* offset of its first byte in the file */
};

/* Of this rank: backed and ready for others. -ENOSPC. */
int cio_slots_init(struct cio_space *s);
/*
 * The slot of a segment, pinned and locked until released. Without `make`, -ENOENT if no slot has
 * it. -ENOMEM if its owner has no memory for any slot: then the segment is only in the file.
 * Another segment may have to be written out to make room: its error.
 */
int cio_slot_take(struct cio_space *s, int entry, int64_t number, int make, struct cio_held *out);
void cio_slot_release(struct cio_held *h);
/* Bytes of the segment become `from`'s, and are dirty. */
void cio_slot_fill(struct cio_space *s, struct cio_held *h, int64_t off, const char *from,
                   int64_t len);
/* All bytes are known afterwards. */
int cio_slot_load(struct cio_space *s, struct cio_held *h);
/* Whether slot has all these bytes; and copies out of it what it has that is newer than the file */
int cio_slot_has(const struct cio_held *h, int64_t off, int64_t len);
void cio_slot_overlay(const struct cio_held *h, int64_t off, int64_t len, char *to);
/* Where the bytes of a file end that the slots of this node have for it; 0 if there are none. */
int64_t cio_slots_end(struct cio_space *s, int entry);

/* A write that somebody else's read-modify-write cannot undo, where there are locks. */
int cio_write_locked(struct cio_store *store, const void *buf, int64_t len, int64_t off);
int cio_slots_have(struct cio_space *s, int entry);
enum cio_empty {
    CIO_EMPTY_WRITE, /* an error is kept with the file, too */
    CIO_EMPTY_QUIET, /* it is only returned (and logged) */
    CIO_EMPTY_DROP,  /* nothing is written */
};
/*
 * Writes out, in the order of the file, and empties the slots of these ranks of the node. Only of
 * one file, or with -1 of all. The first error.
 */
int cio_slots_empty(struct cio_space *s, const int *rank, int ranks, int entry, enum cio_empty how);

/* walk.c: through pieces of segments of this node, holding the slot of one segment at a time */

struct cio_walk {
    struct cio_space *space;
    int entry;
    struct cio_store *store; /* instead of an entry's, if `entry` is negative: only in the file */
    int dense; /* reads want so much of each segment that all of it is read from the file */
    int holds;
    struct cio_held held;
};

void cio_walk_begin(struct cio_space *s, int entry, struct cio_walk *w);
/* Before reading: so many pieces and bytes, over so much of the file. */
void cio_walk_expect(struct cio_walk *w, int64_t span, int64_t pieces, int64_t bytes);
int cio_walk_fill(struct cio_walk *w, int64_t off, const char *from, int64_t len);
/* *cut is set if bytes at the end of the piece lie behind the end of the file. */
int cio_walk_read(struct cio_walk *w, int64_t off, char *to, int64_t len, int64_t *cut);
void cio_walk_end(struct cio_walk *w);

/*
 * Waiting for others: lets MPI and this node's inboxes go on, and sleeps longer and longer. To look
 * at something of another node wakes somebody there, so that is due less and less often, too.
 */
struct cio_patience {
    int turns;
    double since, due, pause;
};
void cio_patience_start(struct cio_patience *p);
int cio_patience_due(struct cio_patience *p);
void cio_patience_nap(struct cio_space *s, struct cio_patience *p);
/* Seconds so far. */
double cio_patience_spent(const struct cio_patience *p);
void cio_patience_end(struct cio_space *s, struct cio_patience *p);

/* inbox.c: records for other nodes, and those of others for this one */

enum cio_record_kind {
    CIO_RECORD_WRITE = 1, /* code and data */
    CIO_RECORD_READ,      /* code; the answer is data */
    CIO_RECORD_DRAIN,     /* write out */
    CIO_RECORD_FORGET,    /* the same, and nobody has it open */
    CIO_RECORD_DISCARD,   /* drop */
    CIO_RECORD_END,       /* tell where the bytes end that the node has */
};

struct cio_record {
    uint64_t mark;   /* its place in the ring + 1, once it is all there */
    uint64_t length; /* all of it, a multiple of 8, a block at most */
    uint32_t kind, state;
    int64_t path, code, data; /* bytes of each part, in this order behind the head */
    int64_t span;             /* of what a question asks for */
    int64_t base;             /* what the code's offsets are relative to */
};

/* The record is laid in space->staging, which it fills up to sizes.record. */
char *cio_record_begin(struct cio_space *s, enum cio_record_kind kind, const char *path);
/* Sends it to a node, and waits for room in the inbox there; complete at the next flush. */
int cio_record_send(struct cio_space *s, int node, uint64_t *id);
/* Whether a question has been answered; asks again only if that is due. */
int cio_answer_ready(struct cio_space *s, int node, uint64_t id, struct cio_patience *p,
                     int *ready);
/* Takes the answer, of which `most` bytes come to `to`. Its error, if there is one. */
int cio_answer_take(struct cio_space *s, int node, uint64_t id, struct cio_answer *answer, char *to,
                    int64_t most);
/* Sends the record and waits for an answer without bytes. */
int cio_record_ask(struct cio_space *s, int node, struct cio_answer *answer);
/* Everything sent to a node is complete. */
int cio_records_flush(struct cio_space *s, int node);
/* Carries out what lies in this node's inboxes, as far as nobody else is at it. How many. */
int cio_inbox_serve(struct cio_space *s);
/* What was reserved in this node's inboxes when this was called has been carried out. */
void cio_inbox_settle(struct cio_space *s);
/* Nothing is left in them. */
int cio_inbox_empty(const struct cio_space *s);
/* DRAIN, FORGET, DISCARD or END for this node. FORGET tells the marks of the file, END where. */
int cio_node_ask(struct cio_space *s, enum cio_record_kind kind, const char *path, int64_t *told);

#endif
