/* Chained hashing; a table that cannot be enlarged is only slower. */
#include "port/map.h"

#include <errno.h>
#include <stdlib.h>

#define FIRST_SIZE 64

static struct cio_map_entry **bucket(const struct cio_map *map, struct cio_map_key key)
{
    return &map->buckets[cio_mix64(key.a + cio_mix64(key.b)) & (map->nbuckets - 1)];
}

static void push(struct cio_map *map, struct cio_map_entry *entry)
{
    struct cio_map_entry **head = bucket(map, entry->key);

    entry->next = *head;
    *head = entry;
}

static void enlarge(struct cio_map *map)
{
    struct cio_map larger = {.nbuckets = 2 * map->nbuckets, .count = map->count};

    larger.buckets = calloc(larger.nbuckets, sizeof(struct cio_map_entry *));
    if (larger.buckets == NULL)
        return;
    for (size_t i = 0; i < map->nbuckets; i++) {
        for (struct cio_map_entry *e = map->buckets[i], *next; e != NULL; e = next) {
            next = e->next;
            push(&larger, e);
        }
    }
    free(map->buckets);
    *map = larger;
}

int cio_map_init(struct cio_map *map)
{
    struct cio_map_entry **buckets = calloc(FIRST_SIZE, sizeof(struct cio_map_entry *));

    if (buckets == NULL)
        return -ENOMEM;
    *map = (struct cio_map){buckets, FIRST_SIZE, 0};
    return 0;
}

void cio_map_fini(struct cio_map *map, void (*destroy)(struct cio_map_entry *entry))
{
    for (size_t i = 0; i < map->nbuckets; i++) {
        for (struct cio_map_entry *e = map->buckets[i], *next; e != NULL; e = next) {
            next = e->next;
            destroy(e);
        }
    }
    free(map->buckets);
}

struct cio_map_entry *cio_map_find(const struct cio_map *map, struct cio_map_key key)
{
    struct cio_map_entry *e = *bucket(map, key);

    while (e != NULL && (e->key.a != key.a || e->key.b != key.b))
        e = e->next;
    return e;
}

void cio_map_add(struct cio_map *map, struct cio_map_entry *entry)
{
    if (map->count >= map->nbuckets)
        enlarge(map);
    push(map, entry);
    map->count++;
}
