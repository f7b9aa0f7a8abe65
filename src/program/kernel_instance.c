/* SPDX-License-Identifier: Apache-2.0 */
/* The life of one kernel on one node; see kernel_instance.h. */
#include "program/kernel_instance.h"
#include "plugin/crash.h"
#include "plugin/devices.h"
#include "plugin/state/saved_state.h"

/* Calls back with the call's device as the thread's current one. */
static tn_status invoke(tn_call *call, tn_callback callback, const char *name) {
    const uint32_t before = tn_device_enter(call->device);
    const tn_status status = tn_call_invoke(call, callback, name);
    tn_device_leave(call->device, before);
    return status;
}

static void invoke_release(tn_call *call, tn_release_callback callback, const char *name) {
    const uint32_t before = tn_device_enter(call->device);
    tn_crash_mark mark;
    tn_crash_enter(&mark, call, name, NULL);
    callback(call);
    tn_crash_leave(&mark);
    tn_device_leave(call->device, before);
}

static tn_status begin(tn_prepared_kernel *prepared) {
    if (prepared->is_prepared) return tn_fail(TN_ERROR_STATE, "a kernel is prepared twice");
    prepared->call.host_private = &prepared->scope;
    prepared->call.user = prepared->kernel ? prepared->kernel->user : prepared->call.op->user;
    prepared->call.state = NULL;
    return TN_OK;
}

tn_status tn_prepared_kernel_init(tn_prepared_kernel *prepared) {
    const tn_kernel *kernel = prepared->kernel;
    TN_TRY(begin(prepared));
    if (!kernel && !prepared->call.op->reference)
        return tn_error_in(
            tn_fail(TN_ERROR_UNSUPPORTED, "there is neither a kernel that fits nor a reference"),
            .node = prepared->call.node ? prepared->call.node : "", .op = prepared->call.op->name);
    if (kernel && kernel->prepare) TN_TRY(invoke(&prepared->call, kernel->prepare, "prepare"));
    prepared->is_prepared = true;
    return TN_OK;
}

tn_status tn_prepared_kernel_load(tn_prepared_kernel *prepared, tn_arena *arena, const void *data,
                                  size_t bytes) {
    TN_TRY(begin(prepared));
    const uint32_t before = tn_device_enter(prepared->call.device);
    const tn_status status =
        tn_saved_state_load(&prepared->call, prepared->kernel->load, arena, data, bytes);
    tn_device_leave(prepared->call.device, before);
    prepared->is_prepared = status == TN_OK;
    return status;
}

tn_status tn_prepared_kernel_save(tn_prepared_kernel *prepared, tn_arena *arena,
                                  const void **out_data, size_t *out_bytes) {
    const uint32_t before = tn_device_enter(prepared->call.device);
    const tn_status status =
        tn_saved_state_save(&prepared->call, prepared->kernel->save, arena, out_data, out_bytes);
    tn_device_leave(prepared->call.device, before);
    return status;
}

void tn_prepared_kernel_deinit(tn_prepared_kernel *prepared) {
    if (!prepared->is_prepared) return;
    prepared->is_prepared = false;
    prepared->call.host_private = &prepared->scope;
    if (prepared->kernel && prepared->kernel->release)
        invoke_release(&prepared->call, prepared->kernel->release, "release");
}

tn_status tn_open_kernel_init(tn_open_kernel *opened, const tn_prepared_kernel *prepared) {
    if (!prepared->is_prepared || opened->is_open)
        return tn_fail(TN_ERROR_STATE, opened->is_open
                                           ? "a kernel is opened twice"
                                           : "a kernel is opened before it is prepared");
    opened->prepared = prepared;
    opened->call = prepared->call;
    opened->scope = prepared->scope;
    opened->scope.packed = NULL;
    opened->scope.context = opened->context ? opened->context : opened;
    opened->scope.bodies = opened->bodies;
    opened->call.host_private = &opened->scope;
    if (opened->stream) opened->call.stream = opened->stream;
    opened->call.context = NULL;
    opened->call.workspace = NULL;
    opened->call.workspace_bytes = 0;
    if (prepared->kernel && prepared->kernel->open)
        TN_TRY(invoke(&opened->call, prepared->kernel->open, "open"));
    opened->is_open = true;
    return TN_OK;
}

void tn_open_kernel_deinit(tn_open_kernel *opened) {
    if (!opened->is_open) return;
    opened->is_open = false;
    opened->call.host_private = &opened->scope;
    if (opened->prepared->kernel && opened->prepared->kernel->close)
        invoke_release(&opened->call, opened->prepared->kernel->close, "close");
}

tn_status tn_open_kernel_reshape(tn_open_kernel *opened) {
    if (!opened->is_open)
        return tn_fail(TN_ERROR_STATE, "a kernel is reshaped before it is opened");
    opened->call.host_private = &opened->scope;
    opened->call.workspace_bytes = 0;
    const tn_kernel *kernel = opened->prepared->kernel;
    return kernel && kernel->reshape ? invoke(&opened->call, kernel->reshape, "reshape") : TN_OK;
}

tn_status tn_open_kernel_run(tn_open_kernel *opened) {
    if (!opened->is_open) return tn_fail(TN_ERROR_STATE, "a kernel runs before it is opened");
    opened->call.host_private = &opened->scope;
    const tn_kernel *kernel = opened->prepared->kernel;
    return invoke(&opened->call, kernel ? kernel->run : opened->call.op->reference,
                  kernel ? "run" : "the reference");
}
