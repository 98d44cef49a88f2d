# Judges the table that bench/schedule prints. Exits with 1, and says why, if a figure misses its limit.
#
# Variables: points (that automatic may be below the best order), slowest (the slowest rank over that of offset, at most),
# sketch (1: orders must be what they were in a sketch of them, in whole percent).
# Columns: name, offset, four orders and automatic below it in percent, slowest. A row that begins with +- is none.
function miss(text) { print text; missed = 1 }
function below(i) { return $(i + 2) + 0 }
BEGIN {
    ORDERS = 4
    of_sketch["fixed"] = "33 33 33 25"
    of_sketch["python-10"] = "1 37 41 54"
    of_sketch["python-30"] = "1 9 13 38"
    of_sketch["gcrm"] = "-1 2 23 46"
}
$1 == "workload" { for (i = 1; i <= ORDERS; i++) order[i] = $(i + 2); next }
$1 == "+-" || NF < 8 { next }
{
    rows++
    best = 0
    for (i = 1; i <= ORDERS; i++) if (below(i) > best) best = below(i)
    if ($7 + 0 < best - points) miss($1 ": automatic is " best - $7 " points short")
    if ($8 + 0 > slowest) miss($1 ": the slowest rank takes " $8 " times as long")
}
sketch && $1 in of_sketch {
    split(of_sketch[$1], figure)
    for (i = 1; i <= ORDERS; i++)
        if (below(i) < figure[i] - 0.5) miss($1 ": " order[i] " is at " below(i) " %, in the sketch at " figure[i])
}
END { exit missed || !rows }
