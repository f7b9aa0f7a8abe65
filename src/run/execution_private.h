/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of the execution loop call of each other; see context_private.h. */
#ifndef TN_RUN_EXECUTION_PRIVATE_H
#define TN_RUN_EXECUTION_PRIVATE_H

#include "run/context_private.h"

/* --- execution.c --- */
/* Runs an item, noted for the case that it crashes. */
static inline tn_status tn_execution_call(tn_context *context, const tn_execution_item *item) {
    tn_crash_set_call(&context->crash, item->call);
    return item->run(item->call);
}
/* The error of an item that failed. */
tn_status tn_execution_failed(const tn_execution_item *item, tn_status status);
/* The same for an error that was found after the item had run. */
tn_status tn_execution_blame(const tn_execution_item *item, tn_status status);

/* --- execution_profile.c --- */
/* Runs a piece with events between its items, while the stream is captured. */
tn_status tn_execution_profile_capture(tn_context *context, const tn_execution_graph *graph,
                                       void *stream);

/* --- execution_device.c --- */
/* tn_execution_wait after an item, whose error it then is. */
tn_status tn_execution_settle(tn_context *context, uint32_t item);
/* Callbacks of transfers. The second one waits, for a step of the processor. */
tn_status tn_execution_transfer_on_device(tn_call *call);
tn_status tn_execution_transfer_and_wait(tn_call *call);

/* --- execution_first.c --- */
/* The first run at these shapes on a device. */
tn_status tn_execution_run_first(tn_context *context, const tn_shape_state *state);

/* --- execution_graph.c --- */
/* Captures the pieces with events between their items, where that is not done yet. */
tn_status tn_execution_capture_timed(tn_context *context, tn_shape_state *state);
tn_status tn_execution_launch(tn_context *context, void *graph);

/* --- device/branches.c --- */
/* The device's table of branches; null: it has none. */
const tn_device_branches *tn_execution_branches(const tn_device *device);
/* While a piece is captured and all of it is enqueued: puts kernels beside each other. `captured`
 * has what the table's `last` said after each item. */
tn_status tn_execution_put_branches(const tn_context *context, const tn_shape_state *state,
                                    const tn_execution_graph *graph, void *const *captured);

/* --- execution_direct.c --- */
/* Before a piece is captured, and afterwards: kernels write small outputs straight into the host's
 * memory where the device can do that. */
void tn_execution_begin_direct(const tn_context *context, tn_shape_state *state,
                               const tn_execution_graph *graph);
void tn_execution_end_direct(tn_shape_state *state);

#endif
