/*
 * Messages that are lost: on the receiver's side, on the sender's, and a poll that fails. Whatever
 * it was, an operation that ends well has moved every byte, and one that cannot go on breaks off:
 * no rank waits for ever, and no loss becomes success.
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../plan/check.h"
#include "cases.h"

enum { WELL, FAILED, BROKE, HANGS, WRONG, NOTHING_LOST, OUTCOMES };

static const char *const words[] = {"ended well", "failed", "broke off",
                                    "hang",       "wrong",  "nothing lost"};

static int outcome(struct test_case *c, int write)
{
    int rc = world_run(&c->world), failed = 0;

    if (rc != 0)
        return rc == -2 ? BROKE : HANGS;
    for (int r = 0; r < c->world.size; r++)
        failed += c->world.error[r] != 0;
    if (failed > 0)
        return FAILED;
    return (write ? case_wrong_file(c) : case_wrong_buffers(c)) == 0 ? WELL : WRONG;
}

/* In a process of its own, since nothing can be freed after a loss. */
static int run(uint64_t seed, int write, struct cio_loop_loss loss)
{
    struct test_case c;
    int status, result;
    pid_t child = fork();

    if (child == 0) {
        case_create(&c, seed, 0);
        c.world.settings.early = seed % 3 == 0;
        case_fill_store(&c);
        case_prepare(&c, write);
        cio_loop_lose(c.world.loop, loss);
        result = outcome(&c, write);
        _exit(cio_loop_has_lost(c.world.loop) ? result : NOTHING_LOST);
    }
    if (child < 0 || waitpid(child, &status, 0) != child || !WIFEXITED(status))
        return OUTCOMES;
    return WEXITSTATUS(status);
}

static void lose_some(uint64_t seed, int write, enum cio_loop_side side, int *seen)
{
    int result = WELL;

    for (int64_t at = 0; result != NOTHING_LOST; at += 1 + at / 4) {
        result = run(seed, write, (struct cio_loop_loss){side, at});
        if (!CHECK(result < OUTCOMES && result != HANGS && result != WRONG)) {
            printf("seed %llu, %s, side %d, number %lld: %s\n", (unsigned long long)seed,
                   write ? "write" : "read", (int)side, (long long)at,
                   result < OUTCOMES ? words[result] : "crash");
            return;
        }
        seen[result]++;
    }
}

int main(int argc, char **argv)
{
    int cases = argc > 1 ? atoi(argv[1]) : 9, seen[OUTCOMES] = {0};
    uint64_t seed = argc > 2 ? strtoull(argv[2], NULL, 0) : 1;

    setenv("TAMIO_LOG", "quiet", 1);
    for (uint64_t i = 0; i < (uint64_t)cases; i++)
        for (int write = 0; write < 2; write++)
            for (int side = CIO_LOOP_RECEIVER; side <= CIO_LOOP_POLL; side++)
                lose_some(seed + i, write, (enum cio_loop_side)side, seen);
    for (int i = 0; i < OUTCOMES; i++)
        printf("%s: %d\n", words[i], seen[i]);
    CHECK(seen[BROKE] > cases);
    return check_done("lost");
}
