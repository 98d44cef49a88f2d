/*
 * ad_lustre_pipe: a new file with the striping that hints ask for.
 *
 * Overstriping is several stripes on each OST. Where they lie is up to Lustre, which may put them on
 * more OSTs than were asked for, fewer on each, unless all OSTs are named: which is done if the
 * first is given, from that one on, round those that there are. Libraries before Lustre 2.13 know nothing
 * of it; those before 2.16 do not take "several on all OSTs" for a number of stripes, nor does any take
 * more than 32 of them so: the number is worked out here, where it is known how many OSTs there are.
 */

#include "ad_lustre_pipe.h"

#include <inttypes.h>
#include <unistd.h>

#define CREATION "it is created without the striping asked for"

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

/* A new layout on its way to the library. */
typedef struct {
    const ADIOI_LUSTRE_PIPE_Api *api;
    struct llapi_layout *layout;
    wish wish;
    int *target;                /* OSTs that there are, by number; */
    int targets;                /* 0: not known, and not needed without overstriping */
} plan;

/* OSTs that are to be used; 0: all, however many that is. */
static int64_t width(const plan * p)
{
    int64_t wanted = p->wish.factor != 0 ? p->wish.factor : 1;

    if (wanted > 0)
        return p->targets > 0 && p->targets < wanted ? p->targets : wanted;
    return p->targets;
}

static uint64_t stripes(const plan * p)
{
    const wish *w = &p->wish;

    if (w->over <= 1)
        return w->factor < 0 ? LLAPI_WIDE : (uint64_t) w->factor;
    if (width(p) > 0)
        return (uint64_t) (width(p) * w->over);
    return LLAPI_WIDE + (uint64_t) (w->over - 1);
}

/* Where the first OST is among those that there are; -1: it is not. */
static int place_of_first(const plan * p)
{
    for (int i = 0; i < p->targets; i++)
        if (p->target[i] == p->wish.start)
            return i;
    return -1;
}

/* Without overstriping the first is enough: the others follow it. */
static int name_targets(const plan * p)
{
    int64_t named = p->wish.over > 1 && width(p) > 0 ? width(p) * p->wish.over : 1;
    int first = place_of_first(p), rc = 0;

    for (int64_t i = 0; rc == 0 && i < named; i++) {
        int64_t next = i % (named > 1 ? width(p) : 1);

        next = first < 0 ? p->wish.start + next : p->target[(first + next) % p->targets];
        rc = p->api->layout_ost_index_set(p->layout, (int) i, (uint64_t) next);
    }
    return rc;
}

/* A library that knows nothing of overstriping makes the file without it. */
static int set_pattern(plan * p, char *why)
{
    if (p->wish.over <= 1 || p->api->layout_pattern_set(p->layout, LLAPI_OVERSTRIPING) == 0)
        return 0;
    if (errno != EOPNOTSUPP)
        return -1;
    p->wish.over = 1;
    snprintf(why, ADIOI_LUSTRE_PIPE_REASON,
             "it is created without overstriping, for which Lustre 2.13 is needed");
    return 0;
}

/* NULL, or the function that failed; errno says why. */
static const char *describe(plan * p, char *why)
{
    const wish *w = &p->wish;

    if (w->unit > 0 && p->api->layout_stripe_size_set(p->layout, (uint64_t) w->unit) != 0)
        return "llapi_layout_stripe_size_set";
    if (set_pattern(p, why) != 0)
        return "llapi_layout_pattern_set";
    if ((w->factor != 0 || w->over > 1) &&
        p->api->layout_stripe_count_set(p->layout, stripes(p)) != 0)
        return "llapi_layout_stripe_count_set";
    if (w->start >= 0 && name_targets(p) != 0)
        return "llapi_layout_ost_index_set";
    return NULL;
}

static int failure(void)
{
    return errno != 0 ? -errno : -EIO;
}

/* A descriptor or a negative errno; *function is what failed. */
static int make(ADIO_File fd, plan * p, int flags, mode_t mode, const char **function, char *why)
{
    int rc = -1;

    *function = "llapi_layout_alloc";
    p->layout = p->api->layout_alloc();
    if (p->layout == NULL)
        return -ENOMEM;
    *function = describe(p, why);
    if (*function == NULL) {
        *function = "llapi_layout_file_create";
        rc = p->api->layout_file_create(fd->filename, flags, (int) mode, p->layout);
    }
    rc = rc >= 0 ? rc : failure();
    p->api->layout_free(p->layout);
    return rc;
}

/* As make(), where the OSTs are known, if that matters, and the library prints nothing. */
static int create(ADIO_File fd, plan * p, int flags, mode_t mode, const char **function, char *why)
{
    ADIOI_LUSTRE_PIPE_Callback before;
    int rc;

    if (p->wish.over > 1)
        p->targets = ADIOI_LUSTRE_PIPE_Targets(p->api, fd->filename, &p->target);
    before = ADIOI_LUSTRE_PIPE_Hush(p->api);
    rc = make(fd, p, flags, mode, function, why);
    ADIOI_LUSTRE_PIPE_Unhush(p->api, before);
    if (p->targets > 0)
        ADIOI_Free(p->target);
    return rc;
}

static void explain(const wish * w, const char *function, int rc, char *why)
{
    snprintf(why, ADIOI_LUSTRE_PIPE_REASON,
             CREATION " (striping_unit %" PRId64 ", striping_factor %" PRId64 ", start_iodevice %"
             PRId64 ", overstriping %" PRId64 "): %s: %s", w->unit, w->factor, w->start, w->over,
             function, strerror(-rc));
}

int ADIOI_LUSTRE_PIPE_Create(ADIO_File fd, int flags, mode_t mode, char *why)
{
    char refusal[ADIOI_LUSTRE_PIPE_REASON];
    plan p = {.wish = read_wish(fd) };
    const wish asked = p.wish;
    const char *function;
    int rc;

    why[0] = '\0';
    if (!is_wish(&asked) || !ADIOI_LUSTRE_PIPE_Is_lustre_folder(fd->filename) ||
        access(fd->filename, F_OK) == 0)
        return -ENOTSUP;
    p.api = ADIOI_LUSTRE_PIPE_Api_of(fd, refusal);
    if (p.api == NULL) {
        snprintf(why, ADIOI_LUSTRE_PIPE_REASON, CREATION ": %.400s", refusal);
        return -ENOTSUP;
    }
    rc = create(fd, &p, flags, mode, &function, why);
    if (rc >= 0 || rc == -EEXIST)
        return rc;
    explain(&asked, function, rc, why);
    return rc == -ENOTSUP ? -EIO : rc;
}
