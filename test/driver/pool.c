/*
 * Shared memory of closed files: the next file of the same ranks finds it, and it is given back
 * after a while without use, in MPI_Finalize, and at once where it is too much.
 *
 * Usage: pool FILE idle|finalize|none [BYTES-OF-A-RANK [BYTES-TO-FILL-/dev/shm-WITH]]
 */
#include "gather.h"

#include <fcntl.h>
#include <unistd.h>

#define PIECE 4000

/* Segments of closed files too: they have no name any more, but a line in maps. */
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

/* Collective. */
static void write_file(int bytes, long fill)
{
    int pieces = bytes / PIECE;
    char *buf = malloc((size_t)bytes);
    MPI_File file = open_scratch(MPI_COMM_WORLD);

    memset(buf, 'a' + rank, (size_t)bytes);
    set_view_of_pieces(file, PIECE);
    OK(MPI_File_write_all(file, buf, pieces * PIECE, MPI_BYTE, MPI_STATUS_IGNORE));
    CHECK(count_segments() > 0);
    if (fill > 0 && rank == 0) {
        int fd = open("/dev/shm/filler", O_CREAT | O_WRONLY, 0600);

        CHECK(posix_fallocate(fd, 0, fill) == 0);
        close(fd);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    OK(MPI_File_close(&file));
    free(buf);
}

/* Nobody else takes part. */
static void open_alone(void)
{
    char name[1100];
    MPI_File file;

    snprintf(name, sizeof(name), "%s.%d", path, rank);
    OK(MPI_File_open(MPI_COMM_SELF, name,
                     MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE, MPI_INFO_NULL,
                     &file));
    OK(MPI_File_close(&file));
}

int main(int argc, char **argv)
{
    const char *what = argc > 2 ? argv[2] : "none";
    int bytes = argc > 3 ? atoi(argv[3]) : PIECE, failed;
    long fill = argc > 4 ? atol(argv[4]) : 0;

    begin(argc, argv);
    write_file(bytes, fill);
    if (strcmp(what, "none") == 0) {
        CHECK(count_segments() == 0);
        return end();
    }
    CHECK(count_segments() > 0);
    write_file(bytes, fill);
    CHECK(count_segments() > 0);
    open_alone();
    CHECK(count_segments() > 0);
    if (strcmp(what, "idle") == 0) {
        sleep(7);
        open_alone();
        CHECK(count_segments() == 0);
    }
    failed = end();
    if (count_segments() > 0)
        fprintf(stderr, "rank %d: shared memory after MPI_Finalize\n", rank);
    return failed || count_segments() > 0;
}
