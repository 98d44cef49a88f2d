/*
 * Hints given at open, to set_view and to set_info: the error class of each call on every rank, and
 * what MPI_File_get_info tells afterwards.
 *
 * Usage: info FILE [open|view|info]:RANK:NAME=VALUE...      RANK may be * for all
 *
 * set_view and set_info are called only if one of their hints is given; all hints of a call are in
 * one MPI_Info.
 */
#include "gather.h"

static int is_for_me(const char *rank_text)
{
    return rank_text[0] == '*' || atoi(rank_text) == rank;
}

/* Sets the hint of "WHEN:RANK:NAME=VALUE" here, if it is for this rank; prints the class of that.
 */
static void put(MPI_Info info, const char *argument)
{
    char text[20000], what[LINE];
    char *who = strchr(argument, ':') + 1, *name, *value;
    int rc = MPI_SUCCESS;

    snprintf(text, sizeof(text), "%s", strchr(who, ':') + 1);
    name = text;
    value = strchr(text, '=');
    *value++ = '\0';
    if (is_for_me(who))
        rc = MPI_Info_set(info, name, value);
    snprintf(what, sizeof(what), "MPI_Info_set %.200s", name);
    print_classes(what, rc);
}

/* The hints of one call; *given tells whether there are any. */
static MPI_Info hints_for(const char *when, int argc, char **argv, int *given)
{
    MPI_Info info;

    MPI_Info_create(&info);
    *given = 0;
    for (int i = 2; i < argc; i++) {
        if (strncmp(argv[i], when, strlen(when)) != 0)
            continue;
        put(info, argv[i]);
        *given = 1;
    }
    return info;
}

static void print_info(MPI_File file)
{
    char key[MPI_MAX_INFO_KEY + 1], value[MPI_MAX_INFO_VAL + 1];
    MPI_Info info;
    int n, flag;

    OK(MPI_File_get_info(file, &info));
    MPI_Info_get_nkeys(info, &n);
    for (int i = 0; i < n; i++) {
        MPI_Info_get_nthkey(info, i, key);
        MPI_Info_get(info, key, MPI_MAX_INFO_VAL, value, &flag);
        printf("hint %s=%s\n", key, value);
    }
    MPI_Info_free(&info);
}

/* Whether the hints of the other ranks are those of rank 0. */
static void compare_info(MPI_File file)
{
    char key[MPI_MAX_INFO_KEY + 1], mine[MPI_MAX_INFO_VAL + 1], first[MPI_MAX_INFO_VAL + 1];
    MPI_Info info;
    int n, flag, same = 1;

    OK(MPI_File_get_info(file, &info));
    MPI_Info_get_nkeys(info, &n);
    MPI_Bcast(&n, 1, MPI_INT, 0, MPI_COMM_WORLD);
    for (int i = 0; i < n; i++) {
        if (rank == 0)
            MPI_Info_get_nthkey(info, i, key);
        MPI_Bcast(key, sizeof(key), MPI_CHAR, 0, MPI_COMM_WORLD);
        MPI_Info_get(info, key, MPI_MAX_INFO_VAL, mine, &flag);
        memcpy(first, mine, sizeof(mine));
        MPI_Bcast(first, sizeof(first), MPI_CHAR, 0, MPI_COMM_WORLD);
        same &= flag && strcmp(mine, first) == 0;
    }
    print_ranks("as rank 0", "%s", same ? "yes" : "no");
    MPI_Info_free(&info);
}

/* The file stays, for the caller to see. */
static int finish(void)
{
    MPI_Finalize();
    return failures != 0;
}

int main(int argc, char **argv)
{
    MPI_File file;
    MPI_Info info;
    int given, rc;

    begin(argc, argv);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    info = hints_for("open:", argc, argv, &given);
    rc = MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_CREATE | MPI_MODE_RDWR, info, &file);
    print_classes("open", rc);
    MPI_Info_free(&info);
    if (rc != MPI_SUCCESS)
        return finish();
    info = hints_for("view:", argc, argv, &given);
    if (given)
        print_classes("set_view", MPI_File_set_view(file, 0, MPI_BYTE, MPI_BYTE, "native", info));
    MPI_Info_free(&info);
    info = hints_for("info:", argc, argv, &given);
    if (given)
        print_classes("set_info", MPI_File_set_info(file, info));
    MPI_Info_free(&info);
    if (rank == 0)
        print_info(file);
    compare_info(file);
    print_classes("close", MPI_File_close(&file));
    return finish();
}
