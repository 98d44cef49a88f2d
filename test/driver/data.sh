# shellcheck shell=bash
# The same collective calls under ours and stock: what they print and leave must be equal. Sourced by run.

# Which cases of data.c: one of 17 (it has no divisor in common with the inner loops), others each time.
turn=0
next_part() {
    [ -z "$full" ] || { part=0/1; return; }
    part=$((turn % 17))/17
    turn=$((turn + 1))
}

run_data() { # SIDE LAYOUT HINTS DIR
    rm -rf "$4"
    mkdir -p "$4/files"
    launch "$1" "$2" "$3" data "$4/files" "$part" >"$4/out" 2>"$4/err" ||
        { echo "$1 failed with $?"; tail -n 5 "$4/err"; tail -n 5 "$4/out"; rm -rf "$4"; return 1; }
}

# What stock does depends on the number of ranks only, not on where they are: once for each number and part.
run_stock_data() { # RANKS
    stock_data=$scratch/data.stock.$1.${part//\//of}
    [ -e "$stock_data" ] || run_data stock "$1" '' "$stock_data"
}

compare_data() { # LAYOUT HINTS
    local ranks=$1 status=0 stock_data=
    case $1 in 3x3*) enter_cluster || return; ranks=9 ;; esac
    echo "cases $part, hints: $2"
    run_stock_data "$ranks" && run_data ours "$1" "$2" "$scratch/data.ours" || return 1
    equal "$stock_data/out" "$scratch/data.ours/out" && diff -r "$stock_data/files" "$scratch/data.ours/files" || status=1
    rm -rf "$scratch/data.ours"
    return $status
}

# Stock's two-phase counts all that was asked for.
counts_to_the_end() { # LAYOUT TRANSPORT
    case $1 in 3x3*) enter_cluster || return ;; esac
    launch ours "$1" "romio_tam enable
cb_buffer_size 65536
romio_tam_transport $2" eof "$file"
}

# Every order was taken by some call; and where a response was predicted, what was achieved is told.
orders_told() {
    local order
    for order in offset mdf lw-mdf gw-mdf first-finish; do
        grep -q "\"schedule\": {\"order\": \"$order\"" "$scratch/orders" || { echo "never: $order"; return 1; }
    done
    grep '"predicted": ' "$scratch/orders" >"$scratch/predicted" || { echo 'nothing is predicted'; return 1; }
    ! grep -v '"achieved": [0-9]' "$scratch/predicted"
}

# Types are looked at once; what was found is theirs alone, and goes with them.
test_types() {
    local mode
    for mode in cost handles extents memory threads late; do
        test_case types.$mode launch ours 4 'romio_tam enable' types "$scratch/files/file" $mode
    done
    test_case types.handles.p2p launch ours 4 'romio_tam enable
romio_tam_transport p2p' types "$scratch/files/file" handles
    test_case types.handles.default launch ours 4 '' types "$scratch/files/file" handles
}

test_data() {
    local layout transport aggrs order
    TIMEOUT=120
    test_types
    for layout in 4 7 3x3 3x3-cyclic; do
        for transport in shm p2p; do
            for aggrs in 1 2; do
                next_part
                test_case "data.$layout.$transport.$aggrs" compare_data $layout "romio_tam enable
cb_buffer_size 65536
romio_tam_transport $transport
romio_tam_aggrs_per_node $aggrs"
            done
        done
        for transport in shm p2p; do
            test_case "eof.$layout.$transport" counts_to_the_end $layout $transport
        done
        next_part
        test_case "data.$layout.striped" compare_data $layout 'romio_tam enable
cb_buffer_size 65536
striping_unit 8192
striping_factor 3
romio_lustre_overstriping 2'
        for order in automatic mdf lw-mdf gw-mdf first-finish; do
            next_part
            # the other way in the next layout
            transport=$([ $((turn % 2)) -eq 0 ] && echo shm || echo p2p)
            test_case "data.$layout.$order.$transport" compare_data $layout "romio_tam enable
cb_buffer_size 65536
cb_schedule $order
romio_tam_transport $transport
romio_tam_stats $scratch/orders"
        done
        test_case "data.$layout.orders" orders_told
        # without statistics aggregators make this one by themselves
        next_part
        test_case "data.$layout.gw-mdf.untold" compare_data $layout 'romio_tam enable
cb_buffer_size 65536
cb_schedule gw-mdf'
        next_part
        test_case "data.$layout.default" compare_data $layout ''
        test_case "data.$layout.disable" compare_data $layout 'romio_tam disable'
    done
}
