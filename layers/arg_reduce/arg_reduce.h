/* SPDX-License-Identifier: Apache-2.0 */
/* What ArgMax, ArgMin and their kernels share. */
#ifndef TN_LAYERS_ARG_REDUCE_ARG_REDUCE_H
#define TN_LAYERS_ARG_REDUCE_ARG_REDUCE_H

#include <tenon/kit/lanes.h>

typedef struct tn_arg_reduce_params {
    uint64_t present;
    int64_t axis;
    bool keepdims;
    bool select_last_index; /* from opset 12 on */
} tn_arg_reduce_params;

/* Whether the last of equal elements counts. */
bool tn_arg_reduce_is_last(const tn_call *call);
/* The lanes along the axis; a scalar is one of one element. */
tn_status tn_arg_reduce_read(tn_call *call, tn_lanes *out_lanes);

extern const tn_kernel tn_arg_max_baseline, tn_arg_max_avx2, tn_arg_max_avx512;
extern const tn_kernel tn_arg_min_baseline, tn_arg_min_avx2, tn_arg_min_avx512;

#endif
