/*
 * Sets of positions and their code. Every field but raw words is a varint (varint.h).
 *
 *     message   | nbits | token | token | ...              tokens up to the end of the buffer
 *
 *     token     | gap * 4 + kind | ...
 *       kind 0    one bit     gap zeros, a one
 *       kind 1    run         | len |               gap zeros, len ones
 *       kind 2    periodic    | len | count |       that, count times
 *       kind 3    raw         | count | words |     count words of 8 bytes, least significant first
 *
 * Tokens follow each other without overlap, except that raw words begin with the word the cursor is
 * in, or gap words after it, and repeat what earlier tokens said of that word.
 */
#include "plan/bits.h"

#include <errno.h>
#include <stdlib.h>

#include "plan/extent.h"
#include "plan/varint.h"

enum token_kind { TOKEN_BIT, TOKEN_RUN, TOKEN_PERIODIC, TOKEN_RAW };

#define WORD_BYTES 8
#define BUSY_RUNS 4      /* a word in which as many runs begin is cheaper raw */
#define PERIODIC_MIN 128 /* bits that a periodic token must cover */

struct pattern {
    int64_t gap, len; /* zeros, then ones; len 0: nothing but zeros */
};

static uint64_t ones_from(int64_t i)
{
    return ~(uint64_t)0 << i % CIO_BITS_PER_WORD;
}

static uint64_t ones_below(int64_t i)
{
    return ~(uint64_t)0 >> (CIO_BITS_PER_WORD - 1 - (i - 1) % CIO_BITS_PER_WORD);
}

void cio_bits_set_long(uint64_t *w, int64_t lo, int64_t hi)
{
    int64_t a = lo / CIO_BITS_PER_WORD, b = (hi - 1) / CIO_BITS_PER_WORD;

    if (lo >= hi)
        return;
    w[a] |= ones_from(lo);
    for (int64_t k = a + 1; k < b; k++)
        w[k] = ~(uint64_t)0;
    w[b] |= ones_below(hi);
}

void cio_bits_or(uint64_t *dst, const uint64_t *src, int64_t nbits)
{
    for (size_t k = 0; k < cio_bits_words(nbits); k++)
        dst[k] |= src[k];
}

int64_t cio_bits_count(const uint64_t *w, int64_t nbits)
{
    int64_t sum = 0;

    for (size_t k = 0; k < cio_bits_words(nbits); k++)
        sum += __builtin_popcountll(w[k]);
    return sum;
}

/* First bit >= i that is 1 in w xor flip; nbits if none. */
static int64_t scan(const uint64_t *w, int64_t nbits, int64_t i, uint64_t flip)
{
    int64_t k = i / CIO_BITS_PER_WORD, words = (int64_t)cio_bits_words(nbits);
    uint64_t x;

    if (i >= nbits)
        return nbits;
    x = (w[k] ^ flip) & ones_from(i);
    while (!x) {
        if (++k == words)
            return nbits;
        x = w[k] ^ flip;
    }
    return cio_min64(nbits, k * CIO_BITS_PER_WORD + __builtin_ctzll(x));
}

int64_t cio_bits_next(const uint64_t *w, int64_t nbits, int64_t i)
{
    i = scan(w, nbits, i, 0);
    return i < nbits ? i : -1;
}

int64_t cio_bits_last(const uint64_t *w, int64_t nbits)
{
    for (int64_t i = (int64_t)cio_bits_words(nbits) - 1; i >= 0; i--)
        if (w[i] != 0)
            return i * CIO_BITS_PER_WORD + CIO_BITS_PER_WORD - 1 - __builtin_clzll(w[i]);
    return -1;
}

size_t cio_bits_bound(int64_t nbits)
{
    /*
     * Per word: raw, its 8 bytes, a gap and a count of one byte; or at most three runs of 3 bytes.
     * Larger numbers are paid for by the words they skip.
     */
    return (WORD_BYTES + 2) * cio_bits_words(nbits) + 4 * CIO_VARINT_MAX;
}

static struct pattern pattern_at(const uint64_t *w, int64_t nbits, int64_t at)
{
    int64_t start = scan(w, nbits, at, 0);

    return (struct pattern){start - at, scan(w, nbits, start, ~(uint64_t)0) - start};
}

/* How often x occurs in a row from at on. */
static int64_t repeats(const uint64_t *w, int64_t nbits, int64_t at, struct pattern x)
{
    struct pattern y = x;
    int64_t n = 0;

    while (y.gap == x.gap && y.len == x.len) {
        n++;
        at += x.gap + x.len;
        y = pattern_at(w, nbits, at);
    }
    return n;
}

static int is_periodic(struct pattern x, int64_t count)
{
    return count >= 2 && count * (x.gap + x.len) >= PERIODIC_MIN;
}

static int is_busy(uint64_t word)
{
    return __builtin_popcountll(word & ~(word << 1)) >= BUSY_RUNS;
}

/* Whether a periodic token fits after the first run from at on. */
static int soon_periodic(const uint64_t *w, int64_t nbits, int64_t at)
{
    struct pattern x = pattern_at(w, nbits, at);

    at += x.gap + x.len;
    x = pattern_at(w, nbits, at);
    return x.len > 0 && is_periodic(x, repeats(w, nbits, at, x));
}

/* How many busy words there are from word k on, before something periodic begins. */
static int64_t busy_words(const uint64_t *w, int64_t nbits, int64_t k)
{
    int64_t words = (int64_t)cio_bits_words(nbits), n = 1;

    while (k + n < words && is_busy(w[k + n]) &&
           !soon_periodic(w, nbits, (k + n) * CIO_BITS_PER_WORD))
        n++;
    return n;
}

static uint8_t *put_head(uint8_t *p, int64_t gap, enum token_kind kind)
{
    return cio_varint_put(p, (uint64_t)gap << 2 | kind);
}

static uint8_t *put_word(uint8_t *p, uint64_t x)
{
    for (int i = 0; i < WORD_BYTES; i++)
        *p++ = (uint8_t)(x >> 8 * i);
    return p;
}

static uint64_t get_word(const uint8_t *p)
{
    uint64_t x = 0;

    for (int i = 0; i < WORD_BYTES; i++)
        x |= (uint64_t)p[i] << 8 * i;
    return x;
}

static uint8_t *put_pattern(uint8_t *p, struct pattern x, int64_t count)
{
    if (count == 1 && x.len == 1)
        return put_head(p, x.gap, TOKEN_BIT);
    p = put_head(p, x.gap, count == 1 ? TOKEN_RUN : TOKEN_PERIODIC);
    p = cio_varint_put(p, (uint64_t)x.len);
    return count == 1 ? p : cio_varint_put(p, (uint64_t)count);
}

static uint8_t *put_raw(uint8_t *p, const uint64_t *w, int64_t skip, int64_t count)
{
    p = put_head(p, skip, TOKEN_RAW);
    p = cio_varint_put(p, (uint64_t)count);
    for (int64_t k = 0; k < count; k++)
        p = put_word(p, w[k]);
    return p;
}

size_t cio_bits_encode(const uint64_t *w, int64_t nbits, void *buf)
{
    uint8_t *p = cio_varint_put(buf, (uint64_t)nbits);
    int64_t at = 0;
    struct pattern x;

    while ((x = pattern_at(w, nbits, at)).len > 0) {
        int64_t count = repeats(w, nbits, at, x);
        int64_t k = (at + x.gap) / CIO_BITS_PER_WORD;

        if (is_periodic(x, count)) {
            p = put_pattern(p, x, count);
            at += count * (x.gap + x.len);
        } else if (is_busy(w[k]) && !soon_periodic(w, nbits, at)) {
            count = busy_words(w, nbits, k);
            p = put_raw(p, w + k, k - at / CIO_BITS_PER_WORD, count);
            at = cio_min64(nbits, (k + count) * CIO_BITS_PER_WORD);
        } else {
            p = put_pattern(p, x, 1);
            at += x.gap + x.len;
        }
    }
    return (size_t)(p - (uint8_t *)buf);
}

struct token {
    enum token_kind kind;
    uint64_t gap, len, count;
};

static const uint8_t *get_token(const uint8_t *p, const uint8_t *end, struct token *t)
{
    uint64_t head;

    p = cio_varint_get(p, end, &head);
    if (!p)
        return NULL;
    *t = (struct token){.kind = head & 3, .gap = head >> 2, .len = 1, .count = 1};
    if (t->kind == TOKEN_RUN || t->kind == TOKEN_PERIODIC)
        p = cio_varint_get(p, end, &t->len);
    if (p && (t->kind == TOKEN_PERIODIC || t->kind == TOKEN_RAW))
        p = cio_varint_get(p, end, &t->count);
    return p && t->len > 0 && t->count > 0 ? p : NULL;
}

/* Add the ones of a token that is not raw. Returns the new cursor, or -EBADMSG. */
static int64_t add_patterns(const struct token *t, int64_t nbits, int64_t at, uint64_t *w)
{
    uint64_t period = t->gap + t->len, room = (uint64_t)(nbits - at);

    if (period > room || t->count > room / period)
        return -EBADMSG;
    if (!w)
        return at + (int64_t)(t->count * period);
    for (uint64_t i = 0; i < t->count; i++) {
        cio_bits_set_range(w, at + (int64_t)t->gap, at + (int64_t)period);
        at += (int64_t)period;
    }
    return at;
}

/* The same for the t->count raw words at p. */
static int64_t add_raw(const struct token *t, const uint8_t *p, int64_t nbits, int64_t at,
                       uint64_t *w)
{
    uint64_t words = cio_bits_words(nbits), k = (uint64_t)at / CIO_BITS_PER_WORD;

    if (t->gap > words - k || t->count > words - k - t->gap)
        return -EBADMSG;
    k += t->gap;
    if (k + t->count == words && get_word(p + (t->count - 1) * WORD_BYTES) & ~ones_below(nbits))
        return -EBADMSG;
    for (uint64_t i = 0; w && i < t->count; i++)
        w[k + i] |= get_word(p + i * WORD_BYTES);
    return cio_min64(nbits, (int64_t)(k + t->count) * CIO_BITS_PER_WORD);
}

/* Decode all tokens into w; only check them if w is NULL. */
static int decode_tokens(const uint8_t *p, const uint8_t *end, int64_t nbits, uint64_t *w)
{
    struct token t;
    int64_t at = 0;

    while (p < end) {
        p = get_token(p, end, &t);
        if (!p)
            return -EBADMSG;
        if (t.kind != TOKEN_RAW) {
            at = add_patterns(&t, nbits, at, w);
        } else {
            if (t.count > (uint64_t)(end - p) / WORD_BYTES)
                return -EBADMSG;
            at = add_raw(&t, p, nbits, at, w);
            p += t.count * WORD_BYTES;
        }
        if (at < 0)
            return -EBADMSG;
    }
    return 0;
}

int cio_bits_decode_or(const void *buf, size_t size, int64_t nbits, uint64_t *w)
{
    const uint8_t *p = buf, *end = p + size;
    uint64_t n;
    int rc;

    p = cio_varint_get(p, end, &n);
    if (!p || n != (uint64_t)nbits)
        return -EBADMSG;
    rc = decode_tokens(p, end, nbits, NULL);
    return rc ? rc : decode_tokens(p, end, nbits, w);
}

int cio_bits_create(int64_t nbits, struct cio_bits **out)
{
    struct cio_bits *b;

    if (nbits < 0)
        return -EINVAL;
    b = calloc(1, sizeof(*b) + cio_bits_words(nbits) * sizeof(b->w[0]));
    if (!b)
        return -ENOMEM;
    b->nbits = nbits;
    *out = b;
    return 0;
}

void cio_bits_destroy(struct cio_bits *b)
{
    free(b);
}
