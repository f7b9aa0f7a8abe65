/* SPDX-License-Identifier: Apache-2.0 */
/* The timing cache's keys: a hash of all that a candidate's time depends on. */
#include "base/hash.h"
#include "base/status.h"
#include "builder/lower/candidate_call.h"
#include "builder/lower/lower_facts.h"
#include "builder/lower/lower_storages.h"
#include "builder/timing/timing.h"
#include "plugin/crash.h"
#include "plugin/devices.h"

#include <string.h>

/* Raised when this file or how a time is measured changes. */
enum { KEY_VERSION = 4 };

static uint64_t add_shape(uint64_t key, const tn_shape *shape) {
    key = tn_hash_add_u64(key, shape->rank);
    for (uint32_t axis = 0; axis < shape->rank; axis++)
        key = tn_hash_add_u64(key, (uint64_t)shape->extents[axis]);
    return key;
}

/* That a tensor has a scale counts, not which. */
uint64_t tn_timing_key_storage(const tn_lowering *lowering, uint64_t key, tn_tensor_id tensor,
                               tn_storage storage) {
    const bool is_quantized = storage.type == TN_I8;
    key = tn_hash_add_u64(key, 1 + tn_lower_type(lowering, tensor, storage));
    if (is_quantized) key = tn_hash_add_text(key, "quantised");
    if (storage.space == TN_SPACE_DEVICE) key = tn_hash_add_text(key, "device");
    return tn_hash_add_u64(key, storage.format);
}

/* A tensor: its storage, the shapes of all points, and the value where it decides shapes. */
static uint64_t add_tensor(const tn_lowering *lowering, uint64_t key, tn_tensor_id id,
                           tn_storage storage, bool with_value) {
    if (id == TN_NO_TENSOR) return tn_hash_add_u64(key, 0);
    key = tn_timing_key_storage(lowering, key, id, storage);
    key = tn_hash_add_u64(key, lowering->graph->tensors[id].is_constant);
    for (int point = 0; point < 3; point++) {
        const tn_tensor_storage *known = &lowering->points[point]->tensors[id].storage;
        key = add_shape(key, &known->shape);
        if (with_value && known->tensor.data)
            key = tn_hash_add(key, known->tensor.data, (size_t)known->tensor.bytes);
    }
    return key;
}

uint64_t tn_timing_key_device(const tn_lowering *lowering, uint64_t key, bool is_on_device) {
    const tn_device *device =
        is_on_device ? lowering->options->device : tn_runtime_cpu(lowering->graph->runtime);
    const char *libraries = TN_DEVICE_HAS(device, libraries) ? device->libraries(device) : NULL;
    key = tn_hash_add_text(key, device->fingerprint(device));
    if (libraries) key = tn_hash_add_text(key, libraries);
    return tn_hash_add_u64(key, lowering->options->threads);
}

/* The operator, its fields; a state that no fields describe is told apart by the node's name. */
static uint64_t add_operator(const tn_graph_node *node, uint64_t key) {
    const tn_operator *op = node->entry->op;
    key = tn_hash_add_text(key, op->domain);
    key = tn_hash_add_text(key, op->name);
    key = tn_hash_add_u64(key, op->since_version);
    if (node->params && !op->load) key = tn_hash_add_u64(key, tn_fields_hash(op, node->params));
    return op->load || op->destroy_params ? tn_hash_add_text(key, node->name) : key;
}

/* A facet's struct by its bytes; one with pointers by the operator that it describes. */
static uint64_t add_step(const tn_lowering *lowering, const tn_candidate *candidate, uint32_t step,
                         uint64_t key) {
    const tn_facet *facet = candidate->chain->facets[step];
    const tn_graph_node *node = &lowering->graph->nodes[candidate->chain->nodes[step]];
    key = tn_hash_add_text(key, candidate->chain->steps[step]->facet);
    key = tn_hash_add_text(key, facet->variant);
    if (candidate->chain->steps[step]->port > 0) {
        key = tn_hash_add_text(key, "before");
        key = tn_hash_add_u64(key, candidate->chain->steps[step]->port);
    }
    key = tn_hash_add_u64(key, lowering->facts->types[node->outputs[0]]);
    for (uint32_t i = 0; i < facet->operand_count; i++) {
        key = tn_hash_add_u64(key, facet->operands[i].form);
        key = tn_hash_add_u64(key, (uint64_t)(uint32_t)facet->operands[i].axis);
        if (facet->flags & TN_FACET_NODE_INPUTS)
            key = tn_hash_add_u64(key, facet->operands[i].input);
    }
    return facet->flags & TN_FACET_POINTERS ? add_operator(node, key)
                                            : tn_hash_add(key, facet->what, TN_FACET_BYTES);
}

static uint64_t add_kernel(const tn_candidate *candidate, uint64_t key) {
    const tn_loaded_library *library = candidate->entry ? candidate->entry->library : NULL;
    key = tn_hash_add_text(key, library ? library->name : NULL);
    if (library && tn_library_has_namesake(library)) key = tn_hash_add_u64(key, library->hash);
    key = tn_hash_add_text(key, candidate->entry ? candidate->entry->kernel->name : NULL);
    key = tn_hash_add_u64(key, candidate->entry ? candidate->entry->kernel->revision : 0);
    return tn_hash_add_u64(key, candidate->tactic);
}

static bool ask_key(tn_call *call, const tn_kernel *kernel, char *text) {
    tn_crash_mark mark;
    text[0] = 0;
    const uint32_t before = call->device ? tn_device_enter(call->device) : 0;
    tn_crash_enter(&mark, call, "timing_key", NULL);
    const bool is_known = kernel->timing_key(call, text, TN_KERNEL_TEXT_BYTES) == TN_OK;
    tn_crash_leave(&mark);
    if (call->device) tn_device_leave(call->device, before);
    return is_known && memchr(text, 0, TN_KERNEL_TEXT_BYTES);
}

/* What the kernel itself knows. Where nobody does, the key is this node's alone, and the time is
 * not kept beyond this build. */
static tn_status add_own(const tn_lowering *lowering, uint32_t index, tn_candidate *candidate,
                         uint64_t *key) {
    const tn_kernel *kernel = candidate->entry ? candidate->entry->kernel : NULL;
    char text[TN_KERNEL_TEXT_BYTES] = "";
    if (!kernel || (!kernel->save && !kernel->timing_key)) return TN_OK;
    candidate->is_unkeyed = true;
    if (kernel->timing_key) {
        tn_arena *arena = NULL;
        tn_candidate_call call;
        TN_TRY(tn_arena_create(lowering->graph->allocator, &arena));
        const tn_status status =
            tn_candidate_call_init(&call, lowering, index, candidate, 1, arena);
        if (status == TN_OK) candidate->is_unkeyed = !ask_key(&call.call, kernel, text);
        tn_arena_destroy(arena);
        TN_TRY(status);
    }
    *key = candidate->is_unkeyed ? tn_hash_add_u64(*key, 1 + (uint64_t)index)
                                 : tn_hash_add_text(*key, text);
    return TN_OK;
}

tn_status tn_timing_key(const tn_lowering *lowering, uint32_t index, tn_candidate *candidate,
                        uint64_t *out_key) {
    *out_key = candidate->key;
    if (candidate->key != 0) return TN_OK;
    const tn_graph_node *node = &lowering->graph->nodes[index];
    uint64_t key = tn_hash_add_u64(0, KEY_VERSION);
    key = tn_timing_key_device(lowering, key, tn_lower_is_on_device(candidate));
    key = add_kernel(candidate, add_operator(node, key));
    for (uint32_t i = 0; i < node->input_count; i++) {
        bool with_value = tn_graph_input_port(node->entry->op, i)->flags & TN_PORT_VALUE_NEEDED;
        key = add_tensor(lowering, key, tn_lower_input(lowering, index, candidate, i),
                         candidate->inputs[i], with_value);
    }
    for (uint32_t i = 0; i < node->output_count; i++)
        key = add_tensor(lowering, key, tn_lower_output(lowering, index, candidate, i),
                         candidate->outputs[i], false);
    for (uint32_t i = 0; i < candidate->chain_count; i++)
        key = add_step(lowering, candidate, i, key);
    for (uint32_t i = 0; i < tn_lower_operand_count(candidate); i++)
        key =
            add_tensor(lowering, key, candidate->chain->operands[i], candidate->operands[i], false);
    TN_TRY(add_own(lowering, index, candidate, &key));
    *out_key = candidate->key = key;
    return TN_OK;
}
