/* Local and global aggregators: the TAM paper's figures, and what must hold of any placement. */
#include "check.h"

#include <errno.h>
#include <string.h>

#include "plan/aggr.h"

enum { MAX_RANKS = 80 };

static void test_paper_numbers(void)
{
    static const int eight[] = {0, 3, 6}, seven[] = {0, 3, 5};
    static const int served[] = {0, 0, 0, 1, 1, 1, 2, 2};

    for (int i = 0; i < 3; i++) {
        CHECK(cio_local_aggr(8, 3, i) == eight[i]);
        CHECK(cio_local_aggr(7, 3, i) == seven[i]);
    }
    for (int r = 0; r < 8; r++)
        CHECK(cio_local_group(8, 3, r) == served[r]);
}

/* Against the formula as DESIGN.md writes it, and the definition of who serves whom. */
static void test_all_small_groups(void)
{
    for (int q = 1; q <= 40; q++)
        for (int c = -1; c <= q + 2; c++) {
            int n = c < 1 ? 1 : c > q ? q : c;
            int e = q % n, up = (q + n - 1) / n, down = q / n, group = 0;

            for (int i = 0; i < n; i++)
                CHECK(cio_local_aggr(q, c, i) == (i < e ? up * i : up * e + down * (i - e)));
            for (int r = 0; r < q; r++) {
                if (group + 1 < n && cio_local_aggr(q, c, group + 1) == r)
                    group++;
                CHECK(cio_local_group(q, c, r) == group);
            }
        }
}

static struct cio_nodes *even_nodes(int nnodes, int per_node, int cyclic)
{
    struct cio_nodes *nodes = NULL;
    int node_of[256];

    for (int r = 0; r < nnodes * per_node; r++)
        node_of[r] = cyclic ? r % nnodes : r / per_node;
    CHECK(cio_nodes_create(node_of, nnodes * per_node, &nodes) == 0);
    return nodes;
}

static void check_spread(int nnodes, int per_node, int cyclic, const int *socket_of, int naggr,
                         const int *want)
{
    struct cio_nodes *nodes = even_nodes(nnodes, per_node, cyclic);
    int got[256];

    CHECK(cio_global_spread(nodes, naggr, socket_of, got) == naggr);
    for (int i = 0; i < naggr; i++)
        CHECK(got[i] == want[i]);
    cio_nodes_destroy(nodes);
}

static void test_figures(void)
{
    int by_half[16], by_turn[16], uneven[16];

    for (int r = 0; r < 16; r++) {
        by_half[r] = r % 8 / 4;
        by_turn[r] = r % 2;
        uneven[r] = r % 8 >= 6;
    }
    check_spread(3, 8, 0, NULL, 3, (int[]){0, 8, 16});  /* figure 1a */
    check_spread(6, 8, 0, NULL, 3, (int[]){0, 16, 32}); /* figure 1b: nodes 0, 2, 4 */
    check_spread(2, 64, 0, NULL, 4, (int[]){0, 64, 32, 96});
    check_spread(3, 4, 1, NULL, 6, (int[]){0, 1, 2, 6, 7, 8});
    check_spread(4, 2, 0, NULL, 6, (int[]){0, 2, 4, 6, 1, 5});
    check_spread(2, 8, 0, by_half, 4, (int[]){0, 8, 4, 12});
    check_spread(2, 8, 0, by_turn, 4, (int[]){0, 8, 1, 9});
    check_spread(2, 8, 0, by_turn, 8, (int[]){0, 8, 1, 9, 4, 12, 5, 13});
    check_spread(2, 8, 0, uneven, 4, (int[]){0, 8, 6, 14});
}

static void test_uneven_nodes(void)
{
    static const int node_of[] = {0, 1, 1, 1, 1, 2, 2};
    struct cio_nodes *nodes;
    int got[7];

    CHECK(cio_nodes_create(node_of, 7, &nodes) == 0);
    CHECK(cio_global_spread(nodes, 5, NULL, got) == 5);
    CHECK(!memcmp(got, (int[]){0, 1, 5, 3, 6}, sizeof(int[5])));
    CHECK(cio_global_spread(nodes, 100, NULL, got) == 7);
    CHECK(cio_global_spread(nodes, 0, NULL, got) == -EINVAL);
    cio_nodes_destroy(nodes);
}

/* Distinct ranks, balanced over nodes and their sockets, dealt to different nodes in turn. */
static void check_balance(const struct cio_nodes *nodes, const int *group_of, int ngroups,
                          const int *ranks, int n, int node)
{
    int size[MAX_RANKS] = {0}, got[MAX_RANKS] = {0};

    for (int r = 0; r < nodes->nranks; r++)
        if (node < 0 || nodes->node[r] == node)
            size[group_of[r]]++;
    for (int i = 0; i < n; i++)
        if (node < 0 || nodes->node[ranks[i]] == node)
            got[group_of[ranks[i]]]++;
    for (int a = 0; a < ngroups; a++)
        for (int b = 0; b < ngroups; b++)
            CHECK(got[a] >= got[b] - 1 || got[a] == size[a]);
}

static void test_random_spread(uint64_t *rng)
{
    int node_of[MAX_RANKS], socket_of[MAX_RANKS], ranks[MAX_RANKS], used[MAX_RANKS] = {0};
    int nranks = (int)check_between(rng, 1, MAX_RANKS), nnodes = 0, n;
    int most = (int)check_between(rng, 1, 12), naggr = (int)check_between(rng, 1, nranks);
    int with_sockets = check_random(rng) % 2;
    struct cio_nodes *nodes;

    for (int r = 0; r < nranks; r++) {
        node_of[r] = (int)check_between(rng, 0, nnodes < most ? nnodes : most - 1);
        nnodes += node_of[r] == nnodes;
        socket_of[r] = with_sockets ? (int)check_between(rng, 0, 3) : 0;
    }
    CHECK(cio_nodes_create(node_of, nranks, &nodes) == 0);
    CHECK(nodes->nnodes == nnodes);
    n = cio_global_spread(nodes, naggr, with_sockets ? socket_of : NULL, ranks);
    CHECK(n == naggr);
    for (int i = 0; i < n; i++)
        CHECK(ranks[i] >= 0 && ranks[i] < nranks && used[ranks[i]]++ == 0);
    check_balance(nodes, node_of, nnodes, ranks, n, -1);
    for (int i = 0; i < nnodes; i++)
        check_balance(nodes, socket_of, 4, ranks, n, i);
    for (int i = 1; i < n && i < nnodes; i++)
        CHECK(node_of[ranks[i]] > node_of[ranks[i - 1]]);
    cio_nodes_destroy(nodes);
}

static void test_nodes(void)
{
    static const char *const names[] = {"b", "a", "b", "aa", "a", "b", ""};
    static const int want[] = {0, 1, 0, 2, 1, 0, 3}, local[] = {0, 0, 1, 0, 1, 2, 0};
    int node_of[7];
    struct cio_nodes *nodes = NULL;

    CHECK(cio_nodes_from_names(names, 7, node_of) == 0);
    CHECK(!memcmp(node_of, want, sizeof(want)));
    CHECK(cio_nodes_create(node_of, 7, &nodes) == 0);
    CHECK(nodes->nnodes == 4 && nodes->nranks == 7);
    CHECK(cio_nodes_count(nodes, 0) == 3 && cio_nodes_count(nodes, 3) == 1);
    CHECK(!memcmp(nodes->local, local, sizeof(local)));
    CHECK(!memcmp(nodes->ranks, (int[]){0, 2, 5, 1, 4, 3, 6}, sizeof(int[7])));
    cio_nodes_destroy(nodes);

    nodes = NULL;
    CHECK(cio_nodes_create((int[]){0, 2}, 2, &nodes) == -EINVAL);
    CHECK(cio_nodes_create((int[]){1, 0}, 2, &nodes) == -EINVAL);
    CHECK(cio_nodes_create((int[]){0, -1}, 2, &nodes) == -EINVAL);
    CHECK(nodes == NULL);
}

/* Names as of a large machine; quadratic work would show. */
static void test_many_names(void)
{
    enum { N = 200000, NODES = 5000 };
    char(*text)[16] = malloc(N * sizeof(*text));
    const char **names = malloc(N * sizeof(*names));
    int *node_of = malloc(N * sizeof(*node_of));

    for (int r = 0; r < N; r++) {
        snprintf(text[r], sizeof(text[r]), "nid%06d", r % NODES * 7 % NODES);
        names[r] = text[r];
    }
    CHECK(cio_nodes_from_names(names, N, node_of) == 0);
    for (int r = 0; r < N; r++)
        CHECK(node_of[r] == r % NODES);
    free(text);
    free(names);
    free(node_of);
}

static void text_is(const int *ranks, int n, size_t size, const char *expected)
{
    char text[256];

    memset(text, 'x', sizeof(text));
    cio_ranks_text(ranks, n, text, size);
    if (!CHECK(strcmp(text, expected) == 0))
        fprintf(stderr, "\"%s\" instead of \"%s\"\n", text, expected);
    CHECK(text[size] == 'x');
}

static void test_ranks_text(void)
{
    static const int some[] = {0, 64, 8, 9, 10, 11, 3, 4, 2, 1, 0};
    static const int far[] = {0x7fffffff, 0x7ffffffe, 0x7fffffff, 0x7ffffffd, 0x7fffffff};

    text_is(some, 0, 200, "");
    text_is(some, 1, 200, "0");
    text_is(some, 11, 200, "0,64,8-11,3,4,2,1,0");
    text_is(some + 2, 4, 64, "8-11");
    text_is(far, 5, 64, "2147483647,... (5 in all)");
}

int main(void)
{
    uint64_t rng = check_seed();

    test_paper_numbers();
    test_all_small_groups();
    test_figures();
    test_uneven_nodes();
    test_nodes();
    test_many_names();
    test_ranks_text();
    for (int i = 0; i < 3000; i++)
        test_random_spread(&rng);
    return check_done("test_aggr");
}
