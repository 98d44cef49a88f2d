/*
 * ad_tam: types as the engine takes them, looked at once and kept with the type.
 *
 * What ROMIO keeps for one instance of a type, the engine has to look through once: to add up
 * lengths, so that places can be found, and to see whether offsets rise. For a view of a million
 * blocks that takes longer than a small call. So what was found is an attribute of the type, as
 * ROMIO's own list is, and goes with it: duplicates share both, and another type that gets the same
 * handle later has none. A view has a type of its own (ROMIO duplicates it in set_view), so its
 * attribute goes with the next view, or the file.
 *
 * What a type has it keeps until it is freed, so that no thread finds it gone.
 *
 * The key of the attribute outlives files. It is made with the first type, and freed when MPI
 * frees MPI_COMM_SELF, as ROMIO frees its own. Where it cannot be had, or not any more, types are
 * looked at in each call.
 */

#include "ad_tam.h"

static int key = MPI_KEYVAL_INVALID;
static int key_is_over;
static pthread_mutex_t key_lock = PTHREAD_MUTEX_INITIALIZER;

static int on_dup(MPI_Datatype type, int keyval, void *extra, void *value, void *copy, int *flag)
{
    (void) type;
    (void) keyval;
    (void) extra;
    *(struct cio_flat **) copy = cio_flat_share(value);
    *flag = 1;
    return MPI_SUCCESS;
}

static int on_free(MPI_Datatype type, int keyval, void *value, void *extra)
{
    (void) type;
    (void) keyval;
    (void) extra;
    cio_flat_destroy(value);
    return MPI_SUCCESS;
}

/* MPI_COMM_SELF is freed: the key is not used any more. */
static int on_end(MPI_Comm comm, int keyval, void *value, void *extra)
{
    int type_key = __atomic_exchange_n(&key, MPI_KEYVAL_INVALID, __ATOMIC_ACQ_REL);

    (void) comm;
    (void) value;
    (void) extra;
    __atomic_store_n(&key_is_over, 1, __ATOMIC_RELEASE);
    MPI_Comm_free_keyval(&keyval);
    return type_key == MPI_KEYVAL_INVALID ? MPI_SUCCESS : MPI_Type_free_keyval(&type_key);
}

/* Has the key freed at the end. */
static int await_end(void)
{
    int end_key, rc = MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, on_end, &end_key, NULL);

    if (rc != MPI_SUCCESS)
        return rc;
    rc = MPI_Comm_set_attr(MPI_COMM_SELF, end_key, NULL);
    if (rc != MPI_SUCCESS)
        MPI_Comm_free_keyval(&end_key);
    return rc;
}

static void make_key(void)
{
    int made;

    if (key != MPI_KEYVAL_INVALID || __atomic_load_n(&key_is_over, __ATOMIC_ACQUIRE) ||
        MPI_Type_create_keyval(on_dup, on_free, &made, NULL) != MPI_SUCCESS)
        return;
    if (await_end() == MPI_SUCCESS)
        __atomic_store_n(&key, made, __ATOMIC_RELEASE);
    else
        MPI_Type_free_keyval(&made);
}

/* What was kept with a type, or NULL. */
static struct cio_flat *find(MPI_Datatype type)
{
    int keyval = __atomic_load_n(&key, __ATOMIC_ACQUIRE), found = 0;
    struct cio_flat *flat;

    if (keyval == MPI_KEYVAL_INVALID ||
        MPI_Type_get_attr(type, keyval, &flat, &found) != MPI_SUCCESS || !found)
        return NULL;
    return flat;
}

/*
 * Leaves it with the type. Nobody waits for the lock: an MPI may hold one of its own here, and take
 * another one in these calls. Whoever comes second looks for himself, this once.
 */
static void keep(MPI_Datatype type, struct cio_flat *flat)
{
    if (pthread_mutex_trylock(&key_lock) != 0)
        return;
    make_key();
    if (key != MPI_KEYVAL_INVALID && find(type) == NULL &&
        MPI_Type_set_attr(type, key, cio_flat_share(flat)) != MPI_SUCCESS)
        cio_flat_destroy(flat);
    pthread_mutex_unlock(&key_lock);
}

/* From what ROMIO keeps for one instance. Empty blocks, which mark bounds, are passed over. */
static int survey(MPI_Datatype type, struct cio_flat **flat)
{
    ADIOI_Flatlist_node *node = ADIOI_Flatten_and_find(type);
    MPI_Aint lb, extent;

    MPI_Type_get_extent(type, &lb, &extent);
    return cio_flat_borrow((const int64_t *) node->indices, (const int64_t *) node->blocklens,
                           (size_t) node->count, extent, flat);
}

/* Touching instances of a type without gaps: `size` bytes, or any other number. */
static int dense(MPI_Datatype type, struct cio_flat **flat)
{
    MPI_Count size;
    int64_t off = 0, len;

    MPI_Type_size_x(type, &size);
    len = size;
    return cio_flat_create(&off, &len, 1, len, flat);
}

/* Once more for somebody, who may need it for longer than there is the type. */
static int lend(struct cio_flat *flat, int lasting, struct cio_flat **out)
{
    if (lasting)
        return cio_flat_lasting(flat, out);
    *out = cio_flat_share(flat);
    return 0;
}

int ADIOI_TAM_Type_flat(MPI_Datatype type, int lasting, struct cio_flat **out)
{
    struct cio_flat *flat = find(type);
    int contig, rc;

    if (flat != NULL)
        return lend(flat, lasting, out);
    ADIOI_Datatype_iscontig(type, &contig);
    if (contig)
        return dense(type, out);
    rc = survey(type, &flat);
    if (rc != 0)
        return rc;
    keep(type, flat);
    rc = lend(flat, lasting, out);
    cio_flat_destroy(flat);
    return rc;
}
