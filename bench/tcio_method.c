/* The ways of bench/tcio. */
#define _GNU_SOURCE 1 /* pread, pwrite */
#include "tcio_method.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <tcio.h>

static void must(int rc, const char *what)
{
    char text[MPI_MAX_ERROR_STRING] = "";
    int n;

    if (rc == MPI_SUCCESS)
        return;
    MPI_Error_string(rc, text, &n);
    fprintf(stderr, "tcio: %s: %s\n", what, text);
    MPI_Abort(MPI_COMM_WORLD, 1);
}

static void must_posix(int ok, const char *what)
{
    if (ok)
        return;
    fprintf(stderr, "tcio: %s: %s\n", what, strerror(errno));
    MPI_Abort(MPI_COMM_WORLD, 1);
}

/* What has passed since *since, which becomes now. */
static double lap(double *since)
{
    double now = MPI_Wtime(), passed = now - *since;

    *since = now;
    return passed;
}

static void pause_before_close(struct transfer *t, double *clock)
{
    if (t->before_close != NULL)
        t->before_close(t->arg);
    lap(clock);
}

static int mode_of(const struct transfer *t)
{
    return t->write ? MPI_MODE_CREATE | MPI_MODE_WRONLY : MPI_MODE_RDONLY;
}

/* ---- one call for each piece ---------------------------------------------------------------- */

enum { ENOUGH = -1 }; /* no MPI error, and no error of a piece */

struct limited {
    work_visit visit;
    void *arg;
    int64_t left;
};

static int visit_limited(void *arg, const struct work_piece *p)
{
    struct limited *l = arg;

    return l->left-- > 0 ? l->visit(l->arg, p) : ENOUGH;
}

static int walk(const struct transfer *t, work_visit visit, void *arg)
{
    struct limited l = {visit, arg, t->most};
    int rc;

    if (t->most < 0)
        return work_walk(t->work, visit, arg);
    rc = work_walk(t->work, visit_limited, &l);
    return rc == ENOUGH ? 0 : rc;
}

/* ---- independent MPI-IO --------------------------------------------------------------------- */

struct independent {
    MPI_File file;
    char *memory;
};

static int write_piece(void *arg, const struct work_piece *p)
{
    struct independent *i = arg;

    return MPI_File_write_at(i->file, p->off, i->memory + p->at, p->count, p->type,
                             MPI_STATUS_IGNORE);
}

static int read_piece(void *arg, const struct work_piece *p)
{
    struct independent *i = arg;

    return MPI_File_read_at(i->file, p->off, i->memory + p->at, p->count, p->type,
                            MPI_STATUS_IGNORE);
}

static void independent(struct transfer *t)
{
    struct independent i = {.memory = t->memory};
    double clock = MPI_Wtime();

    must(MPI_File_open(MPI_COMM_WORLD, t->file, mode_of(t), t->hints, &i.file), "MPI_File_open");
    t->opened = lap(&clock);
    must(walk(t, t->write ? write_piece : read_piece, &i), "independent transfer");
    t->moved = lap(&clock);
    MPI_File_get_info(i.file, &t->told);
    pause_before_close(t, &clock);
    must(MPI_File_close(&i.file), "MPI_File_close");
    t->closed = lap(&clock);
}

/* ---- collective MPI-IO: program 2 ----------------------------------------------------------- */

struct combined {
    char *memory, *buffer;
    int64_t used;
    int gather;
    int64_t *off; /* of the blocks in the file that neighbouring pieces make */
    int *len;
    int blocks, room;
};

static int copy_piece(void *arg, const struct work_piece *p)
{
    struct combined *c = arg;

    if (c->gather)
        memcpy(c->buffer + c->used, c->memory + p->at, (size_t)p->bytes);
    else
        memcpy(c->memory + p->at, c->buffer + c->used, (size_t)p->bytes);
    c->used += p->bytes;
    return 0;
}

static int note_block(void *arg, const struct work_piece *p)
{
    struct combined *c = arg;

    if (c->blocks > 0 && c->off[c->blocks - 1] + c->len[c->blocks - 1] == p->off) {
        c->len[c->blocks - 1] += (int)p->bytes;
        return 0;
    }
    if (c->blocks == c->room) {
        c->room = c->room * 2 + 64;
        c->off = realloc(c->off, (size_t)c->room * sizeof(*c->off));
        c->len = realloc(c->len, (size_t)c->room * sizeof(*c->len));
        must_posix(c->off != NULL && c->len != NULL, "memory for a view");
    }
    c->off[c->blocks] = p->off;
    c->len[c->blocks++] = (int)p->bytes;
    return 0;
}

/* Blocks of the file that cannot be told by a vector. */
static void view_of_blocks(MPI_File file, const struct work *w)
{
    struct combined c = {0};
    MPI_Datatype type;
    MPI_Aint *off;

    work_walk(w, note_block, &c);
    off = malloc((size_t)c.blocks * sizeof(*off) + 1);
    must_posix(off != NULL, "memory for a view");
    for (int i = 0; i < c.blocks; i++)
        off[i] = (MPI_Aint)c.off[i];
    must(MPI_Type_create_hindexed(c.blocks, c.len, off, MPI_BYTE, &type), "hindexed");
    must(MPI_Type_commit(&type), "commit");
    must(MPI_File_set_view(file, 0, MPI_BYTE, type, "native", MPI_INFO_NULL), "set_view");
    MPI_Type_free(&type);
    free(off);
    free(c.off);
    free(c.len);
}

static void view_of_turns(MPI_File file, const struct work *w)
{
    MPI_Datatype etype, type;
    int turns = (int)(w->sizes.length / w->sizes.access);

    must(MPI_Type_contiguous((int)w->block, MPI_BYTE, &etype), "contiguous");
    must(MPI_Type_commit(&etype), "commit");
    must(MPI_Type_vector(turns, 1, w->ranks, etype, &type), "vector");
    must(MPI_Type_commit(&type), "commit");
    must(MPI_File_set_view(file, w->rank * w->block, etype, type, "native", MPI_INFO_NULL),
         "set_view");
    MPI_Type_free(&type);
    MPI_Type_free(&etype);
}

static void set_view(MPI_File file, const struct work *w)
{
    if (w->block > 0)
        view_of_turns(file, w);
    else
        view_of_blocks(file, w);
}

static void collective(struct transfer *t)
{
    struct combined c = {.memory = t->memory, .gather = t->write};
    double clock = MPI_Wtime();
    MPI_File file;

    c.buffer = malloc((size_t)t->work->bytes + 1);
    must_posix(c.buffer != NULL && t->work->bytes <= INT32_MAX, "the buffer");
    if (t->write)
        work_walk(t->work, copy_piece, &c);
    t->moved = lap(&clock);
    must(MPI_File_open(MPI_COMM_WORLD, t->file, mode_of(t), t->hints, &file), "MPI_File_open");
    set_view(file, t->work);
    t->opened = lap(&clock);
    if (t->write) {
        must(MPI_File_write_all(file, c.buffer, (int)t->work->bytes, MPI_BYTE, MPI_STATUS_IGNORE),
             "write_all");
    } else {
        must(MPI_File_read_all(file, c.buffer, (int)t->work->bytes, MPI_BYTE, MPI_STATUS_IGNORE),
             "read_all");
        work_walk(t->work, copy_piece, &c);
    }
    t->moved += lap(&clock);
    MPI_File_get_info(file, &t->told);
    pause_before_close(t, &clock);
    must(MPI_File_close(&file), "MPI_File_close");
    free(c.buffer);
    t->closed = lap(&clock);
}

/* ---- the library: program 3 ----------------------------------------------------------------- */

struct library {
    tcio_file *file;
    char *memory;
};

static int write_to_library(void *arg, const struct work_piece *p)
{
    struct library *l = arg;

    return tcio_write_at(l->file, p->off, l->memory + p->at, p->count, p->type);
}

static int read_from_library(void *arg, const struct work_piece *p)
{
    struct library *l = arg;

    return tcio_read_at(l->file, p->off, l->memory + p->at, p->count, p->type);
}

static void library(struct transfer *t)
{
    struct library l = {.memory = t->memory};
    double clock = MPI_Wtime();

    must(tcio_open(MPI_COMM_WORLD, t->file, mode_of(t), t->hints, &l.file), "tcio_open");
    t->opened = lap(&clock);
    must(walk(t, t->write ? write_to_library : read_from_library, &l), "transfer by the library");
    t->moved = lap(&clock);
    tcio_get_info(l.file, &t->told);
    pause_before_close(t, &clock);
    must(tcio_close(l.file), "tcio_close");
    t->closed = lap(&clock);
}

/* ---- POSIX ---------------------------------------------------------------------------------- */

struct posix {
    int fd;
    char *memory;
};

static int pwrite_piece(void *arg, const struct work_piece *p)
{
    struct posix *x = arg;

    return pwrite(x->fd, x->memory + p->at, (size_t)p->bytes, p->off) != p->bytes;
}

static int pread_piece(void *arg, const struct work_piece *p)
{
    struct posix *x = arg;

    return pread(x->fd, x->memory + p->at, (size_t)p->bytes, p->off) != p->bytes;
}

static void posix(struct transfer *t)
{
    struct posix x = {.memory = t->memory};
    double clock = MPI_Wtime();

    x.fd = open(t->file, t->write ? O_CREAT | O_WRONLY : O_RDONLY, 0666);
    must_posix(x.fd >= 0, t->file);
    t->opened = lap(&clock);
    must_posix(walk(t, t->write ? pwrite_piece : pread_piece, &x) == 0, "a piece");
    t->moved = lap(&clock);
    pause_before_close(t, &clock);
    must_posix(close(x.fd) == 0, "close");
    t->closed = lap(&clock);
}

/* ---- all ------------------------------------------------------------------------------------ */

const struct method method_list[] = {
    {"collective", "a buffer, a file view, one collective call (program 2)", collective},
    {"library", "tcio_write_at for each piece (program 3)", library},
    {"independent", "MPI_File_write_at for each piece", independent},
    {"posix", "pwrite for each piece", posix},
    {NULL, NULL, NULL},
};

const struct method *method_find(const char *name)
{
    for (int i = 0; method_list[i].name != NULL; i++) {
        char number[12];

        snprintf(number, sizeof(number), "%d", i);
        if (strcmp(name, method_list[i].name) == 0 || strcmp(name, number) == 0)
            return &method_list[i];
    }
    return NULL;
}
