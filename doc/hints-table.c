/*
 * Prints doc/hints.md from the hint table, so that the document cannot differ from the code:
 *
 *     cc -Isrc doc/hints-table.c src/plan/hints.c -o /tmp/hints-table && /tmp/hints-table >doc/hints.md
 */
#include <inttypes.h>
#include <stdio.h>

#include "plan/hints.h"

static const char header[] =
    "# Hints\n"
    "\n"
    "This page is printed by `doc/hints-table.c` from the table in `src/plan/hints.c`. Do not edit it.\n"
    "\n"
    "Hints are set for one file: in the `MPI_Info` of `MPI_File_open`, `MPI_File_set_view` or\n"
    "`MPI_File_set_info`, or for all files of a run in the file that the environment variable `ROMIO_HINTS`\n"
    "names, one `key value` per line (ROMIO reads at most 4096 bytes of it). Where both name a hint, the\n"
    "`MPI_Info` wins.\n"
    "\n"
    "- Numbers take the suffixes `K`, `M` and `G`, powers of 1024.\n"
    "- A value that is not allowed is reported once for each file, on standard error by rank 0, and ignored.\n"
    "- Effective values that differ between ranks give `MPI_ERR_NOT_SAME`.\n"
    "- `MPI_File_get_info` gives the value of every hint back, whether it was set or not, unless it has none.\n"
    "- *Effective now* says what the code does today. `no` means: a value is checked and then dropped, and\n"
    "  `MPI_File_get_info` gives back what is said beside it.\n"
    "\n"
    "| hint | values | default | effective now | meaning |\n"
    "| --- | --- | --- | --- | --- |\n";

static const char footer[] =
    "\n"
    "Limits of what is effective:\n"
    "\n"
    "- `romio_tam_stats` reports a nonblocking call at the next blocking collective call, `set_view` or `set_info`\n"
    "  after it is over, or when the file is closed; those made before ranks have agreed on hints (neither\n"
    "  `set_view`, `set_info` nor a blocking collective call came before), not at all.\n"
    "- `romio_tam` `automatic` decides for each call (a nonblocking one is declined only if each node has one\n"
    "  rank, or if it cannot be done), and `romio_tam_aggrs_per_node` `auto` when the groups are\n"
    "  made, and again once a blocking call has moved so much that more of them are worth it (`doc/tuning.md`).\n"
    "- Where shared memory cannot be had, messages take its place, also with `romio_tam_transport` `shm`. Ranks that\n"
    "  could not have it say so on standard error; with `shm`, rank 0 does in any case, once for each set of hints.\n"
    "- `cb_pipeline` `enable`, and an order named by `cb_schedule`, bring the engine in also with `romio_tam` `disable`: every\n"
    "  rank is then a group of its own, and nothing is merged inside nodes.\n"
    "- `cb_placement` `cost` is accepted and reported, but does what `spread` does.\n"
    "- `cb_domain` `group-cyclic` does what `cyclic` does unless the number of targets of the file is known (on Lustre,\n"
    "  or by `striping_factor`) and there are at least twice as many aggregators.\n"
    "- `cb_early_return` concerns blocking calls; not in atomic mode, with deferred open (`romio_no_indep_rw`) or with\n"
    "  `romio_lustre_group_lock`. Aggregators, and leaders of groups of several ranks, stay to the end. So do those whose\n"
    "  part of a read reaches beyond the end that the file had at the start, and ends in a zero byte.\n"
    "- `romio_lustre_overstriping` and `romio_lustre_group_lock` are for files on Lustre (`doc/lustre.md`); elsewhere the\n"
    "  first only multiplies the stripes that `striping_factor` speaks of.\n"
    "- `romio_tcio` and the `tcio_` hints: `doc/tcio.md`, also for what is passed to the driver below. `tcio_visibility` `auto`\n"
    "  is `immediate` here, and `sync` in `libtcio`. With `romio_tcio`, no rank returns early from collective calls.\n"
    "\n"
    "A file opened as `tam:NAME`, or with the environment variable `ROMIO_FSTYPE_FORCE=tam:`, is served as if\n"
    "`romio_tam` were `enable`, whatever that hint says.\n"
    "\n"
    "## What was chosen\n"
    "\n"
    "A hint comes back from `MPI_File_get_info` as the word it is (`automatic`, `auto`), so that the info object can be\n"
    "given to another `MPI_File_open`. What was made of it is told by further keys, once there is something to tell.\n"
    "They are no hints: as such they are ignored.\n"
    "\n"
    "| key | value | since |\n"
    "| --- | --- | --- |\n"
    "| `tamio_groups_per_node` | local aggregators on the fullest node | `set_view`, `set_info` or the first collective "
    "call |\n"
    "| `tamio_transport` | how requests travel inside nodes: `shm`, `p2p`, or `none` if every rank is a group of its own "
    "| as above |\n"
    "| `tamio_round` | bytes of one round | as above |\n"
    "| `tamio_pipeline_io` | how aggregators access the file: `blocking`, `thread` or `uring` | as above |\n"
    "| `tamio_pipeline_depth` | rounds that an aggregator may serve at once | the first call that was served |\n"
    "| `tamio_schedule` | `ORDER: REASON`, the order in which the last call that was served had its rounds | as above |\n"
    "| `tamio_last_call` | `served: REASON` or `left to the driver below: REASON` | the first collective call; of "
    "nonblocking ones, when it is over |\n"
    "| `tamio_tcio` | `enabled: VISIBILITY, N segments of BYTES bytes` or `passed: REASON` | `romio_tcio` `enable` |\n"
    "\n"
    "## Statistics\n"
    "\n"
    "A line of `romio_tam_stats` is one JSON object. `call` is `write`, `read`, `iwrite` or `iread`; `hint` what\n"
    "`romio_tam` says (`tam:` if the file was opened so), `chosen` who served the call (`tam` or `below`) and `why` the\n"
    "reason. `sum` has counts added up over all ranks, `max` the largest of any rank, `seconds` the longest time of any\n"
    "rank. A call that was left to the driver below has only what was found out before. TCIO has a line of its own for a file\n"
    "(`call` is `tcio`; `doc/tcio.md`).\n"
    "\n"
    "| count | meaning |\n"
    "| --- | --- |\n"
    "| `bytes`, `pieces`, `segments` | asked for; contiguous pieces of that; what is left of them after coalescing |\n"
    "| `metadata_bytes` | code of the segments |\n"
    "| `windows`, `rounds` | of the groups; of the aggregators |\n"
    "| `messages`, `message_bytes` | between leaders and aggregators |\n"
    "| `inter_node_messages`, `inter_node_bytes` | those that leave a node; `inter_node_data_bytes` and "
    "`inter_node_metadata_bytes` are the two parts of the bytes |\n"
    "| `touches`, `degree` | where another order than `offset` was looked for: pairs of a rank and a round that it touches "
    "(`touches` over `rounds` is the mean number of ranks on a round), and the most ranks on one round (in `max`) |\n"
    "| `depth` | rounds that an aggregator may serve at once |\n"
    "| `receives`, `receives_per_round` | messages with lists or data at an aggregator; the most for one round (in `max`) |\n"
    "| `file_calls`, `file_locks`, `file_bytes` | transfers; locks and unlocks; bytes of the transfers |\n"
    "| `copied_bytes`, `placed_bytes` | between user memory and messages; between messages and rounds |\n"
    "| `early_ranks` | ranks that returned before the call was over |\n"
    "| `sharing_ranks` | ranks that used shared memory |\n"
    "| `peak_bytes`, `segment_bytes` | buffers; shared memory |\n"
    "\n"
    "| time | meaning |\n"
    "| --- | --- |\n"
    "| `setup`, `schedule` | until all ranks have agreed; and on the order of rounds |\n"
    "| `intra_metadata`, `intra_merge`, `intra_copy` | in groups: describing pieces, merging them, copying data |\n"
    "| `inter_metadata`, `inter_data`, `inter_merge` | until an aggregator knows who touches what; a leader's messages, "
    "with their lists, on their way; decoding lists and putting data in place at an aggregator |\n"
    "| `file`, `serving` | file access; from an aggregator's first round to the end of its last |\n"
    "| `response`, `total` | until the rank returned; the same |\n"
    "\n"
    "`response` has the least, mean and longest time of ranks until they returned, in seconds. With early return a call is\n"
    "reported at the next collective call, `set_view` or `set_info`, or when the file is closed.\n"
    "\n"
    "`schedule` tells the `order` in which aggregators served their rounds, and `why`. Where all patterns came together\n"
    "(always, if another order was looked for and statistics are wanted), `predicted_by_offset` and `predicted` are the\n"
    "mean response of ranks in rounds, by offset and in this order (`doc/scheduling.md`). `achieved` is the mean that was\n"
    "measured, in rounds too: over what aggregators took for a round (the sum of `serving` over all, divided by the sum of\n"
    "`rounds`). It includes what the prediction knows nothing of: agreeing at the beginning; and in a write ranks are through\n"
    "when their bytes have left them, before the round is in the file. (It does know who stays to the end, and who leaves a\n"
    "write at once; but not that members of groups whose bytes go in several windows return when one is over.) Compare it\n"
    "with the `achieved` of another order, as `predicted` with `predicted_by_offset`.\n"
    "\n"
    "## ROMIO's own hints\n"
    "\n"
    "They keep their names. Those that the two-layer path heeds:\n"
    "\n"
    "| hint | what it does there |\n"
    "| --- | --- |\n"
    "| `romio_cb_write`, `romio_cb_read` | `disable` leaves the call to the driver below |\n"
    "| `cb_nodes`, `cb_config_list` | give the number of global aggregators; which ranks they are is up to "
    "`cb_placement`, whose value `romio` takes the ranks of `cb_config_list`. Where the number of targets of the file "
    "is known and `cb_config_list` is not given: `cb_nodes`, or by default one for each target, or what "
    "`doc/lustre.md` says |\n"
    "| `cb_buffer_size` | a round has at most a quarter of it, but never less than 4096 bytes; a call that one rank serves "
    "with the first messages, a 1024th of it, 16 KiB at most (`doc/tuning.md`) |\n"
    "| `striping_unit` | bytes of a stripe, if the file system does not tell. If known: the size of a round, as far as "
    "`cb_buffer_size` allows, and `cb_domain` `auto` means `cyclic`; if not: a round has 2 MiB, and `auto` means "
    "`aligned`, to blocks of the file system (`st_blksize`) |\n"
    "| `striping_factor` | targets (OSTs) that the file is striped over, likewise; taken on every file system; rank 0's "
    "value is used |\n"
    "| `start_iodevice` | the first OST of a file created on Lustre; also as `romio_lustre_start_iodevice` |\n"
    "| `romio_ds_write`, `romio_ds_read` | whether an aggregator accesses a round that has holes in one piece, "
    "holes included; `automatic`: if it has more than two runs of bytes, and a run with the hole behind it takes "
    "less than 64 KiB on average |\n"
    "| `romio_no_indep_rw` | with deferred open the aggregators are ROMIO's own, whatever `cb_placement` says |\n"
    "| `romio_cb_pfr` | anything but `disable` leaves the call to the driver below |\n"
    "\n"
    "## What is told besides\n"
    "\n"
    "`MPI_File_get_info` has these on all ranks after the first collective call or `MPI_File_set_view` on the file, and\n"
    "`ROMIO_PRINT_HINTS` prints them when it is opened. They are not hints: setting them has no effect.\n"
    "\n"
    "| key | value |\n"
    "| --- | --- |\n"
    "| `tamio_layout_source` | `lustre`, `hints` or `none`: how the striping of the file is known |\n"
    "| `tamio_layout` | its components, as in `0-4M:1Mx1,4M-eof:4Mx8/4`: range of the file, bytes of a stripe, stripes in "
    "a cycle (`?`: unknown), and targets if they are fewer |\n"
    "| `tamio_domain` | what `cb_domain` comes to: `even`, `aligned`, `cyclic`, `group-cyclic`. Where the last call was "
    "left to the driver below: `romio`, which has its own way; or `none`, each rank accessed the file by itself |\n"
    "| `tamio_aggregators` | ranks of the global aggregators, in their order, as in `0,64,8-11`; with `romio` those of "
    "ROMIO, which may find that it needs none; with `none` it is `none` |\n"
    "| `striping_unit`, `striping_factor` | where a layout is known: those of its last component |\n";

/* "`auto`, `shm`, `p2p`", with the range or the form of a path. */
static void print_values(const struct cio_hint *h)
{
    const char *sep = "";

    for (int i = 0; h->words[i] != NULL; i++, sep = ", ")
        printf("%s`%s`", sep, h->words[i]);
    if (h->kind == CIO_HINT_NUMBER)
        printf("%s%s%" PRId64 " to %" PRId64, sep, h->power ? "a power of two, " : "", h->min, h->max);
    else if (h->kind == CIO_HINT_TEXT)
        printf("%s`%sPATH`", sep, h->prefix);
}

static void print_default(const struct cio_hint *h)
{
    if (h->initial == NULL)
        printf("unset");
    else
        printf("`%s`", h->initial);
}

static void print_effect(const struct cio_hint *h)
{
    if (h->inert == NULL)
        printf("yes");
    else if (h->inert[0] == '\0')
        printf("no: not reported");
    else
        printf("no: reported as `%s`", h->inert);
}

static void print_row(const struct cio_hint *h)
{
    printf("| `%s` | ", h->name);
    print_values(h);
    printf(" | ");
    print_default(h);
    printf(" | ");
    print_effect(h);
    printf(" | %s |\n", h->help);
}

int main(void)
{
    size_t rows;
    const struct cio_hint *table = cio_hint_table(&rows);

    fputs(header, stdout);
    for (size_t i = 0; i < rows; i++)
        print_row(&table[i]);
    fputs(footer, stdout);
    return 0;
}
