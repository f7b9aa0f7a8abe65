/* SPDX-License-Identifier: Apache-2.0 */
/* The life of what is under test; see probe.h. Its memory is in probe/memory.c, a run in
 * probe/run.c; the calls themselves are made in frame.c. */
#include "worker/probe/probe.h"
#include "base/status.h"
#include "device/cpu/cpu.h"
#include "worker/probe/frame.h"
#include "worker/watch/heap.h"
#include "worker/watch/trace.h"

#include <string.h>

/* Small numbers in all types: who adds to what lies behind changes it. */
enum { WORKSPACE_SLACK = 0x3C };

static tn_status call_in_frame(tn_probe *probe, const tn_probe_life *life, tn_callback callback,
                               const char *name, int sees, tn_frame *frame) {
    TN_TRY(tn_frame_open(frame, probe, life, NULL, sees));
    return tn_frame_call(frame, probe, callback, name);
}

bool tn_probe_accepts(tn_probe *probe) {
    tn_frame frame;
    if (!probe->kernel || !probe->kernel->accepts) return true;
    if (tn_frame_open(&frame, probe, NULL, NULL, TN_SEES_VALUES) != TN_OK) return false;
    return tn_frame_ask(&frame, probe, probe->kernel->accepts, "accepts");
}

uint32_t tn_probe_tactics(tn_probe *probe) {
    tn_frame frame;
    uint32_t count = 1;
    if (!probe->kernel || !probe->kernel->tactics) return 1;
    if (tn_frame_open(&frame, probe, NULL, NULL, TN_SEES_VALUES) != TN_OK) return 1;
    tn_frame_watch watch;
    tn_frame_enter(&frame, probe, "tactics", &watch);
    if (probe->kernel->tactics(frame.call) == TN_OK) count = frame.call->tactic_count;
    if (count == 0) tn_trace_broken("fails-honestly", "tactics answers 0: there is at least one");
    tn_frame_finish(&frame, probe, &watch);
    return count ? count : 1;
}

uint32_t tn_probe_limit_tactic(tn_probe *probe) {
    const uint32_t tactic = probe->tactic;
    if (tactic > 0) probe->tactic = tactic % tn_probe_tactics(probe);
    return tactic;
}

/* Whether there is one, in `out_text` of TN_KERNEL_TEXT_BYTES. */
static bool ask_timing_key(tn_probe *probe, char *out_text) {
    tn_frame frame;
    tn_frame_watch watch;
    tn_guarded text;
    tn_status status = TN_ERROR_MEMORY;
    if (tn_guarded_create(&text, TN_GUARDED_TEXT, 0, TN_KERNEL_TEXT_BYTES, true, 0x7F) != TN_OK)
        return false;
    text.data[0] = 0;
    if (tn_frame_open(&frame, probe, NULL, NULL, TN_SEES_VALUES) == TN_OK) {
        tn_frame_enter(&frame, probe, "timing_key", &watch);
        status = probe->kernel->timing_key(frame.call, text.data, TN_KERNEL_TEXT_BYTES);
        tn_frame_finish(&frame, probe, &watch);
    }
    memcpy(out_text, text.data, TN_KERNEL_TEXT_BYTES);
    tn_guarded_destroy(&text);
    return status == TN_OK;
}

void tn_probe_ask_timing_key(tn_probe *probe) {
    char first[TN_KERNEL_TEXT_BYTES], again[TN_KERNEL_TEXT_BYTES];
    if (!probe->kernel || !probe->kernel->timing_key || !ask_timing_key(probe, first)) return;
    if (!memchr(first, 0, sizeof(first)))
        tn_trace_broken("writes-inside", "timing_key writes a text without an end");
    else if (!ask_timing_key(probe, again) || strcmp(first, again) != 0)
        tn_trace_broken("combinations", "timing_key answers another text when it is asked again");
}

static void destroy_packed(tn_probe_life *life) {
    if (life->owns_packed) tn_packed_store_destroy(life->packed);
    life->packed = NULL;
}

static tn_status begin_life(tn_probe_life *life, tn_probe *probe) {
    *life = (tn_probe_life){.probe = probe};
    tn_cpu_pool_init(&life->pool, probe->threads, tn_runtime_workers(probe->runtime),
                     probe->kernel && probe->kernel->traits & TN_KERNEL_OPENMP);
    life->packed = probe->packed;
    life->owns_packed = !probe->packed;
    if (life->owns_packed) TN_TRY(tn_packed_store_create(probe->allocator, &life->packed));
    if (life->owns_packed) tn_packed_store_set_filler(life->packed, probe->packed_filler);
    return TN_OK;
}

tn_status tn_probe_prepare(tn_probe_life *life, tn_probe *probe) {
    tn_frame frame;
    TN_TRY(begin_life(life, probe));
    if (!probe->kernel || !probe->kernel->prepare) {
        life->is_prepared = true;
        return TN_OK;
    }
    tn_heap_own(life);
    const tn_status status =
        call_in_frame(probe, life, probe->kernel->prepare, "prepare", TN_SEES_CONSTANTS, &frame);
    tn_heap_own(NULL);
    life->is_prepared = status == TN_OK;
    if (!life->is_prepared) tn_heap_disown(life);
    if (life->is_prepared) life->state = frame.call->state;
    tn_frame_close(&frame);
    if (status != TN_OK) destroy_packed(life);
    return status;
}

tn_status tn_probe_load(tn_probe_life *life, tn_probe *probe, const void *data, size_t bytes) {
    tn_frame frame;
    TN_TRY(begin_life(life, probe));
    tn_status status = tn_frame_open(&frame, probe, life, NULL, TN_SEES_CONSTANTS);
    if (status == TN_OK) {
        tn_heap_own(life);
        status = tn_frame_load(&frame, probe, probe->kernel->load, data, bytes);
        tn_heap_own(NULL);
        life->is_prepared = status == TN_OK;
        if (life->is_prepared)
            life->state = frame.call->state;
        else
            tn_heap_disown(life);
        tn_frame_close(&frame);
    }
    if (status != TN_OK) destroy_packed(life);
    return status;
}

enum { MOST_SAVED = 1 << 28 };

tn_status tn_probe_save(tn_probe_life *life, tn_guarded *out_saved) {
    tn_frame frame;
    tn_probe *probe = life->probe;
    uint64_t bytes = 0;
    TN_TRY(tn_frame_open(&frame, probe, life, NULL, TN_SEES_CONSTANTS));
    tn_status status = tn_frame_save(&frame, probe, probe->kernel->save, NULL, &bytes);
    uint64_t written = bytes;
    if (status == TN_OK && bytes > MOST_SAVED)
        status = tn_fail(TN_ERROR_PLUGIN, "save asks for %llu bytes", (unsigned long long)bytes);
    if (status == TN_OK)
        status = tn_guarded_create(out_saved, TN_GUARDED_STATE, 0, (size_t)bytes, true, 0x7F);
    if (status == TN_OK)
        status = tn_frame_save(&frame, probe, probe->kernel->save, out_saved->data, &written);
    if (status == TN_OK && (written > bytes || !tn_guarded_is_whole(out_saved)))
        status = tn_fail(TN_ERROR_PLUGIN, "save asks for %llu bytes, and writes more",
                         (unsigned long long)bytes);
    tn_frame_close(&frame);
    return status;
}

void tn_probe_release(tn_probe_life *life) {
    tn_frame frame;
    tn_heap_disown(life); /* what release does with it is no writing */
    tn_probe *probe = life->probe;
    if (life->is_prepared && probe->kernel && probe->kernel->release &&
        tn_frame_open(&frame, probe, life, NULL, TN_SEES_CONSTANTS) == TN_OK)
        tn_frame_release(&frame, probe, probe->kernel->release, "release");
    destroy_packed(life);
    *life = (tn_probe_life){.probe = life->probe};
}

tn_status tn_probe_open(tn_probe_context *context, tn_probe_life *life) {
    tn_frame frame;
    *context = (tn_probe_context){.life = life};
    const tn_kernel *kernel = life->probe->kernel;
    if (!kernel || !kernel->open) {
        context->is_open = true;
        return TN_OK;
    }
    TN_TRY(tn_frame_open(&frame, life->probe, life, NULL, TN_SEES_CONSTANTS));
    frame.scope.context = context;
    const tn_status status = tn_frame_call(&frame, life->probe, kernel->open, "open");
    context->is_open = status == TN_OK;
    if (context->is_open) context->context = frame.call->context;
    tn_frame_close(&frame);
    return status;
}

void tn_probe_close(tn_probe_context *context) {
    tn_frame frame;
    if (!context->life) return;
    tn_probe *probe = context->life->probe;
    if (context->is_open && probe->kernel && probe->kernel->close &&
        tn_frame_open(&frame, probe, context->life, NULL, TN_SEES_CONSTANTS) == TN_OK) {
        frame.call->context = context->context;
        frame.scope.context = context;
        tn_frame_release(&frame, probe, probe->kernel->close, "close");
    }
    tn_guarded_retire(&context->workspace);
    *context = (tn_probe_context){.life = context->life};
}

tn_status tn_probe_ask_workspace(tn_probe_context *context, tn_probe *shapes) {
    tn_frame frame;
    const tn_kernel *kernel = shapes->kernel;
    context->workspace_bytes = 0;
    tn_guarded_retire(&context->workspace);
    if (!kernel || !kernel->reshape) return TN_OK;
    TN_TRY(tn_frame_open(&frame, shapes, context->life, NULL, TN_SEES_VALUES));
    frame.call->context = context->context;
    frame.scope.packed = NULL;
    const tn_status status = tn_frame_call(&frame, shapes, kernel->reshape, "reshape");
    context->workspace_bytes = frame.call->workspace_bytes;
    tn_frame_close(&frame);
    return status;
}

tn_status tn_probe_reshape(tn_probe_context *context, tn_probe *shapes) {
    TN_TRY(tn_probe_ask_workspace(context, shapes));
    if (context->workspace_bytes > (uint64_t)1 << 32) {
        memcpy(shapes->rule, "workspace-inside", sizeof("workspace-inside"));
        return tn_fail(TN_ERROR_PLUGIN, "reshape asks for a workspace of %llu bytes",
                       (unsigned long long)context->workspace_bytes);
    }
    if (context->workspace_bytes == 0) return TN_OK;
    return tn_guarded_create(&context->workspace, TN_GUARDED_WORKSPACE, 0,
                             (size_t)context->workspace_bytes, true, WORKSPACE_SLACK);
}

tn_status tn_probe_run_life(tn_probe_life *life, bool is_at_end, bool is_in_place, uint8_t poison,
                            tn_outcome *out) {
    tn_probe_context context = {0};
    tn_probe_memory memory = {0};
    tn_probe *probe = life->probe;
    tn_status status = tn_probe_open(&context, life);
    if (status == TN_OK) status = tn_probe_reshape(&context, probe);
    if (status == TN_OK)
        status = tn_probe_memory_create(&memory, probe, is_at_end, is_in_place, poison);
    if (status == TN_OK) status = tn_probe_run(&context, probe, &memory, poison);
    if (status == TN_OK) status = tn_probe_results(probe, &memory, out);
    tn_probe_memory_destroy(&memory);
    tn_probe_close(&context);
    return status;
}

tn_status tn_probe_once(tn_probe *probe, bool is_at_end, bool is_in_place, uint8_t poison,
                        tn_outcome *out) {
    tn_probe_life life;
    TN_TRY(tn_probe_prepare(&life, probe));
    const tn_status status = tn_probe_run_life(&life, is_at_end, is_in_place, poison, out);
    tn_probe_release(&life);
    return status;
}
