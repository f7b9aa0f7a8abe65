/* SPDX-License-Identifier: Apache-2.0 */
/* What the quantised convolution has prepared, and one run of it, band after band. */
#ifndef TN_LAYERS_CONV_INT8_RUN_H
#define TN_LAYERS_CONV_INT8_RUN_H

#include "conv/int8_plan.h"
#include <tenon/kit/dot_end.h>

typedef struct tn_int8_state {
    const tn_dot_level *level;
    tn_dot_layout layout;
    const void *blob;
    int64_t join; /* see int8_plan.h */
    tn_float_epilogue epilogue;
} tn_int8_state;

/* One run, as the bodies of parallel_for see it. */
typedef struct tn_int8_run {
    const tn_int8_state *state;
    const tn_int8_plan *plan;
    const int32_t *offsets, *positions;
    tn_dot_end end;
    const float *scale, *bias;
    const int8_t *input;
    bool is_input_last, is_output_last; /* channels last; otherwise linear */
    char *output;
    const char *residual;
    char *copies;
} tn_int8_run;

/* All images. */
tn_status tn_int8_run_all(tn_call *call, tn_int8_run *run);

#endif
