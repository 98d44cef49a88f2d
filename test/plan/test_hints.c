/* Every row of the hint table: its default, the values it takes, the ones it refuses, the digest. */
#include "plan/hints.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"

/* A copy of a row that has effect, whatever the table says of it today. */
static struct cio_hint live(const struct cio_hint *row)
{
    struct cio_hint hint = *row;

    hint.inert = NULL;
    return hint;
}

static void takes(const struct cio_hint *hint, const char *value, const char *printed)
{
    struct cio_hints h;
    char why[CIO_HINT_VALUE_MAX] = "", room[CIO_HINT_NUMBER_MAX];

    cio_hints_init(&h);
    CHECK(cio_hint_parse(hint, value, &h, why) == 0);
    CHECK(strcmp(cio_hint_text(hint, &h, room), printed) == 0);
}

/* A refused value changes nothing, and the reason names the hint. */
static void refuses(const struct cio_hint *hint, const char *value)
{
    struct cio_hints before, after;
    char why[CIO_HINT_VALUE_MAX] = "";

    cio_hints_init(&before);
    cio_hints_init(&after);
    CHECK(cio_hint_parse(hint, value, &after, why) == -EINVAL);
    CHECK(memcmp(&before, &after, sizeof(before)) == 0);
    CHECK(strstr(why, hint->name) != NULL);
    CHECK(strstr(why, "expected") != NULL);
}

static void check_row(const struct cio_hint *row)
{
    struct cio_hint hint = live(row);
    char number[32], huge[10001];

    memset(huge, 'x', sizeof(huge) - 1);
    huge[sizeof(huge) - 1] = '\0';
    for (int i = 0; hint.words[i] != NULL; i++)
        takes(&hint, hint.words[i], hint.words[i]);
    refuses(&hint, "");
    refuses(&hint, huge);
    if (hint.kind == CIO_HINT_NUMBER) {
        snprintf(number, sizeof(number), "%lld", (long long)hint.min);
        takes(&hint, number, number);
        snprintf(number, sizeof(number), "%lld", (long long)hint.max);
        takes(&hint, number, number);
        snprintf(number, sizeof(number), "%lld", (long long)hint.max + 1);
        refuses(&hint, number);
    }
    if (hint.kind != CIO_HINT_TEXT || hint.prefix[0] != '\0') {
        refuses(&hint, "-1");
        refuses(&hint, "0x10");
        refuses(&hint, "1180591620717411303424"); /* 2^70 */
        refuses(&hint, "nonsense");
    }
    CHECK(hint.help != NULL && hint.help[0] != '\0');
}

/* Until a hint has an effect it reports so, whatever valid value it is given. */
static void check_inert(const struct cio_hint *row)
{
    struct cio_hints h;
    char why[CIO_HINT_VALUE_MAX], room[CIO_HINT_NUMBER_MAX];
    const char *text;

    if (row->inert == NULL)
        return;
    cio_hints_init(&h);
    for (int i = 0; row->words[i] != NULL; i++) {
        CHECK(cio_hint_parse(row, row->words[i], &h, why) == 0);
        text = cio_hint_text(row, &h, room);
        CHECK(strcmp(text != NULL ? text : "", row->inert) == 0);
    }
}

static void check_suffixes(const struct cio_hint *table, size_t rows)
{
    for (size_t i = 0; i < rows; i++) {
        if (strcmp(table[i].name, "romio_tam_memory_limit") != 0)
            continue;
        struct cio_hint hint = live(&table[i]);
        takes(&hint, "2048K", "2097152");
        takes(&hint, "3M", "3145728");
        takes(&hint, "1G", "1073741824");
        refuses(&hint, "1T");
        refuses(&hint, "9999999999G");
        refuses(&hint, "1 M");
    }
}

static void check_powers(const struct cio_hint *table, size_t rows)
{
    int seen = 0;

    for (size_t i = 0; i < rows; i++) {
        if (strcmp(table[i].name, "tcio_segment_size") != 0)
            continue;
        takes(&table[i], "64K", "65536");
        refuses(&table[i], "2048");
        refuses(&table[i], "6144");
        refuses(&table[i], "1025K");
        seen = 1;
    }
    CHECK(seen);
}

/* Before anything is set, a hint has its default, or says that it has no effect yet. */
static void check_default(const struct cio_hint *row)
{
    struct cio_hints h;
    char room[CIO_HINT_NUMBER_MAX];
    const char *text, *expected = row->inert != NULL ? row->inert : row->initial;

    cio_hints_init(&h);
    text = cio_hint_text(row, &h, room);
    CHECK(strcmp(text != NULL ? text : "", expected != NULL ? expected : "") == 0);
}

static void check_digest(void)
{
    struct cio_hints a, b;

    cio_hints_init(&a);
    cio_hints_init(&b);
    CHECK(cio_hints_digest(&a) == cio_hints_digest(&b));
    b.memory_limit++;
    CHECK(cio_hints_digest(&a) != cio_hints_digest(&b));
    b = a;
    b.stats[0] = 'f';
    CHECK(cio_hints_digest(&a) != cio_hints_digest(&b));
}

int main(void)
{
    size_t rows;
    const struct cio_hint *table = cio_hint_table(&rows);

    for (size_t i = 0; i < rows; i++) {
        check_row(&table[i]);
        check_inert(&table[i]);
        check_default(&table[i]);
    }
    CHECK(rows <= 32); /* ad_tam keeps a bit for each */
    check_suffixes(table, rows);
    check_powers(table, rows);
    check_digest();
    return check_done("hints");
}
