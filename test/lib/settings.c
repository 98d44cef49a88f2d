/* Hints: from the info, from the file that ROMIO_HINTS names, and what get_info says of them. */
#include "common.h"

#include <unistd.h>

static void expect(tcio_file *fh, const char *key, const char *value)
{
    const char *got = info_of(fh, key);

    if (strcmp(got, value) != 0)
        fprintf(stderr, "rank %d: %s is \"%s\", not \"%s\"\n", rank, key, got, value);
    CHECK(strcmp(got, value) == 0);
}

static long long number(tcio_file *fh, const char *key)
{
    const char *got = info_of(fh, key);

    CHECK(got[0] != '\0');
    return atoll(got);
}

static void test_defaults(void)
{
    tcio_file *fh = open_file(CREATE, MPI_INFO_NULL);

    expect(fh, "tcio_segment_size", "1048576");
    expect(fh, "tcio_visibility", "sync");
    expect(fh, "romio_visibility_immediate", "false");
    CHECK(number(fh, "tcio_segments") >= 1 && number(fh, "tcio_segments") <= 8);
    OK(tcio_close(fh));
}

static void test_info(void)
{
    tcio_file *fh = open_file(CREATE, hints("tcio_segment_size", "8192", "tcio_segments", "3",
                                            "tcio_visibility", "immediate", "nonsense", "1", NULL));

    expect(fh, "tcio_segment_size", "8192");
    expect(fh, "tcio_segments", "3");
    expect(fh, "tcio_visibility", "immediate");
    expect(fh, "romio_visibility_immediate", "true");
    OK(tcio_close(fh));
    fh = open_file(CREATE, hints("tcio_segment_size", "64K", NULL));
    expect(fh, "tcio_segment_size", "65536");
    OK(tcio_close(fh));
}

/* A segment is a stripe, or the part of it that is a power of two. */
static void test_stripes(void)
{
    static const char *const units[][2] = {
        {"262144", "262144"}, {"3145728", "1048576"}, {"196608", "65536"}, {"1000000", "1048576"}};
    char probe[1100];
    tcio_file *fh;

    snprintf(probe, sizeof(probe), "%s", beside("probe"));
    for (size_t i = 0; i < sizeof(units) / sizeof(*units); i++) {
        OK(open_in(MPI_COMM_WORLD, probe, CREATE | MPI_MODE_DELETE_ON_CLOSE,
                   hints("striping_unit", units[i][0], NULL), &fh));
        if (strcmp(info_of(fh, "striping_unit"), units[i][0]) == 0) /* the MPI may not take it */
            expect(fh, "tcio_segment_size", units[i][1]);
        OK(tcio_close(fh));
    }
}

/* Values that mean nothing are passed over, and said so. */
static void test_ignored(void)
{
    tcio_file *fh = open_file(CREATE, hints("tcio_segments", "many", "tcio_visibility", "maybe",
                                            "tcio_segment_size", "4096", NULL));

    expect(fh, "tcio_visibility", "sync");
    expect(fh, "tcio_segment_size", "4096");
    CHECK(number(fh, "tcio_segments") >= 1);
    OK(tcio_close(fh));
}

static void write_hints(const char *name, const char *text)
{
    FILE *out = rank == 0 ? fopen(name, "w") : NULL;

    if (out != NULL) {
        fputs(text, out);
        fclose(out);
    }
    MPI_Barrier(MPI_COMM_WORLD);
}

static void test_environment(void)
{
    char name[1100];
    tcio_file *fh;

    snprintf(name, sizeof(name), "%s", beside("hints"));
    write_hints(name, "# comment\n\n  tcio_segment_size \t16384  # more\ntcio_segments 2\nalone\n"
                      "cb_nodes 1\ntcio_visibility immediate\n");
    setenv("ROMIO_HINTS", name, 1);
    fh = open_file(CREATE, MPI_INFO_NULL);
    expect(fh, "tcio_segment_size", "16384");
    expect(fh, "tcio_segments", "2");
    expect(fh, "tcio_visibility", "immediate");
    OK(tcio_close(fh));
    fh = open_file(CREATE, hints("tcio_segments", "5", "tcio_visibility", "sync", NULL));
    expect(fh, "tcio_segment_size", "16384");
    expect(fh, "tcio_segments", "5");
    expect(fh, "tcio_visibility", "sync");
    OK(tcio_close(fh));
    write_hints(name, "tcio_segment_size 5000\n");
    fh = NULL;
    CHECK(tcio_open(MPI_COMM_WORLD, path, CREATE, MPI_INFO_NULL, &fh) == MPI_ERR_INFO_VALUE);
    remove_scratch(name);
    OK(tcio_open(MPI_COMM_WORLD, path, CREATE, MPI_INFO_NULL, &fh)); /* none there */
    expect(fh, "tcio_segment_size", "1048576");
    OK(tcio_close(fh));
    unsetenv("ROMIO_HINTS");
}

/* What was done is counted, for this process. */
static void test_counts(void)
{
    tcio_file *fh = open_file(CREATE, MPI_INFO_NULL);
    char byte;

    for (int i = 0; i < 10 + rank; i++)
        OK(tcio_write_at(fh, i * size + rank, "x", 1, MPI_CHAR));
    OK(tcio_flush(fh));
    OK(tcio_read_at(fh, 0, &byte, 1, MPI_CHAR));
    OK(tcio_fetch(fh));
    CHECK(number(fh, "tamio_tcio_writes") == 10 + rank);
    CHECK(number(fh, "tamio_tcio_bytes_written") == 10 + rank);
    CHECK(number(fh, "tamio_tcio_reads") == 1 && number(fh, "tamio_tcio_bytes_read") == 1);
    CHECK(number(fh, "tamio_tcio_memory") > 0);
    OK(tcio_close(fh));
}

/* A file name that breaks JSON, in the record that is made at the end. */
static void test_record(void)
{
    char name[1100], stats[1100], line[20000] = "", expected[64];
    tcio_file *fh = NULL;
    FILE *in;

    snprintf(stats, sizeof(stats), "%s.stats", path);
    snprintf(name, sizeof(name), "%s.\"x\\", path);
    OK(open_in(MPI_COMM_WORLD, name, CREATE | MPI_MODE_DELETE_ON_CLOSE,
               hints("romio_tam_stats", stats, NULL), &fh));
    OK(tcio_write_at(fh, 8 * rank, "12345678", 8, MPI_CHAR));
    OK(tcio_close(fh));
    if (rank == 0) {
        in = fopen(stats, "r");
        CHECK(in != NULL && fgets(line, sizeof(line), in) != NULL && fgetc(in) == EOF);
        if (in != NULL)
            fclose(in);
        CHECK(line[0] == '{' && strcmp(line + strlen(line) - 2, "}\n") == 0);
        CHECK(strstr(line, ".\\\"x\\\\\"") != NULL);
        CHECK(strstr(line, "\"call\": \"tcio_close\"") != NULL);
        snprintf(expected, sizeof(expected), "\"ranks\": %d", size);
        CHECK(strstr(line, expected) != NULL);
        snprintf(expected, sizeof(expected), "\"sum\": {\"writes\": %d,", size);
        CHECK(strstr(line, expected) != NULL);
        snprintf(expected, sizeof(expected), "\"bytes_written\": %d", 8 * size);
        CHECK(strstr(line, expected) != NULL);
        CHECK(strstr(line, "\"max\": {\"writes\": 1,") != NULL);
        snprintf(expected, sizeof(expected), "\"file_bytes\": %d", 8 * size);
        CHECK(strstr(line, expected) != NULL);
    }
    remove_scratch(stats);
}

int main(int argc, char **argv)
{
    begin(argc, argv);
    test_defaults();
    test_info();
    test_stripes();
    test_ignored();
    test_environment();
    test_counts();
    test_record();
    return end();
}
