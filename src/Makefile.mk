## The engine's sources, for this project's Makefile.am and for ROMIO's (copied to adio/tamio/).
## %D% is the folder of this file, relative to whichever Makefile.am includes it.

tamio_engine_sources =         \
    %D%/plan/hints.c           \
    %D%/plan/hints.h           \
    %D%/port/log.c             \
    %D%/port/log.h
