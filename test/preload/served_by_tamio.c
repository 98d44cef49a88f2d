/* MPI_File_get_info tells that our ROMIO opened the file, and has our hints. */

#include "check.h"

int main(int argc, char **argv)
{
    MPI_File file;
    MPI_Info info;
    char value[MPI_MAX_INFO_VAL + 1] = "";
    int found = 0;

    begin(argc, argv);
    MPI_Info_create(&info);
    MPI_Info_set(info, "cb_buffer_size", "1048576");
    OK(MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_CREATE | MPI_MODE_RDWR, info, &file));
    MPI_Info_free(&info);
    OK(MPI_File_get_info(file, &info));
    MPI_Info_get(info, "romio_filesystem_type", MPI_MAX_INFO_VAL, value, &found);
    CHECK(found && strncmp(value, "TAM over ", 9) == 0);
    MPI_Info_get(info, "romio_tam", MPI_MAX_INFO_VAL, value, &found);
    CHECK(found);
    MPI_Info_get(info, "cb_buffer_size", MPI_MAX_INFO_VAL, value, &found);
    CHECK(found && strcmp(value, "1048576") == 0);
    MPI_Info_free(&info);
    OK(MPI_File_close(&file));
    CHECK(file == MPI_FILE_NULL);
    return end();
}
