/*
 * ad_lustre_pipe: how a file is striped. A component of a progressive file gets its objects when
 * something is written into it. Until then its numbers are what it was asked to have, with as many
 * OSTs as the file system has, and it is pending.
 */

#include "ad_lustre_pipe.h"
#include "port/log.h"

#include <fcntl.h>
#include <inttypes.h>
#include <unistd.h>

#define DISCOVERY "its striping is not known, hints are used"
#define REASON ADIOI_LUSTRE_PIPE_REASON

/* One layout on its way from the library's form to ours. */
typedef struct {
    const ADIOI_LUSTRE_PIPE_Api *api;
    ADIO_File fd;
    struct llapi_layout *from;
    struct cio_layout *to;
    int pending;                /* the current component has no objects yet */
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

static int read_targets(translation * t, struct cio_component *c)
{
    uint64_t *ost = ADIOI_Malloc((c->count + 1) * sizeof(*ost));
    int known = 0, rc = 0;

    while (known < c->count &&
           t->api->layout_ost_index_get(t->from, (uint64_t) known, &ost[known]) == 0 &&
           ost[known] < LLAPI_UNKNOWN)
        known++;
    if (known == c->count && known > 0)
        c->targets = count_targets(ost, c->count);
    else if (known < c->count)
        rc = failed(t, "llapi_layout_ost_index_get");
    ADIOI_Free(ost);
    return rc;
}

/* Only components of progressive files have flags. */
static int find_objects(translation * t, uint32_t flags)
{
    uint64_t ost = LLAPI_UNKNOWN;

    t->pending = 0;
    if (flags & LLAPI_COMP_INIT)
        return 0;
    if (t->api->layout_ost_index_get(t->from, 0, &ost) != 0 && errno != EINVAL)
        return failed(t, "llapi_layout_ost_index_get");
    t->pending = ost >= LLAPI_UNKNOWN;
    return 0;
}

static int targets_of_all(translation * t)
{
    ADIOI_LUSTRE_PIPE_File *file = ADIOI_LUSTRE_PIPE_File_of(t->fd);
    int *index;

    if (file->targets == 0) {
        file->targets = ADIOI_LUSTRE_PIPE_Targets(t->api, t->fd->filename, &index);
        if (file->targets > 0)
            ADIOI_Free(index);
        else
            file->targets = -1;
    }
    return file->targets > 0 ? file->targets : 0;
}

static void expect(translation * t, uint64_t pattern, uint64_t count, struct cio_component *c)
{
    struct cio_expected e = {.share = pattern == LLAPI_OVERSTRIPING,.targets = targets_of_all(t) };

    if (count >= LLAPI_WIDE && count <= LLAPI_WIDE_MOST)
        e.each = (int64_t) (count - LLAPI_WIDE) + 1;
    else if (count < LLAPI_UNKNOWN)
        e.count = (int64_t) count;
    cio_layout_expect(&e, c);
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
    if (pattern == LLAPI_MDT) {
        c->stripe = c->stripe > 0 ? c->stripe : c->end - c->start;
        c->count = c->targets = 1;
        return 0;
    }
    rc = find_objects(t, flags);
    if (rc != 0)
        return rc;
    c->count = c->targets = count <= CIO_LAYOUT_COUNT_MAX ? (int32_t) count : 0;
    if (t->pending)
        expect(t, pattern, count, c);
    else if (pattern == LLAPI_OVERSTRIPING)
        rc = read_targets(t, c);
    return rc;
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
    t->pending = 0;
    rc = read_stripes(t, &c);
    if (rc != 0)
        return rc;
    refused = cio_layout_add(t->to, &c);
    if (refused != NULL)
        return unusable(t, refused);
    if (t->pending)
        t->to->pending |= UINT64_C(1) << (t->to->n - 1);
    return 0;
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

static int read_layout(translation * t, int descriptor)
{
    ADIOI_LUSTRE_PIPE_Callback before = ADIOI_LUSTRE_PIPE_Hush(t->api);
    int rc;

    t->from = t->api->layout_get_by_fd(descriptor, 0);
    rc = t->from != NULL ? translate(t) : failed(t, "llapi_layout_get_by_fd");
    t->api->layout_free(t->from);
    ADIOI_LUSTRE_PIPE_Unhush(t->api, before);
    return rc;
}

/* 0, or why has been set; the layout is then as it was. */
static int discover(ADIO_File fd, int descriptor, struct cio_layout *layout, char *why)
{
    struct cio_layout found;
    translation t = {.fd = fd,.to = &found,.why = why };
    int rc;

    cio_layout_init(&found);
    t.api = ADIOI_LUSTRE_PIPE_Api_of(fd, why);
    rc = t.api != NULL ? read_layout(&t, descriptor) : -ENOSYS;
    if (rc == 0)
        *layout = found;
    return rc;
}

void ADIOI_LUSTRE_PIPE_Discover(ADIO_File fd, int descriptor)
{
    ADIOI_LUSTRE_PIPE_File *file = ADIOI_LUSTRE_PIPE_File_of(fd);
    int first = !file->looked;
    char why[REASON];

    file->looked = 1;
    if (!ADIOI_LUSTRE_PIPE_Is_lustre(descriptor))
        return;
    if (discover(fd, descriptor, &file->layout, why) != 0 && first)
        cio_log(CIO_LOG_NOTICE, "file %s: %s: %s", fd->filename, DISCOVERY, why);
}

const struct cio_layout *ADIOI_LUSTRE_PIPE_Layout(ADIO_File fd, int again)
{
    ADIOI_LUSTRE_PIPE_File *file = ADIOI_LUSTRE_PIPE_File_of(fd);
    int look = !file->looked || (again && file->layout.pending != 0);
    int descriptor;

    if (look && fd->is_open) {
        ADIOI_LUSTRE_PIPE_Discover(fd, fd->fd_sys);
    } else if (look) {
        descriptor = open(fd->filename, O_RDONLY | O_CLOEXEC);
        ADIOI_LUSTRE_PIPE_Discover(fd, descriptor);
        if (descriptor >= 0)
            close(descriptor);
    }
    return file->layout.n > 0 ? &file->layout : NULL;
}
