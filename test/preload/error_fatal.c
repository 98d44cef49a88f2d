/* MPI_ERRORS_ARE_FATAL on a file ends the program: reaching the end is the failure. */

#include "check.h"

int main(int argc, char **argv)
{
    MPI_File file;
    int value = 0;

    begin(argc, argv);
    file = open_scratch(MPI_COMM_WORLD);
    OK(MPI_File_set_errhandler(file, MPI_ERRORS_ARE_FATAL));
    MPI_File_write_at(file, -1, &value, 1, MPI_INT, MPI_STATUS_IGNORE);
    printf("still here\n");
    return end();
}
