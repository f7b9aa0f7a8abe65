/* SPDX-License-Identifier: Apache-2.0 */
/* Running a case as a network of one node, between guard zones; see conformance.h. */
#include "base/status.h"
#include "conformance.h"
#include "strings/strings.h"
#include "plugin/sequences/kinds.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define GUARD 256

void tn_outcome_free(tn_outcome *outcome) {
    for (uint32_t i = 0; i < outcome->count; i++)
        free(outcome->data[i]);
    outcome->count = 0;
}

/* ----------------------------------------------------------------------------------------------
 * one run */

static bool is_constant_input(const tn_operator *op, const tn_case *c, uint32_t index,
                              const tn_case_options *w) {
    const tn_port *port = &op->inputs[c->inputs[index].port];
    return (port->flags & TN_PORT_VALUE_NEEDED) ||
           (w->are_constant && index > 0 && index + 1 != w->provided);
}

static tn_status add_constant(tn_graph *graph, const char *name, const tn_case_input *input,
                              tn_tensor_id *out_tensor) {
    uint64_t bytes = input->bytes;
    void *block = NULL;
    if (input->type == TN_STRING) {
        block = tn_case_block(input->data, input->bytes / sizeof(tn_string), &bytes);
        if (!block) return tn_fail_memory("a case's strings");
    }
    const tn_status status =
        tn_graph_add_constant(graph, name, input->type, input->shape.rank, input->shape.extents,
                              block ? block : input->data, bytes, out_tensor);
    free(block);
    return status;
}

enum { MOST = 64 /* inputs, and outputs */ };

static tn_status add_input(tn_graph *graph, const tn_operator *op, const tn_case *c, uint32_t index,
                           const tn_case_options *w, tn_tensor_id *out_id) {
    const tn_case_input *input = &c->inputs[index];
    char name[32];
    snprintf(name, sizeof(name), "in%u", index);
    return is_constant_input(op, c, index, w)
               ? add_constant(graph, name, input, out_id)
               : tn_graph_add_input(graph, name, input->type, input->shape.rank,
                                    input->shape.extents, NULL, out_id);
}

/* The tensors that the case has at a port. A list of them is one. */
static tn_status add_port(tn_graph *graph, const tn_operator *op, const tn_case *c, uint32_t port,
                          const tn_case_options *w, tn_tensor_id *inputs, uint32_t *inout_count) {
    const uint32_t kind = tn_case_kind(&op->inputs[port]), first = *inout_count;
    uint32_t count = first, seen = 0;
    tn_case_list list = {0};
    for (uint32_t i = 0; i < c->input_count && count < MOST; i++) {
        if (c->inputs[i].port != port) continue;
        if (tn_kind_is_map(kind) && seen++ % 2 == 0)
            list.key_type = c->inputs[i].type;
        else
            list.type = c->inputs[i].type;
        list.has_element =
            kind == TN_KIND_OPTIONAL_SEQUENCE && (!c->inputs[i].is_none || c->inputs[i].is_empty);
        if (!c->inputs[i].is_none) TN_TRY(add_input(graph, op, c, i, w, &inputs[count++]));
    }
    if (kind && list.type != TN_NONE) {
        TN_TRY(tn_case_add_list(graph, kind, &list, count - first, &inputs[first], &inputs[first]));
        count = first + 1;
    }
    if (list.type == TN_NONE && !(op->inputs[port].flags & TN_PORT_VARIADIC))
        inputs[count++] = TN_NO_TENSOR;
    *inout_count = count;
    return TN_OK;
}

static tn_status add_outputs(tn_graph *graph, const tn_operator *op, const tn_case_options *w,
                             uint32_t input_count, const tn_tensor_id *inputs,
                             uint32_t output_count, const tn_tensor_id *outputs) {
    for (uint32_t i = 0; i < output_count; i++)
        TN_TRY(tn_case_add_outputs(graph, tn_case_kind(tn_graph_output_port(op, i)), outputs[i]));
    for (uint32_t i = 0; i < input_count && w->reads_lists; i++) {
        const uint32_t kind = tn_case_kind(tn_graph_input_port(op, i));
        if (kind && inputs[i] != TN_NO_TENSOR) TN_TRY(tn_case_add_outputs(graph, kind, inputs[i]));
    }
    return TN_OK;
}

tn_status tn_case_graph(tn_runtime *runtime, const tn_operator *op, const tn_case *c,
                        const tn_case_options *w, tn_graph **out_graph) {
    tn_tensor_id inputs[MOST + 1], outputs[MOST];
    tn_graph *graph;
    uint32_t count = 0;
    TN_TRY(tn_case_take_lists(runtime, op));
    TN_TRY(tn_graph_create(runtime, "case", &graph));
    tn_status status = TN_OK;
    for (uint32_t port = 0; port < op->input_count && status == TN_OK && count < MOST; port++)
        status = add_port(graph, op, c, port, w, inputs, &count);
    uint32_t wanted = 0;
    while (wanted < op->output_count &&
           !(op->outputs[wanted].flags & (TN_PORT_VARIADIC | (w->asks_all ? 0 : TN_PORT_OPTIONAL))))
        wanted++;
    if (wanted == 0) wanted = 1;
    const tn_node_description node = {.size = sizeof(node),
                                      .version = op->since_version,
                                      .domain = op->domain,
                                      .op = op->name,
                                      .name = TN_CASE_NODE,
                                      .input_count = count,
                                      .output_count = wanted,
                                      .inputs = inputs,
                                      .attribute_count = c->attribute_count,
                                      .attributes = c->attributes};
    if (status == TN_OK) status = tn_graph_add_node(graph, &node, outputs);
    if (status == TN_OK) status = add_outputs(graph, op, w, count, inputs, wanted, outputs);
    if (status != TN_OK) {
        tn_graph_destroy(graph);
        return status;
    }
    *out_graph = graph;
    return TN_OK;
}

tn_status tn_case_infer_sorted(const tn_graph *graph, const tn_case *c, tn_arena *arena,
                               tn_inference_plan *plan, tn_inference *inference) {
    tn_shape shapes[64];
    const void *values[64];
    TN_TRY(tn_inference_plan_create(graph, arena, plan));
    TN_TRY(tn_inference_init(inference, graph, plan));
    for (size_t i = 0; i < graph->input_count && i < 64; i++) {
        const tn_case_input *input = &c->inputs[atoi(graph->tensors[graph->inputs[i]].name + 2)];
        shapes[i] = input->shape;
        values[i] = plan->is_value_input[i] ? input->data : NULL;
    }
    return tn_inference_run(inference, shapes, values);
}

tn_status tn_case_infer(tn_graph *graph, const tn_case *c, tn_arena *arena, tn_inference_plan *plan,
                        tn_inference *inference) {
    TN_TRY(tn_graph_sort(graph));
    return tn_case_infer_sorted(graph, c, arena, plan, inference);
}

/* `blocks`: of inputs of strings, to be freed after the runs. */
static tn_status bind_inputs(tn_context *context, tn_engine *engine, const tn_case *c,
                             void **blocks) {
    for (uint32_t i = 0; i < tn_engine_input_count(engine); i++) {
        const tn_case_input *input = &c->inputs[atoi(tn_engine_input(engine, i)->name + 2)];
        if (input->type == TN_STRING) {
            uint64_t bytes;
            blocks[i] = tn_case_block(input->data, input->bytes / sizeof(tn_string), &bytes);
            if (!blocks[i]) return tn_fail_memory("a case's strings");
            TN_TRY(tn_context_bind_input(context, i, blocks[i], bytes));
            continue;
        }
        TN_TRY(tn_context_bind_input(context, i, input->data, input->bytes));
    }
    return TN_OK;
}

/* Outputs in guarded memory, all bytes of which are the guard's before. */
static tn_status guarded_run(tn_context *context, uint32_t output_count, char **guarded) {
    TN_TRY(tn_context_reshape(context));
    for (uint32_t i = 0; i < output_count; i++) {
        const tn_tensor *output;
        tn_status status = tn_context_output(context, i, &output);
        if (status == TN_ERROR_STATE) continue; /* sized by run */
        TN_TRY(status);
        guarded[i] = aligned_alloc(64, (output->bytes + 2 * GUARD + 63) / 64 * 64);
        if (!guarded[i]) return tn_fail_memory("a guarded output");
        memset(guarded[i], 0xA5, output->bytes + 2 * GUARD);
        TN_TRY(tn_context_bind_output(context, i, guarded[i] + GUARD, output->bytes));
    }
    return tn_context_run(context);
}

static tn_status check_guard(const char *guarded, size_t bytes, uint32_t index) {
    for (size_t i = 0; i < GUARD; i++) {
        if ((unsigned char)guarded[i] != 0xA5 || (unsigned char)guarded[GUARD + bytes + i] != 0xA5)
            return tn_fail(TN_ERROR_PLUGIN, "output %u was written outside its %zu bytes", index,
                           bytes);
    }
    return TN_OK;
}

static tn_status keep_outputs(tn_context *context, uint32_t count, char **guarded,
                              tn_outcome *out) {
    for (uint32_t i = 0; i < count; i++) {
        const tn_tensor *tensor;
        TN_TRY(tn_context_output(context, i, &tensor));
        if (guarded[i]) TN_TRY(check_guard(guarded[i], (size_t)tensor->bytes, i));
        out->types[i] = tensor->type;
        TN_TRY(tn_shape_set(&out->shapes[i], tensor->rank, tensor->shape));
        out->bytes[i] = (size_t)tensor->bytes;
        out->data[i] = malloc(tensor->bytes ? tensor->bytes : 1);
        if (!out->data[i]) return tn_fail_memory("an output's copy");
        if (tensor->bytes) memcpy(out->data[i], tensor->data, tensor->bytes);
        out->count = i + 1;
        if (tensor->type == TN_STRING)
            TN_TRY(tn_case_take_strings(out->data[i], tensor->bytes / sizeof(tn_string),
                                        tensor->heap));
    }
    return TN_OK;
}

static tn_status run_engine(tn_engine *engine, const tn_case *c, tn_outcome *out) {
    tn_context *context;
    char *guarded[16] = {0};
    void *blocks[64] = {0};
    const uint32_t count = tn_engine_output_count(engine);
    if (count > 16) return tn_fail(TN_ERROR_UNSUPPORTED, "more than 16 outputs");
    TN_TRY(tn_context_create(engine, &context));
    tn_status status = bind_inputs(context, engine, c, blocks);
    if (status == TN_OK) status = guarded_run(context, count, guarded);
    if (status == TN_OK) status = tn_context_run(context); /* the second run must give the same */
    if (status == TN_OK) status = keep_outputs(context, count, guarded, out);
    tn_context_destroy(context);
    for (uint32_t i = 0; i < count; i++)
        free(guarded[i]);
    for (uint32_t i = 0; i < 64; i++)
        free(blocks[i]);
    return status;
}

/* The kernel that the plan chose for the only node, or the one of that name, from the engine's
 * report. */
static void note_kernel(tn_engine *engine, const tn_operator *op, tn_outcome *out) {
    const char *text = tn_engine_report(engine);
    const char *node = tn_operator_has_kinds(op) ? strstr(text, TN_CASE_NODE) : text;
    const char *at = node ? strstr(node, "\"kernel\": \"") : NULL;
    snprintf(out->kernel, sizeof(out->kernel), "%.*s", at ? (int)strcspn(at + 11, "\"") : 0,
             at ? at + 11 : "");
}

tn_status tn_case_run(tn_runtime *runtime, const tn_operator *op, const tn_case *c,
                      const tn_case_options *w, tn_outcome *out) {
    tn_graph *graph = NULL;
    tn_plan *plan = NULL;
    tn_engine *engine = NULL;
    uint64_t bytes;
    const tn_builder_options options = {.size = sizeof(options),
                                        .threads = w->threads,
                                        .force_kernel = w->pin,
                                        .flags = TN_BUILD_NO_TIMING |
                                                 (w->is_reference ? TN_BUILD_REFERENCE : 0u)};
    const tn_engine_options loading = {.size = sizeof(loading),
                                       .flags = w->is_guarded ? TN_ENGINE_CHECKED : 0u};
    TN_TRY(tn_case_graph(runtime, op, c, w, &graph));
    tn_status status = tn_build(graph, &options, &plan);
    if (status == TN_OK) {
        const void *data = tn_plan_bytes(plan, &bytes);
        status = tn_engine_load_bytes(runtime, data, bytes, &loading, &engine);
    }
    if (status == TN_OK) note_kernel(engine, op, out);
    if (status == TN_OK) status = run_engine(engine, c, out);
    tn_engine_release(engine);
    tn_plan_destroy(plan);
    tn_graph_destroy(graph);
    return status;
}
