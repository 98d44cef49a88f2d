/*
 * Lets tools that are linked with the program, and not preloaded, still see MPI_File_ calls.
 *
 * The dynamic linker takes MPI_File_open from a preloaded library before it looks into the
 * libraries of the program, and a tool's MPI_File_open is in one of these:
 *
 *   program ──▶ this library ──▶ libtool.so: MPI_File_open ──▶ PMPI_File_open in this library
 *                    └── no tool: straight ──────────────────▶ PMPI_File_open in this library
 *
 * So MPI_File_open here is a jump through a slot. The slot is filled when the program starts: with
 * the tool's function if a library behind this one, other than the MPI, defines one, and otherwise
 * with our PMPI_File_open. Tools in front of this library need none of this.
 *
 * names.inc, made by tools/build-preload, has one line TAMIO_NAME(File_open) for each function.
 */

#define _GNU_SOURCE 1
#include <dlfcn.h>
#include <stddef.h>

#if defined(__x86_64__)
#define JUMP(slot) "jmp *" slot "(%rip)\n"
#elif defined(__aarch64__)
#define JUMP(slot) "adrp x16, " slot "\nldr x16, [x16, :lo12:" slot "]\nbr x16\n"
#endif

#ifdef JUMP

#define SLOT(name) "tamio_slot_" #name

#define TAMIO_NAME(name)                                            \
    extern void PMPI_##name(void);                                  \
    __attribute__ ((visibility("hidden"))) void (*tamio_slot_##name)(void) = PMPI_##name; \
    __asm__(".text\n"                                               \
            ".globl MPI_" #name "\n"                                \
            ".type MPI_" #name ", %function\n"                      \
            "MPI_" #name ":\n"                                      \
            JUMP(SLOT(name))                                        \
            ".size MPI_" #name ", . - MPI_" #name "\n");
#include "names.inc"
#undef TAMIO_NAME

#define TAMIO_NAME(name) {"MPI_" #name, "PMPI_" #name, &tamio_slot_##name},
static const struct {
    const char *name, *pname;
    void (**slot) (void);
} functions[] = {
#include "names.inc"
};

static const void *library_of(void *function)
{
    Dl_info info;

    return function != NULL && dladdr(function, &info) != 0 ? info.dli_fbase : NULL;
}

__attribute__ ((constructor))
static void find_tools(void)
{
    for (size_t i = 0; i < sizeof(functions) / sizeof(functions[0]); i++) {
        void *next = dlsym(RTLD_NEXT, functions[i].name);

        if (next != NULL && library_of(next) != library_of(dlsym(RTLD_NEXT, functions[i].pname)))
            *functions[i].slot = (void (*)(void)) next;
    }
}

#endif /* JUMP: elsewhere MPI_File_open is an alias of PMPI_File_open, in ROMIO */
