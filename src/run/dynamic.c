/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The run of networks in which some output is sized by its data: step by step, each step's shapes
 * inferred when those before it have run, memory from a pool that grows and is kept for the next
 * run. Such networks are exempt from the promise that runs allocate nothing.
 */
#include "base/status.h"
#include "run/context_private.h"

#include <string.h>

typedef struct pool_buffer {
    void *memory;
    size_t bytes;
    bool is_used;
} pool_buffer;

struct tn_dynamic_run {
    tn_tensor_storage *tensors; /* by program value; data null until it is made */
    tn_tensor_storage *outputs; /* by graph output */
    bool *is_ready;             /* by program value, in this run */
    bool has_outputs;
    pool_buffer *buffers;
    size_t buffer_count, buffer_capacity;
};

tn_status tn_dynamic_create(tn_context *context) {
    const tn_program *program = context->engine->program;
    const tn_allocator *allocator = &context->allocator;
    struct tn_dynamic_run *dynamic = tn_allocate_zero(allocator, 1, sizeof(*dynamic));
    if (!dynamic) return tn_fail_memory("a context");
    context->dynamic = dynamic;
    dynamic->tensors =
        tn_allocate_zero(allocator, program->value_count + 1u, sizeof(*dynamic->tensors));
    dynamic->is_ready =
        tn_allocate_zero(allocator, program->value_count + 1u, sizeof(*dynamic->is_ready));
    dynamic->outputs = tn_allocate_zero(allocator, context->engine->graph->output_count + 1,
                                        sizeof(*dynamic->outputs));
    return dynamic->tensors && dynamic->outputs && dynamic->is_ready ? TN_OK
                                                                     : tn_fail_memory("a context");
}

void tn_dynamic_destroy(tn_context *context) {
    struct tn_dynamic_run *dynamic = context->dynamic;
    if (!dynamic) return;
    for (size_t i = 0; i < dynamic->buffer_count; i++)
        tn_deallocate(&context->allocator, dynamic->buffers[i].memory);
    tn_deallocate(&context->allocator, dynamic->buffers);
    tn_deallocate(&context->allocator, dynamic->tensors);
    tn_deallocate(&context->allocator, dynamic->is_ready);
    tn_deallocate(&context->allocator, dynamic->outputs);
    tn_deallocate(&context->allocator, dynamic);
}

/* ----------------------------------------------------------------------------------------------
 * memory */

/* The smallest free buffer that is large enough, or a new one; free again when the next run begins.
 */
static tn_status take_memory(tn_context *context, size_t bytes, void **out_memory) {
    struct tn_dynamic_run *dynamic = context->dynamic;
    pool_buffer *best = NULL;
    bytes = bytes ? bytes : 64;
    for (size_t i = 0; i < dynamic->buffer_count; i++) {
        pool_buffer *buffer = &dynamic->buffers[i];
        if (!buffer->is_used && buffer->bytes >= bytes && (!best || buffer->bytes < best->bytes))
            best = buffer;
    }
    if (!best) {
        TN_TRY(tn_grow(&context->allocator, (void **)&dynamic->buffers, &dynamic->buffer_capacity,
                       dynamic->buffer_count + 1, sizeof(*dynamic->buffers)));
        void *memory = tn_allocate_aligned(&context->allocator, bytes, 64);
        if (!memory) return tn_fail(TN_ERROR_MEMORY, "no memory for %zu bytes of a tensor", bytes);
        best = &dynamic->buffers[dynamic->buffer_count++];
        *best = (pool_buffer){.memory = memory, .bytes = bytes};
    }
    best->is_used = true;
    *out_memory = best->memory;
    return TN_OK;
}

/* ----------------------------------------------------------------------------------------------
 * values */

static void *source_data(tn_context *context, tn_tensor_id id) {
    const tn_graph *graph = context->engine->graph;
    const tn_graph_tensor *tensor = &graph->tensors[id];
    static const char nothing[64];
    if (tensor->is_constant) return (void *)(uintptr_t)(tensor->data ? tensor->data : nothing);
    for (size_t i = 0; tensor->is_input && i < graph->input_count; i++) {
        if (graph->inputs[i] == id)
            return context->inputs[i].is_staged ? context->inputs[i].staging
                                                : (void *)(uintptr_t)context->inputs[i].data;
    }
    return context->inference.tensors[id].storage.tensor.data;
}

static tn_status describe(tn_context *context, uint32_t value) {
    const tn_program_value *item = &context->engine->program->values[value];
    const tn_inferred_tensor *inferred = &context->inference.tensors[item->tensor];
    const tn_graph_tensor *tensor = &context->engine->graph->tensors[item->tensor];
    tn_tensor_storage *storage = &context->dynamic->tensors[value];
    if (!inferred->is_known)
        return tn_fail(TN_ERROR_INTERNAL, "tensor '%s' has no shape", tensor->name);
    TN_TRY(tn_tensor_init(storage, inferred->storage.tensor.type, item->format,
                          &inferred->storage.shape));
    storage->tensor.name = tensor->name;
    storage->tensor.quantization = tensor->quantization;
    return TN_OK;
}

/* An input of a step: made by an earlier one, or a source. */
static tn_status read_value(tn_context *context, uint32_t value, tn_tensor **out_tensor) {
    struct tn_dynamic_run *dynamic = context->dynamic;
    *out_tensor = NULL;
    if (value == TN_NO_VALUE) return TN_OK;
    if (!dynamic->is_ready[value]) {
        TN_TRY(describe(context, value));
        dynamic->tensors[value].tensor.data =
            source_data(context, context->engine->program->values[value].tensor);
        dynamic->is_ready[value] = true;
    }
    *out_tensor = &dynamic->tensors[value].tensor;
    return TN_OK;
}

static tn_status make_value(tn_context *context, uint32_t value, tn_tensor **out_tensor) {
    struct tn_dynamic_run *dynamic = context->dynamic;
    *out_tensor = NULL;
    if (value == TN_NO_VALUE) return TN_OK;
    TN_TRY(describe(context, value));
    tn_tensor *tensor = &dynamic->tensors[value].tensor;
    TN_TRY(take_memory(context, (size_t)tensor->bytes, &tensor->data));
    dynamic->is_ready[value] = true;
    *out_tensor = tensor;
    return TN_OK;
}

/* ----------------------------------------------------------------------------------------------
 * steps */

#define MOST_PORTS 256

typedef struct step_ports {
    tn_tensor *inputs[MOST_PORTS], *outputs[MOST_PORTS], *operands[MOST_PORTS];
    tn_tensor hidden[16]; /* descriptors without data, for ports of which only the shape is read */
} step_ports;

static tn_status gather_ports(tn_context *context, const tn_program_step *step, step_ports *ports) {
    if (step->input_count > MOST_PORTS || step->output_count > MOST_PORTS ||
        step->operand_count > MOST_PORTS)
        return tn_fail(TN_ERROR_UNSUPPORTED,
                       "a node with more than %d ports in a network sized by its data", MOST_PORTS);
    uint32_t hidden = 0;
    for (uint32_t i = 0; i < step->input_count; i++) {
        TN_TRY(read_value(context, step->inputs[i], &ports->inputs[i]));
        const tn_port *port =
            step->kind == TN_STEP_KERNEL
                ? tn_graph_input_port(context->engine->graph->nodes[step->node].entry->op, i)
                : NULL;
        if (port && ports->inputs[i] && (port->flags & TN_PORT_SHAPE_ONLY) && hidden < 16) {
            ports->hidden[hidden] = *ports->inputs[i];
            ports->hidden[hidden].data = NULL;
            ports->inputs[i] = &ports->hidden[hidden++];
        }
    }
    for (uint32_t i = 0; i < step->operand_count; i++)
        TN_TRY(read_value(context, step->operands[i], &ports->operands[i]));
    return TN_OK;
}

static tn_status infer_nodes(tn_context *context, const tn_program_step *step) {
    const bool *is_after_run = context->engine->plan.is_after_run;
    if (is_after_run[step->node]) TN_TRY(tn_inference_node(&context->inference, step->node));
    for (uint32_t i = 0; i < step->epilogue_count; i++) {
        if (is_after_run[step->epilogues[i]])
            TN_TRY(tn_inference_node(&context->inference, step->epilogues[i]));
    }
    return TN_OK;
}

/* Tells inference the true shapes of outputs that this run sized. */
static tn_status note_sizes(tn_context *context, const tn_program_step *step,
                            tn_tensor *const *outputs) {
    const tn_operator *op = context->engine->graph->nodes[step->node].entry->op;
    for (uint32_t i = 0; i < step->output_count; i++) {
        const tn_port *port = tn_graph_output_port(op, i);
        if (!outputs[i] || !port || !(port->flags & TN_PORT_SIZED_BY_RUN)) continue;
        tn_tensor *tensor = outputs[i];
        tn_shape shape;
        const uint64_t room = tensor->bytes;
        void *data = tensor->data;
        TN_TRY(tn_shape_set(&shape, tensor->rank, tensor->shape));
        tn_tensor_storage *storage = &context->dynamic->tensors[step->outputs[i]];
        const char *name = tensor->name;
        TN_TRY(tn_tensor_init(storage, tensor->type, tensor->format, &shape));
        storage->tensor.name = name;
        storage->tensor.data = data;
        if (storage->tensor.bytes > room)
            return tn_fail(TN_ERROR_PLUGIN, "output '%s' came back larger than its bound", name);
        TN_TRY(tn_inference_set(&context->inference,
                                context->engine->program->values[step->outputs[i]].tensor, &shape,
                                data));
    }
    return TN_OK;
}

static tn_status run_kernel(tn_context *context, uint32_t index, step_ports *ports) {
    const tn_program_step *step = &context->engine->program->steps[index];
    tn_open_kernel *kernel = &context->kernels[index];
    for (uint32_t i = 0; i < step->output_count; i++)
        TN_TRY(make_value(context, step->outputs[i], &ports->outputs[i]));
    kernel->call.inputs = (const tn_tensor *const *)ports->inputs;
    kernel->call.outputs = ports->outputs;
    kernel->call.operands = (const tn_tensor *const *)ports->operands;
    TN_TRY(tn_open_kernel_reshape(kernel));
    kernel->call.workspace = NULL;
    if (kernel->call.workspace_bytes)
        TN_TRY(take_memory(context, (size_t)kernel->call.workspace_bytes, &kernel->call.workspace));
    TN_TRY(tn_open_kernel_run(kernel));
    const tn_status status = note_sizes(context, step, ports->outputs);
    return status == TN_OK ? TN_OK : tn_error_at(status, "node '%s'", kernel->call.node);
}

static tn_status run_view(tn_context *context, const tn_program_step *step, step_ports *ports) {
    const tn_operator *op = context->engine->graph->nodes[step->node].entry->op;
    for (uint32_t i = 0; i < step->output_count; i++) {
        const uint32_t alias = tn_graph_output_port(op, i)->alias;
        if (step->outputs[i] == TN_NO_VALUE) continue;
        if (alias == 0 || alias > step->input_count || !ports->inputs[alias - 1])
            return tn_fail(TN_ERROR_INTERNAL, "a view without a source");
        TN_TRY(describe(context, step->outputs[i]));
        context->dynamic->tensors[step->outputs[i]].tensor.data = ports->inputs[alias - 1]->data;
        context->dynamic->is_ready[step->outputs[i]] = true;
    }
    return TN_OK;
}

static tn_status run_reformat(tn_context *context, const tn_program_step *step, step_ports *ports) {
    TN_TRY(make_value(context, step->outputs[0], &ports->outputs[0]));
    tn_call call = {.user = context->engine,
                    .inputs = (const tn_tensor *const *)ports->inputs,
                    .outputs = ports->outputs};
    return tn_walk_reformat(&call);
}

static tn_status run_step(tn_context *context, uint32_t index) {
    const tn_program_step *step = &context->engine->program->steps[index];
    step_ports ports;
    if (step->kind != TN_STEP_REFORMAT) TN_TRY(infer_nodes(context, step));
    if (step->is_host) return TN_OK;
    TN_TRY(gather_ports(context, step, &ports));
    if (step->kind == TN_STEP_VIEW) return run_view(context, step, &ports);
    return step->kind == TN_STEP_REFORMAT ? run_reformat(context, step, &ports)
                                          : run_kernel(context, index, &ports);
}

/* ----------------------------------------------------------------------------------------------
 * run */

static tn_status hand_out(tn_context *context) {
    const tn_engine *engine = context->engine;
    for (uint32_t i = 0; i < engine->graph->output_count; i++) {
        tn_tensor *value;
        tn_output_binding *binding = &context->outputs[i];
        TN_TRY(read_value(context, engine->program->output_values[i], &value));
        if (binding->data && binding->bytes < value->bytes)
            return tn_fail(TN_ERROR_ARGUMENT, "output '%s' has %llu bytes; %llu are bound",
                           engine->outputs[i].name, (unsigned long long)value->bytes,
                           (unsigned long long)binding->bytes);
        if (!binding->data) TN_TRY(tn_bindings_own_output(context, i, (size_t)value->bytes));
        tn_tensor_storage *output = &context->dynamic->outputs[i];
        tn_shape shape;
        TN_TRY(tn_shape_set(&shape, value->rank, value->shape));
        TN_TRY(tn_tensor_init(output, value->type, TN_LINEAR, &shape));
        output->tensor.name = engine->outputs[i].name;
        output->tensor.data = binding->data ? binding->data : binding->own;
        if (value->bytes) memcpy(output->tensor.data, value->data, (size_t)value->bytes);
    }
    context->dynamic->has_outputs = true;
    return TN_OK;
}

static tn_status start(tn_context *context) {
    const uint32_t count = tn_engine_input_count(context->engine);
    tn_shape shapes[64];
    const void *values[64];
    if (count > 64)
        return tn_fail(TN_ERROR_UNSUPPORTED, "more than 64 inputs of a network sized by its data");
    for (uint32_t i = 0; i < count; i++) {
        size_t elements;
        tn_input_binding *binding = &context->inputs[i];
        shapes[i] = binding->shape;
        values[i] = context->engine->plan.is_value_input[i] ? binding->data : NULL;
        binding->is_staged = false;
        TN_TRY(tn_shape_count(&shapes[i], &elements));
        if (binding->is_needed && elements)
            TN_TRY(tn_bindings_check_input(
                context, i, elements * tn_type_bytes(context->engine->inputs[i].type)));
    }
    return tn_inference_run(&context->inference, shapes, values);
}

tn_status tn_dynamic_run(tn_context *context) {
    struct tn_dynamic_run *dynamic = context->dynamic;
    const tn_program *program = context->engine->program;
    dynamic->has_outputs = false;
    for (size_t i = 0; i < dynamic->buffer_count; i++)
        dynamic->buffers[i].is_used = false;
    memset(dynamic->is_ready, 0, program->value_count * sizeof(*dynamic->is_ready));
    TN_TRY(start(context));
    for (uint32_t s = 0; s < program->step_count; s++)
        TN_TRY(run_step(context, s));
    return hand_out(context);
}

const tn_tensor *tn_dynamic_output(const tn_context *context, uint32_t output) {
    return context->dynamic->has_outputs ? &context->dynamic->outputs[output].tensor : NULL;
}
