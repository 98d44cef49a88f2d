/* Opening and closing many times leaks neither communicators (MPICH has 2,048) nor descriptors. */

#include "check.h"

#include <dirent.h>

static int descriptors(void)
{
    DIR *dir = opendir("/proc/self/fd");
    int n = 0;

    while (dir != NULL && readdir(dir) != NULL)
        n++;
    if (dir != NULL)
        closedir(dir);
    return n;
}

static void nothing(MPI_File * file, int *code, ...)
{
    (void) file;
    (void) code;
}

int main(int argc, char **argv)
{
    MPI_Errhandler errhandler;
    MPI_File file;
    int before;

    begin(argc, argv);
    snprintf(path + strlen(path), 16, ".%d", rank);
    file = open_scratch(MPI_COMM_SELF);
    OK(MPI_File_close(&file));
    before = descriptors();
    for (int i = 0; i < 2500 && failures == 0; i++) {
        file = open_scratch(MPI_COMM_SELF);
        OK(MPI_File_create_errhandler(nothing, &errhandler));
        OK(MPI_File_set_errhandler(file, errhandler));
        OK(MPI_Errhandler_free(&errhandler));
        OK(MPI_File_close(&file));
    }
    CHECK(descriptors() == before);
    remove(path);
    return end();
}
