## The engine's sources, for this project's Makefile.am and for ROMIO's (copied to adio/tamio/).
## %D% is the folder of this file, relative to whichever Makefile.am includes it.

tamio_plan_sources =                  \
    %D%/plan/aggr.c                   \
    %D%/plan/aggr.h                   \
    %D%/plan/bits.c                   \
    %D%/plan/bits.h                   \
    %D%/plan/choose.c                 \
    %D%/plan/choose.h                 \
    %D%/plan/code.c                   \
    %D%/plan/code.h                   \
    %D%/plan/copy.h                   \
    %D%/plan/crowd.c                  \
    %D%/plan/crowd.h                  \
    %D%/plan/domain.c                 \
    %D%/plan/domain.h                 \
    %D%/plan/extent.c                 \
    %D%/plan/extent.h                 \
    %D%/plan/finish.c                 \
    %D%/plan/finish.h                 \
    %D%/plan/flat.c                   \
    %D%/plan/flat.h                   \
    %D%/plan/graph.c                  \
    %D%/plan/graph.h                  \
    %D%/plan/hints.c                  \
    %D%/plan/hints.h                  \
    %D%/plan/layout.c                 \
    %D%/plan/layout.h                 \
    %D%/plan/maxima.c                 \
    %D%/plan/maxima.h                 \
    %D%/plan/merge.c                  \
    %D%/plan/merge.h                  \
    %D%/plan/order.c                  \
    %D%/plan/order.h                  \
    %D%/plan/pattern.c                \
    %D%/plan/pattern.h                \
    %D%/plan/permutation.c            \
    %D%/plan/permutation.h            \
    %D%/plan/pipeline.c               \
    %D%/plan/pipeline.h               \
    %D%/plan/refine.c                 \
    %D%/plan/respond.c                \
    %D%/plan/respond.h                \
    %D%/plan/schedule.c               \
    %D%/plan/schedule.h               \
    %D%/plan/varint.h

tamio_exec_sources =                  \
    %D%/exec/aggr.c                   \
    %D%/exec/aggr_read.c              \
    %D%/exec/aggr_recv.c              \
    %D%/exec/board.c                  \
    %D%/exec/board.h                  \
    %D%/exec/describe.c               \
    %D%/exec/describe.h               \
    %D%/exec/internal.h               \
    %D%/exec/lead.h                   \
    %D%/exec/leader.c                 \
    %D%/exec/leader_fly.c             \
    %D%/exec/leader_excuse.c          \
    %D%/exec/leader_follow.c          \
    %D%/exec/leader_window.c          \
    %D%/exec/member.c                 \
    %D%/exec/op.c                     \
    %D%/exec/op.h                     \
    %D%/exec/reduce.c                 \
    %D%/exec/round.c                  \
    %D%/exec/round.h                  \
    %D%/exec/round_io.c               \
    %D%/exec/rounds.h                 \
    %D%/exec/schedule.c               \
    %D%/exec/schedule.h               \
    %D%/exec/schedule_aggr.c          \
    %D%/exec/schedule_group.c         \
    %D%/exec/schedule_order.c         \
    %D%/exec/schedule_plan.c          \
    %D%/exec/scheduling.h             \
    %D%/exec/serve.h                  \
    %D%/exec/small.c                  \
    %D%/exec/small.h                  \
    %D%/exec/stats.c                  \
    %D%/exec/stats.h                  \
    %D%/exec/stream.c                 \
    %D%/exec/stream.h                 \
    %D%/exec/talk.c                   \
    %D%/exec/team.c                   \
    %D%/exec/team.h                   \
    %D%/exec/window.c                 \
    %D%/exec/window.h                 \
    %D%/exec/wire.h

tamio_port_sources =                  \
    %D%/port/alloc.c                  \
    %D%/port/alloc.h                  \
    %D%/port/comm.h                   \
    %D%/port/comm_common.h            \
    %D%/port/cores.c                  \
    %D%/port/cores.h                  \
    %D%/port/log.c                    \
    %D%/port/log.h                    \
    %D%/port/nodemem.c                \
    %D%/port/nodemem.h                \
    %D%/port/onesided.h               \
    %D%/port/ranges.c                 \
    %D%/port/ranges.h                 \
    %D%/port/store.c                  \
    %D%/port/store.h                  \
    %D%/port/store_open.c             \
    %D%/port/store_posix.c            \
    %D%/port/store_thread.c           \
    %D%/port/store_uring.c

tamio_tcio_sources =                  \
    %D%/tcio/deal.c                   \
    %D%/tcio/deal.h                   \
    %D%/tcio/file.c                   \
    %D%/tcio/files.c                  \
    %D%/tcio/inbox.c                  \
    %D%/tcio/level1.c                 \
    %D%/tcio/level1.h                 \
    %D%/tcio/place.h                  \
    %D%/tcio/read.c                   \
    %D%/tcio/report.c                 \
    %D%/tcio/report.h                 \
    %D%/tcio/slots.c                  \
    %D%/tcio/space.c                  \
    %D%/tcio/space.h                  \
    %D%/tcio/state.h                  \
    %D%/tcio/walk.c

## what needs MPI
tamio_mpi_sources =                   \
    %D%/port/comm_mpi.c               \
    %D%/port/comm_mpi.h               \
    %D%/port/names_mpi.h              \
    %D%/port/onesided_mpi.c           \
    %D%/port/onesided_mpi.h

## stand-ins for tests and simulation, which never go into ROMIO
tamio_fake_sources =                  \
    %D%/port/comm_loop.c              \
    %D%/port/comm_loop.h              \
    %D%/port/map.c                    \
    %D%/port/map.h                    \
    %D%/port/nodemem_loop.c           \
    %D%/port/onesided_loop.c          \
    %D%/port/onesided_loop.h          \
    %D%/port/store_faulty.c           \
    %D%/port/store_late.c             \
    %D%/port/store_memory.c           \
    %D%/port/store_throttled.c        \
    %D%/port/throttle.c               \
    %D%/port/throttle.h

tamio_engine_sources = $(tamio_plan_sources) $(tamio_exec_sources) $(tamio_port_sources) \
    $(tamio_tcio_sources)
