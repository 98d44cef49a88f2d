/* User-made error handlers: called with the file and the code, alive while a file uses them, and
 * the default for files opened later when set on MPI_FILE_NULL. */

#include "check.h"

static MPI_File last_file;
static int last_code, calls, other_calls;

static void handler(MPI_File * file, int *code, ...)
{
    MPI_Offset bytes;

    last_file = *file;
    last_code = *code;
    calls++;
    if (*file != MPI_FILE_NULL)
        OK(MPI_File_get_size(*file, &bytes));   /* MPI calls are allowed here */
}

static void other_handler(MPI_File * file, int *code, ...)
{
    (void) file;
    (void) code;
    other_calls++;
}

static int fail(MPI_File file)
{
    int value = 0;

    return MPI_File_write_at(file, -1, &value, 1, MPI_INT, MPI_STATUS_IGNORE);
}

int main(int argc, char **argv)
{
    MPI_Errhandler mine, got, other;
    MPI_File file, second;
    int code;

    begin(argc, argv);
    file = open_scratch(MPI_COMM_WORLD);
    OK(MPI_File_get_errhandler(file, &got));
    CHECK(got == MPI_ERRORS_RETURN);
    OK(MPI_File_create_errhandler(handler, &mine));
    OK(MPI_File_set_errhandler(file, mine));
    OK(MPI_File_get_errhandler(file, &got));
    CHECK(got == mine);
    OK(MPI_Errhandler_free(&got));
    CHECK(got == MPI_ERRHANDLER_NULL);
    code = fail(file);
    CHECK(calls == 1 && last_file == file && last_code == code && class_of(code) == MPI_ERR_ARG);

    /* freed, but a file has it: another handler must not take its place */
    OK(MPI_Errhandler_free(&mine));
    OK(MPI_File_create_errhandler(other_handler, &other));
    OK(MPI_File_call_errhandler(file, MPI_ERR_IO));
    CHECK(calls == 2 && last_code == MPI_ERR_IO && other_calls == 0);
    OK(MPI_File_set_errhandler(file, MPI_ERRORS_RETURN));
    CHECK(fail(file) != MPI_SUCCESS && calls == 2);

    /* on MPI_FILE_NULL: for failing opens, and for files opened from now on */
    OK(MPI_File_set_errhandler(MPI_FILE_NULL, other));
    OK(MPI_Errhandler_free(&other));
    OK(MPI_File_close(&file));
    CHECK(MPI_File_open(MPI_COMM_WORLD, "/nowhere/at/all", MPI_MODE_RDONLY, MPI_INFO_NULL, &second) != MPI_SUCCESS);
    CHECK(other_calls == 1);
    second = open_scratch(MPI_COMM_WORLD);
    fail(second);
    CHECK(other_calls == 2);
    OK(MPI_File_close(&second));
    second = open_scratch(MPI_COMM_WORLD);
    fail(second);
    CHECK(other_calls == 3 && calls == 2);
    OK(MPI_File_close(&second));
    OK(MPI_File_set_errhandler(MPI_FILE_NULL, MPI_ERRORS_RETURN));

    /* the handlers of communicators are not ours and are freed as before */
    OK(MPI_Comm_create_errhandler((MPI_Comm_errhandler_function *) other_handler, &other));
    OK(MPI_Errhandler_free(&other));
    CHECK(other == MPI_ERRHANDLER_NULL);
    return end();
}
