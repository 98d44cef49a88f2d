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

median() { # FILE; numbers, one in a line
    sort -g "$1" | awk '{ v[NR] = $1 } END { print NR % 2 ? v[(NR + 1) / 2] : (v[NR / 2] + v[NR / 2 + 1]) / 2 }'
}

# What the lines of statistics say of one thing, in the part `sum`, `max`, `seconds` or `schedule`.
statistic() { # FILE PART NAME
    sed -n "s/.*\"$2\": {[^}]*\"$3\": \([0-9.]*\).*/\1/p" "$1"
}

progress() { [ ! -t 1 ] || printf '\r%s ' "$*"; }
