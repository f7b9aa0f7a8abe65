/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sizes that stay where a kernel has stored them: an output sized by run whose kernel counts what
 * is there (tenon/plugin/counted.h) goes on with its capacity through steps that are right for
 * every count, and the host does not wait. Where a step is not, the host reads the count and gives
 * the tensor its true shape.
 */
#include "base/status.h"
#include "plugin/devices.h"
#include "run/sized/counted.h"
#include "run/sized/dynamic.h"

#include <string.h>

static tn_dynamic_value *value_of(const tn_context *context, uint32_t value) {
    return &context->dynamic->values[value];
}

bool tn_dynamic_is_counted(const tn_context *context, uint32_t value) {
    return value != TN_NO_VALUE && value_of(context, value)->is_ready &&
           value_of(context, value)->counted.value;
}

/* ----------------------------------------------------------------------------------------------
 * the true shape */

static tn_status copy_bytes(tn_context *context, void *to, const void *from, size_t bytes,
                            uint32_t direction) {
    const tn_device *device = context->engine->device;
    const tn_status status =
        device->copy(device, to, from, bytes, direction, context->device.stream);
    context->device.is_pending = true;
    return status == TN_OK ? TN_OK : tn_device_failed(device, status, "reading a count");
}

static tn_status read_count(tn_context *context, uint32_t value, int64_t *out_count) {
    const tn_dynamic_value *made = value_of(context, value);
    const tn_tensor *tensor = &context->dynamic->tensors[value].tensor;
    const int64_t capacity = tensor->shape[made->counted.axis];
    if (context->engine->program->values[value].space == TN_SPACE_HOST) {
        *out_count = *made->counted.value;
    } else {
        TN_TRY(copy_bytes(context, out_count, made->counted.value, sizeof(*out_count),
                          TN_COPY_TO_HOST));
        TN_TRY(tn_execution_wait(context));
        context->dynamic->is_arriving = false;
    }
    if (*out_count >= 0 && *out_count <= capacity) return TN_OK;
    return tn_fail(TN_ERROR_PLUGIN, "tensor '%s' has a count of %lld, and room for %lld",
                   tensor->name, (long long)*out_count, (long long)capacity);
}

/* Of `rows` rows the beginnings, side by side. */
static tn_status pack(tn_context *context, uint32_t value, const char *from, size_t rows,
                      size_t pitch, size_t row_bytes) {
    char *to = context->dynamic->tensors[value].tensor.data;
    const bool is_host = context->engine->program->values[value].space == TN_SPACE_HOST;
    for (size_t row = 0; row < rows && row_bytes > 0; row++) {
        if (is_host)
            memcpy(to + row * row_bytes, from + row * pitch, row_bytes);
        else
            TN_TRY(copy_bytes(context, to + row * row_bytes, from + row * pitch, row_bytes,
                              TN_COPY_ON_DEVICE));
    }
    return TN_OK;
}

static size_t count_before(const tn_shape *shape, uint32_t axis) {
    size_t count = 1;
    for (uint32_t i = 0; i < axis; i++)
        count *= (size_t)shape->extents[i];
    return count;
}

tn_status tn_dynamic_settle(tn_context *context, uint32_t value) {
    struct tn_dynamic_run *dynamic = context->dynamic;
    tn_dynamic_value *made = value_of(context, value);
    const tn_tensor before = dynamic->tensors[value].tensor;
    tn_shape shape = dynamic->tensors[value].shape;
    const uint32_t axis = made->counted.axis;
    const size_t rows = count_before(&shape, axis), old_buffer = made->buffer;
    int64_t count = 0;
    TN_TRY(read_count(context, value, &count));
    shape.extents[axis] = count;
    made->counted = (tn_counted){0};
    TN_TRY(tn_inference_set(&context->shapes.inference,
                            context->engine->program->values[value].tensor, &shape, NULL));
    TN_TRY(tn_context_describe(context, value, &dynamic->tensors[value]));
    tn_tensor *after = &dynamic->tensors[value].tensor;
    after->data = before.data;
    if (rows <= 1 || after->bytes == before.bytes || after->bytes == 0) return TN_OK;
    TN_TRY(tn_dynamic_lay(context, value));
    const tn_status status = pack(context, value, before.data, rows, (size_t)before.bytes / rows,
                                  (size_t)after->bytes / rows);
    tn_dynamic_give(context, old_buffer);
    return status;
}

static tn_status settle_all(tn_context *context, const uint32_t *values, uint32_t count) {
    for (uint32_t i = 0; i < count; i++)
        if (tn_dynamic_is_counted(context, values[i]))
            TN_TRY(tn_dynamic_settle(context, values[i]));
    return TN_OK;
}

tn_status tn_dynamic_settle_inputs(tn_context *context, const tn_program_step *step,
                                   bool *out_is_any) {
    *out_is_any = false;
    for (uint32_t i = 0; i < step->input_count; i++)
        *out_is_any = *out_is_any || tn_dynamic_is_counted(context, step->inputs[i]);
    TN_TRY(settle_all(context, step->inputs, step->input_count));
    return settle_all(context, step->operands, step->operand_count);
}

/* ----------------------------------------------------------------------------------------------
 * steps that are right for every count */

static bool accepts(const tn_context *context, const tn_engine_step *own, uint32_t input) {
    const tn_program_step *step = own->step;
    const tn_program *program = context->engine->program;
    if (step->kind != TN_STEP_KERNEL || step->is_host || step->absorbed_count > 0 ||
        step->is_device != (program->values[step->inputs[input]].space == TN_SPACE_DEVICE))
        return false;
    if (context->engine->graph->nodes[step->node].entry->op->traits & TN_OPERATOR_ELEMENTWISE)
        return true;
    return step->kernel && input < 64 && (own->counted_inputs >> input & 1);
}

/* The count that all counted inputs of a step have in common, with one capacity; null: none. */
static const tn_counted *find_count(const tn_context *context, const tn_engine_step *own,
                                    int64_t *out_capacity) {
    const tn_program_step *step = own->step;
    const tn_counted *found = NULL;
    for (uint32_t i = 0; i < step->input_count; i++) {
        const uint32_t value = step->inputs[i];
        if (!tn_dynamic_is_counted(context, value)) continue;
        const tn_counted *counted = &value_of(context, value)->counted;
        const int64_t capacity = context->dynamic->tensors[value].tensor.shape[counted->axis];
        if (!accepts(context, own, i) ||
            (found && (found->value != counted->value || *out_capacity != capacity)))
            return NULL;
        found = counted;
        *out_capacity = capacity;
    }
    return found;
}

/* Sets the counted inputs' shapes, `more` elements longer than the capacity, and infers. */
static tn_status infer_longer(tn_context *context, const tn_program_step *step, int64_t more) {
    const tn_program *program = context->engine->program;
    for (uint32_t i = 0; i < step->input_count; i++) {
        const uint32_t value = step->inputs[i];
        if (!tn_dynamic_is_counted(context, value)) continue;
        tn_shape shape = context->dynamic->tensors[value].shape;
        shape.extents[value_of(context, value)->counted.axis] += more;
        TN_TRY(tn_inference_set(&context->shapes.inference, program->values[value].tensor, &shape,
                                NULL));
    }
    return tn_inference_node(&context->shapes.inference, step->node);
}

static tn_status infer_all(tn_context *context, const tn_program_step *step) {
    const tn_program *program = context->engine->program;
    for (int probe = 0; probe < TN_COUNTED_PROBES; probe++) {
        TN_TRY(infer_longer(context, step, tn_counted_more[probe]));
        for (uint32_t i = 0; i < step->output_count; i++)
            if (step->outputs[i] != TN_NO_VALUE)
                value_of(context, step->outputs[i])->longer[probe] =
                    context->shapes.inference.tensors[program->values[step->outputs[i]].tensor]
                        .storage.shape;
    }
    return infer_longer(context, step, 0);
}

/* Notes which outputs follow the count; false: their shapes depend on it otherwise. */
static bool note_following(const tn_context *context, const tn_program_step *step,
                           const tn_counted *counted, int64_t capacity) {
    for (uint32_t i = 0; i < step->output_count; i++) {
        const uint32_t value = step->outputs[i];
        if (value == TN_NO_VALUE) continue;
        const tn_tensor_id tensor = context->engine->program->values[value].tensor;
        tn_dynamic_value *made = value_of(context, value);
        const tn_shape *const longer[] = {&made->longer[0], &made->longer[1]};
        const uint32_t follows = tn_counted_follows(
            &context->shapes.inference.tensors[tensor].storage.shape, longer, capacity);
        if (follows == TN_COUNTED_OTHERWISE) return false;
        made->next_count = (tn_counted){0};
        if (follows > 0)
            made->next_count = (tn_counted){
                .size = sizeof(tn_counted), .axis = follows - 1, .value = counted->value};
    }
    return true;
}

tn_status tn_dynamic_keep_counts(tn_context *context, uint32_t index) {
    const tn_engine_step *own = &context->engine->steps[index];
    const tn_program_step *step = own->step;
    bool is_any = false;
    int64_t capacity = 0;
    for (uint32_t i = 0; i < step->output_count; i++)
        if (step->outputs[i] != TN_NO_VALUE)
            value_of(context, step->outputs[i])->next_count = (tn_counted){0};
    const tn_counted *counted = find_count(context, own, &capacity);
    if (counted) {
        tn_error_copy before;
        tn_error_save(&before);
        if (infer_all(context, step) == TN_OK && note_following(context, step, counted, capacity))
            return TN_OK;
        tn_error_restore(&before);
        TN_TRY(infer_longer(context, step, 0)); /* the shapes of the capacity again */
    }
    for (uint32_t i = 0; i < step->output_count; i++)
        if (step->outputs[i] != TN_NO_VALUE)
            value_of(context, step->outputs[i])->next_count = (tn_counted){0};
    return tn_dynamic_settle_inputs(context, step, &is_any);
}

/* ----------------------------------------------------------------------------------------------
 * outputs */

static bool is_offered(const tn_context *context, const tn_engine_step *own, uint32_t output) {
    const tn_port *port =
        tn_graph_output_port(context->engine->graph->nodes[own->step->node].entry->op, output);
    return (port->flags & TN_PORT_SIZED_BY_RUN) && output < 64 && own->step->kernel &&
           (own->counted_outputs >> output & 1) && !context->checked && !context->isolation &&
           context->dynamic->step_outputs[output]->data;
}

/* What no kernel stores: then none has. */
static tn_status forget_count(tn_context *context, uint32_t value) {
    const tn_device *device = context->engine->device;
    int64_t *cell = value_of(context, value)->cell;
    if (context->engine->program->values[value].space == TN_SPACE_HOST) {
        *cell = -1;
        return TN_OK;
    }
    const tn_status status =
        device->fill(device, cell, 0xff, sizeof(*cell), context->device.stream);
    return status == TN_OK ? TN_OK : tn_device_failed(device, status, "room for a count");
}

/* What the kernel sees: the count of what it reads, or room for the one that it finds. */
tn_status tn_dynamic_offer_counts(tn_context *context, uint32_t index) {
    const tn_engine_step *own = &context->engine->steps[index];
    struct tn_dynamic_run *dynamic = context->dynamic;
    for (uint32_t i = 0; i < own->step->output_count; i++) {
        const uint32_t value = own->step->outputs[i];
        if (value == TN_NO_VALUE) continue;
        tn_dynamic_value *made = value_of(context, value);
        made->counted = made->next_count;
        if (is_offered(context, own, i)) {
            size_t cell = 0; /* for the rest of the run */
            TN_TRY(tn_dynamic_take(context, context->engine->program->values[value].space,
                                   sizeof(int64_t), &cell));
            made->cell = dynamic->buffers[cell].memory;
            TN_TRY(forget_count(context, value));
            made->counted = (tn_counted){.size = sizeof(tn_counted), .value = made->cell};
        }
        dynamic->tensors[value].tensor.counted = made->counted.value ? &made->counted : NULL;
    }
    return TN_OK;
}

void tn_dynamic_withdraw_counts(tn_context *context, const tn_program_step *step) {
    for (uint32_t i = 0; i < step->output_count; i++) {
        if (step->outputs[i] == TN_NO_VALUE) continue;
        value_of(context, step->outputs[i])->counted = (tn_counted){0};
        context->dynamic->tensors[step->outputs[i]].tensor.counted = NULL;
    }
}

tn_status tn_dynamic_check_count(const tn_context *context, uint32_t value) {
    const tn_tensor *tensor = &context->dynamic->tensors[value].tensor;
    const tn_dynamic_value *made = value_of(context, value);
    const tn_counted *counted = &made->counted;
    if (counted->value == made->cell && tensor->counted == counted && counted->axis < tensor->rank)
        return TN_OK;
    return tn_fail(TN_ERROR_PLUGIN,
                   "output '%s' of rank %u was given a count along axis %u, or its pointer was "
                   "replaced",
                   tensor->name, tensor->rank, counted->axis);
}
