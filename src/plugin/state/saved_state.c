/* SPDX-License-Identifier: Apache-2.0 */
/* The calls of save and load; see saved_state.h. */
#include "plugin/state/saved_state.h"
#include "base/memory.h"
#include "plugin/crash.h"

#include <string.h>

/* What may be saved of a node. */
#define STATE_LIMIT ((uint64_t)1 << 30)

static tn_status call_save(tn_call *call, tn_save_callback save, void *data, uint64_t *bytes) {
    tn_call_scope *scope = call->host_private;
    tn_crash_mark mark;
    scope->failed = TN_OK;
    tn_crash_enter(&mark, call, "save", NULL);
    const tn_status status = save(call, data, bytes);
    tn_crash_leave(&mark);
    return status == TN_OK ? TN_OK : tn_call_failed(call, status, "save");
}

static tn_status fail_bytes(tn_call *call, const char *text, uint64_t bytes, uint64_t limit) {
    tn_fail(TN_ERROR_PLUGIN, "save %s %llu bytes of state; %llu are possible", text,
            (unsigned long long)bytes, (unsigned long long)limit);
    ((tn_call_scope *)call->host_private)->failed = TN_ERROR_PLUGIN;
    return tn_call_failed(call, TN_ERROR_PLUGIN, "save");
}

tn_status tn_saved_state_save(tn_call *call, tn_save_callback save, tn_arena *arena,
                              const void **out_data, size_t *out_bytes) {
    uint64_t announced = 0;
    TN_TRY(call_save(call, save, NULL, &announced));
    if (announced > STATE_LIMIT) return fail_bytes(call, "asks for", announced, STATE_LIMIT);
    void *data = tn_arena_allocate(arena, (size_t)announced, 1);
    if (!data) return tn_fail_memory("a state");
    uint64_t bytes = announced;
    TN_TRY(call_save(call, save, data, &bytes));
    if (bytes > announced) return fail_bytes(call, "wrote", bytes, announced);
    *out_data = data;
    *out_bytes = (size_t)bytes;
    return TN_OK;
}

tn_status tn_saved_state_load(tn_call *call, tn_load_callback load, tn_arena *arena,
                              const void *data, size_t bytes) {
    tn_call_scope *scope = call->host_private;
    tn_crash_mark mark;
    size_t padded_bytes;
    if (!tn_add_size(bytes, 64, &padded_bytes)) return tn_fail_memory("a state");
    char *copy = tn_arena_allocate(arena, padded_bytes, 1);
    if (!copy) return tn_fail_memory("a state");
    copy += (64 - (uintptr_t)copy % 64) % 64;
    if (bytes > 0) memcpy(copy, data, bytes);
    scope->failed = TN_OK;
    tn_crash_enter(&mark, call, "load", NULL);
    const tn_status status = load(call, copy, bytes);
    tn_crash_leave(&mark);
    return status == TN_OK ? TN_OK : tn_call_failed(call, status, "load");
}
