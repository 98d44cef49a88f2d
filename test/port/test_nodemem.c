/* Node memory: segments shared between processes, their names, and the stand-ins for tests. */
#define _GNU_SOURCE /* unshare */
#include "../plan/check.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "port/nodemem.h"

enum { SKIPPED = 77 };

static int create(const struct cio_node_memory *mem, int64_t size, struct cio_nodemem *m)
{
    return mem->ops->create(mem->self, size, m);
}

static int attach(const struct cio_node_memory *mem, const char *name, int64_t size,
                  struct cio_nodemem *m)
{
    return mem->ops->attach(mem->self, name, size, m);
}

static void unlink_name(const struct cio_node_memory *mem, struct cio_nodemem *m)
{
    mem->ops->unlink(mem->self, m);
}

static void detach(const struct cio_node_memory *mem, struct cio_nodemem *m)
{
    mem->ops->detach(mem->self, m);
}

/* What both kinds must do. */
static void test_segments(const struct cio_node_memory *mem)
{
    struct cio_nodemem a, b, c;
    char name[CIO_NODEMEM_NAME_MAX];

    CHECK(create(mem, 100000, &a) == 0 && a.size == 100000 && a.name[0] != '\0');
    CHECK(create(mem, 1, &c) == 0 && strcmp(a.name, c.name) != 0);
    for (int i = 0; i < 100000; i++)
        CHECK(((char *)a.base)[i] == 0);
    strcpy(name, a.name);
    CHECK(attach(mem, name, 100000, &b) == 0 && b.size == 100000 && b.name[0] == '\0');
    strcpy((char *)b.base + 99990, "written");
    CHECK(strcmp((char *)a.base + 99990, "written") == 0);
    CHECK(attach(mem, name, 1 << 30, &c) == -EINVAL && c.size == 1);
    detach(mem, &b);
    CHECK(attach(mem, name, 50000, &b) == 0);
    unlink_name(mem, &a);
    CHECK(a.name[0] == '\0');
    CHECK(strcmp((char *)a.base + 99990, "written") == 0);
    detach(mem, &a);
    CHECK(a.base == NULL);
    ((char *)b.base)[0] = 'x';
    detach(mem, &b);
    CHECK(attach(mem, name, 100000, &b) == -ENOENT);
    strcpy(name, c.name);
    detach(mem, &c);
    CHECK(attach(mem, name, 1, &c) == -ENOENT);
    CHECK(create(mem, 0, &c) == -EINVAL);
}

static void test_between_processes(void)
{
    const struct cio_node_memory *mem = &cio_nodemem_posix;
    struct cio_nodemem m, other;
    pid_t child;
    int status;

    CHECK(create(mem, 8 << 20, &m) == 0);
    child = fork();
    if (child == 0) {
        if (attach(mem, m.name, m.size, &other) < 0)
            _exit(1);
        memset(other.base, 0x77, (size_t)other.size);
        detach(mem, &other);
        _exit(0);
    }
    CHECK(waitpid(child, &status, 0) == child && status == 0);
    CHECK(((char *)m.base)[0] == 0x77 && ((char *)m.base)[m.size - 1] == 0x77);
    detach(mem, &m);
}

static void test_mode(void)
{
    const struct cio_node_memory *mem = &cio_nodemem_posix;
    struct cio_nodemem m = {0};
    struct stat st;
    int fd;

    CHECK(create(mem, 4096, &m) == 0);
    fd = shm_open(m.name, O_RDONLY, 0);
    CHECK(fd >= 0 && fstat(fd, &st) == 0 && (st.st_mode & 0777) == 0600);
    CHECK(st.st_size == 4096 && st.st_blocks > 0);
    close(fd);
    detach(mem, &m);
}

/* Names of this process, in /dev/shm. */
static int names_in_shm(void)
{
    DIR *dir = opendir("/dev/shm");
    char prefix[40];
    int n = 0;

    snprintf(prefix, sizeof(prefix), "tamio-%ld-", (long)getpid());
    for (struct dirent *e; dir != NULL && (e = readdir(dir)) != NULL;)
        n += strncmp(e->d_name, prefix, strlen(prefix)) == 0;
    if (dir != NULL)
        closedir(dir);
    return n;
}

/*
 * In a child with a small /dev/shm of its own, never in the machine's: what does not fit must be
 * refused without using memory up. Exits with the number of the check that failed.
 */
static int small_room(void)
{
    const struct cio_node_memory *mem = &cio_nodemem_posix;
    struct cio_nodemem a, b;

    if (unshare(CLONE_NEWNS) < 0 || mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
        mount("tmpfs", "/dev/shm", "tmpfs", 0, "size=4m") < 0)
        return SKIPPED;
    if (create(mem, (int64_t)1 << 60, &a) != -ENOSPC || create(mem, 5 << 20, &a) != -ENOSPC)
        return 1;
    if (create(mem, 2 << 20, &a) != 0)
        return 2;
    if (create(mem, 3 << 20, &b) != -ENOSPC)
        return 3;
    detach(mem, &a);
    if (create(mem, 3 << 20, &a) != 0)
        return 4;
    detach(mem, &a);
    return names_in_shm() == 0 ? 0 : 5;
}

/* A reservation that fails half-way leaves no name behind. */
static int small_files(void)
{
    struct rlimit limit = {2 << 20, 2 << 20};
    struct cio_nodemem m = {0};

    signal(SIGXFSZ, SIG_IGN);
    if (setrlimit(RLIMIT_FSIZE, &limit) < 0)
        return SKIPPED;
    if (create(&cio_nodemem_posix, 8 << 20, &m) != -EFBIG || m.name[0] != '\0')
        return 1;
    return names_in_shm() == 0 ? 0 : 2;
}

static void in_child(const char *what, int (*test)(void))
{
    pid_t child = fork();
    int status = 0;

    if (child == 0)
        _exit(test());
    CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status));
    if (WEXITSTATUS(status) == SKIPPED)
        printf("%s: skipped, not permitted\n", what);
    else
        CHECK(WEXITSTATUS(status) == 0);
}

static void on_alarm(int sig)
{
    (void)sig;
}

/* A timer that ticks faster than a large segment can be reserved. */
static void test_interrupted(void)
{
    struct sigaction act = {.sa_handler = on_alarm};
    struct itimerval tick = {{0, 2000}, {0, 2000}}, off = {0};
    struct cio_nodemem m = {0};
    int rc;

    CHECK(sigaction(SIGALRM, &act, NULL) == 0);
    CHECK(setitimer(ITIMER_REAL, &tick, NULL) == 0);
    rc = create(&cio_nodemem_posix, 256 << 20, &m);
    CHECK(rc == 0 || rc == -ENOSPC);
    detach(&cio_nodemem_posix, &m);
    CHECK(setitimer(ITIMER_REAL, &off, NULL) == 0);
}

static void test_none(void)
{
    struct cio_nodemem m = {0};

    CHECK(create(&cio_nodemem_none, 1, &m) == -ENOTSUP);
    CHECK(attach(&cio_nodemem_none, "/x", 1, &m) == -ENOTSUP);
    unlink_name(&cio_nodemem_none, &m);
    detach(&cio_nodemem_none, &m);
}

static void test_loop(void)
{
    struct cio_nodemem_loop *loop;
    struct cio_node_memory mem;
    struct cio_nodemem a, b;

    CHECK(cio_nodemem_loop_create(&loop) == 0);
    mem = cio_nodemem_loop_port(loop);
    test_segments(&mem);
    CHECK(cio_nodemem_loop_mapped(loop) == 0 && cio_nodemem_loop_linked(loop) == 0);
    cio_nodemem_loop_fail(loop, 1, -ENOSPC);
    CHECK(create(&mem, 10, &a) == 0);
    CHECK(attach(&mem, a.name, 10, &b) == -ENOSPC);
    CHECK(attach(&mem, a.name, 10, &b) == 0);
    CHECK(cio_nodemem_loop_mapped(loop) == 1 && cio_nodemem_loop_linked(loop) == 1);
    unlink_name(&mem, &a);
    CHECK(cio_nodemem_loop_mapped(loop) == 1 && cio_nodemem_loop_linked(loop) == 0);
    detach(&mem, &a);
    CHECK(cio_nodemem_loop_mapped(loop) == 1);
    detach(&mem, &b);
    CHECK(cio_nodemem_loop_mapped(loop) == 0);
    cio_nodemem_loop_fail(loop, 0, -ENOMEM);
    CHECK(create(&mem, 10, &a) == -ENOMEM);
    CHECK(create(&mem, 10, &a) == 0); /* and left to the registry */
    cio_nodemem_loop_destroy(loop);
}

int main(void)
{
    test_segments(&cio_nodemem_posix);
    test_between_processes();
    test_mode();
    in_child("test_nodemem: small room", small_room);
    in_child("test_nodemem: small files", small_files);
    test_interrupted();
    test_none();
    test_loop();
    return check_done("test_nodemem");
}
