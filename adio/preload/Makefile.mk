## tamio: the glue between ROMIO and an MPI that is already installed. tools/build-preload puts this
## folder into its copy of ROMIO in place of mpi-io/glue/default.

AM_CPPFLAGS += -I$(top_srcdir)/mpi-io/glue/preload -include $(top_srcdir)/mpi-io/glue/preload/host.h

## exports.map says what the library shows.
AM_CFLAGS += -fvisibility=default

noinst_HEADERS +=                           \
    mpi-io/glue/preload/errhandler.h        \
    mpi-io/glue/preload/host.h              \
    mpi-io/glue/preload/mpir_ext.h

romio_other_sources +=                      \
    mpi-io/glue/mpich/mpio_file.c           \
    mpi-io/glue/preload/errhandler.c        \
    mpi-io/glue/preload/file_toint.c        \
    mpi-io/glue/preload/grequest.c          \
    mpi-io/glue/preload/mpio_err.c          \
    mpi-io/glue/preload/mpir_ext.c
