/* Counts and offsets beyond 2^31, in one call. The file takes 2 GiB; the memory does not. */
#include "common.h"

#include <sys/mman.h>

#define MORE ((MPI_Count)1 << 31)

/* Memory of zeros that takes none until it is written. */
static char *zeros(size_t n)
{
    void *p =
        mmap(NULL, n, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

    return p == MAP_FAILED ? NULL : p;
}

/* The ends and the middle of a long piece are where they belong. */
static void check_marks(tcio_file *fh, MPI_Offset at, MPI_Count n)
{
    const MPI_Count marks[] = {0, n / 2, n - 4};

    for (int i = 0; i < 3; i++) {
        char got[6] = "xxxxx";

        OK(tcio_read_at(fh, at + marks[i], got, 4, MPI_BYTE));
        OK(tcio_fetch(fh));
        CHECK(memcmp(got, "mark", 4) == 0);
    }
}

int main(int argc, char **argv)
{
    MPI_Count n = MORE + 12344;
    MPI_Offset far = (MPI_Offset)1 << 40, at = 5000;
    MPI_Datatype type;
    tcio_file *fh;
    char *data, got[5] = "";

    begin(argc, argv);
    fh = open_file(CREATE | MPI_MODE_DELETE_ON_CLOSE, MPI_INFO_NULL);
    data = zeros((size_t)n);
    CHECK(data != NULL);
    if (rank == 0 && data != NULL) {
        memcpy(data, "mark", 4);
        memcpy(data + n / 2, "mark", 4);
        memcpy(data + n - 4, "mark", 4);
        OK(tcio_seek(fh, at, SEEK_SET));
        OK(tcio_write(fh, data, n, MPI_BYTE));
        OK(tcio_tell(fh, &at));
        CHECK(at == 5000 + n);
        check_marks(fh, 5000, n);
        /* the same with a type of more than 2 GiB, which need not be packed: over itself */
        MPI_Type_contiguous((int)(n / 8), MPI_DOUBLE, &type);
        MPI_Type_commit(&type);
        memset(data + n / 2, 'm', 1);
        OK(tcio_write_at(fh, 5000, data, 1, type));
        MPI_Type_free(&type);
        check_marks(fh, 5000, n);
    }
    OK(tcio_write_at(fh, far + 8 * rank, "far away", 8, MPI_CHAR));
    OK(tcio_flush(fh));
    CHECK(file_size(path) == (long long)far + 8 * size);
    OK(tcio_read_at(fh, far + 4, got, 4, MPI_CHAR));
    OK(tcio_close(fh));
    CHECK(memcmp(got, "away", 4) == 0);
    return end();
}
