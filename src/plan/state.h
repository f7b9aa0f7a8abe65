/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A node's parameters beyond plain fields: state that only its operator can save and load, and
 * fields that an older state version saved. The calls of save, load and upgrade are made here.
 */
#ifndef TN_PLAN_STATE_H
#define TN_PLAN_STATE_H

#include "graph/graph.h"

/* What the calls need to know of a node that is not in the graph yet. */
typedef struct tn_plan_node_context {
    tn_runtime *runtime;
    tn_arena *arena;
    const tn_operator_entry *entry;
    const char *node; /* its name */
} tn_plan_node_context;

/* The state of parameters as bytes in the arena. Errors name node and operator. */
tn_status tn_plan_state_save(const tn_plan_node_context *context, const void *params,
                             const void **out_data, size_t *out_bytes);
/* Fills `new_params` (params_bytes, zero) from saved bytes. `params` are those of the fields. On
 * failure nothing in them needs to be freed. */
tn_status tn_plan_state_load(const tn_plan_node_context *context, const void *params,
                             const void *data, size_t bytes, void *new_params);
/* Turns the fields that state version `from` saved into attributes of today's version, in the
 * arena. TN_ERROR_UNSUPPORTED when it is newer than the operator's own, or when the operator has no
 * `upgrade`. Errors name the node. */
tn_status tn_plan_state_upgrade(const tn_plan_node_context *context, uint32_t from, uint64_t count,
                                const tn_attribute *const *attributes, uint64_t *out_count,
                                const tn_attribute *const **out_attributes);

#endif
