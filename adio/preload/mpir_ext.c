/* What ROMIO asks of MPICH (mpir_ext.h), with nothing but MPI and the C library. */

#include "mpioimpl.h"
#include "mpir_ext.h"

#include <pthread.h>
#include <sched.h>

int MPIR_Ext_dbg_romio_terse_enabled = 0;
int MPIR_Ext_dbg_romio_typical_enabled = 0;
int MPIR_Ext_dbg_romio_verbose_enabled = 0;

static pthread_mutex_t romio_mutex = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;

int MPIR_Ext_init(void)
{
    return MPI_SUCCESS;
}

int MPIR_Ext_assert_fail(const char *cond, const char *file_name, int line_num)
{
    fprintf(stderr, "ROMIO: assertion failed in %s, line %d: %s\n", file_name, line_num, cond);
    return PMPI_Abort(MPI_COMM_WORLD, 1);
}

void MPIR_Ext_mutex_init(void)
{
}

void MPIR_Ext_mutex_finalize(void)
{
}

void MPIR_Ext_cs_enter(void)
{
    pthread_mutex_lock(&romio_mutex);
}

void MPIR_Ext_cs_exit(void)
{
    pthread_mutex_unlock(&romio_mutex);
}

void MPIR_Ext_cs_yield(void)
{
    MPIR_Ext_cs_exit();
    sched_yield();
    MPIR_Ext_cs_enter();
}

int MPIR_Ext_datatype_iscommitted(MPI_Datatype datatype)
{
    return datatype == MPI_DATATYPE_NULL ? MPI_ERR_TYPE : MPI_SUCCESS;
}

/* As many bytes of data as from one element to the next, and the first at 0. */
static int has_no_holes(MPI_Datatype datatype)
{
    MPI_Count size, lb, extent, true_lb, true_extent;

    PMPI_Type_size_x(datatype, &size);
    PMPI_Type_get_extent_x(datatype, &lb, &extent);
    PMPI_Type_get_true_extent_x(datatype, &true_lb, &true_extent);
    return lb == 0 && true_lb == 0 && size == extent && size == true_extent;
}

/* Whether a type without holes has its data in order if its one old type has. Blocks at a regular
 * distance that leave no hole can neither overlap nor change places. */
static int keeps_order(int combiner)
{
    switch (combiner) {
        case MPI_COMBINER_CONTIGUOUS:
        case MPI_COMBINER_DUP:
        case MPI_COMBINER_HVECTOR:
        case MPI_COMBINER_RESIZED:
        case MPI_COMBINER_SUBARRAY:
        case MPI_COMBINER_VECTOR:
            return 1;
        default:
            return 0;
    }
}

/* How a type was made. Types made with large counts only answer to the MPI-4 call. */
struct envelope {
    int combiner;
#if MPI_VERSION >= 4
    MPI_Count ints, adds, counts, types;
#else
    int ints, adds, types;
#endif
};

static struct envelope envelope_of(MPI_Datatype datatype)
{
    struct envelope e;

#if MPI_VERSION >= 4
    PMPI_Type_get_envelope_c(datatype, &e.ints, &e.adds, &e.counts, &e.types, &e.combiner);
#else
    PMPI_Type_get_envelope(datatype, &e.ints, &e.adds, &e.types, &e.combiner);
#endif
    return e;
}

/* The one old type of a type. */
static MPI_Datatype old_type(MPI_Datatype datatype, const struct envelope *e)
{
    MPI_Datatype old = MPI_DATATYPE_NULL;
    int *ints = ADIOI_Malloc((e->ints + 1) * sizeof(*ints));
    MPI_Aint *adds = ADIOI_Malloc((e->adds + 1) * sizeof(*adds));

#if MPI_VERSION >= 4
    MPI_Count *counts = ADIOI_Malloc((e->counts + 1) * sizeof(*counts));

    PMPI_Type_get_contents_c(datatype, e->ints, e->adds, e->counts, 1, ints, adds, counts, &old);
    ADIOI_Free(counts);
#else
    PMPI_Type_get_contents(datatype, e->ints, e->adds, 1, ints, adds, &old);
#endif
    ADIOI_Free(adds);
    ADIOI_Free(ints);
    return old;
}

/* A type of no data is contiguous, as in MPICH: flattening relies on it (darray with few elements). */
static int is_empty(MPI_Datatype datatype)
{
    MPI_Count size;

    PMPI_Type_size_x(datatype, &size);
    return size == 0;
}

static int is_contig(MPI_Datatype datatype)
{
    struct envelope e = envelope_of(datatype);
    MPI_Datatype old;
    int contig;

    if (is_empty(datatype))
        return 1;
    if (!has_no_holes(datatype))
        return 0;
    if (e.combiner == MPI_COMBINER_NAMED)
        return 1;
    if (e.types != 1 || !keeps_order(e.combiner))
        return 0;
    old = old_type(datatype, &e);
    contig = is_contig(old);
    if (envelope_of(old).combiner != MPI_COMBINER_NAMED)
        PMPI_Type_free(&old);
    return contig;
}

int MPIR_Ext_datatype_iscontig(MPI_Datatype datatype, int *flag)
{
    *flag = is_contig(datatype);
    return MPI_SUCCESS;
}

/* The same, as ROMIO up to 4.2 calls it. */
void MPIR_Datatype_iscontig(MPI_Datatype datatype, int *flag)
{
    *flag = is_contig(datatype);
}

void *MPIR_Ext_gpu_host_alloc(const void *buf, MPI_Aint count, MPI_Datatype datatype)
{
    return NULL;
}

void MPIR_Ext_gpu_host_free(void *host_buf, MPI_Aint count, MPI_Datatype datatype)
{
}

void *MPIR_Ext_gpu_host_swap(const void *buf, MPI_Aint count, MPI_Datatype datatype)
{
    return NULL;
}

void MPIR_Ext_gpu_swap_back(void *host_buf, void *gpu_buf, MPI_Aint count, MPI_Datatype datatype)
{
}

int MPIR_Get_node_id(MPI_Comm comm, int rank, int *id)
{
    return MPI_ERR_UNSUPPORTED_OPERATION;
}
