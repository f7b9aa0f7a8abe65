/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Timing on a device that is not the processor: between two events on one stream, several runs at a
 * time, so that what one launch costs the host is hidden as it is in a network. The first kernel of
 * a build runs until the device's clocks have settled. Tensors are in the device's caches as far as
 * they fit: as in a network, where a kernel reads what was just written. How often a kernel is run,
 * and beside which others, timing_rounds.c decides as it does for the processor's.
 */
#include "base/status.h"
#include "builder/timing/timing_policy.h"
#include "builder/timing/timing_private.h"
#include "guard/checked_call.h"
#include "plugin/devices.h"
#include "program/transfer.h"

#include <math.h>

tn_status tn_timing_stream(tn_lowering *lowering, void **out_stream) {
    struct tn_timing_device *own = &lowering->timing->device;
    const tn_device *device = lowering->options->device;
    tn_status status = TN_OK;
    if (!own->stream) status = device->stream_create(device, &own->stream);
    if (status == TN_OK && !own->begin) status = device->event_create(device, &own->begin);
    if (status == TN_OK && !own->end) status = device->event_create(device, &own->end);
    if (status != TN_OK) return tn_device_failed(device, status, "a stream for timings");
    *out_stream = own->stream;
    return TN_OK;
}

void tn_timing_device_release(tn_lowering *lowering, size_t mark) {
    struct tn_timing_device *own = &lowering->timing->device;
    const tn_device *device = lowering->options->device;
    while (own->block_count > mark)
        device->deallocate(device, own->blocks[--own->block_count], own->stream);
}

void tn_timing_end_device(tn_lowering *lowering) {
    struct tn_timing_device *own = &lowering->timing->device;
    const tn_device *device = lowering->options->device;
    if (own->stream) {
        tn_timing_device_release(lowering, 0);
        (void)device->stream_wait(device, own->stream);
        if (own->begin) device->event_destroy(device, own->begin);
        if (own->end) device->event_destroy(device, own->end);
        device->stream_destroy(device, own->stream);
    }
    tn_deallocate(lowering->graph->allocator, (void *)own->blocks);
}

static tn_status take_block(tn_lowering *lowering, uint64_t bytes, void **out_block) {
    struct tn_timing_device *own = &lowering->timing->device;
    const tn_device *device = lowering->options->device;
    void *block = NULL;
    TN_TRY(tn_grow(lowering->graph->allocator, (void **)&own->blocks, &own->block_capacity,
                   own->block_count + 1, sizeof *own->blocks));
    const tn_status status = device->allocate(device, bytes ? bytes : 64, own->stream, &block);
    if (status != TN_OK) return tn_device_failed(device, status, "memory to time a kernel with");
    own->blocks[own->block_count++] = block;
    *out_block = block;
    return TN_OK;
}

/* The first bytes of a block again and again, up to its end: what timing.c makes repeats so. */
static tn_status repeat(const tn_lowering *lowering, void *block, uint64_t first, uint64_t bytes) {
    const tn_device *device = lowering->options->device;
    tn_status status = TN_OK;
    for (uint64_t done = first; status == TN_OK && done < bytes;) {
        const uint64_t next = done < bytes - done ? done : bytes - done;
        status = device->copy(device, (char *)block + done, block, next, TN_COPY_ON_DEVICE,
                              lowering->timing->device.stream);
        done += next;
    }
    return status;
}

/* Device memory for a tensor, with the numbers of `source`, or with such as timing.c makes. */
static tn_status give_data(tn_lowering *lowering, tn_tensor *tensor, const void *source) {
    const tn_device *device = lowering->options->device;
    const tn_allocator *allocator = lowering->graph->allocator;
    struct tn_timing_device *own = &lowering->timing->device;
    void *made = NULL, *block = NULL;
    uint64_t bytes = tensor->bytes;
    if (!source) {
        tn_tensor filled = *tensor;
        const uint64_t period = tn_type_storage(tensor->type, tn_timing_policy.period);
        if (filled.bytes > period) filled.bytes = period;
        made = tn_allocate_aligned(allocator, filled.bytes ? (size_t)filled.bytes : 64, 64);
        if (!made) return tn_fail_memory("the tensors of a kernel to be timed");
        filled.data = made;
        tn_timing_fill(&filled);
        source = made;
        bytes = filled.bytes;
    }
    tn_status status = take_block(lowering, tensor->bytes, &block);
    if (status == TN_OK && bytes > 0) {
        status = device->copy(device, block, source, bytes, TN_COPY_TO_DEVICE, own->stream);
        if (status == TN_OK) status = repeat(lowering, block, bytes, tensor->bytes);
        if (status == TN_OK) status = device->stream_wait(device, own->stream);
        if (status != TN_OK) status = tn_device_failed(device, status, "a copy");
    }
    tn_deallocate(allocator, made);
    tensor->data = block;
    return status;
}

tn_status tn_timing_device_tensors(tn_lowering *lowering, uint32_t index,
                                   tn_candidate_call *candidate_call, tn_open_kernel *opened) {
    const tn_graph_node *node = &lowering->graph->nodes[index];
    for (uint32_t i = 0; i < node->input_count; i++) {
        tn_tensor *input = &candidate_call->inputs[i].tensor;
        const uint32_t flags = tn_graph_input_port(node->entry->op, i)->flags;
        if (node->inputs[i] == TN_NO_TENSOR ||
            (flags & (TN_PORT_SHAPE_ONLY | TN_PORT_VALUE_NEEDED)))
            continue;
        TN_TRY(give_data(lowering, input, input->data));
    }
    for (uint32_t i = 0; i < candidate_call->call.operand_count; i++) {
        tn_tensor *operand = &candidate_call->operands[i].tensor;
        TN_TRY(give_data(lowering, operand, operand->data));
    }
    for (uint32_t i = 0; i < node->output_count; i++)
        if (candidate_call->call.outputs[i])
            TN_TRY(give_data(lowering, candidate_call->call.outputs[i], NULL));
    if (opened->call.workspace_bytes == 0) return TN_OK;
    return take_block(lowering, opened->call.workspace_bytes, &opened->call.workspace);
}

/* What the device says after the kernel's run is the kernel's failure. */
static tn_status fail_work(const tn_timing_work *work, tn_status status) {
    if (!work->opened) return status;
    work->opened->scope.failed = status;
    return tn_call_failed(&work->opened->call, status, "run");
}

/* Nanoseconds of one run. */
static tn_status run_batch(const tn_lowering *lowering, const tn_timing_work *work, int count,
                           double *out_ns) {
    const tn_device *device = lowering->options->device;
    const struct tn_timing_device *own = &lowering->timing->device;
    double ns = 0;
    tn_status status = device->event_record(device, own->begin, own->stream);
    if (work->graph && status == TN_OK)
        status = device->graph_launch(device, work->graph, own->stream);
    for (int i = 0; !work->graph && i < count && status == TN_OK; i++)
        TN_TRY(work->once(lowering, work));
    if (status == TN_OK) status = device->event_record(device, own->end, own->stream);
    if (status == TN_OK) status = device->stream_wait(device, own->stream);
    if (status == TN_OK) status = device->event_elapsed(device, own->begin, own->end, &ns);
    if (status != TN_OK) return fail_work(work, tn_device_failed(device, status, "timing"));
    *out_ns = ns / count;
    return TN_OK;
}

tn_status tn_timing_device_sample(const tn_lowering *lowering, const tn_timing_work *work,
                                  double *out_ns) {
    return run_batch(lowering, work, work->count, out_ns);
}

/* As an engine launches short kernels: many in one graph. What the device does not capture after
 * all is launched one by one. */
static void capture_batch(const tn_lowering *lowering, tn_timing_work *work, int count) {
    const tn_device *device = lowering->options->device;
    const bool is_capturable = work->opened
                                   ? work->opened->prepared->kernel->traits & TN_KERNEL_CAPTURABLE
                                   : work->direction == TN_TRANSFER_ON_DEVICE;
    tn_error_copy before;
    if (!is_capturable || count < (int)tn_timing_policy.captured_runs ||
        !tn_device_captures(device))
        return;
    tn_error_save(&before);
    tn_status status = device->capture_begin(device, lowering->timing->device.stream);
    if (status == TN_OK) {
        for (int i = 0; i < count && status == TN_OK; i++)
            status = work->once(lowering, work);
        const tn_status ended =
            device->capture_end(device, lowering->timing->device.stream, &work->graph);
        if (status == TN_OK) status = ended;
    }
    if (status != TN_OK && work->graph) device->graph_destroy(device, work->graph);
    if (status != TN_OK) work->graph = NULL;
    tn_error_restore(&before);
}

static tn_status settle_clocks(tn_lowering *lowering, const tn_timing_work *work) {
    double total = 0, ns = 0;
    struct tn_timing_device *own = &lowering->timing->device;
    for (uint32_t i = 0; i < tn_timing_policy.device_warm_samples &&
                         total < tn_timing_policy.device_warm_ns && !own->is_warm;
         i++) {
        TN_TRY(run_batch(lowering, work, work->count, &ns));
        total += ns * work->count;
    }
    own->is_warm = true;
    return TN_OK;
}

/* Once alone, with a look at what its launch has left; twice to see how many make a sample. */
tn_status tn_timing_device_warm_up(tn_lowering *lowering, tn_timing_work *work,
                                   const tn_timing_bounds *bounds) {
    const double best = bounds->best_ns;
    double ns = 0;
    TN_TRY(run_batch(lowering, work, 1, &ns));
    const tn_status status =
        tn_device_launched(lowering->options->device, "after the kernel's run");
    if (status != TN_OK) return fail_work(work, status);
    TN_TRY(run_batch(lowering, work, 2, &ns));
    const double most = tn_timing_policy.device_most_runs,
                 wanted = ns > 0 ? tn_timing_policy.device_sample_ns / ns : most;
    work->count = (int)fmax(1, fmin(wanted, most));
    if (work->opened && best > 0 && ns > bounds->pruned_factor * best &&
        ns - best > tn_timing_policy.device_pruned_ns) {
        tn_timing_samples_add(&work->samples, (tn_timing_sample){.ns = ns});
        return TN_OK;
    }
    TN_TRY(settle_clocks(lowering, work));
    capture_batch(lowering, work, work->count);
    return TN_OK;
}

void tn_timing_device_settle(tn_lowering *lowering, tn_timing_work *work) {
    const tn_device *device = lowering->options->device;
    (void)device->stream_wait(device, lowering->timing->device.stream);
    if (work->graph) device->graph_destroy(device, work->graph);
    work->graph = NULL;
}

tn_status tn_timing_device_checked(tn_lowering *lowering, uint32_t index, tn_open_kernel *opened) {
    const tn_graph_node *node = &lowering->graph->nodes[index];
    const tn_call *call = &opened->call;
    const tn_checked_options options = {.allocator = lowering->graph->allocator,
                                        .pool = opened->scope.pool,
                                        .most_tensors = (size_t)call->input_count +
                                                        call->output_count + call->operand_count,
                                        .allows_not_finite = true};
    tn_checked *checked = NULL;
    uint64_t host_inputs = 0;
    for (uint32_t i = 0; i < node->input_count && i < 64; i++)
        if (tn_graph_input_port(node->entry->op, i)->flags & TN_PORT_VALUE_NEEDED)
            host_inputs |= (uint64_t)1 << i;
    TN_TRY(tn_checked_create(&options, &checked));
    opened->call.host_private = &opened->scope;
    tn_checked_enter(checked);
    const tn_status status =
        tn_checked_device_call(checked, &opened->call, opened->prepared->kernel->run, host_inputs);
    tn_checked_leave(checked);
    tn_checked_destroy(checked);
    return status;
}

/* Memory for one end of a transfer. */
static tn_status give_end(tn_lowering *lowering, tn_tensor *tensor, uint32_t space,
                          void **out_host) {
    if (space == TN_SPACE_DEVICE) return give_data(lowering, tensor, NULL);
    *out_host = tn_allocate_aligned(lowering->graph->allocator,
                                    tensor->bytes ? (size_t)tensor->bytes : 64, 64);
    if (!*out_host) return tn_fail_memory("the tensors of a conversion to be timed");
    tensor->data = *out_host;
    tn_timing_fill(tensor);
    return TN_OK;
}

static tn_status transfer_once(const tn_lowering *lowering, const tn_timing_work *work) {
    return tn_transfer(lowering->options->device, work->from, work->to, work->direction,
                       work->scratch, lowering->timing->device.stream);
}

tn_status tn_timing_transfer(tn_lowering *lowering, tn_tensor *from, uint32_t from_space,
                             tn_tensor *to, uint32_t to_space, tn_timing_samples *out_samples) {
    const tn_timing_bounds bounds = tn_timing_bounds_of_conversions(lowering, true);
    tn_timing_work work = {.once = transfer_once,
                           .is_remote = true,
                           .from = from,
                           .to = to,
                           .direction = from_space == TN_SPACE_HOST ? TN_TRANSFER_TO_DEVICE
                                        : to_space == TN_SPACE_HOST ? TN_TRANSFER_TO_HOST
                                                                    : TN_TRANSFER_ON_DEVICE},
                   *const works[] = {&work};
    void *stream = NULL, *host = NULL;
    uint32_t failed = 0;
    tn_status status = TN_OK;
    TN_TRY(tn_timing_stream(lowering, &stream));
    TN_GO(give_end(lowering, from, from_space, &host));
    TN_GO(give_end(lowering, to, to_space, &host));
    const uint64_t scratch = tn_transfer_scratch_bytes(from, to, work.direction);
    if (scratch > 0) TN_GO(take_block(lowering, scratch, &work.scratch));
    TN_GO(tn_timing_warm_up(lowering, &work, &bounds));
    TN_GO(tn_timing_rounds(lowering, works, 1, &bounds, &failed));
    *out_samples = work.samples;
done:
    tn_timing_device_settle(lowering, &work);
    tn_timing_device_release(lowering, 0);
    tn_deallocate(lowering->graph->allocator, host);
    return status;
}
