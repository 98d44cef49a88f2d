/*
 * What ROMIO of MPICH 4.0 to 5.1 asks of the MPICH around it, under the names and with the meaning
 * that MPICH's own mpir_ext.h gives them.
 */

#ifndef MPIEXT_H_INCLUDED
#define MPIEXT_H_INCLUDED

int MPIR_Ext_init(void);
int MPIR_Ext_assert_fail(const char *cond, const char *file_name, int line_num);

#define MPIR_Ext_assert(a_)                                \
    do {                                                   \
        if (!(a_))                                         \
            MPIR_Ext_assert_fail(#a_, __FILE__, __LINE__); \
    } while (0)

extern int MPIR_Ext_dbg_romio_terse_enabled;
extern int MPIR_Ext_dbg_romio_typical_enabled;
extern int MPIR_Ext_dbg_romio_verbose_enabled;

/* The lock around every MPI_File_ function. The thread that has it may take it again: a user's
 * error handler runs under it and may call MPI_File_ functions. */
void MPIR_Ext_mutex_init(void);
void MPIR_Ext_mutex_finalize(void);
void MPIR_Ext_cs_enter(void);
void MPIR_Ext_cs_exit(void);
void MPIR_Ext_cs_yield(void);

/* MPI_SUCCESS or an error code. MPI cannot be asked whether a type is committed: only
 * MPI_DATATYPE_NULL is an error here. */
int MPIR_Ext_datatype_iscommitted(MPI_Datatype datatype);

/* Whether the data of a type has no holes and comes in the order of memory; "no" if in doubt. */
int MPIR_Ext_datatype_iscontig(MPI_Datatype datatype, int *flag);
void MPIR_Datatype_iscontig(MPI_Datatype datatype, int *flag);

/* Host copies of device memory: NULL says that the buffer is host memory already. */
void *MPIR_Ext_gpu_host_alloc(const void *buf, MPI_Aint count, MPI_Datatype datatype);
void MPIR_Ext_gpu_host_free(void *host_buf, MPI_Aint count, MPI_Datatype datatype);
void *MPIR_Ext_gpu_host_swap(const void *buf, MPI_Aint count, MPI_Datatype datatype);
void MPIR_Ext_gpu_swap_back(void *host_buf, void *gpu_buf, MPI_Aint count, MPI_Datatype datatype);

/* Asked only by MPI_Comm_split_type, which is the MPI's own and does not come here. */
int MPIR_Get_node_id(MPI_Comm comm, int rank, int *id);

int MPIR_ROMIO_Get_file_errhand(MPI_File file, MPI_Errhandler * e);
int MPIR_ROMIO_Set_file_errhand(MPI_File file, MPI_Errhandler e);
int MPIR_Comm_split_filesystem(MPI_Comm comm, int key, const char *dirname, MPI_Comm * newcomm);

#ifdef OPEN_MPI
/* Generalized requests that the MPI polls: an extension of MPICH, in grequest.c for Open MPI. */
typedef struct tamio_grequest_class *MPIX_Grequest_class;
typedef int (MPIX_Grequest_poll_function) (void *, MPI_Status *);
typedef int (MPIX_Grequest_wait_function) (int, void **, double, MPI_Status *);
int PMPIX_Grequest_class_create(MPI_Grequest_query_function * query_fn,
                                MPI_Grequest_free_function * free_fn,
                                MPI_Grequest_cancel_function * cancel_fn,
                                MPIX_Grequest_poll_function * poll_fn,
                                MPIX_Grequest_wait_function * wait_fn,
                                MPIX_Grequest_class * greq_class);
int PMPIX_Grequest_class_allocate(MPIX_Grequest_class greq_class, void *extra_state,
                                  MPI_Request * request);
int PMPIX_Grequest_start(MPI_Grequest_query_function * query_fn,
                         MPI_Grequest_free_function * free_fn,
                         MPI_Grequest_cancel_function * cancel_fn,
                         MPIX_Grequest_poll_function * poll_fn,
                         MPIX_Grequest_wait_function * wait_fn, void *extra_state,
                         MPI_Request * request);
#endif

#endif /* MPIEXT_H_INCLUDED */
