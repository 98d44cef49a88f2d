/*
 * What passes a file through: locks, mappings, appending, copies to standard streams, what the
 * system does by itself. What was written before is in the file, and everything goes on.
 */
#include "check.h"

#include <sys/file.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/wait.h>

static char data[10000];

static int begun(const char *name)
{
    int fd = open(name, O_RDWR | O_CREAT | O_TRUNC, 0644);

    fill(data, sizeof(data), (unsigned)rank);
    noted("write", write(fd, data, sizeof(data)));
    return fd;
}

static const char *named(const char *what)
{
    static char name[4200];

    snprintf(name, sizeof(name), "%s.%s", own_file(), what);
    return name;
}

/* The position is where it was, and reading gives what was written. */
static void go_on(int fd)
{
    noted("position", lseek(fd, 0, SEEK_CUR));
    noted("write", write(fd, "more", 4));
    note_data("read", data, pread(fd, data, sizeof(data), 10));
    noted("close", close(fd));
}

static void locks(void)
{
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    int fd = begun(named("fcntl"));

    noted("fcntl", fcntl(fd, F_SETLK, &lock));
    go_on(fd);
    fd = begun(named("flock"));
    noted("flock", flock(fd, LOCK_EX));
    go_on(fd);
    fd = begun(named("lockf"));
    noted("lockf", lockf(fd, F_LOCK, 0));
    go_on(fd);
}

static void mapping(void)
{
    int fd = begun(named("mmap"));
    char *map = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

    note_data("mapped", map, 4096);
    strcpy(map + 20, "through the mapping");
    munmap(map, 4096);
    go_on(fd);
}

static void appending(void)
{
    FILE *f;
    int fd = begun(named("append"));

    noted("F_SETFL", fcntl(fd, F_SETFL, O_APPEND));
    noted("pread", pread(fd, data, 5, 0));
    go_on(fd);
    fd = open(named("append"), O_WRONLY | O_APPEND);
    noted("write", write(fd, "appended", 8));
    noted("close", close(fd));
    f = fopen(named("append2"), "a");
    fprintf(f, "rank %d appends\n", rank);
    noted("fclose", fclose(f));
    fd = open(named("append2"), O_RDWR);
    note_data("read", data, read(fd, data, sizeof(data)));
    noted("close", close(fd));
}

/* As a program does for its output. */
static void standard_stream(void)
{
    int kept = dup(1), fd = begun(named("stdout"));

    fflush(stdout);
    noted("dup2", dup2(fd, 1));
    printf("printed by %d\n", rank);
    fflush(stdout);
    noted("write", write(1, "written", 7));
    dup2(kept, 1);
    close(kept);
    go_on(fd);
}

static void by_the_system(void)
{
    int fd = begun(named("sendfile")),
        to = open(named("sendfile2"), O_RDWR | O_CREAT | O_TRUNC, 0644);
    off_t from = 100;

    noted("sendfile", sendfile(to, fd, &from, 500));
    noted("copy_file_range", copy_file_range(fd, &from, to, NULL, 500, 0));
    note_data("copied", data, pread(to, data, 1000, 0));
    noted("close", close(to));
    go_on(fd);
    fd = begun(named("punched"));
    noted("fallocate", fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 1000, 5000));
    note_data("punched", data, pread(fd, data, sizeof(data), 0));
    go_on(fd);
}

/* The name goes, the file stays for who has it open. */
static void without_a_name(void)
{
    char other[4300];
    int fd = begun(named("unlinked"));

    noted("unlink", unlink(named("unlinked")));
    noted("unlink", unlink(named("unlinked")));
    go_on(fd);
    snprintf(other, sizeof(other), "%s.other", named("renamed"));
    fd = begun(named("renamed"));
    noted("rename", rename(named("renamed"), other));
    go_on(fd);
    fd = open(other, O_RDONLY);
    note_data("renamed", data, read(fd, data, sizeof(data)));
    noted("close", close(fd));
    noted("remove", remove(other));
    noted("stat", access(other, F_OK));
}

/* A child has the descriptor, the position, and the system's calls. */
static void child(void)
{
    int fd = begun(named("fork")), status = -1;
    pid_t pid;

    noted("fsync", fsync(fd));
    pid = fork();
    if (pid == 0) {
        char byte[8];
        int ok = read(fd, byte, 8) == 0 && lseek(fd, 0, SEEK_CUR) == sizeof(data) &&
                 pread(fd, byte, 8, 100) == 8 && memcmp(byte, data + 100, 8) == 0 &&
                 pwrite(fd, "child", 5, 20000) == 5;

        _exit(!ok);
    }
    noted("fork", pid > 0);
    noted("waitpid", waitpid(pid, &status, 0) == pid);
    noted("status", status);
    noted("close", close(fd));
    fd = open(named("fork"), O_RDONLY);
    note_data("what the child wrote", data, pread(fd, data, 100, 19990));
    noted("close", close(fd));
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    begin(argc, argv);
    locks();
    mapping();
    appending();
    standard_stream();
    by_the_system();
    without_a_name();
    child();
    return end();
}
