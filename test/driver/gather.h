/* What the programs of this folder share: the lines of all ranks, printed by rank 0 in rank order.
 */

#ifndef GATHER_H_INCLUDED
#define GATHER_H_INCLUDED

#include "../preload/check.h"

#include <stdarg.h>

#define LINE 256

/* Collective. Prints "WHAT: a b c ...", one text for each rank. */
static inline void print_ranks(const char *what, const char *format, ...)
{
    char mine[LINE], *all = malloc((size_t)size * LINE);
    va_list args;

    va_start(args, format);
    vsnprintf(mine, sizeof(mine), format, args);
    va_end(args);
    MPI_Gather(mine, LINE, MPI_CHAR, all, LINE, MPI_CHAR, 0, MPI_COMM_WORLD);
    if (rank == 0) {
        printf("%s:", what);
        for (int i = 0; i < size; i++)
            printf(" %s", all + (size_t)i * LINE);
        printf("\n");
        fflush(stdout);
    }
    free(all);
}

/* The name of an error code's class. */
static inline const char *class_name(int code)
{
    static const struct {
        int class;
        const char *name;
    } names[] = {{MPI_SUCCESS, "ok"},
                 {MPI_ERR_NO_SPACE, "NO_SPACE"},
                 {MPI_ERR_READ_ONLY, "READ_ONLY"},
                 {MPI_ERR_NO_SUCH_FILE, "NO_SUCH_FILE"},
                 {MPI_ERR_NOT_SAME, "NOT_SAME"},
                 {MPI_ERR_INFO_VALUE, "INFO_VALUE"},
                 {MPI_ERR_BAD_FILE, "BAD_FILE"},
                 {MPI_ERR_ACCESS, "ACCESS"},
                 {MPI_ERR_IO, "IO"},
                 {MPI_ERR_AMODE, "AMODE"},
                 {MPI_ERR_ARG, "ARG"},
                 {MPI_ERR_OTHER, "OTHER"},
                 {MPI_ERR_FILE, "FILE"}};
    static char number[16];
    int class = class_of(code);

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        if (names[i].class == class)
            return names[i].name;
    snprintf(number, sizeof(number), "%d", class);
    return number;
}

static inline void print_classes(const char *what, int code)
{
    print_ranks(what, "%s", class_name(code));
}

/* A view in which ranks have pieces of so many bytes in turn. */
static inline void set_view_of_pieces(MPI_File file, int bytes)
{
    MPI_Datatype piece, type;

    MPI_Type_contiguous(bytes, MPI_BYTE, &piece);
    MPI_Type_create_resized(piece, 0, (MPI_Aint)bytes * size, &type);
    MPI_Type_commit(&type);
    OK(MPI_File_set_view(file, (MPI_Offset)bytes * rank, MPI_BYTE, type, "native", MPI_INFO_NULL));
    MPI_Type_free(&type);
    MPI_Type_free(&piece);
}

#endif /* GATHER_H_INCLUDED */
