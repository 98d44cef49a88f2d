# What bench/schedule-wall measured of one workload, as rows of its table. Exits with 1 if a figure misses its limit, and
# with 2 if none does but some cannot be judged: the host took more than LOUD percent away from the call, or from offset's.
#
# Variables: workload, groups (of each node), grouped (1 if they are of more than one rank), orders (their names).
# Lines: "mean ORDER CALL T ...", "result ORDER CALL T ..." (of the slowest rank), "stolen ORDER CALL PART ..." (of all
# processor time), one for each turn, and "prediction ORDER CALL BY-OFFSET PREDICTED CHOSEN".
function mark(miss) {
    if (!miss) return " "
    if (disturbed) { doubted++; return "?" }
    missed++
    return "!"
}
function median(list, n,    v, i, j, t) {
    for (i = 1; i <= n; i++) v[i] = list[i]
    for (i = 2; i <= n; i++)
        for (j = i; j > 1 && v[j] < v[j - 1]; j--) { t = v[j]; v[j] = v[j - 1]; v[j - 1] = t }
    return n % 2 ? v[(n + 1) / 2] : (v[n / 2] + v[n / 2 + 1]) / 2
}
# The median of a row of times; or, beside that of another order, of what they are in parts of it, turn by turn.
function middle(what, order, other, call,    list, i) {
    for (i = 1; i <= turns; i++) list[i] = t[what, order, call, i] / (other == "" ? 1 : t[what, other, call, i])
    return median(list, turns)
}
# What was taken away, in percent, where it is most.
function stolen(order, call,    i, most) {
    for (i = 1; i <= turns; i++) if (100 * t["stolen", order, call, i] > most) most = 100 * t["stolen", order, call, i]
    return most
}
# How far below the best order automatic may be. In a write of groups the mean is a small part of the call, and points of
# that are noise: there they are points of the slowest rank.
function leeway(call) { return 2 * (call == "write" && grouped ? middle("result", "offset", "", call) / middle("mean", "offset", "", call) : 1) }
function gain(order, call) { return 100 * (1 - middle("mean", order, "offset", call)) }
function row(order, call, best,    g, p, s) {
    g = gain(order, call)
    s = middle("result", order, "offset", call)
    disturbed = stolen(order, call) > LOUD || stolen("offset", call) > LOUD
    p = (order, call) in predicted ? predicted[order, call] : 0
    printf "%-9s %6d %-5s %-12s %8.3f %8.3f %7.1f%s ", workload, groups, call, order, middle("mean", order, "", call),
        middle("result", order, "", call), g, mark(order == "automatic" && g < best - leeway(call))
    if (order == "closed") { printf "%9s %6s  %7.3f  %7.1f\n", "", "", s, stolen(order, call); return }
    printf "%9.1f ", p
    if (p < 1 || (call == "write" && grouped)) printf "%6s  ", "-"
    else printf "%6.2f%s ", g / p, mark(g / p < 0.8 && p - g > 2)
    printf "%7.3f%s %7.1f %s\n", s, mark(s > 1.03), stolen(order, call), chosen[order, call]
}
$1 == "prediction" { predicted[$2, $3] = $4 > 0 ? 100 * (1 - $5 / $4) : 0; chosen[$2, $3] = $6; next }
{ turns = NF - 3; for (i = 1; i <= turns; i++) t[$1, $2, $3, i] = $(i + 3) }
BEGIN { LOUD = 20 }
END {
    n = split(orders, order, " ")
    for (c = 1; c <= 2; c++) {
        call = c == 1 ? "write" : "read"
        best = 0
        for (i = 1; i <= n; i++)
            if (order[i] != "automatic" && order[i] != "closed" && gain(order[i], call) > best) best = gain(order[i], call)
        for (i = 1; i <= n; i++) row(order[i], call, best)
    }
    exit missed > 0 ? 1 : doubted > 0 ? 2 : 0
}
