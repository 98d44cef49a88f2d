# shellcheck shell=bash
# What the benchmarks through MPI share. Sourced, after tools/lib.sh; never run.

# The program that times patterns.
compile_pattern() { # PREFIX OUT
    local bench=$TAMIO_TOP/bench
    "$1/bin/mpicc" -O2 "$bench/pattern.c" "$bench/patterns.c" "$bench/workloads.c" "$bench/twister.c" -o "$2" -lm || die "cannot compile bench/pattern.c"
}

# The library that makes a file system slow.
compile_throttle() { # OUT
    cc -O2 -shared -fPIC -I"$TAMIO_TOP/src" "$TAMIO_TOP/bench/throttle-preload.c" "$TAMIO_TOP/src/port/throttle.c" -o "$1" -ldl ||
        die "cannot compile bench/throttle-preload.c"
}

# libtcio, as `make install` would have it, for one MPI.
compile_libtcio() { # MPICC DIR
    local objects=$2/objects
    mkdir -p "$objects"
    (cd "$TAMIO_TOP" && printf '%s\n' lib/*.c src/tcio/*.c src/port/*.c src/plan/*.c) | grep -v fortran |
        (cd "$objects" && xargs -P "$TAMIO_JOBS" -I{} sh -c "$1"' -O2 -fPIC -fvisibility=hidden -I"$0/include" -I"$0/src" -c "$0/{}" -o "$(echo {} | tr / _).o"' "$TAMIO_TOP") &&
        "$1" -shared "$objects"/*.o -o "$2/libtcio.so" -lrt -lpthread || die "cannot compile libtcio"
    rm -rf "$objects"
}

# The program of bench/tcio, with libtcio in DIR.
compile_tcio() { # PREFIX DIR OUT
    local bench=$TAMIO_TOP/bench
    "$1/bin/mpicc" -O2 -Wall -I"$TAMIO_TOP/include" "$bench/tcio.c" "$bench/tcio_work.c" "$bench/tcio_method.c" "$bench/twister.c" \
        -o "$3" -L"$2" -Wl,-rpath,"$2" -ltcio -lm || die "cannot compile bench/tcio.c"
}

median() { # FILE; numbers, one in a line
    sort -g "$1" | awk '{ v[NR] = $1 } END { print NR % 2 ? v[(NR + 1) / 2] : (v[NR / 2] + v[NR / 2 + 1]) / 2 }'
}

# What the lines of statistics say of one thing, in the part `sum`, `max`, `seconds` or `schedule`.
statistic() { # FILE PART NAME
    sed -n "s/.*\"$2\": {[^}]*\"$3\": \([0-9.]*\).*/\1/p" "$1"
}

progress() { [ ! -t 1 ] || printf '\r%s ' "$*"; }
