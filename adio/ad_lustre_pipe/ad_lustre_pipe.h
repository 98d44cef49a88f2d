/*
 * ad_lustre_pipe: the driver below ad_tam for Lustre. It owns what is particular to striped file
 * systems: finding out how a file is striped, creating files with the striping asked for, group
 * locks. Collective I/O is ad_tam's, which lies over it as over any other driver. File access is
 * the POSIX path.
 *
 * liblustreapi is loaded at run time, once for each file that needs it; nothing of Lustre is needed
 * to compile. Whatever it cannot do is said once, with the file and the cause, and the file is then
 * used as on any other file system, by the hints striping_unit and striping_factor.
 *
 * Environment:
 *   TAMIO_LUSTREAPI       the library to load instead of liblustreapi.so.1 or liblustreapi.so
 *   TAMIO_LUSTRE_ASSUME   1: take any file system for Lustre, for tests with a stand-in library
 *
 * Errors are 0 or a negative errno; functions of the slots follow ROMIO.
 */

#ifndef AD_LUSTRE_PIPE_H_INCLUDED
#define AD_LUSTRE_PIPE_H_INCLUDED

#include "adio.h"
#include "plan/layout.h"

#include <stdarg.h>
#include <sys/types.h>

struct llapi_layout;

/* Takes what the library would print of an error. */
typedef void (*ADIOI_LUSTRE_PIPE_Callback) (unsigned level, int error, const char *format,
                                            va_list args);

/* Room for a reason. */
#define ADIOI_LUSTRE_PIPE_REASON 512

/* The functions of liblustreapi that are used, by their names without llapi_. */
typedef struct ADIOI_LUSTRE_PIPE_Api {
    void *library;              /* NULL: not loaded */
    struct llapi_layout *(*layout_alloc) (void);
    struct llapi_layout *(*layout_get_by_fd) (int fd, int flags);
    void (*layout_free) (struct llapi_layout * layout);
    int (*layout_mirror_count_get) (struct llapi_layout * layout, uint16_t * count);
    int (*layout_comp_use) (struct llapi_layout * layout, int which);
    int (*layout_comp_extent_get) (const struct llapi_layout * layout, uint64_t * start,
                                   uint64_t * end);
    int (*layout_comp_flags_get) (const struct llapi_layout * layout, uint32_t * flags);
    int (*layout_pattern_get) (const struct llapi_layout * layout, uint64_t * pattern);
    int (*layout_pattern_set) (struct llapi_layout * layout, uint64_t pattern);
    int (*layout_stripe_size_get) (const struct llapi_layout * layout, uint64_t * size);
    int (*layout_stripe_size_set) (struct llapi_layout * layout, uint64_t size);
    int (*layout_stripe_count_get) (const struct llapi_layout * layout, uint64_t * count);
    int (*layout_stripe_count_set) (struct llapi_layout * layout, uint64_t count);
    int (*layout_ost_index_get) (const struct llapi_layout * layout, uint64_t stripe,
                                 uint64_t * index);
    int (*layout_ost_index_set) (struct llapi_layout * layout, int stripe, uint64_t index);
    int (*layout_file_create) (const char *path, int flags, int mode,
                               const struct llapi_layout * layout);
    int (*group_lock) (int fd, int gid);
    int (*group_unlock) (int fd, int gid);

    /* NULL: a library has none */
    int (*lov_get_uuids) (int fd, void *names, int *count);
    int (*get_obd_count) (char *folder, int *count, int is_mdt);
     ADIOI_LUSTRE_PIPE_Callback(*error_callback_set) (ADIOI_LUSTRE_PIPE_Callback callback);
} ADIOI_LUSTRE_PIPE_Api;

/* Their constants. */
#define LLAPI_UNKNOWN 0x1000000000000001ULL     /* this and above: no number, or a default one */
#define LLAPI_DEFAULT 0x1000000000000002ULL
#define LLAPI_WIDE 0x1000000000000003ULL        /* one stripe on every OST; + 1 for each more, */
#define LLAPI_WIDE_MOST (LLAPI_WIDE + 31)       /* from Lustre 2.16 on */
#define LLAPI_EOF UINT64_MAX
#define LLAPI_USE_FIRST 1
#define LLAPI_USE_NEXT 3
#define LLAPI_RAID0 0x0ULL
#define LLAPI_MDT 0x2ULL
#define LLAPI_OVERSTRIPING 0x4ULL
#define LLAPI_FOREIGN 0x8ULL
#define LLAPI_RELEASED 0x80000000ULL
#define LLAPI_SPECIFIC 0x2000000000000000ULL
#define LLAPI_COMP_INIT 0x10u   /* its objects exist */
#define LLAPI_COMP_EXTENSION 0x40u      /* room that the component before it may grow into */

/* What the driver keeps in fd->fs_ptr. */
typedef struct ADIOI_LUSTRE_PIPE_File {
    ADIOI_LUSTRE_PIPE_Api api;
    int refused;                /* the library cannot be had: do not ask again, */
    char refusal[ADIOI_LUSTRE_PIPE_REASON];     /* since */
    int looked;                 /* the layout has been asked for, */
    struct cio_layout layout;   /* and is this; n == 0: it cannot be used */
    int targets;                /* OSTs of the file system; 0: not asked for yet; -1: unknown */
    int complained;             /* that a group lock cannot be given back */
} ADIOI_LUSTRE_PIPE_File;

/* The state of a file, made where there is none yet. ADIOI_LUSTRE_PIPE_Forget gives it back. */
ADIOI_LUSTRE_PIPE_File *ADIOI_LUSTRE_PIPE_File_of(ADIO_File fd);
void ADIOI_LUSTRE_PIPE_Forget(ADIO_File fd);

/* The library, loaded for this file; NULL if that cannot be, and why (of ..._REASON bytes) says why. */
const ADIOI_LUSTRE_PIPE_Api *ADIOI_LUSTRE_PIPE_Api_of(ADIO_File fd, char *why);

/*
 * Between the two the library prints nothing: what matters of it is said here, in one line. What the
 * program may have set is restored.
 */
ADIOI_LUSTRE_PIPE_Callback ADIOI_LUSTRE_PIPE_Hush(const ADIOI_LUSTRE_PIPE_Api * api);
void ADIOI_LUSTRE_PIPE_Unhush(const ADIOI_LUSTRE_PIPE_Api * api,
                              ADIOI_LUSTRE_PIPE_Callback before);

/* The folder that a path names a file in; the caller's. */
char *ADIOI_LUSTRE_PIPE_Folder(const char *path);

/* Whether a descriptor, or the folder that a path names a file in, is on Lustre. */
int ADIOI_LUSTRE_PIPE_Is_lustre(int descriptor);
int ADIOI_LUSTRE_PIPE_Is_lustre_folder(const char *path);

/*
 * Numbers of the OSTs of the file system that a path is on, rising, which may have gaps; how many,
 * 0 if that cannot be found out. *index is the caller's then.
 */
int ADIOI_LUSTRE_PIPE_Targets(const ADIOI_LUSTRE_PIPE_Api * api, const char *path, int **index);

/* A number among the effective hints, or `otherwise`. */
int64_t ADIOI_LUSTRE_PIPE_Hint(ADIO_File fd, const char *name, int64_t otherwise);

/* Asks for the layout of a file that is open here as `descriptor`. Local. */
void ADIOI_LUSTRE_PIPE_Discover(ADIO_File fd, int descriptor);

/*
 * The layout of the file, found out now unless that was tried before; NULL: unknown. Local. It
 * stays the driver's, until the file is closed. `again`: look again if a part of it has had no
 * objects so far.
 */
const struct cio_layout *ADIOI_LUSTRE_PIPE_Layout(ADIO_File fd, int again);

/*
 * Creates a file that does not exist with the striping that hints ask for. A descriptor, or
 * -ENOTSUP: nothing was asked for, or it cannot be had here, and nothing was done; -EEXIST; another
 * error: the file may exist now, without striping of its own. `why` (of ..._REASON bytes): what
 * differs from what was asked for, if the file is created, by whom ever; else "".
 */
int ADIOI_LUSTRE_PIPE_Create(ADIO_File fd, int flags, mode_t mode, char *why);

/*
 * A group lock on the whole file: holders of the same number, greater than 0, access it at the same
 * time without further locks, while the accesses of all others wait. They do not see each other's
 * writes of one page, and may lose them: nobody must write a part of a page of another holder. Local.
 * 0, or a negative errno, and why (of ..._REASON bytes) says why: there is nothing to unlock then.
 */
int ADIOI_LUSTRE_PIPE_Group_lock(ADIO_File fd, int group, char *why);
void ADIOI_LUSTRE_PIPE_Group_unlock(ADIO_File fd, int group);

/* Slots. */
void ADIOI_LUSTRE_PIPE_Open(ADIO_File fd, int *error_code);
void ADIOI_LUSTRE_PIPE_OpenColl(ADIO_File fd, int rank, int access_mode, int *error_code);
void ADIOI_LUSTRE_PIPE_Close(ADIO_File fd, int *error_code);

#endif /* AD_LUSTRE_PIPE_H_INCLUDED */
