/* The hash table: what was added is found, nothing else is, and all of it is handed back. */
#include "../plan/check.h"

#include "port/map.h"

enum { ENTRIES = 50000 };

/* Keys that differ only in high bits, or only in one half, must do as well as others. */
static struct cio_map_key key_of(uint64_t i)
{
    switch (i % 3) {
    case 0:
        return (struct cio_map_key){i << 40, 0};
    case 1:
        return (struct cio_map_key){0, i};
    default:
        return (struct cio_map_key){i, i};
    }
}

static void release(struct cio_map_entry *entry)
{
    CHECK(entry->key.a != 1);
    free(entry);
}

int main(void)
{
    struct cio_map map;

    CHECK(cio_map_init(&map) == 0);
    for (uint64_t i = 0; i < ENTRIES; i++) {
        struct cio_map_entry *e = malloc(sizeof(*e));

        CHECK(cio_map_find(&map, key_of(i)) == NULL);
        e->key = key_of(i);
        cio_map_add(&map, e);
    }
    CHECK(map.count == ENTRIES && map.nbuckets >= ENTRIES);
    for (uint64_t i = 0; i < ENTRIES; i++) {
        struct cio_map_entry *e = cio_map_find(&map, key_of(i));

        CHECK(e != NULL && e->key.a == key_of(i).a && e->key.b == key_of(i).b);
    }
    CHECK(cio_map_find(&map, (struct cio_map_key){5, 6}) == NULL);
    cio_map_fini(&map, release);
    return check_done("test_map");
}
