/*
 * Communication libraries (UCX) overwrite the first instructions of mmap in memory, so as to see
 * the program's mappings; the mmap that they find is ours. Then ours would never be called.
 */
#ifndef TAMIO_POSIX_HOOKS_H
#define TAMIO_POSIX_HOOKS_H

/* Of a function that others may overwrite: room for their jump, and nothing of ours in it. */
#define HOOKS_ROOM 16
#if defined(__x86_64__)
#define HOOKS_BEGIN __attribute__((patchable_function_entry(HOOKS_ROOM, 0)))
#else
#define HOOKS_BEGIN
#endif

/*
 * Takes such a jump out again. Returns where it led, so that whoever made it is called after us;
 * NULL if there is none, or it stays (on processors other than x86-64; with a notice).
 */
void *hooks_take_out(const char *name, void *function);

#endif
