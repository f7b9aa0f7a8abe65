/* SPDX-License-Identifier: Apache-2.0 */
/* The tensors of a plan, its outputs and the profiles of its inputs; see writer.h. */
#include "tensor/quantization.h"
#include "plan/write/writer.h"

#include "base/status.h"

/* One axis, each index of it with a scale of its own, was said by `axis` alone from the beginning.
 */
static tn_status write_blocks(tn_plan_writer *writer, const tn_quantization *from,
                              Tenon__Plan__Quantization *message) {
    if (from->axis_count == 0 || (from->axis_count == 1 && from->blocks[0] == 1)) return TN_OK;
    message->n_axes = message->n_blocks = from->axis_count;
    message->axes = tn_arena_copy(writer->arena, from->axes, sizeof(from->axes));
    message->blocks = tn_arena_copy(writer->arena, from->blocks, sizeof(from->blocks));
    return message->axes && message->blocks ? TN_OK : tn_fail_memory("writing a plan");
}

tn_status tn_plan_write_quantization(tn_plan_writer *writer, const tn_quantization *from,
                                     tn_type type, Tenon__Plan__Quantization **out_message) {
    Tenon__Plan__Quantization *message = tn_arena_allocate(writer->arena, 1, sizeof(*message));
    if (!message) return tn_fail_memory("writing a plan");
    tenon__plan__quantization__init(message);
    const size_t count = (size_t)from->count;
    message->axis = from->axis_count == 1 ? (int32_t)from->axes[0] : 0;
    message->scale_type = from->scale_type == TN_F32 ? TN_NONE : from->scale_type;
    message->n_scale = count;
    message->scale = tn_arena_allocate(writer->arena, count, sizeof(*message->scale));
    message->n_zero_point = from->zero_points ? count : 0;
    message->zero_point = tn_arena_allocate(writer->arena, count, sizeof(*message->zero_point));
    if (!message->scale || !message->zero_point) return tn_fail_memory("writing a plan");
    for (size_t i = 0; i < count; i++) {
        message->scale[i] = (float)tn_quantization_scale(from, i);
        message->zero_point[i] = (int32_t)tn_quantization_zero(from, type, i);
    }
    *out_message = message;
    return write_blocks(writer, from, message);
}

/* None, or one for each extent. */
static tn_status write_extent_names(tn_plan_writer *writer, const tn_graph_tensor *tensor,
                                    uint32_t rank, size_t *out_count, char ***out_names) {
    bool has_names = false;
    for (uint32_t i = 0; i < rank; i++)
        has_names = has_names || tensor->extent_names[i];
    if (!has_names) return TN_OK;
    *out_names = tn_arena_allocate(writer->arena, rank, sizeof(**out_names));
    if (!*out_names) return tn_fail_memory("writing a plan");
    *out_count = rank;
    for (uint32_t i = 0; i < rank; i++)
        (*out_names)[i] = tn_plan_writer_text(tensor->extent_names[i]);
    return TN_OK;
}

static tn_status write_tensor(tn_plan_writer *writer, const tn_graph_tensor *tensor,
                              Tenon__Plan__Tensor *message) {
    tenon__plan__tensor__init(message);
    message->name = tn_plan_writer_text(tensor->name);
    message->type = tensor->type;
    message->kind = tensor->is_constant ? 2 : tensor->is_input ? 1 : 0;
    message->value_kind = tensor->is_input ? tensor->kind : 0;
    message->key_type = tensor->is_input ? tensor->key_type : 0;
    if (message->kind != 0 && tensor->has_shape) {
        message->has_shape = true;
        message->n_shape = tensor->shape.rank;
        message->shape = (int64_t *)(uintptr_t)tensor->shape.extents;
        TN_TRY(write_extent_names(writer, tensor, tensor->shape.rank, &message->n_extent_names,
                                  &message->extent_names));
    }
    if (tensor->is_constant) {
        message->bytes = tensor->bytes;
        message->refit_name = tn_plan_writer_text(tensor->refit_name);
        const bool is_noted = tensor->note && tensor->note->is_verified;
        TN_TRY(tn_plan_writer_weight(writer, tensor->data, tensor->bytes, &message->offset,
                                     is_noted ? NULL : &message->checksum));
        if (is_noted) message->checksum = tensor->note->checksum;
    }
    if (!tensor->quantization) return TN_OK;
    return tn_plan_write_quantization(writer, tensor->quantization, tensor->type,
                                      &message->quantization);
}

tn_status tn_plan_write_tensors(tn_plan_writer *writer) {
    const tn_graph *graph = writer->graph;
    Tenon__Plan__Plan *plan = &writer->plan;
    void **messages;
    TN_TRY(tn_plan_writer_messages(writer, writer->tensor_count, sizeof(Tenon__Plan__Tensor),
                                   &messages));
    plan->tensors = (Tenon__Plan__Tensor **)messages;
    for (size_t t = 0; t < graph->tensor_count; t++)
        if (writer->tensor_numbers[t] != TN_NO_TENSOR)
            TN_TRY(write_tensor(writer, &graph->tensors[t], plan->tensors[plan->n_tensors++]));
    plan->inputs = tn_arena_allocate(writer->arena, graph->input_count, sizeof(*plan->inputs));
    if (!plan->inputs) return tn_fail_memory("writing a plan");
    for (size_t i = 0; i < graph->input_count; i++)
        plan->inputs[plan->n_inputs++] = writer->tensor_numbers[graph->inputs[i]];
    return TN_OK;
}

tn_status tn_plan_write_outputs(tn_plan_writer *writer) {
    const tn_graph *graph = writer->graph;
    Tenon__Plan__Plan *plan = &writer->plan;
    void **messages;
    TN_TRY(tn_plan_writer_messages(writer, graph->output_count, sizeof(Tenon__Plan__Output),
                                   &messages));
    plan->outputs = (Tenon__Plan__Output **)messages;
    for (size_t i = 0; i < graph->output_count; i++) {
        Tenon__Plan__Output *output = plan->outputs[plan->n_outputs++];
        tenon__plan__output__init(output);
        output->tensor = writer->tensor_numbers[graph->outputs[i]];
        output->name = tn_plan_writer_text(graph->output_names[i]);
        if (!writer->outputs) continue;
        const tn_plan_output *known = &writer->outputs[i];
        output->type = known->type;
        output->has_shape = known->has_shape;
        output->n_shape = known->has_shape ? known->shape.rank : 0;
        output->shape = (int64_t *)(uintptr_t)known->shape.extents;
        output->value_kind = known->kind;
        output->key_type = known->key_type;
        if (known->has_shape)
            TN_TRY(write_extent_names(writer, &graph->tensors[graph->outputs[i]], known->shape.rank,
                                      &output->n_extent_names, &output->extent_names));
    }
    return TN_OK;
}

static tn_status write_point(tn_plan_writer *writer, tn_type type, const tn_shape *shape,
                             const void *value, Tenon__Plan__Point **out_message) {
    Tenon__Plan__Point *message = tn_arena_allocate(writer->arena, 1, sizeof(*message));
    if (!message) return tn_fail_memory("writing a plan");
    tenon__plan__point__init(message);
    message->n_shape = shape->rank;
    message->shape = (int64_t *)(uintptr_t)shape->extents;
    if (value) {
        message->has_value = true;
        TN_TRY(tn_format_bytes(TN_LINEAR, type, shape, &message->value.len));
        message->value.data = (uint8_t *)(uintptr_t)value;
    }
    *out_message = message;
    return TN_OK;
}

static tn_status write_profile(tn_plan_writer *writer, tn_type type, const tn_plan_profile *profile,
                               Tenon__Plan__Profile *message) {
    tenon__plan__profile__init(message);
    message->is_free = profile->is_free;
    TN_TRY(write_point(writer, type, &profile->minimum, profile->minimum_value, &message->minimum));
    TN_TRY(write_point(writer, type, &profile->optimum, profile->optimum_value, &message->optimum));
    return write_point(writer, type, &profile->maximum, profile->maximum_value, &message->maximum);
}

static tn_status write_set(tn_plan_writer *writer, const tn_plan_profile *profiles,
                           size_t *out_count, Tenon__Plan__Profile ***out_messages) {
    const tn_graph *graph = writer->graph;
    void **messages;
    TN_TRY(tn_plan_writer_messages(writer, graph->input_count, sizeof(Tenon__Plan__Profile),
                                   &messages));
    *out_messages = (Tenon__Plan__Profile **)messages;
    *out_count = graph->input_count;
    for (size_t i = 0; i < graph->input_count; i++) {
        tn_status status = write_profile(writer, graph->tensors[graph->inputs[i]].type,
                                         &profiles[i], (*out_messages)[i]);
        if (status != TN_OK)
            return tn_error_at(status, "input '%s'", graph->tensors[graph->inputs[i]].name);
    }
    return TN_OK;
}

tn_status tn_plan_write_profiles(tn_plan_writer *writer) {
    Tenon__Plan__Plan *plan = &writer->plan;
    const size_t further = writer->profile_count - 1u;
    const tn_plan_profile *profiles = writer->profiles;
    void **messages;
    TN_TRY(write_set(writer, profiles, &plan->n_profiles, &plan->profiles));
    TN_TRY(tn_plan_writer_messages(writer, further, sizeof(Tenon__Plan__ProfileSet), &messages));
    plan->further_profiles = (Tenon__Plan__ProfileSet **)messages;
    plan->n_further_profiles = further;
    for (size_t p = 0; p < further; p++) {
        Tenon__Plan__ProfileSet *set = plan->further_profiles[p];
        tenon__plan__profile_set__init(set);
        profiles += writer->graph->input_count;
        TN_TRY(write_set(writer, profiles, &set->n_inputs, &set->inputs));
    }
    return TN_OK;
}
