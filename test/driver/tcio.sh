# shellcheck shell=bash
# Unchanged programs through TCIO (romio_tcio). Sourced by run.

# Segments so small, and so few, that they go round all ranks and must make room.
tcio_hints() { # VISIBILITY [SEGMENT-SIZE]
    printf 'romio_tcio enable\ntcio_visibility %s\ntcio_segment_size %s\ntcio_segments 3\n' "$1" "${2:-4096}"
}

# Three seeds a time, others each day.
tcio_mix() { # LAYOUT VISIBILITY SEGMENT-SIZE
    local seed first
    case $1 in 3x3*) enter_cluster || return ;; esac
    first=$(($(date +%j) * 3))
    for seed in $first $((first + 1)) $((first + 2)); do
        launch ours "$1" "$(tcio_hints "$2" "$3")" tcio_mix "$file" "$seed" 8 "$2" || { echo "seed $seed"; return 1; }
    done
}

tcio_rule() { # LAYOUT RULE VISIBILITY [SEGMENT-SIZE]
    case $1 in 3x3*) enter_cluster || return ;; esac
    launch ours "$1" "$(tcio_hints "$3" "${4-}")" tcio_rules "$file" "$2" >"$scratch/o" 2>"$scratch/e" &&
        [ ! -s "$scratch/e" ] && return
    cat "$scratch/o" "$scratch/e"
    return 1
}

# ROMIO's word of visibility is its own (MPICH 4.0 has none) unless others may have to wait.
tcio_keys() {
    launch ours 4 "$(tcio_hints immediate)" tcio_rules "$file" change >"$scratch/o" || return
    has_line "$scratch/o" 'tamio_tcio: enabled: immediate, 3 segments of 4096 bytes' &&
        has_line "$scratch/o" 'tamio_tcio: enabled: sync, 3 segments of 8192 bytes' &&
        has_line "$scratch/o" 'tamio_tcio: -' || return
    grep '^romio_visibility_immediate: ' "$scratch/o" >"$scratch/words"
    grep -qE ': (true|-)$' <(head -n 1 "$scratch/words") && has_line <(tail -n 1 "$scratch/words") 'romio_visibility_immediate: false'
}

# Rank 0's hint is everybody's; what the others have without it is not found out at open.
tcio_differ() {
    launch ours 4 'tcio_segment_size 4096' tcio_rules "$file" differ >"$scratch/o" 2>"$scratch/e" || { cat "$scratch/e"; return 1; }
    [ "$(grep -c 'hints differ' "$scratch/e")" -eq 1 ] || { cat "$scratch/e"; return 1; }
    [ "$(head -n 1 "$scratch/o")" = 'tamio_tcio: -' ] && grep -q '^tamio_tcio: enabled' "$scratch/o"
}

tcio_full() { # RULE VISIBILITY
    local status
    disk_options=size=1m
    need_root || return
    launch ours 4 "$(tcio_hints "$2")" tcio_rules "$scratch/disk/file" "$1" >"$scratch/o" 2>"$scratch/e"
    status=$?
    disk_options=
    [ $status -eq 0 ] || { cat "$scratch/e"; return 1; }
    grep -q 'bytes [0-9]* to [0-9]* cannot be written: No space left on device' "$scratch/e" || { cat "$scratch/e"; return 1; }
    [ "$1" = full_at_close ] || has_line "$scratch/o" 'sync: NO_SPACE NO_SPACE NO_SPACE NO_SPACE' || return
    has_line "$scratch/o" 'close: NO_SPACE NO_SPACE NO_SPACE NO_SPACE'
}

# One record for each file: 3 writes and a read of each rank; one collective write; two reads in atomic mode.
tcio_report() {
    rm -f "$scratch/stats"
    launch ours 4 "$(tcio_hints auto)
romio_tam_stats $scratch/stats" tcio_rules "$file" count || return
    grep '"call": "tcio"' "$scratch/stats" >"$scratch/line" || { cat "$scratch/stats"; return 1; }
    [ "$(wc -l <"$scratch/line")" -eq 1 ] && grep -qF '"visibility": "immediate"' "$scratch/line" &&
        grep -qF '"bytes_written": 12000,' "$scratch/line" &&
        grep -qF '"taken": 16, "passed": {"it is collective": 4, "atomic mode is on": 8}' "$scratch/line" || { cat "$scratch/line"; return 1; }
}

# Where it cannot be had, one line says so, and the program runs without it.
tcio_passed() { # HINTS FILE-NAME-PREFIX REASON
    launch ours 4 "$1" tcio_rules "$2$file" alone >"$scratch/o" 2>"$scratch/e" || { cat "$scratch/e"; return 1; }
    [ "$(grep -c "file $file: hint romio_tcio: independent calls are passed to the driver below: $3" "$scratch/e")" -eq 1 ] ||
        { cat "$scratch/e"; return 1; }
}

# As compare_data, but of independent calls if KIND says so. Stock must not write what it was not asked for: others may
# write it meanwhile without a lock.
tcio_data() { # LAYOUT KIND HINTS
    local ranks=$1 status=0 name
    case $1 in 3x3*) enter_cluster || return; ranks=9 ;; esac
    for name in stock ours; do
        rm -rf "$scratch/data.$name"
        mkdir -p "$scratch/data.$name/files"
    done
    launch stock "$ranks" 'romio_ds_write disable' data "$scratch/data.stock/files" "$part" '' "$2" >"$scratch/data.stock/out" 2>"$scratch/e" &&
        launch ours "$1" "$3" data "$scratch/data.ours/files" "$part" '' "$2" >"$scratch/data.ours/out" 2>"$scratch/e" ||
        { cat "$scratch/e"; return 1; }
    equal "$scratch/data.stock/out" "$scratch/data.ours/out" && diff -r "$scratch/data.stock/files" "$scratch/data.ours/files" || status=1
    rm -rf "$scratch/data.stock" "$scratch/data.ours"
    return $status
}

test_tcio() {
    local layout visibility rule size
    TIMEOUT=60
    for visibility in immediate sync; do
        for layout in 4 7 3x3 3x3-cyclic; do
            test_case "tcio.mix.$layout.$visibility" tcio_mix $layout $visibility 4096
            next_part
            test_case "tcio.data.$layout.$visibility" tcio_data $layout independent "$(tcio_hints $visibility 65536)"
        done
        test_case "tcio.mix.7.$visibility.large" tcio_mix 7 $visibility 1048576
        next_part
        test_case "tcio.data.4.$visibility.collective" tcio_data 4 collective "$(tcio_hints $visibility 65536)"
        for rule in append delete_on_close read_only write_only external32 many; do
            test_case "tcio.$rule.$visibility" tcio_rule 4 $rule $visibility
        done
        for size in 4096 131072; do
            test_case "tcio.selves.$visibility.$size" tcio_rule 4 selves $visibility $size
            for layout in 4 3x3; do test_case "tcio.large.$layout.$visibility.$size" tcio_rule $layout large $visibility $size; done
        done
        for layout in 4 3x3 3x3-cyclic; do test_case "tcio.alone.$layout.$visibility" tcio_rule $layout alone $visibility; done
        for rule in full full_at_close; do test_case "tcio.$rule.$visibility" tcio_full $rule $visibility; done
    done
    for layout in 4 3x3 3x3-cyclic; do test_case "tcio.message.$layout" tcio_rule $layout message immediate; done
    test_case tcio.keys tcio_keys
    test_case tcio.differ tcio_differ
    test_case tcio.report tcio_report
    test_case tcio.passed.memory tcio_passed 'romio_tcio enable
tcio_segment_size 1073741824
tcio_segments 1048576' '' 'Cannot allocate memory'
    test_case tcio.passed.deferred tcio_passed 'romio_tcio enable
romio_no_indep_rw true' '' 'romio_no_indep_rw says'
    test_case tcio.passed.driver tcio_passed 'romio_tcio enable' nfs: 'the driver below does not make plain POSIX calls'
    TIMEOUT=25
}
