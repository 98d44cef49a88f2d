## tamio: Lustre and other striped file systems. Needs nothing of Lustre to compile.

noinst_HEADERS += adio/ad_lustre_pipe/ad_lustre_pipe.h

romio_other_sources +=                           \
    adio/ad_lustre_pipe/ad_lustre_pipe.c         \
    adio/ad_lustre_pipe/ad_lustre_pipe_api.c     \
    adio/ad_lustre_pipe/ad_lustre_pipe_create.c  \
    adio/ad_lustre_pipe/ad_lustre_pipe_layout.c  \
    adio/ad_lustre_pipe/ad_lustre_pipe_lock.c    \
    adio/ad_lustre_pipe/ad_lustre_pipe_open.c    \
    adio/ad_lustre_pipe/ad_lustre_pipe_targets.c
