/*
 * Reading. Small reads in a row are taken from a window of the file, where level 2 cannot have
 * anything that they must see; otherwise from level 2.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "tcio/deal.h"
#include "tcio/state.h"

#define LARGE (64 << 10) /* read from the file by itself */
#define FIRST_WISHES 64

static int meets(int64_t lo, int64_t hi, int64_t off, int64_t len)
{
    return off < hi && off + len > lo;
}

/* Whether the file alone might give other bytes than this process may expect. */
static int level2_matters(const struct cio_tcio *f, int64_t off, int64_t len)
{
    if (f->space->settings.immediate)
        return cio_tcio_in_use(f);
    return f->look || meets(f->sent_lo, f->sent_hi, off, len);
}

/* ---- from the file ---- */

/* How many of the bytes lie before the end; asked only if the last one is zero. */
static int64_t before_end(struct cio_tcio *f, int64_t off, const char *buf, int64_t len)
{
    int64_t size;

    if (len == 0 || buf[len - 1] != 0)
        return len;
    if (cio_tcio_size(f, &size) != 0)
        size = cio_store_size(f->store);
    return cio_max64(0, cio_min64(len, size - off));
}

static int read_file(struct cio_tcio *f, int64_t off, char *buf, int64_t len, int64_t *got)
{
    int rc = cio_store_read(f->store, buf, len, off);

    f->stats.direct_reads++;
    cio_tally(&f->space->stats.file_reads, 1);
    if (rc == 0 && got != NULL)
        *got = before_end(f, off, buf, len);
    return rc;
}

static int in_window(const struct cio_tcio *f, int64_t off, int64_t len)
{
    return f->window_epoch == f->space->epoch && off >= f->window_off &&
           off + len <= f->window_off + f->window_len;
}

/* The window begins where the read does. Its last bytes may lie behind the end of the file. */
static int move_window(struct cio_tcio *f, int64_t off)
{
    int64_t n = CIO_TCIO_WINDOW, size;
    int rc;

    if (f->window == NULL)
        f->window = malloc(CIO_TCIO_WINDOW);
    if (f->window == NULL)
        return -ENOMEM;
    size = cio_store_size(f->store);
    n = cio_max64(0, cio_min64(n, size - off));
    f->window_len = 0;
    cio_tally(&f->space->stats.file_reads, 1);
    rc = n > 0 ? cio_store_read(f->store, f->window, n, off) : 0;
    if (rc != 0)
        return rc;
    f->window_off = off;
    f->window_len = n;
    f->window_epoch = f->space->epoch;
    return 0;
}

/* Only where others' writes need not be seen before a flush, which all processes make. */
static int read_window(struct cio_tcio *f, int64_t off, char *buf, int64_t len, int64_t *got)
{
    int near = f->read_at >= 0 && off >= f->read_at && off - f->read_at < CIO_TCIO_WINDOW;

    if (!in_window(f, off, len) && near && len <= CIO_TCIO_WINDOW / 4 && move_window(f, off) != 0)
        f->window_len = 0;
    if (!in_window(f, off, len))
        return read_file(f, off, buf, len, got);
    memcpy(buf, f->window + off - f->window_off, (size_t)len);
    if (got != NULL)
        *got = len;
    return 0;
}

/* ---- now ---- */

static int read_level2(struct cio_tcio *f, int64_t off, char *buf, int64_t len, int64_t *got)
{
    struct cio_wish wish = {off, len, buf};
    int64_t cut = 0, size;
    int rc;

    if (meets(f->direct_lo, f->direct_hi, off, len)) {
        rc = cio_tcio_drain(f, 0);
        return rc != 0 ? rc : read_file(f, off, buf, len, got);
    }
    rc = cio_deal_reads(f, &wish, 1, &cut);
    if (rc != 0 || got == NULL)
        return rc;
    *got = len;
    if (cut) {
        rc = cio_tcio_size(f, &size);
        *got = cio_max64(0, cio_min64(len, size - off));
    }
    return rc;
}

int cio_tcio_read(struct cio_tcio *f, int64_t off, void *buf, int64_t len, int64_t *got)
{
    int rc = 0;

    if (off < 0 || len < 0 || len > INT64_MAX - off)
        return -EINVAL;
    if (len == 0 && got != NULL)
        *got = 0;
    f->stats.reads++;
    f->stats.bytes_read += len;
    if (len == 0)
        return 0;
    if (cio_wlog_touches(&f->log, off, len))
        rc = cio_tcio_push(f);
    if (rc != 0)
        return rc;
    if (level2_matters(f, off, len))
        rc = read_level2(f, off, buf, len, got);
    else if (f->space->settings.immediate || f->space->settings.open != NULL)
        rc = read_file(f, off, buf, len, got);
    else
        rc = read_window(f, off, buf, len, got);
    f->read_at = off + len;
    return rc;
}

/* ---- later ---- */

static int grow_wishes(struct cio_tcio *f)
{
    int64_t n = f->wishes_allocated > 0 ? 2 * f->wishes_allocated : FIRST_WISHES;
    struct cio_wish *w = realloc(f->wish, (size_t)n * sizeof *w);

    if (w == NULL)
        return -ENOMEM;
    f->wish = w;
    f->wishes_allocated = n;
    return 0;
}

static int add_wish(struct cio_tcio *f, int64_t off, char *buf, int64_t len)
{
    struct cio_wish *last = f->wishes > 0 ? &f->wish[f->wishes - 1] : NULL;
    int rc;

    if (last != NULL && last->off + last->len == off && last->buf + last->len == buf) {
        last->len += len;
    } else {
        if (f->wishes == f->wishes_allocated && (rc = grow_wishes(f)) != 0)
            return rc;
        f->wish[f->wishes++] = (struct cio_wish){off, len, buf};
    }
    f->wished += len;
    f->wish_lo = cio_min64(f->wish_lo, off);
    f->wish_hi = cio_max64(f->wish_hi, off + len);
    return 0;
}

/* What must not wait: large pieces; and what was written here, unless it is one call's with others.
 */
static int is_urgent(const struct cio_tcio *f, int64_t off, int64_t len)
{
    if (len >= LARGE || meets(f->direct_lo, f->direct_hi, off, len))
        return 1;
    return !f->holding &&
           (cio_wlog_touches(&f->log, off, len) || meets(f->sent_lo, f->sent_hi, off, len));
}

int cio_tcio_read_later(struct cio_tcio *f, int64_t off, void *buf, int64_t len)
{
    int rc = 0;

    if (off < 0 || len <= 0 || len > INT64_MAX - off || is_urgent(f, off, len))
        return cio_tcio_read(f, off, buf, len, NULL);
    f->stats.reads++;
    f->stats.bytes_read += len;
    if (cio_wlog_touches(&f->log, off, len))
        rc = cio_tcio_push(f);
    if (rc == 0)
        rc = add_wish(f, off, buf, len);
    if (rc == 0 && (f->wished >= f->space->settings.segment_size || f->wishes >= f->log.room / 16))
        rc = cio_tcio_fetch(f);
    return rc;
}

/* Wishes that are near each other share a window, which nobody else may use: others write at once.
 */
static int fetch_from_file(struct cio_tcio *f)
{
    int rc = 0;

    f->window_len = 0;
    for (int64_t i = 0; rc == 0 && i < f->wishes; i++) {
        rc = read_window(f, f->wish[i].off, f->wish[i].buf, f->wish[i].len, NULL);
        f->read_at = f->wish[i].off + f->wish[i].len;
    }
    f->window_len = 0;
    return rc;
}

int cio_tcio_fetch(struct cio_tcio *f)
{
    int64_t cut = 0;
    int rc = 0;

    if (f->wishes == 0)
        return 0;
    if (!f->space->settings.immediate || cio_tcio_in_use(f))
        rc = cio_deal_reads(f, f->wish, f->wishes, &cut);
    else
        rc = fetch_from_file(f);
    f->wishes = f->wished = 0;
    f->wish_lo = INT64_MAX;
    f->wish_hi = 0;
    return rc;
}
