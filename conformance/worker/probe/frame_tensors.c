/* SPDX-License-Identifier: Apache-2.0 */
/* What a frame holds: the call, and all that it points at; see frame.h. */
#include "base/status.h"
#include "cases/strings/strings.h"
#include "worker/probe/frame.h"
#include "worker/probe/gaps.h"

#include <tenon/plugin/counted.h>

#include <pthread.h>
#include <string.h>

enum { KEPT = 512, BEHIND_THE_RANK = 0x2B5A11, BEHIND_THE_INPUTS = 3 };

/* Frames that were closed, the oldest is unmapped when a new one comes. */
static tn_guarded kept[KEPT];
static size_t kept_next;
static pthread_mutex_t kept_lock = PTHREAD_MUTEX_INITIALIZER; /* two contexts run on two threads */

void tn_probe_forget_frames(void) {
    for (size_t i = 0; i < KEPT; i++)
        tn_guarded_destroy(&kept[i]);
}

/* A bump allocator inside the frame. */
typedef struct frame_memory {
    char *at, *end;
} frame_memory;

static void *take(frame_memory *r, size_t bytes) {
    char *data = r->at;
    bytes = (bytes + 15) / 16 * 16;
    if ((size_t)(r->end - r->at) < bytes) return NULL;
    r->at += bytes;
    memset(data, 0, bytes);
    return data;
}

/* Before a run, a value that is known lies in the frame too: nobody may keep its address. */
static const char *take_copy(frame_memory *r, const char *data, size_t bytes) {
    const size_t before = (size_t)(-(uintptr_t)r->at % 64);
    char *copy = before <= (size_t)(r->end - r->at) && take(r, before) ? take(r, bytes + 1) : NULL;
    if (copy && bytes) memcpy(copy, data, bytes);
    return copy;
}

/* Nothing is counted yet where the kernel is to count. */
static tn_counted *put_count(frame_memory *r, const tn_probe_port *port) {
    tn_counted *counted = take(r, sizeof(*counted));
    int64_t *value = take(r, sizeof(*value));
    if (!counted || !value) return NULL;
    *value = port->is_offered ? -1 : port->shape.extents[port->counted_axis];
    *counted = (tn_counted){.size = sizeof(*counted),
                            .axis = port->is_offered ? 0 : port->counted_axis,
                            .value = value};
    return counted;
}

/* A tensor with its own arrays. `data` is what this stage sees of it. */
static tn_tensor *put_tensor(frame_memory *r, const tn_probe_port *port, const char *data, int sees,
                             bool is_open) {
    tn_tensor *tensor = take(r, sizeof(*tensor));
    int64_t *arrays = take(r, 2 * TN_MAX_RANK * sizeof(*arrays));
    tn_quantization *quantization = take(r, sizeof(*quantization));
    float *scale = take(r, sizeof(*scale));
    tn_tensor_storage known;
    if (!tensor || !arrays || !quantization || !scale ||
        tn_tensor_init(&known, port->type, port->format, &port->shape) != TN_OK)
        return NULL;
    if (is_open && !port->is_constant) {
        tn_tensor_init_open(&known, port->type, port->shape.rank);
        data = NULL;
    }
    tn_tensor_unbound(&known, port->unbounded);
    if (port->unbounded) data = NULL;
    *tensor = known.tensor;
    for (uint32_t i = 0; i < 2 * TN_MAX_RANK; i++) /* what is behind the rank is no extent */
        arrays[i] = BEHIND_THE_RANK;
    memcpy(arrays, known.tensor.shape, port->shape.rank * sizeof(*arrays));
    memcpy(arrays + TN_MAX_RANK, known.tensor.strides, port->shape.rank * sizeof(*arrays));
    *scale = port->scale;
    *quantization = (tn_quantization){
        .size = sizeof(*quantization), .scale_type = TN_F32, .count = 1, .scales = scale};
    tensor->shape = arrays;
    tensor->strides = arrays + TN_MAX_RANK;
    if (sees != TN_SEES_CONSTANTS || (port->capacity > 0 && !is_open))
        tn_gaps_describe(port, tensor, arrays + TN_MAX_RANK);
    if (sees == TN_SEES_ALL && (port->capacity > 0 || port->is_offered))
        tensor->counted = put_count(r, port);
    tensor->quantization = port->scale != 0 ? quantization : NULL;
    tensor->data = (void *)(uintptr_t)data;
    if (port->type == TN_STRING && data) {
        tn_heap *heap = take(r, sizeof(*heap));
        if (!heap) return NULL;
        *heap = *tn_case_heap();
        tensor->heap = heap;
    }
    tensor->name = "";
    return tensor;
}

/* In a run an input's strings lie in a heap of its own. */
static void put_texts(tn_tensor *tensor, const tn_guarded *texts) {
    if (!tensor || !tensor->heap || !texts->data) return;
    tn_heap *heap = (tn_heap *)(uintptr_t)tensor->heap;
    heap->data = texts->data;
    heap->bytes = texts->bytes;
}

static const char *seen_data(const tn_probe_port *port, const tn_guarded *memory, int sees) {
    const bool is_seen =
        !port->is_shape_only && (sees == TN_SEES_ALL || port->is_constant ||
                                 (sees == TN_SEES_VALUES && port->is_value_needed));
    if (!is_seen) return NULL;
    return memory ? memory->data : (const char *)port->own;
}

static size_t value_bytes(const tn_probe_port *port) {
    size_t bytes = 0;
    return tn_format_bytes(TN_LINEAR, port->own_type, &port->shape, &bytes) == TN_OK ? bytes : 0;
}

/* Bytes for the copies of values that a stage before the run sees. */
static size_t values_bytes(const tn_probe *probe, int sees) {
    size_t bytes = 0;
    for (uint32_t i = 0; i < probe->input_count; i++)
        if (probe->inputs[i].is_given && seen_data(&probe->inputs[i], NULL, sees))
            bytes += value_bytes(&probe->inputs[i]) + 256;
    return bytes;
}

/* Pointers to the inputs. What is behind the last one is none: optional inputs that a node leaves
 * out at its end are not counted. */
static const tn_tensor **take_inputs(frame_memory *r, uint32_t count) {
    const tn_tensor **inputs = take(r, (count + BEHIND_THE_INPUTS) * sizeof(*inputs));
    const uintptr_t nowhere = UINT64_C(0xBAD0BAD0BAD0BAD0); /* what no address is */
    for (uint32_t i = 0; inputs && i < BEHIND_THE_INPUTS; i++)
        memcpy(&inputs[count + i], &nowhere, sizeof(nowhere));
    return inputs;
}

/* The tensor after a step: output 0's, or one that nothing stores, of another shape or before an
 * input. */
static const tn_tensor *put_output(frame_memory *r, const tn_probe *probe,
                                   const tn_chain_step *step, const tn_tensor *output) {
    tn_probe_port port = probe->outputs[0];
    if (step->port == 0 && (!step->output || tn_shape_equal(step->output, &port.shape)))
        return output;
    port.shape = *step->output;
    port.format = TN_LINEAR;
    if (step->port > 0) port.type = port.own_type = TN_F32;
    return put_tensor(r, &port, NULL, TN_SEES_CONSTANTS, probe->is_open);
}

static bool put_steps(tn_frame *frame, frame_memory *r, const tn_probe *probe,
                      const tn_probe_memory *memory, int sees, const tn_tensor *output) {
    const tn_tensor **operands = take(r, (TN_PROBE_OPERANDS + 1) * sizeof(*operands));
    const tn_step **steps = take(r, (TN_PROBE_STEPS + 1) * sizeof(*steps));
    uint32_t count = 0;
    if (!operands || !steps) return false;
    for (uint32_t i = 0; i < probe->step_count; i++) {
        tn_step *step = take(r, sizeof(*step));
        tn_chain_buffer *what = take(r, sizeof(*what));
        if (!step || !what) return false;
        const tn_tensor *after = put_output(r, probe, &probe->steps[i], output);
        const bool is_first = i > 0 && probe->steps[i].port != probe->steps[i - 1].port;
        tn_chain_publish(&probe->steps[i], is_first ? 0 : i, after, what, step);
        steps[i] = step;
        for (uint32_t k = tn_chain_operands(&probe->steps[i]); k > 0; k--) {
            const tn_probe_port *port = &probe->operands[count];
            if (!port->is_given) continue;
            const tn_guarded *at = memory ? &memory->operands[count] : NULL;
            operands[count] = put_tensor(r, port, seen_data(port, at, sees), sees, probe->is_open);
            if (!operands[count++]) return false;
        }
    }
    frame->call->operands = operands;
    frame->call->steps = steps;
    frame->call->operand_count = count;
    return true;
}

static bool put_tensors(tn_frame *frame, frame_memory *r, const tn_probe *probe,
                        const tn_probe_memory *memory, int sees) {
    const tn_tensor **inputs = take_inputs(r, probe->input_count);
    tn_tensor **outputs = take(r, (probe->output_count + 1) * sizeof(*outputs));
    if (!inputs || !outputs) return false;
    for (uint32_t i = 0; i < probe->input_count; i++) {
        const tn_probe_port *port = &probe->inputs[i];
        if (!port->is_given) continue;
        const char *data = seen_data(port, memory ? &memory->inputs[i] : NULL, sees);
        const bool is_kept = probe->keeps_constants && port->is_constant;
        if (data && !memory && !is_kept) data = take_copy(r, data, value_bytes(port));
        tn_tensor *input = put_tensor(r, port, data, sees, probe->is_open);
        if (!input) return false;
        if (memory) put_texts(input, &memory->texts[i]);
        inputs[i] = input;
    }
    for (uint32_t i = 0; i < probe->output_count; i++) {
        if (!probe->outputs[i].is_given) continue;
        const bool has_data = sees == TN_SEES_ALL && memory;
        const tn_guarded *at = has_data ? tn_probe_memory_output(memory, i) : NULL;
        outputs[i] = put_tensor(r, &probe->outputs[i], at ? at->data : NULL, sees, probe->is_open);
        if (!outputs[i]) return false;
        if (has_data && probe->outputs[i].type == TN_STRING) /* also without a bound */
            outputs[i]->heap = (tn_heap *)(uintptr_t)&memory->heaps[i].heap;
        frame->outputs[i] = outputs[i];
    }
    if (!put_steps(frame, r, probe, memory, sees, outputs[0])) return false;
    frame->call->inputs = inputs;
    frame->call->outputs = outputs;
    return true;
}

/* The profile's ends: the least or the greatest of both shapes, an axis at a time. */
static const tn_tensor **put_profile(frame_memory *r, const tn_probe *probe, bool is_maximum,
                                     int sees) {
    const tn_tensor **pointers = take_inputs(r, probe->input_count);
    for (uint32_t i = 0; pointers && i < probe->input_count; i++) {
        tn_probe_port port = probe->inputs[i];
        const tn_shape *other = &probe->other->inputs[i].shape;
        if (!port.is_given) continue;
        for (uint32_t axis = 0; axis < port.shape.rank && axis < other->rank; axis++)
            if ((other->extents[axis] > port.shape.extents[axis]) == is_maximum)
                port.shape.extents[axis] = other->extents[axis];
        pointers[i] =
            put_tensor(r, &port, seen_data(&probe->inputs[i], NULL, sees), sees, probe->is_open);
        if (!pointers[i]) return NULL;
    }
    return pointers;
}

tn_status tn_frame_open(tn_frame *frame, const tn_probe *probe, const tn_probe_life *life,
                        const tn_probe_memory *memory, int sees) {
    const size_t tensors = (size_t)probe->input_count + probe->output_count + TN_PROBE_OPERANDS +
                           2 * (size_t)TN_PROBE_STEPS;
    *frame = (tn_frame){.life = life};
    if (life) tn_watched_pool_init(&frame->pool, probe->pool ? probe->pool : &life->pool);
    pthread_mutex_lock(&kept_lock);
    const size_t bytes = 4096 + tensors * 1536 + (memory ? 0 : values_bytes(probe, sees));
    const tn_status made =
        tn_guarded_create(&frame->memory, TN_GUARDED_FRAME, 0, bytes, true, 0xEE);
    pthread_mutex_unlock(&kept_lock);
    if (made != TN_OK) return made;
    frame_memory r = {frame->memory.data, frame->memory.data + frame->memory.bytes};
    frame->call = take(&r, sizeof(*frame->call));
    frame->scope = (tn_call_scope){.runtime = probe->runtime,
                                   .pool = life ? &frame->pool.pool : NULL,
                                   .packed = life ? life->packed : NULL,
                                   .kernel = probe->kernel ? probe->kernel->name : NULL,
                                   .library = probe->library};
    if (frame->call) {
        *frame->call = (tn_call){.size = sizeof(tn_call),
                                 .input_count = probe->input_count,
                                 .output_count = probe->output_count,
                                 .step_count = probe->step_count,
                                 .threads = probe->threads,
                                 .tactic = probe->tactic,
                                 .flags = probe->kernel ? 0 : TN_CALL_REFERENCE,
                                 .host = tn_runtime_host(probe->runtime),
                                 .op = probe->op,
                                 .params = probe->node->params,
                                 .user = probe->kernel ? probe->kernel->user : probe->op->user,
                                 .state = life ? life->state : NULL,
                                 .device = tn_runtime_cpu(probe->runtime),
                                 .node = TN_CASE_NODE,
                                 .host_private = &frame->scope,
                                 .kernel_params = probe->kernel_params};
        bool is_whole = put_tensors(frame, &r, probe, memory, sees);
        frame->call->minimum_inputs = frame->call->maximum_inputs = frame->call->inputs;
        if (is_whole && probe->other) {
            frame->call->minimum_inputs = put_profile(&r, probe, false, sees);
            frame->call->maximum_inputs = put_profile(&r, probe, true, sees);
            is_whole = frame->call->minimum_inputs && frame->call->maximum_inputs;
        }
        if (is_whole) return TN_OK;
    }
    tn_guarded_destroy(&frame->memory);
    return tn_fail_memory("a call");
}

void tn_frame_close(tn_frame *frame) {
    if (!frame->memory.data) return;
    pthread_mutex_lock(&kept_lock);
    tn_guarded *target = &kept[kept_next];
    kept_next = (kept_next + 1) % KEPT;
    tn_guarded_destroy(target);
    tn_guarded_move(&frame->memory, target);
    tn_guarded_protect(target, TN_GUARDED_NONE);
    pthread_mutex_unlock(&kept_lock);
}
