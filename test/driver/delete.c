/*
 * MPI_File_delete of a name with a prefix removes the file, and says so when there is none.
 *
 * Usage: delete FILE PREFIX...
 */
#include "gather.h"

#include <unistd.h>

static void check_delete(const char *prefix)
{
    char name[1100];
    MPI_File file;

    snprintf(name, sizeof(name), "%s%s", prefix, path);
    OK(MPI_File_open(MPI_COMM_SELF, name, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file));
    OK(MPI_File_close(&file));
    CHECK(access(path, F_OK) == 0);
    OK(MPI_File_delete(name, MPI_INFO_NULL));
    CHECK(access(path, F_OK) != 0);
    CHECK(class_of(MPI_File_delete(name, MPI_INFO_NULL)) == MPI_ERR_NO_SUCH_FILE);
}

int main(int argc, char **argv)
{
    begin(argc, argv);
    if (rank == 0)
        for (int i = 2; i < argc; i++)
            check_delete(argv[i]);
    return end();
}
