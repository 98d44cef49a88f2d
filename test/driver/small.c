/*
 * Calls of a few bytes with default hints: what is in the file and in the buffers, how many bytes
 * were moved, and who served each call. Between them one that is not small.
 *
 * Usage: small FILE
 */
#include "gather.h"

#include <fcntl.h>
#include <unistd.h>

enum { PIECE = 8, BEFORE = 1 << 12, MANY = 5000 };

static char one_of(int r)
{
    return (char)('a' + r);
}

/* How the last call was served, as all ranks see it. */
static void served(MPI_File file, const char *how)
{
    char value[MPI_MAX_INFO_VAL + 1] = "";
    MPI_Info info;
    int flag;

    OK(MPI_File_get_info(file, &info));
    MPI_Info_get(info, "tamio_last_call", MPI_MAX_INFO_VAL, value, &flag);
    if (!flag || strcmp(value, how) != 0)
        printf("rank %d: \"%s\" instead of \"%s\"\n", rank, value, how);
    CHECK(flag && strcmp(value, how) == 0);
    MPI_Info_free(&info);
}

static const char few[] = "served: few bytes: one rank serves them";

static void file_has(int64_t off, char c, int n)
{
    char got[64];
    int fd = open(path, O_RDONLY), wrong = 0;

    CHECK(fd >= 0 && pread(fd, got, (size_t)n, off) == n);
    for (int i = 0; i < n; i++)
        wrong += got[i] != c;
    CHECK(wrong == 0);
    close(fd);
}

static void fill(void)
{
    char before[BEFORE];
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0644);

    memset(before, '.', sizeof(before));
    CHECK(fd >= 0 && write(fd, before, sizeof(before)) == (ssize_t)sizeof(before));
    close(fd);
}

static int moved(const MPI_Status *status)
{
    int n;

    MPI_Get_count(status, MPI_BYTE, &n);
    return n;
}

static void adjacent(MPI_File file)
{
    char data[PIECE], back[PIECE];
    MPI_Status status;

    memset(data, one_of(rank), PIECE);
    OK(MPI_File_write_at_all(file, rank * PIECE, data, PIECE, MPI_BYTE, &status));
    CHECK(moved(&status) == PIECE);
    served(file, few);
    for (int r = 0; r < size; r++)
        file_has(r * PIECE, one_of(r), PIECE);
    OK(MPI_File_read_at_all(file, (rank + 1) % size * PIECE, back, PIECE, MPI_BYTE, &status));
    CHECK(moved(&status) == PIECE && back[0] == one_of((rank + 1) % size));
    CHECK(memcmp(back, back + 1, PIECE - 1) == 0);
    served(file, few);
}

static void one_rank(MPI_File file)
{
    char data[PIECE];
    MPI_Status status;
    int mine = rank == size - 1 ? PIECE : 0;

    memset(data, 'Z', PIECE);
    OK(MPI_File_write_at_all(file, 100, data, mine, MPI_BYTE, &status));
    CHECK(moved(&status) == mine);
    served(file, few);
    file_has(100, 'Z', PIECE);
    file_has(100 + PIECE, '.', 20);
}

static void nobody(MPI_File file)
{
    OK(MPI_File_write_at_all(file, 0, NULL, 0, MPI_BYTE, MPI_STATUS_IGNORE));
    OK(MPI_File_read_at_all(file, 0, NULL, 0, MPI_BYTE, MPI_STATUS_IGNORE));
}

/* Every other slot is nobody's. */
static void with_holes(MPI_File file)
{
    char data[4 * PIECE], back[4 * PIECE];
    MPI_Datatype type;

    MPI_Type_vector(4, PIECE, 2 * size * PIECE, MPI_BYTE, &type);
    MPI_Type_commit(&type);
    OK(MPI_File_set_view(file, 1000 + rank * 2 * PIECE, MPI_BYTE, type, "native", MPI_INFO_NULL));
    memset(data, one_of(rank), sizeof(data));
    OK(MPI_File_write_all(file, data, sizeof(data), MPI_BYTE, MPI_STATUS_IGNORE));
    served(file, few);
    for (int i = 0; i < 4 * size; i++) {
        file_has(1000 + i * 2 * PIECE, one_of(i % size), PIECE);
        file_has(1000 + i * 2 * PIECE + PIECE, '.', PIECE);
    }
    OK(MPI_File_read_at_all(file, 0, back, sizeof(back), MPI_BYTE, MPI_STATUS_IGNORE));
    served(file, few);
    CHECK(memcmp(data, back, sizeof(back)) == 0);
    OK(MPI_File_set_view(file, 0, MPI_BYTE, MPI_BYTE, "native", MPI_INFO_NULL));
    MPI_Type_free(&type);
}

static void beyond_the_end(MPI_File file)
{
    char back[PIECE];
    MPI_Status status;
    int before = rank == 0 ? PIECE / 2 : 0;

    OK(MPI_File_read_at_all(file, BEFORE - PIECE / 2 + rank * PIECE, back, PIECE, MPI_BYTE,
                            &status));
    served(file, few);
    CHECK(moved(&status) == before);
    for (int i = 0; i < PIECE; i++)
        CHECK(back[i] == (i < before ? '.' : 0));
}

static void nonblocking(MPI_File file)
{
    char data[PIECE], back[PIECE];
    MPI_Request request[2];

    memset(data, 'n', PIECE);
    OK(MPI_File_iwrite_at_all(file, 2000 + rank * PIECE, data, PIECE, MPI_BYTE, &request[0]));
    OK(MPI_File_iread_at_all(file, rank * PIECE, back, PIECE, MPI_BYTE, &request[1]));
    OK(MPI_Wait(&request[rank % 2], MPI_STATUS_IGNORE));
    OK(MPI_Wait(&request[1 - rank % 2], MPI_STATUS_IGNORE));
    served(file, few);
    CHECK(back[0] == one_of(rank));
    for (int r = 0; r < size; r++)
        file_has(2000 + r * PIECE, 'n', PIECE);
}

/* Needs the buffers that small calls have done without. */
static void large(MPI_File file)
{
    static char data[MANY * PIECE], back[MANY * PIECE];

    set_view_of_pieces(file, PIECE);
    for (int i = 0; i < MANY * PIECE; i++)
        data[i] = (char)(i * 7 + rank);
    OK(MPI_File_write_at_all(file, 0, data, sizeof(data), MPI_BYTE, MPI_STATUS_IGNORE));
    served(file, "served: pieces are tiny");
    OK(MPI_File_read_at_all(file, 0, back, sizeof(back), MPI_BYTE, MPI_STATUS_IGNORE));
    CHECK(memcmp(data, back, sizeof(back)) == 0);
    OK(MPI_File_set_view(file, 0, MPI_BYTE, MPI_BYTE, "native", MPI_INFO_NULL));
}

int main(int argc, char **argv)
{
    MPI_File file;

    begin(argc, argv);
    if (rank == 0)
        fill();
    MPI_Barrier(MPI_COMM_WORLD);
    OK(MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_RDWR, MPI_INFO_NULL, &file));
    adjacent(file);
    one_rank(file);
    nobody(file);
    with_holes(file);
    beyond_the_end(file);
    nonblocking(file);
    large(file);
    adjacent(file);
    OK(MPI_File_close(&file));
    return end();
}
