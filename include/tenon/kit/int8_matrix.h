/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whole kernels around the 8-bit products of tenon/kit/dot.h for operators whose right side is a
 * constant matrix (Gemm, MatMul), beside the float ones of tenon/kit/matrix_kernel.h: the same
 * reading of a node as a product, packing, threads, bias and epilogues. Input 0 is qi8 with one
 * scale, the weights are f32 and quantised when they are packed.
 */
#ifndef TENON_KIT_INT8_MATRIX_H
#define TENON_KIT_INT8_MATRIX_H

#include <tenon/kit/matrix_kernel.h>
#include <tenon/kit/dot.h>
#include <tenon/kit/activation.h>
#include <tenon/kit/epilogue.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What a kernel's `user` points at; `read` as in tn_matrix_kernel_user. */
typedef struct tn_int8_matrix_user {
    const tn_dot_level *level;
    bool (*read)(const tn_call *call, tn_matrix_problem *out_problem);
} tn_int8_matrix_user;

/* The callbacks of a tn_kernel by these names, as those of tenon/kit/matrix_kernel.h. */
tn_status tn_int8_matrix_accepts(tn_call *call) TN_NOEXCEPT;
tn_status tn_int8_matrix_prepare(tn_call *call) TN_NOEXCEPT;
void tn_int8_matrix_release(tn_call *call) TN_NOEXCEPT;
tn_status tn_int8_matrix_open(tn_call *call) TN_NOEXCEPT;
void tn_int8_matrix_close(tn_call *call) TN_NOEXCEPT;
tn_status tn_int8_matrix_reshape(tn_call *call) TN_NOEXCEPT;
tn_status tn_int8_matrix_run(tn_call *call) TN_NOEXCEPT;

/* Defines the kernel PREFIX_LEVEL and what its `user` points at. */
#define TN_INT8_MATRIX_KERNEL(prefix, domain_name, operator_name, read_function, table, level)     \
    static const tn_int8_matrix_user prefix##_user_##level = {&tn_dot_##level, read_function};     \
    static const tn_kernel prefix##_##level = {                                                    \
        .size = sizeof(tn_kernel),                                                                 \
        .revision = 2,                                                                             \
        .domain = domain_name,                                                                     \
        .op = operator_name,                                                                       \
        .device = "cpu",                                                                           \
        .name = "int8_" #level,                                                                    \
        .doc = "8-bit products, exact sums; weights quantised a column.",                          \
        .requires_features = TN_KIT_FEATURES_##level,                                              \
        .absorbs = TN_FLOAT_ABSORBS(TN_SIMPLE_ACTIVATIONS),                                        \
        .traits = TN_KERNEL_DETERMINISTIC,                                                         \
        TN_COMBINATIONS(table),                                                                    \
        .accepts = tn_int8_matrix_accepts,                                                         \
        .prepare = tn_int8_matrix_prepare,                                                         \
        .release = tn_int8_matrix_release,                                                         \
        .open = tn_int8_matrix_open,                                                               \
        .close = tn_int8_matrix_close,                                                             \
        .reshape = tn_int8_matrix_reshape,                                                         \
        .run = tn_int8_matrix_run,                                                                 \
        .user = (void *)(uintptr_t)&prefix##_user_##level,                                         \
    }

/* Defines the kernels PREFIX_baseline, PREFIX_avx2 and PREFIX_avx512vnni of an operator, for the
 * library's table of kernels. `table`: its combinations, with "qi8, f32 -> qi8" or "qi8, f32 ->
 * f32" for the first two inputs and the output. */
#define TN_INT8_MATRIX_KERNELS(prefix, domain_name, operator_name, read_function, table)           \
    TN_INT8_MATRIX_KERNEL(prefix, domain_name, operator_name, read_function, table, baseline);     \
    TN_INT8_MATRIX_KERNEL(prefix, domain_name, operator_name, read_function, table, avx2);         \
    TN_INT8_MATRIX_KERNEL(prefix, domain_name, operator_name, read_function, table, avx512vnni)

#ifdef __cplusplus
}
#endif

#endif
