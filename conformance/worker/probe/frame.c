/* SPDX-License-Identifier: Apache-2.0 */
/* Calls in frames, and what they may not change; see frame.h. Frames are made in frame_tensors.c.
 */
#include "worker/probe/frame.h"
#include "base/hash.h"
#include "base/status.h"
#include "plugin/fields/fields_private.h"
#include "worker/libc/day.h"
#include "worker/libc/locks.h"
#include "worker/probe/callback_stack.h"
#include "worker/watch/heap.h"
#include "worker/watch/trace.h"
#include "worker/process/watch.h"

#include <tenon/plugin/counted.h>

#include <stdio.h>
#include <string.h>

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
                              .given = hash_of_given(frame->call, probe->kernel)};
    if (watch->life) watch->state = tn_heap_contents(watch->life);
    tn_thread_state_note(false, &watch->thread);
    watch->locks = tn_locks_enter();
    tn_day_next();
    tn_heap_enter();
}

/* What the thread, the process and the system keep of it. */
static tn_status check_surroundings(tn_probe *probe, const tn_frame_watch *watch, bool has_lock,
                                    const char *lock) {
    char what[300];
    const char *rule = "environment";
    if (tn_thread_state_changed(&watch->thread, what, sizeof(what)))
        return broken(
            probe, rule,
            tn_fail(TN_ERROR_PLUGIN, "%s leaves the calling thread with %s", watch->name, what));
    if (has_lock)
        return broken(
            probe, rule,
            tn_fail(TN_ERROR_PLUGIN, "%s leaves the calling thread with %s", watch->name, lock));
    if (tn_watch_changed_by_callback(watch->name, what, sizeof(what)))
        return broken(probe, rule, tn_fail(TN_ERROR_PLUGIN, "%s %s", watch->name, what));
    if (tn_watch_used(&rule, what, sizeof(what))) /* what follows from it is looked for */
        tn_trace_broken(rule, "%s %s", watch->name, what);
    return TN_OK;
}

tn_status tn_frame_leave(const tn_frame *frame, tn_probe *probe, const tn_frame_watch *watch) {
    char lock[200];
    tn_heap_leave();
    tn_trace_leave(watch->before);
    const bool has_lock = tn_locks_leave(watch->locks, lock, sizeof(lock));
    TN_TRY(check_surroundings(probe, watch, has_lock, lock));
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
    const tn_status status = tn_callback_stack_call(callback, frame->call);
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
