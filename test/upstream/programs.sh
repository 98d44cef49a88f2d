# shellcheck shell=bash disable=SC2034,SC2154
# Upstream's programs: their source, how upstream runs each, and their compilation. Sourced by `run`.
#
# A program is named by its suite: io/NAME and errors/io/NAME are of MPICH's test/mpi, romio/NAME of
# ROMIO's own tests. `ids` lists them in upstream's order; the tables below are indexed by that name.
# One program is ours and not in `ids`: probe, which prints the hints in effect.

ids=()
declare -A nranks=() arguments=() environment=() expects=() limits=() gigabytes=()

# ROMIO programs that its runtests does not run: NAME RANKS GIGABYTES ARGUMENTS, and what they print
# when all is well, since some do not say "No Errors".
romio_extras() {
    cat <<'END'
perf|4|0|-fname testfile|Read bandwidth after file sync
coll_perf|4|0|-fname testfile|ollective read bandwidth
external32|4|0||external32 datarep is BIG ENDIAN
creat_excl|4|0|-fname testfile|No Errors
big_extents|4|0|testfile|No Errors
large_array|4|10|-fname testfile|data read back is correct
large_file|1|5|-fname testfile|Data read back is correct
END
}

# Programs whose files are no two times the same: ranks take turns at a shared file pointer by chance.
left_by_chance() { # ID
    [ "$1" = romio/shared_fp ]
}

# Sets `work` (our folder in the cache) and `tree` (a source tree with at least the two test suites).
find_sources() { # GIVEN
    local origin=$1 name
    [ -n "$origin" ] || origin=$(debian_tarball) || exit 1
    origin=$(realpath -e "$origin" 2>/dev/null) || die "--src $1: no such file or folder"
    if [ -d "$origin" ]; then
        name=$(tree_version "$origin")
    else
        name=$(basename "$origin" | sed -n 's/^mpich[-_]\([0-9][^-_]*\)\.tar\..*/\1/p')
        name=${name%.orig}
    fi
    [ -n "$name" ] || die "$origin is not an MPICH source tree or tarball"
    [ -z "$1" ] || name=$name-$(printf '%s' "$origin" | sha256sum | cut -c1-8)
    work=$TAMIO_CACHE/upstream/$name
    tree=$origin
    [ -d "$origin" ] || { tree=$work/src; unpack_tests "$origin"; }
    [ -e "$tree/test/mpi/util/mtest.c" ] || die "$origin has no test/mpi: take a release tarball"
}

unpack_tests() { # TARBALL
    [ ! -e "$tree" ] || return 0
    need_disk "$work" 200
    rm -rf "$tree.part"
    mkdir -p "$tree.part"
    run_step upstream-unpack 10 "unpacking upstream's tests" "$work/unpack.log" \
        tar -xf "$1" -C "$tree.part" --strip-components=1 --wildcards '*/maint/version.m4' '*/src/mpi/romio/test/*' \
        '*/test/mpi/io/*' '*/test/mpi/errors/io/*' '*/test/mpi/util/*' '*/test/mpi/include/*' '*/test/mpi/dtpools/include/*'
    mv "$tree.part" "$tree"
}

add_program() { # ID RANKS GIGABYTES EXPECTED ARGUMENTS
    local id=$1
    # shellcheck disable=SC2053 # a pattern is what --only takes
    [[ $id == $only || ${id##*/} == $only || $id == probe ]] || return 0
    [ "$id" = probe ] || ids+=("$id")
    nranks[$id]=$2 gigabytes[$id]=$3 expects[$id]=$4 arguments[$id]=$5 environment[$id]='' limits[$id]=$time_limit
    [ "$3" -eq 0 ] || limits[$id]=$((3 * time_limit))
}

# One line of a testlist: NAME RANKS KEY=VALUE...
# xfail, strict and mpix are not needed: whether a program may fail is what stock MPICH says.
add_from_testlist() { # SUITE NAME RANKS KEY=VALUE...
    local id=$1/$2 ranks=$3 pair args='' env='' mem=0 limit=
    shift 3
    for pair; do
        case $pair in
        arg=*) args="$args ${pair#*=}" ;;
        env=*) env="$env ${pair#*=}" ;;
        mem=*) mem=${pair#*=}; mem=$((${mem%.*} + 1)) ;;
        timeLimit=*) limit=${pair#*=} ;;
        xfail=* | strict=* | mpix=* | lock=*) ;;
        *) say "$id: \"$pair\" in its testlist is not understood, and ignored" ;;
        esac
    done
    add_program "$id" "$ranks" "$mem" alone "$args"
    [ -n "${nranks[$id]-}" ] || return 0
    environment[$id]=$env
    [ -z "$limit" ] || limits[$id]=$limit
}

list_mpich_suite() { # SUITE
    local list=$tree/test/mpi/$1/testlist words
    [ -e "$list" ] || list=$list.in
    while read -r -a words; do
        [ ${#words[@]} -ge 2 ] || continue
        add_from_testlist "$1" "${words[@]}"
    done < <(sed 's/#.*//;s/@[a-z0-9]*@//' "$list")
}

# runtests says: $mpirun -np RANKS ./NAME ARGUMENTS
list_romio_suite() {
    local tests=$tree/src/mpi/romio/test name ranks args mem expected
    while IFS='|' read -r ranks name args; do
        [ -z "$(compgen -G "$tests/$name.f*")" ] || continue # Fortran
        args=${args//\$FILENAME/testfile}
        add_program "romio/$name" "$ranks" 0 'No Errors' "${args//\$srcdir/$tests}"
    done < <(sed -n 's/^[ \t]*[$]mpirun -np \([0-9]*\) \.\/\([^ ]*\) \{0,1\}\(.*\)/\1|\2|\3/p' "$tests/runtests.in")
    while IFS='|' read -r name ranks mem args expected; do
        compgen -G "$tests/$name.c*" >/dev/null || continue
        add_program "romio/$name" "$ranks" "$mem" "$expected" "$args"
    done < <(romio_extras)
}

# C programs that are there, and that neither runtests nor we run.
unlisted_programs() {
    local f id
    [ "$only" = '*' ] || return 0
    for f in "$tree"/src/mpi/romio/test/*.c "$tree"/src/mpi/romio/test/*.c.in "$tree"/test/mpi/io/*.c "$tree"/test/mpi/errors/io/*.c; do
        [ -e "$f" ] || continue
        id=$(basename "$f" .in)
        case $f in */romio/*) id=romio/${id%.c} ;; */errors/*) id=errors/io/${id%.c} ;; *) id=io/${id%.c} ;; esac
        [ -n "${nranks[$id]-}" ] || printf '%s ' "$id"
    done
}

list_programs() {
    local rest
    list_mpich_suite io
    list_mpich_suite errors/io
    list_romio_suite
    add_program probe 4 0 romio ''
    [ ${#ids[@]} -gt 0 ] || die "no program matches $only"
    rest=$(unlisted_programs)
    [ -z "$rest" ] || say "programs that no list of upstream's runs: $rest"
}

# What test/mpi's configure (minutes) would find out, as far as its I/O tests and utilities ask.
write_testconf() {
    local name
    mkdir -p "$work/include"
    for name in STDARG_H STRING_H MEMORY_H UNISTD_H SYS_TIME_H SYS_RESOURCE_H GETRUSAGE MPI_WIN_CREATE; do
        printf '#define HAVE_%s 1\n' "$name"
    done >"$work/include/mpitestconf.h.new"
    printf '#define %s\n' 'MPIO_USES_MPI_REQUEST 1' 'THREAD_PACKAGE_NAME THREAD_PACKAGE_POSIX' >>"$work/include/mpitestconf.h.new"
    mv "$work/include/mpitestconf.h.new" "$work/include/mpitestconf.h"
}

source_file() { # ID
    case $1 in
    probe) echo "$here/probe.c" ;;
    romio/*) compgen -G "$tree/src/mpi/romio/test/${1#*/}.c*" | head -n 1 ;;
    *) echo "$tree/test/mpi/$1.c" ;;
    esac
}

# The source as configure would make it; coll_perf's array, of 14 GB, 512 times smaller.
source_text() { # ID
    local shrink=
    [ "$1" != romio/coll_perf ] || shrink='s/= 128 \* \(17\|9\|11\);/= 16 * \1;/'
    sed "s/@LL@/lld/g;$shrink" "$(source_file "$1")"
}

mpi_compile() { # MPICC ARGUMENTS...
    local cc=$1
    shift
    "$cc" -w -O1 -I"$work/include" -I"$tree/test/mpi/include" -I"$tree/test/mpi/dtpools/include" "$@"
}

compile_utilities() { # MPI
    local name
    for name in mtest mtest_common mtest_single; do
        mpi_compile "${mpicc[$1]}" -c "$tree/test/mpi/util/$name.c" -o "$work/build/$1/$name.o" || return 1
    done
}

compile_program() { # MPI ID
    local dir=$work/build/$1 out utilities=()
    out=$dir/${2//\//_}
    rm -f "$out"
    case $2 in romio/* | probe) ;; *) utilities=("$dir/mtest.o" "$dir/mtest_common.o" "$dir/mtest_single.o") ;; esac
    source_text "$2" | mpi_compile "${mpicc[$1]}" -x c - -x none "${utilities[@]}" -lm -o "$out.new" >"$out.log" 2>&1 &&
        mv "$out.new" "$out"
}

# Compiles for an MPI installation what is not compiled yet; after a change of its library, everything.
compile_all() { # MPI
    local dir=$work/build/$1 id
    if [ "$(cat "$dir/identity" 2>/dev/null)" != "${identity[$1]}" ]; then
        rm -rf "$dir"
        mkdir -p "$dir"
        compile_utilities "$1" >"$dir/utilities.log" 2>&1 ||
            die "upstream's test utilities do not compile with ${mpicc[$1]}: $(tail -n 5 "$dir/utilities.log")"
        printf '%s\n' "${identity[$1]}" >"$dir/identity"
    fi
    for id in probe "${ids[@]}"; do
        [ "$dir/${id//\//_}" -nt "$(source_file "$id")" ] || pool_add 0 200 compile_program "$1" "$id"
    done
    pool_run "compiling upstream's programs ($1)"
}
