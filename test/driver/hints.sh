# shellcheck shell=bash
# Tests of hints, of prefixes and of several files at once. Sourced by run.

# Values other than the defaults, and what they are reported as (a hint without effect yet keeps its
# value, and is here to be accepted without complaint).
changed='romio_tam=enable romio_tam_aggrs_per_node=3 romio_tam_transport=p2p romio_tam_memory_limit=2M
cb_domain=cyclic cb_pipeline=automatic cb_pipeline_unit=8192 cb_pipeline_depth=2 cb_pipeline_io=blocking
cb_schedule=mdf cb_early_return=enable cb_placement=romio cb_topology=flat cb_tier=dram cb_persistency=job
romio_lustre_overstriping=2 romio_lustre_group_lock=enable romio_tcio=enable tcio_segment_size=8192 tcio_segments=4
tcio_visibility=sync'
changed_reported='romio_tam=enable romio_tam_aggrs_per_node=3 romio_tam_transport=p2p romio_tam_memory_limit=2097152
cb_domain=cyclic cb_schedule=mdf cb_early_return=enable cb_placement=romio romio_lustre_overstriping=2 romio_lustre_group_lock=enable
romio_tcio=enable tcio_segment_size=8192 tcio_segments=4 tcio_visibility=sync'

# What ours reports and stock does not.
our_hints() {
    launch ours 4 '' info "$file" >"$scratch/o" && launch stock 4 '' info "$file" >"$scratch/s" || return
    grep '^hint ' "$scratch/o" | grep -vxF -f "$scratch/s" | grep -v romio_filesystem_type | sed 's/^hint //'
}

defaults_are_golden() {
    our_hints >"$scratch/got" || return
    [ -z "$golden" ] || cp "$scratch/got" "$here/hints.expected"
    equal "$here/hints.expected" "$scratch/got"
}

# Every hint of the golden file and no other has a changed value above.
all_hints_have_cases() {
    tr ' ' '\n' <<<"$changed" | cut -d= -f1 | sort >"$scratch/a"
    cut -d= -f1 "$here/hints.expected" | sort >"$scratch/b"
    equal "$scratch/b" "$scratch/a"
}

reports_changed() { # OUTPUT ERRORS
    local pair
    for pair in $changed_reported; do has_line "$1" "hint $pair" || return; done
    has_line "$1" 'as rank 0: yes yes yes yes' || return
    [ ! -s "$2" ] || { echo "unexpected:"; cat "$2"; return 1; }
}

# All hints at once, at one of open, view, info.
set_at() { # WHEN
    local pair arguments=()
    for pair in $changed; do arguments+=("$1:*:$pair"); done
    launch ours 4 '' info "$file" "${arguments[@]}" >"$scratch/o" 2>"$scratch/e" && reports_changed "$scratch/o" "$scratch/e"
}

set_in_hints_file() {
    launch ours 4 "$(tr ' ' '\n' <<<"$changed" | tr "=" ' ')" info "$file" >"$scratch/o" 2>"$scratch/e" &&
        reports_changed "$scratch/o" "$scratch/e"
}

changed_again() {
    launch ours 4 '' info "$file" 'open:*:romio_tam=enable' 'view:*:romio_tam=disable' 'view:*:cb_domain=even' \
        'info:*:cb_domain=cyclic' >"$scratch/o" &&
        has_line "$scratch/o" 'hint romio_tam=disable' && has_line "$scratch/o" 'hint cb_domain=cyclic'
}

# A bad value of a hint at open and again at set_view: one line that names file, hint and value.
# romio_tam_stats takes any text, and the empty one unsets it.
bad_values() { # VALUE
    local name arguments=() names
    names=$(cut -d= -f1 "$here/hints.expected" | grep -v romio_tam_stats)
    for name in $names; do arguments+=("open:*:$name=$1" "view:*:$name=$1"); done
    launch ours 4 '' info "$file" "${arguments[@]}" >"$scratch/o" 2>"$scratch/e" || return
    has_line "$scratch/o" 'open: ok ok ok ok' && has_line "$scratch/o" 'set_view: ok ok ok ok' || return
    for name in $names; do
        has_line "$scratch/o" "hint $(grep "^$name=" "$here/hints.expected")" || return
        [ "$(grep -cF "file $file: hint $name: value \"$1\" ignored" "$scratch/e")" -eq 1 ] ||
            { echo "$name: not one line on stderr:"; cat "$scratch/e"; return 1; }
    done
    [ "$(wc -l <"$scratch/e")" -eq "$(wc -w <<<"$names")" ] || { cat "$scratch/e"; return 1; }
}

# The name of the file system, for a file name with a prefix or ROMIO_FSTYPE_FORCE.
file_system() { # PREFIX FORCE EXPECTED
    ROMIO_FSTYPE_FORCE=$2
    [ -z "$2" ] || export ROMIO_FSTYPE_FORCE
    launch ours 4 '' info "$1$file" >"$scratch/o"
    local status=$?
    unset ROMIO_FSTYPE_FORCE
    [ $status -eq 0 ] || { cat "$scratch/o"; return $status; }
    grep -q "^hint romio_filesystem_type=$3" "$scratch/o" || { grep filesystem "$scratch/o"; return 1; }
    [ -e "$file" ] || { echo "$file was not made:"; ls "$scratch/files"; return 1; }
}

test_hints() {
    local when prefix
    test_case hints.defaults defaults_are_golden
    test_case hints.all_have_cases all_hints_have_cases
    for when in open view info; do test_case "hints.set_at_$when" set_at $when; done
    test_case hints.set_in_file set_in_hints_file
    test_case hints.changed_again changed_again
    test_case hints.bad_word bad_values 'xyz!'
    test_case hints.bad_empty bad_values ''
    test_case hints.bad_negative bad_values -5
    test_case hints.bad_huge bad_values 1180591620717411303424
    test_case driver.default file_system '' '' 'TAM over UFS'
    for prefix in tam: tam:ufs: ufs: TAM:; do test_case "driver.prefix_$prefix" file_system $prefix '' 'TAM over UFS'; done
    for prefix in lustre_pipe: tam:lustre_pipe:; do test_case "driver.prefix_$prefix" file_system $prefix '' 'TAM over LUSTRE_PIPE'; done
    test_case driver.force_tam: file_system '' tam: 'TAM over UFS'
    test_case driver.force_tam:ufs: file_system '' tam:ufs: 'TAM over UFS'
    test_case driver.force_lustre_pipe: file_system '' lustre_pipe: 'TAM over LUSTRE_PIPE'
    test_case driver.delete launch ours 2 '' delete "$scratch/files/file" tam: tam:ufs: lustre_pipe: tam:lustre_pipe:
    test_case driver.threads.size launch ours 4 'romio_tam enable' threads "$scratch/files/file" size
    test_case driver.threads.size.early launch ours 4 'romio_tam enable
cb_early_return enable' threads "$scratch/files/file" size
    test_case driver.threads.nonblocking launch ours 4 'romio_tam enable' threads "$scratch/files/file" nonblocking
    TIMEOUT=120
    for when in own one; do
        test_case "driver.threads.$when.nonblocking" launch ours 4 '' threads "$scratch/files/file" $when nonblocking
        test_case "driver.threads.$when.mixed" launch ours 4 'romio_tam enable' threads "$scratch/files/file" $when mixed
        test_case "driver.threads.$when.uring" launch ours 4 'romio_tam enable
cb_buffer_size 65536
cb_pipeline_io uring' threads "$scratch/files/file" $when mixed
    done
    TIMEOUT=25
    test_case driver.nonblocking_order.volume launch ours 9 'romio_tam enable' nonblocking_order "$scratch/files/file" volume 16
    test_case driver.nonblocking_order.atomic launch ours 4 'romio_tam enable' nonblocking_order "$scratch/files/file" atomic
    for when in shm p2p; do
        test_case "driver.profiling.$when" launch ours 4 "romio_tam enable
romio_tam_aggrs_per_node 2
romio_tam_transport $when
romio_tam_stats $scratch/stats" profiling "$scratch/files/file"
    done
    test_case driver.file_after_file launch ours 8 'romio_tam enable
romio_tam_aggrs_per_node 2' file_after_file "$scratch/files/file"
    test_case driver.two_files launch ours 4 'cb_buffer_size 65536' two_files "$scratch/files/file"
    test_case driver.many_open launch ours 4 'romio_tam enable' many_open "$scratch/files/file"
    test_case driver.shared_pointer launch ours 2 'romio_tam enable' shared_pointer "$scratch/files/file"
}
