/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What QuantizeLinear and DequantizeLinear share: which scale and zero point serves which element.
 * There is one for the tensor, one for each index along an axis, or one for each block of indices
 * (opset 21 on).
 */
#ifndef TN_LAYERS_QUANTIZE_QUANTIZE_H
#define TN_LAYERS_QUANTIZE_QUANTIZE_H

#include "quantize/rows.h"
#include <tenon/kit/lanes.h>

enum { TN_QUANTIZE_X = 0, TN_QUANTIZE_SCALE = 1, TN_QUANTIZE_ZERO_POINT = 2 };

typedef struct tn_quantize_params {
    uint64_t present;
    int64_t axis, block_size;
    tn_type output_dtype, precision;
    bool saturate;
} tn_quantize_params;

typedef struct tn_quantize_plan {
    tn_lanes lanes;      /* along the axis; per tensor: one lane of all elements */
    int64_t scale_count; /* along the lanes: 1, lanes.count, or the number of blocks */
    int64_t block;       /* elements that share a scale: lanes.count per tensor, 1 along the axis */
    bool is_blocked;     /* scales have the extents outer and inner too */
} tn_quantize_plan;

/* Checks the shapes of scale and zero point. */
tn_status tn_quantize_read(tn_call *call, tn_quantize_plan *out_plan);

/* Does element `at`, whose scale and zero point lie at `scale_at`. */
typedef void (*tn_quantize_element)(const tn_call *call, int64_t at, int64_t scale_at);
/* All elements of input x: a reference. */
tn_status tn_quantize_compute(tn_call *call, tn_quantize_element element);

/* The scale's index for element `k` of lane (outer, inner). */
static inline int64_t tn_quantize_index(const tn_quantize_plan *plan, int64_t outer, int64_t k,
                                        int64_t inner) {
    const int64_t at = k / plan->block;
    if (!plan->is_blocked) return at;
    return (outer * plan->scale_count + at) * plan->lanes.inner + inner;
}

/* Kernels between floats and 8-bit integers, around the rows of rows.h; blocks of scales are left
 * to the reference. */
tn_status tn_quantize_accepts(tn_call *call) TN_NOEXCEPT;
tn_status tn_quantize_reshape(tn_call *call) TN_NOEXCEPT;
tn_status tn_quantize_run(tn_call *call) TN_NOEXCEPT;

#endif
