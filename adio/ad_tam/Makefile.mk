## tamio: the layered driver, and the engine that serves both of tamio's drivers.

AM_CPPFLAGS += -I$(top_srcdir)/adio/tamio

include $(top_srcdir)/adio/tamio/Makefile.mk

noinst_HEADERS +=                     \
    adio/ad_tam/ad_tam.h              \
    adio/ad_tam/ad_tam_compat.h       \
    adio/ad_tam/ad_tam_tcio.h

romio_other_sources +=                \
    $(tamio_engine_sources)           \
    $(tamio_mpi_sources)              \
    adio/ad_tam/ad_tam.c              \
    adio/ad_tam/ad_tam_coll.c         \
    adio/ad_tam/ad_tam_early.c        \
    adio/ad_tam/ad_tam_hints.c        \
    adio/ad_tam/ad_tam_icoll.c        \
    adio/ad_tam/ad_tam_layout.c       \
    adio/ad_tam/ad_tam_lock.c         \
    adio/ad_tam/ad_tam_pool.c         \
    adio/ad_tam/ad_tam_prepare.c      \
    adio/ad_tam/ad_tam_request.c      \
    adio/ad_tam/ad_tam_reserve.c      \
    adio/ad_tam/ad_tam_stats.c        \
    adio/ad_tam/ad_tam_store.c        \
    adio/ad_tam/ad_tam_talk.c         \
    adio/ad_tam/ad_tam_tcio.c         \
    adio/ad_tam/ad_tam_tcio_io.c      \
    adio/ad_tam/ad_tam_tcio_stats.c   \
    adio/ad_tam/ad_tam_type.c
