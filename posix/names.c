/* Patterns come from the environment, which the launcher hands to every rank. */
#include "names.h"

#include <fnmatch.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "real.h"

static const char *last_component(const char *name)
{
    const char *slash = strrchr(name, '/');

    return slash != NULL ? slash + 1 : name;
}

/* Up to the next ':' or the end. 0 if it is too long to be one. */
static size_t next_pattern(const char *from, char pattern[PATH_MAX])
{
    size_t len = strcspn(from, ":");

    if (len >= PATH_MAX)
        return 0;
    memcpy(pattern, from, len);
    pattern[len] = '\0';
    return len;
}

static int match_any(const char *patterns, const char *name)
{
    char pattern[PATH_MAX];

    for (;;) {
        if (next_pattern(patterns, pattern) > 0 &&
            (fnmatch(pattern, name, 0) == 0 || fnmatch(pattern, last_component(name), 0) == 0))
            return 1;
        patterns += strcspn(patterns, ":");
        if (*patterns++ == '\0')
            return 0;
    }
}

int names_match(const char *name)
{
    const char *patterns = getenv("TAMIO_POSIX");
    char absolute[2 * PATH_MAX];
    size_t len;

    if (patterns == NULL || name == NULL || *name == '\0')
        return 0;
    if (match_any(patterns, name))
        return 1;
    if (*name == '/' || strlen(name) >= PATH_MAX || getcwd(absolute, PATH_MAX) == NULL)
        return 0;
    len = strlen(absolute);
    absolute[len] = '/';
    strcpy(absolute + len + 1, name);
    return match_any(patterns, absolute);
}

char *names_of_descriptor(int fd)
{
    char link[40], path[PATH_MAX];
    ssize_t len;

    snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
    len = readlink(link, path, sizeof(path) - 1);
    if (len <= 0 || path[0] != '/')
        return NULL;
    path[len] = '\0';
    return strdup(path);
}

char *names_of_path(int dir, const char *name, int follow)
{
    int fd = real()->openat(dir, name, O_PATH | O_CLOEXEC | (follow ? 0 : O_NOFOLLOW));
    char *path;

    if (fd < 0)
        return NULL;
    path = names_of_descriptor(fd);
    real()->close(fd);
    return path;
}
