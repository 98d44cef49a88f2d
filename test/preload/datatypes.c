/* Memory types that are contiguous, and types that only look so: holes inside, blocks exchanged. */

#include "check.h"

/* Writes one element of type and compares the file with the expected bytes. */
static void check_type(const char *what, MPI_File file, MPI_Datatype type, const void *buffer, const void *expected,
                       int bytes)
{
    char in[256];

    MPI_Type_commit(&type);
    memset(in, 0, sizeof(in));
    OK(MPI_File_write_at(file, 0, buffer, 1, type, MPI_STATUS_IGNORE));
    OK(MPI_File_read_at(file, 0, in, bytes, MPI_BYTE, MPI_STATUS_IGNORE));
    CHECK(memcmp(in, expected, bytes) == 0);
    if (memcmp(in, expected, bytes) != 0)
        fprintf(stderr, "rank %d: wrong with %s\n", rank, what);
    MPI_Type_free(&type);
}

int main(int argc, char **argv)
{
    const int four[4] = { 1, 2, 3, 4 };
    MPI_Datatype type, inner;
    MPI_File file;

    begin(argc, argv);
    snprintf(path + strlen(path), 16, ".%d", rank);
    file = open_scratch(MPI_COMM_SELF);
    MPI_Type_contiguous(4, MPI_INT, &type);
    check_type("contiguous", file, type, four, four, sizeof(four));
    MPI_Type_vector(2, 2, 2, MPI_INT, &type);
    check_type("vector", file, type, four, four, sizeof(four));
    MPI_Type_create_subarray(2, (int[]) {2, 2}, (int[]) {2, 2}, (int[]) {0, 0}, MPI_ORDER_C, MPI_INT, &type);
    check_type("full subarray", file, type, four, four, sizeof(four));
    MPI_Type_create_subarray(1, (int[]) {4}, (int[]) {2}, (int[]) {1}, MPI_ORDER_C, MPI_INT, &type);
    check_type("part of a subarray", file, type, four, four + 1, 2 * sizeof(int));
    MPI_Type_indexed(2, (int[]) {2, 2}, (int[]) {2, 0}, MPI_INT, &type);
    check_type("exchanged blocks", file, type, four, (const int[]) {3, 4, 1, 2}, sizeof(four));
    MPI_Type_indexed(2, (int[]) {2, 2}, (int[]) {2, 0}, MPI_INT, &inner);
    MPI_Type_dup(inner, &type);
    check_type("duplicate of exchanged blocks", file, type, four, (const int[]) {3, 4, 1, 2}, sizeof(four));
    MPI_Type_free(&inner);
    MPI_Type_create_resized(MPI_INT, 0, 2 * sizeof(int), &inner);
    MPI_Type_contiguous(2, inner, &type);
    check_type("resized with a hole", file, type, four, (const int[]) {1, 3}, 2 * sizeof(int));
    MPI_Type_free(&inner);
    OK(MPI_File_close(&file));
    remove(path);
    return end();
}
