/* SPDX-License-Identifier: Apache-2.0 */
/* Frames; see frame.h. */
#include "frame.h"
#include "cases/strings/strings.h"
#include "base/hash.h"
#include "base/status.h"
#include "worker/probe/gaps.h"

#include <tenon/plugin/counted.h>
#include "plugin/fields/fields_private.h"
#include "worker/watch/heap.h"
#include "worker/watch/trace.h"
#include "worker/watch/watch.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { KEPT = 512 };

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
    const tn_tensor **inputs = take(r, (probe->input_count + 1) * sizeof(*inputs));
    tn_tensor **outputs = take(r, (probe->output_count + 1) * sizeof(*outputs));
    if (!inputs || !outputs) return false;
    for (uint32_t i = 0; i < probe->input_count; i++) {
        const tn_probe_port *port = &probe->inputs[i];
        if (!port->is_given) continue;
        const char *data = seen_data(port, memory ? &memory->inputs[i] : NULL, sees);
        const bool is_kept = probe->keeps_constants && port->is_constant;
        if (data && !memory && !is_kept) data = take_copy(r, data, value_bytes(port));
        inputs[i] = put_tensor(r, port, data, sees, probe->is_open);
        if (!inputs[i]) return false;
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
    const tn_tensor **pointers = take(r, (probe->input_count + 1) * sizeof(*pointers));
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
    pthread_mutex_lock(&kept_lock);
    const size_t bytes = 4096 + tensors * 1536 + (memory ? 0 : values_bytes(probe, sees));
    const tn_status made =
        tn_guarded_create(&frame->memory, TN_GUARDED_FRAME, 0, bytes, true, 0xEE);
    pthread_mutex_unlock(&kept_lock);
    if (made != TN_OK) return made;
    frame_memory r = {frame->memory.data, frame->memory.data + frame->memory.bytes};
    frame->call = take(&r, sizeof(*frame->call));
    frame->scope = (tn_call_scope){.runtime = probe->runtime,
                                   .pool = !life         ? NULL
                                           : probe->pool ? probe->pool
                                                         : &life->pool,
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

static tn_status broken(tn_probe *probe, const char *rule, tn_status status) {
    snprintf(probe->rule, sizeof(probe->rule), "%s", rule);
    return status;
}

static uint64_t add_list(uint64_t hash, const void *items, uint64_t count, size_t bytes) {
    return items ? tn_hash_add(hash, items, (size_t)count * bytes) : hash;
}

/* Texts, lists and tensors that the parameters point to: the plan's. */
static uint64_t add_field(uint64_t hash, const tn_field *field, const char *member) {
    const tn_i64s *list = (const void *)member; /* as the other lists are */
    const tn_tensor *const *tensor = (const void *)member;
    switch (field->type) {
    case TN_FIELD_BYTES:
        return add_list(hash, list->items, list->count, 1);
    case TN_FIELD_F32S:
        return add_list(hash, list->items, list->count, sizeof(float));
    case TN_FIELD_I64S:
    case TN_FIELD_F64S:
        return add_list(hash, list->items, list->count, sizeof(int64_t));
    case TN_FIELD_TENSOR:
        return *tensor ? add_list(hash, (*tensor)->data, (*tensor)->bytes, 1) : hash;
    default:
        return hash;
    }
}

static uint64_t hash_of_fields(const tn_call *call) {
    uint64_t hash = 0;
    for (uint32_t i = 0; i < call->op->field_count && call->params; i++) {
        const tn_field *field = tn_fields_at(call->op, i);
        hash = add_field(hash, field, (const char *)call->params + field->offset);
    }
    return hash;
}

/* What a callback may not write though C lets it: the parameters, and the inputs' descriptions. */
static uint64_t hash_of_given(const tn_call *call, const tn_kernel *kernel) {
    uint64_t hash = tn_hash(call->params, call->params ? (size_t)call->op->params_bytes : 0);
    hash ^= hash_of_fields(call);
    if (call->kernel_params)
        hash = tn_hash_add(hash, call->kernel_params, (size_t)kernel->params_bytes);
    for (uint32_t i = 0; i < call->input_count; i++) {
        const tn_tensor *tensor = call->inputs[i];
        if (!tensor) continue;
        hash = tn_hash_add(hash, tensor, sizeof(*tensor));
        hash = tn_hash_add(hash, tensor->shape, tensor->rank * sizeof(*tensor->shape));
        if (tensor->heap) hash = tn_hash_add(hash, tensor->heap, sizeof(*tensor->heap));
        if (!tensor->counted) continue;
        hash = tn_hash_add(hash, tensor->counted, sizeof(*tensor->counted));
        hash = tn_hash_add(hash, tensor->counted->value, sizeof(*tensor->counted->value));
    }
    return hash;
}

void tn_frame_enter(const tn_frame *frame, const tn_probe *probe, const char *name,
                    tn_frame_watch *watch) {
    tn_trace_case(probe->text);
    *watch = (tn_frame_watch){.name = name,
                              .before = tn_trace_enter(name),
                              .life = frame->life && frame->life->is_prepared ? frame->life : NULL,
                              .given = hash_of_given(frame->call, probe->kernel),
                              .arithmetic = tn_watch_arithmetic()};
    if (watch->life) watch->state = tn_heap_contents(watch->life);
    tn_heap_enter();
}

tn_status tn_frame_leave(const tn_frame *frame, tn_probe *probe, const tn_frame_watch *watch) {
    char what[300];
    tn_heap_leave();
    tn_trace_leave(watch->before);
    if (tn_watch_arithmetic() != watch->arithmetic) {
        tn_watch_set_arithmetic(watch->arithmetic);
        return broken(probe, "environment",
                      tn_fail(TN_ERROR_PLUGIN,
                              "%s leaves the thread's rounding or its treatment of subnormal "
                              "numbers changed",
                              watch->name));
    }
    if (tn_watch_changed_by_callback(what, sizeof(what)))
        return broken(probe, "environment", tn_fail(TN_ERROR_PLUGIN, "%s %s", watch->name, what));
    if (hash_of_given(frame->call, probe->kernel) != watch->given)
        return broken(
            probe, "inputs-unchanged",
            tn_fail(TN_ERROR_PLUGIN,
                    "%s writes to the node's parameters, to what their fields hold, or to an "
                    "input's description",
                    watch->name));
    if (watch->life && tn_heap_contents(watch->life) != watch->state)
        return broken(probe, "contexts",
                      tn_fail(TN_ERROR_PLUGIN,
                              "%s writes to the engine's state, which prepare made and all "
                              "contexts share",
                              watch->name));
    if (frame->call->host_private != &frame->scope || frame->call->size != sizeof(tn_call))
        return broken(probe, "pointer-life",
                      tn_fail(TN_ERROR_PLUGIN, "%s changed the call itself", watch->name));
    return TN_OK;
}

/* A failure that was recorded must be returned, a failure must be a status and have a reason, which
 * TN_ERROR_MEMORY is by itself. */
static tn_status check_status(const tn_frame *frame, tn_probe *probe, tn_status status,
                              const char *name) {
    if (status == TN_OK && frame->scope.failed != TN_OK)
        return broken(probe, "fails-honestly",
                      tn_fail(TN_ERROR_PLUGIN, "%s said why it fails (%s) and returned success",
                              name, tn_last_error()->message));
    if (status == TN_OK) return TN_OK;
    if (status < 0 || status > TN_ERROR_INTERNAL)
        return broken(probe, "fails-honestly",
                      tn_fail(TN_ERROR_PLUGIN, "%s returned %d, which is no status", name, status));
    if (frame->scope.failed == TN_OK && status == TN_ERROR_MEMORY) return tn_fail_memory(name);
    if (frame->scope.failed == TN_OK)
        return broken(probe, "fails-honestly",
                      tn_fail(TN_ERROR_PLUGIN, "%s returned %s without a reason (host->fail)", name,
                              tn_status_name(status)));
    return status;
}

tn_status tn_frame_call(tn_frame *frame, tn_probe *probe, tn_callback callback, const char *name) {
    tn_frame_watch watch;
    probe->rule[0] = 0;
    tn_frame_enter(frame, probe, name, &watch);
    const tn_status status = callback(frame->call);
    TN_TRY(tn_frame_leave(frame, probe, &watch));
    return check_status(frame, probe, status, name);
}

tn_status tn_frame_save(tn_frame *frame, tn_probe *probe, tn_save_callback save, void *data,
                        uint64_t *inout_bytes) {
    tn_frame_watch watch;
    probe->rule[0] = 0;
    frame->scope.failed = TN_OK;
    tn_frame_enter(frame, probe, "save", &watch);
    const tn_status status = save(frame->call, data, inout_bytes);
    TN_TRY(tn_frame_leave(frame, probe, &watch));
    return check_status(frame, probe, status, "save");
}

tn_status tn_frame_load(tn_frame *frame, tn_probe *probe, tn_load_callback load, const void *data,
                        size_t bytes) {
    tn_frame_watch watch;
    probe->rule[0] = 0;
    tn_frame_enter(frame, probe, "load", &watch);
    const tn_status status = load(frame->call, data, bytes);
    TN_TRY(tn_frame_leave(frame, probe, &watch));
    return check_status(frame, probe, status, "load");
}

void tn_frame_finish(tn_frame *frame, tn_probe *probe, const tn_frame_watch *watch) {
    char earlier[sizeof(probe->rule)]; /* what an earlier callback broke */
    memcpy(earlier, probe->rule, sizeof(earlier));
    if (tn_frame_leave(frame, probe, watch) != TN_OK)
        tn_trace_broken(probe->rule, "%s", tn_last_error()->message);
    memcpy(probe->rule, earlier, sizeof(earlier));
    tn_frame_close(frame);
}

bool tn_frame_ask(tn_frame *frame, tn_probe *probe, tn_callback callback, const char *name) {
    tn_frame_watch watch;
    tn_frame_enter(frame, probe, name, &watch);
    const tn_status status = callback(frame->call);
    if (status < 0 || status > TN_ERROR_INTERNAL)
        tn_trace_broken("fails-honestly", "%s returned %d, which is no status", name, status);
    tn_frame_finish(frame, probe, &watch);
    return status == TN_OK;
}

void tn_frame_release(tn_frame *frame, tn_probe *probe, tn_release_callback callback,
                      const char *name) {
    tn_frame_watch watch;
    tn_frame_enter(frame, probe, name, &watch);
    callback(frame->call);
    tn_frame_finish(frame, probe, &watch);
}
