/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Kernels of elementwise operators of two float tensors around the combinations of rows.h: threads,
 * blocks, epilogues; their tables are made when the library is loaded, as in map_kernel.h. The
 * inputs are broadcast with each other, before opset 7 as in axis_broadcast.h.
 */
#ifndef TN_KIT_ELEMENTWISE_COMBINE_KERNEL_H
#define TN_KIT_ELEMENTWISE_COMBINE_KERNEL_H

#include "kit/elementwise/row_program.h"
#include "kit/operator/layer.h"

/* What a kernel's `user` points at. */
typedef struct tn_combine_kernel_user {
    const tn_rows_level *level;
    uint32_t combine;
} tn_combine_kernel_user;

/* The same on 8-bit tensors that stand for floating-point values (combine_bytes.c). */
tn_status tn_combine_bytes_accepts(tn_call *call) TN_NOEXCEPT;
tn_status tn_combine_bytes_run(tn_call *call) TN_NOEXCEPT;
extern const char *const tn_combine_bytes_combinations[2];

/* A run of either: the output's rows with both inputs broadcast to it, begun where there are
 * elements. */
tn_status tn_combine_rows(tn_call *call, tn_broadcast_rows *rows, int64_t *out_elements);

/* What the kernels of one operator differ in from another one's: `combine` is one of rows.h,
 * `minimum_version` the operator's lowest since_version that they serve. */
typedef struct tn_combine_kernel_row {
    const char *op;
    uint32_t combine, minimum_version;
} tn_combine_kernel_row;

enum { TN_COMBINE_KERNEL_LEVELS = 3, TN_COMBINE_KERNEL_COUNT = 2 * TN_COMBINE_KERNEL_LEVELS };

/* Fills in the kernels of an operator of ONNX's domain: one a level for floats and for 8 bits, and
 * what their `user` points at. */
void tn_combine_kernels_make(const tn_combine_kernel_row *row,
                             tn_combine_kernel_user users[TN_COMBINE_KERNEL_LEVELS],
                             tn_kernel kernels[TN_COMBINE_KERNEL_COUNT]);

#endif
