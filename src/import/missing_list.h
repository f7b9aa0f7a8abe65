/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Nodes of a file that no library serves, gathered by what is missing, so that all of it is said in
 * one error. What is said of each is plugin/missing.h's.
 */
#ifndef TN_IMPORT_MISSING_LIST_H
#define TN_IMPORT_MISSING_LIST_H

#include "base/map.h"

typedef struct tn_missing_item {
    const char *reason;
    const char *node; /* the first one's name */
    const char *op, *mend;
    uint64_t count;
} tn_missing_item;

typedef struct tn_missing_list {
    const tn_allocator *allocator;
    tn_arena *arena; /* of the reading; outlives the list */
    tn_map *keys;    /* index among the items */
    tn_missing_item *items;
    size_t count, capacity;
} tn_missing_list;

tn_status tn_missing_list_init(tn_missing_list *list, const tn_allocator *allocator,
                               tn_arena *arena);
void tn_missing_list_deinit(tn_missing_list *list); /* a zeroed one is fine */
/* Whether this was found missing before; then this node is counted too. */
bool tn_missing_list_count(tn_missing_list *list, const char *key);
/* Notes the last error as the reason why a node cannot be served. `node` has the lifetime of the
 * list. */
tn_status tn_missing_list_add(tn_missing_list *list, const char *key, const char *node);
/* TN_ERROR_UNSUPPORTED with all of them, in the fields of the error the first one, or TN_OK when
 * there are none. */
tn_status tn_missing_list_report(const tn_missing_list *list);

#endif
