/*
 * A profiling tool inside the program: functions that ROMIO and ours might call are defined here
 * and counted while a file is in use. All of them must be called by their PMPI_ names, so none is
 * counted. What the program itself calls meanwhile, it calls by those names too.
 */
#include "../preload/check.h"

#define PIECES 64

static int counting;

#define TOLD(name, params, args)                                                                   \
    int MPI_##name params                                                                          \
    {                                                                                              \
        static int told;                                                                           \
        if (counting && !told++) {                                                                 \
            fprintf(stderr, "rank %d: MPI_%s was called for the file\n", rank, #name);             \
            failures++;                                                                            \
        }                                                                                          \
        return PMPI_##name args;                                                                   \
    }

#define SEND (const void *b, int n, MPI_Datatype t, int to, int tag, MPI_Comm c, MPI_Request *r)
TOLD(Isend, SEND, (b, n, t, to, tag, c, r))
TOLD(Issend, SEND, (b, n, t, to, tag, c, r))
TOLD(Irecv, (void *b, int n, MPI_Datatype t, int from, int tag, MPI_Comm c, MPI_Request *r),
     (b, n, t, from, tag, c, r))
TOLD(Send, (const void *b, int n, MPI_Datatype t, int to, int tag, MPI_Comm c),
     (b, n, t, to, tag, c))
TOLD(Recv, (void *b, int n, MPI_Datatype t, int from, int tag, MPI_Comm c, MPI_Status *s),
     (b, n, t, from, tag, c, s))
TOLD(Iprobe, (int from, int tag, MPI_Comm c, int *flag, MPI_Status *s), (from, tag, c, flag, s))
TOLD(Cancel, (MPI_Request * r), (r))
TOLD(Request_free, (MPI_Request * r), (r))
TOLD(Test, (MPI_Request * r, int *flag, MPI_Status *s), (r, flag, s))
TOLD(Testall, (int n, MPI_Request r[], int *flag, MPI_Status s[]), (n, r, flag, s))
TOLD(Testsome, (int n, MPI_Request r[], int *m, int at[], MPI_Status s[]), (n, r, m, at, s))
TOLD(Wait, (MPI_Request * r, MPI_Status *s), (r, s))
TOLD(Waitall, (int n, MPI_Request r[], MPI_Status s[]), (n, r, s))
TOLD(Waitany, (int n, MPI_Request r[], int *at, MPI_Status *s), (n, r, at, s))
TOLD(Waitsome, (int n, MPI_Request r[], int *m, int at[], MPI_Status s[]), (n, r, m, at, s))

#define GATHER (const void *b, int n, MPI_Datatype t, void *to, int m, MPI_Datatype u, MPI_Comm c)
#define REDUCE_ALL (const void *b, void *to, int n, MPI_Datatype t, MPI_Op op, MPI_Comm c)
TOLD(Barrier, (MPI_Comm c), (c))
TOLD(Bcast, (void *b, int n, MPI_Datatype t, int root, MPI_Comm c), (b, n, t, root, c))
TOLD(Ibcast, (void *b, int n, MPI_Datatype t, int root, MPI_Comm c, MPI_Request *r),
     (b, n, t, root, c, r))
TOLD(Allgather, GATHER, (b, n, t, to, m, u, c))
TOLD(Alltoall, GATHER, (b, n, t, to, m, u, c))
TOLD(Allreduce, REDUCE_ALL, (b, to, n, t, op, c))
TOLD(Reduce, (const void *b, void *to, int n, MPI_Datatype t, MPI_Op op, int root, MPI_Comm c),
     (b, to, n, t, op, root, c))
TOLD(Iallreduce,
     (const void *b, void *to, int n, MPI_Datatype t, MPI_Op op, MPI_Comm c, MPI_Request *r),
     (b, to, n, t, op, c, r))
TOLD(Op_create, (MPI_User_function * f, int commutes, MPI_Op *op), (f, commutes, op))
TOLD(Op_free, (MPI_Op * op), (op))

TOLD(Type_contiguous, (int n, MPI_Datatype t, MPI_Datatype *out), (n, t, out))
TOLD(Type_create_hindexed,
     (int n, const int len[], const MPI_Aint at[], MPI_Datatype t, MPI_Datatype *out),
     (n, len, at, t, out))
TOLD(Type_commit, (MPI_Datatype * t), (t))
TOLD(Type_dup, (MPI_Datatype t, MPI_Datatype *out), (t, out))
TOLD(Type_free, (MPI_Datatype * t), (t))
TOLD(Type_size_x, (MPI_Datatype t, MPI_Count *n), (t, n))
TOLD(Type_get_extent, (MPI_Datatype t, MPI_Aint *lb, MPI_Aint *n), (t, lb, n))
TOLD(Type_get_attr, (MPI_Datatype t, int key, void *v, int *flag), (t, key, v, flag))
TOLD(Type_set_attr, (MPI_Datatype t, int key, void *v), (t, key, v))
TOLD(Get_address, (const void *b, MPI_Aint *at), (b, at))
TOLD(Get_count, (const MPI_Status *s, MPI_Datatype t, int *n), (s, t, n))
TOLD(Get_elements_x, (const MPI_Status *s, MPI_Datatype t, MPI_Count *n), (s, t, n))

TOLD(Comm_rank, (MPI_Comm c, int *n), (c, n))
TOLD(Comm_size, (MPI_Comm c, int *n), (c, n))
TOLD(Comm_dup, (MPI_Comm c, MPI_Comm *out), (c, out))
TOLD(Comm_free, (MPI_Comm * c), (c))
TOLD(Comm_group, (MPI_Comm c, MPI_Group *g), (c, g))
TOLD(Comm_get_attr, (MPI_Comm c, int key, void *v, int *flag), (c, key, v, flag))
TOLD(Group_free, (MPI_Group * g), (g))
TOLD(Group_translate_ranks, (MPI_Group g, int n, const int of[], MPI_Group h, int out[]),
     (g, n, of, h, out))
TOLD(Error_class, (int code, int *class), (code, class))
TOLD(Grequest_complete, (MPI_Request r), (r))
TOLD(Status_set_elements_x, (MPI_Status * s, MPI_Datatype t, MPI_Count n), (s, t, n))
TOLD(Status_set_cancelled, (MPI_Status * s, int flag), (s, flag))

/* A view of PIECES pieces, those of all ranks in turn. */
static MPI_Datatype interleave(int piece)
{
    MPI_Datatype vector, view;

    MPI_Type_vector(PIECES, piece, size * piece, MPI_BYTE, &vector);
    MPI_Type_create_resized(vector, 0, (MPI_Aint)PIECES * size * piece, &view);
    MPI_Type_commit(&view);
    MPI_Type_free(&vector);
    return view;
}

static void wait_for(MPI_Request *request)
{
    OK(PMPI_Wait(request, MPI_STATUS_IGNORE));
}

/* Both kinds of calls, written and read back. */
static void transfer(MPI_File file, int piece, const char *data, char *back)
{
    int bytes = PIECES * piece;
    MPI_Offset again = (MPI_Offset)bytes; /* of the view */
    MPI_Request request;

    memset(back, 0, (size_t)bytes);
    OK(MPI_File_write_at_all(file, 0, data, bytes, MPI_BYTE, MPI_STATUS_IGNORE));
    OK(MPI_File_read_at_all(file, 0, back, bytes, MPI_BYTE, MPI_STATUS_IGNORE));
    CHECK(memcmp(data, back, (size_t)bytes) == 0);
    memset(back, 0, (size_t)bytes);
    OK(MPI_File_iwrite_at_all(file, again, data, bytes, MPI_BYTE, &request));
    wait_for(&request);
    OK(MPI_File_iread_at_all(file, again, back, bytes, MPI_BYTE, &request));
    wait_for(&request);
    CHECK(memcmp(data, back, (size_t)bytes) == 0);
}

/* The last call was the engine's; otherwise there would be nothing to count. */
static void check_served(MPI_File file)
{
    char value[MPI_MAX_INFO_VAL + 1] = "";
    MPI_Info info;
    int found = 0;

    OK(MPI_File_get_info(file, &info));
    PMPI_Info_get(info, "tamio_last_call", MPI_MAX_INFO_VAL, value, &found);
    PMPI_Info_free(&info);
    CHECK(found && strncmp(value, "served: ", 8) == 0);
}

static void use_file(int piece)
{
    MPI_Datatype view = interleave(piece);
    char *data = malloc((size_t)PIECES * piece), *back = malloc((size_t)PIECES * piece);
    MPI_File file;

    memset(data, rank + 1, (size_t)PIECES * piece);
    counting = 1;
    file = open_scratch(MPI_COMM_WORLD);
    OK(MPI_File_set_view(file, (MPI_Offset)rank * piece, MPI_BYTE, view, "native", MPI_INFO_NULL));
    transfer(file, piece, data, back);
    check_served(file);
    OK(MPI_File_sync(file));
    OK(MPI_File_close(&file));
    counting = 0;
    MPI_Type_free(&view);
    free(back);
    free(data);
}

int main(int argc, char **argv)
{
    begin(argc, argv);
    use_file(8);
    use_file(16384);
    return end();
}
