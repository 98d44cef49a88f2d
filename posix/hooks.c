/*
 * The two jumps of x86-64 that are made so:
 *
 *     e9 <distance, 4 bytes>                      jmp
 *     49 bb <address, 8 bytes> 41 ff e3           movabs %r11; jmp *%r11
 */
#include "hooks.h"

#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "port/log.h"

#if defined(__x86_64__)

#define NOP 0x90
#define ENDBR 0xf3 /* its first byte; some compilers begin all functions with it */

static void *target_of(const unsigned char *code)
{
    int32_t distance;
    void *target = NULL;

    if (code[0] == 0xe9) {
        memcpy(&distance, code + 1, sizeof(distance));
        return (void *)(code + 5 + distance);
    }
    if (code[0] == 0x49 && code[1] == 0xbb && memcmp(code + 10, "\x41\xff\xe3", 3) == 0)
        memcpy(&target, code + 2, sizeof(target));
    return target;
}

/* 0: memory of programs cannot be changed here. */
static int clear(unsigned char *code)
{
    uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE), start = (uintptr_t)code & -page;
    size_t len = (uintptr_t)code + HOOKS_ROOM - start;

    if (mprotect((void *)start, len, PROT_READ | PROT_WRITE | PROT_EXEC) != 0)
        return 0;
    memset(code, NOP, HOOKS_ROOM);
    (void)mprotect((void *)start, len, PROT_READ | PROT_EXEC);
    return 1;
}

void *hooks_take_out(const char *name, void *function)
{
    unsigned char *code = function;
    void *target;

    if (code[0] == NOP || code[0] == ENDBR)
        return NULL;
    target = target_of(code);
    if (target != NULL && clear(code))
        return target;
    cio_log(CIO_LOG_NOTICE,
            "posix: another library has taken %s away from this one: files that are mapped are "
            "not passed through",
            name);
    return NULL;
}

#else

void *hooks_take_out(const char *name, void *function)
{
    (void)name;
    (void)function;
    return NULL;
}

#endif
