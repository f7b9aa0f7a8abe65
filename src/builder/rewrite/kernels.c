/* SPDX-License-Identifier: Apache-2.0 */
/* Whether a node has a kernel, before anything is lowered: see replace.h. */
#include "base/status.h"
#include "builder/rewrite/replace.h"
#include "plugin/call.h"
#include "program/kernel_fit.h"

#include <tenon/plugin/device.h>

#include <string.h>

/* A node as a kernel with one combination would see it. */
typedef struct kernel_call {
    tn_call call;
    tn_call_scope scope;
    const tn_tensor *inputs[3][TN_PATTERN_ARGUMENTS]; /* minimum, optimum, maximum */
    tn_tensor *outputs[TN_PATTERN_ARGUMENTS];
    tn_tensor_storage storages[4][TN_PATTERN_ARGUMENTS];
} kernel_call;

typedef struct question {
    const tn_pass_context *context;
    const tn_graph *graph;
    const tn_graph_node *node;
    const tn_inference *const *points;
    tn_arena *arena;
} question;

static tn_status describe_tensor(const question *q, tn_tensor_id id, tn_format format, int point,
                                 uint32_t flags, tn_tensor_storage *storage) {
    const tn_graph_tensor *item = &q->graph->tensors[id];
    const tn_tensor_storage *known = &q->points[point]->tensors[id].storage;
    const tn_shape *shape = item->is_constant ? &item->shape : &known->shape;
    const tn_type type = item->is_constant ? item->type : known->tensor.type;
    if (!tn_format_fits(format, shape->rank)) return TN_ERROR_UNSUPPORTED;
    TN_TRY(tn_tensor_init(storage, type, format, shape));
    storage->tensor.name = item->name;
    if (item->is_constant && !(flags & TN_PORT_SHAPE_ONLY))
        storage->tensor.data = (void *)(uintptr_t)item->data;
    else if (flags & TN_PORT_VALUE_NEEDED)
        storage->tensor.data = known->tensor.data;
    storage->tensor.heap = storage->tensor.data ? item->heap : NULL;
    return TN_OK;
}

/* TN_ERROR_UNSUPPORTED: the combination's formats are not for these ranks. */
static tn_status make_call(const question *q, const tn_kernel_entry *entry, const void *params,
                           const tn_combination *combination, int point, kernel_call *c) {
    const tn_graph_node *node = q->node;
    *c = (kernel_call){.scope = {.runtime = q->graph->runtime,
                                 .kernel = entry->kernel->name,
                                 .library = entry->library->name}};
    for (int p = 0; p < 3; p++)
        for (uint32_t i = 0; i < node->input_count; i++) {
            const tn_combination_port *port =
                combination ? tn_combination_input(combination, i) : NULL;
            if (node->inputs[i] == TN_NO_TENSOR) continue;
            TN_TRY(describe_tensor(q, node->inputs[i], port ? port->format : TN_LINEAR, p,
                                   tn_graph_input_port(node->entry->op, i)->flags,
                                   &c->storages[p][i]));
            c->inputs[p][i] = &c->storages[p][i].tensor;
        }
    for (uint32_t i = 0; i < node->output_count; i++) {
        const tn_combination_port *port =
            combination ? tn_combination_output(combination, i) : NULL;
        if (node->outputs[i] == TN_NO_TENSOR) continue;
        TN_TRY(describe_tensor(q, node->outputs[i], port ? port->format : TN_LINEAR, point, 0,
                               &c->storages[3][i]));
        c->outputs[i] = &c->storages[3][i].tensor;
    }
    const bool is_on_cpu = strcmp(entry->kernel->device, "cpu") == 0;
    c->call =
        (tn_call){.size = sizeof c->call,
                  .input_count = node->input_count,
                  .output_count = node->output_count,
                  .threads = 1,
                  .host = tn_runtime_host(q->graph->runtime),
                  .op = node->entry->op,
                  .params = node->params,
                  .user = entry->kernel->user,
                  .inputs = c->inputs[point],
                  .outputs = c->outputs,
                  .minimum_inputs = c->inputs[0],
                  .maximum_inputs = c->inputs[2],
                  .device = is_on_cpu || !q->context->device ? tn_runtime_cpu(q->graph->runtime)
                                                             : q->context->device,
                  .node = node->name,
                  .host_private = &c->scope,
                  .kernel_params = params};
    return TN_OK;
}

static bool has_types(const question *q, const tn_combination *combination) {
    tn_type inputs[TN_PATTERN_ARGUMENTS] = {TN_NONE}, outputs[TN_PATTERN_ARGUMENTS] = {TN_NONE};
    const tn_graph_node *node = q->node;
    for (uint32_t i = 0; i < node->input_count; i++) {
        const tn_tensor_id id = node->inputs[i];
        if (id == TN_NO_TENSOR) continue;
        inputs[i] = q->graph->tensors[id].is_constant
                        ? q->graph->tensors[id].type
                        : q->points[1]->tensors[id].storage.tensor.type;
    }
    for (uint32_t i = 0; i < node->output_count; i++)
        if (node->outputs[i] != TN_NO_TENSOR)
            outputs[i] = q->points[1]->tensors[node->outputs[i]].storage.tensor.type;
    return tn_combination_matches(combination, node->input_count, inputs, node->output_count,
                                  outputs);
}

static bool accepts(const question *q, const tn_kernel_entry *entry, const void *params,
                    const tn_combination *combination, kernel_call *c) {
    for (int i = 0; i < 3; i++) {
        const int point = (i + 1) % 3; /* the optimum first */
        if (make_call(q, entry, params, combination, point, c) != TN_OK ||
            (entry->kernel->accepts &&
             tn_call_ask(&c->call, entry->kernel->accepts, "accepts") != TN_OK))
            return false;
    }
    return true;
}

static tn_status serves(const question *q, const tn_kernel_entry *entry, bool *out_serves) {
    const void *params = NULL;
    const tn_combination *combinations = entry->combinations;
    uint32_t count = entry->combination_count;
    bool is_fit = false;
    kernel_call *c = tn_arena_allocate(q->arena, 1, sizeof *c);
    if (!c) return tn_fail_memory("a rewrite");
    *out_serves = false;
    TN_TRY(tn_kernel_fit_params(q->arena, entry, q->node, &params, &is_fit));
    if (!is_fit) return TN_OK;
    if (entry->kernel->combination) {
        if (make_call(q, entry, params, NULL, 1, c) != TN_OK) return TN_OK;
        const tn_status status =
            tn_kernel_fit_combinations(q->arena, entry, &c->call, &count, &combinations);
        if (status != TN_OK) return status == TN_ERROR_MEMORY ? status : TN_OK;
    }
    for (uint32_t i = 0; i < count && !*out_serves; i++)
        *out_serves =
            has_types(q, &combinations[i]) && accepts(q, entry, params, &combinations[i], c);
    return TN_OK;
}

static tn_status has_kernel(const question *q, const char *device, bool *out_has) {
    tn_registry *registry = tn_runtime_registry(q->graph->runtime);
    const tn_kernel_entry **entries = NULL;
    uint32_t count = 0;
    tn_status status = TN_OK;
    *out_has = false;
    TN_TRY(tn_registry_kernels(registry, q->node->entry->op, device, &entries, &count));
    for (uint32_t i = 0; i < count && !*out_has && status == TN_OK; i++)
        status = serves(q, entries[i], out_has);
    tn_registry_free_kernels(registry, entries, count);
    return status;
}

static bool is_described(const question *q) {
    const tn_graph_node *node = q->node;
    if (node->input_count > TN_PATTERN_ARGUMENTS || node->output_count > TN_PATTERN_ARGUMENTS)
        return false;
    for (uint32_t i = 0; i < node->input_count + node->output_count; i++) {
        const tn_tensor_id id =
            i < node->input_count ? node->inputs[i] : node->outputs[i - node->input_count];
        if (id == TN_NO_TENSOR || q->graph->tensors[id].is_constant) continue;
        if (id >= q->points[1]->tensor_count) return false;
        for (int p = 0; p < 3; p++)
            if (!q->points[p]->tensors[id].is_known) return false;
    }
    return true;
}

tn_status tn_kernels_of(const tn_pass_context *context, const tn_graph *graph, uint32_t node,
                        const tn_inference *const *points, tn_arena *arena, int *out_kernels) {
    const question q = {context, graph, &graph->nodes[node], points, arena};
    const bool is_on_device = context->device && strcmp(context->device->kind, "cpu") != 0;
    bool has = false;
    *out_kernels = TN_KERNELS_NONE;
    if (!is_described(&q)) return TN_OK;
    if (is_on_device) TN_TRY(has_kernel(&q, context->device->kind, &has));
    if (has) *out_kernels = TN_KERNELS_DEVICE;
    if (has) return TN_OK;
    TN_TRY(has_kernel(&q, "cpu", &has));
    if (has) *out_kernels = TN_KERNELS_PROCESSOR;
    return TN_OK;
}
