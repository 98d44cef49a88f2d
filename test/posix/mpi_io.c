/* MPI-IO on a file that matches: the MPI's own access to it is left alone. */
#include "check.h"

int main(int argc, char **argv)
{
    char data[1000] = "";
    MPI_File fh;
    MPI_Offset size_now;
    int count;
    MPI_Status status;

    MPI_Init(&argc, &argv);
    begin(argc, argv);
    noted("open", MPI_File_open(MPI_COMM_WORLD, (char *)file, MPI_MODE_CREATE | MPI_MODE_RDWR,
                                MPI_INFO_NULL, &fh));
    fill(data, 500, (unsigned)rank);
    noted("write", MPI_File_write_at_all(fh, 500 * rank, data, 500, MPI_BYTE, MPI_STATUS_IGNORE));
    noted("write_shared", MPI_File_write_shared(fh, data, 0, MPI_BYTE, MPI_STATUS_IGNORE));
    noted("sync", MPI_File_sync(fh));
    barrier();
    noted("read", MPI_File_read_at(fh, 250, data, 1000, MPI_BYTE, &status));
    MPI_Get_count(&status, MPI_BYTE, &count);
    note_data("read", data, count);
    noted("get_size", MPI_File_get_size(fh, &size_now));
    noted("size", size_now);
    noted("close", MPI_File_close(&fh));
    return end();
}
