## libtcio: the calls of include/tcio.h, with what they need of the engine inside. Only tcio_* can be
## seen from outside, so that it does not matter whether the MPI has the engine, too.

tamio_tcio_lib_sources =              \
    lib/agree.c                       \
    lib/api.c                         \
    lib/handle.c                      \
    lib/internal.h                    \
    lib/move.c                        \
    lib/open.c                        \
    lib/report.c                      \
    lib/settings.c                    \
    lib/type.c

lib_LTLIBRARIES =
pkgconfigdir = $(libdir)/pkgconfig
pkgconfig_DATA =

## of the plans, what src/tcio uses
tamio_tcio_plan_sources =             \
    src/plan/bits.c                   \
    src/plan/bits.h                   \
    src/plan/code.c                   \
    src/plan/code.h                   \
    src/plan/copy.h                   \
    src/plan/extent.c                 \
    src/plan/extent.h                 \
    src/plan/hints.c                  \
    src/plan/hints.h

## -version-info CURRENT:REVISION:AGE as libtool's manual has it: any change of the sources is a new
## revision; a call more is CURRENT and AGE up by one; a call changed or gone is CURRENT up, AGE 0.
if HAVE_MPI
include_HEADERS = include/tcio.h
lib_LTLIBRARIES += libtcio.la
pkgconfig_DATA += tcio.pc
libtcio_la_SOURCES =                  \
    $(tamio_tcio_lib_sources)         \
    $(tamio_tcio_sources)             \
    $(tamio_port_sources)             \
    $(tamio_mpi_sources)              \
    $(tamio_tcio_plan_sources)
libtcio_la_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)/include
libtcio_la_CFLAGS = $(AM_CFLAGS) -fvisibility=hidden
libtcio_la_LDFLAGS = -version-info 0:0:0 -no-undefined -Wl,-z,defs
libtcio_la_LIBADD = -lrt
endif

## The module for Fortran 2008, where the MPI has mpi_f08.
if HAVE_MPI_FORTRAN
lib_LTLIBRARIES += libtcio_fortran.la
pkgconfig_DATA += tcio-fortran.pc
libtcio_fortran_la_SOURCES = lib/fortran.c lib/internal.h lib/tcio.f90
libtcio_fortran_la_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)/include
libtcio_fortran_la_CFLAGS = $(AM_CFLAGS) -fvisibility=hidden
libtcio_fortran_la_LDFLAGS = -version-info 0:0:0 -no-undefined
libtcio_fortran_la_LIBADD = libtcio.la
nodist_include_HEADERS = tcio.mod
tcio.mod: lib/tcio.lo
	@test -f $@
endif
CLEANFILES = tcio.mod
