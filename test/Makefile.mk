## Unit tests: `make check`. One program, one behaviour; folders mirror src/.

TESTS =
check_PROGRAMS = $(TESTS)
check_LIBRARIES = libtamio_test.a

## stand-ins for what the engine talks to, and what the tests of exec share
libtamio_test_a_SOURCES =             \
    $(tamio_fake_sources)             \
    test/exec/cases.c                 \
    test/exec/cases.h                 \
    test/exec/world.c                 \
    test/exec/world.h                 \
    test/plan/check.h                 \
    test/plan/instances.h             \
    test/plan/lists.h                 \
    test/port/batches.h               \
    test/tcio/ranks.c                 \
    test/tcio/ranks.h

LDADD = libtamio_test.a libtamio.a -lrt

TESTS +=                              \
    test/plan/test_aggr               \
    test/plan/test_bits               \
    test/plan/test_choose             \
    test/plan/test_code               \
    test/plan/test_copy               \
    test/plan/test_crowd              \
    test/plan/test_domain             \
    test/plan/test_extent             \
    test/plan/test_flat               \
    test/plan/test_hints              \
    test/plan/test_layout             \
    test/plan/test_merge              \
    test/plan/test_order              \
    test/plan/test_order_random       \
    test/plan/test_pattern            \
    test/plan/test_permutation        \
    test/plan/test_pipeline           \
    test/plan/test_schedule           \
    test/plan/test_workloads          \
    test/plan/fuzz_code               \
    test/port/test_comm_loop          \
    test/port/test_cores              \
    test/port/test_map                \
    test/port/test_nodemem            \
    test/port/test_store              \
    test/port/test_store_async        \
    test/port/test_store_errors       \
    test/port/test_store_faults       \
    test/port/test_store_large        \
    test/port/test_store_lock         \
    test/port/test_store_overlap      \
    test/port/test_store_shared       \
    test/port/test_store_thread       \
    test/port/test_store_uring_faults \
    test/port/test_throttle           \
    test/tcio/test_failures           \
    test/tcio/test_inbox              \
    test/tcio/test_level1             \
    test/tcio/test_oracle             \
    test/tcio/test_place              \
    test/tcio/test_visible            \
    test/exec/test_eof                \
    test/exec/test_excuse             \
    test/exec/test_faults             \
    test/exec/test_follow             \
    test/exec/test_large              \
    test/exec/test_leave              \
    test/exec/test_lost               \
    test/exec/test_limit              \
    test/exec/test_merge_through      \
    test/exec/test_malformed          \
    test/exec/test_random             \
    test/exec/test_reduce             \
    test/exec/test_rounds             \
    test/exec/test_schedule           \
    test/exec/test_small              \
    test/exec/test_stats              \
    test/exec/test_threads

## the workloads of bench/schedule
test_plan_test_workloads_SOURCES = test/plan/test_workloads.c bench/workloads.c bench/workloads.h bench/twister.c bench/twister.h
test_plan_test_workloads_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)
test_plan_test_workloads_LDADD = $(LDADD) -lm

## whose allocations and threads fail
test_port_test_store_faults_LDFLAGS = $(AM_LDFLAGS) \
    -Wl,--wrap=malloc -Wl,--wrap=calloc -Wl,--wrap=pthread_create

## not run by `make check`: benchmarks of the CPU work, and one that needs mpiexec
check_PROGRAMS += test/plan/bench_code test/plan/bench_merge test/exec/bench_engine
if HAVE_MPI
check_PROGRAMS += test/port/test_comm_mpi
endif
