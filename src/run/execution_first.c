/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The first run of a set of shapes on a device: one step after the other, each looked after, so
 * that what goes wrong is the step's that did it. On a stream of the caller's nothing is waited
 * for, and only errors of launches are found. What comes later, as graphs, is execution_graph.c.
 */
#include "base/status.h"
#include "run/execution_private.h"

#include <string.h>

#define LOOKED_AT_BYTES 4096 /* of an output's beginning */

/* Whether a step's kernel comes from another library than the device. */
static bool is_third_partys(const tn_context *context, const tn_shape_state *state, uint32_t item) {
    const tn_engine *engine = context->engine;
    const uint32_t index = state->item_steps[item];
    return engine->program->steps[index].is_device && engine->steps[index].entry &&
           engine->steps[index].entry->library != engine->contents.device.library;
}

/* Between rows that lie apart is what other steps made. */
static bool is_packed(const tn_tensor *tensor) {
    tn_shape shape;
    size_t bytes = 0;
    return tn_shape_set(&shape, tensor->rank, tensor->shape) == TN_OK &&
           tn_format_bytes(tensor->format, tensor->type, &shape, &bytes) == TN_OK &&
           bytes == tensor->bytes;
}

/* The first output of floats on memory of its own; null: none. */
static const tn_tensor *find_output(const tn_call *call) {
    for (uint32_t i = 0; i < call->output_count; i++) {
        const tn_tensor *output = call->outputs[i];
        bool is_shared =
            !output || output->bytes == 0 || !tn_type_is_float(output->type) || !is_packed(output);
        for (uint32_t k = 0; k < call->input_count && !is_shared; k++)
            is_shared = call->inputs[k] && call->inputs[k]->data == output->data;
        if (!is_shared) return output;
    }
    return NULL;
}

static uint64_t looked_at(const tn_tensor *output) {
    return output->bytes < LOOKED_AT_BYTES ? output->bytes : LOOKED_AT_BYTES;
}

/* Numbers that no arithmetic makes. */
static tn_status mark_output(const tn_context *context, const tn_tensor *output) {
    const tn_device *device = context->engine->device;
    const tn_status status =
        device->fill(device, output->data, 0xff, looked_at(output), context->device.stream);
    return status == TN_OK ? TN_OK : tn_device_failed(device, status, "marking an output");
}

static bool is_marked(const unsigned char *bytes, size_t count) {
    for (size_t i = 0; i < count; i++)
        if (bytes[i] != 0xff) return false;
    return true;
}

/* A launch that was refused and that nobody looked at leaves the marks. */
static tn_status look(tn_context *context, const tn_tensor *output) {
    const tn_device *device = context->engine->device;
    unsigned char bytes[LOOKED_AT_BYTES];
    const size_t count = (size_t)looked_at(output);
    const tn_status status =
        device->copy(device, bytes, output->data, count, TN_COPY_TO_HOST, context->device.stream);
    if (status != TN_OK) return tn_device_failed(device, status, "looking at an output");
    context->device.is_pending = true;
    TN_TRY(tn_execution_wait(context));
    if (!is_marked(bytes, count)) return TN_OK;
    return tn_fail(TN_ERROR_PLUGIN,
                   "the kernel has written nothing into output '%s' (%llu bytes): was its launch "
                   "refused?",
                   output->name ? output->name : "", (unsigned long long)output->bytes);
}

static tn_status run_item(tn_context *context, const tn_shape_state *state, uint32_t index) {
    const tn_execution_item *item = &state->items[index];
    const bool is_waited_for = context->device.stream == context->device.own_stream;
    const tn_tensor *output =
        is_waited_for && is_third_partys(context, state, index) ? find_output(item->call) : NULL;
    tn_status status = output ? mark_output(context, output) : TN_OK;
    if (status != TN_OK) return tn_execution_blame(item, status);
    status = tn_execution_call(context, item);
    if (status != TN_OK) return tn_execution_failed(item, status);
    if (!tn_shape_state_is_on_device(context, state, index)) return TN_OK;
    status = tn_device_launched(context->engine->device, "after the kernel's run");
    if (status != TN_OK) return tn_execution_blame(item, status);
    if (is_waited_for) TN_TRY(tn_execution_settle(context, index));
    status = output ? look(context, output) : TN_OK;
    return status == TN_OK ? TN_OK : tn_execution_blame(item, status);
}

tn_status tn_execution_run_first(tn_context *context, const tn_shape_state *state) {
    tn_error_copy before;
    tn_error_save(&before); /* an error of a launch that was there before is the caller's own */
    if (tn_device_launched(context->engine->device, "before the run") != TN_OK)
        tn_error_restore(&before);
    for (uint32_t i = 0; i < state->item_count; i++) {
        TN_TRY(tn_run_check(context->run));
        TN_TRY(run_item(context, state, i));
    }
    return TN_OK;
}
