# shellcheck shell=bash
# The pipeline: data in every combination of its hints, slow and failing file systems, who writes where, killed ranks. Sourced by run.

kinds='blocking thread uring'

compile_pipeline() {
    cc -std=gnu11 -Wall -Wextra -Werror -O2 -shared -fPIC -I"$top/src" "$top/bench/throttle-preload.c" "$top/src/port/throttle.c" \
        -o "$scratch/throttle.so" -ldl || die "cannot compile throttle-preload.c"
    cc -std=gnu11 -Wall -Wextra -Werror -O2 -I"$top/src" "$top/bench/throttle-show.c" "$top/src/port/throttle.c" -o "$scratch/throttle-show" ||
        die "cannot compile throttle-show.c"
}

# Runs a command with $scratch/files and $disk_at on a slow file system. Libraries that are preloaded anyhow stay.
throttled() { # SPEC COMMAND...
    local spec=$1 status=0
    shift
    rm -f "$scratch/throttle.state"
    # shellcheck disable=SC2016 # expanded on each rank
    in_front=(sh -c 'LD_PRELOAD="$TEST_THROTTLE${LD_PRELOAD:+:$LD_PRELOAD}" exec "$@"' -)
    TEST_THROTTLE=$scratch/throttle.so TAMIO_THROTTLE=$spec,state=$scratch/throttle.state TAMIO_THROTTLE_PREFIX=$scratch "$@" || status=$?
    in_front=()
    return $status
}

# transfers, bytes or switches so far
throttle_count() { # NAME
    "$scratch/throttle-show" "$scratch/throttle.state" 2>/dev/null | tr ' ' '\n' | grep -A1 -x "$1" | tail -n 1
}

pipeline_hints() { # IO UNIT DEPTH BUFFER
    printf 'romio_tam enable\ncb_pipeline enable\ncb_pipeline_io %s\ncb_pipeline_unit %s\ncb_pipeline_depth %s\ncb_buffer_size %s\n' "$@"
}

# ---- data ----

test_pipeline_data() {
    local layout io unit depth buffer
    while read -r layout io unit depth buffer <&3; do
        next_part
        test_case "pipeline.data.$layout.$io.$unit.$depth.$buffer" compare_data "$layout" "$(pipeline_hints "$io" "$unit" "$depth" "$buffer")"
    done 3<<'END'
4 blocking stripe auto 16384
4 blocking 4096 3 65536
4 thread stripe auto 16384
4 thread 4096 auto 65536
4 thread 8192 2 1048576
4 uring 4096 auto 65536
4 uring stripe 64 1048576
7 thread 4096 5 262144
7 uring 12288 auto 100000
3x3 blocking 4096 auto 65536
3x3 thread 4096 auto 65536
3x3 thread stripe 1 65536
3x3 uring 4096 7 1048576
3x3-cyclic thread 4096 auto 131072
END
}

# Every rank is a group of its own, and the engine serves the calls all the same.
without_merging() {
    rm -f "$scratch/stats"
    compare_data 4 "romio_tam disable
cb_pipeline enable
cb_buffer_size 65536
romio_tam_stats $scratch/stats" && grep -q '"leaders": 4,.*"chosen": "tam"' "$scratch/stats"
}

# Of each call: rounds at once, rounds, messages, file accesses and their bytes.
work_of() { # HINTS
    rm -f "$scratch/stats"
    launch ours 4 "$1
romio_tam_stats $scratch/stats" striped "$file" "${blocks[@]}" romio_tam=enable cb_buffer_size=262144 >"$scratch/o" || { cat "$scratch/o"; return 1; }
    sed 's/.*"call": "\([a-z]*\)".*"sum": {.*"messages": \([0-9]*\),.*"rounds": \([0-9]*\),.*"file_calls": \([0-9]*\),.*"file_bytes": \([0-9]*\),.*"max": {.*"depth": \([0-9]*\),.*/\1 depth \6 rounds \3 messages \2 files \4 \5/' \
        "$scratch/stats"
}

depth_one_is_no_pipeline() {
    work_of 'cb_pipeline disable' >"$scratch/off" && work_of 'cb_pipeline_depth 1' >"$scratch/one" && work_of '' >"$scratch/on" || return
    cat "$scratch/off" "$scratch/on"
    equal "$scratch/off" "$scratch/one" && [ "$(grep -c ' depth 1 ' "$scratch/off")" -eq 2 ] && ! grep -q ' depth 1 ' "$scratch/on"
}

# ---- slow and full ----

slow_file() { # IO
    throttled osts=4,stripe=64K,bandwidth=4M,latency=1ms launch ours 4 '' striped "$file" "${blocks[@]}" romio_tam=enable \
        cb_pipeline_io="$1" cb_buffer_size=524288 striping_unit=65536 striping_factor=4 || return
    [ "$1" = uring ] || [ "$(throttle_count bytes)" -ge 5000000 ] || { echo "it was not slow"; return 1; }
}

# In the middle of the file, with other rounds under way.
full_file() { # IO
    need_root || return
    disk_options=size=1m
    classes_of ours "$(pipeline_hints "$1" 65536 auto 524288)" io_errors "$scratch/disk/file" w 512
    disk_options=
    has_line "$scratch/ours.classes" 'write_all: NO_SPACE NO_SPACE NO_SPACE NO_SPACE' &&
        has_line "$scratch/ours.classes" 'close: ok ok ok ok' && has_line "$scratch/ours.classes" 'exit 0'
}

full_and_slow_file() { # IO
    throttled osts=2,stripe=64K,bandwidth=4M,latency=1ms full_file "$1"
}

# ---- progressive layouts ----

five_pipelined() { # IO DEPTH
    five_components | found "$five_text" cb_pipeline_io="$1" cb_pipeline_depth="$2" cb_buffer_size=2097152 || return
    [ "$1" = uring ] || info_is tamio_pipeline_io "$1" || return
    info_is tamio_pipeline_depth "$2"
}

# ---- who writes where ----

# How often a stripe of 64 KiB changes hands between the ranks, all of which aggregate.
switches_of() { # SIDE HINT...
    local side=$1
    shift
    rm -f "$file"
    throttled osts=4,stripe=64K launch "$side" 4 '' striped "$file" "${blocks[@]}" cb_config_list='*:*' cb_nodes=4 \
        "$@" >"$scratch/o" 2>&1 || { cat "$scratch/o" >&2; return 1; }
    throttle_count switches
}

# Domains that are not aligned must show that they are counted.
no_lock_conflicts() {
    local stock plain even domain n striping=(striping_unit=65536 striping_factor=4)
    stock=$(switches_of stock romio_cb_write=enable "${striping[@]}") &&
        plain=$(switches_of stock romio_cb_write=enable) &&
        even=$(switches_of ours romio_tam=enable cb_pipeline_io=thread cb_domain=even "${striping[@]}") || return
    echo "stripes that changed hands: stock $stock, without striping_unit $plain, ours with cb_domain=even $even"
    [ "$even" -gt 0 ] || return
    for domain in aligned cyclic; do
        for n in blocking thread; do
            n=$(switches_of ours romio_tam=enable cb_pipeline_io=$n cb_domain=$domain cb_buffer_size=1048576 "${striping[@]}") || return
            echo "cb_domain=$domain: $n"
            [ "$n" -eq 0 ] || return
        done
    done
    echo "stripes that changed hands between writers: stock $stock (without striping_unit $plain), ours 0 (cb_domain=even $even)" >"$scratch/switches"
}

# ---- killed ranks ----

# The process of a rank of the program that runs here.
process_of() { # RANK PROGRAM
    local pid
    for pid in $(pgrep -f "^$scratch/ours/$2 "); do
        ! grep -qszx "PMI_RANK=$1" "/proc/$pid/environ" || echo "$pid"
    done
}

wait_for_transfers() {
    local i n
    for ((i = 0; i < 150; i++)); do
        n=$(throttle_count transfers)
        [ "${n:-0}" -lt 2 ] || return 0
        sleep 0.1
    done
    echo "it never began to write"
    return 1
}

# In a mount namespace of its own, so that /dev/shm is this job's alone. The call would take a minute.
kill_in_mid_call() { # RANK
    local job pid ended status=0
    mount -t tmpfs tmpfs /dev/shm || return
    TIMEOUT=40 throttled osts=1,bandwidth=256K launch ours 4 'romio_tam enable
cb_buffer_size 1048576' io_errors "$file" w 4096 &
    job=$!
    sleep 0.2
    wait_for_transfers || { wait $job; return 1; }
    pid=$(process_of "$1" io_errors)
    [ -n "$pid" ] && grep -q '/dev/shm/tamio-' "/proc/$pid/maps" || { echo "rank $1 ($pid) shares no memory"; status=1; }
    kill -9 "$pid" || status=1
    wait $job
    ended=$?
    case $ended in
    0 | 124 | 137) echo "mpiexec ended with $ended (124 or 137: it hung)"; status=1 ;;
    esac
    [ -z "$(ls -A /dev/shm)" ] || { ls -A /dev/shm; echo "is left in /dev/shm"; status=1; }
    [ -z "$(pgrep -f "^$scratch/ours/io_errors ")" ] || { echo "ranks are left"; status=1; }
    return $status
}

killed() { # RANK
    need_root || return
    export -f launch launcher throttled throttle_count kill_in_mid_call process_of wait_for_transfers
    unshare -m bash -c "$(declare -p mpi scratch top file disk_options disk_at in_front command_line 2>/dev/null); kill_in_mid_call $1"
}

test_pipeline() {
    local io rank depth
    compile_pipeline
    TIMEOUT=120
    test_pipeline_data
    TIMEOUT=60
    next_part
    test_case pipeline.without_merging without_merging
    test_case pipeline.depth_one depth_one_is_no_pipeline
    for io in $kinds; do
        test_case "pipeline.slow.$io" slow_file "$io"
        test_case "pipeline.full.$io" full_file "$io"
        test_case "pipeline.full_and_slow.$io" full_and_slow_file "$io"
        for depth in 1 2 5; do
            test_case "pipeline.five_components.$io.$depth" five_pipelined "$io" $depth
        done
    done
    test_case pipeline.lock_conflicts no_lock_conflicts
    [ ! -e "$scratch/switches" ] || say "        $(cat "$scratch/switches")"
    for rank in 0 1 3; do
        test_case "pipeline.killed.$rank" killed $rank
    done
}
