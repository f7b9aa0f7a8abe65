/* SPDX-License-Identifier: Apache-2.0 */
/* What the files that copy tables share. */
#ifndef TN_PLUGIN_REGISTRY_TABLES_PRIVATE_H
#define TN_PLUGIN_REGISTRY_TABLES_PRIVATE_H

#include "plugin/registry_tables.h"

/* Of an item: no honest table is near this. */
#define TN_TABLE_MOST_BYTES 4096

/* Copies a string; null stays null. Sets *failed when there is no memory. */
const char *tn_table_copy_text(tn_arena *arena, const char *text, bool *failed);
const char **tn_table_copy_texts(tn_arena *arena, const char *const *texts, uint64_t count,
                                 bool *failed);
/* An array of items of another size, in today's. */
void *tn_table_restride(tn_arena *arena, const void *items, uint32_t count, uint32_t item_bytes,
                        size_t own_bytes);
/* An operator's fields, checked. */
tn_status tn_table_copy_fields(tn_arena *arena, tn_operator *op);

#endif
