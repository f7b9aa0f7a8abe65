/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Inputs and outputs that the caller has in the device's memory where it is the processor that
 * reads or writes them. Before a run such inputs are copied to pinned memory of the context's own,
 * on the stream and therefore after what the caller has enqueued there, and waited for; after it
 * such outputs are copied back on the stream. What devices read and write is execution_border.c's.
 */
#include "base/status.h"
#include "plugin/devices.h"
#include "run/context_private.h"

void tn_device_ports_bind_input(tn_context *context, uint32_t input) {
    tn_input_binding *binding = &context->ports.inputs[input];
    binding->is_device = true;
    binding->is_fetched = binding->is_read_by_host || context->engine->plan.is_value_input[input];
    context->ports.has_device = true;
}

void tn_device_ports_bind_output(tn_context *context, uint32_t output) {
    tn_output_binding *binding = &context->ports.outputs[output];
    binding->is_device = true;
    binding->is_sent = !binding->is_from_device; /* see bindings.c for what lies on an input */
    context->ports.has_device = true;
}

static tn_status copy_bytes(tn_context *context, void *to, const void *from, uint64_t bytes,
                            uint32_t direction) {
    const tn_device *device = context->engine->device;
    const tn_status status =
        device->copy(device, to, from, bytes, direction, context->device.stream);
    context->device.is_pending = true;
    return status == TN_OK ? TN_OK
                           : tn_device_failed(device, status, "copying the caller's memory");
}

static tn_status fetch(tn_context *context, uint32_t input) {
    tn_input_binding *binding = &context->ports.inputs[input];
    size_t bytes = 0;
    if (!binding->is_fetched || !binding->has_shape) return TN_OK; /* an error of reshape */
    TN_TRY(
        tn_format_bytes(TN_LINEAR, context->engine->inputs[input].type, &binding->shape, &bytes));
    TN_TRY(tn_bindings_check_input(context, input, bytes));
    TN_TRY(tn_bindings_reserve_staging(context, input, bytes));
    return bytes > 0 ? copy_bytes(context, binding->staging, binding->data, bytes, TN_COPY_TO_HOST)
                     : TN_OK;
}

tn_status tn_device_ports_fetch(tn_context *context) {
    const uint32_t count = tn_context_input_count(context);
    bool is_any = false;
    if (!context->ports.has_device) return TN_OK;
    for (uint32_t i = 0; i < count; i++) {
        is_any |= context->ports.inputs[i].is_fetched;
        TN_TRY(tn_error_at(fetch(context, i), "input '%s'", context->engine->inputs[i].name));
    }
    /* The copies of an earlier run's outputs may not be done yet, either. */
    for (uint32_t i = 0; i < tn_context_output_count(context); i++)
        is_any |= context->ports.outputs[i].is_sent;
    return is_any ? tn_execution_wait(context) : TN_OK;
}

bool tn_device_ports_has_sends(const tn_context *context) {
    for (uint32_t i = 0; i < tn_context_output_count(context); i++)
        if (context->ports.outputs[i].is_sent) return true;
    return false;
}

tn_status tn_device_ports_send(tn_context *context) {
    for (uint32_t i = 0; i < tn_context_output_count(context); i++) {
        const tn_output_binding *binding = &context->ports.outputs[i];
        const tn_tensor *output = NULL;
        if (!binding->is_sent) continue;
        TN_TRY(tn_context_find_output(context, i, &output));
        if (output->bytes == 0) continue;
        TN_TRY(tn_error_at(
            copy_bytes(context, binding->data, binding->own, output->bytes, TN_COPY_TO_DEVICE),
            "output '%s'", output->name));
    }
    return TN_OK;
}

/* What of a run is the processor's, as the beginning of a sentence and a name; false: nothing. */
static bool find_host_work(const tn_context *context, const char **out_what,
                           const char **out_name) {
    const tn_engine *engine = context->engine;
    if (context->ports.host_node != TN_NO_NODE) {
        *out_what = context->dynamic ? "the processor reads the size of an output"
                                     : "it runs on the processor";
        *out_name = NULL;
        return true;
    }
    for (uint32_t i = 0; i < tn_engine_input_count(engine); i++) {
        *out_name = engine->inputs[i].name;
        *out_what = "the processor gathers input";
        if (context->ports.inputs[i].strided.is_bound) return true;
        *out_what = "the processor reads input";
        if (context->ports.has_device && context->ports.inputs[i].is_fetched) return true;
    }
    for (uint32_t i = 0; i < tn_engine_output_count(engine); i++) {
        *out_name = engine->outputs[i].name;
        *out_what = "the processor scatters output";
        if (context->ports.outputs[i].strided.is_bound) return true;
        *out_what = "the processor computes output";
        if (context->ports.has_device && context->ports.outputs[i].is_sent) return true;
    }
    return false;
}

/* A captured graph repeats what the device does, and nothing of what the processor did meanwhile.
 */
tn_status tn_device_ports_check_capture(const tn_context *context) {
    const tn_engine *engine = context->engine;
    const tn_device *device = engine->device;
    const char *what = NULL, *name = NULL;
    if (context->device.stream == context->device.own_stream ||
        !TN_DEVICE_HAS(device, is_capturing) || !find_host_work(context, &what, &name) ||
        !device->is_capturing(device, context->device.stream))
        return TN_OK;
    const tn_status status = tn_fail(
        TN_ERROR_STATE, "%s%s%s%s, and the stream is being captured: a graph would not repeat that",
        what, name ? " '" : "", name ? name : "", name ? "'" : "");
    if (name) return status;
    const tn_graph_node *node = &engine->graph->nodes[context->ports.host_node];
    return tn_error_in(status, .node = node->name, .op = node->entry->op->name);
}
