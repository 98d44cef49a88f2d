/* Everything of stdio, on a file of this rank and on one that all share. */
#include "check.h"

#include <wchar.h>

static char data[100000];

static void basics(void)
{
    FILE *f = fopen(own_file(), "w+");
    char line[100], word[20] = "";
    int number = 0;

    noted("fopen", f != NULL);
    for (int i = 0; i < 3000; i++)
        fprintf(f, "line %d of rank %d\n", i, rank);
    noted("ftell", ftell(f));
    rewind(f);
    for (int i = 0; i < 5 && fgets(line, sizeof(line), f) != NULL; i++)
        note_data("fgets", line, (long long)strlen(line));
    noted("fscanf", fscanf(f, "%19s %d", word, &number));
    note("%s %d", word, number);
    noted("fseek", fseek(f, 1000, SEEK_SET));
    noted("fgetc", fgetc(f));
    noted("ungetc", ungetc('#', f));
    noted("fgetc", fgetc(f));
    noted("fseeko", fseeko(f, -10, SEEK_END));
    note_data("fread", data, (long long)fread(data, 1, sizeof(data), f));
    noted("feof", feof(f) != 0);
    noted("ferror", ferror(f) != 0);
    clearerr(f);
    noted("feof", feof(f) != 0);
    noted("fflush", fflush(f));
    noted("fclose", fclose(f));
}

static void mixed(void)
{
    FILE *f = fopen64(own_file(), "r+b");
    unsigned x = 99 + (unsigned)rank;
    fpos_t where;

    for (int i = 0; i < 2000; i++) {
        size_t len;

        x = x * 1103515245 + 12345;
        len = x / 65536 % 3000;
        if (i % 7 == 0)
            noted("fseek", fseek(f, x / 7 % 60000, SEEK_SET));
        if (i % 13 == 0)
            noted("fflush", fflush(f));
        if (i % 3 == 0) {
            fseek(f, 0, SEEK_CUR);
            memset(data, 0, len);
            note_data("fread", data, (long long)fread(data, 1, len, f));
            fseek(f, 0, SEEK_CUR);
        } else {
            fill(data, len, x);
            noted("fwrite", (long long)fwrite(data, 1, len, f));
        }
        if (i % 11 == 0)
            noted("ftello", ftello(f));
    }
    noted("fgetpos", fgetpos(f, &where));
    rewind(f);
    noted("fsetpos", fsetpos(f, &where));
    noted("ftell", ftell(f));
    noted("fclose", fclose(f));
}

static void by_descriptor(void)
{
    FILE *f = fopen(own_file(), "r+");
    struct stat st;
    int fd = fileno(f);

    noted("fileno", fd > 2);
    noted("fstat", fstat(fd, &st));
    noted("size", st.st_size);
    fputs("through the stream", f);
    noted("fflush", fflush(f));
    noted("lseek", lseek(fd, 0, SEEK_CUR));
    noted("fsync", fsync(fd));
    noted("ftruncate", ftruncate(fd, 50000));
    note_data("pread", data, pread(fd, data, 100, 5));
    noted("fclose", fclose(f));
    noted("closed", close(fd));
    fd = open(own_file(), O_RDWR);
    f = fdopen(fd, "r+");
    noted("fileno", fileno(f) == fd);
    fseek(f, 49990, SEEK_SET);
    note_data("fread", data, (long long)fread(data, 1, 100, f));
    noted("ferror", ferror(f) != 0);
    noted("fclose", fclose(f));
}

static void buffers(void)
{
    static char buffer[300];
    FILE *f = fopen(own_file(), "w");

    noted("setvbuf", setvbuf(f, buffer, _IOFBF, sizeof(buffer)));
    for (int i = 0; i < 100; i++)
        fwrite(data, 1, (size_t)i, f);
    noted("fclose", fclose(f));
    f = fopen(own_file(), "r");
    noted("setvbuf", setvbuf(f, NULL, _IONBF, 0));
    note_data("fread", data, (long long)fread(data, 1, 2000, f));
    noted("fputc to a reader", fputc('x', f));
    noted("ferror", ferror(f) != 0);
    noted("fclose", fclose(f));
    f = fopen(own_file(), "w");
    noted("fgetc from a writer", fgetc(f));
    noted("fclose", fclose(f));
}

static void modes(void)
{
    noted("no such file", fopen("/nowhere/file.dat", "w") != NULL);
    noted("no such mode", fopen(own_file(), "q") != NULL);
    noted("exclusive", fopen(own_file(), "wx") != NULL);
    noted("reading only what is there", fopen("file.dat.nowhere", "r") != NULL);
}

/* Each rank a part of one file, then all of it. */
static void together(void)
{
    FILE *f;

    if (rank == 0)
        fclose(fopen(file, "w"));
    barrier();
    f = fopen(file, "r+");
    for (int i = 0; i < 50; i++) {
        noted("fseeko", fseeko(f, ((off_t)i * size + rank) * 777, SEEK_SET));
        fill(data, 777, (unsigned)(i * size + rank));
        noted("fwrite", (long long)fwrite(data, 777, 1, f));
    }
    noted("fclose", fclose(f));
    barrier();
    f = fopen(file, "r");
    note_data("all", data, (long long)fread(data, 1, sizeof(data), f));
    noted("feof", feof(f) != 0);
    noted("fclose", fclose(f));
}

/* Another file under the same stream; the first is complete. */
static void another(void)
{
    FILE *f = fopen(own_file(), "w");

    fputs("before", f);
    f = freopen("/dev/null", "r", f);
    noted("freopen", f != NULL);
    noted("fgetc", fgetc(f));
    noted("feof", feof(f) != 0);
    noted("fputc to a reader", fputc('x', f));
    noted("fclose", fclose(f));
    f = fopen(own_file(), "r");
    note_data("fread", data, (long long)fread(data, 1, 3, f));
    f = freopen(own_file(), "w+", f);
    fprintf(f, "again %d", rank);
    rewind(f);
    note_data("fread", data, (long long)fread(data, 1, 100, f));
    noted("fileno", fileno(f) > 2);
    noted("freopen", freopen("/nowhere/file.dat", "w", f) != NULL);
    f = fopen(own_file(), "r");
    note_data("fread", data, (long long)fread(data, 1, 100, f));
    noted("fclose", fclose(f));
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    begin(argc, argv);
    basics();
    mixed();
    by_descriptor();
    buffers();
    basics();
    modes();
    another();
    together();
    return end();
}
