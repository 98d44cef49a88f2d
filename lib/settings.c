/*
 * Hints: from the file that ROMIO_HINTS names, as ROMIO reads it (rank 0 does), then from the info,
 * which wins. A value that the table does not take is reported and ignored, as everywhere; but a
 * segment size decides who writes what, so one that cannot be had is an error.
 */
#include "internal.h"

#include "port/log.h"
#include "port/nodemem.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>

#define HINTS_FILE_MAX 65536 /* ROMIO reads no more */
#define MIB ((int64_t)1 << 20)
#define LEAST_STRIPE (64 << 10)
#define AUTO_SEGMENTS 8
#define SHARE_OF_ROOM 4 /* a node's regions take at most one part in so many */

static int is_ours(const struct cio_hint *hint)
{
    return strncmp(hint->name, "tcio_", 5) == 0 || strcmp(hint->name, "romio_tam_stats") == 0;
}

static int take(struct file *f, const struct cio_hint *hint, const char *value)
{
    char why[CIO_HINT_VALUE_MAX];

    if (cio_hint_parse(hint, value, &f->hints, why) == 0)
        return MPI_SUCCESS;
    if (hint->field == offsetof(struct cio_hints, tcio_segment_size))
        return tcioi_because(f, MPI_ERR_INFO_VALUE,
                             "hint %s: \"%.64s\" is no power of two from %" PRId64 " to %" PRId64,
                             hint->name, value, hint->min, hint->max);
    if (f->rank == 0)
        cio_log(CIO_LOG_NOTICE, "file %s: %s", f->name, why);
    return MPI_SUCCESS;
}

static int take_by_name(struct file *f, const char *name, const char *value)
{
    size_t n;
    const struct cio_hint *table = cio_hint_table(&n);

    for (size_t i = 0; i < n; i++)
        if (is_ours(&table[i]) && strcmp(table[i].name, name) == 0)
            return take(f, &table[i], value);
    return MPI_SUCCESS;
}

/* ---- the file ---- */

/* "NAME VALUE", whatever else there is; '#' begins a comment. */
static int take_line(struct file *f, char *line)
{
    char *rest = NULL, *name = strtok_r(line, " \t", &rest), *value = strtok_r(NULL, " \t", &rest);

    if (name == NULL || name[0] == '#' || value == NULL)
        return MPI_SUCCESS;
    return take_by_name(f, name, value);
}

static int take_lines(struct file *f, char *text)
{
    char *rest = NULL;
    int rc = MPI_SUCCESS;

    for (char *line = strtok_r(text, "\r\n", &rest); line != NULL && rc == MPI_SUCCESS;
         line = strtok_r(NULL, "\r\n", &rest))
        rc = take_line(f, line);
    return rc;
}

/* Its length; 0 if there is none. */
static int read_file(char *text)
{
    const char *path = getenv("ROMIO_HINTS");
    FILE *in = path != NULL ? fopen(path, "re") : NULL;
    size_t n = 0;

    if (in == NULL)
        return 0;
    n = fread(text, 1, HINTS_FILE_MAX, in);
    fclose(in);
    return (int)n;
}

static int take_file(struct file *f)
{
    char *text = calloc(HINTS_FILE_MAX + 1, 1);
    int length = 0, rc = tcioi_agree(f, text == NULL ? MPI_ERR_NO_MEM : MPI_SUCCESS);

    if (rc == MPI_SUCCESS && f->rank == 0)
        length = read_file(text);
    if (rc == MPI_SUCCESS)
        rc = tcioi_agree(f, tcioi_class_of_mpi(MPI_Bcast(&length, 1, MPI_INT, 0, f->comm)));
    if (rc == MPI_SUCCESS && length > 0)
        rc = tcioi_agree(f, tcioi_class_of_mpi(MPI_Bcast(text, length, MPI_BYTE, 0, f->comm)));
    if (rc == MPI_SUCCESS)
        rc = take_lines(f, text);
    free(text);
    return rc;
}

/* ---- the info ---- */

static int take_info_key(struct file *f, MPI_Info info, const struct cio_hint *hint)
{
    char value[MPI_MAX_INFO_VAL + 1] = "";
    int found = 0;
    int rc = tcioi_class_of_mpi(MPI_Info_get(info, hint->name, MPI_MAX_INFO_VAL, value, &found));

    if (rc != MPI_SUCCESS || !found)
        return rc;
    return take(f, hint, value);
}

static int take_info(struct file *f, MPI_Info info)
{
    size_t n;
    const struct cio_hint *table = cio_hint_table(&n);
    int rc = MPI_SUCCESS;

    for (size_t i = 0; i < n && info != MPI_INFO_NULL && rc == MPI_SUCCESS; i++)
        if (is_ours(&table[i]))
            rc = take_info_key(f, info, &table[i]);
    return rc;
}

static int check_same(struct file *f)
{
    int64_t digest = (int64_t)(cio_hints_digest(&f->hints) >> 1);
    int64_t mine[2] = {digest, -digest}, most[2];
    int rc = tcioi_class_of_mpi(MPI_Allreduce(mine, most, 2, MPI_INT64_T, MPI_MAX, f->comm));

    if (rc != MPI_SUCCESS || most[0] == -most[1])
        return rc;
    return tcioi_because(f, MPI_ERR_NOT_SAME,
                         "hints tcio_* or romio_tam_stats differ between ranks");
}

int tcioi_settings_read(struct file *f, MPI_Info info)
{
    int rc;

    cio_hints_init(&f->hints);
    rc = take_file(f);
    if (rc == MPI_SUCCESS)
        rc = take_info(f, info);
    rc = tcioi_agree(f, rc);
    return rc == MPI_SUCCESS ? tcioi_agree(f, check_same(f)) : rc;
}

/* ---- sizes ---- */

static int64_t stripe_of(struct file *f)
{
    char value[MPI_MAX_INFO_VAL + 1] = "";
    int found = 0;
    MPI_Info info;

    if (MPI_File_get_info(f->file, &info) != MPI_SUCCESS)
        return 0;
    if (MPI_Info_get(info, "striping_unit", MPI_MAX_INFO_VAL, value, &found) != MPI_SUCCESS)
        found = 0;
    MPI_Info_free(&info);
    return found ? strtoll(value, NULL, 10) : 0;
}

/* The largest power of two that divides a stripe, if that is of any use. */
static int64_t default_size(int64_t stripe, int64_t block)
{
    int64_t size = stripe > 0 ? stripe & -stripe : 0;

    if (size < LEAST_STRIPE)
        size = MIB;
    while (size < block)
        size *= 2;
    return size;
}

static int choose_size(struct file *f)
{
    struct statvfs fs;
    int64_t block = fstatvfs(f->fd, &fs) == 0 && fs.f_frsize > 0 ? (int64_t)fs.f_frsize : 1;
    int64_t asked = f->hints.tcio_segment_size;

    if (asked % block != 0)
        return tcioi_because(f, MPI_ERR_INFO_VALUE,
                             "hint tcio_segment_size: %" PRId64
                             " is no multiple of the file system's"
                             " block of %" PRId64 " bytes",
                             asked, block);
    f->settings.segment_size = asked > 0 ? asked : default_size(stripe_of(f), block);
    return MPI_SUCCESS;
}

/* Ranks with this one's processor name: they share memory (port/onesided_mpi.h). */
static int ranks_here(struct file *f, int64_t *out)
{
    uint64_t *all = malloc((size_t)f->size * sizeof(*all)), mine;
    char name[MPI_MAX_PROCESSOR_NAME + 1] = "";
    int length, rc = tcioi_agree(f, all == NULL ? MPI_ERR_NO_MEM : MPI_SUCCESS);
    int64_t n = 0;

    MPI_Get_processor_name(name, &length);
    mine = tcioi_hash_text(name);
    if (rc == MPI_SUCCESS)
        rc = tcioi_class_of_mpi(
            MPI_Allgather(&mine, 1, MPI_UINT64_T, all, 1, MPI_UINT64_T, f->comm));
    for (int i = 0; i < f->size && rc == MPI_SUCCESS; i++)
        n += all[i] == mine;
    free(all);
    *out = n;
    return rc;
}

static int64_t region_bytes(const struct cio_space_settings *settings)
{
    int64_t bytes, exposed;

    cio_space_region(settings, &bytes, &exposed);
    return bytes;
}

/* As many as the room for regions on the fullest node allows, and one at least. */
static int choose_segments(struct file *f)
{
    int64_t size, left, ranks, fit = AUTO_SEGMENTS, address = cio_address_room();
    int rc = ranks_here(f, &ranks);

    if (rc != MPI_SUCCESS)
        return rc;
    cio_nodemem_posix_room(&size, &left);
    left = (left < address ? left : address) / SHARE_OF_ROOM / ranks;
    for (f->settings.segments = fit; fit > 1 && region_bytes(&f->settings) > left;)
        f->settings.segments = --fit;
    return tcioi_class_of_mpi(
        MPI_Allreduce(&fit, &f->settings.segments, 1, MPI_INT64_T, MPI_MIN, f->comm));
}

static int choose_progress(struct file *f)
{
    int level, multiple;

    MPI_Query_thread(&level);
    multiple = level == MPI_THREAD_MULTIPLE;
    return tcioi_class_of_mpi(
        MPI_Allreduce(&multiple, &f->settings.progress_thread, 1, MPI_INT, MPI_MIN, f->comm));
}

int tcioi_settings_complete(struct file *f)
{
    int rc = tcioi_agree(f, choose_size(f));

    f->settings.segments = f->hints.tcio_segments;
    f->settings.immediate = f->hints.tcio_visibility == CIO_VISIBILITY_IMMEDIATE;
    if (rc == MPI_SUCCESS)
        rc = tcioi_agree(f, choose_progress(f));
    if (rc == MPI_SUCCESS && f->settings.segments == 0)
        rc = tcioi_agree(f, choose_segments(f));
    return rc;
}
