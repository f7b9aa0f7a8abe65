/* SPDX-License-Identifier: Apache-2.0 */
/* Networks on a device: see tune_device.h. */
#include "tune/tune_device.h"
#include "base/memory.h"
#include "base/status.h"
#include "builder/timing/timing_policy.h"
#include "plugin/devices.h"

#include <math.h>

tn_status tn_tune_device_open(tn_tune_device *own, const tn_allocator *allocator,
                              const tn_device *device, const tn_engine *engine,
                              tn_context *context) {
    const size_t ports = (size_t)tn_engine_input_count(engine) + tn_engine_output_count(engine);
    *own = (tn_tune_device){.allocator = allocator, .device = device, .context = context};
    own->blocks = tn_allocate_zero(allocator, ports + 1, sizeof *own->blocks);
    if (!own->blocks) return tn_fail_memory("the timing of a network");
    tn_status status = device->stream_create(device, &own->stream);
    if (status == TN_OK) status = device->event_create(device, &own->begin);
    if (status == TN_OK) status = device->event_create(device, &own->end);
    if (status != TN_OK) return tn_device_failed(device, status, "a stream to time a network on");
    return tn_context_set_stream(context, own->stream);
}

void tn_tune_device_close(tn_tune_device *own) {
    const tn_device *device = own->device;
    if (!device) return;
    while (own->block_count > 0)
        device->deallocate(device, own->blocks[--own->block_count], own->stream);
    if (own->stream) (void)device->stream_wait(device, own->stream);
    if (own->begin) device->event_destroy(device, own->begin);
    if (own->end) device->event_destroy(device, own->end);
    if (own->stream) device->stream_destroy(device, own->stream);
    tn_deallocate(own->allocator, (void *)own->blocks);
    *own = (tn_tune_device){0};
}

static tn_status take_block(tn_tune_device *own, uint64_t bytes, void **out_block) {
    static const tn_device_allocator none;
    TN_TRY(tn_device_take_memory(own->device, &none, bytes > 0 ? bytes : 1, own->stream,
                                 "memory to time a network in", out_block));
    own->blocks[own->block_count++] = *out_block;
    return TN_OK;
}

tn_status tn_tune_device_bind_input(tn_tune_device *own, uint32_t input, const void *data,
                                    uint64_t bytes) {
    const tn_device *device = own->device;
    void *block = NULL;
    TN_TRY(take_block(own, bytes, &block));
    tn_status status =
        bytes == 0 ? TN_OK
                   : device->copy(device, block, data, bytes, TN_COPY_TO_DEVICE, own->stream);
    if (status == TN_OK) status = device->stream_wait(device, own->stream);
    if (status != TN_OK) return tn_device_failed(device, status, "copying a made-up input");
    return tn_context_bind_device_input(own->context, input, block, bytes);
}

/* Those whose sizes a run alone tells stay the context's. */
static tn_status bind_output(tn_tune_device *own, uint32_t index) {
    const tn_tensor *output = NULL;
    void *block = NULL;
    if (tn_context_output(own->context, index, &output) != TN_OK || !output) {
        tn_error_clear();
        return TN_OK;
    }
    TN_TRY(take_block(own, output->bytes, &block));
    return tn_context_bind_device_output(own->context, index, block, output->bytes);
}

tn_status tn_tune_device_start(tn_tune_device *own, const tn_engine *engine) {
    TN_TRY(tn_context_reshape(own->context));
    for (uint32_t i = 0; i < tn_engine_output_count(engine); i++)
        TN_TRY(bind_output(own, i));
    double ns = 0;
    own->runs = 1;
    TN_TRY(tn_tune_device_sample(own, &ns)); /* warms it */
    TN_TRY(tn_tune_device_sample(own, &ns));
    const double runs = ceil(tn_timing_policy.device_trial_sample_ns / fmax(ns, 1));
    own->runs = (uint32_t)fmin(runs, tn_timing_policy.device_most_runs);
    return TN_OK;
}

tn_status tn_tune_device_sample(tn_tune_device *own, double *out_ns) {
    const tn_device *device = own->device;
    double ns = 0;
    tn_status status = device->event_record(device, own->begin, own->stream);
    for (uint32_t i = 0; i < own->runs && status == TN_OK; i++)
        TN_TRY(tn_context_run(own->context));
    if (status == TN_OK) status = device->event_record(device, own->end, own->stream);
    if (status == TN_OK) status = device->stream_wait(device, own->stream);
    if (status == TN_OK) status = device->event_elapsed(device, own->begin, own->end, &ns);
    if (status != TN_OK) return tn_device_failed(device, status, "timing a network");
    *out_ns = ns / own->runs;
    return TN_OK;
}
