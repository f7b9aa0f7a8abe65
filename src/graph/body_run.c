/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bodies by references: an inference for which the value of every tensor is needed computes the
 * whole graph. Two of them take turns, so that the results of one run are there during the next.
 */
#include "base/status.h"
#include "graph/body.h"
#include "graph/infer_private.h"
#include "plugin/outputs.h"
#include "plugin/sequences/kinds.h"

#include <tenon/plugin/sequence.h>

#include <inttypes.h>
#include <string.h>

/* The inputs of a graph for an inference; arrays by input. */
typedef struct body_inputs {
    tn_shape *shapes;
    tn_type *types;
    const void **values;
    const tn_heap **heaps; /* of strings */
} body_inputs;

typedef struct tn_body_run {
    struct tn_body_run *next;
    const tn_graph_body *body;
    tn_arena *arena;
    tn_inference_plan plan;
    body_inputs inputs;
    tn_inference inferences[2];
    uint32_t current;
} tn_body_run;

const tn_tensor *tn_body_input_at(const tn_call *call, const tn_body_graph *body,
                                  const tn_tensor *const *inputs, uint32_t index) {
    if (index < body->input_count) return inputs[index];
    if (body->capture_offset > call->input_count) return NULL;
    return call->inputs[call->input_count - body->capture_offset + index - body->input_count];
}

static tn_status make_inputs(tn_arena *arena, size_t count, body_inputs *out_inputs) {
    *out_inputs = (body_inputs){tn_arena_allocate(arena, count + 1, sizeof(tn_shape)),
                                tn_arena_allocate(arena, count + 1, sizeof(tn_type)),
                                tn_arena_allocate(arena, count + 1, sizeof(void *)),
                                tn_arena_allocate(arena, count + 1, sizeof(tn_heap *))};
    return out_inputs->shapes && out_inputs->types && out_inputs->values && out_inputs->heaps
               ? TN_OK
               : tn_fail_memory("the inputs of a body");
}

static tn_status read_input(const tn_graph *graph, size_t index, const tn_tensor *given,
                            body_inputs *inputs) {
    const tn_graph_tensor *declared = &graph->tensors[graph->inputs[index]];
    if (!given) return tn_fail(TN_ERROR_ARGUMENT, "input '%s' is not there", declared->name);
    if (declared->type != TN_NONE && declared->type != given->type)
        return tn_fail(TN_ERROR_TYPE, "input '%s' is declared as %s, but %s was given",
                       declared->name, tn_type_name(declared->type), tn_type_name(given->type));
    if (given->format != TN_LINEAR)
        return tn_fail(TN_ERROR_ARGUMENT, "input '%s' is not linear", declared->name);
    inputs->types[index] = given->type;
    inputs->values[index] = given->data;
    inputs->heaps[index] = given->heap;
    if (declared->kind != given->kind)
        return tn_fail(TN_ERROR_TYPE, "input '%s' is declared as %s, but %s was given",
                       declared->name, tn_kind_name(declared->kind), tn_kind_name(given->kind));
    if (declared->kind) return tn_shape_set(&inputs->shapes[index], 0, NULL);
    return tn_shape_set(&inputs->shapes[index], given->rank, given->shape);
}

static tn_status read_inputs(const tn_call *call, const tn_graph_body *body,
                             const tn_tensor *const *given, body_inputs *inputs) {
    for (uint32_t i = 0; i < body->graph->input_count; i++)
        TN_TRY(read_input(body->graph, i, tn_body_input_at(call, &body->view, given, i), inputs));
    return TN_OK;
}

static tn_status at_body(tn_status status, const tn_body_graph *body) {
    return tn_error_at(status, "body '%s'", body->name);
}

/* ----------------------------------------------------------------------------------------------
 * shapes */

static void record_types(tn_graph_body *body, const body_inputs *inputs) {
    for (size_t i = 0; i < body->graph->input_count; i++) {
        body->inputs[i].type = inputs->types[i];
        body->inputs[i].has_rank = false;
    }
}

static void record(tn_graph_body *body, const body_inputs *inputs) {
    for (size_t i = 0; i < body->graph->input_count; i++) {
        tn_body_input *noted = &body->inputs[i];
        const tn_shape *shape = &inputs->shapes[i];
        const bool is_first = noted->type == TN_NONE;
        if (is_first) *noted = (tn_body_input){inputs->types[i], true, *shape};
        noted->has_rank = noted->has_rank && noted->shape.rank == shape->rank &&
                          !body->graph->tensors[body->graph->inputs[i]].kind;
        for (uint32_t axis = 0; noted->has_rank && axis < shape->rank; axis++)
            if (noted->shape.extents[axis] != shape->extents[axis]) noted->shape.extents[axis] = -1;
    }
}

static tn_status write_shape(const tn_graph *graph, size_t index, const tn_inferred_tensor *known,
                             bool is_bound, tn_tensor *output) {
    const bool may_be_open = output->rank == TN_RANK_UNKNOWN;
    output->type = known->storage.tensor.type;
    output->kind = known->storage.tensor.kind;
    output->reserved = known->storage.tensor.reserved;
    if (output->kind) {
        output->rank = 0;
        return TN_OK;
    }
    if (may_be_open && !known->is_known && output->type != TN_NONE) return TN_OK;
    if (!known->is_known || (known->is_rank_guess && !may_be_open))
        return tn_fail(TN_ERROR_SHAPE, "the shape of output '%s' is known to a run alone",
                       graph->output_names[index]);
    output->rank = known->storage.shape.rank;
    for (uint32_t axis = 0; axis < output->rank; axis++)
        output->shape[axis] = is_bound || known->is_guess || (known->unbounded >> axis & 1)
                                  ? TN_UNBOUNDED
                                  : known->storage.shape.extents[axis];
    if (known->is_rank_guess) output->rank |= TN_RANK_OPEN;
    return TN_OK;
}

/* What follows from values that the caller does not have, though they decide shapes, is known to a
 * run alone. */
static tn_status open_values(const tn_graph *graph, const body_inputs *inputs, tn_arena *arena,
                             tn_inference_plan *plan) {
    bool *after = tn_arena_copy(arena, plan->is_after_run, graph->node_count * sizeof(bool));
    bool *hosts = tn_arena_copy(arena, plan->is_host_node, graph->node_count * sizeof(bool));
    bool *values = tn_arena_copy(arena, plan->is_value_input, graph->input_count * sizeof(bool));
    bool *is_marked = tn_arena_allocate(arena, graph->tensor_count + 1, sizeof(bool));
    if (!is_marked || (graph->node_count > 0 && (!after || !hosts)) ||
        (graph->input_count > 0 && !values))
        return tn_fail_memory("a body");
    for (size_t i = 0; i < graph->input_count; i++) {
        if (!values[i] || inputs->values[i]) continue;
        values[i] = false;
        is_marked[graph->inputs[i]] = true;
    }
    for (size_t n = 0; n < graph->node_count; n++) {
        const tn_graph_node *node = &graph->nodes[n];
        if (node->is_dead || !tn_infer_reads(node, is_marked)) continue;
        after[n] = true;
        hosts[n] = false;
        for (uint32_t i = 0; i < node->output_count; i++)
            if (node->outputs[i] != TN_NO_TENSOR) is_marked[node->outputs[i]] = true;
    }
    plan->is_after_run = after;
    plan->is_host_node = hosts;
    plan->is_value_input = values;
    return TN_OK;
}

static tn_status infer_body(const tn_call *call, tn_graph_body *body, tn_arena *arena,
                            const tn_tensor *const *given, tn_tensor *const *outputs) {
    const tn_call_scope *scope = call->host_private;
    const tn_graph *graph = body->graph;
    tn_inference_plan plan;
    tn_inference inference;
    body_inputs inputs;
    const bool *is_bound;
    TN_TRY(make_inputs(arena, graph->input_count, &inputs));
    TN_TRY(read_inputs(call, body, given, &inputs));
    if (body->is_recording) (scope->is_types_only ? record_types : record)(body, &inputs);
    TN_TRY(tn_inference_plan_create(graph, arena, &plan));
    plan.is_types_only = scope->is_types_only;
    if (!plan.is_types_only) TN_TRY(open_values(graph, &inputs, arena, &plan));
    TN_TRY(tn_inference_find_bounds(graph, &plan, arena, &is_bound));
    TN_TRY(tn_inference_init(&inference, graph, &plan));
    inference.input_types = inputs.types;
    inference.questions = scope->questions;
    tn_status status = tn_inference_run(&inference, inputs.shapes, inputs.values);
    for (size_t i = 0; i < graph->output_count && status == TN_OK; i++)
        if (outputs && outputs[i])
            status = write_shape(graph, i, &inference.tensors[graph->outputs[i]],
                                 is_bound[graph->outputs[i]], outputs[i]);
    tn_inference_deinit(&inference);
    return status;
}

tn_status tn_body_infer(tn_body_executor *executor, tn_call *call, const tn_body_graph *view,
                        const tn_tensor *const *inputs, tn_tensor *const *outputs) {
    tn_graph_body *body = tn_graph_body_of(view);
    tn_arena *arena;
    (void)executor;
    TN_TRY(tn_arena_create(body->graph->allocator, &arena));
    const tn_status status = infer_body(call, body, arena, inputs, outputs);
    tn_arena_destroy(arena);
    return at_body(status, view);
}

/* Nodes of which a tensor is not computed; the graph is sorted. */
static tn_status leave_out(const tn_graph *graph, tn_tensor_id tensor, tn_arena *arena,
                           const bool **out_nodes) {
    bool *nodes = tn_arena_allocate(arena, graph->node_count + 1, sizeof(bool));
    bool *tensors = tn_arena_allocate(arena, graph->tensor_count + 1, sizeof(bool));
    if (!nodes || !tensors) return tn_fail_memory("a body");
    tensors[tensor] = true;
    for (size_t n = graph->node_count; n-- > 0;) {
        const tn_graph_node *node = &graph->nodes[n];
        nodes[n] = true;
        for (uint32_t i = 0; i < node->output_count; i++)
            if (node->outputs[i] != TN_NO_TENSOR && tensors[node->outputs[i]]) nodes[n] = false;
        for (uint32_t i = 0; !nodes[n] && i < node->input_count; i++)
            if (node->inputs[i] != TN_NO_TENSOR) tensors[node->inputs[i]] = true;
    }
    *out_nodes = nodes;
    return TN_OK;
}

/* The plan of an inference that knows an output's value; false: that is not free of data. */
static tn_status plan_value(const tn_graph *graph, const body_inputs *inputs, tn_tensor_id tensor,
                            tn_arena *arena, tn_inference_plan *out_plan, bool *out_is_free) {
    bool *is_free = tn_arena_allocate(arena, graph->tensor_count + 1, sizeof(bool));
    bool *nodes = tn_arena_allocate(arena, graph->node_count + 1, sizeof(bool));
    bool *tensors = tn_arena_allocate(arena, graph->tensor_count + 1, sizeof(bool));
    bool *values = tn_arena_allocate(arena, graph->input_count + 1, sizeof(bool));
    if (!is_free || !nodes || !tensors || !values) return tn_fail_memory("a body");
    TN_TRY(tn_inference_plan_create(graph, arena, out_plan));
    for (size_t i = 0; i < graph->input_count; i++)
        is_free[graph->inputs[i]] = inputs->values[i] != NULL;
    memcpy(nodes, out_plan->is_host_node, graph->node_count * sizeof(bool));
    memcpy(tensors, out_plan->is_host_tensor, graph->tensor_count * sizeof(bool));
    TN_TRY(tn_graph_mark_value(graph, tensor, is_free, tensors, nodes));
    *out_is_free = is_free[tensor];
    TN_TRY(leave_out(graph, tensor, arena, &out_plan->is_left_out));
    for (size_t i = 0; i < graph->input_count; i++)
        values[i] = tensors[graph->inputs[i]];
    out_plan->is_host_node = nodes;
    out_plan->is_host_tensor = tensors;
    out_plan->is_value_input = values;
    return TN_OK;
}

static tn_status find_value(const tn_call *call, const tn_graph_body *body, tn_arena *arena,
                            const tn_tensor *const *given, uint32_t output, uint64_t bytes,
                            void *data, bool *out_is_known) {
    const tn_graph *graph = body->graph;
    const tn_tensor_id id = graph->outputs[output];
    tn_inference_plan plan;
    tn_inference inference;
    body_inputs inputs;
    bool is_free = false;
    TN_TRY(make_inputs(arena, graph->input_count, &inputs));
    TN_TRY(read_inputs(call, body, given, &inputs));
    TN_TRY(plan_value(graph, &inputs, id, arena, &plan, &is_free));
    if (!is_free) return TN_OK;
    TN_TRY(tn_inference_init(&inference, graph, &plan));
    inference.input_types = inputs.types;
    inference.questions = ((const tn_call_scope *)call->host_private)->questions;
    const tn_status status = tn_inference_run(&inference, inputs.shapes, inputs.values);
    const tn_tensor *made = &inference.tensors[id].storage.tensor;
    *out_is_known = status == TN_OK && inference.tensors[id].is_known && made->data &&
                    made->bytes == bytes && made->type != TN_STRING;
    if (*out_is_known) memcpy(data, made->data, (size_t)bytes);
    tn_inference_deinit(&inference);
    return status;
}

tn_status tn_body_value(tn_call *call, const tn_body_graph *view, const tn_tensor *const *inputs,
                        uint32_t output, uint64_t bytes, void *data, bool *out_is_known) {
    const tn_graph_body *body = tn_graph_body_of(view);
    tn_arena *arena;
    *out_is_known = false;
    TN_TRY(tn_arena_create(body->graph->allocator, &arena));
    const tn_status status =
        find_value(call, body, arena, inputs, output, bytes, data, out_is_known);
    tn_arena_destroy(arena);
    return at_body(status, view);
}

/* ----------------------------------------------------------------------------------------------
 * values */

/* Every node is computed where it is inferred, so that all shapes are the true ones. */
static tn_status plan_all(const tn_graph *graph, tn_arena *arena, tn_inference_plan *out_plan) {
    bool *nodes = tn_arena_allocate(arena, graph->node_count + 1, sizeof(bool));
    bool *tensors = tn_arena_allocate(arena, graph->tensor_count + 1, sizeof(bool));
    bool *inputs = tn_arena_allocate(arena, graph->input_count + 1, sizeof(bool));
    bool *after = tn_arena_allocate(arena, graph->node_count + 1, sizeof(bool));
    if (!nodes || !tensors || !inputs || !after) return tn_fail_memory("a body");
    memset(nodes, 1, graph->node_count);
    memset(tensors, 1, graph->tensor_count);
    memset(inputs, 1, graph->input_count);
    *out_plan = (tn_inference_plan){.is_host_node = nodes,
                                    .is_host_tensor = tensors,
                                    .is_value_input = inputs,
                                    .is_after_run = after,
                                    .is_whole = true};
    return TN_OK;
}

static void destroy_run(tn_body_run *run, const tn_allocator *allocator) {
    for (int i = 0; i < 2; i++)
        tn_inference_deinit(&run->inferences[i]);
    tn_arena_destroy(run->arena);
    tn_deallocate(allocator, run);
}

static tn_status init_run(tn_body_run *run, const tn_allocator *allocator) {
    const tn_graph *graph = run->body->graph;
    TN_TRY(tn_arena_create(allocator, &run->arena));
    TN_TRY(plan_all(graph, run->arena, &run->plan));
    TN_TRY(make_inputs(run->arena, graph->input_count, &run->inputs));
    for (int i = 0; i < 2; i++) {
        TN_TRY(tn_inference_init(&run->inferences[i], graph, &run->plan));
        run->inferences[i].input_types = run->inputs.types;
        run->inferences[i].input_heaps = run->inputs.heaps;
        run->inferences[i].allocator = allocator;
    }
    return TN_OK;
}

static tn_status find_run(tn_body_references *references, const tn_graph_body *body,
                          tn_body_run **out_run) {
    for (tn_body_run *run = references->runs; run; run = run->next) {
        *out_run = run;
        if (run->body == body) return TN_OK;
    }
    tn_body_run *run = tn_allocate_zero(references->allocator, 1, sizeof(*run));
    if (!run) return tn_fail_memory("a body");
    run->body = body;
    const tn_status status = init_run(run, references->allocator);
    if (status != TN_OK) {
        destroy_run(run, references->allocator);
        return status;
    }
    run->next = references->runs;
    references->runs = run;
    *out_run = run;
    return TN_OK;
}

tn_status tn_body_deliver(const tn_body_graph *body, uint32_t index, const tn_tensor *made,
                          tn_tensor *output) {
    if (!output) return TN_OK;
    if (!output->data) {
        *output = *made;
        return TN_OK;
    }
    const bool is_same =
        output->rank == made->rank &&
        (made->rank == 0 || memcmp(output->shape, made->shape, made->rank * sizeof(int64_t)) == 0);
    if (output->type != made->type)
        return tn_fail(TN_ERROR_TYPE, "output %" PRIu32 " of body '%s' is %s; %s was expected",
                       index, body->name, tn_type_name(made->type), tn_type_name(output->type));
    if (!is_same || output->bytes < made->bytes) {
        char is[TN_SHAPE_TEXT_BYTES], was[TN_SHAPE_TEXT_BYTES];
        return tn_fail(TN_ERROR_SHAPE, "output %" PRIu32 " of body '%s' is %s; %s was expected",
                       index, body->name, tn_shape_print(made->rank, made->shape, is, sizeof(is)),
                       tn_shape_print(output->rank, output->shape, was, sizeof(was)));
    }
    if (made->bytes > 0 && output->data != made->data)
        memcpy(output->data, made->data, (size_t)made->bytes);
    return TN_OK;
}

static tn_status run_body(tn_body_references *references, const tn_call *call,
                          const tn_graph_body *body, const tn_tensor *const *given,
                          tn_tensor *const *outputs) {
    const tn_graph *graph = body->graph;
    tn_body_run *run;
    TN_TRY(find_run(references, body, &run));
    TN_TRY(read_inputs(call, body, given, &run->inputs));
    tn_inference *inference = &run->inferences[run->current ^= 1];
    inference->run = references->run;
    inference->questions = references->questions;
    TN_TRY(tn_run_check(references->run)); /* a body without nodes, repeated */
    TN_TRY(tn_inference_run(inference, run->inputs.shapes, run->inputs.values));
    for (uint32_t i = 0; outputs && i < graph->output_count; i++)
        TN_TRY(tn_body_deliver(&body->view, i,
                               &inference->tensors[graph->outputs[i]].storage.tensor, outputs[i]));
    return TN_OK;
}

static tn_status run_references(tn_body_executor *executor, tn_call *call,
                                const tn_body_graph *view, const tn_tensor *const *inputs,
                                tn_tensor *const *outputs) {
    tn_body_references *references = (tn_body_references *)executor; /* its first member */
    return at_body(run_body(references, call, tn_graph_body_of(view), inputs, outputs), view);
}

void tn_body_references_init(tn_body_references *references, const tn_allocator *allocator) {
    *references = (tn_body_references){
        .executor = {.infer = tn_body_infer, .value = tn_body_value, .run = run_references},
        .allocator = allocator};
}

void tn_body_references_deinit(tn_body_references *references) {
    while (references->runs) {
        tn_body_run *run = references->runs;
        references->runs = run->next;
        destroy_run(run, references->allocator);
    }
}
