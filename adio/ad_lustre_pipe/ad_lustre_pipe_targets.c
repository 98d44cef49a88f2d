/*
 * ad_lustre_pipe: the OSTs of a file system. Their numbers may have gaps, where some have been
 * removed for good. Names tell them: "scratch-OST000a_UUID" is number 10. Before Lustre 2.16 only root
 * can have the names on most systems; then it is known only how far numbers go, and they are taken to
 * have no gaps.
 */

#include "ad_lustre_pipe.h"

#include <fcntl.h>
#include <unistd.h>

/* The library's struct obd_uuid. */
typedef struct {
    char text[40];
} name;

/* More than any file system has. */
#define MOST (1 << 20)

static int compare(const void *a, const void *b)
{
    int x = *(const int *) a, y = *(const int *) b;

    return (x > y) - (x < y);
}

/* -1: it is none. */
static int number_in(name * n)
{
    char *at = NULL, *end;
    long number;

    n->text[sizeof(n->text) - 1] = '\0';
    for (char *p = strstr(n->text, "-OST"); p != NULL; p = strstr(p + 1, "-OST"))
        at = p + strlen("-OST");
    if (at == NULL)
        return -1;
    number = strtol(at, &end, 16);
    return end > at && number >= 0 && number < MOST ? (int) number : -1;
}

/* Rising, each once; how many. */
static int numbers_in(name * names, int n, int *index)
{
    int known = 0, kept = 0;

    for (int i = 0; i < n; i++) {
        index[known] = number_in(&names[i]);
        known += index[known] >= 0;
    }
    qsort(index, known, sizeof(int), compare);
    for (int i = 0; i < known; i++)
        if (kept == 0 || index[i] != index[kept - 1])
            index[kept++] = index[i];
    return kept;
}

static int by_name(const ADIOI_LUSTRE_PIPE_Api * api, int folder, int **index)
{
    int room = 0, n, known = 0;
    name *names;

    if (api->lov_get_uuids(folder, NULL, &room) != 0 || room <= 0 || room > MOST)
        return 0;
    n = room;
    names = ADIOI_Calloc(room, sizeof(*names));
    *index = ADIOI_Malloc(room * sizeof(int));
    if (api->lov_get_uuids(folder, names, &n) == 0)
        known = numbers_in(names, n < room ? n : room, *index);
    ADIOI_Free(names);
    if (known == 0)
        ADIOI_Free(*index);
    return known;
}

static int by_number(const ADIOI_LUSTRE_PIPE_Api * api, char *folder, int **index)
{
    int n = 0;

    if (api->get_obd_count(folder, &n, 0) != 0 || n <= 0 || n > MOST)
        return 0;
    *index = ADIOI_Malloc(n * sizeof(int));
    for (int i = 0; i < n; i++)
        (*index)[i] = i;
    return n;
}

int ADIOI_LUSTRE_PIPE_Targets(const ADIOI_LUSTRE_PIPE_Api * api, const char *path, int **index)
{
    char *folder = ADIOI_LUSTRE_PIPE_Folder(path);
    int descriptor = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC), n = 0;
    ADIOI_LUSTRE_PIPE_Callback before = ADIOI_LUSTRE_PIPE_Hush(api);

    if (descriptor >= 0 && api->lov_get_uuids != NULL)
        n = by_name(api, descriptor, index);
    if (n == 0 && api->get_obd_count != NULL)
        n = by_number(api, folder, index);
    ADIOI_LUSTRE_PIPE_Unhush(api, before);
    if (descriptor >= 0)
        close(descriptor);
    ADIOI_Free(folder);
    return n;
}
