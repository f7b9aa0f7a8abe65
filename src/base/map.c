/* SPDX-License-Identifier: Apache-2.0 */
/* The hash map: open addressing with linear probing, at most two thirds full; see map.h. */
#include "base/map.h"
#include "base/hash.h"
#include "base/status.h"

#include <string.h>

typedef struct map_slot {
    const char *key; /* null: never used; REMOVED: was used */
    uint64_t value;
} map_slot;

struct tn_map {
    tn_allocator allocator;
    map_slot *slots;
    size_t slot_count, used_count; /* a power of two; removed ones counted */
};

static const char removed_mark[] = "";
#define REMOVED removed_mark

tn_status tn_map_create(const tn_allocator *allocator, tn_map **out_map) {
    tn_map *map = tn_allocate_zero(allocator, 1, sizeof(*map));
    if (!map) return tn_fail_memory("a map");
    map->allocator = *allocator;
    *out_map = map;
    return TN_OK;
}

void tn_map_destroy(tn_map *map) {
    if (!map) return;
    const tn_allocator allocator = map->allocator;
    tn_deallocate(&allocator, map->slots);
    tn_deallocate(&allocator, map);
}

static map_slot *find_slot(const tn_map *map, const char *key) {
    if (!map->slot_count) return NULL;
    for (size_t i = tn_hash_add_text(0, key) & (map->slot_count - 1);;
         i = (i + 1) & (map->slot_count - 1)) {
        map_slot *slot = &map->slots[i];
        if (!slot->key) return NULL;
        if (slot->key != REMOVED && strcmp(slot->key, key) == 0) return slot;
    }
}

static void insert(map_slot *slots, size_t slot_count, const char *key, uint64_t value) {
    size_t i = tn_hash_add_text(0, key) & (slot_count - 1);
    while (slots[i].key)
        i = (i + 1) & (slot_count - 1);
    slots[i].key = key;
    slots[i].value = value;
}

static tn_status grow(tn_map *map) {
    if ((map->used_count + 1) * 3 <= map->slot_count * 2) return TN_OK;
    size_t live = 0;
    for (size_t i = 0; i < map->slot_count; i++)
        live += map->slots[i].key && map->slots[i].key != REMOVED;
    size_t slot_count = 16;
    while (slot_count < live * 3)
        slot_count *= 2;
    map_slot *slots = tn_allocate_zero(&map->allocator, slot_count, sizeof(*slots));
    if (!slots) return tn_fail_memory("a map");
    for (size_t i = 0; i < map->slot_count; i++) {
        if (map->slots[i].key && map->slots[i].key != REMOVED)
            insert(slots, slot_count, map->slots[i].key, map->slots[i].value);
    }
    tn_deallocate(&map->allocator, map->slots);
    map->slots = slots;
    map->slot_count = slot_count;
    map->used_count = live;
    return TN_OK;
}

tn_status tn_map_set(tn_map *map, const char *key, uint64_t value) {
    map_slot *slot = find_slot(map, key);
    if (slot) {
        slot->value = value;
        return TN_OK;
    }
    TN_TRY(grow(map));
    insert(map->slots, map->slot_count, key, value);
    map->used_count++;
    return TN_OK;
}

bool tn_map_get(const tn_map *map, const char *key, uint64_t *out_value) {
    const map_slot *slot = find_slot(map, key);
    if (slot) *out_value = slot->value;
    return slot != NULL;
}

void tn_map_remove(tn_map *map, const char *key) {
    map_slot *slot = find_slot(map, key);
    if (slot) slot->key = REMOVED;
}
