/* SPDX-License-Identifier: Apache-2.0 */
/* One callback in guarded memory; see checked_call.h. */
#include "guard/checked_call.h"
#include "guard/poison.h"
#include "plugin/devices.h"

#include <string.h>

/* ----------------------------------------------------------------------------------------------
 * life */

typedef struct guarded_body {
    tn_fault_watch *watch;
    tn_body body;
    void *user;
} guarded_body;

static tn_status run_body(void *user, int64_t begin, int64_t end, uint32_t thread) {
    const guarded_body *guarded = user;
    return tn_fault_body(guarded->watch, guarded->body, guarded->user, begin, end, thread);
}

static tn_status parallel_for(const tn_thread_pool *pool, int64_t count, int64_t grain,
                              tn_body body, void *user) {
    tn_checked *checked = (tn_checked *)(uintptr_t)pool;
    guarded_body guarded = {&checked->watch, body, user};
    return checked->inner->parallel_for(checked->inner, count, grain, run_body, &guarded);
}

static tn_status allocate_slots(tn_checked *checked, const tn_checked_options *options) {
    const tn_allocator *allocator = options->allocator;
    checked->slot_capacity = options->most_tensors + 1;
    checked->slots = tn_allocate_zero(allocator, checked->slot_capacity, sizeof(*checked->slots));
    checked->guards = tn_allocate_zero(allocator, checked->slot_capacity, sizeof(tn_guard *));
    checked->tensors = tn_allocate_zero(allocator, checked->slot_capacity, sizeof(tn_tensor *));
    checked->constants =
        tn_allocate_zero(allocator, options->value_count + 1u, sizeof(*checked->constants));
    checked->stack = tn_allocate(allocator, TN_FAULT_STACK_BYTES);
    return checked->slots && checked->guards && checked->tensors && checked->constants &&
                   checked->stack
               ? TN_OK
               : tn_fail_memory("guarded running");
}

static void free_all(tn_checked *checked) {
    const tn_allocator *allocator = checked->allocator;
    for (size_t i = 0; checked->slots && i < checked->slot_capacity; i++) {
        tn_guard_unmap(&checked->slots[i].own);
        tn_guard_unmap(&checked->slots[i].before);
    }
    for (uint32_t i = 0; checked->constants && i < checked->value_count; i++)
        tn_guard_unmap(&checked->constants[i]);
    tn_deallocate(allocator, checked->slots);
    tn_deallocate(allocator, (void *)checked->guards);
    tn_deallocate(allocator, (void *)checked->tensors);
    tn_deallocate(allocator, checked->constants);
    tn_deallocate(allocator, checked->stack);
    tn_deallocate(allocator, checked);
}

tn_status tn_checked_create(const tn_checked_options *options, tn_checked **out_checked) {
    tn_checked *checked = tn_allocate_zero(options->allocator, 1, sizeof(*checked));
    if (!checked) return tn_fail_memory("guarded running");
    checked->allocator = options->allocator;
    checked->inner = options->pool;
    checked->pool = (tn_thread_pool){.threads = options->pool ? options->pool->threads : 1,
                                     .parallel_for = parallel_for};
    checked->dump_directory = options->dump_directory;
    checked->value_count = options->value_count;
    checked->is_constant = options->is_constant;
    checked->allows_not_finite = options->allows_not_finite;
    tn_status status = allocate_slots(checked, options);
    if (status == TN_OK) status = tn_fault_take();
    if (status != TN_OK) {
        free_all(checked);
        return status;
    }
    *out_checked = checked;
    return TN_OK;
}

void tn_checked_destroy(tn_checked *checked) {
    if (!checked) return;
    tn_fault_give_back();
    free_all(checked);
}

void tn_checked_enter(tn_checked *checked) {
    tn_fault_set_stack(checked->stack, &checked->stack_before);
}

void tn_checked_leave(tn_checked *checked) {
    tn_fault_restore_stack(&checked->stack_before);
}

/* ----------------------------------------------------------------------------------------------
 * tensors */

static tn_checked_slot *take_slot(tn_checked *checked, uint32_t kind, uint32_t index,
                                  const tn_tensor *original) {
    tn_checked_slot *slot = &checked->slots[checked->slot_count++];
    const tn_guard own = slot->own, before = slot->before;
    *slot = (tn_checked_slot){
        .kind = kind, .index = index, .original = original, .own = own, .before = before};
    if (original) slot->copy = *original;
    return slot;
}

/* The earlier slot whose tensor lies in the same memory; null: none. */
static tn_checked_slot *find_same(tn_checked *checked, const tn_tensor *tensor) {
    for (size_t i = 0; i + 1 < checked->slot_count && tensor->bytes > 0; i++) {
        tn_checked_slot *slot = &checked->slots[i];
        if (slot->original && slot->original->data == tensor->data &&
            slot->original->bytes >= tensor->bytes)
            return slot;
    }
    return NULL;
}

static tn_status copy_in(tn_guard *guard, const tn_tensor *from) {
    TN_TRY(tn_guard_place(guard, (size_t)from->bytes, TN_GUARD_AT_END, tn_poison_word(from->type)));
    if (from->bytes > 0) memcpy(guard->data, from->data, (size_t)from->bytes);
    return TN_OK;
}

/* Constants are copied once; they stay read-only. A fault opens one: then it is copied again. */
static tn_status put_constant(tn_checked *checked, tn_checked_slot *slot, uint32_t value) {
    tn_guard *constant = &checked->constants[value];
    if (constant->access != TN_GUARD_READ) {
        TN_TRY(copy_in(constant, slot->original));
        tn_guard_allow(constant, TN_GUARD_READ);
    }
    slot->guard = constant;
    return TN_OK;
}

/* Whether the slot's tensor lies in the device's memory. */
static bool is_there(const tn_checked *checked, const tn_checked_slot *slot) {
    const bool is_host = slot->kind == TN_CHECKED_INPUT && slot->index < 64 &&
                         (checked->host_inputs >> slot->index & 1);
    return checked->device && !is_host;
}

static tn_status put_input(tn_checked *checked, uint32_t kind, uint32_t index,
                           const tn_tensor *original, const uint32_t *values) {
    tn_checked_slot *slot = take_slot(checked, kind, index, original);
    if (!original->data || original->kind) return TN_OK; /* items are the host's */
    if (is_there(checked, slot)) return tn_checked_put_input_there(checked, slot);
    if (values && checked->value_count && checked->is_constant[values[index]])
        return put_constant(checked, slot, values[index]);
    tn_checked_slot *same = find_same(checked, original);
    if (same && same->original->bytes == original->bytes) {
        slot->guard = same->guard;
        slot->is_shared = true;
        return TN_OK;
    }
    slot->guard = &slot->own;
    return copy_in(&slot->own, original);
}

static tn_status put_inputs(tn_checked *checked, uint32_t kind, const tn_tensor *const *tensors,
                            uint32_t count, const uint32_t *values) {
    for (uint32_t i = 0; i < count; i++)
        if (tensors[i]) TN_TRY(put_input(checked, kind, i, tensors[i], values));
    return TN_OK;
}

static tn_status guard_output(tn_checked_slot *slot) {
    const tn_tensor *original = slot->original;
    slot->guard = &slot->own;
    TN_TRY(tn_guard_place(&slot->own, (size_t)original->bytes, TN_GUARD_AT_END,
                          tn_poison_word(original->type)));
    tn_poison_fill(slot->own.data, slot->own.bytes, original->type);
    return TN_OK;
}

/* An output on an input's memory stays there. */
static tn_status put_output(tn_checked *checked, uint32_t index, const tn_tensor *original) {
    tn_checked_slot *slot = take_slot(checked, TN_CHECKED_OUTPUT, index, original);
    if (!original->data || original->kind) return TN_OK;
    if (is_there(checked, slot)) return tn_checked_put_output_there(checked, slot);
    tn_checked_slot *same = find_same(checked, original);
    if (same) {
        for (size_t i = 0; i < checked->slot_count; i++)
            checked->slots[i].is_overwritten |= checked->slots[i].guard == same->guard;
        slot->guard = same->guard;
        slot->is_shared = true;
        return TN_OK;
    }
    return guard_output(slot);
}

/* The run asks for an output's memory: the caller's own, and a guarded copy. */
static tn_status allocate_output(tn_output_source *source, tn_call *call, uint32_t index,
                                 uint64_t bytes, void **out_data) {
    tn_checked *checked = source->user;
    tn_output_source *outer = checked->outer;
    tn_tensor *original = checked->call->outputs[index];
    size_t at = 0;
    while (checked->slots[at].kind != TN_CHECKED_OUTPUT || checked->slots[at].index != index)
        at++;
    tn_checked_slot *slot = &checked->slots[at];
    TN_TRY(outer->allocate(outer, call, index, bytes, &original->data));
    original->bytes = bytes;
    original->rank = call->outputs[index]->rank;
    TN_TRY(is_there(checked, slot) ? tn_checked_put_output_there(checked, slot)
                                   : guard_output(slot));
    checked->guards[at] = slot->guard;
    *out_data = slot->shown ? slot->shown : slot->guard->data;
    return TN_OK;
}

static tn_status put_workspace(tn_checked *checked, tn_call *call) {
    if (call->workspace_bytes == 0) return TN_OK;
    tn_checked_slot *slot = take_slot(checked, TN_CHECKED_WORKSPACE, 0, NULL);
    if (checked->device) {
        TN_TRY(tn_checked_put_workspace_there(checked, slot, call->workspace_bytes));
        call->workspace = slot->shown;
        return TN_OK;
    }
    slot->guard = &slot->own;
    TN_TRY(tn_guard_place(&slot->own, (size_t)call->workspace_bytes, TN_GUARD_AT_END,
                          tn_poison_word(TN_NONE)));
    tn_poison_fill(slot->own.data, slot->own.bytes, TN_NONE);
    call->workspace = slot->own.data;
    return TN_OK;
}

static tn_status put_all(tn_checked *checked, tn_call *call, const uint32_t *inputs,
                         const uint32_t *operands) {
    checked->slot_count = 0;
    TN_TRY(put_inputs(checked, TN_CHECKED_INPUT, call->inputs, call->input_count, inputs));
    TN_TRY(put_inputs(checked, TN_CHECKED_OPERAND, call->operands, call->operand_count, operands));
    for (uint32_t i = 0; i < call->output_count; i++)
        if (call->outputs[i]) TN_TRY(put_output(checked, i, call->outputs[i]));
    return put_workspace(checked, call);
}

/* Lets the call see the copies, the inputs read-only. */
static void show(tn_checked *checked, tn_call *call) {
    tn_tensor **const inputs = checked->tensors, **const operands = inputs + call->input_count,
                      **const outputs = operands + call->operand_count;
    memset((void *)checked->tensors, 0, checked->slot_capacity * sizeof(*checked->tensors));
    for (size_t i = 0; i < checked->slot_count; i++) {
        tn_checked_slot *slot = &checked->slots[i];
        checked->guards[i] = slot->guard;
        if (slot->guard) slot->copy.data = slot->shown ? slot->shown : slot->guard->data;
        if (slot->kind == TN_CHECKED_INPUT) inputs[slot->index] = &slot->copy;
        if (slot->kind == TN_CHECKED_OPERAND) operands[slot->index] = &slot->copy;
        if (slot->kind == TN_CHECKED_OUTPUT) outputs[slot->index] = &slot->copy;
        const bool is_read = slot->kind == TN_CHECKED_INPUT || slot->kind == TN_CHECKED_OPERAND;
        if (slot->guard && is_read && !slot->is_overwritten && !slot->shown)
            tn_guard_allow(slot->guard, TN_GUARD_READ);
    }
    call->inputs = (const tn_tensor *const *)inputs;
    call->operands = (const tn_tensor *const *)operands;
    call->outputs = outputs;
    checked->watch =
        (tn_fault_watch){.guards = checked->guards, .guard_count = checked->slot_count};
}

/* ----------------------------------------------------------------------------------------------
 * the call */

static void copy_out(const tn_checked *checked) {
    for (size_t i = 0; i < checked->slot_count; i++) {
        const tn_checked_slot *slot = &checked->slots[i];
        const bool is_here = slot->kind == TN_CHECKED_OUTPUT && !slot->there;
        const size_t bytes = is_here ? tn_checked_output_bytes(slot) : 0;
        if (bytes > 0) memcpy(slot->original->data, slot->guard->data, bytes);
    }
}

/* The finding becomes the call's failure, with where it was and where its tensors are. */
static tn_status report(const tn_checked *checked, tn_call *call, tn_status status) {
    tn_call_scope *scope = call->host_private;
    if (checked->dump_directory) {
        tn_error_copy finding;
        tn_error_save(&finding);
        const bool is_dumped = tn_checked_dump(checked, call) == TN_OK;
        status = is_dumped ? tn_fail(finding.status, "%s (its tensors are in %s)", finding.message,
                                     checked->dump_directory)
                           : tn_fail(finding.status, "%s (its tensors could not be kept: %s)",
                                     finding.message, tn_last_error()->message);
    }
    scope->failed = status;
    status = tn_call_failed(call, status, "run");
    scope->failed = TN_OK;
    return status;
}

/* What a kernel left on the device: the error of its launch or of its work is the call's own. */
static tn_status end_on_device(tn_checked *checked, tn_call *call) {
    tn_call_scope *scope = call->host_private;
    tn_status status = tn_device_launched(checked->device, "after the kernel's run");
    if (status == TN_OK) status = tn_checked_restore(checked);
    if (status == TN_OK) return TN_OK;
    scope->failed = status;
    return tn_call_failed(call, status, "run");
}

static void offer_memory(tn_checked *checked, tn_call *call) {
    tn_call_scope *scope = call->host_private;
    checked->call = call;
    checked->outer = scope->outputs;
    if (!checked->outer) return;
    checked->source = *checked->outer;
    checked->source.allocate = allocate_output;
    checked->source.user = checked;
    scope->outputs = &checked->source;
}

static tn_status call_guarded(tn_checked *checked, tn_call *call, tn_callback run,
                              const uint32_t *inputs, const uint32_t *operands) {
    tn_call_scope *scope = call->host_private;
    tn_call copy = *call;
    tn_status answered = TN_OK;
    TN_TRY(put_all(checked, &copy, inputs, operands));
    show(checked, &copy);
    scope->failed = TN_OK;
    offer_memory(checked, call);
    const bool is_returned = tn_fault_call(&checked->watch, run, &copy, &answered);
    scope->outputs = checked->outer;
    const bool is_faulty = !is_returned || tn_fault_is_noted(&checked->watch);
    if (!is_faulty && answered != TN_OK)
        return tn_call_failed(call, answered, scope->kernel ? "run" : "the reference");
    if (!is_faulty && checked->device) TN_TRY(end_on_device(checked, call));
    const tn_status status = tn_checked_judge(checked, is_returned);
    if (status != TN_OK) return report(checked, call, status);
    copy_out(checked);
    return checked->device ? tn_checked_copy_out_there(checked) : TN_OK;
}

tn_status tn_checked_call(tn_checked *checked, tn_call *call, tn_callback run,
                          const uint32_t *inputs, const uint32_t *operands) {
    checked->device = NULL;
    return call_guarded(checked, call, run, inputs, operands);
}

tn_status tn_checked_device_call(tn_checked *checked, tn_call *call, tn_callback run,
                                 uint64_t host_inputs) {
    checked->device = call->device;
    checked->stream = call->stream;
    checked->host_inputs = host_inputs;
    const tn_status status = call_guarded(checked, call, run, NULL, NULL);
    tn_checked_free_blocks(checked);
    checked->device = NULL;
    return status;
}
