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

int tcioi_settings_file(char *text)
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

static int take_file(struct file *f, int length)
{
    int rc = MPI_SUCCESS;

    if (length > 0)
        rc = tcioi_class_of_mpi(MPI_Bcast(f->hints_text, length, MPI_BYTE, 0, f->comm));
    return rc == MPI_SUCCESS ? take_lines(f, f->hints_text) : rc;
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

int tcioi_settings_read(struct file *f, int length, MPI_Info info)
{
    int64_t same[2];
    int rc;

    cio_hints_init(&f->hints);
    rc = take_file(f, length);
    if (rc == MPI_SUCCESS)
        rc = take_info(f, info);
    same[0] = (int64_t)(cio_hints_digest(&f->hints) >> 1);
    same[1] = -same[0];
    rc = tcioi_agree_on(f, rc, same, 2);
    if (rc == MPI_SUCCESS && same[0] != -same[1])
        rc = tcioi_refuse(f, MPI_ERR_NOT_SAME,
                          "hints tcio_* or romio_tam_stats differ between ranks");
    return rc;
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

int tcioi_settings_sizes(struct file *f)
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
    cio_space_defaults(asked > 0 ? 0 : stripe_of(f), &f->settings);
    while (f->settings.segment_size < block)
        f->settings.segment_size *= 2;
    if (asked > 0)
        f->settings.segment_size = asked;
    if (f->hints.tcio_segments > 0)
        f->settings.segments = f->hints.tcio_segments;
    f->settings.immediate = f->hints.tcio_visibility == CIO_VISIBILITY_IMMEDIATE;
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

int64_t tcioi_settings_fit(struct file *f, int64_t ranks)
{
    struct cio_space_settings trial = f->settings;
    int64_t size, left, address = cio_address_room();

    cio_nodemem_posix_room(&size, &left);
    left = (left < address ? left : address) / SHARE_OF_ROOM / ranks;
    while (trial.segments > 1 && region_bytes(&trial) > left)
        trial.segments--;
    return trial.segments;
}

int tcioi_settings_fit_all(struct file *f)
{
    int64_t ranks = 1, minus_fit;
    int rc = ranks_here(f, &ranks);

    minus_fit = -tcioi_settings_fit(f, ranks);
    rc = tcioi_agree_on(f, rc, &minus_fit, 1);
    f->settings.segments = -minus_fit;
    return rc;
}
