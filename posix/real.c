/* Looked up when the library is loaded, or earlier if another library's constructor calls. */
#include "real.h"

#include <dlfcn.h>
#include <stdatomic.h>
#include <sys/syscall.h>

static struct real functions;
static atomic_int loaded;

__attribute__((constructor)) static void load(void)
{
#define REAL_LOAD(name) functions.name = (__typeof__(name) *)dlsym(RTLD_NEXT, #name);
    REAL_FUNCTIONS(REAL_LOAD)
#undef REAL_LOAD
    atomic_store_explicit(&loaded, 1, memory_order_release);
}

const struct real *real(void)
{
    if (!atomic_load_explicit(&loaded, memory_order_acquire))
        load();
    return &functions;
}

int real_stat(int dir, const char *path, struct stat *st, int flags)
{
#if defined(SYS_newfstatat)
    return (int)syscall(SYS_newfstatat, dir, path, st, flags);
#else
    return (int)syscall(SYS_fstatat, dir, path, st, flags);
#endif
}
