/* More files open at once than the job knows at a time, and then many one after the other. */
#include "check.h"

#define FILES 200

static char text[100];

static const char *number(int i)
{
    static char name[4300];

    snprintf(name, sizeof(name), "%s.%d", own_file(), i);
    return name;
}

int main(int argc, char **argv)
{
    int fd[FILES], bad = 0;

    MPI_Init(&argc, &argv);
    begin(argc, argv);
    for (int i = 0; i < FILES; i++) {
        fd[i] = open(number(i), O_RDWR | O_CREAT | O_TRUNC, 0644);
        bad += write(fd[i], text, (size_t)sprintf(text, "file %d", i)) < 6;
    }
    for (int i = 0; i < FILES; i++) {
        memset(text, 0, sizeof(text));
        bad += pread(fd[i], text, 100, 0) < 6 || atoi(text + 5) != i;
        bad += close(fd[i]) != 0;
    }
    note("went wrong: %d", bad);
    for (int i = 0; i < FILES; i++) {
        int one = open(number(i), O_RDWR);

        bad += pwrite(one, "again", 5, 100) != 5;
        bad += lseek(one, 0, SEEK_END) != 105;
        bad += close(one) != 0;
    }
    note("went wrong: %d", bad);
    barrier();
    return end();
}
