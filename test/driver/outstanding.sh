# shellcheck shell=bash
# Several operations under way on one file, and one at a time that fails on one rank. Sourced by run.

# name, hints (in lines), what a run of outstanding.c has under it
outstanding_hints() { # NAME
    case $1 in
    default) ;;
    enable) printf 'romio_tam enable\ncb_buffer_size 65536\n' ;;
    striped) printf 'romio_tam enable\nstriping_unit 4096\nstriping_factor 3\n' ;;
    messages) printf 'romio_tam enable\ncb_buffer_size 65536\nromio_tam_transport p2p\nromio_tam_aggrs_per_node 2\n' ;;
    order) printf 'romio_tam enable\ncb_buffer_size 65536\ncb_schedule lw-mdf\n' ;;
    uring) printf 'romio_tam enable\ncb_buffer_size 65536\ncb_pipeline_io uring\nromio_ds_write enable\n' ;;
    blocking) printf 'romio_tam enable\ncb_pipeline_io blocking\nromio_ds_write enable\n' ;;
    esac
}

outstanding() { # LAYOUT HINTS KIND HANDLES BYTES TIMES
    case $1 in 3x*) enter_cluster || return ;; esac
    launch ours "$1" "$(outstanding_hints "$2")" outstanding "$file" "$3" "$4" "$5" "$6" "$((turn + 1))"
}

unviewed() { # HINTS KIND TIMES
    launch ours 4 "$1" unviewed "$file" "$2" "$3"
}

# The error reaches all ranks, and only once.
failing_sync() { # HINTS RANK
    # shellcheck disable=SC2016 # expanded on each rank
    in_front=(sh -c 'LD_PRELOAD=$TEST_FSYNC_LIBRARY exec "$@"' -)
    TEST_FSYNC=$2 TEST_FSYNC_LIBRARY=$scratch/fsync.so launch ours 4 "$1" sync "$file" >"$scratch/o"
    local status=$?
    in_front=()
    [ $status -eq 0 ] && has_line "$scratch/o" 'sync: IO IO IO IO' && has_line "$scratch/o" 'again: ok ok ok ok'
}

# 200 times each with --full; by default so many that all of it takes two minutes.
test_outstanding() {
    local hints kind handles bytes times=8
    [ -z "$full" ] || times=200
    TIMEOUT=$((60 + 2 * times))
    for hints in default enable striped messages order uring blocking; do
        for kind in ii iii iw ir is ic in order lone wc; do
            for handles in one two parts self; do
                turn=$((turn + 1))
                for bytes in 9 700; do # all in one round, or in many
                    [ -n "$full" ] || [ $(((turn + turn / 4) % 2)) -eq $((bytes / 700)) ] || continue
                    test_case "outstanding.$hints.$kind.$handles.$bytes" \
                        outstanding 4 $hints $kind $handles $bytes $times
                done
            done
        done
    done
    for kind in ii iw is order; do
        test_case "outstanding.3x3.$kind" outstanding 3x3-cyclic enable $kind one 100 $times
    done
    for handles in one two parts self; do # ranks return early
        test_case "outstanding.early.$handles" outstanding 7 order wc $handles 2000 $times
    done
    for kind in ii iii iw ir order; do # a rank on each node: nobody waits for a call of the driver below
        for handles in one two parts self; do
            test_case "outstanding.3x1.$kind.$handles" outstanding 3x1 default $kind $handles 100 $times
        done
    done
    for kind in ii iw ir; do
        test_case "outstanding.unviewed.$kind" unviewed '' $kind $times
        test_case "outstanding.unviewed.$kind.enable" unviewed 'romio_tam enable' $kind $times
    done
    cc -std=gnu11 -Wall -Werror -shared -fPIC -o "$scratch/fsync.so" "$here/fsync-preload.c" || die "cannot compile fsync-preload.c"
    TIMEOUT=25
    for hints in '' 'romio_tam enable' 'romio_tam disable'; do
        test_case "error.sync.${hints#romio_tam }" failing_sync "$hints" 2
    done
}
