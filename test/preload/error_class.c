/* Errors on files return by default, with a class and a text that the MPI knows. */

#include "check.h"

int main(int argc, char **argv)
{
    char missing[1100], text[MPI_MAX_ERROR_STRING];
    int code, length = 0, value = 0;
    MPI_File file;

    begin(argc, argv);
    snprintf(missing, sizeof(missing), "%s.missing/file", path);
    code = MPI_File_open(MPI_COMM_WORLD, missing, MPI_MODE_RDWR, MPI_INFO_NULL, &file);
    CHECK(class_of(code) == MPI_ERR_NO_SUCH_FILE);
    OK(MPI_Error_string(code, text, &length));
    CHECK(length > 0);
    code = MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_RDWR | MPI_MODE_RDONLY, MPI_INFO_NULL, &file);
    CHECK(class_of(code) == MPI_ERR_AMODE);
    CHECK(class_of(MPI_File_delete(missing, MPI_INFO_NULL)) == MPI_ERR_NO_SUCH_FILE);
    file = open_scratch(MPI_COMM_WORLD);
    OK(MPI_File_close(&file));
    code = MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_RDWR | MPI_MODE_CREATE | MPI_MODE_EXCL, MPI_INFO_NULL, &file);
    CHECK(class_of(code) == MPI_ERR_FILE_EXISTS);
    OK(MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_RDONLY, MPI_INFO_NULL, &file));
    CHECK(MPI_File_write_at(file, 0, &value, 1, MPI_INT, MPI_STATUS_IGNORE) != MPI_SUCCESS);
    CHECK(class_of(MPI_File_write_at(file, -1, &value, 1, MPI_INT, MPI_STATUS_IGNORE)) == MPI_ERR_ARG);
    CHECK(class_of(MPI_File_read_at(file, 0, &value, 1, MPI_DATATYPE_NULL, MPI_STATUS_IGNORE)) == MPI_ERR_TYPE);
    OK(MPI_File_close(&file));
    CHECK(class_of(MPI_File_sync(MPI_FILE_NULL)) == MPI_ERR_FILE || class_of(MPI_File_sync(MPI_FILE_NULL)) == MPI_ERR_ARG);
    return end();
}
