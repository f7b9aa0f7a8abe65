/* SPDX-License-Identifier: Apache-2.0 */
/* A hash map from text to a number, for names in graphs and files. Keys are not copied. */
#ifndef TN_BASE_MAP_H
#define TN_BASE_MAP_H

#include "base/memory.h"

typedef struct tn_map tn_map;
tn_status tn_map_create(const tn_allocator *allocator, tn_map **out_map);
void tn_map_destroy(tn_map *map); /* null is fine */
/* Sets, replacing an older value. */
tn_status tn_map_set(tn_map *map, const char *key, uint64_t value);
bool tn_map_get(const tn_map *map, const char *key, uint64_t *out_value);
void tn_map_remove(tn_map *map, const char *key);

#endif
