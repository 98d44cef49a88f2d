/* ad_tam: collective write and read through the engine, or through the driver below. */

#include "ad_tam.h"
#include "port/comm_mpi.h"
#include "port/log.h"

#include <unistd.h>

/* Tags of the engine on the file's communicator; ROMIO itself uses small ones. */
#define FIRST_TAG 1024

/* Bytes of one round where nothing is known of stripes. */
#define DEFAULT_UNIT (2 << 20)

/* A call that one rank serves at once has so small a part of what the hints allow for buffers. */
#define SMALL_PART 1024

/* The engine's messages count the bytes of a round in 32 bits. */
#define LARGEST_UNIT (1 << 28)

const char *ADIOI_TAM_Refuse_by_hints(ADIO_File fd, int write)
{
    ADIOI_TAM_File *layer = ADIOI_TAM_File_of(fd);

    if (!ADIOI_TAM_Is_wanted(layer))
        return "romio_tam is disable";
    if (write && fd->hints->cb_write == ADIOI_HINT_DISABLE)
        return "romio_cb_write is disable";
    if (!write && fd->hints->cb_read == ADIOI_HINT_DISABLE)
        return "romio_cb_read is disable";
    if (fd->atomicity)
        return "atomic mode is on";
    if (fd->hints->cb_pfr != ADIOI_HINT_DISABLE)
        return "romio_cb_pfr is on";
    return NULL;
}

const char *ADIOI_TAM_Refuse(ADIO_File fd, int write)
{
    int size;

    MPI_Comm_size(fd->comm, &size);
    if (size == 1)
        return "there is one rank";
    if (!ADIOI_TAM_File_of(fd)->agreed)
        ADIOI_TAM_Agree(fd);
    return ADIOI_TAM_Refuse_by_hints(fd, write);
}

static enum cio_switch as_switch(int romio)
{
    return romio == ADIOI_HINT_ENABLE ? CIO_ENABLE :
        romio == ADIOI_HINT_DISABLE ? CIO_DISABLE : CIO_AUTOMATIC;
}

/* A round is a stripe, or two megabytes, but never more than a part of cb_buffer_size. */
int64_t ADIOI_TAM_Unit(ADIO_File fd)
{
    ADIOI_TAM_File *layer = ADIOI_TAM_File_of(fd);
    int64_t unit = layer->hints.pipeline_unit;
    int64_t most = fd->hints->cb_buffer_size / 4;

    if (unit == 0 && layer->grouping != NULL)
        unit = cio_layout_stripe(&layer->grouping->layout);
    if (unit == 0)
        unit = DEFAULT_UNIT;
    if (unit > most)
        unit = most;
    if (unit > LARGEST_UNIT)
        unit = LARGEST_UNIT;
    return unit < 4096 ? 4096 : unit;
}

/* More ranks of this file on my cores than these are, or on my node than it has. */
static int is_crowded(const ADIOI_TAM_File * layer)
{
    int node = layer->nodes->node[layer->grouping->team->rank];

    if (layer->grouping->cores == 0)
        layer->grouping->cores = sysconf(_SC_NPROCESSORS_ONLN);
    return layer->crowded || cio_nodes_count(layer->nodes, node) > layer->grouping->cores;
}

/*
 * Worth it with an order that lets some ranks finish before others. A group lock is given back by
 * all at the end, and where the open is deferred not everybody closes the file. With TCIO, others could
 * take what is on its way into segments of theirs before it has arrived.
 */
int ADIOI_TAM_Returns_early(ADIO_File fd)
{
    const struct cio_hints *hints = &ADIOI_TAM_File_of(fd)->hints;

    if (fd->hints->deferred_open || fd->atomicity || hints->group_lock || hints->tcio)
        return 0;
    if (hints->early_return == CIO_AUTOMATIC)
        return hints->schedule != CIO_SCHEDULE_OFFSET;
    return hints->early_return == CIO_ENABLE;
}

/* Tags of a call, the same on all ranks: others than those of all calls that may be under way. */
static int next_tag(ADIOI_TAM_File * layer)
{
    int *most, found;

    MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, &most, &found);
    return FIRST_TAG +
        CIO_OP_TAGS * (int) (layer->calls++ % (unsigned) ((*most - FIRST_TAG) / CIO_OP_TAGS));
}

static void choose_settings(ADIO_File fd, struct cio_settings *set)
{
    ADIOI_TAM_File *layer = ADIOI_TAM_File_of(fd);

    memset(set, 0, sizeof(*set));
    set->tam = ADIOI_TAM_Is_asked(layer) ? CIO_ENABLE : (enum cio_switch) layer->hints.tam;
    set->node_ranks = ADIOI_TAM_Node_ranks(layer->nodes);
    set->domain = ADIOI_TAM_Domain(fd, &layer->grouping->layout);
    set->unit = ADIOI_TAM_Unit(fd);
    set->stripe = set->domain == CIO_DOMAIN_ALIGNED ? layer->block : 0;
    set->layout = &layer->grouping->layout;
    set->buffer = fd->hints->cb_buffer_size;
    set->depth = layer->hints.pipeline == CIO_DISABLE ? 1 : (int) layer->hints.pipeline_depth;
    set->memory_limit = layer->grouping->memory_limit;
    set->transport = (enum cio_transport) layer->hints.transport;
    set->sieve_write = as_switch(fd->hints->ds_write);
    set->sieve_read = as_switch(fd->hints->ds_read);
    set->schedule = (enum cio_schedule) layer->hints.schedule;
    set->early = ADIOI_TAM_Returns_early(fd);
    set->explain = layer->hints.stats[0] != '\0';
    set->merge = CIO_AUTOMATIC;
    set->crowded = is_crowded(layer);
    set->outstanding = ADIOI_TAM_Is_outstanding(fd);
    set->small = cio_min64(set->buffer, set->memory_limit) / SMALL_PART;
    set->tag = next_tag(layer);
}

int ADIOI_TAM_Open_deferred(ADIO_File fd)
{
    int error_code = MPI_SUCCESS;

    if (ADIOI_TAM_File_of(fd)->grouping->team->my_aggr < 0)
        return 0;
    if (!fd->is_open)
        ADIO_ImmediateOpen(fd, &error_code);
    return error_code == MPI_SUCCESS ? 0 : -EIO;
}

static int progress_others(void *self)
{
    (void) self;
    return ADIOI_TAM_Progress();
}

void ADIOI_TAM_Check(ADIO_File fd, const struct cio_op *op)
{
    int why = cio_op_is_broken(op), rank;

    if (why == 0)
        return;
    MPI_Comm_rank(fd->comm, &rank);
    cio_log(CIO_LOG_NOTICE, "file %s: rank %d has lost messages of a collective call (%s): other "
            "ranks would wait for them for ever", fd->filename, rank, strerror(-why));
    MPI_Abort(fd->comm, 1);
}

struct cio_op *ADIOI_TAM_Start(ADIO_File fd, const struct cio_request *req,
                               struct cio_segment *segment, struct cio_comm **comm)
{
    ADIOI_TAM_File *layer = ADIOI_TAM_File_of(fd);
    struct cio_settings set;
    struct cio_env env = {.nodemem = cio_nodemem_posix,
        .alloc = cio_alloc_system,
        .store = layer->grouping->store,
        .team = layer->grouping->team,
        .segment = segment != NULL ? segment : &layer->grouping->segment,
        .pace = &layer->grouping->pace,
        .reserve = &layer->reserve.op
    };
    struct cio_op *op = NULL;

    choose_settings(fd, &set);
    if (segment == NULL) {
        env.others.progress = progress_others;
    } else {
        ADIOI_TAM_Segment_name(layer, segment);
        set.tam = CIO_ENABLE;
        set.polled = 1;
        set.early = 0;
    }
    if (ADIOI_TAM_Comm_get(fd, &env.comm) == 0)
        op = cio_op_start(&env, &set, req);
    if (op == NULL) {
        cio_log(CIO_LOG_NOTICE, "file %s: no memory to take part in a collective call",
                fd->filename);
        MPI_Abort(fd->comm, 1);
    }
    *comm = env.comm;
    return op;
}

int ADIOI_TAM_Error_code(ADIO_File fd, int error)
{
    static char myname[] = "ADIOI_TAM_COLLECTIVE";

    if (error == -ENOMEM)       /* ROMIO does not know it */
        return MPIO_Err_create_code(MPI_SUCCESS, MPIR_ERR_RECOVERABLE, myname, __LINE__,
                                    MPI_ERR_NO_MEM, "**nomem", 0);
    return error == 0 ? MPI_SUCCESS : ADIOI_Err_create_code(myname, fd->filename, -error);
}

void ADIOI_TAM_Set_count(ADIO_Status * status, MPI_Datatype datatype, int64_t bytes)
{
#ifdef HAVE_STATUS_SET_BYTES
    if (status != NULL && status != MPI_STATUS_IGNORE)
        MPIR_Status_set_bytes(status, datatype, bytes);
#endif
}

struct cio_stats ADIOI_TAM_Left(ADIO_File fd, int write, const char *why)
{
    int cb = write ? fd->hints->cb_write : fd->hints->cb_read;

    return (struct cio_stats) {.declined = 1,.alone = cb == ADIOI_HINT_DISABLE,.why = why };
}

/* A call that the engine is not asked to serve. */
static void leave(ADIO_File fd, int write, const char *why)
{
    struct cio_stats stats = ADIOI_TAM_Left(fd, write, why);

    ADIOI_TAM_Show(fd, &stats);
    ADIOI_TAM_Report(fd, &stats, write);
}

/* What was asked for, for as long as the call lasts. */
static int make_request(ADIO_File fd, void *buf, ADIOI_TAM_Count count, MPI_Datatype datatype,
                        int file_ptr_type, ADIO_Offset offset, int write, struct cio_request *req)
{
    int rc = ADIOI_TAM_Request_init(fd, buf, count, datatype, file_ptr_type, offset, 0, req);

    req->write = write;
    req->error = rc != 0 ? rc : ADIOI_TAM_Open_deferred(fd);
    return write ? ADIOI_TAM_Lock_group(fd) : 0;
}

/*
 * Whether ROMIO's own way would be, once it has found out what is known by now, that each rank
 * accesses the file by itself. With collective buffering disabled it does so without asking.
 */
static int may_be_alone(ADIO_File fd, int write)
{
    const ADIOI_Fns *below = ADIOI_TAM_File_of(fd)->below;

    if (write)
        return fd->hints->cb_write == ADIOI_HINT_AUTO &&
            below->ADIOI_xxx_WriteStridedColl == ADIOI_GEN_WriteStridedColl;
    return fd->hints->cb_read == ADIOI_HINT_AUTO &&
        below->ADIOI_xxx_ReadStridedColl == ADIOI_GEN_ReadStridedColl;
}

/*
 * Runs a call to its end, or as far as this rank is needed. Who serves it; if it was served, its
 * outcome and the bytes moved. Whether it was declined is not seen from the outcome: file access may
 * fail with any errno.
 */
static ADIOI_TAM_Way run(ADIO_File fd, const struct cio_request *req, int64_t * moved,
                         int *outcome)
{
    const char *name = req->write ? "write" : "read";
    int may_return = ADIOI_TAM_Returns_early(fd), over;
    ADIOI_TAM_Call *call = may_return ? ADIOI_TAM_Promise(fd, name) : NULL;
    struct cio_stats stats;
    struct cio_comm *comm;
    struct cio_op *op = ADIOI_TAM_Start(fd, req, NULL, &comm);

    ADIOI_TAM_Begin_blocking();
    over = cio_op_wait_released(op);
    ADIOI_TAM_End_blocking();
    ADIOI_TAM_Check(fd, op);
    *moved = cio_op_moved(op);
    *outcome = 0;
    if (ADIOI_TAM_File_of(fd)->grouping->segment.refused)
        ADIOI_TAM_Pool_clear();
    if (req->write)
        ADIOI_TAM_Note_written(fd, op);
    if (!over) {
        ADIOI_TAM_Leave(fd, op, comm, call);
        return ADIOI_TAM_SERVED;
    }
    *outcome = cio_op_finish(op, &stats);
    stats.alone = stats.beside || (stats.alone && may_be_alone(fd, req->write));
    ADIOI_TAM_Comm_free(fd, comm);
    ADIOI_TAM_Show(fd, &stats);
    if (may_return)
        ADIOI_TAM_Keep(call, &stats);
    else
        ADIOI_TAM_Report(fd, &stats, req->write);
    if (!stats.declined)
        return ADIOI_TAM_SERVED;
    if (stats.beside)
        return ADIOI_TAM_PLAIN;
    return stats.alone ? ADIOI_TAM_ALONE : ADIOI_TAM_BELOW;
}

/*
 * Serves a call, or says that the driver below must. What the file pointer was is restored then,
 * since the driver below moves it itself.
 */
static ADIOI_TAM_Way serve(ADIO_File fd, void *buf, ADIOI_TAM_Count count, MPI_Datatype datatype,
                           int file_ptr_type, ADIO_Offset offset, int write, ADIO_Status * status,
                           int *error_code)
{
    const char *refusal;
    ADIO_Offset pointer = fd->fp_ind;
    struct cio_request req;
    ADIOI_TAM_Way how;
    int64_t moved;
    int outcome, locked;

    ADIOI_TAM_Pool_trim();
    ADIOI_TAM_Complete(fd);
    ADIOI_TAM_Report_kept(fd);
    refusal = ADIOI_TAM_Refuse(fd, write);
    if (refusal != NULL) {
        leave(fd, write, refusal);
        return ADIOI_TAM_BELOW;
    }
    ADIOI_TAM_Look_again(fd);
    outcome = ADIOI_TAM_Prepare(fd);
    if (outcome != 0) {
        *error_code = ADIOI_TAM_Error_code(fd, outcome);
        ADIOI_TAM_Set_count(status, datatype, 0);
        return ADIOI_TAM_SERVED;
    }
    locked = make_request(fd, buf, count, datatype, file_ptr_type, offset, write, &req);
    how = run(fd, &req, &moved, &outcome);
    ADIOI_TAM_Unlock_group(fd, locked);
    ADIOI_TAM_Request_free(&req);
    if (how != ADIOI_TAM_SERVED) {
        fd->fp_ind = pointer;
        return how;
    }
    fd->fp_sys_posn = -1;
    fd->dirty_write |= write;
    *error_code = ADIOI_TAM_Error_code(fd, outcome);
    ADIOI_TAM_Set_count(status, datatype, moved);
    return ADIOI_TAM_SERVED;
}

static int is_alone(ADIOI_TAM_Way way)
{
    return way == ADIOI_TAM_ALONE || way == ADIOI_TAM_PLAIN;
}

/*
 * What one rank found in a write that each has made by itself is told to all, where each target of
 * storage may be full by itself.
 */
static void share_error(ADIO_File fd, int *error_code)
{
    int64_t error = ADIOI_TAM_Errno(*error_code);

    ADIOI_TAM_Least(fd, &error, 1);
    if (*error_code == MPI_SUCCESS)
        *error_code = ADIOI_TAM_Error_code(fd, (int) error);
}

void ADIOI_TAM_WriteStridedColl(ADIO_File fd, const void *buf, ADIOI_TAM_Count count,
                                MPI_Datatype datatype, int file_ptr_type, ADIO_Offset offset,
                                ADIO_Status * status, int *error_code)
{
    ADIOI_TAM_Way how = serve(fd, (void *) buf, count, datatype, file_ptr_type, offset, 1, status,
                              error_code);
    int cb = fd->hints->cb_write, sieve = fd->hints->ds_write;

    if (is_alone(how))
        fd->hints->cb_write = ADIOI_HINT_DISABLE;
    if (how == ADIOI_TAM_PLAIN)
        fd->hints->ds_write = ADIOI_HINT_DISABLE;
    if (how != ADIOI_TAM_SERVED)
        (*ADIOI_TAM_File_of(fd)->below->ADIOI_xxx_WriteStridedColl) (fd, buf, count, datatype,
                                                                    file_ptr_type, offset, status,
                                                                    error_code);
    if (is_alone(how) && fd->file_system == ADIO_LUSTRE_PIPE)
        share_error(fd, error_code);
    fd->hints->cb_write = cb;
    fd->hints->ds_write = sieve;
    ADIOI_TAM_Deliver(fd, error_code);
}

void ADIOI_TAM_ReadStridedColl(ADIO_File fd, void *buf, ADIOI_TAM_Count count,
                               MPI_Datatype datatype, int file_ptr_type, ADIO_Offset offset,
                               ADIO_Status * status, int *error_code)
{
    ADIOI_TAM_Way how = serve(fd, buf, count, datatype, file_ptr_type, offset, 0, status,
                              error_code);
    int cb = fd->hints->cb_read;

    if (is_alone(how))
        fd->hints->cb_read = ADIOI_HINT_DISABLE;
    if (how != ADIOI_TAM_SERVED)
        (*ADIOI_TAM_File_of(fd)->below->ADIOI_xxx_ReadStridedColl) (fd, buf, count, datatype,
                                                                   file_ptr_type, offset, status,
                                                                   error_code);
    fd->hints->cb_read = cb;
    ADIOI_TAM_Deliver(fd, error_code);
}
