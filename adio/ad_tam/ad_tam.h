/*
 * ad_tam: a driver that lies over another one.
 *
 * ADIO_Open calls ADIOI_TAM_Attach for every file. It copies the function table of the driver that
 * ROMIO chose, replaces the slots that tamio serves, and points fd->fns at the copy; everything
 * else falls through to the driver below. ADIO_Close calls ADIOI_TAM_Detach.
 *
 *   fd->fns ──▶ ┌─ ADIOI_TAM_File ─────────────┐
 *               │ fns    (copy, slots replaced)│
 *               │ below ─────────────────────────▶ ADIO_UFS_operations, ...
 *               │ hints, ...                   │
 *               └──────────────────────────────┘
 *
 * No field of ADIOI_FileD is needed: the state is found from fd->fns, its first member.
 */

#ifndef AD_TAM_H_INCLUDED
#define AD_TAM_H_INCLUDED

#include "ad_tam_compat.h"
#include "exec/op.h"
#include "plan/hints.h"
#include "plan/layout.h"

#include <pthread.h>

/*
 * Groups and aggregators under one set of hints and one layout. A file keeps the last few of them,
 * since hints may alternate. Those that it has dropped stay as long as nonblocking calls, or the
 * reports on them, use them.
 */
typedef struct ADIOI_TAM_Grouping {
    struct ADIOI_TAM_Grouping *older;
    int users;                  /* the file and such calls */
    struct cio_team *team;
    struct cio_segment segment; /* of blocking calls, of which there is one at a time */
    uint64_t digest;            /* of the hints */
    int64_t memory_limit;       /* as they had it, or what there is address space for */
    int per_node;               /* groups on each node */
    int complained;             /* that shared memory cannot be had */
    struct cio_store *store;    /* on aggregators; */
    const char *access;         /* what these stores are, or the least of them is */
    struct cio_pace pace;       /* of the store */
    long cores;                 /* online; 0: not asked for yet */
    struct cio_layout layout;   /* of the file, as it was known then */
} ADIOI_TAM_Grouping;

/* What rank 0 tells all others. */
typedef struct {
    uint64_t token;
    struct cio_layout layout;
    int64_t block;
    int64_t room;               /* address space, the least of any rank */
    int aggregators_given;
    int same;                   /* their hints */
    int error;
    int node_of[];              /* the first time; and who shares cores (ADIOI_TAM_CROWDED) */
} ADIOI_TAM_News;
#define ADIOI_TAM_CROWDED (1 << 30)

/* What rank 0 is told by each rank the first time, and then, of the first three, the least of all. */
typedef struct {
    int64_t digest, minus_digest;       /* of the hints */
    int64_t room;               /* address space */
    int64_t cores;              /* that it may run on, */
    uint64_t set;               /* and which (cio_cores) */
} ADIOI_TAM_Said;

/* A collective call, for its report. */
typedef struct ADIOI_TAM_Call {
    struct ADIOI_TAM_Call *next;        /* nonblocking: the one after it */
    const char *name;           /* "write", "iread", ... */
    ADIOI_TAM_Grouping *grouping;       /* NULL: it never came to that */
    int64_t unit;
    int over;                   /* nonblocking: its numbers are there */
    struct cio_stats stats;
} ADIOI_TAM_Call;

/*
 * Who divides the file: the engine; ROMIO's own way; nobody, each rank accesses it by itself, or
 * (PLAIN) does so and writes nothing that it was not asked to.
 */
typedef enum { ADIOI_TAM_SERVED, ADIOI_TAM_BELOW, ADIOI_TAM_ALONE, ADIOI_TAM_PLAIN } ADIOI_TAM_Way;

/* What was chosen, as MPI_File_get_info tells it. Words are never freed, and compared by address. */
typedef struct {
    int64_t per_node;
    const char *transport;
    int64_t unit;
    int64_t depth;
    const char *io;
    int declined;
    const char *why;            /* NULL: there was no call yet */
    const char *schedule;
    const char *schedule_why;
    ADIOI_TAM_Way way;
} ADIOI_TAM_Choice;

/* What a rank has yet to complete of a call that it has returned from (ad_tam_early.c). */
typedef struct ADIOI_TAM_Early {
    pthread_mutex_t lock;       /* of all this: not all of ROMIO's calls have a lock, get_size has none */
    struct cio_op *op;          /* NULL: nothing */
    struct cio_comm *comm;
    ADIOI_TAM_Call *call;       /* for the report */
    int error;                  /* found then, and not delivered yet: a negative errno */
    ADIO_File fd;               /* whose it is, */
    struct ADIOI_TAM_Early *next;       /* and the next one that this process has */
} ADIOI_TAM_Early;

/* What a call cannot do without, for when there is no memory (ad_tam_reserve.c). */
typedef struct {
    struct cio_op *op;
    struct cio_comm *comm;
    struct ADIOI_TAM_Pending *pending;  /* a nonblocking call */
    ADIOI_TAM_Call *note;       /* a call whose statistics are wanted */
} ADIOI_TAM_Reserve;

typedef struct ADIOI_TAM_File {
    ADIOI_Fns fns;              /* first: fd->fns points here */
    ADIOI_Fns *below;           /* table of the driver underneath */
    char *fsname;               /* names both drivers */
    int agreed;                 /* all ranks are known to have the same hints */
    int forced;                 /* opened as tam:, or ROMIO_FSTYPE_FORCE=tam: */
    struct cio_hints hints;     /* effective values, the same on every rank */
    unsigned int warned;        /* rows of the hint table already complained about */

    uint64_t token;             /* of this file, in names; the same on every rank */
    unsigned int segments;      /* named so far */
    ADIOI_TAM_News *news;       /* room for what rank 0 tells, so that everybody can be told */
    ADIOI_TAM_Said *said;       /* room for what this rank is told by others, until they are mapped */
    int mapped;                 /* all have been told who is on which node */
    int crowded;                /* ranks share the cores that this one may run on */
    struct cio_nodes *nodes;    /* made from that with the first groups */
    struct cio_layout layout;   /* found out at the same time; the same on every rank, */
    int look_again;             /* as is that something was written where it had no objects, */
    int64_t block;              /* as is the file system's block, in bytes; 0: unknown */
    int64_t room;               /* address space that any rank has left, told at the same time */
    int64_t largest;            /* bytes of all ranks in the largest blocking call so far */
    int aggregators_given;      /* as the user says, on rank 0: a number, -1: ROMIO's, 0: nothing */
    int unlocked;               /* a group lock could not be had by all: do not ask again */

    ADIOI_TAM_Grouping *grouping;       /* the one in use; then those used before it */
    unsigned int calls;         /* collective calls so far */

    ADIOI_TAM_Reserve reserve;
    ADIOI_TAM_Choice shown;     /* in fd->info now */
    ADIOI_TAM_Early early;
    struct ADIOI_TAM_Tcio *tcio;        /* NULL: independent calls are not taken (ad_tam_tcio.h) */
    ADIOI_TAM_Call *unreported; /* nonblocking calls, in the order in which they were made, */
    ADIOI_TAM_Call *last_unreported;    /* and the last of them */
} ADIOI_TAM_File;

/* The layer of an attached file. */
static inline ADIOI_TAM_File *ADIOI_TAM_File_of(ADIO_File fd)
{
    return (ADIOI_TAM_File *) fd->fns;
}

/*
 * SetInfo slot: lets the driver below take its hints, then takes ours and puts the effective value
 * of every one into fd->info. At open that is all, so that opening costs no communication. Later
 * (set_view, set_info) it is collective: values that differ between ranks give MPI_ERR_NOT_SAME on
 * all of them (which ROMIO drops in set_view), and rank 0's are used.
 */
void ADIOI_TAM_SetInfo(ADIO_File fd, MPI_Info users_info, int *error_code);

/* Whether all ranks have the same hints; if not, all of them get those of rank 0. Collective. */
int ADIOI_TAM_Agree(ADIO_File fd);

/*
 * Rank 0 tells all whether their hints are the same, how the file is striped and, the first time,
 * who is on which node; if it cannot find that out, `mapped` stays 0. It knows, of all ranks, the
 * least address space, and has in `said` what each has said. It looks at the striping again where
 * that may have changed.
 */
void ADIOI_TAM_Tell(ADIO_File fd, int64_t room, int *same);

/* Room to be told in, from the beginning: news, and said. */
void ADIOI_TAM_News_init(ADIO_File fd);

/*
 * Before a blocking call: rank 0 looks at the striping again, and tells all, if a blocking write has
 * touched a part of the file that had no objects then. All ranks know that from the write's own
 * reduction, so that other calls need no message for it.
 */
void ADIOI_TAM_Look_again(ADIO_File fd);
/* Notes what a blocking write has touched. Local, and the same on all ranks. */
void ADIOI_TAM_Note_written(ADIO_File fd, const struct cio_op *op);

/* Hints about striping and aggregators, at open, that the driver below may not have taken. */
void ADIOI_TAM_Take_striping(ADIO_File fd, MPI_Info users_info);

/*
 * How the file is striped, as this rank knows it; n == 0: it does not. `again`: asks again for what
 * had no objects yet. Local.
 */
void ADIOI_TAM_Find_layout(ADIO_File fd, int again, struct cio_layout *layout);
/* What the file system likes transfers to begin at multiples of, in bytes; 0 if it does not say. */
int64_t ADIOI_TAM_Find_block(ADIO_File fd);

/* The kind of file domains under the hints as they are. */
enum cio_domain_kind ADIOI_TAM_Domain(ADIO_File fd, const struct cio_layout *layout);

/*
 * Global aggregators: as many as ROMIO would have, or, where it is known how many targets there
 * are, as many as the user says (cb_nodes, without cb_config_list) or suit the layout. Their number;
 * *ranks is the caller's then. Or a negative errno.
 */
int ADIOI_TAM_Aggregators(ADIO_File fd, const struct cio_nodes *nodes,
                          const struct cio_layout *layout, int **ranks);

/* Puts into fd->info how the file is striped. */
void ADIOI_TAM_Publish_layout(ADIO_File fd, const struct cio_layout *layout);

/*
 * Put into fd->info how the file is divided among whom: as it will be, if it is known already that
 * no call will be served here, or n aggregators have been chosen; and as it was in a call.
 */
void ADIOI_TAM_Publish_plan(ADIO_File fd, const struct cio_layout *layout, const int *ranks, int n);
void ADIOI_TAM_Publish_way(ADIO_File fd, ADIOI_TAM_Way way);

/* On rank 0, which has processor names from the open: who is on which node. The caller's. Local. */
int ADIOI_TAM_Nodes_at_open(ADIO_File fd, struct cio_nodes **nodes);

/*
 * What collective calls work with: groups, shared memory, store. Collective where there are none yet
 * for the hints as they are. 0, or, the same on all ranks, a negative errno: then the groups are
 * those that there were before, and the next call may try again.
 */
int ADIOI_TAM_Prepare(ADIO_File fd);

/* A further user of a grouping, and one less; the last one frees it. By any thread. */
ADIOI_TAM_Grouping *ADIOI_TAM_Grouping_use(ADIOI_TAM_Grouping * g);
void ADIOI_TAM_Grouping_drop(ADIOI_TAM_Grouping * g);

/* Zeroed memory, or NULL; ADIOI_Malloc and its kin end the job instead. For ADIOI_Free. */
static inline void *ADIOI_TAM_Alloc(size_t size)
{
    return MPL_calloc(1, size, MPL_MEM_IO);
}

/* Ranks on the fullest node. */
int ADIOI_TAM_Node_ranks(const struct cio_nodes *nodes);

/* Frees all of it, because the file is closed. */
void ADIOI_TAM_Release(ADIO_File fd);

/* Whether the driver below makes plain POSIX calls on fd->fd_sys. */
int ADIOI_TAM_Is_posix(ADIO_File fd);

/*
 * A store over the driver below: POSIX calls where the driver uses them too, as cb_pipeline_io says;
 * else its slots, which cannot overlap with anything.
 */
int ADIOI_TAM_Store_create(ADIO_File fd, struct cio_store **store);

/*
 * A type flattened: for as long as the type is there or, if `lasting`, as long as anybody has it.
 * What it takes to make one of a type that is not contiguous is spent once and kept with the type.
 * The caller's to destroy. 0 or a negative errno.
 */
int ADIOI_TAM_Type_flat(MPI_Datatype type, int lasting, struct cio_flat **flat);

/*
 * One rank's request from a call's arguments, for the time of the call or, if `lasting`, longer;
 * frees what it made. 0 or a negative errno.
 */
int ADIOI_TAM_Request_init(ADIO_File fd, void *buf, ADIOI_TAM_Count count, MPI_Datatype datatype,
                           int file_ptr_type, ADIO_Offset offset, int lasting,
                           struct cio_request *req);
void ADIOI_TAM_Request_free(struct cio_request *req);

/* What romio_tam says. */
const char *ADIOI_TAM_Mode_word(const ADIOI_TAM_File * layer);

/* Whether something was asked for that only the engine has. */
static inline int ADIOI_TAM_Is_asked(const ADIOI_TAM_File * layer)
{
    const struct cio_hints *h = &layer->hints;

    return layer->forced || h->tam == CIO_ENABLE || h->pipeline == CIO_ENABLE ||
        (h->schedule != CIO_SCHEDULE_OFFSET && h->schedule != CIO_SCHEDULE_AUTOMATIC);
}

/* Whether the layer has anything to do with a file's collective calls. */
static inline int ADIOI_TAM_Is_wanted(const ADIOI_TAM_File * layer)
{
    return ADIOI_TAM_Is_asked(layer) || layer->hints.tam != CIO_DISABLE;
}

/* Whether requests are merged inside nodes; else every rank is a group of its own. */
static inline int ADIOI_TAM_Has_groups(const ADIOI_TAM_File * layer)
{
    return layer->forced || layer->hints.tam != CIO_DISABLE;
}

/*
 * Why a collective call does not go to the engine, as far as that is known before it; NULL: it
 * does. The same on all ranks. Collective, unless they have agreed on hints already. It refuses only
 * what it was told to, or what needs no other rank: ROMIO's own nonblocking calls write what nobody
 * asked to write, and lose what other calls write there meanwhile, and its blocking ones let no
 * nonblocking call under way progress. The second: as far as this rank's hints tell; local.
 */
const char *ADIOI_TAM_Refuse(ADIO_File fd, int write);
const char *ADIOI_TAM_Refuse_by_hints(ADIO_File fd, int write);

/* What there is to show and report of such a call. */
struct cio_stats ADIOI_TAM_Left(ADIO_File fd, int write, const char *why);

/*
 * Takes a group lock for the time of a collective write, where that was asked for, on the ranks that
 * aggregate; whether this one holds it. Collective, if it was asked for.
 */
int ADIOI_TAM_Lock_group(ADIO_File fd);
void ADIOI_TAM_Unlock_group(ADIO_File fd, int locked);

/*
 * Puts into fd->info what was chosen when groups were made (stats is NULL) or for a call that is
 * over, if that is not what it says already. Local.
 */
void ADIOI_TAM_Show(ADIO_File fd, const struct cio_stats *stats);

/* On an aggregator of a file whose open was deferred, opens it now. 0 or a negative errno. */
int ADIOI_TAM_Open_deferred(ADIO_File fd);

/*
 * Starts the engine's operation over a port of its own; both are the caller's. `segment`: that of a
 * nonblocking call, NULL for a blocking one. Ends the job if there is no memory even for that, since
 * other ranks would wait for ever.
 */
struct cio_op *ADIOI_TAM_Start(ADIO_File fd, const struct cio_request *req,
                               struct cio_segment *segment, struct cio_comm **comm);

/* Fills the reserve where it lacks something: 0 or -ENOMEM; frees it. */
int ADIOI_TAM_Reserve_fill(ADIO_File fd);
void ADIOI_TAM_Reserve_free(ADIO_File fd);

/* A call's port: any of the file's will do, and a new one is made only where calls overlap. */
int ADIOI_TAM_Comm_get(ADIO_File fd, struct cio_comm **comm);
void ADIOI_TAM_Comm_free(ADIO_File fd, struct cio_comm *comm);

/* Zeroed, for ADIOI_Free. They end the job if there is neither memory nor reserve. */
struct ADIOI_TAM_Pending *ADIOI_TAM_Pending_get(ADIO_File fd);
extern const size_t ADIOI_TAM_Pending_size;
ADIOI_TAM_Call *ADIOI_TAM_Note_get(ADIO_File fd);

/*
 * Ends the job, with the reason, if messages of a finished operation have been lost, since others
 * may wait for this rank for ever.
 */
void ADIOI_TAM_Check(ADIO_File fd, const struct cio_op *op);

/*
 * Words of all ranks, joined on rank 0; and what rank 0 tells all (ad_tam_talk.c). Collective and,
 * unlike MPI's own collective calls, no obstacle to nonblocking calls under way. They end the job
 * if MPI fails.
 */
typedef void ADIOI_TAM_Joiner(void *into, const void *from, int bytes);
void ADIOI_TAM_Gather(ADIO_File fd, void *data, int bytes, ADIOI_TAM_Joiner * join);
void ADIOI_TAM_Spread(ADIO_File fd, void *data, int bytes);
/*
 * So many bytes of each rank, one after the other on rank 0. A rank puts its own first, and needs
 * room for those of `Collected` ranks, itself included.
 */
void ADIOI_TAM_Collect(ADIO_File fd, void *data, int bytes);
int ADIOI_TAM_Collected(int rank, int size);
/* The least of each of n words of any rank, on all ranks. */
void ADIOI_TAM_Least(ADIO_File fd, int64_t * words, int n);
void ADIOI_TAM_Join_least(void *into, const void *from, int bytes);

/* The same step by step. `data` must stay until progress says 1. */
typedef struct {
    ADIO_File fd;
    int up;                     /* to rank 0; else it is spread */
    ADIOI_TAM_Joiner *join;     /* NULL: it is collected */
    char *data;
    int bytes, rank, size, tag;
    int bit;                    /* of the tree */
    int hearing;                /* the message that is waited for is received */
    MPI_Request request;
    char heard[2048];
} ADIOI_TAM_Talk;
void ADIOI_TAM_Talk_gather(ADIOI_TAM_Talk * talk, ADIO_File fd, void *data, int bytes,
                           ADIOI_TAM_Joiner * join);
void ADIOI_TAM_Talk_spread(ADIOI_TAM_Talk * talk, ADIO_File fd, void *data, int bytes);
int ADIOI_TAM_Talk_progress(ADIOI_TAM_Talk * talk);

/*
 * Nonblocking calls of this process, on any file. Progress makes them go on: how many are left.
 * Is_outstanding: whether there are any on this file, through whatever handle. Between Begin_ and
 * End_blocking this thread's MPI calls do not make them progress by themselves.
 */
int ADIOI_TAM_Progress(void);
void ADIOI_TAM_Nap(void);       /* between two looks at them */
int ADIOI_TAM_Is_outstanding(ADIO_File fd);
int ADIOI_TAM_Is_same_file(ADIO_File one, ADIO_File other);
void ADIOI_TAM_Begin_blocking(void);
void ADIOI_TAM_End_blocking(void);

/* Whether ranks may return early from blocking calls. The same on all ranks. */
int ADIOI_TAM_Returns_early(ADIO_File fd);

/*
 * Appends the statistics of a blocking call, and of nonblocking ones before that are over, where
 * the hint says, if it does. Collective, then.
 */
void ADIOI_TAM_Report(ADIO_File fd, const struct cio_stats *stats, int write);

/*
 * A call that cannot be reported when it is over, nonblocking or with early return: notes that it has begun (NULL if nobody wants to know), to be filled in when
 * it is over. The note is the file's. Local.
 */
ADIOI_TAM_Call *ADIOI_TAM_Promise(ADIO_File fd, const char *name);
void ADIOI_TAM_Keep(ADIOI_TAM_Call * call, const struct cio_stats *stats);

/* Reports those that are over on all ranks. Collective, if there are any. */
void ADIOI_TAM_Report_kept(ADIO_File fd);

/* Appends a line to where romio_tam_stats says. */
void ADIOI_TAM_Append(ADIO_File fd, const char *line, size_t length);

/* Bytes of one round. Groups have been made. */
int64_t ADIOI_TAM_Unit(ADIO_File fd);

/* Gives a new segment its name, the same on all ranks; gives a segment back. */
void ADIOI_TAM_Segment_name(ADIOI_TAM_File * layer, struct cio_segment *segment);
void ADIOI_TAM_Segment_free(struct cio_segment *segment);

/*
 * Takes a segment that a closed file of the same ranks, groups and aggregators has left: 1. Others
 * may have taken another, or none. Puts one there, or gives it back if it is not worth keeping.
 */
int ADIOI_TAM_Pool_take(ADIO_File fd, const ADIOI_TAM_Grouping * g, struct cio_segment *segment);
void ADIOI_TAM_Pool_put(ADIO_File fd, const ADIOI_TAM_Grouping * g, struct cio_segment *segment);
/* Gives back what has not been used for a while, or all if the node is short; gives back all. */
void ADIOI_TAM_Pool_trim(void);
void ADIOI_TAM_Pool_clear(void);

void ADIOI_TAM_Early_init(ADIOI_TAM_Early * early);
/* Leaves what is left of a call that this rank returns from early with the file. */
void ADIOI_TAM_Leave(ADIO_File fd, struct cio_op *op, struct cio_comm *comm, ADIOI_TAM_Call * call);
/* Completes such a call, if there is one. */
void ADIOI_TAM_Complete(ADIO_File fd);
/* Puts the error of such a call in the place of success, once. */
void ADIOI_TAM_Deliver(ADIO_File fd, int *error_code);
/* The slots that do so, in a table whose others stay. */
void ADIOI_TAM_Early_slots(ADIOI_Fns * fns);

/*
 * Independent calls go through TCIO where romio_tcio says so (ad_tam_tcio.h). At open, if all ranks
 * could open the file (error_code), and when hints have been agreed on again: 0 or the error of what
 * was written before, the same on all ranks. Collective.
 */
void ADIOI_TAM_Tcio_at_open(ADIO_File fd, int error_code);
int ADIOI_TAM_Tcio_take_hints(ADIO_File fd);

/* The MPI error code, with the right class, of a negative errno; and back. */
int ADIOI_TAM_Error_code(ADIO_File fd, int error);
int ADIOI_TAM_Errno(int error_code);

/* Puts into a status how many bytes were moved. */
void ADIOI_TAM_Set_count(ADIO_Status * status, MPI_Datatype datatype, int64_t bytes);

/* Slots. */
void ADIOI_TAM_OpenColl(ADIO_File fd, int rank, int access_mode, int *error_code);
void ADIOI_TAM_IwriteStridedColl(ADIO_File fd, const void *buf, ADIOI_TAM_Count count,
                                 MPI_Datatype datatype, int file_ptr_type, ADIO_Offset offset,
                                 ADIO_Request * request, int *error_code);
void ADIOI_TAM_IreadStridedColl(ADIO_File fd, void *buf, ADIOI_TAM_Count count,
                                MPI_Datatype datatype, int file_ptr_type, ADIO_Offset offset,
                                ADIO_Request * request, int *error_code);
void ADIOI_TAM_WriteStridedColl(ADIO_File fd, const void *buf, ADIOI_TAM_Count count,
                                MPI_Datatype datatype, int file_ptr_type, ADIO_Offset offset,
                                ADIO_Status * status, int *error_code);
void ADIOI_TAM_ReadStridedColl(ADIO_File fd, void *buf, ADIOI_TAM_Count count,
                               MPI_Datatype datatype, int file_ptr_type, ADIO_Offset offset,
                               ADIO_Status * status, int *error_code);

#endif /* AD_TAM_H_INCLUDED */
