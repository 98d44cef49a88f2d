/*
 * A hash table of entries that live inside structs of the caller's, keyed by two numbers. Entries
 * are only ever added; they go all together at the end.
 */
#ifndef CIO_PORT_MAP_H
#define CIO_PORT_MAP_H

#include <stddef.h>
#include <stdint.h>

struct cio_map_key {
    uint64_t a, b;
};

struct cio_map_entry {
    struct cio_map_entry *next;
    struct cio_map_key key;
};

struct cio_map {
    struct cio_map_entry **buckets;
    size_t nbuckets, count;
};

/* Spreads a number's bits over all of it, one to one (splitmix64's last step). */
static inline uint64_t cio_mix64(uint64_t x)
{
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
    x = (x ^ x >> 27) * 0x94d049bb133111ebu;
    return x ^ x >> 31;
}

/* -ENOMEM. */
int cio_map_init(struct cio_map *map);

/* Hands every entry to `destroy`, then frees the table. */
void cio_map_fini(struct cio_map *map, void (*destroy)(struct cio_map_entry *entry));

/* NULL if there is none. */
struct cio_map_entry *cio_map_find(const struct cio_map *map, struct cio_map_key key);

/* Adds an entry whose key is set and not in the table yet. */
void cio_map_add(struct cio_map *map, struct cio_map_entry *entry);

#endif
