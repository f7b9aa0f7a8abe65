/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The constants of a plan that may be refitted: by name, with the offsets in its bytes where their
 * data lies, in the plans of bodies, too; and a plan with other data at those offsets. Reads the
 * bytes alone: no library is needed.
 */
#ifndef TN_PLAN_REFIT_REFIT_INDEX_H
#define TN_PLAN_REFIT_REFIT_INDEX_H

#include "base/memory.h"
#include <tenon/graph.h>

typedef struct tn_refit_item {
    tn_port_info info; /* name, type and shape */
    size_t bytes;
    uint32_t offset_count;
    const size_t *offsets; /* offsets in the plan's bytes */
} tn_refit_item;

typedef struct tn_refit_index tn_refit_index;

/* `is_known`: the bytes were read before, so that sections need not be verified. TN_ERROR_FORMAT.
 */
tn_status tn_refit_index_create(const tn_allocator *allocator, const void *plan, size_t bytes,
                                bool is_known, tn_refit_index **out_index);
void tn_refit_index_destroy(tn_refit_index *index); /* null is fine */
uint32_t tn_refit_index_count(const tn_refit_index *index);
/* `number` below the count. */
const tn_refit_item *tn_refit_index_at(const tn_refit_index *index, uint32_t number);
bool tn_refit_index_find(const tn_refit_index *index, const char *name, uint32_t *out_number);
/* Puts data in place in a copy of the plan's bytes, and sets the checksums anew. `values` by number
 * of the constant; null: it stays. TN_ERROR_FORMAT, TN_ERROR_MEMORY. */
tn_status tn_refit_index_patch(const tn_refit_index *index, const void *const *values, void *plan);

#endif
