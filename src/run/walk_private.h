/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of the walk call of each other; see context_private.h. */
#ifndef TN_RUN_WALK_PRIVATE_H
#define TN_RUN_WALK_PRIVATE_H

#include "run/context_private.h"

/* --- walk.c --- */
/* Runs an item, noted for the case that it crashes. */
static inline tn_status tn_walk_call(tn_context *context, const tn_walk_item *item) {
    tn_crash_set_call(&context->crash, item->call);
    return item->run(item->call);
}
/* The error of an item that failed. */
tn_status tn_walk_failed(const tn_walk_item *item, tn_status status);
/* The same for an error that was found after the item had run. */
tn_status tn_walk_blame(const tn_walk_item *item, tn_status status);

/* --- walk_profile.c --- */
/* Runs a piece with events between its items, while the stream is captured. */
tn_status tn_walk_profile_capture(tn_context *context, const tn_walk_graph *graph, void *stream);

/* --- walk_device.c --- */
/* tn_walk_wait after an item of the walk, whose error it then is. */
tn_status tn_walk_settle(tn_context *context, uint32_t item);
/* Callbacks of transfers. The second one waits, for a step of the processor. */
tn_status tn_walk_transfer_on_device(tn_call *call);
tn_status tn_walk_transfer_and_wait(tn_call *call);

/* --- walk_first.c --- */
/* The first run at these shapes on a device. */
tn_status tn_walk_run_first(tn_context *context, const tn_shape_state *state);

/* --- walk_graph.c --- */
/* Captures the pieces with events between their items, where that is not done yet. */
tn_status tn_walk_capture_timed(tn_context *context, tn_shape_state *state);
tn_status tn_walk_launch(tn_context *context, void *graph);

/* --- walk_direct.c --- */
/* Before a piece is captured, and afterwards: kernels write small outputs straight into the host's
 * memory where the device can do that. */
void tn_walk_begin_direct(const tn_context *context, tn_shape_state *state,
                          const tn_walk_graph *graph);
void tn_walk_end_direct(tn_shape_state *state);

#endif
