/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pad's parameters, and a node read as a map from positions of the output to positions of the
 * input: operator.c has the tables, plan.c reads, move.c moves, bytes.c does so with tensors of 8
 * bits; center.c is CenterCropPad, pads that center.
 */
#ifndef TN_LAYERS_PAD_H
#define TN_LAYERS_PAD_H

#include <tenon/plugin.h>

enum { TN_PAD_CONSTANT = 0, TN_PAD_REFLECT = 1, TN_PAD_EDGE = 2, TN_PAD_WRAP = 3 };

enum { TN_PAD_PADS = 1, TN_PAD_CONSTANT_VALUE = 2, TN_PAD_AXES = 3 };

typedef struct tn_pad_params {
    uint64_t present;
    uint32_t mode;
    tn_i64s pads; /* before opset 11 */
    float value;  /* before opset 11 */
} tn_pad_params;

/* Along each axis the output's position o is the input's o - begin, where that lies within
 * low..high-1; all else is padding. Negative pads make that range smaller than the input. */
typedef struct tn_pad_plan {
    uint32_t rank, mode;
    int64_t input[TN_MAX_RANK], output[TN_MAX_RANK];
    int64_t begin[TN_MAX_RANK], low[TN_MAX_RANK], high[TN_MAX_RANK];
} tn_pad_plan;

/* TN_ERROR_SHAPE, TN_ERROR_RANGE, TN_ERROR_STATE (values that are not known). */
tn_status tn_pad_read(tn_call *call, tn_pad_plan *out_plan);
/* One axis of a plan whose mode is known, with these pads. TN_ERROR_SHAPE, TN_ERROR_RANGE. */
tn_status tn_pad_plan_axis(tn_call *call, tn_pad_plan *plan, uint32_t axis, int64_t begin,
                           int64_t end);
/* The input's position along an axis for the output's; -1: the constant. */
int64_t tn_pad_source(const tn_pad_plan *plan, uint32_t axis, int64_t position);

/* Moves elements of `element_bytes` from `from` to output 0, both row-major in the plan's order of
 * axes; `value` is the constant. [called: run, and by the reference with is_parallel false: one
 * element after the other] */
tn_status tn_pad_move(tn_call *call, const tn_pad_plan *plan, const void *from, const void *value,
                      size_t element_bytes, bool is_parallel);

/* center.c: CenterCropPad, its plan and its kernel. */
tn_status tn_center_crop_pad_read(tn_call *call, tn_pad_plan *out_plan);
extern const tn_operator tn_center_crop_pad;
extern const tn_kernel tn_center_crop_pad_runs;

/* bytes.c: 8-bit tensors. */
extern const tn_kernel tn_pad_bytes;
tn_status tn_pad_reference(tn_call *call) TN_NOEXCEPT;
tn_status tn_pad_run(tn_call *call) TN_NOEXCEPT;

#endif
