/* SPDX-License-Identifier: Apache-2.0 */
/* What ArgMax, ArgMin and their kernels share. */
#ifndef TN_LAYERS_ARG_REDUCE_ARG_REDUCE_H
#define TN_LAYERS_ARG_REDUCE_ARG_REDUCE_H

#include "kit/operator/layer.h"
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

TN_LEVEL_KERNELS_EXTERN(tn_arg_max);
TN_LEVEL_KERNELS_EXTERN(tn_arg_min);

#endif
