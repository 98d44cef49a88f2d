/*
 * Files opened before MPI_Init and after MPI_Finalize are the system's; what is open at
 * MPI_Finalize becomes so, where it was.
 */
#include "check.h"

/* The rank, before MPI tells it. */
static const char *launched_as(void)
{
    const char *hydra = getenv("PMI_RANK"), *openmpi = getenv("OMPI_COMM_WORLD_RANK");

    return hydra != NULL ? hydra : openmpi != NULL ? openmpi : "";
}

int main(int argc, char **argv)
{
    char name[4200], text[100] = "";
    int early, late, open_still;
    FILE *stream;

    snprintf(name, sizeof(name), "%s.early%s", argc > 1 ? argv[1] : "", launched_as());
    early = open(name, O_RDWR | O_CREAT | O_TRUNC, 0644);
    if (write(early, "before", 6) != 6)
        return 1;
    MPI_Init(&argc, &argv);
    begin(argc, argv);
    noted("write", write(early, " between", 8));
    open_still = open(own_file(), O_RDWR | O_CREAT | O_TRUNC, 0644);
    noted("write", write(open_still, "before the end", 14));
    snprintf(name, sizeof(name), "%s.stream", own_file());
    stream = fopen(name, "w+");
    fprintf(stream, "before the end");
    MPI_Finalize();
    noted("write", write(open_still, ", after it", 10));
    note_data("pread", text, pread(open_still, text, 100, 3));
    fprintf(stream, ", after it");
    rewind(stream);
    note_data("fread", text, (long long)fread(text, 1, 100, stream));
    noted("write", write(early, " after", 6));
    noted("fclose", fclose(stream));
    noted("close", close(open_still));
    noted("close", close(early));
    snprintf(name, sizeof(name), "%s.late", own_file());
    late = creat(name, 0644);
    noted("write", write(late, "after", 5));
    noted("close", close(late));
    fclose(results);
    return 0;
}
