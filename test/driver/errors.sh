# shellcheck shell=bash
# Tests of bad input: our error classes are stock's, on every rank, and nothing hangs. Sourced by run.

modes='default enable disable'
mode_hints() { [ "$1" = default ] || echo "romio_tam $1"; }

# What a program printed of error classes, and how it ended, in a file of the side.
classes_of() { # SIDE HINTS PROGRAM ARGUMENTS...
    local side=$1 status=0
    shift
    rm -f "$file"
    launch "$side" 4 "$@" >"$scratch/$side.out" 2>"$scratch/$side.err" || status=$?
    { grep -E '^(MPI_Info_set )?[a-z_0-9 ]+: ' "$scratch/$side.out"; echo "exit $status"; } >"$scratch/$side.classes"
}

# Two sides give the same classes. Where stock hangs or dies too, nothing can be asked of ours.
same_as_stock() { # HINTS-OF-OURS HINTS-OF-STOCK PROGRAM ARGUMENTS...
    local ours=$1 theirs=$2
    shift 2
    classes_of stock "$theirs" "$@"
    classes_of ours "$ours" "$@"
    if equal "$scratch/stock.classes" "$scratch/ours.classes"; then
        has_line "$scratch/ours.classes" 'exit 0' || skip "stock fails in the same way: $(tail -n 1 "$scratch/stock.classes")"
        return
    fi
    tail -n 5 "$scratch/ours.err"
    return 1
}

one_hint() { # WHEN RANK NAME VALUE
    same_as_stock '' '' info "$file" "$1:$2:$3=$4"
}

nonsense_in_file() { # NAME VALUE
    same_as_stock "$1 $2" "$1 $2" io_errors "$file" w 16
}

long_text() { printf '%*s' 10000 '' | tr ' ' 9; }

# All ranks then use rank 0's. ROMIO drops the error of set_view, of its own hints too.
our_hint_differs() { # WHEN CALL CLASS
    classes_of ours '' info "$file" "$1:2:romio_tam_aggrs_per_node=2"
    has_line "$scratch/ours.classes" "$2: $3 $3 $3 $3" &&
        has_line "$scratch/ours.classes" 'as rank 0: yes yes yes yes' && has_line "$scratch/ours.classes" 'exit 0'
}

# A file that cannot be opened or written, in each mode.
impossible() { # MODE DISK-OPTIONS PROGRAM-ARGUMENTS...
    local hints
    hints=$(mode_hints "$1")
    disk_options=$2
    shift 2
    [ -z "$disk_options" ] || need_root || return
    same_as_stock "$hints" '' io_errors "$@"
}

# Stock tells of a full disk on the aggregators only; the engine on all ranks.
full_disk_known_to_all() { # MODE
    disk_options=size=1m
    need_root || return
    classes_of ours "$(mode_hints "$1")" io_errors "$scratch/disk/file" w 512
    has_line "$scratch/ours.classes" 'write_all: NO_SPACE NO_SPACE NO_SPACE NO_SPACE' &&
        has_line "$scratch/ours.classes" 'close: ok ok ok ok' && has_line "$scratch/ours.classes" 'exit 0'
}

# Every rank gets the error of a write once, also if it had returned before it was known, as some had.
late_error() { # TRANSPORT GROUPS WHAT-FOLLOWS
    disk_options=size=1m
    need_root || return
    launch ours 4 "romio_tam enable
cb_buffer_size 65536
romio_tam_transport $1
romio_tam_aggrs_per_node $2" early "$scratch/disk/file" "$3" 512 >"$scratch/o" || { cat "$scratch/o"; return 1; }
    grep -q '^write_all: .*ok' "$scratch/o" || { cat "$scratch/o"; return 1; }
}

# An errno of the file system that the engine has a meaning for: it is an error all the same, for all.
cancelled() { # GROUPS KIND WHAT-FOLLOWS
    # shellcheck disable=SC2016 # expanded on each rank
    in_front=(sh -c 'LD_PRELOAD=$TEST_CANCEL exec "$@"' -)
    TEST_CANCEL=$scratch/cancel.so TEST_CANCELLED=$2 launch ours 4 "romio_tam enable
cb_buffer_size 65536
cb_pipeline_io blocking
romio_tam_aggrs_per_node $1" early "$file" "$3" 512
    local status=$?
    in_front=()
    return $status
}

# Data is right whatever follows a call from which ranks return early.
early_return() { # TRANSPORT GROUPS [HINTS [BYTES-OF-A-PIECE]]
    launch ours 7 "romio_tam enable
cb_buffer_size 65536
romio_tam_transport $1
romio_tam_aggrs_per_node $2
${3-}" early "$file" "${4-1000}"
}

# The same with requests that are too large for one window, of some ranks only; told of in a second run.
early_return_in_windows() { # TRANSPORT GROUPS
    local limit='romio_tam_memory_limit 1048576'
    rm -f "$scratch/stats"
    early_return "$1" "$2" "$limit" 40000 && early_return "$1" "$2" "$limit
romio_tam_stats $scratch/stats" 40000 || return
    grep -qE '"max": \{.*"windows": ([2-9]|[1-9][0-9])' "$scratch/stats" || { echo 'there is no second window'; cat "$scratch/stats"; return 1; }
}

# The same with statistics, for which ranks meet in the next call: several return early from every call, and before the
# last one does.
early_return_told() { # TRANSPORT GROUPS
    rm -f "$scratch/stats"
    early_return "$1" "$2" "romio_tam_stats $scratch/stats" || return
    sed -n 's/.*"sum": {.*"early_ranks": \([0-9]*\).*"max": {"bytes.*/\1/p' "$scratch/stats" >"$scratch/early"
    sed -n 's/.*"response": {"min": \([0-9.]*\), "mean": \([0-9.]*\), "max": \([0-9.]*\)}.*/\1 \2 \3/p' "$scratch/stats" >"$scratch/response"
    [ -s "$scratch/early" ] && ! grep -qx '[012]' "$scratch/early" &&
        awk '!($1 > 0 && $1 < $2 && $2 < $3) { bad = 1 } END { exit bad || !NR }' "$scratch/response" ||
        { cat "$scratch/stats"; return 1; }
}

test_early() {
    local transport groups what
    TIMEOUT=60
    for transport in shm p2p; do
        for groups in 1 2 7; do
            test_case "early.$transport.$groups" early_return $transport $groups
            test_case "early.$transport.$groups.told" early_return_told $transport $groups
            test_case "early.$transport.$groups.windows" early_return_in_windows $transport $groups
            for what in sync close read view resize atomic info alone iread; do
                test_case "error.late.$transport.$groups.$what" late_error $transport $groups $what
            done
            disk_options=
        done
    done
    cc -std=gnu11 -Wall -Werror -shared -fPIC -o "$scratch/cancel.so" "$here/cancel-preload.c" -ldl || die "cannot compile cancel-preload.c"
    for groups in 1 7; do
        test_case "error.late.cancelled.$groups" cancelled $groups write close
        test_case "error.late.cancelled.$groups.read" cancelled $groups read failing-read
    done
    TIMEOUT=25
}

test_nonsense() {
    local name value
    for name in cb_buffer_size cb_nodes $(cut -d= -f1 "$here/hints.expected"); do
        for value in '' -5 1180591620717411303424 "$(long_text)"; do
            test_case "bad.info.$name=${value:0:12}" one_hint open '*' "$name" "$value"
            test_case "bad.file.$name=${value:0:12}" nonsense_in_file "$name" "$value"
        done
    done
}

# ROMIO's own hint, with another value on one rank than on the others.
romio_hint_differs() { # WHEN NAME VALUE OTHER
    same_as_stock '' '' info "$file" "$1:0:$2=$3" "$1:1:$2=$4" "$1:2:$2=$3" "$1:3:$2=$3"
}

# Stock waits for ever where only some ranks give a hint of its own.
romio_hint_on_one_rank() {
    TIMEOUT=10 one_hint info 1 cb_buffer_size 8192
}

# Opening costs no communication: the ranks find out, and take rank 0's, at the next collective call.
our_hint_on_one_rank() {
    classes_of ours '' info "$file" open:3:romio_tam_aggrs_per_node=2 'view:*:romio_tam_transport=auto'
    has_line "$scratch/ours.classes" 'open: ok ok ok ok' &&
        has_line "$scratch/ours.classes" 'as rank 0: yes yes yes yes' && has_line "$scratch/ours.classes" 'exit 0'
}

test_differing() {
    local when
    test_case differ.view our_hint_differs view set_view ok
    test_case differ.info our_hint_differs info set_info NOT_SAME
    for when in open view info; do
        test_case "differ.$when.cb_buffer_size" romio_hint_differs $when cb_buffer_size 65536 8192
        test_case "differ.$when.romio_cb_write" romio_hint_differs $when romio_cb_write enable disable
    done
    test_case differ.open.ours_on_one_rank our_hint_on_one_rank
    test_case differ.info.romio_on_one_rank romio_hint_on_one_rank
}

test_impossible() {
    local mode
    for mode in $modes; do
        test_case "error.missing_file.$mode" impossible "$mode" '' "$scratch/files/none" r
        test_case "error.missing_folder.$mode" impossible "$mode" '' "$scratch/files/none/file" w
        test_case "error.empty_name.$mode" impossible "$mode" '' '' w
        test_case "error.read_only.$mode" impossible "$mode" ro "$scratch/disk/file" w
        disk_options=
    done
    # by default so few ranks on a node are left to stock
    for mode in default disable; do
        test_case "error.full_disk.$mode" impossible "$mode" size=1m "$scratch/disk/file" w 512
    done
    test_case error.full_disk.enable full_disk_known_to_all enable
    disk_options=
}

test_errors() {
    test_nonsense
    test_differing
    test_impossible
    test_early
}
