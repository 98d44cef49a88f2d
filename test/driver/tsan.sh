# shellcheck shell=bash
# Several threads of each rank with a preload library that ThreadSanitizer watches. Sourced by run.
#
# A race is a failure if a function of ours is in it: ROMIO is watched, too. (MPI_File_get_size, which has no lock in ROMIO,
# races with every call that forgets where the file is; so it is left out.)

our_races() {
    cat "$scratch"/tsan.log.* 2>/dev/null | awk -v RS='==================\n' '/WARNING: ThreadSanitizer/ && /ad_tam|ADIOI_TAM|cio_/'
}

raceless() { # HINTS PROGRAM ARGUMENTS...
    local status=0 races
    rm -f "$scratch"/tsan.log.*
    # at addresses that it can do with
    in_front=(setarch -R env "LD_PRELOAD=$(realpath "$(gcc -print-file-name=libtsan.so)") $tsan_lib"
        "TSAN_OPTIONS=log_path=$scratch/tsan.log:exitcode=0")
    launch stock 3 "$@" || status=$?
    in_front=()
    ! grep -qs 'FATAL: ThreadSanitizer' "$scratch"/tsan.log.* || skip "ThreadSanitizer cannot run here" || return
    races=$(our_races)
    [ -z "$races" ] || { printf '%s\n' "$races" | sed -n '1,12p;/^SUMMARY/p'; return 1; }
    return $status
}

# The library must be ours, and watched.
raceless_at_all() {
    raceless 'romio_tam enable' info "$file" >"$scratch/o" || { cat "$scratch/o"; return 1; }
    grep -q 'romio_filesystem_type=TAM over' "$scratch/o" && nm -D "$tsan_lib" | grep -q __tsan_init
}

test_tsan() {
    local files
    [ -n "$tsan_lib" ] || { test_case tsan skip "no --tsan-lib"; return; }
    TIMEOUT=180
    test_case tsan.watched raceless_at_all
    for files in own one; do
        test_case "tsan.threads.$files.nonblocking" raceless '' threads "$file" $files nonblocking
        test_case "tsan.threads.$files.mixed" raceless 'romio_tam enable' threads "$file" $files mixed
        test_case "tsan.threads.$files.uring" raceless 'romio_tam enable
cb_buffer_size 65536
cb_pipeline_io uring' threads "$file" $files mixed
        test_case "tsan.threads.$files.messages" raceless 'romio_tam enable
cb_buffer_size 65536
romio_tam_transport p2p' threads "$file" $files mixed
        test_case "tsan.threads.$files.early" raceless 'romio_tam enable
cb_buffer_size 65536
cb_schedule lw-mdf' threads "$file" $files mixed
    done
    test_case tsan.types raceless 'romio_tam enable' types "$file" threads
}
