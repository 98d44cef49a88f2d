# shellcheck shell=bash
# The programs of this folder with a preload library that AddressSanitizer watches. Sourced by run.
#
# Any error is a failure; of leaks, only those with ADIOI_TAM, ADIOI_LUSTRE_PIPE or cio_ in their stack: MPICH's own are
# not ours.

asan_environment=()

prepare_asan() {
    local runtime
    runtime=$(gcc -print-file-name=libasan.so)
    asan_environment=(-genv LD_PRELOAD "$(realpath "$runtime") $asan_lib"
        -genv ASAN_OPTIONS "log_path=$scratch/asan.log:detect_leaks=1:exitcode=0:halt_on_error=1:fast_unwind_on_malloc=0")
}

# Leaks are blocks of lines, divided by empty ones.
our_leaks() {
    cat "$scratch"/asan.log.* 2>/dev/null | awk -v RS= '/ leak of / && /ADIOI_TAM|ADIOI_LUSTRE_PIPE|cio_/'
}

clean() { # HINTS PROGRAM ARGUMENTS...
    local status=0 leaks
    rm -f "$scratch"/asan.log.*
    launch asan 4 "$@" || status=$?
    if grep -h -A 30 'ERROR: AddressSanitizer' "$scratch"/asan.log.* 2>/dev/null; then return 1; fi
    leaks=$(our_leaks)
    [ -z "$leaks" ] || { printf '%s\n' "$leaks" | head -n 40; return 1; }
    return $status
}

# The library must be ours, and watched.
watched() {
    clean 'romio_tam enable' info "$file" >"$scratch/o" || { cat "$scratch/o"; return 1; }
    grep -q 'romio_filesystem_type=TAM over' "$scratch/o" && nm -D "$asan_lib" | grep -q __asan_init
}

clean_data() { # K/N TRANSPORT
    clean "romio_tam enable
cb_buffer_size 65536
romio_tam_transport $2" data "$scratch/files" "$1"
}

test_asan() {
    local transport mode
    [ -n "$asan_lib" ] || { test_case asan skip "no --asan-lib"; return; }
    prepare_asan
    TIMEOUT=180
    test_case asan.watched watched
    test_case asan.info clean '' info "$scratch/files/file" 'open:*:romio_tam=xyz' 'view:1:romio_tam=enable' 'info:*:cb_domain=even'
    test_case asan.file_after_file clean 'romio_tam enable' file_after_file "$scratch/files/file"
    test_case asan.two_files clean 'cb_buffer_size 65536' two_files "$scratch/files/file"
    test_case asan.many_open clean 'romio_tam enable' many_open "$scratch/files/file"
    test_case asan.delete clean '' delete "$scratch/files/file" tam: tam:ufs: lustre_pipe:
    test_case asan.missing_file clean 'romio_tam enable' io_errors "$scratch/files/none" r
    test_case asan.tam_missing_file clean '' io_errors "tam:$scratch/files/none" r
    test_case asan.full_disk asan_full_disk
    test_case asan.stats clean "romio_tam enable
cb_buffer_size 16384
romio_tam_stats $scratch/stats" stats "$scratch/files/file"
    test_case asan.choices clean '' choices "$scratch/files/file"
    test_case asan.eof clean 'romio_tam enable' eof "$scratch/files/file"
    for mode in handles memory threads late; do test_case "asan.types.$mode" clean 'romio_tam enable' types "$scratch/files/file" $mode; done
    test_case asan.lustre clean_lustre romio_lustre_group_lock=enable
    test_case asan.lustre.created clean_lustre striping_factor=3 striping_unit=65536 romio_lustre_overstriping=2 start_iodevice=1
    FAKE_LUSTRE_FAIL=llapi_layout_stripe_count_get=5 test_case asan.lustre.fails clean_lustre romio_lustre_group_lock=enable
    FAKE_LUSTRE_FAIL=set=5 test_case asan.lustre.creation_fails clean_lustre striping_factor=3 romio_lustre_overstriping=2
    for transport in shm p2p; do
        test_case "asan.data.$transport" clean_data 3/11 $transport
    done
}

# On a layout of five components, unless the file is to be created.
clean_lustre() { # HINT...
    case " $*" in *striping_factor*) ;; *) five_components >"$file.layout"; : >"$file" ;; esac
    with_library "$scratch/fake.so" clean '' striped "lustre_pipe:$file" "${blocks[@]}" "${enabled[@]}" "$@"
}

asan_full_disk() {
    need_root || return
    disk_options=size=1m
    clean 'romio_tam enable' io_errors "$scratch/disk/file" w 512
    local status=$?
    disk_options=
    return $status
}
