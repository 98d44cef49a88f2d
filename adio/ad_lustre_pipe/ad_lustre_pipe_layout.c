/* ad_lustre_pipe: how a file is striped: found out, and asked for when it is created. */

#include "ad_lustre_pipe.h"
#include "port/log.h"

#include <fcntl.h>
#include <inttypes.h>
#include <unistd.h>

#define DISCOVERY "its striping is not known, hints are used"
#define CREATION "it is created without the striping asked for"

/* Room for a reason. */
#define REASON 256

/* One layout on its way from the library's form to ours. */
typedef struct {
    const ADIOI_LUSTRE_PIPE_Api *api;
    struct llapi_layout *from;
    struct cio_layout *to;
    char *why;                  /* set before a function returns an error */
} translation;

static int failed(translation * t, const char *function)
{
    snprintf(t->why, REASON, "%s: %s", function, strerror(errno));
    return -EIO;
}

static int unusable(translation * t, const char *reason)
{
    snprintf(t->why, REASON, "%s", reason);
    return -ENOTSUP;
}

static int check_pattern(translation * t, uint64_t pattern)
{
    if (pattern == LLAPI_RAID0 || pattern == LLAPI_OVERSTRIPING || pattern == LLAPI_MDT)
        return 0;
    if (pattern == LLAPI_DEFAULT)
        return unusable(t, "it has no layout yet");
    if (pattern == LLAPI_FOREIGN)
        return unusable(t, "it is foreign: its data is not on OSTs");
    if (pattern & LLAPI_RELEASED)
        return unusable(t, "it is released: its data is in an archive");
    snprintf(t->why, REASON, "its pattern 0x%" PRIx64 " is not known here", pattern);
    return -ENOTSUP;
}

/*
 * OSTs of an overstriped component: t if object i lies on the same one as object i mod t, and not
 * else. Unknown (no object exists yet), or in another order: as if each had one of its own.
 */
static int count_targets(const uint64_t * ost, int count)
{
    int t = 1;

    while (t < count && ost[t] != ost[0])
        t++;
    for (int i = 0; i < t; i++)
        for (int j = i + 1; j < t; j++)
            if (ost[i] == ost[j])
                return count;
    for (int i = t; i < count; i++)
        if (ost[i] != ost[i - t])
            return count;
    return t;
}

static int read_targets(translation * t, uint32_t flags, struct cio_component *c)
{
    uint64_t *ost = ADIOI_Malloc((c->count + 1) * sizeof(*ost));
    int known = 0, rc = 0;

    while (known < c->count &&
           t->api->layout_ost_index_get(t->from, (uint64_t) known, &ost[known]) == 0 &&
           ost[known] < LLAPI_UNKNOWN)
        known++;
    if (known == c->count && known > 0)
        c->targets = count_targets(ost, c->count);
    else if (known < c->count && (flags & LLAPI_COMP_INIT || errno != EINVAL))
        rc = failed(t, "llapi_layout_ost_index_get");
    ADIOI_Free(ost);
    return rc;
}

/* The part of a file that is kept on the metadata server is one stripe. */
static int read_stripes(translation * t, struct cio_component *c)
{
    const ADIOI_LUSTRE_PIPE_Api *api = t->api;
    uint64_t pattern, size, count;
    uint32_t flags;
    int rc;

    if (api->layout_pattern_get(t->from, &pattern) != 0)
        return failed(t, "llapi_layout_pattern_get");
    pattern &= ~LLAPI_SPECIFIC;
    rc = check_pattern(t, pattern);
    if (rc != 0)
        return rc;
    if (api->layout_stripe_size_get(t->from, &size) != 0)
        return failed(t, "llapi_layout_stripe_size_get");
    if (api->layout_stripe_count_get(t->from, &count) != 0)
        return failed(t, "llapi_layout_stripe_count_get");
    if (api->layout_comp_flags_get(t->from, &flags) != 0)
        return failed(t, "llapi_layout_comp_flags_get");
    c->stripe = size < LLAPI_UNKNOWN ? (int64_t) size : 0;
    c->count = count <= CIO_LAYOUT_COUNT_MAX ? (int32_t) count : 0;
    c->targets = c->count;
    if (pattern == LLAPI_OVERSTRIPING)
        return read_targets(t, flags, c);
    if (pattern == LLAPI_MDT) {
        c->stripe = c->stripe > 0 ? c->stripe : c->end - c->start;
        c->count = c->targets = 1;
    }
    return 0;
}

static int64_t as_offset(uint64_t off)
{
    return off > INT64_MAX ? CIO_LAYOUT_EOF : (int64_t) off;
}

/* The current component. One that only reserves room is part of the one before it. */
static int read_component(translation * t)
{
    struct cio_component c;
    const char *refused;
    uint64_t start, end;
    uint32_t flags;
    int rc;

    memset(&c, 0, sizeof(c));
    if (t->api->layout_comp_extent_get(t->from, &start, &end) != 0)
        return failed(t, "llapi_layout_comp_extent_get");
    if (t->api->layout_comp_flags_get(t->from, &flags) != 0)
        return failed(t, "llapi_layout_comp_flags_get");
    c.start = as_offset(start);
    c.end = as_offset(end);
    if ((flags & LLAPI_COMP_EXTENSION) && t->to->n > 0) {
        t->to->component[t->to->n - 1].end = c.end;
        return 0;
    }
    rc = read_stripes(t, &c);
    if (rc != 0)
        return rc;
    refused = cio_layout_add(t->to, &c);
    return refused != NULL ? unusable(t, refused) : 0;
}

static int translate(translation * t)
{
    uint16_t mirrors = 0;
    int rc, more;

    if (t->api->layout_mirror_count_get(t->from, &mirrors) != 0)
        return failed(t, "llapi_layout_mirror_count_get");
    if (mirrors > 1)
        return unusable(t, "it is mirrored");
    more = t->api->layout_comp_use(t->from, LLAPI_USE_FIRST);
    while (more == 0) {
        rc = read_component(t);
        if (rc != 0)
            return rc;
        more = t->api->layout_comp_use(t->from, LLAPI_USE_NEXT);
    }
    if (more < 0)
        return failed(t, "llapi_layout_comp_use");
    t->to->source = CIO_LAYOUT_LUSTRE;
    return 0;
}

static int discover(const ADIOI_LUSTRE_PIPE_Api * api, int descriptor, struct cio_layout *layout,
                    char *why)
{
    struct cio_layout found;
    translation t = {.api = api,.to = &found,.why = why };
    int rc;

    cio_layout_init(&found);
    t.from = api->layout_get_by_fd(descriptor, 0);
    if (t.from == NULL)
        return failed(&t, "llapi_layout_get_by_fd");
    rc = translate(&t);
    api->layout_free(t.from);
    if (rc == 0)
        *layout = found;
    return rc;
}

void ADIOI_LUSTRE_PIPE_Discover(ADIO_File fd, int descriptor)
{
    ADIOI_LUSTRE_PIPE_File *file = ADIOI_LUSTRE_PIPE_File_of(fd);
    const ADIOI_LUSTRE_PIPE_Api *api;
    char why[REASON];

    file->looked = 1;
    if (!ADIOI_LUSTRE_PIPE_Is_lustre(descriptor))
        return;
    api = ADIOI_LUSTRE_PIPE_Api_of(fd, DISCOVERY);
    if (api != NULL && discover(api, descriptor, &file->layout, why) != 0)
        cio_log(CIO_LOG_NOTICE, "file %s: %s: %s", fd->filename, DISCOVERY, why);
}

const struct cio_layout *ADIOI_LUSTRE_PIPE_Layout(ADIO_File fd)
{
    ADIOI_LUSTRE_PIPE_File *file = ADIOI_LUSTRE_PIPE_File_of(fd);
    int descriptor = fd->is_open ? fd->fd_sys : -1;

    if (!file->looked && fd->is_open) {
        ADIOI_LUSTRE_PIPE_Discover(fd, descriptor);
    } else if (!file->looked) {
        descriptor = open(fd->filename, O_RDONLY | O_CLOEXEC);
        ADIOI_LUSTRE_PIPE_Discover(fd, descriptor);
        if (descriptor >= 0)
            close(descriptor);
    }
    return file->layout.n > 0 ? &file->layout : NULL;
}

int64_t ADIOI_LUSTRE_PIPE_Hint(ADIO_File fd, const char *name, int64_t otherwise)
{
    char value[MPI_MAX_INFO_VAL + 1];
    int found = 0;

    if (fd->info != MPI_INFO_NULL)
        ADIOI_Info_get(fd->info, (char *) name, MPI_MAX_INFO_VAL, value, &found);
    return found ? strtoll(value, NULL, 10) : otherwise;
}

/* What hints ask of a new file. */
typedef struct {
    int64_t unit;               /* bytes; 0 or less: no wish */
    int64_t factor;             /* OSTs; -1: all; 0: no wish */
    int64_t start;              /* the first of them; -1: no wish */
    int64_t over;               /* stripes on each */
} wish;

static wish read_wish(ADIO_File fd)
{
    return (wish) {
        .unit = ADIOI_LUSTRE_PIPE_Hint(fd, "striping_unit", 0),
        .factor = ADIOI_LUSTRE_PIPE_Hint(fd, "striping_factor", 0),
        .start = ADIOI_LUSTRE_PIPE_Hint(fd, "start_iodevice", -1),
        .over = ADIOI_LUSTRE_PIPE_Hint(fd, "romio_lustre_overstriping", 1)
    };
}

static int is_wish(const wish * w)
{
    return w->unit > 0 || w->factor != 0 || w->start >= 0 || w->over > 1;
}

static uint64_t stripes_of(const wish * w)
{
    if (w->factor < 0)
        return LLAPI_WIDE + (uint64_t) (w->over - 1);
    return (uint64_t) ((w->factor > 0 ? w->factor : 1) * w->over);
}

/*
 * Lustre may put the stripes of an overstriped file on more OSTs than asked for, fewer on each,
 * unless all are named: which can be done if the first is known.
 */
static int name_targets(const ADIOI_LUSTRE_PIPE_Api * api, struct llapi_layout *l, const wish * w)
{
    int64_t named = w->over > 1 && w->factor > 0 ? w->factor * w->over : 1;
    int rc = 0;

    for (int64_t i = 0; rc == 0 && i < named; i++)
        rc = api->layout_ost_index_set(l, (int) i,
                                       (uint64_t) (w->start + i % (w->factor > 0 ? w->factor : 1)));
    return rc;
}

/* NULL, or the function that failed; errno says why. */
static const char *describe(const ADIOI_LUSTRE_PIPE_Api * api, struct llapi_layout *l,
                            const wish * w)
{
    if (w->unit > 0 && api->layout_stripe_size_set(l, (uint64_t) w->unit) != 0)
        return "llapi_layout_stripe_size_set";
    if ((w->factor != 0 || w->over > 1) && api->layout_stripe_count_set(l, stripes_of(w)) != 0)
        return "llapi_layout_stripe_count_set";
    if (w->over > 1 && api->layout_pattern_set(l, LLAPI_OVERSTRIPING) != 0)
        return "llapi_layout_pattern_set";
    if (w->start >= 0 && name_targets(api, l, w) != 0)
        return "llapi_layout_ost_index_set";
    return NULL;
}

/* A descriptor or a negative errno; *function is what failed. */
static int create(ADIO_File fd, const ADIOI_LUSTRE_PIPE_Api * api, int flags, mode_t mode,
                  const char **function)
{
    struct llapi_layout *l = api->layout_alloc();
    wish w = read_wish(fd);
    int rc = -1;

    *function = "llapi_layout_alloc";
    if (l == NULL)
        return -ENOMEM;
    *function = describe(api, l, &w);
    if (*function == NULL) {
        *function = "llapi_layout_file_create";
        rc = api->layout_file_create(fd->filename, flags, (int) mode, l);
    }
    rc = rc >= 0 ? rc : errno != 0 ? -errno : -EIO;
    api->layout_free(l);
    return rc;
}

int ADIOI_LUSTRE_PIPE_Create(ADIO_File fd, int flags, mode_t mode)
{
    const ADIOI_LUSTRE_PIPE_Api *api;
    const char *function;
    wish w = read_wish(fd);
    int rc;

    if (!is_wish(&w) || !ADIOI_LUSTRE_PIPE_Is_lustre_folder(fd->filename) ||
        access(fd->filename, F_OK) == 0)
        return -ENOTSUP;
    api = ADIOI_LUSTRE_PIPE_Api_of(fd, CREATION);
    if (api == NULL)
        return -ENOTSUP;
    rc = create(fd, api, flags, mode, &function);
    if (rc >= 0 || rc == -EEXIST)
        return rc;
    cio_log(CIO_LOG_NOTICE, "file %s: %s (striping_unit %" PRId64 ", striping_factor %" PRId64
            ", start_iodevice %" PRId64 ", overstriping %" PRId64 "): %s: %s", fd->filename,
            CREATION, w.unit, w.factor, w.start, w.over, function, strerror(-rc));
    return rc == -ENOTSUP ? -EIO : rc;
}
