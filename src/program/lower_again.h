/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lowering for a loaded plan: what an engine asks for where no stored program fits the machine, or
 * where shapes break a fusion. An interface that is resolved when the library is linked: the whole
 * library has the builder behind it (builder/lower_again.c), a run-only one refuses
 * (run_only/lower_again.c). An engine thus needs no builder.
 */
#ifndef TN_PROGRAM_LOWER_AGAIN_H
#define TN_PROGRAM_LOWER_AGAIN_H

#include "graph/infer.h"
#include "program/program.h"

typedef struct tn_lower_again_options {
    const tn_device *device;
    uint32_t threads;
    const tn_thread_pool *pool;
    const char *forced;        /* "Op=kernel,..." or null */
    const bool *is_unfused;    /* by node: no kernel absorbs it; null: any may */
    const float *scales;       /* by tensor, 0: none */
    uint32_t precision;        /* TN_PRECISION_... */
    uint32_t second_precision; /* beside TN_PRECISION_I8: of 16-bit floats; 0: none */
} tn_lower_again_options;

/* Whether tn_lower_again can succeed here. */
bool tn_can_lower_again(void);
/* By rule, without measuring. `inferences`: by TN_POINT_...; the program lies in `arena`.
 * TN_ERROR_UNSUPPORTED in a run-only library. */
tn_status tn_lower_again(const tn_graph *graph, const tn_inference_plan *plan,
                         const tn_inference *const inferences[TN_POINTS],
                         const tn_lower_again_options *options, tn_arena *arena,
                         tn_program *out_program);

#endif
