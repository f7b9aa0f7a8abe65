/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A frame: the call of one callback with all that it points at, in memory of its own that becomes
 * inaccessible when the callback has returned.
 */
#ifndef TN_CONFORMANCE_WORKER_PROBE_FRAME_H
#define TN_CONFORMANCE_WORKER_PROBE_FRAME_H

#include "plugin/state/saved_state.h"
#include "worker/probe/probe_state.h"
#include "worker/thread/thread_state.h"
#include "worker/thread/watched_pool.h"

/* Which data a stage sees. */
enum { TN_SEES_CONSTANTS = 0, TN_SEES_VALUES = 1, TN_SEES_ALL = 2 };

typedef struct tn_frame {
    tn_guarded memory;
    tn_call *call;
    tn_call_scope scope;
    tn_watched_pool pool;      /* the scope's, where there is one */
    const tn_probe_life *life; /* null: none */
    tn_tensor *outputs[TN_PROBE_OUTPUTS];
} tn_frame;

/* `memory` may be null before a run: then constants' and the elements of needed values are shown.
 */
tn_status tn_frame_open(tn_frame *frame, const tn_probe *probe, const tn_probe_life *life,
                        const tn_probe_memory *memory, int sees);
/* Around a run of outputs of strings (probe.c): their heaps are empty before it; after it their
 * elements become those of the cases' heap. TN_ERROR_PLUGIN: they are wrong; sets probe->rule. */
void tn_probe_empty_heaps(tn_probe_memory *memory);
tn_status tn_probe_take_strings(tn_probe *probe, const tn_frame *frame, tn_probe_memory *memory,
                                uint8_t poison);
/* Frames of earlier callbacks are forgotten (their memory is given back). */
void tn_probe_forget_frames(void);
/* After the callback: nobody may look into it any more. It stays mapped, without access, until many
 * later ones were closed. */
void tn_frame_close(tn_frame *frame);
/* Around a callback of any kind: what it may not change stays as it is. tn_frame_leave sets
 * probe->rule where that is not so. */
typedef struct tn_frame_watch {
    const char *name, *before;
    const tn_probe_life *life; /* whose state it may not change; null: none, or it makes it */
    uint64_t given, state;
    size_t locks;
    tn_thread_state thread;
} tn_frame_watch;
void tn_frame_enter(const tn_frame *frame, const tn_probe *probe, const char *name,
                    tn_frame_watch *watch);
tn_status tn_frame_leave(const tn_frame *frame, tn_probe *probe, const tn_frame_watch *watch);
/* The same where the caller has no status to return: what is found becomes the test's verdict
 * (trace.h). Closes the frame. */
void tn_frame_finish(tn_frame *frame, tn_probe *probe, const tn_frame_watch *watch);

/* Calls and checks: a failure that was recorded must be returned, a failure must be one of the
 * contract's values and have a reason. Sets probe->rule. */
tn_status tn_frame_call(tn_frame *frame, tn_probe *probe, tn_callback callback, const char *name);
/* The same of a save and of a load. */
tn_status tn_frame_save(tn_frame *frame, tn_probe *probe, tn_save_callback save, void *data,
                        uint64_t *inout_bytes);
tn_status tn_frame_load(tn_frame *frame, tn_probe *probe, tn_load_callback load, const void *data,
                        size_t bytes);
/* Calls one whose no needs no reason, and closes the frame. True: yes. */
bool tn_frame_ask(tn_frame *frame, tn_probe *probe, tn_callback callback, const char *name);
/* Calls one that cannot fail, and closes the frame. */
void tn_frame_release(tn_frame *frame, tn_probe *probe, tn_release_callback callback,
                      const char *name);

#endif
