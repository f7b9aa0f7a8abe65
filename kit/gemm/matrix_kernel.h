/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Kernels around the matrix product of matrix.h, for operators whose right side is a constant
 * (Gemm, MatMul): packing, threads, bias and epilogues. The operator's folder says how its node
 * reads as a product.
 */
#ifndef TN_KIT_GEMM_MATRIX_KERNEL_H
#define TN_KIT_GEMM_MATRIX_KERNEL_H

#include "kit/gemm/matrix.h"
#include "kit/math/activation.h"
#include "kit/operator/epilogue.h"

/* A node as out[rows][columns] = scale * a[rows][depth] * b + bias_scale * bias. a and out are
 * contiguous; b (input 1, with a value) is anywhere; bias (input 2 when has_bias) is one number or
 * one a column. */
typedef struct tn_matrix_problem {
    int64_t rows, depth, columns;
    int64_t b_row_stride, b_column_stride;
    float scale, bias_scale;
    bool has_bias, bias_is_scalar;
} tn_matrix_problem;

/* What a kernel's `user` points at. `read` answers false for nodes that do not read as such a
 * product. */
typedef struct tn_matrix_kernel_user {
    const tn_matrix_level *level;
    bool (*read)(const tn_call *call, tn_matrix_problem *out_problem);
} tn_matrix_kernel_user;

tn_status tn_matrix_kernel_accepts(tn_call *call);
tn_status tn_matrix_kernel_prepare(tn_call *call);
void tn_matrix_kernel_release(tn_call *call);
tn_status tn_matrix_kernel_open(tn_call *call);
void tn_matrix_kernel_close(tn_call *call);
tn_status tn_matrix_kernel_reshape(tn_call *call);
tn_status tn_matrix_kernel_run(tn_call *call);

#define TN_MATRIX_KERNEL(operator_name, read_function, table, level, features_text)                \
    static const tn_matrix_kernel_user user_##level = {&tn_matrix_##level, read_function};         \
    static const tn_kernel level = {                                                               \
        .size = sizeof(tn_kernel),                                                                 \
        .revision = 1,                                                                             \
        .domain = "",                                                                              \
        .op = operator_name,                                                                       \
        .device = "cpu",                                                                           \
        .name = "packed_" #level,                                                                  \
        .doc = "A constant B, packed by columns.",                                                 \
        .requires_features = features_text,                                                        \
        .traits = TN_KERNEL_DETERMINISTIC | TN_KERNEL_ANY_SHAPE,                                   \
        .absorbs = TN_FLOAT_ABSORBS(TN_SIMPLE_ACTIVATIONS),                                        \
        TN_COMBINATIONS(table),                                                                    \
        .accepts = tn_matrix_kernel_accepts,                                                       \
        .prepare = tn_matrix_kernel_prepare,                                                       \
        .release = tn_matrix_kernel_release,                                                       \
        .open = tn_matrix_kernel_open,                                                             \
        .close = tn_matrix_kernel_close,                                                           \
        .reshape = tn_matrix_kernel_reshape,                                                       \
        .run = tn_matrix_kernel_run,                                                               \
        .user = (void *)(uintptr_t)&user_##level,                                                  \
    }

/* Defines the kernels baseline, avx2 and avx512. */
#define TN_MATRIX_KERNELS(operator_name, read_function, table)                                     \
    TN_MATRIX_KERNEL(operator_name, read_function, table, baseline, NULL);                         \
    TN_MATRIX_KERNEL(operator_name, read_function, table, avx2, "avx2,fma");                       \
    TN_MATRIX_KERNEL(operator_name, read_function, table, avx512,                                  \
                     "avx512f,avx512bw,avx512vl,avx512dq")

#endif
