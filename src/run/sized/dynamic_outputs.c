/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Outputs without a bound (tenon/plugin/output.h) in a run whose shapes are found step by step:
 * their memory is the pool's, of the value's own space, and is released as all other values' is
 * once the kernel has asked for it.
 */
#include "base/status.h"
#include "run/sized/dynamic.h"

static tn_status allocate_output(tn_output_source *source, tn_call *call, uint32_t index,
                                 uint64_t bytes, void **out_data) {
    tn_context *context = source->user;
    struct tn_dynamic_run *dynamic = context->dynamic;
    const uint32_t value = dynamic->own->outputs[index];
    tn_dynamic_value *made = &dynamic->values[value];
    (void)call;
    TN_TRY(tn_dynamic_take(context, context->engine->program->values[value].space, (size_t)bytes,
                           &made->buffer));
    *out_data = dynamic->buffers[made->buffer].memory;
    made->has_buffer = made->is_ready = true;
    return TN_OK;
}

tn_status tn_dynamic_unbound(tn_context *context, uint32_t index, uint32_t value,
                             bool *out_is_unbounded) {
    const tn_engine_step *own = &context->engine->steps[index];
    const tn_tensor_id tensor = context->engine->program->values[value].tensor;
    const uint32_t axes = context->shapes.inference.tensors[tensor].unbounded;
    *out_is_unbounded = axes != 0;
    if (axes && own->is_isolated)
        return tn_error_in(
            tn_fail(TN_ERROR_UNSUPPORTED,
                    "output '%s' has no bound (TN_UNBOUNDED), and a kernel in a helper process "
                    "cannot ask for its memory: expected an engine that is not isolated",
                    context->engine->graph->tensors[tensor].name),
            .node = context->engine->graph->nodes[own->step->node].name);
    tn_tensor_unbound(&context->dynamic->tensors[value], axes);
    return TN_OK;
}

void tn_dynamic_open_outputs(tn_context *context, uint32_t step, tn_open_kernel *kernel) {
    struct tn_dynamic_run *dynamic = context->dynamic;
    dynamic->own = &context->engine->program->steps[step];
    dynamic->source.allocate = allocate_output;
    dynamic->source.user = context;
    const bool is_any = tn_outputs_begin(&dynamic->source, &kernel->call);
    kernel->scope.outputs = is_any ? &dynamic->source : NULL;
}

tn_status tn_dynamic_close_outputs(tn_open_kernel *kernel, tn_status status) {
    const tn_output_source *source = kernel->scope.outputs;
    kernel->scope.outputs = NULL;
    return status == TN_OK && source ? tn_outputs_end(source, &kernel->call, "run") : status;
}
