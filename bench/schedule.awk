# Judges the table that bench/schedule prints. Exits with 1, and says why, if a figure misses its limit.
#
# Variables: points (that automatic may be below the best order), slowest (the slowest rank over that of offset, at most),
# sketch (1: compare with it).
# Columns: name, offset, four orders and automatic below it in percent, slowest. A row that begins with +- has no offset, and
# in the columns of the orders what draws of the workload above it differ by.
function miss(text) { print text; missed = 1 }

# In whole percent, as the sketch has them. What it has of random workloads is of one draw.
function compare(name,    i, figure, text) {
    if (!(name in of_sketch)) return
    split(of_sketch[name], figure)
    for (i = 1; i <= ORDERS; i++) {
        if (below[i] >= figure[i] - 0.5) continue
        text = sprintf("%s: %s is at %.2f %%, in a sketch of it at %d", name, order[i], below[i], figure[i])
        if (below[i] + apart[i] < figure[i]) miss(text)
        else print text ", which is within what draws differ by"
    }
}
function take(list, first,    i) { for (i = 1; i <= ORDERS; i++) list[i] = first ? $(first + i - 1) + 0 : 0 }
BEGIN {
    ORDERS = 4
    if (sketch) {
        of_sketch["fixed"] = "33 33 33 25"
        of_sketch["random-10"] = "1 37 41 54"
        of_sketch["random-30"] = "1 9 13 38"
        of_sketch["gcrm"] = "-1 2 23 46"
    }
}
$1 == "workload" { for (i = 1; i <= ORDERS; i++) order[i] = $(i + 2); next }
$1 == "+-" { take(apart, 2); next }
NF < 8 { next }
{
    compare(name)
    name = $1
    rows++
    take(below, 3)
    take(apart, 0)
    best = 0
    for (i = 1; i <= ORDERS; i++) if (below[i] > best) best = below[i]
    if ($7 + 0 < best - points) miss(name ": automatic is " best - $7 " points short")
    if ($8 + 0 > slowest) miss(name ": the slowest rank takes " $8 " times as long")
}
END {
    compare(name)
    exit missed || !rows
}
