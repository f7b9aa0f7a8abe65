/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A network that runs over sample inputs: built, loaded, with one context, fed from tn_batches. For
 * the calibrator and for measuring what a precision costs.
 */
#ifndef TN_CALIBRATE_BATCH_RUN_H
#define TN_CALIBRATE_BATCH_RUN_H

#include "base/memory.h"
#include "builder/timing/timing_cache.h"
#include <tenon/calibrate.h>

typedef struct tn_batch_run {
    tn_runtime *runtime; /* lent by the graph */
    tn_plan *plan;
    tn_engine *engine;
    tn_context *context;
    const tn_tensor **inputs; /* of the current batch; one an input, lent by the callback */
} tn_batch_run;

/* All that a caller's options say; what an older version of them lacks is 0. `given` may be null.
 */
tn_builder_options tn_batch_run_whole_options(const tn_builder_options *given);
/* The options of a twin in 32-bit floats: the caller's device, shapes and threads, with nothing
 * that is about a lower precision, and with kernels chosen by rule.
 */
tn_builder_options tn_batch_run_float_options(const tn_builder_options *given);

/* Builds a plan, with a cache of timings that builds share or null, and loads it. */
tn_status tn_batch_run_init(tn_batch_run *run, tn_graph *graph, const tn_builder_options *options,
                            tn_timing_cache *cache);
void tn_batch_run_deinit(tn_batch_run *run); /* a zeroed one is fine */

/* Checks what a caller gave. TN_ERROR_ARGUMENT. */
tn_status tn_batches_check(const tn_batches *batches, const tn_builder_options *build);
/* Says how far it is; TN_ERROR_CANCELLED when the caller wants no more. */
tn_status tn_batches_progress(const tn_batches *batches, const char *stage, uint64_t done,
                              uint64_t count);

/* Asks for a batch and runs it. Errors name the batch and the input. */
tn_status tn_batch_run_batch(tn_batch_run *run, const tn_batches *batches, uint64_t index);
/* The same inputs as `other` has now. */
tn_status tn_batch_run_again(tn_batch_run *run, const tn_batch_run *other, uint64_t index);

#endif
