/* SPDX-License-Identifier: Apache-2.0 */
/* The keys of a map in order, for the operators that read maps and for the one that makes them. */
#ifndef TN_LAYERS_ML_MAP_ENTRY_H
#define TN_LAYERS_ML_MAP_ENTRY_H

#include "ml/lookup.h"

#include <tenon/plugin/sequence.h>

static inline const tn_sequence_service *tn_ml_lists(const tn_call *call) {
    return (const tn_sequence_service *)call->host->extension(call->host, TN_SEQUENCES);
}

/* One key of a map, and where it is. */
typedef struct tn_map_entry {
    const char *text; /* null: a number */
    uint64_t bytes;
    int64_t number;
    int64_t index;
} tn_map_entry;

static inline int tn_map_entry_compare(const void *left, const void *right) {
    const tn_map_entry *a = left, *b = right;
    if (!a->text) return a->number < b->number ? -1 : a->number > b->number;
    const uint64_t least = a->bytes < b->bytes ? a->bytes : b->bytes;
    const int order = least > 0 ? memcmp(a->text, b->text, least) : 0;
    return order != 0 ? order : a->bytes < b->bytes ? -1 : a->bytes > b->bytes;
}

#endif
