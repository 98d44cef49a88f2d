/*
 * One open, whose result every rank must have.
 *
 * Usage: opens FILE CLASS AMODE [HINT VALUE]...
 *
 * CLASS: success, no_mem, info_value, read_only, access. AMODE: r, w, rw (which make the file, but
 * r).
 */
#include "common.h"

static const struct {
    const char *name;
    int class;
} classes[] = {{"success", MPI_SUCCESS},
               {"no_mem", MPI_ERR_NO_MEM},
               {"info_value", MPI_ERR_INFO_VALUE},
               {"read_only", MPI_ERR_READ_ONLY},
               {"access", MPI_ERR_ACCESS}};

static int class_named(const char *name)
{
    for (size_t i = 0; i < sizeof(classes) / sizeof(*classes); i++)
        if (strcmp(classes[i].name, name) == 0)
            return classes[i].class;
    return -1;
}

static int mode_named(const char *name)
{
    if (strcmp(name, "r") == 0)
        return MPI_MODE_RDONLY;
    return MPI_MODE_CREATE | (strcmp(name, "w") == 0 ? MPI_MODE_WRONLY : MPI_MODE_RDWR);
}

int main(int argc, char **argv)
{
    tcio_file *fh = NULL;
    MPI_Info info;
    int rc;

    begin(argc, argv);
    if (argc < 4)
        MPI_Abort(MPI_COMM_WORLD, 2);
    MPI_Info_create(&info);
    for (int i = 4; i + 1 < argc; i += 2)
        MPI_Info_set(info, argv[i], argv[i + 1]);
    rc = open_in(MPI_COMM_WORLD, path, mode_named(argv[3]), info, &fh);
    if (rc != class_named(argv[2]))
        fprintf(stderr, "rank %d: open: %s\n", rank, tcio_strerror(rc));
    CHECK(rc == class_named(argv[2]));
    if (rc == MPI_SUCCESS) {
        if (rank == 0)
            printf("%s segments\n", info_of(fh, "tcio_segments"));
        if (argv[3][0] != 'r' || argv[3][1] == 'w')
            OK(tcio_write_at(fh, 10 * rank, "0123456789", 10, MPI_BYTE));
        OK(tcio_close(fh));
    }
    CHECK(rc == MPI_SUCCESS || fh == NULL);
    if (argv[3][0] == 'w') /* whose bytes the runner looks at */
        path[0] = '\0';
    return end();
}
