# shellcheck shell=bash
# What the layer holds of memory, shared memory, threads and address space, and when it cannot get it. Sourced by run.

enabled_here='romio_tam enable'

# Where functions lie in the library whose names match: from the first to the end of the last, "first-behind".
code_range() { # LIBRARY PATTERN
    local first last length
    nm -S --defined-only "$1" | sort | awk -v pattern="$2" '
        $3 ~ /[tT]/ && $4 ~ pattern && $4 !~ /[.]cold/ {
            first = first == "" ? $1 : first
            last = $1 " " $2
        }
        END { print first, last }' >"$scratch/range"
    read -r first last length <"$scratch/range" && printf '%s-%x ' "$first" $((16#$last + 16#$length))
}

# One rank has no memory, for each allocation in turn, below functions whose names match.
no_memory() { # LAYOUT HINTS BELOW RANK ARGUMENTS...
    local library=${mpi[ours]}/lib/libmpi.so layout=$1 hints=$2 below=$3
    shift 3
    case $layout in 3x3*) enter_cluster || return ;; esac
    # shellcheck disable=SC2016 # expanded on each rank
    in_front=(sh -c 'LD_PRELOAD=$TEST_NO_MEMORY exec "$@"' -)
    TEST_CODE="$(code_range "$library" '^cio_')$(code_range "$library" '^ADIOI_TAM_')" \
        TEST_BELOW="$(code_range "$library" "${below%% *}")$(code_range "$library" "${below##* }")" \
        TEST_ROMIO="$(code_range "$library" '^ADIOI_[MC]alloc_fn$')" TEST_NO_MEMORY=$scratch/no_memory.so \
        launch ours "$layout" "$enabled_here
$hints" no_memory "$file" "$@"
    local status=$?
    in_front=()
    return $status
}

alternate() { # IO
    launch ours 4 "$enabled_here
cb_pipeline_io $1" alternate "$file"
}

# shared memory of closed files, with a /dev/shm of its own if SIZE is given
pool() { # SIZE ARGUMENTS...
    if [ -n "$1" ]; then
        need_root || return
        disk_options=size=$1 disk_at=/dev/shm
    fi
    shift
    launch ours 4 "$enabled_here" pool "$file" "$@"
    local status=$?
    disk_options='' disk_at=$scratch/disk
    return $status
}

# Three files with so many KiB of address space for each rank.
address_space() { # KIB RANKS GROUPS PIECES TRANSPORT [HINTS]
    local status=0
    # shellcheck disable=SC2016 # expanded on each rank
    in_front=(sh -c 'ulimit -v "$1" && shift && exec "$@"' - "$1")
    launch ours "$2" "$enabled_here
romio_tam_aggrs_per_node $3
${6-}" address "$file" "$4" >"$scratch/o" 2>&1 || status=$?
    in_front=()
    [ $status -eq 0 ] && [ "$(grep -c "^transport: $5\$" "$scratch/o")" -eq 3 ] || { cat "$scratch/o"; return 1; }
}

# Ranks that wait look, or sleep at once, as they have cores to themselves or not.
crowding() { # RANKS SETS-OF-CPUS looks|sleeps
    [ "$(nproc)" -ge 2 ] || skip 'needs two cores' || return
    launch ours "$1" "$enabled_here
cb_nodes 1
romio_tam_aggrs_per_node 1" crowded "$file" "$2" "$3"
}

# What others want of a rank that waits in a call takes at most twice what it does where it waits in stock.
neighbour() { # RANKS write|read member|leader
    local side what a b try
    for try in 1 2 3; do
        for side in ours stock; do
            launch $side "$1" "$([ $side = stock ] || echo "$enabled_here")" neighbour "$file" "$2" "$3" >"$scratch/$side.n" || return 1
        done
        echo "try $try, ours and stock, microseconds:"
        paste "$scratch/ours.n" "$scratch/stock.n"
        for what in one-sided rendezvous; do
            a=$(awk -v w="$what:" '$1 == w { print $2 }' "$scratch/ours.n")
            b=$(awk -v w="$what:" '$1 == w { print $2 }' "$scratch/stock.n")
            [ "$a" -le $((2 * b)) ] || continue 2
        done
        return 0
    done
    return 1
}

test_resources() {
    local rank kind preparing='^ADIOI_TAM_Prepare$ ^ADIOI_TAM_Agree$' anything='^cio_ ^ADIOI_TAM_'
    cc -std=gnu11 -Wall -Werror -O2 -shared -fPIC -o "$scratch/no_memory.so" "$here/no_memory-preload.c" -ldl ||
        die "cannot compile no_memory-preload.c"
    TIMEOUT=300
    for rank in 0 3; do
        test_case "no_memory.info.$rank" no_memory 4 '' "$preparing" $rank info
        test_case "no_memory.call.$rank" no_memory 4 '' "$preparing" $rank call
        for kind in write read iwrite iread; do
            test_case "no_memory.$kind.$rank" no_memory 4 '' "$anything" $rank $kind
            [ "$rank" -gt 0 ] || test_case "no_memory.$kind.few" no_memory 4 'cb_nodes 2' "$anything" 0 $kind 3
        done
    done
    for kind in write iread; do
        test_case "no_memory.messages.$kind" no_memory 4 'romio_tam_transport p2p
cb_buffer_size 65536' "$anything" 1 $kind
        test_case "no_memory.nodes.$kind" no_memory 3x3-cyclic 'cb_schedule gw-mdf
romio_tam_stats '"$scratch/no_memory.stats" "$anything" 4 $kind
    done
    test_case alternate.thread alternate thread
    test_case alternate.auto alternate auto
    test_case address.shm address_space 1500000 32 1 300 shm
    test_case address.shm.windows address_space 700000 4 1 20000 shm 'romio_tam_memory_limit 67108864'
    test_case address.p2p address_space 400000 4 1 300 p2p 'romio_tam_transport p2p'
    test_case address.alone address_space 300000 4 99 300 none
    test_case crowded.unbound crowding 2 0-1 looks
    test_case crowded.core_each crowding 2 0,1 looks
    test_case crowded.one_core crowding 2 0 sleeps
    test_case crowded.more_ranks crowding 3 0-1 sleeps
    test_case neighbour.4.write.member neighbour 4 write member
    test_case neighbour.4.read.leader neighbour 4 read leader
    test_case neighbour.12.read.member neighbour 12 read member
    TIMEOUT=60
    test_case pool.idle pool '' idle
    test_case pool.finalize pool '' finalize
    test_case pool.small_shm pool 200m none 2000000
    test_case pool.short_shm pool 512m none 4000 500000000
    TIMEOUT=25
}
