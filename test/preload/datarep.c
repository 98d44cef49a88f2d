/* MPI_Register_datarep reaches ROMIO, which refuses a name twice; external32 is big-endian. */

#include "check.h"

static int extent(MPI_Datatype type, MPI_Aint * bytes, void *state)
{
    (void) type;
    (void) state;
    *bytes = 4;
    return MPI_SUCCESS;
}

int main(int argc, char **argv)
{
    const unsigned char big_endian[4] = { 1, 2, 3, 4 };
    unsigned char in[4] = { 0 };
    int value = 0x01020304;
    MPI_File file;

    begin(argc, argv);
    OK(MPI_Register_datarep("tamio_test", MPI_CONVERSION_FN_NULL, MPI_CONVERSION_FN_NULL, extent, NULL));
    CHECK(class_of(MPI_Register_datarep("tamio_test", MPI_CONVERSION_FN_NULL, MPI_CONVERSION_FN_NULL, extent,
                                        NULL)) == MPI_ERR_DUP_DATAREP);
    file = open_scratch(MPI_COMM_WORLD);
    OK(MPI_File_set_view(file, 0, MPI_INT, MPI_INT, "external32", MPI_INFO_NULL));
    OK(MPI_File_write_at_all(file, rank, &value, 1, MPI_INT, MPI_STATUS_IGNORE));
    OK(MPI_File_set_view(file, 0, MPI_BYTE, MPI_BYTE, "native", MPI_INFO_NULL));
    OK(MPI_File_read_at_all(file, 4 * rank, in, 4, MPI_BYTE, MPI_STATUS_IGNORE));
    CHECK(memcmp(in, big_endian, 4) == 0);
    OK(MPI_File_close(&file));
    return end();
}
