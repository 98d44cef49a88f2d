# shellcheck shell=bash
# What the layer tells of its work: statistics, choices, shared memory that cannot be had. Sourced by run.

# Of each line of statistics: the call, how requests travelled, who served it, its bytes, and why.
stats_of() { # FILE
    sed 's/.*"call": "\([a-z]*\)", "ranks": 4,.*"transport": "\([a-z0-9]*\)".*"chosen": "\([a-z]*\)", "why": "\([^"]*\)", "sum": {"bytes": \([0-9]*\).*}}$/\1 \2 \3 \5 \4/' "$1"
}

# Nonblocking calls are told of at the next blocking call after they are over, or when the file is closed. One may be over
# before a blocking call that began after it, or not: lines are compared without their order.
stats_of_all_calls() { # TRANSPORT
    rm -f "$scratch/stats"
    launch ours 4 "romio_tam enable
cb_buffer_size 16384
romio_tam_transport $1
romio_tam_stats $scratch/stats" stats "$file" || return
    stats_of "$scratch/stats" | sort >"$scratch/got"
    sort >"$scratch/expected" <<END
write $1 tam 4000 it was asked for
iwrite $1 tam 4000 it was asked for
iread $1 tam 2000 it was asked for
read $1 tam 1000 it was asked for
iread $1 tam 4000 it was asked for
read none below 0 atomic mode is on
iread $1 tam 4000 it was asked for
iwrite $1 tam 4000 it was asked for
iread $1 tam 2000 it was asked for
END
    equal "$scratch/expected" "$scratch/got"
}

stats_off() {
    launch ours 4 'romio_tam enable' stats "$file" >"$scratch/o" 2>&1 || return
    [ ! -s "$scratch/o" ] || { cat "$scratch/o"; return 1; }
}

# All ranks do as rank 0's hints say, whatever one of them was told.
stats_on_one_rank() {
    rm -f "$scratch/stats"
    launch ours 4 'romio_tam enable' stats "$file" "$scratch/stats" 2>"$scratch/e" || { cat "$scratch/e"; return 1; }
    grep -qF 'hints differ between ranks' "$scratch/e" && [ ! -e "$scratch/stats" ]
}

# What a key was after a step; nothing if it was not there.
choice() { # STEP KEY
    sed -n "s/^$1 $2=//p" "$scratch/o"
}

chose() { # STEP KEY VALUE
    [ "$(choice "$1" "$2")" = "$3" ] || { echo "$1: $2 is not \"$3\":"; cat "$scratch/o"; return 1; }
}

choices_are_told() {
    launch ours 4 '' choices "$file" >"$scratch/o" || { cat "$scratch/o"; return 1; }
    local step
    chose open tamio_transport '' && chose view tamio_last_call '' && chose passed_on 'tamio_.*' '' &&
        chose passed_on romio_tam automatic && chose passed_on romio_tam_aggrs_per_node auto || return
    for step in view tiny atomic; do
        chose $step tamio_groups_per_node 1 && chose $step tamio_transport shm && chose $step tamio_round 2097152 || return
    done
    chose tiny tamio_last_call 'served: pieces are tiny' && chose again tamio_last_call 'served: pieces are tiny' &&
        chose nonblocking tamio_last_call 'served: it is nonblocking' &&
        chose few tamio_last_call 'left to the driver below: ranks on a node are few' &&
        chose atomic tamio_last_call 'left to the driver below: atomic mode is on'
}

# With more groups, or none that share anything, and smaller rounds.
choices_follow_hints() { # GROUPS REPORTED TRANSPORT
    launch ours 4 "romio_tam_aggrs_per_node $1
cb_buffer_size 16384" choices "$file" >"$scratch/o" || { cat "$scratch/o"; return 1; }
    chose view tamio_groups_per_node "$2" && chose view tamio_transport "$3" && chose view tamio_round 4096
}

# 16 ranks on one node with 144 MiB.
groups_follow_volume() {
    launch ours 16 '' volume "$file" >"$scratch/o" || { cat "$scratch/o"; return 1; }
    [ "$(grep -E '^(view|small|large|again) ' "$scratch/o" | tr '\n' ' ')" = 'view 1 small 1 large 2 again 2 ' ] ||
        { cat "$scratch/o"; return 1; }
}

small_calls() { # HINTS
    launch ours 4 "$1" small "$file" >"$scratch/o" 2>&1 || { cat "$scratch/o"; return 1; }
}

# Nothing can be made in /dev/shm: messages instead, and rank 0 says so if shared memory was asked for by name.
no_shared_memory() { # TRANSPORT NOTICES
    need_root || return
    disk_options=ro disk_at=/dev/shm
    launch ours 4 "romio_tam_transport $1" choices "$file" >"$scratch/o" 2>"$scratch/e"
    local status=$? notices
    disk_options='' disk_at=$scratch/disk
    [ $status -eq 0 ] || { cat "$scratch/o" "$scratch/e"; return 1; }
    notices=$(grep -cF "file $file: hint romio_tam_transport: shared memory cannot be had" "$scratch/e")
    [ "$notices" -eq "$2" ] || { echo "$notices notices"; cat "$scratch/e"; return 1; }
    chose view tamio_transport p2p && chose tiny tamio_last_call 'served: pieces are tiny'
}

test_reports() {
    test_case stats.shm stats_of_all_calls shm
    test_case stats.p2p stats_of_all_calls p2p
    test_case stats.off stats_off
    test_case stats.one_rank stats_on_one_rank
    test_case choices.told choices_are_told
    test_case choices.groups choices_follow_hints 3 3 shm
    test_case choices.alone choices_follow_hints 99 4 none
    test_case choices.volume groups_follow_volume
    test_case small.shm small_calls ''
    test_case small.p2p small_calls 'romio_tam_transport p2p'
    test_case small.groups small_calls 'romio_tam_aggrs_per_node 3
cb_config_list *:*
cb_nodes 2'
    test_case transport.shm no_shared_memory shm 1
    test_case transport.auto no_shared_memory auto 0
}
