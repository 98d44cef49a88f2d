# shellcheck shell=bash
# Striped files through the stand-in for liblustreapi (test/lustre) or by hints. Sourced by run.

# Blocks of 1000 bytes from each of 4 ranks, 5 million in all: nothing is aligned to anything.
blocks=(1000 1250)
enabled=(romio_tam=enable cb_pipeline_io=blocking)

compile_lustre() {
    cc -std=gnu11 -Wall -Wextra -Werror -shared -fPIC -o "$scratch/fake.so" "$top/test/lustre/fake_lustreapi.c" ||
        die "cannot compile fake_lustreapi.c"
    cc -std=gnu11 -Wall -Wextra -Werror -shared -fPIC -o "$scratch/full.so" "$here/full-preload.c" -ldl ||
        die "cannot compile full-preload.c"
    echo 'int llapi_layout_alloc;' | cc -x c -shared -fPIC -o "$scratch/empty.so" - || die "cannot compile an empty library"
}

# A library as it would be found on Lustre; anything else comes from the caller's environment.
with_library() { # LIBRARY COMMAND...
    local library=$1
    shift
    TAMIO_LUSTREAPI=$library TAMIO_LUSTRE_ASSUME=1 "$@"
}

# Runs a program with the stand-in on lustre_pipe:$file; output and errors are kept.
kept() { # LIBRARY PROGRAM ARGUMENTS...
    local library=$1 program=$2
    shift 2
    with_library "$library" launch "${side:-ours}" 4 '' "$program" "lustre_pipe:$file" "$@" >"$scratch/o" 2>"$scratch/e"
    local status=$?
    [ $status -eq 0 ] || { cat "$scratch/o" "$scratch/e"; return $status; }
}

# Runs striped with our own hints.
striped() { # LIBRARY HINT...
    local library=$1
    shift
    kept "$library" striped "${blocks[@]}" "${enabled[@]}" "$@"
}

# Runs calls: pieces of so many bytes, so many of each rank in a call, calls.
calls() { # PIECE COUNT CALLS HINT...
    kept "$scratch/fake.so" calls "$@"
}

# What all ranks were told of, or got from, one call.
each_rank() { # "CALL WHAT" VALUE
    has_line "$scratch/o" "$1: $2 $2 $2 $2"
}

info_is() { # NAME VALUE
    has_line "$scratch/o" "info $1=$2"
}

silent() {
    [ ! -s "$scratch/e" ] || { echo "unexpected:"; cat "$scratch/e"; return 1; }
}

says_once() { # there is one line of errors
    [ "$(wc -l <"$scratch/e")" -eq 1 ] || { echo "not one line:"; cat "$scratch/e"; return 1; }
}

says() { # TEXT: a line of the errors begins so, after the file's name
    grep -qF "tamio: file $file: $1" "$scratch/e" || { echo "nothing says \"$1\":"; cat "$scratch/e"; return 1; }
}

# ---- creation ----

created() { # LAYOUT-LINE LAYOUT-TEXT HINT...
    local line=$1 text=$2
    shift 2
    striped "$scratch/fake.so" "$@" && silent || return
    has_line "$file.layout" "component $line" && info_is tamio_layout_source lustre && info_is tamio_layout "$text"
}

# On other OSTs, with another library, or with a function of it that fails: NAME=VALUE is put before the rest.
with() { # NAME=VALUE COMMAND...
    local -x "${1?}"
    shift
    "$@"
}
on() { # OSTS COMMAND...
    local osts=$1
    shift
    with FAKE_LUSTRE_OSTS="$osts" "$@"
}

# It is there at once, but without what the library cannot do.
without_overstriping() {
    with FAKE_LUSTRE_VERSION=2.12 striped "$scratch/fake.so" striping_unit=65536 striping_factor=3 start_iodevice=6 \
        romio_lustre_overstriping=2 || return
    says 'it is created without overstriping, for which Lustre 2.13 is needed' && says_once &&
        has_line "$file.layout" 'component 0 -1 65536 3 0 0 6 7 0' && info_is tamio_layout 0-eof:64Kx3
}

no_such_ost() {
    on 0,1,4 striped "$scratch/fake.so" striping_unit=65536 striping_factor=2 start_iodevice=3 romio_lustre_overstriping=2 || return
    says 'it is created without the striping asked for (striping_unit 65536, striping_factor 2, start_iodevice 3, overstriping 2): ' &&
        grep -q 'llapi_layout_file_create: Invalid argument' "$scratch/e"
}

# What is not created is not created without anything either.
not_created() { # LIBRARY
    file=$scratch/files/none/file
    kept "$1" info 'open:*:striping_unit=65536' || return
    has_line "$scratch/o" 'open: NO_SUCH_FILE NO_SUCH_FILE NO_SUCH_FILE NO_SUCH_FILE' && silent
}

existing_file_keeps_layout() {
    printf 'mirrors 1\ncomponent 0 -1 131072 2 0 0 5 6\n' >"$file.layout"
    : >"$file"
    created '0 -1 131072 2 0 0 5 6' 0-eof:128Kx2 striping_unit=65536 striping_factor=3 &&
        info_is striping_unit 131072 && info_is striping_factor 2
}

# Without creation: no hint about striping, and the file system's own default.
nothing_asked() {
    striped "$scratch/fake.so" || return
    [ ! -e "$file.layout" ] && says "its striping is not known, hints are used: it has no layout yet" &&
        info_is tamio_layout_source none && info_is tamio_domain aligned
}

creation_fails() { # FUNCTION
    FAKE_LUSTRE_FAIL=$1=5 striped "$scratch/fake.so" striping_unit=65536 striping_factor=3 start_iodevice=1 \
        romio_lustre_overstriping=2 || return
    says "it is created without the striping asked for (striping_unit 65536, striping_factor 3, start_iodevice 1, overstriping 2): llapi_" ||
        return
    [ "$1" = set ] || grep -q ": $1: " "$scratch/e" || { cat "$scratch/e"; return 1; }
    [ ! -e "$file.layout" ] && info_is tamio_layout_source hints && info_is tamio_layout 0-eof:64Kx6/3
}

bad_unit() {
    striped "$scratch/fake.so" striping_unit=1000 striping_factor=3 || return
    says 'it is created without the striping asked for (striping_unit 1000,' &&
        grep -q 'llapi_layout_stripe_size_set: Invalid argument' "$scratch/e" && info_is tamio_layout 0-eof:1000x3
}

# ---- discovery ----

# Five components: of 1, 2, 3, 7 (prime) and 4 OSTs with two stripes on each.
five_components() {
    cat <<'END'
mirrors 1
component 0 131072 65536 1 0 0x10 0
component 131072 524288 65536 2 0 0x10 1 2
component 524288 1310720 131072 3 0 0x10 3 4 5
component 1310720 3145728 65536 7 0 0x10 0 1 2 3 4 5 6
component 3145728 -1 262144 8 4 0x10 0 2 4 6 0 2 4 6
END
}
five_text=0-128K:64Kx1,128K-512K:64Kx2,512K-1280K:128Kx3,1280K-3M:64Kx7,3M-eof:256Kx8/4

found() { # TEXT HINT... < LAYOUT
    local text=$1
    shift
    cat >"$file.layout"
    : >"$file"
    striped "$scratch/fake.so" "$@" && silent && info_is tamio_layout_source lustre && info_is tamio_layout "$text"
}

five() { # AGGREGATORS HINT...
    local aggregators=$1
    shift
    five_components | found "$five_text" "$@" && info_is tamio_aggregators "$aggregators" &&
        info_is striping_unit 262144 && info_is striping_factor 4
}

# Who wrote what in the five components, with 4 ranks that all aggregate: 1, 2, 3, 4 and 4 in turn.
five_writers() {
    five 0-3 && info_is tamio_domain cyclic && has_line "$scratch/o" "writers: \
0.0:0 1.0:1 1.1:2 2.0:3 2.1:0 2.2:1 3.0:2 3.1:3 3.2:0 3.3:1 3.4:2 3.5:3 3.6:0 4.0:2 4.1:3 4.2:0 4.3:1"
}

# The beginning on the metadata server; room to grow into; objects that do not exist yet, of all OSTs.
special_components() { # TEXT
    found "$1" <<'END'
mirrors 1
component 0 65536 65536 0 2 0x10
component 65536 524288 65536 2 0 0x10 3 4
component 524288 1048576 1 2 0 0x40
component 1048576 2097152 65536 6 4 0
component 2097152 -1 131072 0x1000000000000003 0 0
END
}

# The usual default of a site, with little in the first component: as many aggregators as there are OSTs, or ranks.
unwritten() { # OSTS TEXT AGGREGATORS STRIPES PATTERN
    on "$1" found "0-64K:64Kx1,64K-eof:64Kx$2" <<END && info_is tamio_aggregators "$3"
mirrors 1
component 0 65536 65536 1 0 0x10 0
component 65536 -1 65536 $4 $5 0
END
}

# Components get their objects in the second call and in the fourth, fewer than were expected: the call after each
# knows. There is a look at open, one when the view is set, and these two; and whoever did not aggregate then does not now.
looks_again() {
    printf 'mirrors 1\ncomponent 0 262144 65536 1 0 0x10 0\ncomponent 262144 786432 65536 %s 0 0\ncomponent 786432 -1 65536 %s 4 0\n' \
        0x1000000000000003 0x1000000000000004 >"$file.layout"
    : >"$file"
    rm -f "$scratch/lock.log"
    FAKE_LUSTRE_LOG=$scratch/lock.log FAKE_LUSTRE_FULL=2 on 4 calls 1024 64 6 "$@" && silent || return
    each_rank '1 write_all' ok && each_rank '6 write_all' ok &&
        each_rank '1 tamio_layout' 0-256K:64Kx1,256K-768K:64Kx4,768K-eof:64Kx8/4 &&
        each_rank '2 tamio_layout' 0-256K:64Kx1,256K-768K:64Kx4,768K-eof:64Kx8/4 &&
        each_rank '3 tamio_layout' 0-256K:64Kx1,256K-768K:64Kx3,768K-eof:64Kx8/4 &&
        each_rank '4 tamio_layout' 0-256K:64Kx1,256K-768K:64Kx3,768K-eof:64Kx8/4 &&
        each_rank '5 tamio_layout' 0-256K:64Kx1,256K-768K:64Kx3,768K-eof:64Kx6/3 &&
        each_rank '6 tamio_layout' 0-256K:64Kx1,256K-768K:64Kx3,768K-eof:64Kx6/3 &&
        [ "$(count_lines look)" -eq 4 ] || { cat "$scratch/o" "$scratch/lock.log"; return 1; }
}
looks_again_served() {
    looks_again romio_tam=enable "$@" && each_rank '1 tamio_aggregators' 0-3 && each_rank '6 tamio_aggregators' 0,2,3
}

# Objects in no order that could be known by two numbers.
irregular() {
    found 0-eof:64Kx6 <<<'component 0 -1 65536 6 4 0x10 0 1 0 1 1 0'
}

refused() { # REASON < LAYOUT
    cat >"$file.layout"
    : >"$file"
    striped "$scratch/fake.so" striping_unit=131072 striping_factor=2 &&
        says "its striping is not known, hints are used: $1" && info_is tamio_layout_source hints && info_is tamio_layout 0-eof:128Kx2
}

many_components() {
    local i
    for i in $(seq 0 32); do echo "component $((i * 65536)) $(((i + 1) * 65536)) 65536 1 0 0x10 0"; done
}

discovery_fails() { # FUNCTION
    five_components >"$file.layout"
    : >"$file"
    FAKE_LUSTRE_FAIL=$1=5 striped "$scratch/fake.so" striping_unit=131072 striping_factor=2 &&
        says "its striping is not known, hints are used: $1: Input/output error" && info_is tamio_layout 0-eof:128Kx2
}

# ---- without a library ----

library_missing() {
    striped "$scratch/none.so" striping_unit=131072 striping_factor=2 || return
    says "it is created without the striping asked for: cannot load liblustreapi: $scratch/none.so:" &&
        says "its striping is not known, hints are used: cannot load liblustreapi: $scratch/none.so:" &&
        info_is tamio_layout_source hints && info_is tamio_layout 0-eof:128Kx2
}

library_too_old() {
    striped "$scratch/empty.so" striping_unit=131072 striping_factor=2 &&
        says "its striping is not known, hints are used: liblustreapi has no llapi_layout_get_by_fd" &&
        info_is tamio_layout 0-eof:128Kx2
}

# The library is there, the file system is another one: it must not be asked to create anything.
not_on_lustre() { # PREFIX
    rm -f "$scratch/lock.log"
    five_components >"$file.layout"
    FAKE_LUSTRE_LOG=$scratch/lock.log TAMIO_LUSTREAPI=$scratch/fake.so launch ours 4 '' striped "$1$file" "${blocks[@]}" \
        "${enabled[@]}" striping_unit=131072 striping_factor=3 >"$scratch/o" 2>"$scratch/e" || { cat "$scratch/o" "$scratch/e"; return 1; }
    [ ! -e "$scratch/lock.log" ] && silent && info_is tamio_layout_source hints && info_is tamio_layout 0-eof:128Kx3 &&
        has_line "$scratch/o" 'writers: 0.0:0 0.1:2 0.2:3'
}

same_everywhere() { # HINT... : lustre_pipe: with the stand-in and any driver with hints have the same writers
    created "$@" || return
    grep '^writers' "$scratch/o" >"$scratch/a"
    rm -f "$file" "$file.layout"
    shift 2
    launch ours 4 '' striped "$file" "${blocks[@]}" "${enabled[@]}" "$@" >"$scratch/o" || return
    grep '^writers' "$scratch/o" >"$scratch/b"
    [ -s "$scratch/a" ] && equal "$scratch/a" "$scratch/b"
}

bad_factor() {
    launch ours 4 '' striped "$file" "${blocks[@]}" "${enabled[@]}" striping_unit=131072 striping_factor=many \
        >"$scratch/o" 2>"$scratch/e" || return
    says 'hint striping_factor: value "many" ignored, expected a number' && info_is tamio_layout '0-eof:128Kx?'
}

# ---- group locks ----

count_lines() { grep -c "^$1 " "$scratch/lock.log"; }

# So many processes lock and unlock, with one number, an empty file before and a complete one after.
locked() { # PROCESSES HINT...
    local processes=$1
    shift
    rm -f "$scratch/lock.log"
    FAKE_LUSTRE_LOG=$scratch/lock.log striped "$scratch/fake.so" striping_unit=65536 striping_factor=3 \
        romio_lustre_group_lock=enable "$@" && silent || return
    [ "$(count_lines lock)" -eq "$processes" ] && [ "$(count_lines unlock)" -eq "$processes" ] &&
        [ "$(awk '/lock/ { print $2 }' "$scratch/lock.log" | sort -u | wc -l)" -eq "$processes" ] &&
        [ "$(awk '/lock/ { print $3 }' "$scratch/lock.log" | sort -u | wc -l)" -eq 1 ] &&
        [ "$(awk '/^lock/ { print $4 }' "$scratch/lock.log" | sort -u)" = 0 ] &&
        [ "$(awk '/^unlock/ { print $4 }' "$scratch/lock.log" | sort -n | tail -n 1)" -eq 5000000 ] ||
        { cat "$scratch/lock.log"; return 1; }
}

not_locked() {
    rm -f "$scratch/lock.log"
    FAKE_LUSTRE_LOG=$scratch/lock.log striped "$scratch/fake.so" striping_unit=65536 striping_factor=3 && silent || return
    [ "$(count_lines lock)" -eq 0 ] && [ "$(count_lines create)" -eq 1 ]
}

lock_fails() {
    FAKE_LUSTRE_FAIL=llapi_group_lock=25 striped "$scratch/fake.so" striping_unit=65536 striping_factor=3 \
        romio_lustre_group_lock=enable && says_once && says 'it is written without a group lock: llapi_group_lock: Inappropriate ioctl'
}

unlock_fails() {
    FAKE_LUSTRE_FAIL=llapi_group_unlock=22 striped "$scratch/fake.so" striping_unit=65536 striping_factor=3 \
        romio_lustre_group_lock=enable && ! grep -q 'cannot put group lock' "$scratch/e" && says 'its group lock is kept until it is closed: llapi_group_unlock: Invalid argument'
}

# Where several ranks may write to one page there is no lock: while ROMIO writes, which may read, modify and write back,
# as each rank does without collective buffering; whoever took one to find out who writes has given it back before.
not_locked_below() { # HINT...
    rm -f "$scratch/lock.log"
    FAKE_LUSTRE_LOG=$scratch/lock.log kept "$scratch/fake.so" striped "${blocks[@]}" striping_unit=65536 striping_factor=3 \
        romio_lustre_group_lock=enable "$@" && silent || return
    ! grep -E '^(lock|unlock) .* [1-9][0-9]*$' "$scratch/lock.log" && [ "$(count_lines lock)" -eq "$(count_lines unlock)" ] &&
        [ "$(stat -c %s "$file")" -eq 5000000 ]
}

# A rank that still accesses the file by itself would wait for the lock, and never come: all are there when it is taken,
# and what they have written before, too.
not_locked_before_all_come() {
    rm -f "$scratch/lock.log"
    FAKE_LUSTRE_LOG=$scratch/lock.log calls 1000 100 1 late striping_unit=65536 striping_factor=3 romio_tam=enable \
        romio_lustre_group_lock=enable && silent || return
    [ "$(count_lines lock)" -eq 3 ] && ! grep '^lock .* 0$' "$scratch/lock.log"
}

# Nor could the nonblocking call of a rank without the lock progress in the locked one.
not_locked_beside_others() {
    rm -f "$scratch/lock.log"
    FAKE_LUSTRE_LOG=$scratch/lock.log calls 1000 100 1 beside striping_unit=65536 striping_factor=3 romio_tam=enable \
        romio_lustre_group_lock=enable && silent && [ "$(count_lines lock)" -eq 0 ]
}

pages_shared() {
    rm -f "$scratch/lock.log"
    FAKE_LUSTRE_LOG=$scratch/lock.log striped "$scratch/fake.so" striping_unit=65536 striping_factor=3 \
        romio_lustre_group_lock=enable cb_domain=even &&
        says_once && says 'it is written without a group lock: aggregators may write parts of the same page' &&
        [ "$(count_lines lock)" -eq 0 ]
}

# One aggregator gets no lock: the others give theirs back, since it would wait for them for ever.
lock_fails_on_one() {
    # shellcheck disable=SC2016 # expanded by the rank
    printf '#!/bin/sh\n[ "$PMI_RANK" != 2 ] || export FAKE_LUSTRE_FAIL=llapi_group_lock=12\nexec "%s" "$@"\n' \
        "$scratch/ours/striped" >"$scratch/ours/one_fails"
    chmod +x "$scratch/ours/one_fails"
    rm -f "$scratch/lock.log"
    FAKE_LUSTRE_LOG=$scratch/lock.log with_library "$scratch/fake.so" launch ours 4 '' one_fails "lustre_pipe:$file" "${blocks[@]}" \
        "${enabled[@]}" striping_unit=65536 striping_factor=3 romio_lustre_group_lock=enable >"$scratch/o" 2>"$scratch/e" ||
        { cat "$scratch/o" "$scratch/e"; return 1; }
    says_once && says 'it is written without a group lock: llapi_group_lock: Cannot allocate memory' &&
        [ "$(count_lines lock)" -eq 2 ] && [ "$(count_lines unlock)" -eq 2 ] &&
        [ "$(awk '/^unlock/ { print $4 }' "$scratch/lock.log" | sort -u)" = 0 ]
}

# ---- errors ----

# One aggregator of several finds no room: all ranks learn of it.
full_for_one() { # RANK HINT...
    # shellcheck disable=SC2016 # expanded on each rank
    in_front=(sh -c 'LD_PRELOAD=$TEST_PRELOAD exec "$@"' -)
    TEST_PRELOAD=$scratch/full.so TEST_FULL=$1 calls "${piece-1000}" "${count-200}" 1 striping_unit=65536 striping_factor=3 \
        cb_pipeline_io=blocking "${@:2}"
    local status=$?
    in_front=()
    [ $status -eq 0 ] && silent && ! grep -q '1 write_all:.* ok' "$scratch/o" || { cat "$scratch/o"; return 1; }
}
full_for_one_served() { # RANK HINT...
    full_for_one "$@" romio_tam=enable && each_rank '1 write_all' NO_SPACE && each_rank '1 tamio_domain' cyclic
}
full_for_one_alone() { # RANK HINT...
    piece=262144 count=1 full_for_one "$@" && each_rank '1 tamio_domain' none
}

# ---- what is told ----

# Who divides the file, before and after it is known: the engine, ROMIO, or nobody.
told_way() { # PIECE COUNT DOMAIN AGGREGATORS HINT...
    calls "$1" "$2" 1 striping_unit=65536 striping_factor=4 "${@:5}" && silent &&
        each_rank '1 tamio_domain' "$3" && each_rank '1 tamio_aggregators' "$4"
}

told_ways_in_turn() {
    calls 1000 100 4 striping_unit=65536 striping_factor=4 romio_tam=enable 2:romio_tam=disable 3:romio_tam=enable \
        4:romio_tam=automatic && silent || return
    each_rank '1 tamio_domain' cyclic && each_rank '2 tamio_domain' romio && each_rank '3 tamio_domain' cyclic &&
        each_rank '4 tamio_domain' romio && each_rank '1 tamio_aggregators' 0-3 && each_rank '2 tamio_aggregators' 0 &&
        each_rank '3 tamio_aggregators' 0-3 && each_rank '4 tamio_aggregators' 0
}

# Told when the file is opened, by hints alone.
printed_way() { # DOMAIN AGGREGATORS HINT...
    ROMIO_PRINT_HINTS=1 calls 1000 1 1 "${@:3}" || return
    grep -qE "^key = tamio_domain +value = $1 *\$" "$scratch/o" && grep -qE "^key = tamio_aggregators +value = $2 *\$" "$scratch/o" ||
        { cat "$scratch/o"; return 1; }
}

printed_hints() {
    five_components >"$file.layout"
    : >"$file"
    ROMIO_PRINT_HINTS=1 striped "$scratch/fake.so" || return
    sed -n 's/^key = \([^ ]*\) *value = \(.*[^ ]\) *$/info \1=\2/p' "$scratch/o" >"$scratch/printed"
    mv "$scratch/printed" "$scratch/o"
    info_is tamio_layout_source lustre && info_is tamio_layout "$five_text" && info_is tamio_domain cyclic &&
        info_is tamio_aggregators 0-3 && info_is striping_unit 262144 && info_is striping_factor 4
}

# All ranks know the numbers when the file is open, and everything once hints have been agreed on.
told_to_all() {
    five_components >"$file.layout"
    : >"$file"
    with_library "$scratch/fake.so" launch ours 4 '' info "lustre_pipe:$file" 'view:*:romio_tam=enable' >"$scratch/o" || return
    has_line "$scratch/o" 'as rank 0: yes yes yes yes' && has_line "$scratch/o" "hint tamio_layout=$five_text" &&
        has_line "$scratch/o" 'hint tamio_aggregators=0-3' && has_line "$scratch/o" 'hint striping_unit=262144'
}

hints_after_open() {
    launch ours 4 '' info "$file" 'open:*:striping_unit=65536' 'open:*:romio_tam=enable' 'view:*:striping_unit=131072' \
        'info:*:cb_domain=even' >"$scratch/o" || return
    has_line "$scratch/o" 'as rank 0: yes yes yes yes' && has_line "$scratch/o" 'hint tamio_layout=0-eof:128Kx?' &&
        has_line "$scratch/o" 'hint tamio_domain=even'
}

test_lustre_creation() {
    local f
    test_case lustre.created created '0 -1 65536 3 0 0 0 1 2' 0-eof:64Kx3 striping_unit=65536 striping_factor=3
    test_case lustre.created.start created '0 -1 65536 3 0 0 4 5 6' 0-eof:64Kx3 striping_unit=65536 striping_factor=3 start_iodevice=4
    test_case lustre.created.stock_name created '0 -1 65536 1 0 0 4' 0-eof:64Kx1 striping_unit=65536 romio_lustre_start_iodevice=4
    test_case lustre.created.all created '0 -1 131072 8 0 0 0 1 2 3 4 5 6 7' 0-eof:128Kx8 striping_unit=131072 striping_factor=-1
    test_case lustre.created.too_many created '0 -1 65536 8 0 0 0 1 2 3 4 5 6 7' 0-eof:64Kx8 striping_unit=65536 striping_factor=50
    test_case lustre.created.over created '0 -1 65536 6 4 0 1 2 1 2 1 2' 0-eof:64Kx6/2 striping_unit=65536 striping_factor=2 \
        romio_lustre_overstriping=3 start_iodevice=1
    test_case lustre.created.over.free created '0 -1 65536 6 4 0 0 1 2 3 4 5' 0-eof:64Kx6 striping_unit=65536 striping_factor=2 \
        romio_lustre_overstriping=3
    test_case lustre.created.over.all created '0 -1 65536 16 4 0 0 1 2 3 4 5 6 7 0 1 2 3 4 5 6 7' 0-eof:64Kx16/8 striping_unit=65536 \
        striping_factor=-1 romio_lustre_overstriping=2
    test_case lustre.created.over.round on 4 created '0 -1 65536 8 4 0 3 0 1 2 3 0 1 2' 0-eof:64Kx8/4 striping_unit=65536 \
        striping_factor=4 start_iodevice=3 romio_lustre_overstriping=2
    test_case lustre.created.over.round.part on 4 created '0 -1 65536 6 4 0 2 3 0 2 3 0' 0-eof:64Kx6/3 striping_unit=65536 \
        striping_factor=3 start_iodevice=2 romio_lustre_overstriping=2
    for f in 2.15 2.17; do
        test_case "lustre.created.over.gaps.$f" with FAKE_LUSTRE_VERSION=$f on 0,2,5,17 created '0 -1 65536 6 4 0 5 17 0 5 17 0' \
            0-eof:64Kx6/3 striping_unit=65536 striping_factor=3 start_iodevice=5 romio_lustre_overstriping=2
        test_case "lustre.created.over.all.$f" with FAKE_LUSTRE_VERSION=$f on 4 created '0 -1 65536 8 4 0 0 1 2 3 0 1 2 3' \
            0-eof:64Kx8/4 striping_unit=65536 striping_factor=-1 romio_lustre_overstriping=2
    done
    for f in llapi_lov_get_uuids llapi_get_obd_count; do
        test_case "lustre.created.over.without.$f" with FAKE_LUSTRE_FAIL=$f=13 on 4 created '0 -1 65536 8 4 0 3 0 1 2 3 0 1 2' \
            0-eof:64Kx8/4 striping_unit=65536 striping_factor=-1 start_iodevice=3 romio_lustre_overstriping=2
    done
    test_case lustre.created.over.too_many on 3 created '0 -1 65536 6 4 0 1 2 0 1 2 0' 0-eof:64Kx6/3 striping_unit=65536 \
        striping_factor=50 start_iodevice=1 romio_lustre_overstriping=2
    test_case lustre.created.over.many on 2 created "0 -1 65536 80 4 0$(printf ' 0 1%.0s' {1..40})" 0-eof:64Kx80/2 \
        striping_unit=65536 striping_factor=-1 romio_lustre_overstriping=40
    test_case lustre.created.over.unknown without_overstriping
    test_case lustre.no_such_ost no_such_ost
    test_case lustre.not_created not_created "$scratch/fake.so"
    test_case lustre.not_created.library_missing not_created "$scratch/none.so"
    test_case lustre.existing existing_file_keeps_layout
    test_case lustre.nothing_asked nothing_asked
    test_case lustre.bad_unit bad_unit
    for f in llapi_layout_alloc llapi_layout_stripe_size_set llapi_layout_stripe_count_set llapi_layout_pattern_set \
        llapi_layout_ost_index_set llapi_layout_file_create set; do
        test_case "lustre.creation_fails.$f" creation_fails $f
    done
}

test_lustre_discovery() {
    local f kind
    test_case lustre.five five_writers
    for kind in even aligned cyclic group-cyclic; do
        test_case "lustre.five.$kind" five 0-3 cb_domain=$kind
        test_case "lustre.five.$kind.3" five 0,2,3 cb_domain=$kind cb_nodes=3
    done
    test_case lustre.five.small_buffer five 0,2 cb_nodes=2 cb_buffer_size=65536
    test_case lustre.five.config_list five 0,2 cb_nodes=3 'cb_config_list=*:2'
    test_case lustre.five.romios_own five 0 cb_placement=romio
    test_case lustre.special special_components 0-64K:64Kx1,64K-1M:64Kx2,1M-2M:64Kx6,2M-eof:128Kx8
    test_case lustre.special.few on 0,3,7 special_components 0-64K:64Kx1,64K-1M:64Kx2,1M-2M:64Kx6/3,2M-eof:128Kx3
    test_case lustre.special.uncounted with FAKE_LUSTRE_FAIL=llapi_lov_get_uuids=13 special_components \
        0-64K:64Kx1,64K-1M:64Kx2,1M-2M:64Kx6,2M-eof:128Kx8
    test_case lustre.unwritten.all unwritten 3 3 0,2,3 0x1000000000000003 0
    test_case lustre.unwritten.over unwritten 3 8/3 0,2,3 8 4
    test_case lustre.unwritten.over.all unwritten 3 6/3 0,2,3 0x1000000000000004 4
    test_case lustre.unwritten.too_many unwritten 3 3 0,2,3 8 0
    test_case lustre.looks_again looks_again_served
    test_case lustre.looks_again.early looks_again_served cb_early_return=enable
    test_case lustre.looks_again.declined looks_again
    test_case lustre.irregular irregular
    test_case lustre.refused.mirrored refused 'it is mirrored' <<<$'mirrors 2\ncomponent 0 -1 65536 1 0 0 0'
    test_case lustre.refused.released refused 'it is released: its data is in an archive' <<<'component 0 -1 65536 1 0x80000001 0 0'
    test_case lustre.refused.foreign refused 'it is foreign: its data is not on OSTs' <<<'component 0 -1 65536 1 8 0 0'
    test_case lustre.refused.pattern refused 'its pattern 0x800 is not known here' <<<'component 0 -1 65536 1 0x800 0 0'
    test_case lustre.refused.gap refused 'there is a gap between components' \
        <<<$'component 0 65536 65536 1 0 0 0\ncomponent 131072 -1 65536 1 0 0 0'
    test_case lustre.refused.many refused 'it has too many components' < <(many_components)
    for f in llapi_layout_get_by_fd llapi_layout_mirror_count_get llapi_layout_comp_use llapi_layout_comp_extent_get \
        llapi_layout_comp_flags_get llapi_layout_pattern_get llapi_layout_stripe_size_get llapi_layout_stripe_count_get \
        llapi_layout_ost_index_get; do
        test_case "lustre.discovery_fails.$f" discovery_fails $f
    done
}

test_lustre() {
    local f rank
    compile_lustre
    TIMEOUT=40
    test_lustre_creation
    test_lustre_discovery
    test_case lustre.library_missing library_missing
    test_case lustre.library_too_old library_too_old
    test_case lustre.not_on_lustre not_on_lustre lustre_pipe:
    test_case lustre.other_driver not_on_lustre ''
    test_case lustre.same_everywhere same_everywhere '0 -1 65536 7 0 0 0 1 2 3 4 5 6' 0-eof:64Kx7 striping_unit=65536 striping_factor=7
    test_case lustre.bad_factor bad_factor
    test_case lustre.lock.served locked 3
    test_case lustre.lock.below.disabled not_locked_below romio_tam=disable
    test_case lustre.lock.below.declined not_locked_below
    test_case lustre.lock.below.alone not_locked_below romio_cb_write=disable
    test_case lustre.lock.below.sieving not_locked_below romio_tam=disable romio_cb_write=disable romio_ds_write=enable
    test_case lustre.lock.pages_shared pages_shared
    test_case lustre.lock.late not_locked_before_all_come
    test_case lustre.lock.beside not_locked_beside_others
    test_case lustre.lock.none not_locked
    test_case lustre.lock.fails lock_fails
    test_case lustre.lock.unlock_fails unlock_fails
    test_case lustre.lock.fails_on_one lock_fails_on_one
    for f in disable enable; do
        for rank in 0 2; do
            test_case "lustre.full.$f.$rank" full_for_one_served $rank romio_lustre_group_lock=$f
            test_case "lustre.full.below.$f.$rank" full_for_one $rank romio_lustre_group_lock=$f 'cb_config_list=*:4'
            test_case "lustre.full.alone.$f.$rank" full_for_one_alone $rank romio_lustre_group_lock=$f
        done
    done
    test_case lustre.printed_hints printed_hints
    test_case lustre.printed_hints.disabled printed_way romio 0 romio_tam=disable
    test_case lustre.printed_hints.alone printed_way none none romio_cb_write=disable romio_cb_read=disable
    test_case lustre.told.served told_way 1000 100 cyclic 0-3 romio_tam=enable
    test_case lustre.told.declined told_way 1000 100 romio 0
    test_case lustre.told.disabled told_way 1000 100 romio 0,1 romio_tam=disable 'cb_config_list=*:2'
    test_case lustre.told.cb_disabled told_way 65536 1 none none romio_cb_write=disable
    test_case lustre.told.alone told_way 65536 1 none none
    test_case lustre.told.in_turn told_ways_in_turn
    test_case lustre.told_to_all told_to_all
    test_case lustre.hints_after_open hints_after_open
}
