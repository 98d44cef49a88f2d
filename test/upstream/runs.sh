# shellcheck shell=bash disable=SC2034,SC2154
# Running programs: a pool of jobs with a progress line, one run and its outcome. Sourced by `run`.
#
# A side is what a program runs under: an MPI, with or without hints and a preloaded library. For
# each side and program, $results/SIDE/PROGRAM.* holds:
#   kind      pass, fail, hang, signal-N, nobuild (does not compile), nomem (too little memory)
#   traces    a digest of the files left behind and of the kinds of lines printed, one line for each run
#   log       what the last run printed
#   stats     tamio's statistics, one line for each collective call, if there were any

declare -A mpicc=() mpiexec=() identity=()         # by MPI
declare -A side_mpi=() side_hints=() side_preload=() # by side

pool_jobs=()
pool_running=()
marker=TAMIO_UPSTREAM=$$.$RANDOM/

# Sets an MPI's commands. WHERE is a prefix, or two commands: MPICC:MPIEXEC.
define_mpi() { # MPI WHERE
    case $2 in
    *:*) mpicc[$1]=${2%%:*} mpiexec[$1]=${2#*:} ;;
    *) mpicc[$1]=$(realpath -m "$2")/bin/mpicc mpiexec[$1]=$(realpath -m "$2")/bin/mpiexec ;;
    esac
    command -v "${mpicc[$1]}" >/dev/null || die "no ${mpicc[$1]} (the MPI called $1)"
    command -v "${mpiexec[$1]}" >/dev/null || die "no ${mpiexec[$1]} (the MPI called $1)"
    identity[$1]=$(mpi_identity "${mpicc[$1]}")
}

# What a compiled program, and a result of stock MPICH, depend on.
mpi_identity() { # MPICC
    local show word
    show=$("$1" -show) || die "$1 -show does not work"
    printf '%s' "$(realpath "$(command -v "$1")") $show "
    for word in $show; do
        case $word in
        -L*) find "${word#-L}" -maxdepth 1 -name 'libmpi*' -type f -printf '%p %T@ ' | tr ' ' '\n' | LC_ALL=C sort | tr '\n' ' ' ;;
        esac
    done | sha256sum
}

show_pool() { # LABEL DONE TOTAL START DONE_WEIGHT TOTAL_WEIGHT
    local elapsed=$((SECONDS - $4)) left
    left=$((($6 - $5) / 1000 / jobs))
    [ "$5" -lt 2000 ] || [ "$elapsed" -lt 2 ] || left=$((elapsed * ($6 - $5) / $5))
    if [ -t 1 ]; then
        printf '\r%s: %d of %d, about %d s left%10s' "$1" "$2" "$3" "$left" ''
    elif [ "$SECONDS" -ge "$next_report" ]; then
        say "$1: $2 of $3, about $left s left"
        next_report=$((SECONDS + 20))
    fi
}

pool_add() { # ALONE WEIGHT(ms) FUNCTION ARGUMENTS...
    pool_jobs+=("$*")
}

# Waits until no more than COUNT jobs run.
pool_wait() { # COUNT
    local ended
    while [ ${#pool_running[@]} -gt "$1" ]; do
        wait -n -p ended "${!pool_running[@]}"
        [ -n "${ended-}" ] || { pool_running=(); return; }
        ended_weight=$((ended_weight + pool_running[ended]))
        ended_jobs=$((ended_jobs + 1))
        unset "pool_running[$ended]"
    done
}

# Runs the jobs that were added: those to run alone come last.
pool_run() { # LABEL
    local label=$1 total=0 start=$SECONDS ended_weight=0 ended_jobs=0 next_report=$((SECONDS + 20)) job words
    [ ${#pool_jobs[@]} -gt 0 ] || return 0
    for job in "${pool_jobs[@]}"; do
        read -r -a words <<<"$job"
        total=$((total + words[1]))
    done
    while read -r -a words; do
        pool_wait $((words[0] ? 0 : jobs - 1))
        show_pool "$label" "$ended_jobs" "${#pool_jobs[@]}" "$start" "$ended_weight" "$total"
        set -m
        "${words[@]:2}" </dev/null 9>&- &
        pool_running[$!]=${words[1]}
        set +m
        [ "${words[0]}" -eq 0 ] || pool_wait 0
    done < <(printf '%s\n' "${pool_jobs[@]}" | sort -s -n -k1,1)
    pool_wait 0
    pool_jobs=()
    if [ -t 1 ]; then printf '\r%s: done in %d s%40s\n' "$label" $((SECONDS - start)) ''; fi
}

# Ends the processes whose environment has a mark of ours, which ends in a slash.
end_marked() { # MARK
    local f pid
    for f in /proc/[0-9]*/environ; do
        grep -qzF "$1" "$f" 2>/dev/null || continue
        pid=${f#/proc/}
        kill -KILL "${pid%/environ}" 2>/dev/null
    done
}

# Whatever ends the tool: no process and no file of a test remains.
clean_up() {
    local pid
    end_child
    for pid in "${!pool_running[@]}"; do
        kill -TERM -- "-$pid" 2>/dev/null
    done
    [ ${#pool_running[@]} -eq 0 ] || { sleep 0.5; end_marked "$marker"; }
    [ -z "${scratch-}" ] || rm -rf "$scratch"
}

# Sets `scratch`, on tmpfs if there is one, and removes those of tools that were killed.
make_scratch() {
    local base=/dev/shm dir pid
    [ -d "$base" ] && [ -w "$base" ] || base=${TMPDIR:-/tmp}
    for dir in "$base"/tamio-upstream.*; do
        pid=${dir#*tamio-upstream.}
        [ ! -d "$dir" ] || [ -d "/proc/${pid%%.*}" ] || rm -rf "$dir"
    done
    scratch=$(mktemp -d "$base/tamio-upstream.$$.XXXXXX") || die "cannot create a folder in $base"
}

# The hints of one run. The statistics tell whether a collective call went through our engine.
write_hints() { # GIGABYTES STATISTICS
    awk -v factor=$(($1 > 0 ? 64 : 1)) '$1 == "cb_buffer_size" || $1 == "cb_pipeline_unit" { $2 *= factor } { print }' "$hints"
    printf 'romio_tam_stats %s\n' "$2"
}

# As upstream's runtests judges: exit status 0 and "No Errors", in test/mpi as the only line.
outcome() { # ID EXIT_STATUS LOG SECONDS
    local signal
    signal=$(sed -n 's/.*signal \([0-9][0-9]*\).*/\1/p' "$3" | head -n 1)
    [ "$2" -eq 0 ] || [ "$4" -lt "${limits[$1]}" ] || { echo hang; return; }
    case $2:$signal in
    0:*) if printed_success "$1" "$3"; then echo pass; else echo fail; fi ;;
    *:4 | *:6 | *:7 | *:8 | *:11) echo "signal-$signal" ;;
    *) echo fail ;;
    esac
}

printed_success() { # ID LOG
    if [ "${expects[$1]}" = alone ]; then
        [ "$(grep -vc '^[[:space:]]*Test Passed[[:space:]]*$' "$2")" -eq 1 ] && grep -q '^[[:space:]]*No [Ee]rrors[[:space:]]*$' "$2"
    else
        grep -qE "${expects[$1]}" "$2"
    fi
}

# Digests that show a difference which a program itself does not see: the files in the current
# folder, and what was printed, apart from numbers and order.
traces() { # LOG
    local files output
    files=$(find . -type f -print0 | LC_ALL=C sort -z | xargs -0r cksum | cksum | tr ' ' -)
    output=$(sed -E 's/[-+]?[0-9]+(\.[0-9]+)?/N/g' "$1" | LC_ALL=C sort -u | cksum | tr ' ' -)
    printf '%s %s\n' "$files" "$output"
}

# Runs a program in the current folder, with hints and statistics beside it.
# MALLOC_PERTURB_ makes what programs write from uninitialised memory the same in every run.
launch() { # SIDE ID MARK
    local side=$1 id=$2 mpi=${side_mpi[$1]} mine=() args env
    read -r -a args <<<"${arguments[$id]}"
    read -r -a env <<<"${environment[$id]}"
    if [ -n "${side_hints[$side]}" ]; then
        write_hints "${gigabytes[$id]}" "$PWD.stats" >"$PWD.hints"
        mine+=("ROMIO_HINTS=$PWD.hints")
    fi
    [ -z "${side_preload[$side]}" ] || mine+=("LD_PRELOAD=${side_preload[$side]}")
    env -u ROMIO_HINTS "$3" MALLOC_PERTURB_=85 timeout --foreground -k 5 "${limits[$id]}" \
        "${mpiexec[$mpi]}" -n "${nranks[$id]}" env "${mine[@]}" "${env[@]}" \
        "$work/build/$mpi/${id//\//_}" "${args[@]}" </dev/null
}

# Enough memory for programs that upstream (or we) know to need gigabytes?
memory_suffices() { # GIGABYTES
    [ "$1" -eq 0 ] || [ "$(awk '/^MemAvailable/ { print int($2 / 1048576) }' /proc/meminfo)" -gt "$1" ]
}

run_program() { # SIDE ID
    local side=$1 id=$2 file=$results/$1/${2//\//_} start=${EPOCHREALTIME/./} kind status=0 mark dir
    mark=$marker${file##*/}/$side/
    dir=$(mktemp -d "$scratch/run.XXXXXX") && cd "$dir" || exit 1
    if [ ! -x "$work/build/${side_mpi[$side]}/${id//\//_}" ]; then
        kind=nobuild
        cp "$work/build/${side_mpi[$side]}/${id//\//_}.log" "$file.log"
    elif ! memory_suffices "${gigabytes[$id]}"; then
        kind=nomem
        : >"$file.log"
    else
        launch "$side" "$id" "$mark" >"$file.log" 2>&1 || status=$?
        [ $status -eq 0 ] || end_marked "$mark"
        kind=$(outcome "$id" $status "$file.log" $(((${EPOCHREALTIME/./} - start) / 1000000)))
        traces "$file.log" >>"$file.traces"
    fi
    [ ! -s "$dir.stats" ] || cp "$dir.stats" "$file.stats"
    cd / && rm -rf "$dir" "$dir.stats" "$dir.hints"
    echo $(((${EPOCHREALTIME/./} - start) / 1000)) >"$work/times/${file##*/}"
    printf '%s\n' "$kind" >"$file.kind"
}

# Adds a run to the pool, with the time that it took before; it runs alone if memory is scarce.
add_run() { # SIDE ID
    local file=$work/times/${2//\//_} weight alone=1
    weight=$(cat "$file" 2>/dev/null || echo $((500 + gigabytes[$2] * 3000)))
    ! memory_suffices $((gigabytes[$2] * jobs)) || alone=0
    pool_add $alone "$weight" run_program "$1" "$2"
}
