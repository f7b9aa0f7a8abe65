/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whole kernels around the matrix product of tenon/kit/matrix.h, for operators whose right side is
 * a constant (Gemm, MatMul, ...): packing shared through host->packed, threads, bias, and the
 * chains of tenon/kit/epilogue.h. The operator says by one function how its node reads as a
 * product; TN_MATRIX_KERNELS makes the tables.
 */
#ifndef TENON_KIT_MATRIX_KERNEL_H
#define TENON_KIT_MATRIX_KERNEL_H

#include <tenon/kit/matrix.h>
#include <tenon/kit/activation.h>
#include <tenon/kit/epilogue.h>

#ifdef __cplusplus
extern "C" {
#endif

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
 * product. In `accepts` and `prepare` extents of input 0 may be unknown (-1; tenon/kit/open.h);
 * `rows` counts in `reshape` only.
 *
 * Where b is made of several constants, `weights` writes it as depth x columns floats, row after
 * row, and `mark` is a number that is another one for other constants beside input 1; null: input 1
 * has the floats. */
typedef struct tn_matrix_kernel_user {
    const tn_matrix_level *level;
    bool (*read)(const tn_call *call, tn_matrix_problem *out_problem);
    void (*weights)(const tn_call *call, float *out_weights);
    uint64_t (*mark)(const tn_call *call);
    uint32_t bias; /* which input; 0: input 2 */
} tn_matrix_kernel_user;

/* The callbacks of a tn_kernel by these names. `accepts` answers TN_ERROR_UNSUPPORTED for other
 * nodes and chains; the others fail with TN_ERROR_MEMORY, or TN_ERROR_SHAPE where a node no longer
 * reads as it was prepared, after host->fail. */
tn_status tn_matrix_kernel_accepts(tn_call *call) TN_NOEXCEPT;
tn_status tn_matrix_kernel_prepare(tn_call *call) TN_NOEXCEPT;
void tn_matrix_kernel_release(tn_call *call) TN_NOEXCEPT;
tn_status tn_matrix_kernel_open(tn_call *call) TN_NOEXCEPT;
void tn_matrix_kernel_close(tn_call *call) TN_NOEXCEPT;
tn_status tn_matrix_kernel_reshape(tn_call *call) TN_NOEXCEPT;
tn_status tn_matrix_kernel_run(tn_call *call) TN_NOEXCEPT;

/* Defines the kernel PREFIX_LEVEL and what its `user` points at. */
#define TN_MATRIX_KERNEL(prefix, domain_name, operator_name, read_function, table, level)          \
    static const tn_matrix_kernel_user prefix##_user_##level = {&tn_matrix_##level, read_function, \
                                                                NULL, NULL, 0};                    \
    static const tn_kernel prefix##_##level = {                                                    \
        .size = sizeof(tn_kernel),                                                                 \
        .revision = 1,                                                                             \
        .domain = domain_name,                                                                     \
        .op = operator_name,                                                                       \
        .device = "cpu",                                                                           \
        .name = "packed_" #level,                                                                  \
        .doc = "A constant B, packed by columns.",                                                 \
        .requires_features = TN_KIT_FEATURES_##level,                                              \
        .absorbs = TN_FLOAT_ABSORBS(TN_SIMPLE_ACTIVATIONS),                                        \
        .traits = TN_KERNEL_DETERMINISTIC | TN_KERNEL_ANY_SHAPE,                                   \
        TN_COMBINATIONS(table),                                                                    \
        .accepts = tn_matrix_kernel_accepts,                                                       \
        .prepare = tn_matrix_kernel_prepare,                                                       \
        .release = tn_matrix_kernel_release,                                                       \
        .open = tn_matrix_kernel_open,                                                             \
        .close = tn_matrix_kernel_close,                                                           \
        .reshape = tn_matrix_kernel_reshape,                                                       \
        .run = tn_matrix_kernel_run,                                                               \
        .user = (void *)(uintptr_t)&prefix##_user_##level,                                         \
    }

/* Defines the kernels PREFIX_baseline, PREFIX_avx2 and PREFIX_avx512 of an operator, for the
 * library's table of kernels. `table`: its combinations, all tensors f32. */
#define TN_MATRIX_KERNELS(prefix, domain_name, operator_name, read_function, table)                \
    TN_MATRIX_KERNEL(prefix, domain_name, operator_name, read_function, table, baseline);          \
    TN_MATRIX_KERNEL(prefix, domain_name, operator_name, read_function, table, avx2);              \
    TN_MATRIX_KERNEL(prefix, domain_name, operator_name, read_function, table, avx512)

#ifdef __cplusplus
}
#endif

#endif
