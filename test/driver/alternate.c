/*
 * A file whose hints alternate a hundred times, with collective calls in between, some of them
 * nonblocking and waited for under the other hints: what it holds of threads, mapped shared memory
 * and room in /dev/shm is then what it was after a few times.
 *
 * Usage: alternate FILE
 */
#include "gather.h"

#include <dirent.h>

#define TIMES 100
#define FEW 8
#define BYTES 4000

static char buf[BYTES];

static int count_threads(void)
{
    DIR *dir = opendir("/proc/self/task");
    int n = 0;

    while (dir != NULL && readdir(dir) != NULL)
        n++;
    if (dir != NULL)
        closedir(dir);
    return n;
}

static int count_segments(void)
{
    FILE *maps = fopen("/proc/self/maps", "r");
    char line[4096];
    int n = 0;

    while (maps != NULL && fgets(line, sizeof(line), maps) != NULL)
        n += strstr(line, "/dev/shm/tamio-") != NULL;
    if (maps != NULL)
        fclose(maps);
    return n;
}

static void set_hints(MPI_File file, int i)
{
    MPI_Info info;

    MPI_Info_create(&info);
    MPI_Info_set(info, "romio_tam_aggrs_per_node", i % 2 == 0 ? "1" : "2");
    MPI_Info_set(info, "cb_nodes", "2");
    MPI_Info_set(info, "romio_tam", "enable");
    OK(MPI_File_set_view(file, 0, MPI_BYTE, MPI_BYTE, "native", info));
    MPI_Info_free(&info);
}

static MPI_Offset place(int i)
{
    return (MPI_Offset)(i * size + rank) * BYTES;
}

static void write_number(MPI_File file, int i)
{
    memset(buf, 'a' + (i + rank) % 26, BYTES);
    OK(MPI_File_write_at_all(file, place(i), buf, BYTES, MPI_BYTE, MPI_STATUS_IGNORE));
}

static void check_number(MPI_File file, int i)
{
    int wrong = 0;

    memset(buf, 0, BYTES);
    OK(MPI_File_read_at_all(file, place(i), buf, BYTES, MPI_BYTE, MPI_STATUS_IGNORE));
    for (int k = 0; k < BYTES; k++)
        wrong += buf[k] != 'a' + (i + rank) % 26;
    CHECK(wrong == 0);
}

/* It goes on while hints change. */
static void across(MPI_File file, int i)
{
    static char other[BYTES];
    MPI_Request request;

    memset(other, 'a' + (TIMES + i + rank) % 26, BYTES);
    OK(MPI_File_iwrite_at_all(file, place(TIMES + i), other, BYTES, MPI_BYTE, &request));
    for (int k = 1; k <= 4; k++)
        set_hints(file, i + k);
    OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    check_number(file, TIMES + i);
}

static void alternate(MPI_File file, int i)
{
    set_hints(file, i);
    write_number(file, i);
    if (i % 5 == 0)
        across(file, i);
    check_number(file, i);
}

int main(int argc, char **argv)
{
    int threads = 0, segments = 0;
    MPI_File file;

    begin(argc, argv);
    file = open_scratch(MPI_COMM_WORLD);
    for (int i = 0; i < TIMES; i++) {
        alternate(file, i);
        if (i == FEW) {
            threads = count_threads();
            segments = count_segments();
        }
    }
    CHECK(count_threads() == threads);
    CHECK(count_segments() == segments);
    CHECK(segments > 0 && segments < 10);
    print_ranks("threads", "%d", threads);
    print_ranks("segments", "%d", segments);
    OK(MPI_File_close(&file));
    return end();
}
