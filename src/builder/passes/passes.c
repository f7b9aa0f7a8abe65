/* SPDX-License-Identifier: Apache-2.0 */
/* What the passes share: the record of what they did, and questions about tensors. */
#include "builder/passes/passes.h"
#include "base/status.h"

#include <string.h>

void tn_pass_context_deinit(tn_pass_context *context) {
    if (!context->graph) return;
    tn_deallocate(context->graph->allocator, (void *)context->folded.names);
    tn_deallocate(context->graph->allocator, (void *)context->dropped.names);
    tn_deallocate(context->graph->allocator, (void *)context->merged.names);
    tn_deallocate(context->graph->allocator, (void *)context->rewritten.names);
    tn_deallocate(context->graph->allocator, (void *)context->rewritten_by.names);
    tn_deallocate(context->graph->allocator, (void *)context->unfused.names);
    tn_deallocate(context->graph->allocator, (void *)context->unfused_for.names);
    tn_deallocate(context->graph->allocator, (void *)context->unfused_why.names);
    tn_deallocate(context->graph->allocator, (void *)context->widened_nodes.names);
    tn_deallocate(context->graph->allocator, context->stand_ins);
    tn_deallocate(context->graph->allocator, context->widened);
    *context = (tn_pass_context){0};
}

tn_status tn_pass_names_add(tn_pass_context *context, tn_pass_names *names, const char *name) {
    TN_TRY(tn_grow(context->graph->allocator, (void **)&names->names, &names->capacity,
                   names->count + 1, sizeof *names->names));
    names->names[names->count++] = name;
    return TN_OK;
}

tn_status tn_pass_note_refit(tn_pass_context *context, const char *node, const char *constant,
                             const char *why) {
    for (size_t i = 0; i < context->unfused.count; i++)
        if (strcmp(context->unfused.names[i], node) == 0 &&
            strcmp(context->unfused_why.names[i], why) == 0)
            return TN_OK;
    TN_TRY(tn_pass_names_add(context, &context->unfused_for, constant));
    TN_TRY(tn_pass_names_add(context, &context->unfused_why, why));
    return tn_pass_names_add(context, &context->unfused, node);
}

bool tn_pass_is_shaped(const tn_pass_context *context, tn_tensor_id tensor) {
    /* a pass's own tensors were not there when shapes were inferred */
    if (tensor >= context->points[1]->tensor_count || context->is_unsure[tensor]) return false;
    for (int point = 0; point < TN_POINTS; point++)
        if (!context->points[point]->tensors[tensor].is_known) return false;
    return true;
}

tn_tensor_id tn_pass_stand_in(const tn_pass_context *context, tn_tensor_id tensor) {
    const tn_tensor_id wide = tensor < context->widened_count ? context->widened[tensor] : tensor;
    return wide < context->stand_in_count ? context->stand_ins[wide] : wide;
}
