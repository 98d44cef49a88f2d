/*
 * The error class, on every rank, of open, a collective write and read of interleaved pieces, sync
 * and close. The file may be impossible to open, or on a disk that is full or read-only.
 *
 * Usage: io_errors FILE MODE [KILOBYTES]      MODE: r, w (created), x (read and write, not created)
 *
 * Each rank moves KILOBYTES (default 64) in pieces of 1000 bytes.
 */
#include "gather.h"

#define PIECE 1000

static int access_mode(const char *mode)
{
    switch (mode[0]) {
    case 'r':
        return MPI_MODE_RDONLY;
    case 'w':
        return MPI_MODE_RDWR | MPI_MODE_CREATE;
    default:
        return MPI_MODE_RDWR;
    }
}

static void move_data(MPI_File file, int writing, int pieces)
{
    MPI_Datatype view;
    char *data = calloc((size_t)pieces, PIECE);

    MPI_Type_vector(pieces, PIECE, PIECE * size, MPI_BYTE, &view);
    MPI_Type_commit(&view);
    print_classes("set_view", MPI_File_set_view(file, (MPI_Offset)rank * PIECE, MPI_BYTE, view,
                                                "native", MPI_INFO_NULL));
    if (writing)
        print_classes("write_all",
                      MPI_File_write_all(file, data, pieces * PIECE, MPI_BYTE, MPI_STATUS_IGNORE));
    if (writing)
        print_classes("sync", MPI_File_sync(file));
    print_classes("seek", MPI_File_seek(file, 0, MPI_SEEK_SET));
    print_classes("read_all",
                  MPI_File_read_all(file, data, pieces * PIECE, MPI_BYTE, MPI_STATUS_IGNORE));
    MPI_Type_free(&view);
    free(data);
}

int main(int argc, char **argv)
{
    MPI_File file;
    int rc, writing, kilobytes;

    begin(argc, argv);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    writing = argv[2][0] != 'r';
    kilobytes = argc > 3 ? atoi(argv[3]) : 64;
    rc = MPI_File_open(MPI_COMM_WORLD, path, access_mode(argv[2]), MPI_INFO_NULL, &file);
    print_classes("open", rc);
    if (rc == MPI_SUCCESS) {
        move_data(file, writing, kilobytes);
        print_classes("close", MPI_File_close(&file));
    }
    MPI_Finalize();
    return failures != 0;
}
