/*
 * A collective write and a collective read of interleaved blocks, compared with what every byte
 * must be, through MPI and without it; what MPI_File_get_info tells of the layout; and, where file
 * domains are cyclic, who wrote: no write crosses a stripe, and every target of every component has
 * one writer.
 *
 * Usage: striped FILE BLOCK COUNT [NAME=VALUE...]     hints at open
 *
 * Each rank writes COUNT blocks of BLOCK bytes. The file stays.
 */
#define _GNU_SOURCE
#include "gather.h"

#include <dlfcn.h>
#include <inttypes.h>
#include <stdint.h>
#include <sys/types.h>

enum { MOST_WRITES = 1 << 20, COMPONENTS = 64, TARGETS = 4096 };

/* ---- writes of this process, seen as they pass ---- */

static struct {
    int64_t off, len;
} writes[MOST_WRITES];
static int nwrites, watching;

static ssize_t watch(const char *name, int fd, const void *buf, size_t n, int64_t off)
{
    ssize_t (*real)(int, const void *, size_t, int64_t);
    void *address = dlsym(RTLD_NEXT, name);

    memcpy(&real, &address, sizeof(real));
    if (watching) {
        int i = __atomic_fetch_add(&nwrites, 1, __ATOMIC_RELAXED);

        if (i < MOST_WRITES) {
            writes[i].off = off;
            writes[i].len = (int64_t)n;
        }
    }
    return real(fd, buf, n, off);
}

ssize_t pwrite(int fd, const void *buf, size_t n, off_t off)
{
    return watch("pwrite", fd, buf, n, off);
}

ssize_t pwrite64(int fd, const void *buf, size_t n, off64_t off)
{
    return watch("pwrite64", fd, buf, n, off);
}

/* ---- the layout, as MPI_File_get_info tells it ---- */

static struct {
    int64_t start, end, stripe, count, targets;
} component[COMPONENTS];
static int ncomponents;

static int64_t take_size(char **text)
{
    static const char suffixes[] = "KMGT";
    int64_t n;

    if (strncmp(*text, "eof", 3) == 0) {
        *text += 3;
        return INT64_MAX;
    }
    n = strtoll(*text, text, 10);
    for (int i = 0; i < 4; i++)
        if (**text == suffixes[i]) {
            ++*text;
            return n << (10 * (i + 1));
        }
    return n;
}

/* "START-END:STRIPExCOUNT[/TARGETS],..."; a count of ? is 0 here. */
static void parse_layout(char *text)
{
    for (;; text++) {
        int i = ncomponents++;

        component[i].start = take_size(&text);
        CHECK(*text++ == '-');
        component[i].end = take_size(&text);
        CHECK(*text++ == ':');
        component[i].stripe = take_size(&text);
        CHECK(*text++ == 'x');
        if (*text == '?')
            text++;
        else
            component[i].count = component[i].targets = take_size(&text);
        if (*text == '/') {
            text++;
            component[i].targets = take_size(&text);
        }
        if (*text != ',')
            break;
    }
    CHECK(*text == '\0');
}

static int component_of(int64_t off)
{
    int i = 0;

    while (i < ncomponents - 1 && off >= component[i].end)
        i++;
    return i;
}

static int64_t target_of(int i, int64_t off)
{
    if (component[i].count == 0)
        return 0;
    return off / component[i].stripe % component[i].count % component[i].targets;
}

/* ---- */

static char value_at(int64_t off)
{
    return (char)(off * 31 + off / 251 * 7 + off / 65536 * 3 + 1);
}

static int64_t block, count;

static int64_t offset_of(int64_t i)
{
    return (i / block * size + rank) * block + i % block;
}

/* Sets whether domains are cyclic and writes can be seen, which those of the kernel cannot. */
static void print_info(MPI_File file, int *watched)
{
    static const char *const names[] = {
        "tamio_layout_source", "tamio_layout",         "tamio_domain",  "tamio_pipeline_io",
        "tamio_aggregators",   "tamio_pipeline_depth", "striping_unit", "striping_factor"};
    char value[MPI_MAX_INFO_VAL + 1];
    MPI_Info info;
    int found;

    *watched = 0;
    OK(MPI_File_get_info(file, &info));
    for (int i = 0; i < 8; i++) {
        MPI_Info_get(info, names[i], MPI_MAX_INFO_VAL, value, &found);
        if (!found)
            continue;
        if (rank == 0)
            printf("info %s=%s\n", names[i], value);
        if (i == 1)
            parse_layout(value);
        if (i == 2)
            *watched = strcmp(value, "cyclic") == 0;
        if (i == 3)
            *watched &= strcmp(value, "uring") != 0;
    }
    MPI_Info_free(&info);
}

static void set_view(MPI_File file)
{
    MPI_Datatype view;

    MPI_Type_vector((int)count, (int)block, (int)block * size, MPI_BYTE, &view);
    MPI_Type_commit(&view);
    OK(MPI_File_set_view(file, rank * block, MPI_BYTE, view, "native", MPI_INFO_NULL));
    MPI_Type_free(&view);
}

/* Each rank has its lowest and highest rank number for every target; all ranks compare. */
static void check_writers(void)
{
    static int least[COMPONENTS * TARGETS], most[COMPONENTS * TARGETS];
    static int all_least[COMPONENTS * TARGETS], all_most[COMPONENTS * TARGETS];
    int total = 0;

    for (int i = 0; i < COMPONENTS * TARGETS; i++) {
        least[i] = size;
        most[i] = -1;
    }
    CHECK(nwrites <= MOST_WRITES);
    for (int w = 0; w < nwrites; w++) {
        int i = component_of(writes[w].off);
        int64_t last = writes[w].off + writes[w].len - 1;
        int64_t at = (int64_t)i * TARGETS + target_of(i, writes[w].off);

        CHECK(component_of(last) == i);
        CHECK(last / component[i].stripe == writes[w].off / component[i].stripe);
        if (component[i].count > 0)
            least[at] = most[at] = rank;
    }
    MPI_Reduce(least, all_least, COMPONENTS * TARGETS, MPI_INT, MPI_MIN, 0, MPI_COMM_WORLD);
    MPI_Reduce(most, all_most, COMPONENTS * TARGETS, MPI_INT, MPI_MAX, 0, MPI_COMM_WORLD);
    MPI_Reduce(&nwrites, &total, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
    if (rank != 0)
        return;
    CHECK(total > 0);
    printf("writers:");
    for (int i = 0; i < COMPONENTS * TARGETS; i++) {
        if (all_most[i] < 0)
            continue;
        CHECK(all_least[i] == all_most[i]);
        printf(" %d.%d:%d", i / TARGETS, i % TARGETS, all_most[i]);
    }
    printf("\n");
}

static void write_file(MPI_Info info)
{
    char *buf = malloc((size_t)(block * count));
    MPI_File file;
    int watched;

    for (int64_t i = 0; i < block * count; i++)
        buf[i] = value_at(offset_of(i));
    OK(MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_CREATE | MPI_MODE_RDWR, info, &file));
    set_view(file);
    watching = 1;
    OK(MPI_File_write_all(file, buf, (int)(block * count), MPI_BYTE, MPI_STATUS_IGNORE));
    watching = 0;
    print_info(file, &watched);
    OK(MPI_File_close(&file));
    if (watched && ncomponents > 0)
        check_writers();
    free(buf);
}

static void read_file(MPI_Info info)
{
    char *buf = calloc((size_t)(block * count), 1);
    int64_t wrong = 0;
    MPI_File file;

    OK(MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_RDONLY, info, &file));
    set_view(file);
    OK(MPI_File_read_all(file, buf, (int)(block * count), MPI_BYTE, MPI_STATUS_IGNORE));
    OK(MPI_File_close(&file));
    for (int64_t i = 0; i < block * count; i++)
        wrong += buf[i] != value_at(offset_of(i));
    CHECK(wrong == 0);
    free(buf);
}

static void compare_bytes(void)
{
    const char *name = strrchr(path, ':') ? strrchr(path, ':') + 1 : path;
    FILE *f = fopen(name, "r");
    int64_t wrong = 0, n = 0;
    int c;

    CHECK(f != NULL);
    while (f != NULL && (c = getc(f)) != EOF)
        wrong += (char)c != value_at(n++);
    CHECK(wrong == 0 && n == block * count * size);
    if (f != NULL)
        fclose(f);
}

int main(int argc, char **argv)
{
    MPI_Info info;
    int all = 0;

    begin(argc, argv);
    block = atoll(argv[2]);
    count = atoll(argv[3]);
    MPI_Info_create(&info);
    for (int i = 4; i < argc; i++) {
        char *value = strchr(argv[i], '=');

        *value++ = '\0';
        MPI_Info_set(info, argv[i], value);
    }
    write_file(info);
    read_file(info);
    MPI_Info_free(&info);
    if (rank == 0)
        compare_bytes();
    MPI_Allreduce(&failures, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    MPI_Finalize();
    return all != 0;
}
