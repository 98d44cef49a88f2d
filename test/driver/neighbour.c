/*
 * What a rank that waits in a collective call costs others: the last rank, which is not of the
 * file, reads one-sided from it, and sends it messages by rendezvous, while it waits for another
 * one, which comes a second later. Rank 0 leads a group, rank 1 is a member of it.
 *
 * Usage: neighbour FILE write|read member|leader
 *   member, leader: who waits for the other. Prints "one-sided: US" and "rendezvous: US", means
 */
#include "gather.h"

#include <unistd.h>

#define PIECE 5000
#define LARGE (1 << 20)
#define MOST 100
#define LATE 1.0

static char large[LARGE];
static int target; /* waits */

/* The last rank's, for half of the time each. */
static double get_from(MPI_Win window, double until)
{
    double start = MPI_Wtime();
    int n = 0, value;

    while (MPI_Wtime() < until) {
        MPI_Win_lock(MPI_LOCK_SHARED, target, 0, window);
        MPI_Get(&value, 1, MPI_INT, target, 0, 1, MPI_INT, window);
        MPI_Win_unlock(target, window);
        n++;
    }
    return 1e6 * (MPI_Wtime() - start) / n;
}

static double send_to(double until)
{
    double start = MPI_Wtime(), end;
    int n = 0;

    while (n < MOST && MPI_Wtime() < until) {
        MPI_Send(large, LARGE, MPI_BYTE, target, 7, MPI_COMM_WORLD);
        n++;
    }
    end = MPI_Wtime();
    for (int i = n; i < MOST; i++)
        MPI_Send(large, 0, MPI_BYTE, target, 7, MPI_COMM_WORLD);
    return 1e6 * (end - start) / n;
}

static void disturb(MPI_Win window)
{
    double start = MPI_Wtime(), a, b;

    a = get_from(window, start + LATE * 0.45);
    b = send_to(start + LATE * 0.9);
    printf("one-sided: %.0f\nrendezvous: %.0f\n", a, b);
    fflush(stdout);
}

static void call(MPI_File file, int writes)
{
    static char buf[PIECE * 20];

    if (rank == 1 - target)
        usleep((useconds_t)(1e6 * LATE));
    if (writes)
        OK(MPI_File_write_all(file, buf, sizeof(buf), MPI_BYTE, MPI_STATUS_IGNORE));
    else
        OK(MPI_File_read_all(file, buf, sizeof(buf), MPI_BYTE, MPI_STATUS_IGNORE));
}

int main(int argc, char **argv)
{
    static int value = 5;
    MPI_Request request[MOST];
    MPI_Status statuses[MOST];
    MPI_File file = MPI_FILE_NULL;
    MPI_Comm others;
    MPI_Win window;
    int outside;

    begin(argc, argv);
    target = strcmp(argv[3], "member") == 0;
    outside = rank == size - 1;
    MPI_Comm_split(MPI_COMM_WORLD, outside, rank, &others);
    MPI_Win_create(&value, sizeof(value), 1, MPI_INFO_NULL, MPI_COMM_WORLD, &window);
    if (!outside) {
        OK(MPI_File_open(others, path, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file));
        set_view_of_pieces(file, PIECE);
        call(file, 1);
    }
    for (int i = 0; i < MOST && rank == target; i++)
        MPI_Irecv(large, LARGE, MPI_BYTE, size - 1, 7, MPI_COMM_WORLD, &request[i]);
    MPI_Barrier(MPI_COMM_WORLD);
    if (outside)
        disturb(window);
    else
        call(file, strcmp(argv[2], "write") == 0);
    if (rank == target)
        MPI_Waitall(MOST, request, statuses);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_free(&window);
    if (!outside)
        OK(MPI_File_close(&file));
    return end();
}
