/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reductions along axes: fields, shape rule and the traversal that their references share. ONNX
 * moved the axes from a field to an input (ReduceSum in opset 13, the others in 18): an operator
 * with two input ports is of the later kind.
 */
#ifndef TN_KIT_REDUCE_REDUCE_H
#define TN_KIT_REDUCE_REDUCE_H

#include <tenon/plugin.h>

typedef struct tn_reduce_params {
    uint64_t present;
    bool keepdims;
    bool noop_with_empty_axes; /* later kind alone */
    tn_i64s axes;              /* earlier kind alone */
} tn_reduce_params;

extern const tn_field tn_reduce_fields_axes[2];  /* earlier kind */
extern const tn_field tn_reduce_fields_input[2]; /* later kind */

/* Bit (1 << axis) of each axis that is reduced; zero: none, the operator works on single elements.
 * TN_ERROR_RANGE, TN_ERROR_STATE (the axes' value is not known). */
tn_status tn_reduce_axes(tn_call *call, uint32_t *out_mask);
/* The shape rule of all reductions. */
tn_status tn_reduce_infer(tn_call *call) TN_NOEXCEPT;

/* The input elements of one output element, or any elements along some axes:
 *
 *     for (bool more = tn_reduce_first(lane); more; more = tn_reduce_next(lane))
 *         ... element lane->at of lane->x
 *
 * It may be traversed several times. */
typedef struct tn_reduce_lane {
    const tn_tensor *x;
    int64_t at;
    int64_t count; /* of elements; zero when a reduced axis is empty */
    int64_t begin; /* the first element; may be set */
    /* private */
    uint32_t rank;
    int64_t extents[TN_MAX_RANK], strides[TN_MAX_RANK], index[TN_MAX_RANK];
} tn_reduce_lane;
/* The axes in the mask, from the tensor's first element on. */
void tn_reduce_lane_init(const tn_tensor *x, uint32_t mask, tn_reduce_lane *out_lane);
bool tn_reduce_first(tn_reduce_lane *lane);
bool tn_reduce_next(tn_reduce_lane *lane);

/* What a reduction makes of a lane: `whole` for integers (null: `real` serves), else `real`. */
typedef struct tn_reduce_function {
    double (*real)(tn_reduce_lane *lane);
    int64_t (*whole)(tn_reduce_lane *lane);
} tn_reduce_function;
/* The reference of a reduction, and the same on all threads. */
tn_status tn_reduce_compute(tn_call *call, const tn_reduce_function *function);
tn_status tn_reduce_compute_parallel(tn_call *call, const tn_reduce_function *function);

/* The product of `count` elements, `stride` apart, from the element `first` on, whose exponents are
 * summed apart: of those that were infinity times zero in another order. */
double tn_reduce_product(tn_type type, const void *data, int64_t first, int64_t count,
                         int64_t stride);

/* Does `work` on each lane of input 0 along the axes in the mask, numbered in the order of the
 * others; it may traverse the lane, which is its own. */
typedef void (*tn_reduce_work)(const tn_call *call, tn_reduce_lane *lane, int64_t number,
                               const void *user);
tn_status tn_reduce_do(tn_call *call, uint32_t mask, bool is_parallel, tn_reduce_work work,
                       const void *user);

#endif
