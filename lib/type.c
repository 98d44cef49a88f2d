/*
 * Memory types.
 *
 * Whether bytes can be moved as they lie is found out once for each type. Types that have a name
 * never change, and are kept in a small table of the file. What was found of others is an attribute
 * of the type, which goes with it: another type that gets the same handle later has none.
 *
 * MPI has no call that tells whether a type is committed. MPI_Pack wants one that is, also for no
 * instances of it, and says so where the MPI checks its arguments.
 */
#include "internal.h"

#include "port/log.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#define TRIAL_MOST ((int64_t)64 << 20) /* larger types are looked at by how they were made */

#if MPI_VERSION >= 4
typedef MPI_Count pack_count;
#define PACK_MOST INT64_MAX
#define pack_instances MPI_Pack_c
#define unpack_instances MPI_Unpack_c
#else
typedef int pack_count;
#define PACK_MOST INT_MAX
#define pack_instances MPI_Pack
#define unpack_instances MPI_Unpack
#endif

/* ---- packing ---- */

static int too_large(const struct file *f)
{
    cio_log(CIO_LOG_NOTICE, "file %s: a type of 2 GiB or more with gaps needs an MPI 4", f->name);
    return MPI_ERR_TYPE;
}

/*
 * For types that hold addresses themselves: MPICH's MPI_Pack refuses MPI_BOTTOM. What is sent may
 * be received as packed, and the other way round.
 */
static int send_to_self(struct file *f, const void *from, int64_t n, MPI_Datatype as, void *to,
                        int64_t m, MPI_Datatype like)
{
    if (n > INT_MAX || m > INT_MAX)
        return too_large(f);
    return tcioi_class_of_mpi(MPI_Sendrecv(from, (int)n, as, f->rank, 0, to, (int)m, like, f->rank,
                                           0, f->comm, MPI_STATUS_IGNORE));
}

int tcioi_type_pack(struct file *f, const void *data, int64_t count, MPI_Datatype type,
                    void *packed, int64_t bytes)
{
    pack_count position = 0;
    int rc;

    if (data == MPI_BOTTOM)
        return send_to_self(f, data, count, type, packed, bytes, MPI_PACKED);
    if (count > PACK_MOST || bytes > PACK_MOST)
        return too_large(f);
    rc = tcioi_class_of_mpi(pack_instances(data, (pack_count)count, type, packed, (pack_count)bytes,
                                           &position, f->comm));
    if (rc == MPI_SUCCESS && position != (pack_count)bytes)
        rc = MPI_ERR_CONVERSION;
    return rc;
}

int tcioi_type_unpack(struct file *f, const void *packed, int64_t bytes, void *data, int64_t count,
                      MPI_Datatype type)
{
    pack_count position = 0;

    if (data == MPI_BOTTOM)
        return send_to_self(f, packed, bytes, MPI_PACKED, data, count, type);
    if (count > PACK_MOST || bytes > PACK_MOST)
        return too_large(f);
    return tcioi_class_of_mpi(unpack_instances(packed, (pack_count)bytes, &position, data,
                                               (pack_count)count, type, f->comm));
}

/* ---- is it a run of bytes? ---- */

/* Every byte gets eight bits of its own number, and has to come out where it was. */
static int comes_out(struct file *f, MPI_Datatype type, const struct memory_type *is, char *in,
                     int shift)
{
    char *out = in + is->size;

    for (int64_t i = 0; i < is->size; i++)
        in[i] = (char)(i >> shift);
    memset(out, ~in[0], (size_t)is->size);
    return tcioi_type_pack(f, address(in, -is->lb), 1, type, out, is->size) == MPI_SUCCESS &&
           memcmp(in, out, (size_t)is->size) == 0;
}

static int try_packing(struct file *f, MPI_Datatype type, const struct memory_type *is)
{
    char *in = malloc((size_t)is->size * 2);
    int same = in != NULL;

    for (int shift = 0; same && (is->size - 1) >> shift > 0; shift += 8)
        same = comes_out(f, type, is, in, shift);
    free(in);
    return same;
}

static int find_combiner(MPI_Datatype type)
{
    int combiner = MPI_COMBINER_NAMED;
#if MPI_VERSION >= 4
    MPI_Count n[4];

    MPI_Type_get_envelope_c(type, &n[0], &n[1], &n[2], &n[3], &combiner);
#else
    int n[3];

    MPI_Type_get_envelope(type, &n[0], &n[1], &n[2], &combiner);
#endif
    return combiner;
}

static void look_at(struct file *f, MPI_Datatype type, struct memory_type *is)
{
    MPI_Count size, lb, extent, true_lb, true_extent;

    MPI_Type_size_x(type, &size);
    MPI_Type_get_extent_x(type, &lb, &extent);
    MPI_Type_get_true_extent_x(type, &true_lb, &true_extent);
    *is = (struct memory_type){.size = size, .extent = extent, .lb = true_lb};
    is->contiguous =
        size == 0 || (size == true_extent && size <= TRIAL_MOST && try_packing(f, type, is));
    is->dense = is->contiguous && size == extent;
}

/* ---- large types ---- */

/* The type that a type was made of; 1 if it is nothing else than a number of these. */
static int made_of(MPI_Datatype type, MPI_Datatype *inner)
{
    int combiner = find_combiner(type);
    int rc;

    if (combiner != MPI_COMBINER_CONTIGUOUS && combiner != MPI_COMBINER_DUP)
        return 0;
#if MPI_VERSION >= 4
    int integers[1];
    MPI_Aint addresses[1];
    MPI_Count n[4], counts[1];

    MPI_Type_get_envelope_c(type, &n[0], &n[1], &n[2], &n[3], &combiner);
    if (n[0] + n[2] > 1 || n[1] != 0 || n[3] != 1)
        return 0;
    rc = MPI_Type_get_contents_c(type, n[0], n[1], n[2], n[3], integers, addresses, counts, inner);
#else
    int integers[1];
    MPI_Aint addresses[1];

    rc = MPI_Type_get_contents(type, combiner == MPI_COMBINER_CONTIGUOUS, 0, 1, integers, addresses,
                               inner);
#endif
    return rc == MPI_SUCCESS;
}

/* A large type that is many of a small one. */
static int is_repetition(struct file *f, MPI_Datatype type)
{
    struct memory_type is = {0};
    MPI_Datatype inner;
    MPI_Count size;
    int dense;

    if (!made_of(type, &inner))
        return 0;
    MPI_Type_size_x(inner, &size);
    if (size > TRIAL_MOST) {
        dense = is_repetition(f, inner);
    } else {
        if (find_combiner(inner) != MPI_COMBINER_NAMED)
            MPI_Type_commit(&inner);
        look_at(f, inner, &is);
        dense = is.dense;
    }
    if (find_combiner(inner) != MPI_COMBINER_NAMED)
        MPI_Type_free(&inner);
    return dense;
}

/* ---- what was found is kept ---- */

static int forget(MPI_Datatype type, int key, void *value, void *extra)
{
    (void)type, (void)key, (void)extra;
    free(value);
    return MPI_SUCCESS;
}

int tcioi_type_keys_create(struct file *f)
{
    return tcioi_class_of_mpi(
        MPI_Type_create_keyval(MPI_TYPE_NULL_COPY_FN, forget, &f->type_key, NULL));
}

void tcioi_type_keys_destroy(struct file *f)
{
    if (f->type_key != MPI_KEYVAL_INVALID)
        MPI_Type_free_keyval(&f->type_key);
}

static void keep_named(struct file *f, MPI_Datatype type, const struct memory_type *is)
{
    f->named[f->named_next].is = *is;
    f->named[f->named_next].type = type;
    f->named_next = (f->named_next + 1) % NAMED_TYPES;
}

static void keep_with_type(struct file *f, MPI_Datatype type, const struct memory_type *is)
{
    struct memory_type *kept = malloc(sizeof(*kept));

    if (kept == NULL)
        return;
    *kept = *is;
    if (MPI_Type_set_attr(type, f->type_key, kept) != MPI_SUCCESS)
        free(kept);
}

static int look_first(struct file *f, MPI_Datatype type, struct memory_type *out)
{
    int position = 0, rc;
    char byte = 0;

    rc = tcioi_class_of_mpi(MPI_Pack(&byte, 0, type, &byte, 1, &position, f->comm));
    if (rc != MPI_SUCCESS)
        return MPI_ERR_TYPE;
    look_at(f, type, out);
    if (out->size > TRIAL_MOST)
        out->contiguous = out->dense = is_repetition(f, type);
    if (find_combiner(type) == MPI_COMBINER_NAMED)
        keep_named(f, type, out);
    else
        keep_with_type(f, type, out);
    return MPI_SUCCESS;
}

int tcioi_type_look(struct file *f, MPI_Datatype type, struct memory_type *out)
{
    void *kept;
    int found = 0;

    for (int i = 0; i < NAMED_TYPES; i++) {
        if (f->named[i].type == type && type != MPI_DATATYPE_NULL) {
            *out = f->named[i].is;
            return MPI_SUCCESS;
        }
    }
    if (type == MPI_DATATYPE_NULL)
        return MPI_ERR_TYPE;
    if (MPI_Type_get_attr(type, f->type_key, &kept, &found) != MPI_SUCCESS || !found)
        return look_first(f, type, out);
    memcpy(out, kept, sizeof(*out));
    return MPI_SUCCESS;
}
