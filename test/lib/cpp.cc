// The header in C++, and a program that needs nothing of C.
#include <cstdio>
#include <tcio.h>
#include <vector>

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    int rank = 0, size = 0, wrong = 0, all = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    tcio_file *fh = nullptr;
    auto ok = [&wrong](int rc) {
        if (rc != MPI_SUCCESS)
            std::fprintf(stderr, "%s\n", tcio_strerror(rc));
        wrong += rc != MPI_SUCCESS;
    };

    ok(tcio_open(MPI_COMM_WORLD, argv[1], MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE,
                 MPI_INFO_NULL, &fh));
    for (int i = 0; i < 100; i++) {
        const double number = i * size + rank;
        ok(tcio_write_at(fh, static_cast<MPI_Offset>(number) * 8, &number, 1, MPI_DOUBLE));
    }
    ok(tcio_flush(fh));
    std::vector<double> in(100 * static_cast<std::size_t>(size), -1);
    ok(tcio_seek(fh, 0, SEEK_SET));
    ok(tcio_read(fh, in.data(), static_cast<MPI_Count>(in.size()), MPI_DOUBLE));
    ok(tcio_close(fh));
    for (std::size_t i = 0; i < in.size(); i++)
        wrong += in[i] != static_cast<double>(i);
    MPI_Allreduce(&wrong, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    MPI_Finalize();
    return all != 0;
}
