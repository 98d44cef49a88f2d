/* A sync that fails on one rank (fsync-preload.c) fails on all, once, and the next one does not. */
#include "gather.h"

int main(int argc, char **argv)
{
    char data[1000];
    MPI_File file;

    begin(argc, argv);
    file = open_scratch(MPI_COMM_WORLD);
    memset(data, rank, sizeof(data));
    OK(MPI_File_write_at_all(file, 1000 * rank, data, 1000, MPI_BYTE, MPI_STATUS_IGNORE));
    print_classes("sync", MPI_File_sync(file));
    print_classes("again", MPI_File_sync(file));
    OK(MPI_File_close(&file));
    return end();
}
