/* MPI_File_c2f and MPI_File_f2c: there and back, the same number each time, null for null. */

#include "check.h"

int main(int argc, char **argv)
{
    MPI_File file;
    MPI_Fint number;

    begin(argc, argv);
    file = open_scratch(MPI_COMM_WORLD);
    number = MPI_File_c2f(file);
    CHECK(MPI_File_f2c(number) == file);
    CHECK(MPI_File_c2f(file) == number);
    CHECK(MPI_File_f2c(MPI_File_c2f(MPI_FILE_NULL)) == MPI_FILE_NULL);
    OK(MPI_File_close(&file));
    return end();
}
