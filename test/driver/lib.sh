# shellcheck shell=bash
# What the tests of the driver share: running a program under an MPI, counting, comparing. Sourced.
#
# A side is an MPI to run under: ours, stock, or asan (stock with the ASan library in front).

declare -A mpi=()
passed=0
failed=0
skipped=0
only='*'
programs='info io_errors two_files file_after_file many_open delete data eof stats choices volume striped early threads nonblocking_order no_memory alternate profiling neighbour outstanding unviewed sync pool address crowded types calls small tcio_mix tcio_rules'
TIMEOUT=25

make_scratch() {
    scratch=$(mktemp -d) || exit 1
    disk_at=$scratch/disk
    trap 'leave_cluster; rm -rf "$scratch"' EXIT
}

compile_all() {
    local side name
    for side in ours stock; do
        mkdir -p "$scratch/$side"
        for name in $programs; do
            "${mpi[$side]}/bin/mpicc" -std=gnu11 -Wall -g -rdynamic -o "$scratch/$side/$name" "$here/$name.c" -ldl || die "cannot compile $name.c"
        done
        "${mpi[$side]}/bin/mpicc" -std=gnu11 -Wall -g -o "$scratch/$side/shared_pointer" \
            "$top/test/preload/shared_pointer.c" || die "cannot compile shared_pointer.c"
    done
    ln -s stock "$scratch/asan"
}

report() { # STATUS NAME
    case $1 in
    0) passed=$((passed + 1)); say "ok      $2" ;;
    77) skipped=$((skipped + 1)); say "skipped $2: $(tail -n 1 "$scratch/log")" ;;
    *) failed=$((failed + 1)); say "FAILED  $2 (exit $1)"; tail -n 20 "$scratch/log" | cut -c1-200 | sed 's/^/    | /' ;;
    esac
}

# Runs a command as a test; its output goes to the log.
test_case() { # NAME COMMAND...
    local name=$1 status=0
    shift
    # shellcheck disable=SC2254
    case $name in $only) ;; *) return 0 ;; esac
    rm -rf "$scratch/files"
    mkdir "$scratch/files"
    file=$scratch/files/file
    "$@" >"$scratch/log" 2>&1 || status=$?
    report $status "$name"
}

skip() { echo "$*"; return 77; }
need_root() { [ "$(id -u)" -eq 0 ] || skip "needs root"; }

# The launcher and its options for a number of ranks (4) or a layout of 3 nodes (3x1, 3x3, 3x3-cyclic).
launcher() { # SIDE LAYOUT
    case $2 in
    3x*) command_line=("$top/tools/vcluster" run --name "$cluster" -ppn "${2:2:1}" --mpi "${mpi[$1]}" --timeout "$TIMEOUT")
        [ "$2" != 3x3-cyclic ] || command_line+=(--cyclic)
        command_line+=(--) ;;
    *) command_line=(timeout -k 5 "$TIMEOUT" "${mpi[$1]}/bin/mpiexec")
        [ "$1" != asan ] || command_line+=("${asan_environment[@]}")
        command_line+=(-n "$2") ;;
    esac
}

# With disk_options set, disk_at ($scratch/disk) is a tmpfs of its own for each launch.
disk_options=
# shellcheck disable=SC2016 # expanded by the inner shell
on_disk=(unshare -m sh -c 'o=$1 d=$2; shift 2; mkdir -p "$d" && mount -t tmpfs -o "$o" tmpfs "$d" && exec "$@"' -)

# What starts the program on each rank, if it is not to be started directly.
in_front=()

# Runs a program; hints are lines "NAME VALUE". Exit code 124 means that it hung.
launch() { # SIDE LAYOUT HINTS PROGRAM ARGUMENTS...
    local side=$1 layout=$2 hints=$3 program=$4
    shift 4
    launcher "$side" "$layout"
    [ -z "$disk_options" ] || command_line=("${on_disk[@]}" "$disk_options" "$disk_at" "${command_line[@]}")
    printf '%s\n' "$hints" >"$scratch/hints"
    ROMIO_HINTS=$scratch/hints "${command_line[@]}" "${in_front[@]}" "$scratch/$side/$program" "$@"
}

# A cluster of 3 nodes that lives as long as the runner.
cluster=
enter_cluster() {
    need_root || return
    [ -z "$cluster" ] || return 0
    cluster=drv$$
    "$top/tools/vcluster" up -n 3 --name "$cluster" || { cluster=; return 1; }
}
leave_cluster() {
    [ -z "$cluster" ] || "$top/tools/vcluster" down --name "$cluster" >/dev/null 2>&1
    cluster=
}

# Fails unless two files are equal, and shows where not.
equal() { # EXPECTED GOT
    diff -u "$1" "$2"
}

# Fails unless a text has the line (a whole one, fixed).
has_line() { # FILE LINE
    grep -qxF -- "$2" "$1" || { echo "no line \"$2\" in:"; cat "$1"; return 1; }
}
