/* SPDX-License-Identifier: Apache-2.0 */
/* The object: an operator with its attributes, checked once; see operation_private.h. */
#include "base/memory.h"
#include "base/status.h"
#include "operation/operation_private.h"
#include "plugin/registry.h"
#include "plugin/runtime.h"

#include <string.h>

#define PORTS_AT_MOST 65536

static tn_status read_description(const tn_operation_description *given,
                                  tn_operation_description *out_description) {
    *out_description = (tn_operation_description){0};
    if (given->size < offsetof(tn_operation_description, attribute_count) ||
        given->size > UINT16_MAX)
        return tn_fail(TN_ERROR_ARGUMENT, "the `size` of an operation's description is not set");
    memcpy(out_description, given, given->size < sizeof(*given) ? given->size : sizeof(*given));
    if (!out_description->op)
        return tn_fail(TN_ERROR_ARGUMENT, "an operation needs an operator's name");
    if (out_description->input_count > PORTS_AT_MOST || out_description->output_count == 0 ||
        out_description->output_count > PORTS_AT_MOST)
        return tn_fail(TN_ERROR_ARGUMENT,
                       "an operation has %u inputs and %u outputs: expected 1 output or more, and "
                       "%d of each at most",
                       out_description->input_count, out_description->output_count, PORTS_AT_MOST);
    TN_TRY(tn_options_check_threads(out_description->threads, "an operation's description"));
    for (uint64_t i = 0; i < out_description->attribute_count; i++)
        if (out_description->attributes && out_description->attributes[i] &&
            out_description->attributes[i]->type == TN_FIELD_GRAPH)
            return tn_error_in(
                tn_fail(TN_ERROR_UNSUPPORTED, "a graph in an attribute needs a plan"),
                .op = out_description->op);
    return TN_OK;
}

/* A node of all inputs: that they are there is asked at each call. */
static tn_status make_model(tn_operation *operation, const tn_operation_description *description) {
    tn_tensor_id *inputs = tn_allocate_zero(operation->allocator,
                                            (size_t)description->input_count + 1, sizeof(*inputs));
    tn_status status = inputs ? TN_OK : tn_fail_memory("an operation");
    if (status == TN_OK)
        status = tn_graph_create(operation->runtime, description->op, &operation->model);
    for (uint32_t i = 0; status == TN_OK && i < description->input_count; i++)
        status = tn_graph_add_tensor(operation->model, NULL, TN_NONE, &inputs[i]);
    const tn_node_description node = {.size = sizeof(node),
                                      .version = description->version,
                                      .domain = description->domain ? description->domain : "",
                                      .op = description->op,
                                      .name = description->op,
                                      .input_count = description->input_count,
                                      .inputs = inputs,
                                      .output_count = description->output_count,
                                      .attribute_count = description->attribute_count,
                                      .attributes = description->attributes};
    if (status == TN_OK) status = tn_graph_add_node(operation->model, &node, NULL);
    tn_deallocate(operation->allocator, inputs);
    return status;
}

tn_status tn_operation_create(tn_runtime *runtime, const tn_operation_description *description,
                              tn_operation **out_operation) {
    tn_operation_description known;
    if (!runtime || !description || !out_operation)
        return tn_fail(TN_ERROR_ARGUMENT,
                       "tn_operation_create needs a runtime, a description and a result pointer");
    TN_TRY(read_description(description, &known));
    const tn_allocator *allocator = tn_runtime_allocator(runtime);
    tn_operation *operation = tn_allocate_zero(allocator, 1, sizeof(*operation));
    if (!operation) return tn_fail_memory("an operation");
    operation->runtime = tn_runtime_retain(runtime);
    operation->allocator = allocator;
    operation->input_count = known.input_count;
    operation->output_count = known.output_count;
    operation->threads = known.threads;
    operation->constant_inputs = known.constant_inputs;
    operation->version = known.version;
    const tn_status status = make_model(operation, &known);
    if (status != TN_OK) {
        tn_error_copy error;
        tn_error_save(&error);
        tn_operation_destroy(operation);
        tn_error_restore(&error);
        return status;
    }
    operation->op = operation->model->nodes[0].entry->op;
    *out_operation = operation;
    return TN_OK;
}

void tn_operation_destroy(tn_operation *operation) {
    if (!operation) return;
    tn_runtime *runtime = operation->runtime;
    for (int i = 0; i < TN_OPERATION_STATES; i++)
        tn_operation_state_deinit(operation, &operation->states[i]);
    tn_graph_destroy(operation->model);
    tn_deallocate(operation->allocator, operation);
    tn_runtime_release(runtime);
}

const char *tn_operation_report(const tn_operation *operation) {
    return operation && operation->last ? tn_engine_report(operation->last->engine) : "";
}
