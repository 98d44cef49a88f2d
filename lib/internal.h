/*
 * libtcio: the calls of tcio.h over the engine (src/tcio), for any MPI.
 *
 *   api.c       what the calls promise: handles, modes, positions
 *   open.c      opening and closing, which are collective
 *   settings.c  hints
 *   type.c      what a memory type looks like
 *   move.c      data of any memory type to and from the engine
 *   agree.c     errors: classes, and one answer on all ranks
 *   handle.c    which handles are open
 *   report.c    what was done, for info and as a line of JSON
 *
 * Functions return an MPI error class, unless they say otherwise. Names that other files see begin
 * with tcioi_, as a static library has them beside the program's.
 */
#ifndef TCIO_INTERNAL_H
#define TCIO_INTERNAL_H

/* The library's calls are all that can be seen of it. */
#pragma GCC visibility push(default)
#include "tcio.h"
#pragma GCC visibility pop

#include "plan/hints.h"
#include "port/store.h"
#include "tcio/space.h"

/* What a memory type looks like. */
struct memory_type {
    int64_t size, extent;
    int64_t lb;     /* true lower bound: where the first byte of an instance lies */
    int contiguous; /* an instance is a run of bytes, in the order in which they are sent */
    int dense;      /* several are, too */
};

/* Types that cannot change, so that they need not be looked at again. */
#define NAMED_TYPES 8

/* A read into a type that is not contiguous: `bytes` are unpacked when they are there. */
struct waiting_read {
    struct waiting_read *next;
    void *data;
    int64_t count;
    MPI_Datatype type; /* a duplicate */
    struct memory_type is;
    char bytes[];
};

struct file {
    char *name;       /* as it was given */
    const char *path; /* without ROMIO's prefix */
    char *hints_text; /* HINTS_FILE_MAX bytes and one, while it is opened */
    char why[1024];   /* the cause of the error of this rank; "" if it needs no words */
    int amode;
    int rank, size;
    MPI_Comm comm;
    MPI_File file;
    int fd;
    int write_only; /* the descriptor */
    struct cio_hints hints;
    struct cio_space_settings settings;
    struct cio_store *store;
    struct cio_space *space;
    struct cio_tcio *tcio;
    MPI_Offset position;
    struct {
        MPI_Datatype type;
        struct memory_type is;
    } named[NAMED_TYPES];
    int named_next;
    int type_key;
    struct waiting_read *reads, **last_read;
    int64_t waiting_bytes;
};

/* ---- handles ---- */

/* MPI_ERR_NO_MEM: too many are open. */
int tcioi_handle_create(struct file *f, tcio_file **out);
void tcioi_handle_destroy(tcio_file *fh);

/* NULL for anything that is not open, NULL and the garbage of other programs' memory included. */
struct file *tcioi_handle_file(const tcio_file *fh);

/* ---- errors ---- */

int tcioi_class_of_errno(int error); /* 0 or negative */
int tcioi_class_of_mpi(int code);

/* Returns `class`, and keeps the words for tcioi_agree(), which has one rank print them. */
__attribute__((format(printf, 3, 4))) int tcioi_because(struct file *f, int class, const char *why,
                                                        ...);

/* Returns `class`, and has rank 0 say why: where all ranks have found the same. */
int tcioi_refuse(const struct file *f, int class, const char *why);

/* A digest of a text. */
uint64_t tcioi_hash_text(const char *s);

/*
 * Collective: the largest class of any rank; 0 is success. The rank that has it says why. With
 * words (at most AGREE_WORDS), each becomes the largest of any rank.
 */
#define AGREE_WORDS 8
int tcioi_agree(struct file *f, int class);
int tcioi_agree_on(struct file *f, int class, int64_t *word, int n);

/* ---- hints ---- */

#define HINTS_FILE_MAX 65536 /* ROMIO reads no more */

/* The file that ROMIO_HINTS names: its length; 0 if there is none. */
int tcioi_settings_file(char *text);

/*
 * Collective. From a file of that length, which rank 0 has read into f->hints_text, and from
 * `info`.
 */
int tcioi_settings_read(struct file *f, int length, MPI_Info info);

/* Once the file is open: sizes that were left open, and whether they suit the file. */
int tcioi_settings_sizes(struct file *f);

/* How many segments there is room for if so many ranks of this node have some. */
int64_t tcioi_settings_fit(struct file *f, int64_t ranks);

/* Collective: the same with as many as there are; for all nodes. */
int tcioi_settings_fit_all(struct file *f);

/* ---- data ---- */

int tcioi_type_keys_create(struct file *f);
void tcioi_type_keys_destroy(struct file *f);

/* MPI_ERR_TYPE: null or not committed. */
int tcioi_type_look(struct file *f, MPI_Datatype type, struct memory_type *out);

/* MPI_Pack and MPI_Unpack of some instances, without an end of 2 GiB where the MPI has none. */
int tcioi_type_pack(struct file *f, const void *data, int64_t count, MPI_Datatype type,
                    void *packed, int64_t bytes);
int tcioi_type_unpack(struct file *f, const void *packed, int64_t bytes, void *data, int64_t count,
                      MPI_Datatype type);

/* Types may hold addresses themselves, and data be MPI_BOTTOM: no arithmetic of pointers. */
static inline char *address(const void *data, int64_t displacement)
{
    return (char *)((uintptr_t)data + (uintptr_t)displacement);
}

/* A transfer that was checked: `bytes` is more than 0. */
struct transfer {
    int64_t offset, bytes;
    char *data;
    int64_t count;
    MPI_Datatype type;
    struct memory_type is;
};
int tcioi_move_write(struct file *f, const struct transfer *t);
int tcioi_move_read(struct file *f, const struct transfer *t);
int tcioi_move_fetch(struct file *f);

/* ---- reports ---- */

int tcioi_report_info(struct file *f, MPI_Info *out);

/* Collective, at the end, if romio_tam_stats says where. */
void tcioi_report_stats(struct file *f);

#endif
