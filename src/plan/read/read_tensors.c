/* SPDX-License-Identifier: Apache-2.0 */
/* Tensors, inputs and outputs of a plan; see reader.h. */
#include "tensor/quantization.h"
#include "plan/read/reader.h"

#include "base/status.h"
#include "graph/body.h"

#include <tenon/border.h>

#include <inttypes.h>
#include <string.h>

enum { KIND_MADE = 0, KIND_INPUT = 1, KIND_CONSTANT = 2 };

static tn_status read_made(tn_plan_reader *reader, const Tenon__Plan__Tensor *message,
                           tn_tensor_id *out_id) {
    if (message->type != TN_NONE && !tn_type_is_valid(message->type))
        return tn_plan_reader_fail("there is no element type %" PRIu32, message->type);
    return tn_graph_add_tensor(reader->contents.graph, message->name, message->type, out_id);
}

static tn_status read_input(tn_plan_reader *reader, const Tenon__Plan__Tensor *message,
                            tn_tensor_id *out_id) {
    if (message->n_shape > TN_MAX_RANK ||
        (message->n_extent_names > 0 && message->n_extent_names != message->n_shape))
        return tn_plan_reader_fail("the input has %zu extents and %zu names of extents",
                                   message->n_shape, message->n_extent_names);
    if (message->value_kind)
        return tn_graph_add_kind_input(reader->contents.graph, message->name, message->value_kind,
                                       message->key_type, message->type, out_id);
    uint32_t rank = message->has_shape ? (uint32_t)message->n_shape : UINT32_MAX;
    const char *const *names =
        message->n_extent_names > 0 ? (const char *const *)message->extent_names : NULL;
    return tn_graph_add_input(reader->contents.graph, message->name, message->type, rank,
                              message->shape, names, out_id);
}

static tn_constant_note note_of(const Tenon__Plan__Tensor *message) {
    return (tn_constant_note){.kind = "constant",
                              .name = message->name,
                              .bytes = (size_t)message->bytes,
                              .checksum = message->checksum};
}

/* Elements and their heap, which the graph checks. */
static tn_status read_strings(tn_plan_reader *reader, const Tenon__Plan__Tensor *message,
                              const tn_shape *shape, tn_tensor_id *out_id) {
    tn_constant_note part = note_of(message), *note = NULL;
    TN_TRY(tn_plan_reader_bytes(reader, "a constant", message->offset, message->bytes, &part.data));
    TN_TRY(tn_plan_reader_note(reader, &part, &note));
    TN_TRY(tn_constant_note_verify(note));
    const tn_status status = tn_graph_add_constant_lent(
        reader->contents.graph, message->name, TN_STRING, shape,
        message->bytes > 0 ? part.data : NULL, (size_t)message->bytes, out_id);
    if (status == TN_OK || status == TN_ERROR_MEMORY) return status;
    return tn_plan_reader_fail("%s", tn_last_error()->message);
}

static tn_status read_constant(tn_plan_reader *reader, const Tenon__Plan__Tensor *message,
                               tn_tensor_id *out_id) {
    tn_shape shape;
    const void *data;
    if (!message->has_shape) return tn_plan_reader_fail("the constant has no shape");
    TN_TRY(tn_plan_reader_shape(message->n_shape, message->shape, &shape));
    if (message->type == TN_STRING) return read_strings(reader, message, &shape, out_id);
    const tn_constant_note part = note_of(message);
    tn_constant_note *note = NULL;
    TN_TRY(
        tn_plan_reader_weight(reader, message->type, &shape, &part, message->offset, &data, &note));
    TN_TRY(tn_graph_add_constant_lent(reader->contents.graph, message->name, message->type, &shape,
                                      data, (size_t)message->bytes, out_id));
    reader->contents.graph->tensors[*out_id].note = note;
    return TN_OK;
}

tn_status tn_plan_read_quantization(tn_arena *arena, const Tenon__Plan__Quantization *message,
                                    tn_type type, const tn_quantization **out_quantization) {
    tn_quantization_parameters parameters = {
        .scale_type = message->scale_type,
        .count = message->n_scale,
        .scales = message->scale,
        .zero_points = message->n_zero_point ? message->zero_point : NULL};
    if (message->n_scale == 0 ||
        (message->n_zero_point != 0 && message->n_zero_point != message->n_scale))
        return tn_plan_reader_fail("the quantisation has %zu scales and %zu zero points",
                                   message->n_scale, message->n_zero_point);
    if (message->n_axes > 2 || message->n_blocks != message->n_axes)
        return tn_plan_reader_fail("the quantisation has %zu axes and %zu blocks", message->n_axes,
                                   message->n_blocks);
    if (parameters.scale_type == TN_NONE) parameters.scale_type = TN_F32;
    if (!tn_type_is_float(parameters.scale_type))
        return tn_plan_reader_fail("the quantisation's scales are %s",
                                   tn_type_name(parameters.scale_type));
    parameters.axis_count = (uint32_t)message->n_axes;
    for (uint32_t k = 0; k < parameters.axis_count; k++) {
        parameters.axes[k] = message->axes[k];
        parameters.blocks[k] = message->blocks[k];
    }
    if (message->n_axes == 0 && message->n_scale > 1) {
        if (message->axis < 0) return tn_plan_reader_fail("axis %" PRId32, message->axis);
        parameters.axis_count = 1;
        parameters.axes[0] = (uint32_t)message->axis;
        parameters.blocks[0] = 1;
    }
    return tn_quantization_make(arena, &parameters, type, out_quantization);
}

/* As many scales as the shape asks for: nobody else could check it. */
static tn_status read_quantization(tn_plan_reader *reader, tn_graph_tensor *tensor,
                                   const Tenon__Plan__Quantization *message) {
    const tn_quantization *q = NULL;
    TN_TRY(tn_plan_read_quantization(reader->contents.graph->arena, message, tensor->type, &q));
    const uint64_t count = q->axis_count == 0 ? 1
                           : tensor->has_shape
                               ? tn_quantization_count(q, tensor->shape.rank, tensor->shape.extents)
                               : 0;
    if (count != q->count)
        return tn_plan_reader_fail("the quantisation has %zu scales along axis %" PRIu32
                                   ", which has not as many extents",
                                   (size_t)q->count, q->axes[0]);
    tensor->quantization = q;
    return TN_OK;
}

static tn_status read_tensor(tn_plan_reader *reader, const Tenon__Plan__Tensor *message) {
    tn_tensor_id id = TN_NO_TENSOR;
    if (!*message->name) return tn_plan_reader_fail("a tensor has no name");
    if (message->kind == KIND_MADE)
        TN_TRY(read_made(reader, message, &id));
    else if (message->kind == KIND_INPUT)
        TN_TRY(read_input(reader, message, &id));
    else if (message->kind == KIND_CONSTANT)
        TN_TRY(read_constant(reader, message, &id));
    else
        return tn_plan_reader_fail("there is no kind %" PRIu32 " of tensors", message->kind);
    reader->is_made[id] = message->kind != KIND_MADE;
    if (*message->refit_name) {
        tn_graph *graph = reader->contents.graph;
        if (message->kind != KIND_CONSTANT)
            return tn_plan_reader_fail("what is to be refitted is no constant");
        graph->tensors[id].refit_name = tn_arena_text(graph->arena, message->refit_name);
        if (!graph->tensors[id].refit_name) return tn_fail_memory("the tensors of a plan");
    }
    if (!message->quantization) return TN_OK;
    return read_quantization(reader, &reader->contents.graph->tensors[id], message->quantization);
}

/* The graph has its inputs in the order of the tensors; the plan says in which they were. */
static tn_status order_inputs(tn_plan_reader *reader) {
    tn_graph *graph = reader->contents.graph;
    const Tenon__Plan__Plan *plan = reader->plan;
    bool *is_listed = tn_arena_allocate(reader->scratch, graph->tensor_count, sizeof(*is_listed));
    if (!is_listed) return tn_fail_memory("the inputs of a plan");
    if (plan->n_inputs != graph->input_count)
        return tn_plan_reader_fail("%zu inputs are listed, but %zu tensors are inputs",
                                   plan->n_inputs, graph->input_count);
    for (size_t i = 0; i < plan->n_inputs; i++) {
        tn_tensor_id id = plan->inputs[i];
        if (id >= graph->tensor_count || !graph->tensors[id].is_input || is_listed[id])
            return tn_plan_reader_fail(
                "input %zu is tensor %" PRIu32 ", which is none or is listed twice", i, id);
        is_listed[id] = true;
        graph->inputs[i] = id;
    }
    return TN_OK;
}

tn_status tn_plan_read_tensors(tn_plan_reader *reader) {
    const Tenon__Plan__Plan *plan = reader->plan;
    reader->is_made = tn_arena_allocate(reader->scratch, plan->n_tensors, sizeof(bool));
    if (!reader->is_made) return tn_fail_memory("the tensors of a plan");
    for (size_t i = 0; i < plan->n_tensors; i++)
        TN_TRY(tn_error_at(read_tensor(reader, plan->tensors[i]), "tensor '%s'",
                           plan->tensors[i]->name));
    return order_inputs(reader);
}

tn_status tn_plan_check_refit(tn_plan_reader *reader) {
    const tn_graph *graph = reader->contents.graph;
    bool *is_needed = tn_arena_allocate(reader->scratch, graph->tensor_count + 1, sizeof(bool));
    if (!is_needed) return tn_fail_memory("the tensors of a plan");
    TN_TRY(tn_graph_mark_values(graph, is_needed, NULL));
    for (size_t t = 0; t < graph->tensor_count; t++) {
        const tn_graph_tensor *tensor = &graph->tensors[t];
        const char *why = tensor->refit_name ? tn_graph_refuse_refit(tensor, is_needed[t]) : NULL;
        if (why)
            return tn_plan_reader_fail("constant '%s' cannot be refitted: %s", tensor->name, why);
    }
    return TN_OK;
}

/* What only people read of an output: that it is a type and a shape is enough. */
static tn_status read_facts(const Tenon__Plan__Output *output, tn_plan_output *out_facts) {
    if (output->type != TN_NONE && !tn_type_is_valid(output->type))
        return tn_plan_reader_fail("there is no element type %" PRIu32, output->type);
    if (output->n_shape > TN_MAX_RANK)
        return tn_plan_reader_fail("a shape has rank %zu; at most %d is possible", output->n_shape,
                                   TN_MAX_RANK);
    if (output->n_extent_names > 0 && output->n_extent_names != output->n_shape)
        return tn_plan_reader_fail("there are %zu extents and %zu names of extents",
                                   output->n_shape, output->n_extent_names);
    *out_facts = (tn_plan_output){.type = output->type, .has_shape = output->has_shape};
    out_facts->kind = output->value_kind;
    out_facts->key_type = output->key_type;
    out_facts->shape.rank = (uint32_t)output->n_shape;
    for (size_t i = 0; i < output->n_shape; i++)
        out_facts->shape.extents[i] = output->shape[i];
    return TN_OK;
}

/* An output that is an input has the input's. */
static tn_status read_extent_names(tn_plan_reader *reader, const Tenon__Plan__Output *output) {
    tn_graph *graph = reader->contents.graph;
    if (output->n_extent_names == 0 || graph->tensors[output->tensor].is_input) return TN_OK;
    return tn_graph_name_extents(graph, &graph->tensors[output->tensor],
                                 (uint32_t)output->n_extent_names,
                                 (const char *const *)output->extent_names);
}

tn_status tn_plan_read_outputs(tn_plan_reader *reader) {
    const Tenon__Plan__Plan *plan = reader->plan;
    tn_plan_output *facts =
        tn_arena_allocate(reader->contents.arena, plan->n_outputs + 1, sizeof *facts);
    if (!facts) return tn_fail_memory("the outputs of a plan");
    reader->contents.outputs = facts;
    for (size_t i = 0; i < plan->n_outputs; i++) {
        const Tenon__Plan__Output *output = plan->outputs[i];
        if (output->tensor >= plan->n_tensors || !reader->is_made[output->tensor])
            return tn_plan_reader_fail("output '%s' is tensor %" PRIu32 ", which no node computes",
                                       output->name, output->tensor);
        TN_TRY(tn_graph_add_output(reader->contents.graph, output->tensor, output->name));
        TN_TRY(tn_error_at(read_facts(output, &facts[i]), "output '%s'", output->name));
        TN_TRY(read_extent_names(reader, output));
    }
    return TN_OK;
}
