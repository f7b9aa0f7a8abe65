/* SPDX-License-Identifier: Apache-2.0 */
/* The inside of tn_context: parts, each filled by the files that its header names. */
#ifndef TN_RUN_STATE_CONTEXT_H
#define TN_RUN_STATE_CONTEXT_H

#include "engine/engine_private.h"
#include "guard/checked_call.h"
#include "isolation/isolation.h"
#include "plugin/crash.h"
#include "run/control/run_control.h"
#include "run/state/arena.h"
#include "run/state/device.h"
#include "run/state/ports.h"
#include "run/state/profile.h"
#include "run/state/shape_state.h"
#include "run/state/stand_in.h"

struct tn_context {
    tn_engine *engine;
    tn_allocator parent;
    tn_device_allocator device_allocator; /* allocate null: the device's own */
    tn_allocator allocator;               /* counts */
    tn_open_kernel *kernels;              /* by step */
    tn_context_ports ports;
    tn_context_shapes shapes;
    tn_context_arena arena;
    tn_context_device device;
    tn_context_times profile;
    tn_context_profiles profiles;
    tn_context_unfused unfused;
    struct tn_body_contexts *bodies; /* bodies/: of nodes with graphs in their fields; else null */
    struct tn_heaps *heaps;          /* heaps.c: of networks with strings; else null */
    struct tn_dynamic_run *dynamic;  /* sized/: networks sized by run; else null */
    tn_isolation *isolation;         /* plugins' kernels in a helper process; else null */
    tn_checked *checked;             /* execution_checked.c: guarded runs; else null */
    bool *is_constant;               /* the same: by program value */
    tn_context_statistics statistics;
    tn_crash_mark crash; /* while it runs */
    tn_run_control control;
    const tn_run_state *run; /* its own, or that of the context that this one is a part of */
};

#endif
